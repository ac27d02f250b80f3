"""Replay state of a turn: which parts it had, in which order, with which signatures (R5, N4).

The state names parts by block: `{"block": 0, "length": 5}` is the next five code points of the text in block 0,
`{"block": 1, "signature": "…"}` a whole call or image, `{"raw": "{…}"}` a part that makes no block.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from limen.adapters.gemini._wire import REPLAY_VERSION, WIRE, ReplayPart, ReplayState
from limen.adapters.kit import Call, OpenBlock, OpenCall, OpenText, StateWriter, invalid_state, json_object
from limen.contract import JsonObject, Message, ReasoningBlock, TextBlock, ToolCallBlock


class Run:
    """Consecutive parts of one kind without a signature of their own, or one part with its signature.

    `begin` and `end` count the fragments of a text block; `raw` is a part that makes no block.
    """

    __slots__ = ("begin", "block", "end", "raw", "signature")

    def __init__(self, block: OpenBlock | None, raw: str = "") -> None:
        self.block = block
        self.begin = self.end = len(block.parts) if isinstance(block, OpenText) else 0
        self.signature = ""
        self.raw = raw


class Slot(NamedTuple):
    """One part to send back: a whole block or a piece of a text block, or `raw` JSON."""

    block: int | None
    text: str = ""
    signature: str | None = None
    native: str | None = None
    raw: msgspec.Raw | None = None


def state_of(
    runs: Sequence[Run], opened: Sequence[OpenBlock], *, cut: bool, continuation: str | None
) -> JsonObject | None:
    """Return the state of a turn with these blocks, `None` where the blocks say all.

    The calls of a turn that was `cut` leave the history (C17), and with them their parts: the blocks after them move.
    """
    writer = StateWriter(WIRE, REPLAY_VERSION)
    staying = [block for block in opened if not (cut and isinstance(block, OpenCall))]
    places = {id(block): place for place, block in enumerate(staying)}
    parts: list[dict[str, object]] = []
    for run in runs:
        part = _part(run, places)
        if part is not None:
            parts.append(part)
    for block in staying:
        if isinstance(block, Call) and block.native:
            writer.at(block.index, {"id": block.native})
    if not _is_plain(parts, staying):
        writer.field("parts", parts)
    if continuation:
        writer.field("continuation", continuation)
    return writer.state(len(opened))


def _part(run: Run, places: Mapping[int, int]) -> dict[str, object] | None:
    block = run.block
    if block is None:
        return {"raw": run.raw}
    if id(block) not in places:
        return None
    part: dict[str, object] = {"block": places[id(block)]}
    if isinstance(block, OpenText):
        part["length"] = len("".join(block.parts[run.begin : run.end]))
    if run.signature:
        part["signature"] = run.signature
    return part


def _is_plain(parts: Sequence[Mapping[str, object]], blocks: Sequence[OpenBlock]) -> bool:
    """Tell whether the blocks, one part each and in order, are all that the turn had."""
    thinks = any(isinstance(block, OpenText) and block.kind == "reasoning" for block in blocks)
    signed = any("signature" in part for part in parts)
    return not thinks and not signed and [part.get("block") for part in parts] == list(range(len(blocks)))


def own_parts(message: Message, state: ReplayState, where: str) -> list[Slot]:
    """Return the parts of a turn in their order, each validated; raises `INVALID_REPLAY_STATE`."""
    natives = [None if entry is None else entry.id for entry in state.blocks]
    for number, native in enumerate(natives):
        if native is not None and not isinstance(message.content[number], ToolCallBlock):
            raise invalid_state(f"{where}.blocks[{number}] has an id, and the block is no tool call")
    if state.parts is None:
        return [_whole(message, number, natives[number], None) for number in range(len(message.content))]
    taken = [0] * len(message.content)
    slots: list[Slot] = []
    for number, part in enumerate(state.parts):
        slots.append(_slot(message, part, natives, taken, f"{where}.parts[{number}]"))
    for number, block in enumerate(message.content):
        if taken[number] != (len(block.text) if isinstance(block, TextBlock | ReasoningBlock) else 1):
            raise invalid_state(f"{where}.parts leave out some of block {number}")
    return slots


def _slot(message: Message, part: ReplayPart, natives: Sequence[str | None], taken: list[int], where: str) -> Slot:
    if part.raw is not None:
        json_object(part.raw, where)
        return Slot(None, raw=msgspec.Raw(part.raw.encode()))
    number = part.block
    if number is None or not 0 <= number < len(message.content):
        raise invalid_state(f"{where} names no block of the message")
    block = message.content[number]
    if not isinstance(block, TextBlock | ReasoningBlock):
        if taken[number]:
            raise invalid_state(f"{where} names block {number} once more")
        taken[number] = 1
        return _whole(message, number, natives[number], part.signature)
    begin, length = taken[number], part.length or 0
    if length <= 0 or begin + length > len(block.text):
        raise invalid_state(f"{where} takes more text than block {number} has")
    taken[number] += length
    return Slot(number, block.text[begin : begin + length], part.signature)


def _whole(message: Message, number: int, native: str | None, signature: str | None) -> Slot:
    block = message.content[number]
    text = block.text if isinstance(block, TextBlock | ReasoningBlock) else ""
    return Slot(number, text, signature, native)
