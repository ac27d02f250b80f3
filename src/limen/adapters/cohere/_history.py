"""Messages of a conversation to the wire's own (Q4).

Source of truth: https://docs.cohere.com/reference/chat and https://docs.cohere.com/docs/tool-use-overview, read
2026-11-30: an assistant message has content or calls, a tool message answers one call.
"""

from typing import Final, NoReturn, TypeAlias

import msgspec

from limen.adapters.cohere._dialects import Dialect
from limen.adapters.cohere._wire import REPLAY_VERSION, ReplayEntry, ReplayState
from limen.adapters.kit import (
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

ERROR_MARK: Final = "Error: "
"""Stands before the text of a tool result with `is_error`, for which the wire has no field."""

_NO_STATE: Final = ReplayState(())
_NOTHING: Final = ReplayEntry()


class HistoryWriter:
    """Writes one request's messages; refuses what the wire has no place for, naming `messages[i].content[j]`."""

    def __init__(self, row: Dialect, writer: RequestWriter) -> None:
        self._row = row
        self._writer = writer
        self._dropped = writer.context.replay_dropped
        self._out: list[WirePart] = []

    def write(self) -> list[WirePart]:
        """Return the messages, the system text of the options first."""
        options = self._writer.options
        if options.system is not None:
            self._out.append({"role": "system", "content": options.system})
        for index, message in enumerate(options.messages):
            content = message.content
            if len(content) == 1 and type(content[0]) is TextBlock and message.role in ("user", "system"):
                self._out.append({"role": message.role, "content": content[0].text})
            elif message.role == "assistant":
                self._assistant(index, message)
            else:
                self._other(index, message)
        if not self._out:
            self._writer.invalid("there is no message and no system text")
        return self._out

    def _other(self, index: int, message: Message) -> None:
        role = message.role
        check_role(self._writer, index, role)
        parts: list[WirePart] = []
        for position, block in enumerate(message.content):
            path = f"messages[{index}].content[{position}]"
            if type(block) is ToolResultBlock and role != "system":
                self._result(block, path)
            elif role == "tool":
                refuse_block(self._writer, path, "a tool message holds tool results only")
            elif type(block) is TextBlock:
                parts.append({"type": "text", "text": block.text})
            elif type(block) is ImageBlock and role == "user":
                parts.append(self._image(block, path))
            elif type(block) is FileBlock and role == "user":
                check_file(self._writer, block, path, self._row.files)
            else:
                self._misplaced(block, role, path)
        if parts or (not message.content and role != "tool"):
            self._out.append({"role": role, "content": parts or ""})

    def _result(self, block: ToolResultBlock, path: str) -> None:
        check_result(self._writer, block, path)
        text = ERROR_MARK if block.is_error else ""
        if isinstance(block.content, str):
            text += block.content
        else:
            for position, part in enumerate(block.content):
                if not isinstance(part, TextBlock):
                    where = f"{path}.content[{position}]"
                    refuse_block(self._writer, where, "a tool result of this wire holds text, not an image")
                text += part.text
        self._out.append({"role": "tool", "tool_call_id": block.tool_call_id, "content": text})

    def _image(self, block: ImageBlock, path: str) -> WirePart:
        check_image(self._writer, block, path, self._row.image_rules)
        url = block.url if block.data is None else f"data:{block.media_type};base64,{base64_of(block)}"
        return {"type": "image_url", "image_url": {"url": url}}

    def _assistant(self, index: int, message: Message) -> None:
        state = self._state(index, message)
        parts: list[WirePart] = []
        calls: list[WirePart] = []
        plan = ""
        for position, block in enumerate(message.content):
            entry = (state.blocks[position] if state.blocks else None) or _NOTHING
            if entry.plan and not isinstance(block, ReasoningBlock):
                where = f"messages[{index}].replay_state.blocks[{position}]"
                raise invalid_state(f"{where} is of a tool plan, and its block is {block_words(block)}")
            match block:
                case TextBlock(text=text):
                    parts.append({"type": "text", "text": text})
                case ReasoningBlock(text=text) if entry.plan:
                    plan += text
                case ReasoningBlock(text=text):
                    parts.append({"type": "thinking", "thinking": text})
                case ToolCallBlock():
                    calls.append(self._call(block, f"messages[{index}].content[{position}]"))
                case _:
                    self._misplaced(block, "assistant", f"messages[{index}].content[{position}]")
        if not parts and not calls:
            # 400 where an assistant message has neither content nor calls: that of a plan whose calls were cut off.
            reason = "the wire takes no assistant turn without content and calls: it is not sent"
            self._dropped.append(ReplayDrop(reason, index))
            return
        wire: WirePart = {"role": "assistant"}
        if parts:
            wire["content"] = parts[0]["text"] if len(parts) == 1 and "text" in parts[0] else parts
        if calls:
            wire["tool_calls"] = calls
        if plan:
            wire["tool_plan"] = plan
        if state.citations:
            wire["citations"] = [msgspec.Raw(text.encode()) for text in state.citations]
        self._out.append(wire)

    def _call(self, block: ToolCallBlock, path: str) -> WirePart:
        check_call(self._writer, block, path)
        arguments = block.arguments if block.arguments.strip() else "{}"
        return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}

    def _state(self, index: int, message: Message) -> ReplayState:
        found = read_state(
            message, index, ReplayState, wire=self._row.wire, version=REPLAY_VERSION, dropped=self._dropped
        )
        if found is None:
            return _NO_STATE
        for text in found.citations:
            json_object(text, f"messages[{index}].replay_state.citations")
        return found

    def _misplaced(self, block: ContentBlock, role: str, path: str) -> NoReturn:
        refuse_block(self._writer, path, f"this wire has no place for {block_words(block)} in {role} messages")
