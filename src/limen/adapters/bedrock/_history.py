"""Messages of a conversation to the wire's turns (Q4).

Source of truth: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html, read 2026-11-30:
all results of a turn in one user turn, results first, no blank text anywhere, neighbours of one role are one turn.
"""

import re
from typing import Final, NoReturn, TypeAlias, assert_never

import msgspec

from limen.adapters.bedrock._dialects import DOCUMENTS, Dialect, Family
from limen.adapters.bedrock._wire import REPLAY_VERSION, WIRE, ReplayEntry, ReplayState
from limen.adapters.kit import (
    ALPHANUMERIC,
    NAME,
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

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html
_IDS: Final = ToolIdRule(max_length=64, alphabet=f"{ALPHANUMERIC}_.:-", unique=True)
_EMPTY: Final = ReplayEntry()
# Kinds that replay state may hold beside the blocks.
_ITEMS: Final = frozenset({"reasoningContent", "toolUse", "toolResult"})
# A document's name: letters, digits, single spaces, hyphens, parentheses and brackets, up to 200 of them.
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9()\[\] -]+")
_NAME_MAX: Final = 190
# A result must hold something, and several models refuse a blank text.
_NO_OUTPUT: Final = "."


class WireTurn(msgspec.Struct, gc=False):
    """One turn on the wire; its content grows while neighbours of the same role are merged into it."""

    role: str
    content: list[Part]


class History:
    """Messages in order: `add` each, then read `system` (what stood before the first turn) and `turns`.

    `has_calls` tells whether any turn holds a call or a result.
    """

    __slots__ = ("_dropped", "_family", "_ids", "_merged", "_names", "_row", "_writer", "has_calls", "system", "turns")

    def __init__(self, writer: RequestWriter, row: Dialect, family: Family) -> None:
        self._writer = writer
        self._row = row
        self._family = family
        self._ids = OutgoingIds(_IDS)
        self._names: set[str] = set()
        self._dropped = writer.context.replay_dropped
        self._merged: list[WireTurn] = []
        self.has_calls = False
        self.system: list[Part] = []
        self.turns: list[WireTurn] = []

    def add(self, index: int, message: Message) -> None:
        """Add one message, or refuse what of it the wire cannot hold."""
        role = message.role
        check_role(self._writer, index, role)
        if role == "system":
            self._system(index, message)
        elif role == "assistant":
            self._append("assistant", self._assistant(index, message))
        else:
            self._append("user", self._user(index, message))

    def finish(self) -> None:
        """End the history: results first in their turn, and at least one turn."""
        if not self.turns:
            self._writer.invalid("no message says anything; this wire needs one that does")
        for turn in self._merged:
            turn.content.sort(key=_results_first)

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
        parts: list[Part] = []
        for number, block in enumerate(message.content):
            if not isinstance(block, TextBlock):
                self._misplaced(block, "system", f"messages[{index}].content[{number}]")
            parts += text_parts(block.text)
        if not self.turns:
            self.system += parts
        elif self._family.system_turns:
            self._append("system", parts)
        else:
            refuse_block(self._writer, f"messages[{index}]", "this model takes system messages before the first turn")

    def _user(self, index: int, message: Message) -> list[Part]:
        parts: list[Part] = []
        documents = 0
        for number, block in enumerate(message.content):
            path = f"messages[{index}].content[{number}]"
            match block:
                case TextBlock(text=text):
                    parts += text_parts(text)
                case ImageBlock():
                    parts.append(self._image(block, path))
                case FileBlock():
                    parts.append(self._document(block, path))
                    documents += 1
                case ToolResultBlock():
                    parts.append(self._result(block, path))
                case ReasoningBlock() | ToolCallBlock():
                    self._misplaced(block, message.role, path)
                case _:
                    assert_never(block)
        if documents and not any("text" in part for part in parts if isinstance(part, dict)):
            # 400: a message with a document must have a text block too [D]
            refuse_block(self._writer, f"messages[{index}]", "a document needs a text beside it in the same message")
        if len(parts) > 1:
            parts.sort(key=_results_first)
        return parts

    def _image(self, block: ImageBlock, path: str) -> WirePart:
        check_image(self._writer, block, path, self._row.image_rules)
        form = (block.media_type or "").rpartition("/")[2]
        return {"image": {"format": form, "source": {"bytes": base64_of(block)}}}

    def _document(self, block: FileBlock, path: str) -> WirePart:
        kind = check_file(self._writer, block, path, self._row.files)
        assert kind is not None  # this wire takes bytes alone, and those name their media type
        name = self._document_name(block.name or "document")
        return {"document": {"format": DOCUMENTS[kind], "name": name, "source": {"bytes": base64_of(block)}}}

    def _document_name(self, name: str) -> str:
        """Return a name that the wire takes and that no other document of the request has."""
        clean = " ".join(_NOT_IN_NAMES.sub("-", name).split())[:_NAME_MAX].strip() or "document"
        made, number = clean, 1
        while made in self._names:
            number += 1
            made = f"{clean} ({number})"
        self._names.add(made)
        return made

    def _result(self, block: ToolResultBlock, path: str) -> WirePart:
        self.has_calls = True
        check_result(self._writer, block, path)
        content: list[Part] = []
        for number, inner in enumerate(
            (TextBlock(block.content),) if isinstance(block.content, str) else block.content
        ):
            if isinstance(inner, ImageBlock):
                if block.is_error:
                    refuse_block(self._writer, f"{path}.content[{number}]", "a result that is an error holds text only")
                content.append(self._image(inner, f"{path}.content[{number}]"))
            else:
                content += text_parts(inner.text)
        result: WirePart = {"toolUseId": self._ids[block.tool_call_id], "content": content or [{"text": _NO_OUTPUT}]}
        if block.is_error:
            result["status"] = "error"
        return {"toolResult": result}

    def _assistant(self, index: int, message: Message) -> list[Part]:
        self._ids.next_turn()
        path = f"messages[{index}]"
        state = read_state(message, index, ReplayState, wire=WIRE, version=REPLAY_VERSION, dropped=self._dropped)
        parts: list[Part] = []
        unsent = self._items(() if state is None else state.before, f"{path}.replay_state.before", parts)
        for number, block in enumerate(message.content):
            entry = (None if state is None else state.blocks[number]) or _EMPTY
            where = f"{path}.replay_state.blocks[{number}]"
            if entry.signature is not None and not isinstance(block, ReasoningBlock):
                raise invalid_state(f"{where} has a signature, and its block is {block_words(block)}")
            own = self._own(block, entry, f"{path}.content[{number}]", message.role)
            parts += own
            unsent += isinstance(block, ReasoningBlock) and not own
            unsent += self._items(entry.after, where, parts)
        if unsent:
            # Reasoning goes back with the signature it came with, to models that take it, or not at all.
            why = "that this model does not take back, or without the signature of this wire,"
            self._dropped.append(ReplayDrop(f"{unsent} pieces of reasoning {why} are not sent", index))
        if parts and all(isinstance(part, msgspec.Raw) or "reasoningContent" in part for part in parts):
            self._dropped.append(ReplayDrop("a turn that holds nothing but reasoning is not sent", index))
            return []
        return parts

    def _items(self, texts: tuple[str, ...], where: str, parts: list[Part]) -> int:
        """Add what stands beside the blocks; return how many pieces of reasoning the model does not take."""
        unsent = 0
        for text in texts:
            members = json_object(text, where)
            kind = next(iter(members), "")
            if len(members) != 1 or kind not in _ITEMS:
                raise invalid_state(f"{where} holds an item {kind!r}, which is none of this wire")
            if kind != "reasoningContent":
                parts.append({kind: members[kind]})
            elif "hidden" in self._family.reasoning:
                parts.append(msgspec.Raw(text.encode()))
            else:
                unsent += 1
        return unsent

    def _own(self, block: ContentBlock, entry: ReplayEntry, path: str, role: str) -> list[Part]:
        match block:
            case TextBlock(text=text):
                return text_parts(text)
            case ReasoningBlock(text=text):
                kind = None if entry.signature is None else "signed" if entry.signature else "plain"
                if not text or kind not in self._family.reasoning:
                    return []
                said = {"text": text, **({"signature": entry.signature} if entry.signature else {})}
                return [{"reasoningContent": {"reasoningText": said}}]
            case ToolCallBlock():
                self.has_calls = True
                check_call(self._writer, block, path, NAME)
                given = arguments_object(self._writer, block, path)
                return [{"toolUse": {"toolUseId": self._ids[block.id], "name": block.name, "input": given}}]
            case ImageBlock() | FileBlock() | ToolResultBlock():
                return self._misplaced(block, role, path)
            case _:
                assert_never(block)

    def _misplaced(self, block: ContentBlock, role: str, path: str) -> NoReturn:
        refuse_block(self._writer, path, f"this wire has no place for {block_words(block)} in {role} messages")


def text_parts(text: str) -> list[Part]:
    """Return a text for the wire, which refuses blank ones: those say nothing and are left out."""
    return [] if not text or text.isspace() else [{"text": text}]


def _results_first(part: Part) -> bool:
    return not (isinstance(part, dict) and "toolResult" in part)
