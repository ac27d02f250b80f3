"""Types of the wire Bedrock Converse, and what an event of it means once it was read.

Source of truth: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html and botocore's
model of `bedrock-runtime` (1.44.8), read 2026-11-30. Every payload has padding under the key `p`, and fields unknown
here are passed over (C15).

Null, absent and empty are one thing for every optional field (W2), so every field has a default. `WireDelta` holds no
`Raw`: its text must be readable by the standard decoder too (S5).
"""

from typing import Final, TypeAlias

import msgspec

WIRE: Final = "bedrock-converse"
REPLAY_VERSION: Final = 1

NOTHING: Final = msgspec.Raw(b"")


class Malformed(ValueError):
    """A part of an answer that this wire does not allow; the text says which part, and quotes it."""


class WireInput(msgspec.Struct, frozen=True, gc=False):
    """`delta.toolUse`: a fragment of a call's arguments."""

    input: str | None = None


class WireReasoning(msgspec.Struct, frozen=True, gc=False):
    """`delta.reasoningContent`: one of a text, a signature and hidden reasoning in base64."""

    text: str | None = None
    signature: str | None = None
    redactedContent: str | None = None  # noqa: N815 - the wire's names


class WireDelta(msgspec.Struct, frozen=True, gc=False):
    """`delta` of `contentBlockDelta`; `toolResult` and `image` are read again by their kind, `citation` not at all."""

    text: str | None = None
    toolUse: WireInput | None = None  # noqa: N815
    reasoningContent: WireReasoning | None = None  # noqa: N815
    toolResult: object = None  # noqa: N815
    image: object = None


class WireBlockDelta(msgspec.Struct, frozen=True, gc=False):
    """`contentBlockDelta`, and `contentBlockStop`, which has no delta."""

    contentBlockIndex: int | None = None  # noqa: N815
    delta: WireDelta | None = None


class WireToolUse(msgspec.Struct, frozen=True, gc=False):
    """A call: at its start, or whole; `type` is `server_tool_use` for one that the provider runs itself."""

    toolUseId: str | int | None = None  # noqa: N815
    name: str | None = None
    type: str | None = None
    input: msgspec.Raw = NOTHING


class WireStart(msgspec.Struct, frozen=True, gc=False):
    """`start` of `contentBlockStart`, by its kind."""

    toolUse: WireToolUse | None = None  # noqa: N815
    toolResult: msgspec.Raw = NOTHING  # noqa: N815
    image: msgspec.Raw = NOTHING


class WireBlockStart(msgspec.Struct, frozen=True, gc=False):
    """`contentBlockStart`; text and reasoning are usually begun without one."""

    contentBlockIndex: int | None = None  # noqa: N815
    start: WireStart | None = None


class WireImageSource(msgspec.Struct, frozen=True, gc=False):
    """`image.source`: bytes in base64."""

    bytes: str | None = None


class WireImage(msgspec.Struct, frozen=True, gc=False):
    """An image: its format at its start, its source in deltas, both in a whole answer."""

    format: str | None = None
    source: WireImageSource | None = None


class WireRawDelta(msgspec.Struct, frozen=True, gc=False):
    """The deltas that are no text: parts of a provider's own tool result, and an image's bytes."""

    toolResult: list[msgspec.Raw] | None = None  # noqa: N815
    image: WireImage | None = None


class WireRawBlockDelta(msgspec.Struct, frozen=True, gc=False):
    """`contentBlockDelta` with such a delta."""

    delta: WireRawDelta | None = None


class WireStop(msgspec.Struct, frozen=True, gc=False):
    """`messageStop`."""

    stopReason: str | None = None  # noqa: N815
    additionalModelResponseFields: msgspec.Raw = NOTHING  # noqa: N815


class WireMetadata(msgspec.Struct, frozen=True, gc=False):
    """`metadata`; each count is read by itself, so that one odd count costs nothing else (C15)."""

    usage: msgspec.Raw = NOTHING


class WireText(msgspec.Struct, frozen=True, gc=False):
    """A text inside `citationsContent.content`."""

    text: str | None = None


class WireCited(msgspec.Struct, frozen=True, gc=False):
    """`citationsContent`: text with its sources."""

    content: list[WireText] | None = None


class WireReasoningText(msgspec.Struct, frozen=True, gc=False):
    """`reasoningContent.reasoningText`."""

    text: str | None = None
    signature: str | None = None


class WireReasoningBlock(msgspec.Struct, frozen=True, gc=False):
    """`reasoningContent` of a whole answer."""

    reasoningText: WireReasoningText | None = None  # noqa: N815
    redactedContent: str | None = None  # noqa: N815


class WireBlock(msgspec.Struct, frozen=True, gc=False):
    """A content block of a whole answer, by its kind."""

    text: str | None = None
    toolUse: WireToolUse | None = None  # noqa: N815
    toolResult: msgspec.Raw = NOTHING  # noqa: N815
    reasoningContent: WireReasoningBlock | None = None  # noqa: N815
    citationsContent: WireCited | None = None  # noqa: N815
    image: WireImage | None = None


class WireMessage(msgspec.Struct, frozen=True, gc=False):
    """`output.message`."""

    content: list[WireBlock] | None = None


class WireOutput(msgspec.Struct, frozen=True, gc=False):
    """`output`."""

    message: WireMessage | None = None


class WireAnswer(msgspec.Struct, frozen=True, gc=False):
    """A whole answer of `Converse`, or an error in its place: `{"message": …}`, a gateway's `{"error": …}`."""

    output: WireOutput | None = None
    stopReason: str | None = None  # noqa: N815
    usage: msgspec.Raw = NOTHING
    additionalModelResponseFields: msgspec.Raw = NOTHING  # noqa: N815
    message: object = None
    Message: object = None
    error: object = None


class ReplayEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Replay state of one content block.

    `signature` belongs to reasoning; an empty one says that this was unsigned reasoning of this wire. `after` holds
    the items without a block that came between this block and the next, each as its own JSON text.
    """

    signature: str | None = None
    after: tuple[str, ...] = ()


class ReplayState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The replay state of one turn (R5); `before` holds the items that came before the first block."""

    v: int
    wire: str
    blocks: tuple[ReplayEntry | None, ...]
    before: tuple[str, ...] = ()


class Started(msgspec.Struct, frozen=True):
    """`messageStart`."""


class CallStarted(msgspec.Struct, frozen=True):
    """The start of a call: of a client's tool, or, with a `type` of its own, of one that the provider runs."""

    index: int | None
    id: str
    name: str
    type: str | None = None


class ItemStarted(msgspec.Struct, frozen=True):
    """The start of a block that makes none here: the result of a provider's own tool, its members as they came."""

    index: int | None
    raw: str


class ImageStarted(msgspec.Struct, frozen=True):
    """The start of an image, with its media type."""

    index: int | None
    media_type: str


class ItemDelta(msgspec.Struct, frozen=True):
    """Parts of a provider's own tool result, each as its own text, or an image's bytes."""

    index: int | None
    parts: tuple[str, ...] = ()
    data: bytes = b""


class Stopped(msgspec.Struct, frozen=True):
    """`messageStop`: the finish word, and the stop sequence that matched, where it was asked for and told."""

    word: str | None
    stop_sequence: str | None


class Counted(msgspec.Struct, frozen=True):
    """Counts as the wire has them: disjoint, `None` where unknown."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class Metadata(msgspec.Struct, frozen=True):
    """`metadata`, with the usage where it has any."""

    usage: Counted | None


class StreamFailed(msgspec.Struct, frozen=True):
    """An exception inside the stream; `payload` is an error object, to be classified."""

    payload: bytes


Event: TypeAlias = WireBlockDelta | Started | CallStarted | ItemStarted | ImageStarted | ItemDelta | Stopped | Metadata
