"""Anthropic Messages: one adapter, one row per host."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from limen.adapters._aws_credentials import signs, with_chain
from limen.adapters._codec import WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters._spec import CodecWire
from limen.adapters.anthropic._codec import InvokeCodec, MessagesCodec
from limen.adapters.anthropic._dialects import ROWS, WITHOUT_SAMPLING, Dialect
from limen.contract import FrozenDict, LlmError, codes

WIRE: Final = CodecWire(
    Dialect.wire,
    {name: InvokeCodec(row) if row.frames else MessagesCodec(row) for name, row in ROWS.items()},
    default_dialect="anthropic",
)


class AnthropicOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `AnthropicAdapter`; those of every adapter, three of this wire, and two of Amazon's.

    - `version`: the API version, in place of the dialect row's (`anthropic-version`, or Vertex's `anthropic_version`).
    - `betas`: names for the header `anthropic-beta`; fields of a beta go into `GenerateOptions.extra`.
    - `empty_signatures`: whether the host's unsigned thinking is sent back with an empty signature, in place of the
      dialect row's word.
    - `region`, `profile`: of the row `bedrock` alone, as `BedrockOptions` has them.
    """

    version: str | None = None
    betas: Sequence[str] = ()
    empty_signatures: bool | None = None
    region: str | None = None
    profile: str | None = None


class AnthropicAdapter(WireAdapter):
    """Claude, and every host that speaks Anthropic Messages (docs/adapters-anthropic.md lists what each row takes).

    Mapped, where the row has it:

    - `system` and system messages before the first turn as `system`, later ones in their place; user and tool messages
      as user turns, results first; neighbours of one role are one turn; blank text is left out: the wire refuses it.
    - Images as base64 or `url`; files as `document` (PDF, plain text; base64, `url`, `file_id`).
    - Tool calls with their arguments embedded as they are (blank ones as `{}`); ids that the wire refuses, or that an
      earlier turn used, are rewritten in the request, call and result alike.
    - `tools`, `tool_choice`, `parallel_tool_calls`, `temperature`, `top_p`, `max_tokens` (8,192 where nobody says),
      `stop` as `stop_sequences`; a `JsonSchema` as `output_config.format`. Schemas of strict tools and of answers are
      closed where the row asks for it.
    - `reasoning_effort` as `output_config.effort` with adaptive thinking, `off` as thinking disabled.
    - `cache` as marks behind system, tools and the last turn; `extra["anthropic-messages"]`, merged last.
    - Text, thinking and `tool_use` blocks of an answer as blocks, each its own, in the wire's order.
    - Replay state: signatures, withheld and redacted thinking, citations, the provider's own tools with their results,
      compaction and blocks unknown here go back byte for byte, in place. Thinking without the signature of this wire
      (another provider's, an interrupted turn's) is not sent, and reported in `replay_dropped`.
    - `end_turn`, `stop_sequence`, `pause_turn` are a stop, after calls one for calls; a refusal is `CONTENT_FILTER`;
      `model_context_window_exceeded` is a token limit; an `error` event ends the stream in-band.

    Refused before any I/O (`UNSUPPORTED…`, naming the field):

    - `seed`; JSON without a schema, a schema that is not to be strict, or that strict cannot say; what the
      dialect row lists.
    - Tool names outside `[a-zA-Z0-9_-]{1,128}`, in `tools` and in the calls of the history.
    - `tool_choice` and `parallel_tool_calls` without tools; efforts outside the model's list, else the row's.
    - Images that host or model do not take, files that the host does not; images, files and results in assistant
      messages, files in results; extra of another wire.

    Ignored: `purpose`, and `session_id` except where the host reads one (OpenRouter). Left out of the answer: unknown
    events, deltas and fields, as the wire's versioning policy asks.
    """

    def __init__(self, options: AnthropicOptions | None = None) -> None:
        made = AnthropicOptions() if options is None else options
        codec = codec_of(made)
        signing = isinstance(codec, InvokeCodec) and codec.signs
        super().__init__(with_chain(made, profile=made.profile) if signing else made, codec)


def codec_of(options: AnthropicOptions) -> MessagesCodec:
    """Return the row that options name, with what the options say otherwise; without a name it is Anthropic's."""
    row = ROWS[WIRE.codec_at(options).dialect]
    if options.empty_signatures is not None:
        row = replace(row, empty_signatures=options.empty_signatures)
    version = options.version
    if version is not None:
        row = replace(row, **{"version" if row.body_version is None else "body_version": version})
    if version in WITHOUT_SAMPLING:
        removed = f"version {version} of the API has removed it"
        row = replace(row, refuses=FrozenDict({**row.refuses, "temperature": removed, "top_p": removed}))
    if options.betas:
        row = replace(row, betas=tuple(options.betas))
    if row.frames:
        signing = signs(options, region=options.region, profile=options.profile)
        return InvokeCodec(row, region=options.region, signs=signing)
    for name in ("region", "profile"):
        if getattr(options, name) is not None:
            raise LlmError(f"{name} is an option of the dialect bedrock alone", codes.INVALID_CONFIG, phase="resolve")
    return MessagesCodec(row)
