"""Messages of a conversation to the wire's messages (Q4).

Source of truth: https://docs.ollama.com/api/chat and `…/capabilities/tool-calling`, read 2026-12-01: `content` is a
plain string, images stand beside it as base64, arguments are an object, a result names its tool.
"""

from collections.abc import Sequence
from typing import Final, NoReturn, TypeAlias

import msgspec

from limen.adapters.kit import (
    ImageRules,
    RequestWriter,
    arguments_object,
    base64_of,
    block_words,
    check_call,
    check_file,
    check_image,
    check_result,
    check_role,
    refuse_block,
)
from limen.adapters.ollama._dialects import Dialect
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

WireMessage: TypeAlias = dict[str, object]

# The wire has no field that says that a tool failed.
ERROR_MARK: Final = "Error: "
_NO_STATE: Final = "this wire needs no state of earlier turns: the turn is sent as it stands in its blocks"


class History:
    """Messages in order: `add` each, then `finish`; `messages` is what goes on the wire."""

    __slots__ = ("_files", "_images", "_names", "_rules", "_shown", "_writer", "messages")

    def __init__(self, writer: RequestWriter, row: Dialect) -> None:
        self._writer = writer
        self._rules: ImageRules = row.image_rules
        self._files = row.files
        self._names: dict[str, str] = {}
        self._shown: list[str] = []
        self._images: list[str] = []
        self.messages: list[WireMessage] = []

    def add(self, index: int, message: Message) -> None:
        """Add one message, or refuse what of it the wire cannot hold."""
        role, content = message.role, message.content
        check_role(self._writer, index, role)
        if message.replay_state is not None:
            self._writer.context.replay_dropped.append(ReplayDrop(_NO_STATE, index))
        if role == "assistant":
            self._flush()
            self._assistant(index, content)
            return
        own: list[tuple[str, ContentBlock]] = []
        for number, block in enumerate(content):
            path = f"messages[{index}].content[{number}]"
            if isinstance(block, ToolResultBlock) and role != "system":
                self._result(block, path)
            elif role == "tool":
                refuse_block(self._writer, path, "a tool message holds tool results only")
            else:
                own.append((path, block))
        if own:
            self._flush()
            self._plain(role, own)

    def finish(self) -> None:
        """End the history with the images of its last tool results."""
        self._flush()

    def _plain(self, role: str, blocks: Sequence[tuple[str, ContentBlock]]) -> None:
        texts: list[str] = []
        images: list[str] = []
        for path, block in blocks:
            if isinstance(block, TextBlock):
                texts.append(block.text)
            elif isinstance(block, ImageBlock) and role == "user":
                images.append(self._image(block, path))
            elif isinstance(block, FileBlock) and role == "user":
                check_file(self._writer, block, path, self._files)
            else:
                self._misplaced(block, role, path)
        wire: WireMessage = {"role": role, "content": "".join(texts)}
        if images:
            wire["images"] = images
        self.messages.append(wire)

    def _assistant(self, index: int, content: Sequence[ContentBlock]) -> None:
        text = thinking = ""
        calls: list[WireMessage] = []
        self._names = {}
        for number, block in enumerate(content):
            path = f"messages[{index}].content[{number}]"
            if isinstance(block, TextBlock):
                text += block.text
            elif isinstance(block, ReasoningBlock):
                thinking += block.text
            elif isinstance(block, ToolCallBlock):
                calls.append(self._call(block, path))
            else:
                self._misplaced(block, "assistant", path)
        wire: WireMessage = {"role": "assistant", "content": text}
        if thinking:
            wire["thinking"] = thinking
        if calls:
            wire["tool_calls"] = calls
        self.messages.append(wire)

    def _call(self, block: ToolCallBlock, path: str) -> WireMessage:
        check_call(self._writer, block, path)
        arguments: msgspec.Raw = arguments_object(self._writer, block, path)
        self._names[block.id] = block.name
        return {"id": block.id, "function": {"name": block.name, "arguments": arguments}}

    def _result(self, block: ToolResultBlock, path: str) -> None:
        """Write a result; its images follow in a user message, because templates show those of users alone."""
        check_result(self._writer, block, path)
        images: list[str] = []
        if isinstance(block.content, str):
            text = block.content
        else:
            text = "".join(part.text for part in block.content if isinstance(part, TextBlock))
            images = [
                self._image(part, f"{path}.content[{number}]")
                for number, part in enumerate(block.content)
                if isinstance(part, ImageBlock)
            ]
        if images:
            self._shown.append(f"Images that the tool call {block.tool_call_id} returned: {len(images)}")
            self._images += images
            text = text or "The result is the images in the next user message."
        self.messages.append(
            {
                "role": "tool",
                "content": (ERROR_MARK if block.is_error else "") + text,
                "tool_name": self._names.get(block.tool_call_id, ""),
                "tool_call_id": block.tool_call_id,
            }
        )

    def _flush(self) -> None:
        if self._images:
            self.messages.append({"role": "user", "content": "\n".join(self._shown), "images": self._images})
            self._shown, self._images = [], []

    def _image(self, block: ImageBlock, path: str) -> str:
        check_image(self._writer, block, path, self._rules)
        return base64_of(block)

    def _misplaced(self, block: ContentBlock, role: str, path: str) -> NoReturn:
        refuse_block(self._writer, path, f"this wire has no place for {block_words(block)} in {role} messages")
