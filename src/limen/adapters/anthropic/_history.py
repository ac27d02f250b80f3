"""Messages of a conversation to the wire's turns (Q4).

Source of truth: https://platform.claude.com/docs/en/api/messages and `…/agents-and-tools/tool-use/implement-tool-use`,
read 2026-11-30: results first and together in the user turn after their calls, no blank text anywhere, neighbours of
one role are one turn.
"""

import re
from collections.abc import Sequence
from typing import Final, NoReturn, TypeAlias, assert_never

import msgspec

from limen.adapters.anthropic._dialects import Dialect
from limen.adapters.anthropic._wire import REPLAY_VERSION, WIRE, ReplayEntry, ReplayState
from limen.adapters.kit import (
    Item,
    OutgoingIds,
    RequestWriter,
    ToolIdRule,
    arguments_object,
    base64_of,
    block_words,
    check_call,
    check_file,
    check_image,
    check_result,
    check_role,
    invalid_state,
    json_object,
    read_items,
    read_state,
    refuse_block,
)
from limen.contract import (
    ContentBlock,
    FileBlock,
    ImageBlock,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)

WirePart: TypeAlias = dict[str, object]
Part: TypeAlias = WirePart | msgspec.Raw

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
# Kinds that a message has blocks for, so that no item beside the blocks may be one.
_BLOCKS: Final = frozenset({"text", "tool_use", "tool_result", "image"})
# The alphabet is the one of the API's own refusal; 64 characters are what every host takes.
_IDS: Final = ToolIdRule(max_length=64, unique=True)
_EMPTY: Final = ReplayEntry()


class WireTurn(msgspec.Struct, gc=False):
    """One turn on the wire; its content grows while neighbours of the same role are merged into it."""

    role: str
    content: list[Part]


class History:
    """Messages in order: `add` each, then read `system` (what stood before the first turn) and `turns`.

    `names` is the pattern of tool names that the wire takes.
    """

    __slots__ = ("_dropped", "_ids", "_merged", "_names", "_row", "_writer", "system", "turns")

    def __init__(self, writer: RequestWriter, row: Dialect, names: "re.Pattern[str]") -> None:
        self._writer = writer
        self._row = row
        self._names = names
        self._ids = OutgoingIds(_IDS)
        self._dropped = writer.context.replay_dropped
        self.system: list[WirePart] = []
        self.turns: list[WireTurn] = []
        # User turns of several messages; sorting each time one grew cost with the square of its length.
        self._merged: list[WireTurn] = []

    def add(self, index: int, message: Message) -> None:
        """Add one message, or refuse what of it the wire cannot hold."""
        role, content = message.role, message.content
        if len(content) == 1 and type(content[0]) is TextBlock and message.replay_state is None and role != "system":
            # What most messages are, in the way that costs least.
            part = text_part(content[0].text)
            if role == "assistant":
                self._ids.next_turn()
            elif role not in ("user", "tool"):
                check_role(self._writer, index, role)
            if part is not None:
                self._append("assistant" if role == "assistant" else "user", [part])
            return
        if role == "system":
            self._system(index, message)
        elif role == "assistant":
            self._append("assistant", self._assistant(index, message))
        else:
            check_role(self._writer, index, role)
            self._append("user", self._user(index, message))

    def finish(self) -> None:
        """End the history: a last assistant turn that is to be continued does not end in white space (Q112)."""
        if not self.turns:
            self._writer.invalid("no message says anything; this wire needs one that does")
        for turn in self._merged:
            turn.content.sort(key=_results_first)
        last = self.turns[-1]
        final = last.content[-1]
        if last.role == "assistant" and isinstance(final, dict) and isinstance(text := final.get("text"), str):
            final["text"] = text.rstrip()

    def _append(self, role: str, parts: list[Part]) -> None:
        if not parts:
            return
        turn = self.turns[-1] if self.turns else None
        if turn is None or turn.role != role:
            self.turns.append(WireTurn(role, parts))
            return
        turn.content += parts
        if role == "user" and not (self._merged and self._merged[-1] is turn):
            self._merged.append(turn)

    def _system(self, index: int, message: Message) -> None:
        parts: list[WirePart] = []
        for number, block in enumerate(message.content):
            if not isinstance(block, TextBlock):
                self._misplaced(block, "system", f"messages[{index}].content[{number}]")
            part = text_part(block.text)
            parts += [] if part is None else [part]
        if not self.turns:
            self.system += parts
        elif self._row.system_turns:
            self._append("system", [*parts])
        else:
            refuse_block(self._writer, f"messages[{index}]", "it takes system messages before the first turn only")

    def _user(self, index: int, message: Message) -> list[Part]:
        parts: list[Part] = []
        for number, block in enumerate(message.content):
            path = f"messages[{index}].content[{number}]"
            match block:
                case TextBlock(text=text):
                    part = text_part(text)
                    parts += [] if part is None else [part]
                case ImageBlock():
                    parts.append(self._image(block, path))
                case FileBlock():
                    parts.append(self._document(block, path))
                case ToolResultBlock():
                    parts += self._result(block, path)
                case ReasoningBlock() | ToolCallBlock():
                    self._misplaced(block, message.role, path)
                case _:
                    assert_never(block)
        if len(parts) > 1:
            parts.sort(key=_results_first)
        return parts

    def _image(self, block: ImageBlock, path: str) -> WirePart:
        check_image(self._writer, block, path, self._row.image_rules)
        if block.data is not None:
            source = {"type": "base64", "media_type": block.media_type, "data": base64_of(block)}
        elif (block.url or "").startswith(("https://", "http://")):
            source = {"type": "url", "url": block.url}
        else:
            refuse_block(self._writer, path, "an image's URL is http or https; give other images as bytes")
        return {"type": "image", "source": source}

    def _document(self, block: FileBlock, path: str) -> WirePart:
        """Return a document by https://platform.claude.com/docs/en/build-with-claude/pdf-support, or refuse it."""
        kind = check_file(self._writer, block, path, self._row.files)
        source: WirePart
        if block.file_id is not None:
            source = {"type": "file", "file_id": block.file_id}
        elif block.data is None:
            if not (block.url or "").startswith(("https://", "http://")):
                refuse_block(self._writer, path, "a document's URL is http or https; give other documents as bytes")
            source = {"type": "url", "url": block.url}
        elif kind == "text/plain":
            try:
                text = block.data.decode("utf-8-sig")
            except UnicodeDecodeError as fault:
                refuse_block(self._writer, path, f"a text is UTF-8 on this wire, and this one is not ({fault.reason})")
            source = {"type": "text", "media_type": kind, "data": text}
        else:
            source = {"type": "base64", "media_type": kind, "data": base64_of(block)}
        return {"type": "document", "source": source, **({} if block.name is None else {"title": block.name})}

    def _result(self, block: ToolResultBlock, path: str) -> list[WirePart]:
        """Return a tool's result; the images of one that is an error stand behind it, since it may hold text only."""
        result: WirePart = {"type": "tool_result", "tool_use_id": self._ids[block.tool_call_id]}
        behind: list[WirePart] = []
        if isinstance(block.content, str):
            result["content"] = block.content
        else:
            check_result(self._writer, block, path)
            content: list[WirePart] = []
            for number, inner in enumerate(block.content):
                if isinstance(inner, ImageBlock):
                    image = self._image(inner, f"{path}.content[{number}]")
                    (behind if block.is_error else content).append(image)
                else:
                    part = text_part(inner.text)
                    content += [] if part is None else [part]
            # The wire takes no content and an empty string, but no empty list.
            if content:
                result["content"] = content
        if block.is_error:
            result["is_error"] = True
        return [result, *behind]

    def _assistant(self, index: int, message: Message) -> list[Part]:
        self._ids.next_turn()
        path = f"messages[{index}]"
        state = read_state(message, index, ReplayState, wire=WIRE, version=REPLAY_VERSION, dropped=self._dropped)
        before = read_items(() if state is None else state.before, f"{path}.replay_state.before", blocks=_BLOCKS)
        parts: list[Part] = [item.raw for item in before]
        answers = _answer(before)
        unsigned = 0
        for number, block in enumerate(message.content):
            entry = (None if state is None else state.blocks[number]) or _EMPTY
            where = f"{path}.replay_state.blocks[{number}]"
            _check(entry, block, where)
            part = self._own(block, entry, f"{path}.content[{number}]", message.role)
            if part is not None:
                parts.append(part)
                answers = answers or part["type"] != "thinking"
            elif isinstance(block, ReasoningBlock):
                unsigned += 1
            if entry.after:
                items = read_items(entry.after, where, blocks=_BLOCKS)
                parts += [item.raw for item in items]
                answers = answers or _answer(items)
        if unsigned:
            # Thinking is sent with the signature it came with, or not at all: never made up, never emptied (Q065).
            why = "without their text and the signature of this wire"
            self._dropped.append(ReplayDrop(f"{unsigned} reasoning blocks {why} are not sent", index))
        if parts and not answers:
            self._dropped.append(ReplayDrop("a turn that holds nothing but thinking is not sent", index))
            return []
        return parts

    def _own(self, block: ContentBlock, entry: ReplayEntry, path: str, role: str) -> WirePart | None:
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
                check_call(self._writer, block, path, self._names)
                arguments = arguments_object(self._writer, block, path)
                call: WirePart = {"type": "tool_use", "id": self._ids[block.id], "name": block.name, "input": arguments}
                if entry.caller is not None:
                    call["caller"] = msgspec.Raw(entry.caller.encode())
                return call
            case ImageBlock() | FileBlock() | ToolResultBlock():
                return self._misplaced(block, role, path)
            case _:
                assert_never(block)

    def _misplaced(self, block: ContentBlock, role: str, path: str) -> NoReturn:
        refuse_block(self._writer, path, f"this wire has no place for {block_words(block)} in {role} messages")


def text_part(text: str) -> WirePart | None:
    """Return a text for the wire, which refuses blank ones: those say nothing and are left out."""
    return None if not text or text.isspace() else {"type": "text", "text": text}


def _answer(items: Sequence[Item]) -> bool:
    return any(item.type not in _THINKING for item in items)


def _results_first(part: Part) -> bool:
    return not (isinstance(part, dict) and part["type"] == "tool_result")


def _check(entry: ReplayEntry, block: ContentBlock, where: str) -> None:
    """Refuse state that does not belong to its block, or holds no JSON objects where it should."""
    if entry is _EMPTY:
        return
    rightful = {
        "signature": (entry.signature, ReasoningBlock),
        "citations": (entry.citations, TextBlock),
        "caller": (entry.caller, ToolCallBlock),
    }
    for name, (value, kind) in rightful.items():
        if value is not None and not isinstance(block, kind):
            raise invalid_state(f"{where} has a {name}, and its block is {block_words(block)}")
    for text in (*(entry.citations or ()), *(() if entry.caller is None else (entry.caller,))):
        json_object(text, where)
