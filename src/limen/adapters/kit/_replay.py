"""Replay state: written at the end of an answer, proved before an earlier turn uses it (R5, N4).

The state of a turn is `{"v", "wire", "blocks": [an entry or null for each block], …}`. A wire's own structs say what
an entry may hold. State that belongs to no block is an item, kept as its own JSON text: before the first block
(`before`), or behind a block (`after` of that block's entry).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from limen.contract import JsonObject, LlmError, Message, ReplayDrop, codes, replay_fault

S = TypeVar("S", bound=msgspec.Struct)

_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT: Final = msgspec.json.Decoder(str)


class StateWriter:
    """The replay state of one answer: `at` each block's entry, `item` what has no block, then `state` once."""

    __slots__ = ("_entries", "_fields", "_head", "_items")

    def __init__(self, wire: str, version: int) -> None:
        self._head: dict[str, object] = {"v": version, "wire": wire}
        self._entries: dict[int, Mapping[str, object]] = {}
        self._items: dict[int, list[str]] = {}
        self._fields: dict[str, object] = {}

    def at(self, index: int, entry: Mapping[str, object] | None) -> None:
        """Keep what the wire needs of a block beside the block; an empty entry says nothing."""
        if entry:
            self._entries[index] = entry

    def item(self, text: str, *, behind: int) -> None:
        """Keep an item that came behind the block of this index; -1 is before the first block."""
        self._items.setdefault(behind, []).append(text)

    def field(self, name: str, value: object) -> None:
        """Keep a field of the turn itself."""
        self._fields[name] = value

    def state(self, count: int) -> JsonObject | None:
        """Return the state of a turn of `count` blocks, or `None` where its blocks say all."""
        if not (self._entries or self._items or self._fields):
            return None
        state: dict[str, object] = {**self._head, "blocks": [self._entry(index) for index in range(count)]}
        if -1 in self._items:
            state["before"] = self._items[-1]
        return {**state, **self._fields}

    def _entry(self, index: int) -> Mapping[str, object] | None:
        entry = self._entries.get(index)
        items = self._items.get(index)
        if items is None:
            return entry
        return {**(entry or {}), "after": items}


class Item(msgspec.Struct, frozen=True):
    """One item without a block: its kind, and its own bytes for the request."""

    type: str
    raw: msgspec.Raw


def read_state(
    message: Message, index: int, kind: type[S], *, wire: str, version: int, dropped: list[ReplayDrop]
) -> S | None:
    """Read a message's replay state; one of another wire, version or block count counts as absent and is reported.

    Raises `INVALID_REPLAY_STATE` for state of this version that does not validate.
    """
    if message.replay_state is None:
        return None
    fault = replay_fault(message, wire=wire, version=version)
    if fault is not None:
        dropped.append(ReplayDrop(fault, index))
        return None
    try:
        return msgspec.convert(message.replay_state, kind)
    except msgspec.ValidationError as wrong:
        raise invalid_state(f"messages[{index}].replay_state does not validate: {wrong}") from None


def read_items(texts: Sequence[str], where: str, *, blocks: Collection[str] = ()) -> tuple[Item, ...]:
    """Prove items: each one JSON object with a `type` that is none of `blocks`, whose place is in the message."""
    items: list[Item] = []
    for text in texts:
        kind = json_object(text, where).get("type", msgspec.Raw(b"null"))
        try:
            name = _TEXT.decode(bytes(kind))
        except msgspec.DecodeError:
            raise invalid_state(f"{where} holds an item without a type") from None
        if name in blocks:
            raise invalid_state(f"{where} holds an item {name!r}, which would be a block of the message")
        items.append(Item(name, msgspec.Raw(text.encode())))
    return tuple(items)


def json_object(text: str, where: str) -> dict[str, msgspec.Raw]:
    """Return the members of a text that is one JSON object, or raise `INVALID_REPLAY_STATE`."""
    try:
        return _OBJECT.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise invalid_state(f"{where} holds text that is not one JSON object") from None


def invalid_state(what: str) -> LlmError:
    """Make the refusal of replay state that was changed on its way."""
    return LlmError(
        f"{what}; pass replay state back as it came, or remove it to send the turn plain",
        codes.INVALID_REPLAY_STATE,
        phase="resolve",
    )
