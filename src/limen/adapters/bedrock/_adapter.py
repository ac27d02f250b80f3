"""Bedrock's Converse: one adapter for the models of every vendor behind it."""

from typing import Final

from limen.adapters._aws_credentials import signs, with_chain
from limen.adapters._codec import WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters._spec import CodecWire
from limen.adapters.bedrock._codec import ConverseCodec
from limen.adapters.bedrock._dialects import ROWS, Dialect

WIRE: Final = CodecWire(
    Dialect.wire, {name: ConverseCodec(row) for name, row in ROWS.items()}, default_dialect="bedrock"
)


class BedrockOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `BedrockAdapter`; those of every adapter, and two of Amazon's.

    - `api_key`: an API key of Bedrock, sent as a bearer token, or a source of `AwsCredentials`; without one botocore's
      chain (extra `limen[bedrock]`).
    - `region`: where models are that no ARN names, such as `us-east-1`; without it the profile's.
    - `profile`: the profile of `~/.aws/config` that the chain uses.
    - `base_url`: `{region}` in it stands for the region, as in `https://bedrock-runtime-fips.{region}.amazonaws.com`.
    """

    region: str | None = None
    profile: str | None = None


class BedrockAdapter(WireAdapter):
    """Amazon Bedrock by Converse (docs/adapters-bedrock.md lists what each family of models takes).

    Mapped:

    - `system` and system messages before the first turn as `system`; later ones in their place where the family takes
      them. User and tool messages as user turns, results first; neighbours of one role are one turn; blank text is left
      out, since the wire refuses it; a result without any is sent as `.`.
    - Images and documents as bytes; a document's name is rewritten to the characters that the wire takes, and made
      unique.
    - Tool calls with their arguments embedded as they are (blank ones as `{}`); ids that the wire refuses, or that an
      earlier turn used, are rewritten in the request, call and result alike.
    - `tools`, `tool_choice` (`none` for Claude), `temperature`, `top_p`, `max_tokens`, `stop` as `inferenceConfig`; a
      `JsonSchema` as `outputConfig.textFormat`.
    - `reasoning_effort` in the words of the model's family, in `additionalModelRequestFields`.
    - `cache` as cache points behind system, tools and the last turn; `extra["bedrock-converse"]`, merged last.
    - Each block of the answer with content as a block, in the wire's order; images too.
    - Replay state: signatures, hidden reasoning and the provider's own tools with their results go back in place.
      Reasoning that the model does not take back is not sent, and reported in `replay_dropped`.
    - `guardrail_intervened` and `content_filtered` are `CONTENT_FILTER`; an exception in the stream ends it in-band.

    Refused before any I/O (`UNSUPPORTED…`, naming the field):

    - `seed`, `parallel_tool_calls`; JSON without a schema, a schema that is not to be strict.
    - Efforts, cache points and `tool_choice` `none` where the model's family is not known to take them.
    - Tool names outside `[A-Za-z0-9_-]{1,64}`; a history with calls without `tools`; a document without text beside it.
    - Images and documents by address, sound, images in results that are errors; extra of another wire.

    Ignored: `session_id`, `purpose`. Left out of the answer: citations, traces, metrics, unknown events and fields.
    """

    def __init__(self, options: BedrockOptions | None = None) -> None:
        made = BedrockOptions() if options is None else options
        codec = codec_of(made)
        super().__init__(with_chain(made, profile=made.profile) if codec.signs else made, codec)


def codec_of(options: BedrockOptions) -> ConverseCodec:
    """Return the row that options name, with their region, and whether its requests are signed."""
    row = ROWS[WIRE.codec_at(options).dialect]
    signing = signs(options, region=options.region, profile=options.profile)
    return ConverseCodec(row, region=options.region, signs=signing)
