"""OpenAI Responses: one adapter, one row per host."""

from typing import Final

from msgspec.structs import replace

from limen.adapters._codec import WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters._spec import CodecWire
from limen.adapters.openai_responses._codec import ResponsesCodec
from limen.adapters.openai_responses._dialects import ROWS, Dialect

WIRE: Final = CodecWire(
    Dialect.wire, {name: ResponsesCodec(row) for name, row in ROWS.items()}, default_dialect="openai"
)


class OpenAIResponsesOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `OpenAIResponsesAdapter`; those of every adapter, and three of this wire.

    Without `dialect`, an address of your own is `generic`, and no address is OpenAI's.

    - `stateless`: whether `store: false` goes out, in place of the dialect row's word.
    - `encrypted_reasoning`: whether `include: ["reasoning.encrypted_content"]` goes out, in place of the row's word.
    - `reasoning_summary`: the summary of the reasoning to ask for: `auto`, `concise` or `detailed`; none by default.
    """

    stateless: bool | None = None
    encrypted_reasoning: bool | None = None
    reasoning_summary: str | None = None


class OpenAIResponsesAdapter(WireAdapter):
    """OpenAI's models by Responses, and every host that speaks it (docs/adapters-openai-responses.md).

    Mapped, where the row has it:

    - `system` as `instructions`; system messages in their place as `developer` or `system`; text, images
      (`input_image`, bytes as data URLs) and PDF files (`input_file`) of user messages; tool results as
      `function_call_output`, images inside. A result with `is_error` is marked by `Error: ` before its text.
    - `tools` as flat functions, `strict` only where asked for, its schema rewritten to the strict subset;
      `tool_choice`, `parallel_tool_calls`; `response_format` as `text.format`; `temperature`, `top_p`, `max_tokens` as
      `max_output_tokens`; `reasoning_effort` as `reasoning.effort`, `off` as `none`.
    - `cache="long"` as `prompt_cache_retention`; `session_id` as `prompt_cache_key`.
    - Every request streams, with `store: false` and `include: ["reasoning.encrypted_content"]`: nothing is kept at the
      provider. `extra["openai-responses"]` is merged last and may keep the state there instead (`store`,
      `previous_response_id`, `conversation`, `background`).
    - Of an answer: each text part of a message, each reasoning item with text (its summary, else its content) and each
      function or custom call is a block.
    - Replay state: every item goes back as it came, in place: reasoning with its sealed content, ids, phases,
      annotations, the provider's own tools, generated images, compaction, items unknown here.
    - `completed` is a stop, after calls one for calls; `max_output_tokens` and `max_messages` are a token limit; a
      refusal and `content_filter` are `CONTENT_FILTER`; `failed` and `error` events end the stream in-band.

    Refused before any I/O (`UNSUPPORTED…`, naming the field):

    - `stop` and `seed`, which the wire does not have; `cache="short"`, which nothing asks for; what the row lists.
    - Efforts outside the model's list, else the row's; strict schemas that the strict subset cannot say.
    - Names outside `[A-Za-z0-9_-]{1,64}` where the row knows the rule; `tool_choice` without tools; sound; images and
      files that host or model do not take; images, files and results in assistant messages; extra of another wire.

    Ignored: `purpose`. Left out of the answer: log-probabilities, obfuscation, events of the provider's own tools, and
    events of an unknown type. The provider's own tools are never run here, and are no calls.
    """

    def __init__(self, options: OpenAIResponsesOptions | None = None) -> None:
        made = OpenAIResponsesOptions() if options is None else options
        super().__init__(made, codec_of(made))


def codec_of(options: OpenAIResponsesOptions) -> ResponsesCodec:
    """Return the row that options name, with what the options say otherwise."""
    row = ROWS[WIRE.codec_at(options, elsewhere="generic").dialect]
    if options.stateless is not None:
        row = replace(row, stateless=options.stateless)
    if options.encrypted_reasoning is not None:
        row = replace(row, sealed=options.encrypted_reasoning)
    if options.reasoning_summary is not None:
        row = replace(row, summary=options.reasoning_summary)
    return ResponsesCodec(row)
