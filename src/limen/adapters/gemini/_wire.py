"""Types of the wire `gemini-generate`: chunks of a stream, parts of a content, replay state.

Sources, read 2026-11-30: https://ai.google.dev/api/generate-content (chunks, parts, finish reasons, usage),
https://ai.google.dev/gemini-api/docs/thought-signatures, and the types of google-genai 3.6.1 (2026-11-18).

A message of the stream: data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"index":0}],
"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4},"modelVersion":"gemini-3-flash-preview","responseId":"r"}

Null, absent and empty are one thing for every optional field (W2), so every field has a default. `WireChunk` holds no
`Raw`: its text must be readable by the standard decoder too (S5).
"""

from typing import Final, Literal, TypeAlias

import msgspec

from limen.adapters.kit import Count
from limen.contract import ImageBlock

WIRE: Final = "gemini-generate"
REPLAY_VERSION: Final = 1

NOTHING: Final = msgspec.Raw(b"")


class Malformed(ValueError):
    """A part of an answer that this wire does not allow; the text says which part, and quotes it."""


class WirePresent(msgspec.Struct, frozen=True, gc=False):
    """An object whose fields are read later, by another type."""


class WirePart(msgspec.Struct, frozen=True, gc=False):
    """A part as every chunk is read: text and its marks, and whether it is a call."""

    text: str | None = None
    thought: bool | None = None
    signature: str | None = msgspec.field(name="thoughtSignature", default=None)
    call: WirePresent | None = msgspec.field(name="functionCall", default=None)


class WireContent(msgspec.Struct, frozen=True, gc=False):
    """The content of a candidate."""

    parts: list[WirePart | None] | None = None


class WireCandidate(msgspec.Struct, frozen=True, gc=False):
    """One candidate; only number 0 is read (W8). A finish reason is a number where enumerations are sent as such."""

    content: WireContent | None = None
    finish: str | int | None = msgspec.field(name="finishReason", default=None)
    message: str | None = msgspec.field(name="finishMessage", default=None)
    index: int | None = None
    continuation: str | None = msgspec.field(name="continuationToken", default=None)


class WireUsage(msgspec.Struct, frozen=True, gc=False):
    """`usageMetadata`: the counts so far, of which a chunk may leave any out."""

    prompt: Count = msgspec.field(name="promptTokenCount", default=None)
    cached: Count = msgspec.field(name="cachedContentTokenCount", default=None)
    candidates: Count = msgspec.field(name="candidatesTokenCount", default=None)
    thoughts: Count = msgspec.field(name="thoughtsTokenCount", default=None)
    tools: Count = msgspec.field(name="toolUsePromptTokenCount", default=None)
    total: Count = msgspec.field(name="totalTokenCount", default=None)


class WireFeedback(msgspec.Struct, frozen=True, gc=False):
    """`promptFeedback`: why a prompt was not answered."""

    reason: str | None = msgspec.field(name="blockReason", default=None)
    message: str | None = msgspec.field(name="blockReasonMessage", default=None)


class WireChunk(msgspec.Struct, frozen=True, gc=False):
    """One chunk of the stream; a whole answer has the same form."""

    candidates: list[WireCandidate | None] | None = None
    usage: WireUsage | None = msgspec.field(name="usageMetadata", default=None)
    feedback: WireFeedback | None = msgspec.field(name="promptFeedback", default=None)
    error: object = None


class WireFirstChunk(WireChunk, frozen=True, gc=False):
    """A chunk with the facts that every chunk repeats: read until they are known."""

    model: str | None = msgspec.field(name="modelVersion", default=None)
    id: str | int | None = msgspec.field(name="responseId", default=None)


# -- parts that are no text: read once more, with their own bytes


class WireRawContent(msgspec.Struct, frozen=True, gc=False):
    """A content whose parts keep their bytes."""

    parts: list[msgspec.Raw] | None = None


class WireRawCandidate(msgspec.Struct, frozen=True, gc=False):
    """A candidate whose parts keep their bytes."""

    content: WireRawContent | None = None
    index: int | None = None


class WireRawChunk(msgspec.Struct, frozen=True, gc=False):
    """A chunk whose parts keep their bytes."""

    candidates: list[WireRawCandidate | None] | None = None


class WireBlob(msgspec.Struct, frozen=True, gc=False):
    """`inlineData`: bytes in base64."""

    media_type: str | None = msgspec.field(name="mimeType", default=None)
    data: str | None = None


class WirePartialArg(msgspec.Struct, frozen=True, gc=False):
    """One value, or a piece of a string, of arguments that are streamed; `path` is a JSON path (RFC 9535)."""

    path: str | None = msgspec.field(name="jsonPath", default=None)
    string: str | None = msgspec.field(name="stringValue", default=None)
    number: msgspec.Raw = msgspec.field(name="numberValue", default=NOTHING)
    boolean: bool | None = msgspec.field(name="boolValue", default=None)
    null: object = msgspec.field(name="nullValue", default=msgspec.UNSET)
    goes_on: bool | None = msgspec.field(name="willContinue", default=None)


class WireCall(msgspec.Struct, frozen=True, gc=False):
    """`functionCall`: whole with `args`, or in pieces with `partialArgs` and `willContinue`."""

    id: str | int | None = None
    name: str | None = None
    args: msgspec.Raw = NOTHING
    pieces: list[WirePartialArg] | None = msgspec.field(name="partialArgs", default=None)
    goes_on: bool | None = msgspec.field(name="willContinue", default=None)


class WireFullPart(msgspec.Struct, frozen=True, gc=False):
    """A part with everything that is read of it."""

    text: str | None = None
    thought: bool | None = None
    signature: str | None = msgspec.field(name="thoughtSignature", default=None)
    call: WireCall | None = msgspec.field(name="functionCall", default=None)
    blob: WireBlob | None = msgspec.field(name="inlineData", default=None)


class Part(msgspec.Struct, frozen=True, gc=False):
    """One part after reading: text or thought, a call, an image, or an item that makes no block.

    `raw` is the JSON text of an item; `kind` of an item is the name of its data field.
    """

    kind: str
    text: str = ""
    signature: str = ""
    call: WireCall | None = None
    arguments: str = ""
    image: ImageBlock | None = None
    raw: str = ""


# -- models


class WireModel(msgspec.Struct, frozen=True, gc=False):
    """One entry of `GET /models`."""

    name: str | None = None
    title: str | None = msgspec.field(name="displayName", default=None)
    description: str | None = None
    window: Count = msgspec.field(name="inputTokenLimit", default=None)
    methods: list[str] | None = msgspec.field(name="supportedGenerationMethods", default=None)
    thinking: bool | None = None


class WireModels(msgspec.Struct, frozen=True, gc=False):
    """A page of models: `models` at the Developer API, `publisherModels` at Vertex."""

    models: list[WireModel] | None = None
    published: list[WireModel] | None = msgspec.field(name="publisherModels", default=None)


# -- replay state


class ReplayCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The entry of a block: the id that the wire gave the call, which goes back on call and result."""

    id: str | None = None


class ReplayPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One part of the turn, in its place: `length` code points of a text block, a whole block, or `raw` alone."""

    block: int | None = None
    length: int | None = None
    signature: str | None = None
    raw: str | None = None


class ReplayState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replay state of a turn; without `parts` its blocks say all, in order."""

    v: int
    wire: str
    blocks: list[ReplayCall | None]
    parts: list[ReplayPart] | None = None
    continuation: str | None = None


TextKind: TypeAlias = Literal["text", "reasoning"]
