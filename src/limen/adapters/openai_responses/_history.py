"""The history as input items (Q4).

- `GenerateOptions.system` is `instructions`; system messages stand in their place, under the row's role.
- Text of a user message is one string, with images or files a list of parts. A tool result is a
  `function_call_output`; one with `is_error` is marked by `ERROR_MARK` before its text, because the wire has no field
  for it. Images of a result stand inside it.
- An assistant's turn with replay state goes back item by item as it came (N4): messages with their ids and phases,
  reasoning with its sealed content, calls, the provider's own tools, everything in place. Without it, texts are plain
  assistant messages and calls have no ids of their own: the wire refuses ids that it does not know.
- Reasoning without replay state is not sent, and reported as `ReplayDrop`.
"""

from collections.abc import Sequence
from typing import Final, NoReturn, TypeAlias

import msgspec

from limen.adapters.kit import (
    OutgoingIds,
    RequestWriter,
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
from limen.adapters.openai_responses._dialects import Dialect
from limen.adapters.openai_responses._slots import BREAK, is_nothing
from limen.adapters.openai_responses._wire import REPLAY_VERSION, WIRE, ReplayEntry, ReplayState
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
    replace_surrogates,
)

WireItem: TypeAlias = dict[str, object]

ERROR_MARK: Final = "Error: "
"""Stands before the text of a tool result with `is_error`."""

# Kinds that a message has blocks for, so that no item beside the blocks may be one.
_BLOCKS: Final = frozenset(
    {"function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", "item_reference"}
)
_EMPTY: Final = ReplayEntry()
_PARTS: Final = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_NULL: Final = b"null"
# 400 where `file_data` comes without a name (wire sheet of 2026-11); this one stands in for a file without one.
_NO_NAME: Final = "document.pdf"
_FOREIGN: Final = "reasoning without the items of this wire is not sent"
_UNSEALED: Final = "reasoning without its sealed content is not sent: nothing of it was stored"


class History:
    """Writes one request's input; refuses what the wire has no place for, naming `messages[i].content[j]`.

    `looks_up`: whether reasoning without its sealed content is refused by the host (see `Dialect.looks_up`).
    """

    __slots__ = ("_custom", "_dropped", "_ids", "_looks_up", "_out", "_row", "_writer")

    def __init__(self, writer: RequestWriter, row: Dialect, *, looks_up: bool) -> None:
        self._row = row
        self._writer = writer
        self._looks_up = looks_up
        self._dropped = writer.context.replay_dropped
        self._ids = OutgoingIds(row.tool_ids) if row.tool_ids is not None else None
        self._custom: set[str] = set()
        self._out: list[WireItem] = []

    def write(self) -> list[WireItem]:
        """Return the items; one pass, with a short way for the shape that nearly all messages have."""
        plain = {"user": "user", "assistant": "assistant", "system": self._row.system_role}
        for index, message in enumerate(self._writer.options.messages):
            content = message.content
            if len(content) == 1 and message.replay_state is None:
                block, role = content[0], plain.get(message.role)
                if type(block) is TextBlock and role is not None:
                    self._out.append({"role": role, "content": block.text})
                    continue
            if message.role == "assistant":
                self._out += _Turn(self, index, message).items
            else:
                self._other(index, message)
        if not self._out and self._writer.options.system is None:
            self._writer.invalid("there is no message and no system text")
        return self._out

    # -- messages of the client's side

    def _other(self, index: int, message: Message) -> None:
        check_role(self._writer, index, message.role)
        own: list[tuple[int, ContentBlock]] = []
        for position, block in enumerate(message.content):
            if type(block) is ToolResultBlock and message.role != "system":
                self._out.append(self._result(block, f"messages[{index}].content[{position}]"))
            else:
                own.append((position, block))
        if message.role == "tool" and own:
            path = f"messages[{index}].content[{own[0][0]}]"
            refuse_block(self._writer, path, "a tool message holds tool results only")
        if own or (not message.content and message.role != "tool"):
            role = self._row.system_role if message.role == "system" else "user"
            self._out.append({"role": role, "content": self._parts(index, own, media=role == "user")})

    def _parts(self, index: int, blocks: Sequence[tuple[int, ContentBlock]], *, media: bool) -> object:
        texts: list[str] = []
        parts: list[WireItem] = []
        for position, block in blocks:
            path = f"messages[{index}].content[{position}]"
            if type(block) is TextBlock:
                texts.append(block.text)
                parts.append({"type": "input_text", "text": block.text})
            elif type(block) is ImageBlock and media:
                parts.append(self._image(block, path))
            elif type(block) is FileBlock and media:
                parts.append(self._file(block, path))
            else:
                where = "a user message" if media else "a system message"
                refuse_block(self._writer, path, f"{where} has no place for {block_words(block)}")
        return parts if len(parts) > len(texts) else "".join(texts)

    def _image(self, block: ImageBlock, path: str) -> WireItem:
        check_image(self._writer, block, path, self._row.image_rules)
        url = block.url if block.data is None else f"data:{block.media_type};base64,{base64_of(block)}"
        return {"type": "input_image", "image_url": url or "", "detail": "auto"}

    def _file(self, block: FileBlock, path: str) -> WireItem:
        kind = check_file(self._writer, block, path, self._row.files)
        if block.file_id is not None:
            return {"type": "input_file", "file_id": block.file_id}
        if block.data is None:
            return {"type": "input_file", "file_url": block.url}
        data = f"data:{kind};base64,{base64_of(block)}"
        return {"type": "input_file", "filename": block.name or _NO_NAME, "file_data": data}

    def _result(self, block: ToolResultBlock, path: str) -> WireItem:
        kind = "custom_tool_call_output" if block.tool_call_id in self._custom else "function_call_output"
        mark = ERROR_MARK if block.is_error else ""
        output: object
        if isinstance(block.content, str):
            output = mark + block.content
        else:
            check_result(self._writer, block, path)
            parts: list[WireItem] = [] if not mark else [{"type": "input_text", "text": mark.rstrip()}]
            for number, part in enumerate(block.content):
                if isinstance(part, ImageBlock):
                    parts.append(self._image(part, f"{path}.content[{number}]"))
                else:
                    parts.append({"type": "input_text", "text": part.text})
            images = any(isinstance(part, ImageBlock) for part in block.content)
            texts = "".join(part.text for part in block.content if isinstance(part, TextBlock))
            output = parts if images else mark + texts
        return {"type": kind, "call_id": self.call_id(block.tool_call_id), "output": output}

    # -- what a turn needs of its request

    def call_id(self, call_id: str) -> str:
        """Return the id under which a call and its result go out (C9)."""
        return call_id if self._ids is None else self._ids[call_id]

    def state_of(self, index: int, message: Message) -> ReplayState | None:
        """Return the turn's own replay state."""
        return read_state(message, index, ReplayState, wire=WIRE, version=REPLAY_VERSION, dropped=self._dropped)

    def drop(self, reason: str, index: int) -> None:
        """Report what of a turn is not sent."""
        self._dropped.append(ReplayDrop(reason, index))

    def call(self, block: ToolCallBlock, entry: ReplayEntry, path: str, where: str) -> WireItem:
        """Return a call, with the members of its own item where the turn has state."""
        check_call(self._writer, block, path, self._row.tool_name)
        call_id = self.call_id(block.id)
        arguments = block.arguments if block.arguments.strip() else "{}"
        if entry.item is None:
            return {"type": "function_call", "call_id": call_id, "name": block.name, "arguments": arguments}
        members: WireItem = dict(json_object(entry.item, where))
        kind = members.get("type")
        is_custom = kind == msgspec.Raw(b'"custom_tool_call"')
        if not is_custom and kind != msgspec.Raw(b'"function_call"'):
            raise invalid_state(f"{where} has an item that is no call, and its block is one")
        members |= {"call_id": call_id, "name": block.name}
        if is_custom:
            self._custom.add(block.id)
            members["input"] = block.arguments
        else:
            members["arguments"] = arguments
        if not self._row.call_status:
            members.pop("status", None)
        return members

    def misplaced(self, block: ContentBlock, path: str) -> NoReturn:
        """Refuse a block that no assistant message has."""
        refuse_block(self._writer, path, f"an assistant message has no place for {block_words(block)}")

    @property
    def looks_up(self) -> bool:
        """Tell whether reasoning without its sealed content is refused."""
        return self._looks_up


class _Turn:
    """One assistant's turn as items."""

    def __init__(self, history: History, index: int, message: Message) -> None:
        self.items: list[WireItem] = []
        self._history = history
        self._where = f"messages[{index}].replay_state"
        # The parts of the message in the making whose text is missing, and the plain text in the making.
        self._holes: list[WireItem] = []
        self._plain: WireItem | None = None
        state = history.state_of(index, message)
        if state is not None:
            self._beside(state.before, f"{self._where}.before")
        foreign = False
        for number, block in enumerate(message.content):
            entry = (None if state is None else state.blocks[number]) or _EMPTY
            where = f"{self._where}.blocks[{number}]"
            foreign |= self._block(block, entry, f"messages[{index}].content[{number}]", where)
            self._beside(entry.after, where)
        if self._holes:
            raise invalid_state(f"{self._where} has a message with more texts than its blocks")
        if foreign:
            history.drop(_FOREIGN, index)
        if history.looks_up and self._unseal():
            history.drop(_UNSEALED, index)

    def _beside(self, texts: Sequence[str], where: str) -> None:
        if texts:
            read_items(texts, where, blocks=_BLOCKS)
            for text in texts:
                members: WireItem = dict(json_object(text, where))
                self.items.append(members)
            self._plain = None

    def _block(self, block: ContentBlock, entry: ReplayEntry, path: str, where: str) -> bool:
        """Add a block; return whether it is reasoning that cannot be sent."""
        if isinstance(block, TextBlock):
            self._text(block.text, entry, where)
            return False
        _check(entry, block, where)
        if isinstance(block, ToolCallBlock):
            self.items.append(self._history.call(block, entry, path, where))
        elif not isinstance(block, ReasoningBlock):
            self._history.misplaced(block, path)
        elif entry.item is None:
            return True
        else:
            self.items.append(_reasoning(block.text, entry, where))
        self._plain = None
        return False

    def _text(self, text: str, entry: ReplayEntry, where: str) -> None:
        if entry.item is not None:
            if self._holes:
                raise invalid_state(f"{where} begins a message before the one before it has its texts")
            members: WireItem = dict(json_object(entry.item, where))
            if members.get("type") != msgspec.Raw(b'"message"'):
                raise invalid_state(f"{where} has an item that is no message, and its block is text")
            self._holes = _holes(members, "content", where)
            self.items.append(members)
            self._plain = None
        if entry.item is not None or entry.joins:
            if not self._holes:
                raise invalid_state(f"{where} has a text for which its message has no place")
            self._holes.pop(0)["text"] = text
        elif self._plain is None:
            self._plain = {"role": "assistant", "content": text}
            self.items.append(self._plain)
        else:
            self._plain["content"] = f"{self._plain['content']}{text}"

    def _unseal(self) -> bool:
        """Take out reasoning that has no sealed content, and the ids of what it led to; return whether there was any.

        400 Item with id 'rs_…' not found. Items are not persisted when `store` is set to false. Without it, 400 Item
        'fc_…' of type 'function_call' was provided without its required 'reasoning' item: 'rs_…'.
        """
        reasoning = msgspec.Raw(b'"reasoning"')
        bare = [
            item
            for item in self.items
            if item.get("type") == reasoning and is_nothing(item.get("encrypted_content")) and "id" in item
        ]
        if not bare:
            return False
        gone = {id(item) for item in bare}
        self.items = [item for item in self.items if id(item) not in gone]
        for item in self.items:
            item.pop("id", None)
        return True


def _holes(members: WireItem, name: str, where: str) -> list[WireItem]:
    """Make the parts of an item writable; return those whose text is told by a block."""
    raw = members.get(name)
    try:
        parts: list[WireItem] = [dict(part) for part in _PARTS.decode(raw if isinstance(raw, msgspec.Raw) else b"[]")]
    except msgspec.DecodeError:
        raise invalid_state(f"{where} has an item whose {name} are no list of parts") from None
    members[name] = parts
    return [part for part in parts if part.get("text") == msgspec.Raw(_NULL)]


def _reasoning(text: str, entry: ReplayEntry, where: str) -> WireItem:
    """Return a reasoning item with its text put back into its parts."""
    members: WireItem = dict(json_object(entry.item or "", where))
    if members.get("type") != msgspec.Raw(b'"reasoning"'):
        raise invalid_state(f"{where} has an item that is no reasoning, and its block is reasoning")
    holes = [hole for name in ("summary", "content") if name in members and not is_nothing(members[name])
             for hole in _holes(members, name, where)]  # fmt: skip
    lengths = entry.lengths or ()
    begin, pieces = 0, list[str]()
    for length in lengths:
        pieces.append(text[begin : begin + length])
        begin += length + len(BREAK)
    if len(holes) != len(lengths) or BREAK.join(pieces) != text:
        raise invalid_state(f"{where} has lengths that are not those of its block's text")
    for hole, piece in zip(holes, pieces, strict=True):
        hole["text"] = replace_surrogates(piece)
    return members


def _check(entry: ReplayEntry, block: ContentBlock, where: str) -> None:
    """Refuse state that does not belong to its block."""
    if entry.joins or (entry.lengths is not None and not isinstance(block, ReasoningBlock)):
        raise invalid_state(f"{where} is of another block than {block_words(block)}")
