"""Histories in the shape of OpenAI's chat completions as `Message` values, and back; pure, and without silent loss.

Source of the shape: https://platform.openai.com/docs/api-reference/chat/create (read on 2026-12-01), and the field
`reasoning_content` of DeepSeek and others. A field without a place on the other side is refused with its path, or
reported to `on_loss` and left out.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, TypeGuard

from limen.contract import (
    ContentBlock,
    FileBlock,
    ImageBlock,
    LlmError,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    codes,
)

OnLoss: TypeAlias = Callable[[str], object]
"""Function that is called with one sentence for each thing that is left out: its path, and why."""

_SYSTEM: Final = ("system", "developer")
_RANKS: Final = {"ReasoningBlock": 0, "ToolCallBlock": 2}
_SOUNDS: Final = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def messages_from_openai(messages: Sequence[object], *, on_loss: OnLoss | None = None) -> list[Message]:
    """Return a chat-completions history (mappings, or the objects of OpenAI's own client) as messages of limen.

    Texts, images, files, sounds, tool calls and their results and `reasoning_content` are carried; `None` and empty
    lists are absent. Raises `INVALID_OPTIONS` with the path (`messages[2].name`) for what is malformed, and for what
    limen has no place for; with `on_loss` the latter is reported there, and left out.
    """
    if isinstance(messages, str | bytes | Mapping):
        raise _fault("messages", "a history is a list of messages")
    reader = _Reader(on_loss)
    return [reader.message(f"messages[{index}]", _object(message)) for index, message in enumerate(messages)]


def messages_to_openai(messages: Sequence[Message], *, on_loss: OnLoss | None = None) -> list[dict[str, object]]:
    """Return messages as a chat-completions history: plain dictionaries, new ones each time.

    A reasoning block becomes `reasoning_content`. `id` and `source` name limen's own routes and are not written.
    Raises `INVALID_OPTIONS` with the path for what that shape has no place for (replay state, `is_error`, pictures in
    a tool's result, an order of blocks that it cannot tell); with `on_loss` it is reported there, and left out.
    """
    writer = _Writer(on_loss)
    return [wire for index, message in enumerate(messages) for wire in writer.message(f"messages[{index}]", message)]


def _fault(path: str, words: str) -> LlmError:
    return LlmError(f"{path}: {words}", codes.INVALID_OPTIONS, phase="resolve")


class _Losses:
    """Refusal or report of what the other side has no place for."""

    def __init__(self, on_loss: OnLoss | None) -> None:
        self._on_loss = on_loss

    def lose(self, path: str, words: str) -> None:
        """Report one loss, or raise it."""
        if self._on_loss is None:
            raise _fault(path, f"{words}; give on_loss=… to leave it out")
        self._on_loss(f"{path}: {words}")


def _object(value: object) -> object:
    # OpenAI's own client returns pydantic models, which people append to the history as they are.
    dump: object = getattr(value, "model_dump", None)
    return dump() if callable(dump) else value


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def _fields(path: str, value: object) -> dict[str, object]:
    """Return the fields that are there: `None` and an empty list are absent (W2)."""
    if not _is_mapping(value):
        raise _fault(path, f"an object is expected, not {type(value).__name__}")
    return {name: field for name, field in value.items() if field is not None and field != [] and field != ()}


def _text(path: str, value: object) -> str:
    if not isinstance(value, str):
        raise _fault(path, f"a text is expected, not {type(value).__name__}")
    return value


def _items(path: str, value: object) -> Sequence[object]:
    if not _is_list(value):
        raise _fault(path, f"a list is expected, not {type(value).__name__}")
    return value


class _Reader(_Losses):
    """Reads messages of chat completions; each field is taken out of its object, and what is left is a loss."""

    def message(self, path: str, value: object) -> Message:
        """Read one message."""
        fields = _fields(path, value)
        role = fields.pop("role", None)
        content = fields.pop("content", None)
        if role in _SYSTEM or role == "user":
            blocks = self._content(f"{path}.content", content, sent=True)
            made = Message("system" if role in _SYSTEM else "user", blocks)
        elif role == "assistant":
            made = Message("assistant", self._assistant(path, content, fields))
        elif role == "tool":
            made = Message("tool", (self._result(path, content, fields),))
        else:
            raise _fault(f"{path}.role", f"it is system, developer, user, assistant or tool, not {role!r}")
        self._rest(path, fields)
        return made

    def _rest(self, path: str, fields: Mapping[str, object]) -> None:
        for name in fields:
            self.lose(f"{path}.{name}", "limen has no place for this field")

    def _assistant(self, path: str, content: object, fields: dict[str, object]) -> list[ContentBlock]:
        blocks: list[ContentBlock] = []
        # DeepSeek and vLLM write the one, OpenRouter and Groq the other; some gateways write both, equal.
        told = {name: fields.pop(name, None) for name in ("reasoning_content", "reasoning")}
        thought = next((text for text in told.values() if text is not None), None)
        if thought is not None and thought != "":
            blocks.append(ReasoningBlock(_text(f"{path}.reasoning_content", thought)))
        if content is not None and content != "":
            blocks += self._content(f"{path}.content", content, sent=False)
        refusal = fields.pop("refusal", None)
        if refusal is not None:
            blocks.append(TextBlock(_text(f"{path}.refusal", refusal)))
        here = f"{path}.tool_calls"
        calls = _items(here, fields.pop("tool_calls", ()))
        return [*blocks, *(self._call(f"{here}[{index}]", call) for index, call in enumerate(calls))]

    def _call(self, path: str, value: object) -> ToolCallBlock:
        fields = _fields(path, value)
        fields.pop("index", None)  # of a streamed call; the list's order says the same
        kind = fields.pop("type", "function")
        if kind != "function":
            raise _fault(f"{path}.type", f"limen has function calls only, not {kind!r}")
        function = _fields(f"{path}.function", fields.pop("function", None))
        call = ToolCallBlock(
            _text(f"{path}.id", fields.pop("id", None)),
            _text(f"{path}.function.name", function.pop("name", None)),
            _text(f"{path}.function.arguments", function.pop("arguments", "")),
        )
        self._rest(f"{path}.function", function)
        self._rest(path, fields)
        return call

    def _result(self, path: str, content: object, fields: dict[str, object]) -> ToolResultBlock:
        call = _text(f"{path}.tool_call_id", fields.pop("tool_call_id", None))
        fields.pop("name", None)  # an older form repeats the tool's name, which the call holds
        if isinstance(content, str):
            return ToolResultBlock(call, content)
        parts: list[TextBlock | ImageBlock] = []
        for index, block in enumerate(self._content(f"{path}.content", content, sent=True)):
            if not isinstance(block, TextBlock | ImageBlock):
                raise _fault(f"{path}.content[{index}]", "a tool's result holds texts and images")
            parts.append(block)
        return ToolResultBlock(call, parts)

    def _content(self, path: str, value: object, *, sent: bool) -> list[ContentBlock]:
        if isinstance(value, str):
            return [TextBlock(value)]
        if not _is_list(value):
            raise _fault(path, f"a text or a list of parts is expected, not {type(value).__name__}")
        return [self._part(f"{path}[{index}]", part, sent=sent) for index, part in enumerate(value)]

    def _part(self, path: str, value: object, *, sent: bool) -> ContentBlock:
        fields = _fields(path, value)
        kind = fields.pop("type", None)
        inner = fields.pop(str(kind), None)
        block: ContentBlock
        if kind in ("text", "refusal"):
            block = TextBlock(_text(f"{path}.{kind}", inner))
        elif sent and kind == "image_url":
            block = self._image(f"{path}.image_url", inner)
        elif sent and kind == "input_audio":
            block = self._sound(f"{path}.input_audio", inner)
        elif sent and kind == "file":
            block = self._file(f"{path}.file", inner)
        else:
            raise _fault(f"{path}.type", f"limen has no block for a part of type {kind!r} here")
        self._rest(path, fields)
        return block

    def _image(self, path: str, value: object) -> ImageBlock:
        fields = _fields(path, {"url": value} if isinstance(value, str) else value)
        url = _text(f"{path}.url", fields.pop("url", None))
        if fields.get("detail") == "auto":
            del fields["detail"]  # the provider's own default
        self._rest(path, fields)
        if not url.startswith("data:"):
            return ImageBlock(url=url)
        media_type, data = _data_url(f"{path}.url", url)
        return ImageBlock(media_type, data)

    def _sound(self, path: str, value: object) -> FileBlock:
        fields = _fields(path, value)
        form = _text(f"{path}.format", fields.pop("format", None))
        data = _bytes(f"{path}.data", _text(f"{path}.data", fields.pop("data", None)))
        self._rest(path, fields)
        return FileBlock(_SOUNDS.get(form, f"audio/{form}"), data)

    def _file(self, path: str, value: object) -> FileBlock:
        fields = _fields(path, value)
        name, file_id, data = (fields.pop(key, None) for key in ("filename", "file_id", "file_data"))
        self._rest(path, fields)
        named = None if name is None else _text(f"{path}.filename", name)
        if (file_id is None) == (data is None):
            raise _fault(path, "a file has either file_id or file_data")
        if data is None:
            return FileBlock(name=named, file_id=_text(f"{path}.file_id", file_id))
        media_type, content = _data_url(f"{path}.file_data", _text(f"{path}.file_data", data))
        return FileBlock(media_type, content, named)


def _data_url(path: str, url: str) -> tuple[str, bytes]:
    head, comma, data = url.partition(",")
    media_type, _, coding = head.removeprefix("data:").partition(";")
    if not comma or coding != "base64" or not media_type:
        raise _fault(path, "a data URL is expected: data:image/png;base64,…")
    return media_type, _bytes(path, data)


def _bytes(path: str, text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        pass
    raise _fault(path, "this is not base64")


class _Writer(_Losses):
    """Writes messages of chat completions."""

    def message(self, path: str, message: Message) -> list[dict[str, object]]:
        """Write one message; a tool's message of several results becomes one each."""
        if message.replay_state is not None:
            self.lose(f"{path}.replay_state", "chat completions carry no replay state, such as a thinking signature")
        if message.role == "tool":
            return [self._result(f"{path}.content[{i}]", block) for i, block in enumerate(message.content)]
        if message.role == "assistant":
            return [self._assistant(path, message)]
        return [{"role": message.role, "content": self._content(path, message.content)}]

    def _content(self, path: str, blocks: Sequence[ContentBlock]) -> object:
        if len(blocks) == 1 and isinstance(blocks[0], TextBlock):
            return blocks[0].text
        parts = (self._part(f"{path}.content[{index}]", block) for index, block in enumerate(blocks))
        return [part for part in parts if part is not None]

    def _part(self, path: str, block: ContentBlock) -> dict[str, object] | None:
        match block:
            case TextBlock(text=text):
                return {"type": "text", "text": text}
            case ImageBlock(url=str(url)):
                return {"type": "image_url", "image_url": {"url": url}}
            case ImageBlock(media_type=media_type, data=bytes(data)):
                return {"type": "image_url", "image_url": {"url": _as_data_url(media_type, data)}}
            case FileBlock():
                return self._file(path, block)
            case _:
                self.lose(path, f"a {type(block).__name__} has no place in such a message")
                return None

    def _file(self, path: str, block: FileBlock) -> dict[str, object] | None:
        name: dict[str, object] = {} if block.name is None else {"filename": block.name}
        if block.file_id is not None:
            return {"type": "file", "file": {"file_id": block.file_id, **name}}
        if block.data is None:
            self.lose(path, "chat completions take no file by its address")
            return None
        form = next((form for form, kind in _SOUNDS.items() if kind == block.media_type), None)
        if form is not None:
            if name:
                self.lose(f"{path}.name", "a sound has no name there")
            return {"type": "input_audio", "input_audio": {"data": b64encode(block.data).decode(), "format": form}}
        return {"type": "file", "file": {"file_data": _as_data_url(block.media_type, block.data), **name}}

    def _assistant(self, path: str, message: Message) -> dict[str, object]:
        ranks = [_RANKS.get(type(block).__name__, 1) for block in message.content]
        if ranks != sorted(ranks):
            self.lose(f"{path}.content", "the order of these blocks: it is reasoning, text, tool calls there")
        thoughts = [block.text for block in message.content if isinstance(block, ReasoningBlock)]
        calls = [block for block in message.content if isinstance(block, ToolCallBlock)]
        others = [block for block in message.content if not isinstance(block, ReasoningBlock | ToolCallBlock)]
        wire: dict[str, object] = {"role": "assistant", "content": self._content(path, others) if others else None}
        if thoughts:
            wire["reasoning_content"] = "".join(thoughts)
        if calls:
            wire["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        return wire

    def _result(self, path: str, block: ContentBlock) -> dict[str, object]:
        if not isinstance(block, ToolResultBlock):
            raise _fault(path, f"a tool's message holds results, not a {type(block).__name__}")
        if block.is_error:
            self.lose(f"{path}.is_error", "chat completions do not say whether a result is an error")
        content: object = block.content
        if not isinstance(block.content, str):
            told = [part for part in block.content if self._is_text(path, part)]
            content = [self._part(path, part) for part in told]
        return {"role": "tool", "tool_call_id": block.tool_call_id, "content": content}

    def _is_text(self, path: str, part: TextBlock | ImageBlock) -> bool:
        if isinstance(part, ImageBlock):
            self.lose(path, "a tool's result holds texts only there")
        return isinstance(part, TextBlock)


def _as_data_url(media_type: str | None, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"
