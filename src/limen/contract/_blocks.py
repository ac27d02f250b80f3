"""Content blocks, the parts of a message."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

BlockType: TypeAlias = Literal["text", "reasoning", "tool-call", "image"]


class TextBlock(msgspec.Struct, frozen=True, tag="text", rename="camel", gc=False):
    """Visible text."""

    text: str


class ReasoningBlock(msgspec.Struct, frozen=True, tag="reasoning", rename="camel", gc=False):
    """Thinking, never mixed with visible text."""

    text: str


class ImageBlock(msgspec.Struct, frozen=True, tag="image", rename="camel", omit_defaults=True, gc=False):
    """An image: `ImageBlock("image/png", data)`, bytes being base64 in JSON, or `ImageBlock(url="https://…")`.

    A single positional argument that is a URL is taken as one: `ImageBlock("https://…")`.
    Raises `ValueError` unless there is exactly one of the two forms.
    """

    media_type: str | None = None
    data: bytes | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        if self.data is None and self.url is None and self.media_type is not None and ":" in self.media_type:
            force_setattr(self, "url", self.media_type)
            force_setattr(self, "media_type", None)
        if (self.data is None) == (self.url is None):
            raise ValueError("an image is either bytes with a media type, or a URL")
        if self.data is not None and not self.media_type:
            raise ValueError("an image given as bytes names its media type, such as image/png")
        data: object = self.data
        if isinstance(data, bytearray | memoryview):
            # Sockets and files return bytearray and memoryview; the copy is immutable.
            force_setattr(self, "data", bytes(data))


class FileBlock(msgspec.Struct, frozen=True, tag="file", rename="camel", omit_defaults=True, gc=False):
    """A document or a sound in a user message: bytes (base64 in JSON), an address, or the id of an uploaded file.

    `FileBlock("application/pdf", data, "report.pdf")`, `FileBlock(url="https://…")`, `FileBlock(file_id="file-…")`.
    Raises `ValueError` unless there is exactly one of the three, and for bytes without a media type. `name` is the
    file's name. Files stand in requests only: no answer holds one.
    """

    media_type: str | None = None
    data: bytes | None = None
    name: str | None = None
    url: str | None = None
    file_id: str | None = None

    def __post_init__(self) -> None:
        if [self.data, self.url, self.file_id].count(None) != 2:
            raise ValueError("a file is either bytes with a media type, or a URL, or the id of an uploaded file")
        if self.data is not None and not self.media_type:
            raise ValueError("a file given as bytes names its media type, such as application/pdf")
        data: object = self.data
        if isinstance(data, bytearray | memoryview):
            # Sockets and files return bytearray and memoryview; the copy is immutable.
            force_setattr(self, "data", bytes(data))


class ToolCallBlock(msgspec.Struct, frozen=True, tag="tool-call", rename="camel", gc=False):
    """Tool call requested by the model; `arguments` is the raw JSON string, never parsed or repaired (C8)."""

    id: str
    name: str
    arguments: str


class ToolResultBlock(msgspec.Struct, frozen=True, tag="tool-result", rename="camel", omit_defaults=True):
    """Result of the tool call with that id: text, or a tuple of text and image blocks."""

    tool_call_id: str
    content: str | Sequence[TextBlock | ImageBlock]
    is_error: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.content, str):
            force_setattr(self, "content", tuple(self.content))


ContentBlock: TypeAlias = TextBlock | ReasoningBlock | ImageBlock | FileBlock | ToolCallBlock | ToolResultBlock
StreamBlock: TypeAlias = TextBlock | ReasoningBlock | ImageBlock | ToolCallBlock
