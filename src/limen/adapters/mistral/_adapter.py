"""Mistral's own API, on the codec of chat completions."""

from typing import Final

from limen.adapters._codec import Codec, WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters._spec import CodecWire
from limen.adapters.mistral._dialects import MISTRAL
from limen.adapters.openai_chat import ChatCodec

WIRE: Final = CodecWire(MISTRAL.wire, {MISTRAL.name: ChatCodec(MISTRAL)}, default_dialect=MISTRAL.name)


class MistralOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `MistralAdapter`: those of every adapter; `api_key` is what a real call needs."""


class MistralAdapter(WireAdapter):
    """Mistral's chat completions (https://docs.mistral.ai/api, read 2026-11).

    Mapped:

    - `system`, system, user, assistant and tool messages; text blocks of a message join into one string. A tool message
      names its function.
    - A user's turn right behind a tool result has an assistant's `OK` before it, since the server refuses that order;
      a last assistant turn without calls is to be continued, and has `prefix`.
    - `tools` with `strict` only where asked for, `tool_choice`, `parallel_tool_calls`, `response_format` (text,
      `json_object`, `json_schema`), `temperature`, `top_p`, `max_tokens`, `stop`, `seed` as `random_seed`.
    - `reasoning_effort`: `off` is `none`, `high` is `high`; other levels where the model's facts list them.
    - Images as `image_url`, in tool results too; PDFs as `document_url`, uploaded files as `file`, wav and mp3 as
      `input_audio`.
    - Tool calls with raw arguments; ids that are not nine letters and digits are rewritten in the request, call and
      result alike. A result with `is_error` is marked by `Error: ` before its text.
    - Reasoning of earlier turns as one `thinking` part before the text.
    - `extra["mistral"]`, merged last: `prompt_mode`, `safe_prompt`, `prediction`, `guardrails`, penalties …
    - Of an answer: text, `thinking` parts as reasoning, calls, whole or in fragments; `model_length` is a token limit,
      `error` is `SERVER`.
    - Replay state: that reasoning was a `thinking` part, with its signature; the references of a text, in their places.

    Refused before any I/O (`UNSUPPORTED…`, naming the field):

    - `cache` short and long: nothing asks for it in a request (`prompt_cache_key` is a field for `extra`).
    - Efforts outside the model's list, else the row's; tool names outside `[A-Za-z0-9_-]{1,64}`.
    - Files of other types, images and files outside user messages and results; `n` above 1; extra of another wire.

    Ignored: `session_id` and `purpose`, which are hints. Left out of the answer: choices but the first,
    log-probabilities, references inside thinking. An unknown kind of event has no choices, and passes.
    """

    def __init__(self, options: MistralOptions | None = None) -> None:
        made = MistralOptions() if options is None else options
        super().__init__(made, codec_of(made))


def codec_of(options: WireOptions) -> Codec:
    """Return the row that options name; there is one."""
    return WIRE.codec_at(options)
