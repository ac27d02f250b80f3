"""The conversation: messages to the wire's turns (Q4).

Source of truth: https://platform.claude.com/docs/en/api/messages and `…/agents-and-tools/tool-use/implement-tool-use`,
read 2026-11-30: results first and together in the user turn after their calls, no blank text anywhere, neighbours of
one role are one turn.
"""

from typing import Final, TypeAlias, assert_never

import msgspec

from limen.adapters.anthropic._dialect import Row
from limen.adapters.anthropic._serialize._content import (
    CallIds,
    Images,
    WirePart,
    call_part,
    result_parts,
    text_part,
)
from limen.adapters.anthropic._serialize._replay import Item, read_turn
from limen.adapters.anthropic._wire import ReplayEntry
from limen.contract import (
    ContentBlock,
    ImageBlock,
    LlmError,
    Message,
    ModelInfo,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    codes,
)

Part: TypeAlias = WirePart | msgspec.Raw

_SPEAKERS: Final = frozenset({"user", "assistant"})
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})


class WireTurn(msgspec.Struct, gc=False):
    """One turn on the wire; its content grows while neighbours of the same role are merged into it."""

    role: str
    content: list[Part]


class History:
    """Messages in order: `add` each, then read `system` (what stood before the first turn) and `turns`."""

    __slots__ = ("_dropped", "_ids", "_images", "_row", "system", "turns")

    def __init__(self, row: Row, model: ModelInfo | None, dropped: list[ReplayDrop]) -> None:
        self._row = row
        self._images = Images(row, model)
        self._ids = CallIds()
        self._dropped = dropped
        self.system: list[WirePart] = []
        self.turns: list[WireTurn] = []

    def add(self, index: int, message: Message) -> None:
        """Add one message, or refuse what of it the wire cannot hold."""
        content = message.content
        role = message.role
        if len(content) == 1 and role in _SPEAKERS and message.replay_state is None:
            block = content[0]
            if type(block) is TextBlock:
                # What most messages are, in the way that costs least.
                if role == "assistant":
                    self._ids.next_turn()
                part = text_part(block.text)
                if part is not None:
                    self._append(role, [part])
                return
        match role:
            case "system":
                self._system(index, message)
            case "assistant":
                self._append("assistant", self._assistant(index, message))
            case "user" | "tool":
                self._append("user", self._user(index, message))
            case _:
                raise LlmError(
                    f"messages[{index}].role is {role!r}; roles are system, user, assistant and tool",
                    codes.INVALID_OPTIONS,
                    phase="resolve",
                )

    def finish(self) -> None:
        """A last assistant turn that is to be continued does not end in white space (Q112)."""
        if not self.turns:
            raise LlmError(
                "no message says anything; this wire needs one that does", codes.INVALID_OPTIONS, phase="resolve"
            )
        last = self.turns[-1]
        final = last.content[-1]
        if last.role == "assistant" and isinstance(final, dict):
            text = final.get("text")
            if isinstance(text, str):
                final["text"] = text.rstrip()

    def _append(self, role: str, parts: list[Part]) -> None:
        if not parts:
            return
        turn = self.turns[-1] if self.turns else None
        if turn is None or turn.role != role:
            self.turns.append(WireTurn(role, parts))
            return
        turn.content += parts
        if role == "user":
            turn.content.sort(key=_results_first)

    def _system(self, index: int, message: Message) -> None:
        parts: list[WirePart] = []
        for number, block in enumerate(message.content):
            if not isinstance(block, TextBlock):
                raise _misplaced(block, "system", f"messages[{index}].content[{number}]")
            part = text_part(block.text)
            parts += [] if part is None else [part]
        if not self.turns:
            self.system += parts
        elif self._row.system_turns:
            self._append("system", [*parts])
        else:
            raise LlmError(
                f"messages[{index}]: the dialect {self._row.name} takes system messages before the first turn only",
                codes.UNSUPPORTED_CONTENT,
                phase="resolve",
            )

    def _user(self, index: int, message: Message) -> list[Part]:
        parts: list[Part] = []
        for number, block in enumerate(message.content):
            where = f"messages[{index}].content[{number}]"
            match block:
                case TextBlock(text=text):
                    part = text_part(text)
                    parts += [] if part is None else [part]
                case ImageBlock():
                    parts.append(self._images.part(block, where))
                case ToolResultBlock():
                    parts += result_parts(block, self._ids.result(block.tool_call_id), self._images, where)
                case ReasoningBlock() | ToolCallBlock():
                    raise _misplaced(block, message.role, where)
                case _:
                    assert_never(block)
        if len(parts) > 1:
            parts.sort(key=_results_first)
        return parts

    def _assistant(self, index: int, message: Message) -> list[Part]:
        self._ids.next_turn()
        turn = read_turn(message, index, self._dropped)
        parts: list[Part] = [item.raw for item in turn.before]
        speaks = _speak(turn.before)
        unsigned = 0
        for number, block in enumerate(message.content):
            part = self._own(block, turn.entries[number], (index, number))
            if part is not None:
                parts.append(part)
                speaks = speaks or part["type"] != "thinking"
            elif isinstance(block, ReasoningBlock):
                unsigned += 1
            items = turn.items[number]
            if items:
                parts += [item.raw for item in items]
                speaks = speaks or _speak(items)
        if unsigned:
            # Thinking is sent with the signature it came with, or not at all: never made up, never emptied (Q065).
            why = "without their text and the signature of this wire"
            self._dropped.append(ReplayDrop(f"{unsigned} reasoning blocks {why} are not sent", index))
        if parts and not speaks:
            self._dropped.append(ReplayDrop("a turn that holds nothing but thinking is not sent", index))
            return []
        return parts

    def _own(self, block: ContentBlock, entry: ReplayEntry, place: tuple[int, int]) -> WirePart | None:
        match block:
            case TextBlock(text=text):
                part = text_part(text)
                if part is not None and entry.citations:
                    part["citations"] = [msgspec.Raw(citation.encode()) for citation in entry.citations]
                return part
            case ReasoningBlock(text=text):
                signed = entry.signature or (entry.signature is not None and self._row.empty_signatures)
                if not text or not signed:
                    return None
                return {"type": "thinking", "thinking": text, "signature": entry.signature}
            case ToolCallBlock():
                part = call_part(block, self._ids.call(block.id), "messages[{}].content[{}]".format(*place))
                if entry.caller is not None:
                    part["caller"] = msgspec.Raw(entry.caller.encode())
                return part
            case ImageBlock() | ToolResultBlock():
                raise _misplaced(block, "assistant", "messages[{}].content[{}]".format(*place))
            case _:
                assert_never(block)


def _speak(items: tuple[Item, ...]) -> bool:
    return any(item.type not in _THINKING for item in items)


def _results_first(part: Part) -> bool:
    return not (isinstance(part, dict) and part["type"] == "tool_result")


def _misplaced(block: ContentBlock, role: str, where: str) -> LlmError:
    return LlmError(
        f"{where}: this wire has no place for a {type(block).__name__} in a {role} message",
        codes.UNSUPPORTED_CONTENT,
        phase="resolve",
    )
