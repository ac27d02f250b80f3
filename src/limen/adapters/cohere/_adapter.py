"""Cohere's chat as an adapter."""

from typing import Final

from limen.adapters._codec import WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters._spec import CodecWire
from limen.adapters.cohere._codec import CohereCodec
from limen.adapters.cohere._dialects import ROWS, Dialect

WIRE: Final = CodecWire(Dialect.wire, {name: CohereCodec(row) for name, row in ROWS.items()}, default_dialect="cohere")


class CohereOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `CohereAdapter`: those of every adapter; `api_key` is what a real call needs."""


class CohereAdapter(WireAdapter):
    """Cohere's chat, version 2 (https://docs.cohere.com/reference/chat, read 2026-11-30).

    Mapped:

    - `system` and system messages as `system`, each in its place; user messages as text, or as parts where they hold
      several blocks or images; tool results as `tool` messages, before the rest of a user message.
    - `tools`; `strict` as `strict_tools`, which is one for all of them; `tool_choice` `required` and `none`, while
      `auto` is what holds where nothing is sent.
    - `temperature`, `top_p` as `p`, `max_tokens`, `stop` as `stop_sequences` (at most 5), `seed`.
    - `response_format` json and JSON schemas as `json_object`, which always holds the model to the schema; a schema's
      name has no place on the wire.
    - `reasoning_effort`: `off` and `enabled` are the two states of `thinking`. A budget is
      `extra={"cohere": {"thinking": {"token_budget": …}}}` beside it.
    - Tool calls with ids and raw arguments as they are (blank ones as `{}`); a result with `is_error` is marked by
      `Error: ` before its text.
    - Reasoning as `thinking` parts before the text, in the order of the blocks; a tool plan back as `tool_plan`.
    - `extra["cohere"]`, merged last: `documents`, `citation_options`, `safety_mode`, `k`, penalties, `logprobs` …
    - Of an answer: thinking and the tool plan as reasoning, text, calls; each block of the wire is one here.
    - Replay state: which reasoning was a tool plan, and the citations, byte for byte.
    - `COMPLETE` and `STOP_SEQUENCE` are a stop, after calls one for calls; `MAX_TOKENS` and `ERROR_LIMIT` a token
      limit; `ERROR_TOXIC` is `CONTENT_FILTER`, `TIMEOUT` is `TIMEOUT`, `ERROR` is what its sentence says, else
      `SERVER`.
    - Usage from `tokens`, and from `billed_units` where those are missing.

    Refused before any I/O (`UNSUPPORTED…`, naming the field):

    - `parallel_tool_calls`, `cache` short and long, a named tool as `tool_choice`: the API has no such parameter.
    - An answer's format beside tools, a schema that is not to be strict, `strict` for some of the tools only.
    - Efforts other than the two, or outside the model's own list.
    - Files, images of another type than JPEG, PNG, GIF and WebP, images outside user messages; extra of another wire.

    Ignored: `session_id` and `purpose`, which are hints. Left out of the answer: log-probabilities, `debug` events and
    every event and field that limen does not know, each of them in silence; parts of an unknown kind, with a note.
    An assistant turn that is left with neither content nor calls, which the API refuses, is not sent and is reported
    in `replay_dropped`.
    """

    def __init__(self, options: CohereOptions | None = None) -> None:
        made = CohereOptions() if options is None else options
        super().__init__(made, codec_of(made))


def codec_of(options: CohereOptions) -> CohereCodec:
    """Return the row that options name; without a name it is Cohere's."""
    return CohereCodec(ROWS[WIRE.codec_at(options).dialect])
