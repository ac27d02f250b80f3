"""OpenAI-compatible chat completions: one adapter, one row per provider."""

from typing import Final

from msgspec.structs import replace

from limen.adapters._codec import Codec, WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters._spec import CodecWire
from limen.adapters.openai_chat._codec import ChatCodec
from limen.adapters.openai_chat._dialects import ROWS, Dialect

WIRE: Final = CodecWire(Dialect.wire, {name: ChatCodec(row) for name, row in ROWS.items()}, default_dialect="generic")


class OpenAIChatOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `OpenAIChatAdapter`.

    `dialect` names a row of docs/dialects.md. Without one, an address of your own is `generic`, about which nothing is
    guessed, and no address is OpenAI's. `require_finish`: whether an answer without a finish reason is `STREAM_CLOSED`,
    in place of the row's word (W6).
    """

    require_finish: bool | None = None


class OpenAIChatAdapter(WireAdapter):
    """The chat-completions wire in one of its dialects (docs/dialects.md lists what each row takes).

    Mapped, where the row has it:

    - `system` and system messages as `system` (OpenAI: `developer`); user, assistant and tool messages in order; text
      blocks of a message join into one string, a message with images is a list of parts.
    - `tools` with `strict` only where asked for, its schema then closed and all required where the row checks it;
      `tool_choice`, `parallel_tool_calls`, `response_format` (text, `json_object`, `json_schema`), `temperature`,
      `top_p`, `stop`, `seed`, `max_tokens` under the row's name.
    - `reasoning_effort` in the row's spelling; `off` only where the row can turn reasoning off.
    - `cache` where the row can ask for it: OpenAI's retention, `cache_control` marks on the system text and the last
      message at OpenRouter and DashScope. `none` holds everywhere: nothing is cached by request.
    - Files as `file` (PDF, ids of uploaded files) and `input_audio` (wav, mp3), where the row takes them.
    - Images as `image_url`, bytes as data URLs; images of tool results in a user message after the results.
    - Tool calls with raw arguments (empty ones as `{}`) and their ids; ids that the row refuses are rewritten in the
      request, call and result alike. A result with `is_error` is marked by `Error: ` before its text.
    - Reasoning of earlier turns under the name it arrived under, else under the row's; `reasoning_details` and
      `extra_content` of replay state unchanged. Where a row has no field for it, reasoning is left out and reported in
      `replay_dropped`.
    - `extra["openai-chat"]`, merged last. Every request streams, and asks for usage unless the row may not.

    Refused before any I/O (`UNSUPPORTED…`, naming the field):

    - what the row lists as refused; strict schemas that the row's subset cannot say, names and counts over its limits;
    - efforts outside the model's list, else the row's; `cache` where nothing asks for it;
    - images where the row or the model's facts exclude them, images in system and assistant messages,
      files there and in results;
    - `tool_choice` and `parallel_tool_calls` without tools; `n`, sound, and extra of another wire.

    Ignored: `session_id` and `purpose`, which are hints. Left out of the answer: choices but the first,
    log-probabilities, annotations, audio, fingerprints. An unknown kind of event has no choices, and passes.
    """

    def __init__(self, options: OpenAIChatOptions | None = None) -> None:
        made = OpenAIChatOptions() if options is None else options
        super().__init__(made, codec_of(made))


def codec_of(options: OpenAIChatOptions) -> Codec:
    """Return the row that options name, with `require_finish` in place of its own.

    Unnamed, an address of the caller's own is `generic`, and none is OpenAI's.
    """
    found = WIRE.codec_at(options, elsewhere="generic")
    if options.require_finish is None:
        return found
    row = ROWS[found.dialect]
    return ChatCodec(replace(row, reading=replace(row.reading, finish_required=options.require_finish)))
