"""Replay state of an earlier turn, proved before it is used (R5)."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from limen.adapters.anthropic._wire import REPLAY_VERSION, WIRE, ReplayEntry, ReplayState
from limen.contract import (
    ContentBlock,
    LlmError,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    codes,
    replay_fault,
)

_JSON: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TYPE: Final = msgspec.json.Decoder(str)
# What has a block is in the message, and must not come in beside it.
_BLOCKS: Final = frozenset({"text", "tool_use", "tool_result", "image"})
_EMPTY: Final = ReplayEntry()


class Item(msgspec.Struct, frozen=True):
    """One item without a block: its kind and its own bytes."""

    type: str
    raw: msgspec.Raw


class Turn(msgspec.Struct, frozen=True):
    """What an assistant message needs beside its blocks: an entry, and the items behind it, for each of them."""

    before: tuple[Item, ...]
    entries: tuple[ReplayEntry, ...]
    items: tuple[tuple[Item, ...], ...]


def read_turn(message: Message, index: int, dropped: list[ReplayDrop]) -> Turn:
    """Read a message's state; one of another wire, version or shape of message counts as absent and is reported."""
    state = message.replay_state
    if state is None:
        return _plain(len(message.content))
    fault = replay_fault(message, wire=WIRE, version=REPLAY_VERSION)
    if fault is not None:
        dropped.append(ReplayDrop(fault, index))
        return _plain(len(message.content))
    where = f"messages[{index}].replay_state"
    found = _converted(state, where)
    entries = tuple(entry or _EMPTY for entry in found.blocks)
    for number, (entry, block) in enumerate(zip(entries, message.content, strict=True)):
        _check(entry, block, f"{where}.blocks[{number}]")
    return Turn(
        before=_items(found.before, f"{where}.before"),
        entries=entries,
        items=tuple(_items(entry.after, f"{where}.blocks[{number}]") for number, entry in enumerate(entries)),
    )


def _plain(count: int) -> Turn:
    return Turn(before=(), entries=(_EMPTY,) * count, items=((),) * count)


def _converted(state: Mapping[str, object], where: str) -> ReplayState:
    try:
        return msgspec.convert(state, ReplayState)
    except msgspec.ValidationError as fault:
        raise _invalid(f"{where}: {fault}") from None


def _check(entry: ReplayEntry, block: ContentBlock, where: str) -> None:
    rightful = {
        "signature": (entry.signature, ReasoningBlock),
        "citations": (entry.citations, TextBlock),
        "caller": (entry.caller, ToolCallBlock),
    }
    for name, (value, kind) in rightful.items():
        if value is not None and not isinstance(block, kind):
            raise _invalid(f"{where} has a {name}, and its block is a {type(block).__name__}")
    for text in (*(entry.citations or ()), *(() if entry.caller is None else (entry.caller,))):
        _object(text, where)


def _items(texts: Sequence[str], where: str) -> tuple[Item, ...]:
    items: list[Item] = []
    for text in texts:
        kind = _object(text, where).get("type", msgspec.Raw(b"null"))
        try:
            name = _TYPE.decode(bytes(kind))
        except msgspec.DecodeError:
            raise _invalid(f"{where} holds an item without a type") from None
        if name in _BLOCKS:
            raise _invalid(f"{where} holds an item {name!r}, which would be a block of the message")
        items.append(Item(name, msgspec.Raw(text.encode())))
    return tuple(items)


def _object(text: str, where: str) -> dict[str, msgspec.Raw]:
    try:
        return _JSON.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise _invalid(f"{where} holds text that is not one JSON object") from None


def _invalid(what: str) -> LlmError:
    return LlmError(f"{what}; replay state is passed back as it came", codes.INVALID_REPLAY_STATE, phase="resolve")
