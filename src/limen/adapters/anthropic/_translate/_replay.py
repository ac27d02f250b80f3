"""What of a turn travels with it, beside its blocks (R5, N4)."""

from collections.abc import Sequence

import msgspec

from limen.adapters.anthropic._translate._slots import CallSlot, ItemSlot, Slot
from limen.adapters.anthropic._wire import REPLAY_VERSION, WIRE, ReplayEntry, ReplayState
from limen.contract import JsonObject


def replay_state(slots: Sequence[Slot], *, cut: bool) -> JsonObject | None:
    """Return the state of a turn that succeeded, or `None` where its blocks say all.

    Where the turn was `cut` by a token limit, its calls do not stay in the history (C17): what stood behind one is
    kept behind the block before it, and a use of the provider's own tools without its result is left out, since the
    wire refuses it.
    """
    left_out = _left_out(slots, cut=cut)
    before: list[str] = []
    entries: dict[int, ReplayEntry] = {}
    items: dict[int, list[str]] = {}
    behind = before
    for slot in slots:
        entry = slot.entry()
        if slot.index >= 0:
            gone = cut and isinstance(slot, CallSlot)
            entries[slot.index] = ReplayEntry() if gone else entry
            behind = behind if gone else items.setdefault(slot.index, [])
        elif not (isinstance(slot, ItemSlot) and slot.pairs in left_out):
            item = None if isinstance(slot, ItemSlot) and slot.broken else slot.item()
            behind += [] if item is None else [item]
    blocks = tuple(_whole(entries[index], items.get(index, [])) for index in sorted(entries))
    if not before and not any(blocks):
        return None
    state: dict[str, object] = msgspec.to_builtins(ReplayState(REPLAY_VERSION, WIRE, blocks, tuple(before)))
    return state


def _whole(entry: ReplayEntry, items: Sequence[str]) -> ReplayEntry | None:
    whole = msgspec.structs.replace(entry, after=tuple(items))
    return None if whole == ReplayEntry() else whole


def _left_out(slots: Sequence[Slot], *, cut: bool) -> frozenset[str]:
    """The pairing ids of items that cannot be sent back, so that use and result go together."""
    items = [slot for slot in slots if isinstance(slot, ItemSlot) and slot.pairs]
    results = {slot.pairs for slot in items if slot.type.endswith("_result")}
    return frozenset(
        slot.pairs
        for slot in items
        if slot.broken or slot.item() is None or (cut and slot.type.endswith("tool_use") and slot.pairs not in results)
    )
