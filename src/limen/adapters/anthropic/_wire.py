"""Types of the wire Anthropic Messages, and what an event of it means once it was read.

Sources of truth, read 2026-11-30:
https://platform.claude.com/docs/en/build-with-claude/streaming (events, deltas, the versioning promise),
https://platform.claude.com/docs/en/api/messages (request, blocks, usage, stop reasons),
https://platform.claude.com/docs/en/api/errors.

Null, absent and empty are one thing for every optional field (W2), so every field has a default. The stream's
head (`WireEvent`) holds no `Raw`: its text must be readable by the standard decoder too (S5).
"""

from typing import Final, TypeAlias

import msgspec

from limen.adapters.kit import Count

WIRE: Final = "anthropic-messages"
REPLAY_VERSION: Final = 1

NOTHING: Final = msgspec.Raw(b"")


class Malformed(ValueError):
    """A part of an answer that this wire does not allow; the text says which part, and quotes it."""


class WireDelta(msgspec.Struct, frozen=True, gc=False):
    """The deltas that carry content: `text_delta`, `thinking_delta`, `input_json_delta`, `signature_delta`."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None


class WireEvent(msgspec.Struct, frozen=True, gc=False):
    """Any event of the stream as far as every event is read; `error` is looked for in all of them (W1)."""

    type: str | None = None
    index: int | None = None
    delta: WireDelta | None = None
    error: object = None


class WireKind(msgspec.Struct, frozen=True, gc=False):
    """The kind of an event, a block or a delta whose other fields may have any shape."""

    type: str | None = None


class WireEventKind(msgspec.Struct, frozen=True, gc=False):
    """An event's kind and its delta's kind."""

    type: str | None = None
    delta: WireKind | None = None


class WireCacheCreation(msgspec.Struct, frozen=True, gc=False):
    """`usage.cache_creation`: writes by time to live; the sum stands beside it, and is what counts."""

    ephemeral_5m_input_tokens: Count = None
    ephemeral_1h_input_tokens: Count = None


class WireOutputDetails(msgspec.Struct, frozen=True, gc=False):
    """`usage.output_tokens_details`."""

    thinking_tokens: Count = None


class WireIteration(msgspec.Struct, frozen=True, gc=False):
    """One pass of the model behind an answer, as `usage.iterations` counts it."""

    type: str | None = None
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None


class WireUsage(msgspec.Struct, frozen=True, gc=False):
    """Cumulative counts; `input_tokens` excludes both cache counts, `output_tokens` includes thinking."""

    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_creation: WireCacheCreation | None = None
    output_tokens_details: WireOutputDetails | None = None
    iterations: list[WireIteration] | None = None


class WireStopDetails(msgspec.Struct, frozen=True, gc=False):
    """`stop_details` of a refusal."""

    category: str | None = None
    explanation: str | None = None


class WireStop(msgspec.Struct, frozen=True, gc=False):
    """The `delta` of a `message_delta`."""

    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: WireStopDetails | None = None


class WireMessageDelta(msgspec.Struct, frozen=True, gc=False):
    """`message_delta`: why it stopped, and usage that overwrites field by field."""

    delta: WireStop | None = None
    usage: WireUsage | None = None


class WireMessage(msgspec.Struct, frozen=True, gc=False):
    """A message: at the start of a stream, or a whole answer that is not streamed."""

    id: str | None = None
    type: str | None = None
    model: str | None = None
    content: list[msgspec.Raw] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: WireStopDetails | None = None
    usage: WireUsage | None = None
    error: object = None


class WireMessageStart(msgspec.Struct, frozen=True, gc=False):
    """`message_start`."""

    message: WireMessage | None = None


class WireBlockStart(msgspec.Struct, frozen=True, gc=False):
    """`content_block_start`; the block is read by its kind."""

    content_block: msgspec.Raw = NOTHING


class WireBlock(msgspec.Struct, frozen=True, gc=False):
    """A content block of a kind that this adapter reads: `text`, `thinking`, `tool_use`; `Raw` is kept as it came."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    id: str | int | None = None
    name: str | None = None
    input: msgspec.Raw = NOTHING
    caller: msgspec.Raw = NOTHING
    citations: msgspec.Raw = NOTHING


class WireItem(msgspec.Struct, frozen=True, gc=False):
    """The ids that pair items of the provider's own tools: a use has an `id`, its result names it."""

    type: str | None = None
    id: str | None = None
    tool_use_id: str | None = None


class WireItemDelta(msgspec.Struct, frozen=True, gc=False):
    """Deltas whose fields are kept as their own bytes: `citations_delta`, `compaction_delta`."""

    citation: msgspec.Raw = NOTHING
    content: msgspec.Raw = NOTHING
    encrypted_content: msgspec.Raw = NOTHING


class WireItemEvent(msgspec.Struct, frozen=True, gc=False):
    """`content_block_delta` with such a delta."""

    delta: WireItemDelta | None = None


class WireModel(msgspec.Struct, frozen=True, gc=False):
    """One row of `GET /v1/models`."""

    id: str | None = None
    display_name: str | None = None
    max_input_tokens: Count = None


class WireModels(msgspec.Struct, frozen=True, gc=False):
    """`GET /v1/models`."""

    data: list[WireModel] | None = None


class ReplayEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Replay state of one content block; foreign JSON is kept as its own text.

    `signature` belongs to reasoning, `citations` to text, `caller` to a tool call; `after` holds the items without a
    block that came between this block and the next.
    """

    signature: str | None = None
    citations: tuple[str, ...] | None = None
    caller: str | None = None
    after: tuple[str, ...] = ()


class ReplayState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The replay state of one turn (R5); `before` holds the items that came before the first block."""

    v: int
    wire: str
    blocks: tuple[ReplayEntry | None, ...]
    before: tuple[str, ...] = ()


class Block(msgspec.Struct, frozen=True, gc=False):
    """A content block as it was read; `kind` is `text`, `thinking`, `tool_use`, or `item` for what makes no block.

    `type` is the wire's own word. `arguments` is a tool's input as text, empty where there is none; `raw` is the whole
    block of an item, and `pairs` the id under which an item and its result belong together.
    """

    kind: str
    type: str
    text: str = ""
    signature: str = ""
    id: str = ""
    name: str = ""
    arguments: str = ""
    caller: str | None = None
    citations: tuple[str, ...] = ()
    raw: str = ""
    pairs: str = ""

    def same(self, other: "Block") -> bool:
        """Tell whether another start is of this very block."""
        return (self.type, self.id) == (other.type, other.id)


class MessageStarted(msgspec.Struct, frozen=True):
    """`message_start`, or a whole answer: the message, and the blocks that came with it."""

    message: WireMessage
    content: tuple[Block, ...]


class BlockStarted(msgspec.Struct, frozen=True):
    """`content_block_start`."""

    index: int | None
    block: Block


class ItemDelta(msgspec.Struct, frozen=True):
    """A delta that makes no chunk: a `citations_delta`, a `compaction_delta`, or one of a kind unknown here."""

    index: int | None
    type: str
    citation: str | None = None
    fields: tuple[tuple[str, str], ...] = ()


class StreamFailed(msgspec.Struct, frozen=True):
    """An error inside the stream; `payload` is the event's data, to be classified."""

    payload: bytes


class MessageStopped(msgspec.Struct, frozen=True):
    """`message_stop`."""


Event: TypeAlias = WireEvent | MessageStarted | BlockStarted | ItemDelta | WireMessageDelta | MessageStopped
