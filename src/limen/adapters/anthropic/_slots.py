"""Blocks of one answer in flight, as this wire has them, and what of them travels in the replay state (R5, N4)."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from limen.adapters.anthropic._wire import REPLAY_VERSION, WIRE, Block
from limen.adapters.kit import OpenCall, OpenText, StateWriter, is_object
from limen.contract import JsonObject, replace_surrogates

_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

# A delta for a block whose start a gateway left out says by itself what it belongs to; a tool call's does not.
IMPLIED: Final = {
    "text_delta": Block("text", "text"),
    "citations_delta": Block("text", "text"),
    "thinking_delta": Block("thinking", "thinking"),
    "signature_delta": Block("thinking", "thinking"),
}
# Work of the provider's own, which is an answer by itself (C12); an unknown kind may hold text that nobody reads.
WORK: Final = frozenset(
    {
        "server_tool_use",
        "mcp_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "mcp_tool_result",
        "advisor_tool_result",
        "container_upload",
        "compaction",
    }
)


class TextSlot(OpenText):
    """A `text` block with its citations, or a `thinking` block with its signature."""

    __slots__ = ("citations", "delta_type", "signature", "type")

    def __init__(self, block: Block) -> None:
        super().__init__("text" if block.kind == "text" else "reasoning")
        self.type = block.type
        self.delta_type = f"{block.type}_delta"
        self.citations = list(block.citations)
        # What the start held, then the pieces of deltas, which replace it.
        self.signature = [block.signature]

    def signed(self) -> str:
        """Return the signature, empty where the wire gave none."""
        return replace_surrogates("".join(self.signature[1:]) or self.signature[0])

    def answers(self, _kept: Mapping["Slot", str]) -> bool:
        """Tell whether the block is an answer by itself (C12): it holds text that is not blank."""
        return not self.is_blank

    def entry(self) -> dict[str, object]:
        """Return the block's replay state; an empty signature says that this was thinking of this wire."""
        if self.kind == "reasoning":
            return {"signature": self.signed()}
        return {"citations": self.citations} if self.citations else {}

    def item(self) -> str | None:
        """Return thinking whose text is withheld, which is its signature alone (C1)."""
        if self.kind == "text" or not self.signed():
            return None
        return msgspec.json.encode({"type": "thinking", "thinking": "", "signature": self.signed()}).decode()


class CallSlot(OpenCall):
    """A `tool_use` block; `given` is the input that its start held, in force unless fragments come."""

    __slots__ = ("caller", "given", "type")

    def __init__(self, block: Block, call_id: str) -> None:
        super().__init__(call_id, block.name)
        self.type = block.type
        self.given = block.arguments
        self.caller = block.caller

    def answers(self, _kept: Mapping["Slot", str]) -> bool:
        """Tell whether the call is an answer by itself: calls are counted apart (C11)."""
        return False

    def entry(self) -> dict[str, object]:
        """Return who made the call, where that was not the model itself."""
        return {} if self.caller is None else {"caller": self.caller}


class ItemSlot:
    """A block of the wire that makes none here: redacted thinking, the provider's own tools, unknown kinds."""

    __slots__ = ("block", "broken", "ended", "fields", "index", "parts", "type")

    def __init__(self, block: Block) -> None:
        self.type = block.type
        self.block = block
        self.index = -1
        self.ended = False
        self.broken = False
        self.parts: list[str] = []
        self.fields: dict[str, str] = {}

    def answers(self, kept: Mapping["Slot", str]) -> bool:
        """Tell whether the item is an answer by itself (C12): work of the provider's own that is whole and kept."""
        return self.type in WORK and self in kept

    def item(self) -> str | None:
        """Return the block as it came, with what its deltas brought; `None` where they left it incomplete."""
        text = replace_surrogates("".join(self.parts))
        fields = {**self.fields, "input": text} if text.strip() else self.fields
        if self.broken or (text.strip() and not is_object(text)):
            # Fine-grained streaming may cut an input short; the wire takes objects only.
            return None
        if not fields:
            return self.block.raw
        added = {name: msgspec.Raw(value.encode()) for name, value in fields.items()}
        return msgspec.json.encode({**_OBJECT.decode(self.block.raw), **added}).decode()


Slot: TypeAlias = TextSlot | CallSlot | ItemSlot


def kept_items(slots: Sequence[Slot], *, cut: bool) -> dict[Slot, str]:
    """Return the items to send back; a use of the provider's own tools and its result go together.

    Where the turn was `cut` by a token limit, a use without its result is left out, since the wire refuses it.
    """
    items = {slot: slot.item() for slot in slots if not isinstance(slot, CallSlot) and slot.index < 0}
    pairs = {slot: slot.block.pairs for slot in items if isinstance(slot, ItemSlot) and slot.block.pairs}
    results = {pair for slot, pair in pairs.items() if slot.type.endswith("_result")}
    left_out = {
        pair
        for slot, pair in pairs.items()
        if items[slot] is None or (cut and slot.type.endswith("tool_use") and pair not in results)
    }
    return {
        slot: text
        for slot, text in items.items()
        if text is not None and not (isinstance(slot, ItemSlot) and slot.block.pairs in left_out)
    }


def replay_state(slots: Sequence[Slot], kept: Mapping[Slot, str], *, cut: bool) -> JsonObject | None:
    """Return the state of a turn that succeeded, or `None` where its blocks say all.

    The calls of a `cut` turn leave the history (C17): they have no entry, and what stood behind one stands behind the
    block before it.
    """
    writer = StateWriter(WIRE, REPLAY_VERSION)
    behind, count = -1, 0
    for slot in slots:
        if isinstance(slot, ItemSlot) or slot.index < 0:
            if slot in kept:
                writer.item(kept[slot], behind=behind)
            continue
        count += 1
        if not (cut and isinstance(slot, CallSlot)):
            writer.at(slot.index, slot.entry())
            behind = slot.index
    return writer.state(count)
