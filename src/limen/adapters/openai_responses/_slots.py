"""Items of one answer in flight, as this wire has them, and what of them travels in the replay state (R5, N4)."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from limen.adapters.kit import OpenCall, OpenText, StateWriter
from limen.adapters.openai_responses._wire import REPLAY_VERSION, WIRE, Item, ItemKind, Piece, PieceKind
from limen.contract import JsonObject

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PARTS: Final = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_NULL: Final = msgspec.Raw(b"null")
_EMPTY_LIST: Final = msgspec.Raw(b"[]")
_NOTHING: Final = (b"", b"null", b'""')

# Stands between the parts of a reasoning item, whose text is one block.
BREAK: Final = "\n\n"
# Work of the provider's own, which is an answer by itself (C12); an unknown kind may hold text that nobody reads.
WORK: Final = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "computer_call",
        "local_shell_call",
        "local_shell_call_output",
        "shell_call",
        "shell_call_output",
        "apply_patch_call",
        "apply_patch_call_output",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "tool_search_call",
        "tool_search_output",
        "program",
        "program_output",
        "compaction",
    }
)


class MessageSlot:
    """A `message`: its text parts, each a block, and the words of a refusal by part."""

    __slots__ = ("done", "item", "key", "parts", "refusals")
    kind: ItemKind = "message"

    def __init__(self, key: int) -> None:
        self.key = key
        self.item: Item | None = None
        self.done = False
        self.parts: dict[int, OpenText] = {}
        self.refusals: dict[int, list[str]] = {}

    @property
    def answers(self) -> bool:
        """Tell whether the message is an answer by itself (C12): it holds text that is not blank."""
        return any(not part.is_blank for part in self.parts.values())

    @property
    def opened(self) -> list[OpenText]:
        """The parts that are blocks, in their order on the wire."""
        return [part for _, part in sorted(self.parts.items()) if part.index >= 0]


class ReasoningSlot(OpenText):
    """A `reasoning` item: one block for the texts of its summary, or else of its content.

    `source` is the kind of part that the block's text comes from, `places` the indexes of these parts, and `starts`
    where each begins in `parts`.
    """

    __slots__ = ("done", "item", "key", "places", "source", "starts")

    def __init__(self, key: int) -> None:
        super().__init__("reasoning")
        self.key = key
        self.item: Item | None = None
        self.done = False
        self.source: PieceKind | None = None
        self.places: list[int] = []
        self.starts: list[int] = []

    @property
    def answers(self) -> bool:
        """Tell whether the reasoning is an answer by itself (C12): it holds text that is not blank."""
        return not self.is_blank

    def lengths(self) -> tuple[int, ...]:
        """Return the code points of each part's text; a break stands before every part but the first."""
        ends = [*(start - 1 for start in self.starts[1:]), len(self.parts)]
        return tuple(sum(map(len, self.parts[start:end])) for start, end in zip(self.starts, ends, strict=True))


class CallSlot(OpenCall):
    """A `function_call`, or a `custom_tool_call`, whose text is free; `given` is what its start held of it."""

    __slots__ = ("done", "given", "item", "key", "kind")
    answers = False

    def __init__(self, key: int, kind: ItemKind) -> None:
        super().__init__()
        self.kind: ItemKind = kind
        self.key = key
        self.item: Item | None = None
        self.done = False
        self.given = ""


class WorkSlot:
    """An item that makes no block: the provider's own tools, compaction, unknown kinds."""

    __slots__ = ("done", "item", "key")
    kind: ItemKind = "work"

    def __init__(self, key: int) -> None:
        self.key = key
        self.item: Item | None = None
        self.done = False

    @property
    def answers(self) -> bool:
        """Tell whether the item is an answer by itself (C12): known work that is whole."""
        return self.done and self.item is not None and self.item.type in WORK


Slot: TypeAlias = MessageSlot | ReasoningSlot | CallSlot | WorkSlot


def kind_of(slot: Slot) -> ItemKind:
    """Return the kind of item that a slot is for."""
    return "reasoning" if isinstance(slot, ReasoningSlot) else slot.kind


def slot_for(kind: ItemKind, key: int) -> Slot:
    """Make the slot of an item that begins."""
    if kind == "message":
        return MessageSlot(key)
    if kind == "reasoning":
        return ReasoningSlot(key)
    return WorkSlot(key) if kind == "work" else CallSlot(key, kind)


def texts_of(pieces: Sequence[Piece | None], kind: PieceKind) -> list[tuple[int, str]]:
    """Return the texts of one kind that are not empty, each with its index."""
    return [(index, piece.text) for index, piece in enumerate(pieces) if piece and piece.kind == kind and piece.text]


def with_sealed(item: Item, later: Item) -> Item:
    """Return a reasoning item with the sealed content of its later copy, where it has none itself.

    Azure was seen to send `encrypted_content` in the last event only.
    """
    own, other = _MEMBERS.decode(item.raw), _MEMBERS.decode(later.raw)
    sealed = other.get("encrypted_content", _NULL)
    if not is_nothing(own.get("encrypted_content", _NULL)) or is_nothing(sealed):
        return item
    raw = msgspec.json.encode({**own, "encrypted_content": sealed}).decode()
    return msgspec.structs.replace(item, raw=raw)


def is_nothing(raw: object) -> bool:
    """Tell whether a member of an item is absent, null or an empty text (W2)."""
    return raw is None or (isinstance(raw, msgspec.Raw) and bytes(raw) in _NOTHING)


def replay_state(slots: Sequence[Slot], *, cut: bool) -> JsonObject | None:
    """Return the state of a turn that succeeded, or `None` where its blocks say all.

    The calls of a `cut` turn leave the history (C17), and so does reasoning that they followed from: the wire refuses
    a reasoning item without the item it led to.
    """
    writer = StateWriter(WIRE, REPLAY_VERSION)
    ordered = sorted(slots, key=_key)
    kept: list[Slot] = []
    led_on = not cut
    for slot in reversed(ordered):
        if isinstance(slot, ReasoningSlot):
            if led_on:
                kept.append(slot)
        elif not isinstance(slot, CallSlot):
            led_on = True
            kept.append(slot)
        elif cut:
            led_on = False
        else:
            kept.append(slot)
    behind = -1
    for slot in reversed(kept):
        behind = _keep(slot, writer, behind)
    return writer.state(_count(slots))


def _key(slot: Slot) -> int:
    return slot.key


def _count(slots: Sequence[Slot]) -> int:
    count = 0
    for slot in slots:
        if isinstance(slot, MessageSlot):
            count += len(slot.opened)
        elif not isinstance(slot, WorkSlot):
            count += slot.index >= 0
    return count


def _keep(slot: Slot, writer: StateWriter, behind: int) -> int:
    """Keep what the blocks of an item do not say; return the block that what follows stands behind."""
    item = slot.item
    if isinstance(slot, MessageSlot):
        opened = slot.opened
        if item is not None and slot.done and len(opened) == len(texts_of(item.content, "text")):
            if not opened:
                writer.item(item.raw, behind=behind)
            for number, part in enumerate(opened):
                writer.at(part.index, {"joins": True} if number else {"item": _message(item)})
        return max([behind, *(part.index for part in opened)])
    if isinstance(slot, WorkSlot) or slot.index < 0:
        if item is not None and slot.done:
            writer.item(item.raw, behind=behind)
        return behind
    if item is not None and slot.done:
        if isinstance(slot, CallSlot):
            writer.at(slot.index, {"item": _call(item)})
        else:
            writer.at(slot.index, {"item": _reasoning(item, slot.source), "lengths": slot.lengths()})
    return max(behind, slot.index)


def _call(item: Item) -> str:
    members = _MEMBERS.decode(item.raw)
    said = dict.fromkeys(("call_id", "name", "input" if item.kind == "custom" else "arguments"), _NULL)
    return msgspec.json.encode({**members, **said}).decode()


def _message(item: Item) -> str:
    """Return a message without its texts and without log-probabilities, which nobody needs again."""
    members = _MEMBERS.decode(item.raw)
    parts = _PARTS.decode(members["content"])
    for index, _text in texts_of(item.content, "text"):
        parts[index]["text"] = _NULL
        if "logprobs" in parts[index]:
            parts[index]["logprobs"] = _EMPTY_LIST
    return msgspec.json.encode({**members, "content": parts}).decode()


def _reasoning(item: Item, source: PieceKind | None) -> str:
    members = _MEMBERS.decode(item.raw)
    name = "summary" if source == "summary" else "content"
    parts = _PARTS.decode(members[name])
    for index, _text in texts_of(item.summary if source == "summary" else item.content, source or "reasoning"):
        parts[index]["text"] = _NULL
    return msgspec.json.encode({**members, name: parts}).decode()
