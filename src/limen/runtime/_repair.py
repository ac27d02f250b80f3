"""Repair of a history that cannot be served, with a report of what was changed (N2, N3)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from limen.contract import ContentBlock, Message, ToolCallBlock, ToolResultBlock, aligned, dumps, loads

_NO_RESULT: Final = "No result: the call was not carried out."
_OBJECT: Final = msgspec.json.Decoder(dict[str, object])


def repair_history(messages: Sequence[Message]) -> tuple[list[Message], tuple[tuple[int, str], ...]]:
    """Return a copy that can be served, and a report: `(message index, words)` for each repair (N2).

    The caller's messages are not changed, and a message that needs no repair is the same object in the copy. A result
    that stands too late moves to its turn, and one that answers no call is dropped; a call without a result gets an
    error result, or is dropped with its replay entry if its arguments were cut short (N3); arguments that are no JSON
    object are wrapped as `{"raw_arguments": "…"}` (C8); a repeated id of one turn is made unique; a turn without
    content is dropped. Raises `TypeError` for an entry that is no `Message`.
    """
    given = tuple(messages)
    for index, message in enumerate(given):
        _check_message(index, message)
    repair = _Repair(given)
    repair.match()
    repair.settle()
    copy = repair.rebuild()
    return copy, tuple(sorted(repair.report, key=lambda entry: entry[0]))


class _Call:
    """One tool call of an assistant turn, and the message that holds its result."""

    __slots__ = ("answered_at", "block", "dropped", "given_id", "result", "turn")

    def __init__(self, turn: int, block: ToolCallBlock, given_id: str) -> None:
        self.turn = turn
        self.block = block
        self.given_id = given_id
        self.result: ToolResultBlock | None = None
        self.answered_at = -1
        self.dropped = False

    def answer(self) -> ToolResultBlock:
        """Return the result block, under the id that the call has after the repair."""
        if self.result is None:
            return ToolResultBlock(self.block.id, _NO_RESULT, is_error=True)
        if self.result.tool_call_id == self.block.id:
            return self.result
        return msgspec.structs.replace(self.result, tool_call_id=self.block.id)


class _Repair:
    """Repair in three steps: match results to calls, decide about each call, rebuild the messages."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._given = messages
        self.report: list[tuple[int, str]] = []
        # By message index and position in its content: the calls, and the calls that results there answer.
        self._calls: dict[tuple[int, int], _Call] = {}
        self._answers: dict[tuple[int, int], _Call] = {}

    def _note(self, index: int, words: str) -> None:
        self.report.append((index, words))

    def match(self) -> None:
        """Find the call of each result: the nearest earlier one with that id that has no result yet."""
        waiting: defaultdict[str, list[list[_Call]]] = defaultdict(list)
        for index, message in enumerate(self._given):
            if message.role == "assistant":
                for call_id, calls in self._take_calls(index, message).items():
                    waiting[call_id].append(calls)
            for position, block in enumerate(message.content):
                if not isinstance(block, ToolResultBlock):
                    continue
                turns = waiting[block.tool_call_id]
                while turns and not turns[-1]:
                    turns.pop()
                if turns:
                    call = turns[-1].pop(0)
                    call.result, call.answered_at = block, index
                    self._answers[index, position] = call
                else:
                    self._note(index, f"dropped a result for the call {block.tool_call_id!r}, which waits for none")

    def _take_calls(self, index: int, message: Message) -> Mapping[str, list[_Call]]:
        taken: defaultdict[str, list[_Call]] = defaultdict(list)
        ids = {block.id for block in message.content if isinstance(block, ToolCallBlock)}
        for position, block in enumerate(message.content):
            if not isinstance(block, ToolCallBlock):
                continue
            call = _Call(index, block, block.id)
            if taken[block.id]:
                fresh = _unused(block.id, ids)
                ids.add(fresh)
                call.block = msgspec.structs.replace(block, id=fresh)
                self._note(index, f"gave another call with the id {block.id!r} the id {fresh!r}")
            taken[block.id].append(call)
            self._calls[index, position] = call
        return taken

    def settle(self) -> None:
        """Decide for each call whether it stays, gets a result, or has its arguments wrapped."""
        for call in self._calls.values():
            complete = not call.block.arguments or _is_object(call.block.arguments)
            if call.result is None and not complete:
                call.dropped = True
                self._note(call.turn, f"dropped the call {call.given_id!r}, whose arguments were cut short")
            elif call.result is None:
                self._note(call.turn, f"answered the call {call.block.id!r}, which has no result, with an error result")
            elif not complete:
                wrapped = dumps({"raw_arguments": call.block.arguments}).decode()
                call.block = msgspec.structs.replace(call.block, arguments=wrapped)
                self._note(call.turn, f"wrapped the arguments of the call {call.block.id!r}, which are no JSON object")

    def rebuild(self) -> list[Message]:
        """Return the new messages: each turn's results directly after it, and no result without a call."""
        made: list[Message] = []
        open_calls: list[_Call] = []
        for index, message in enumerate(self._given):
            if message.role == "assistant":
                made += self._late(open_calls)
                mine = (self._calls.get((index, position)) for position in range(len(message.content)))
                open_calls = [call for call in mine if call is not None and not call.dropped]
                kept = self._kept(index, message, ())
            else:
                here = [call for call in open_calls if call.answered_at == index]
                open_calls = [call for call in open_calls if call.answered_at != index]
                if not message.content or any(not isinstance(block, ToolResultBlock) for block in message.content):
                    made += self._late(open_calls)
                    open_calls = []
                kept = self._kept(index, message, here)
            if kept is not None:
                made.append(kept)
        return made + self._late(open_calls)

    def _late(self, calls: Sequence[_Call]) -> list[Message]:
        for call in calls:
            if call.result is not None:
                words = f"moved the result for the call {call.block.id!r} to directly after messages[{call.turn}]"
                self._note(call.answered_at, words)
        return [Message("tool", (call.answer(),)) for call in calls]

    def _kept(self, index: int, message: Message, here: Sequence[_Call]) -> Message | None:
        blocks: list[ContentBlock] = []
        positions: list[int] = []
        for position, block in enumerate(message.content):
            made = self._calls.get((index, position))
            answered = self._answers.get((index, position))
            if made is not None:
                if made.dropped:
                    continue
                block = made.block
            elif isinstance(block, ToolResultBlock):
                if answered is None or answered not in here:
                    continue
                block = answered.answer()
            blocks.append(block)
            positions.append(position)
        if not blocks and (message.content or (message.role == "assistant" and message.replay_state is None)):
            if message.role == "assistant":
                self._note(index, "dropped an assistant turn that holds nothing")
            return None
        if len(blocks) == len(message.content):
            same = all(new is old for new, old in zip(blocks, message.content, strict=True))
            return message if same else msgspec.structs.replace(message, content=tuple(blocks))
        state = self._state_of(index, message, positions)
        return msgspec.structs.replace(message, content=tuple(blocks), replay_state=state)

    def _state_of(self, index: int, message: Message, positions: Sequence[int]) -> Mapping[str, object] | None:
        state = message.replay_state
        if state is None:
            return None
        entries = state.get("blocks")
        if not isinstance(entries, tuple) or not aligned(state, len(message.content)):
            self._note(index, "dropped replay state that does not have one entry for each block")
            return None
        listed: tuple[object, ...] = entries  # pyright: ignore[reportUnknownVariableType] - JSON values
        return {**state, "blocks": tuple(listed[position] for position in positions)}


def _check_message(index: int, message: object) -> None:
    if not isinstance(message, Message):
        raise TypeError(f"messages[{index}] is a {type(message).__name__}, not a Message")


def _unused(call_id: str, taken: set[str]) -> str:
    number = 2
    while f"{call_id}-{number}" in taken:
        number += 1
    return f"{call_id}-{number}"


def _is_object(arguments: str) -> bool:
    try:
        loads(arguments, _OBJECT)
    except (msgspec.DecodeError, ValueError):
        return False
    return True
