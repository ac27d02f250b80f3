"""Types of the wire OpenAI Responses, and what an event of it means once it was read.

Sources of truth, read 2026-11-30: https://platform.openai.com/docs/api-reference/responses and
`…/responses-streaming` (events, items), SDK 3.57.0, OpenAPI of 2026-08-21.

Null, absent and empty are one thing for every optional field (W2), so every field has a default. Deltas (`WireEvent`)
hold no `Raw`: their text must be readable by the standard decoder too (S5). Fields beside the answer
are `Raw` or `object`, so that an odd one costs nothing else (C15).
"""

from typing import Final, Literal, TypeAlias

import msgspec

WIRE: Final = "openai-responses"
REPLAY_VERSION: Final = 1

NOTHING: Final = msgspec.Raw(b"")

ItemKind: TypeAlias = Literal["message", "reasoning", "call", "custom", "work"]
PieceKind: TypeAlias = Literal["text", "refusal", "reasoning", "summary", "arguments", "input"]


class Malformed(ValueError):
    """A part of an answer that this wire does not allow; the text says which part, and quotes it."""


DeltaType: TypeAlias = Literal[
    "response.output_text.delta",
    "response.refusal.delta",
    "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta",
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
]


class WireDelta(msgspec.Struct, frozen=True, gc=False):
    """A delta with all that nearly every one has, and without an error: its decoder refuses every other event."""

    type: DeltaType
    output_index: int
    delta: str
    content_index: int | None = None
    summary_index: int | None = None
    error: None = None


class WireEvent(msgspec.Struct, frozen=True, gc=False):
    """A delta that leaves something out; `item_id` stands in where there is no `output_index`."""

    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    item_id: object = None
    delta: str | None = None


class WireKind(msgspec.Struct, frozen=True, gc=False):
    """The kind of an event whose other fields may have any shape; `error` as above."""

    type: str | None = None
    error: object = None


class WirePlace(msgspec.Struct, frozen=True, gc=False):
    """The place of an event within the answer; `item_id` stands in where there is no `output_index`."""

    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    item_id: object = None


class WireWhole(WirePlace, frozen=True, gc=False):
    """An event that ends a text, with all of it, or that adds or ends a part."""

    text: str | None = None
    refusal: str | None = None
    arguments: str | None = None
    input: str | None = None
    part: msgspec.Raw = NOTHING


class WirePart(msgspec.Struct, frozen=True, gc=False):
    """A part of a message or of reasoning."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None


class WireItemEvent(WirePlace, frozen=True, gc=False):
    """`response.output_item.added` and `.done`."""

    item: msgspec.Raw = NOTHING


class WireItem(msgspec.Struct, frozen=True, gc=False):
    """An item of the output, as far as a kind of item that makes a block is read."""

    type: str | None = None
    id: object = None
    status: object = None
    call_id: object = None
    name: str | None = None
    arguments: msgspec.Raw = NOTHING
    input: str | None = None
    content: list[msgspec.Raw] | None = None
    summary: list[msgspec.Raw] | None = None


class WireItemKind(msgspec.Struct, frozen=True, gc=False):
    """An item of a kind that makes no block: all else of it may have any shape."""

    type: str | None = None
    id: object = None


class WireResponse(msgspec.Struct, frozen=True, gc=False):
    """A response: inside an event, or a whole answer that is not streamed."""

    object: str | None = None
    id: msgspec.Raw = NOTHING
    model: msgspec.Raw = NOTHING
    status: str | None = None
    error: msgspec.Raw = NOTHING
    incomplete_details: msgspec.Raw = NOTHING
    output: list[msgspec.Raw] | None = None
    usage: msgspec.Raw = NOTHING


class WireResponseEvent(msgspec.Struct, frozen=True, gc=False):
    """`response.created` … `response.completed`."""

    response: WireResponse | None = None


class ReplayEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Replay state of one content block; foreign JSON is kept as its own text.

    `item` is the block's item with `null` for what the block says itself. `joins` says instead that this text belongs
    to the item of the text block before it. `lengths` are the code points of each part of a reasoning text. `after`
    holds the items without a block that came between this block and the next.
    """

    item: str | None = None
    joins: bool = False
    lengths: tuple[int, ...] | None = None
    after: tuple[str, ...] = ()


class ReplayState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The replay state of one turn (R5); `before` holds the items that came before the first block."""

    v: int
    wire: str
    blocks: tuple[ReplayEntry | None, ...]
    before: tuple[str, ...] = ()


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A part of an item: its kind and its whole text."""

    kind: PieceKind
    text: str


class Item(msgspec.Struct, frozen=True, gc=False):
    """An item as it was read; `kind` is `work` for one that makes no block, and `raw` all of it as it came.

    `id` is the item's own, `call_id` the one that pairs a call with its result; `summary` and `content` are the parts,
    with `None` for one of a kind that makes no block.
    """

    kind: ItemKind
    type: str
    id: str = ""
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    content: tuple[Piece | None, ...] = ()
    summary: tuple[Piece | None, ...] = ()
    raw: str = ""
    complete: bool = True


class Place(msgspec.Struct, frozen=True, gc=False):
    """The place of an event: index and id of the item, and the index of the part."""

    index: int | None
    id: str = ""
    part: int = 0


class DeltaSeen(msgspec.Struct, frozen=True):
    """A delta that is not ordinary."""

    place: Place
    piece: Piece


class ItemSeen(msgspec.Struct, frozen=True):
    """An item that begins, or with `done` one that is whole."""

    place: Place
    item: Item
    done: bool


class PieceSeen(msgspec.Struct, frozen=True):
    """A part that begins with some text, or with `done` the whole text of one; `closes` ends the part itself."""

    place: Place
    piece: Piece
    done: bool
    closes: bool = False


class ResponseSeen(msgspec.Struct, frozen=True):
    """A response, at the start of the stream or with `ending` at its end: `completed`, `incomplete`, `failed` …

    `reason` is the reason of an incomplete one, `error` what a failed one says of itself.
    """

    id: str
    model: str
    ending: str = ""
    reason: str = ""
    error: bytes = b""
    output: tuple[Item, ...] = ()
    usage: bytes = b""


class StreamFailed(msgspec.Struct, frozen=True):
    """An error inside the stream; `payload` is the event's data, to be classified."""

    payload: bytes


Event: TypeAlias = DeltaSeen | ItemSeen | PieceSeen | ResponseSeen
