"""The history as chat-completions messages (Q4).

- System text goes first, then every message in its place.
- Text blocks of a message join into one string, because strict servers refuse lists of parts (Q140); a message with
  images is a list of parts in the order of its blocks.
- An assistant's text is `content`, its calls are `tool_calls`; `content` is `""` (or left out, where the row says so)
  beside calls alone, and never `null` (Q141). Arguments are sent as they are, empty ones as `{}` (C8).
- A tool result is a `tool` message; results of a user message come before that message's own text. A result with
  `is_error` is marked by `ERROR_MARK` before its text, because the wire has no field for it.
- Images of tool results follow in a user message after the last of the neighbouring results, each call named, unless
  the row takes them inside the tool message.
- Reasoning goes back under the name it arrived under (replay state), else under the row's; where there is neither it
  is left out and reported as `ReplayDrop`. `reasoning_details` and `extra_content` go back unchanged (N4).
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, TypeAlias

import msgspec

from limen.adapters._chat_completions._dialect import WIRE, Dialect
from limen.adapters._chat_completions._tool_ids import ToolIds
from limen.contract import (
    ContentBlock,
    GenerateOptions,
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
    json_fault,
    replay_fault,
)

WireMessage: TypeAlias = dict[str, object]

REPLAY_VERSION: Final = 1
ERROR_MARK: Final = "Error: "
"""Stands before the text of a tool result with `is_error`."""


class _ReplayEntry(msgspec.Struct):
    """What the reader kept of one block: the name its reasoning came under, or what rode on a tool call."""

    field: str | None = None
    extra_content: Mapping[str, object] | None = None


class _ReplayState(msgspec.Struct):
    """The replay state of one assistant turn on this wire."""

    blocks: tuple[_ReplayEntry | None, ...]
    reasoning_details: tuple[object, ...] | None = None


_NO_REPLAY: Final = _ReplayState(())


class HistoryWriter:
    """Writes one request's messages; refuses what the dialect has no place for, naming `messages[i].content[j]`."""

    def __init__(
        self, row: Dialect, options: GenerateOptions, *, model: ModelInfo | None, dropped: list[ReplayDrop]
    ) -> None:
        self._row = row
        self._options = options
        self._model = model
        self._dropped = dropped
        self._ids = ToolIds(row.tool_ids) if row.tool_ids is not None else None
        self._out: list[WireMessage] = []
        self._images: list[WireMessage] = []
        self._names: dict[str, str] = {}
        self._fill_reasoning = row.reasoning_required and _uses_tools(options)

    def write(self) -> list[WireMessage]:
        """Return the messages; one pass, with a short way for the shapes that nearly all messages have."""
        out, row = self._out, self._row
        if self._options.system is not None:
            out.append({"role": row.system_role, "content": self._options.system})
        plain_roles = {"user": "user", "system": row.system_role}
        if not self._fill_reasoning:
            plain_roles["assistant"] = "assistant"
        for index, message in enumerate(self._options.messages):
            content = message.content
            if len(content) == 1 and message.replay_state is None and not self._images:
                block = content[0]
                role = plain_roles.get(message.role)
                if type(block) is TextBlock and role is not None:
                    out.append({"role": role, "content": block.text})
                    continue
            self._message(index, message)
        self._flush_images()
        return _merged(out) if row.merge_turns else out

    def _message(self, index: int, message: Message) -> None:
        if message.role == "assistant":
            self._flush_images()
            self._out.append(_AssistantTurn(self._row, index, message, self._replay(index, message)).write(self))
            return
        if message.role not in ("user", "system", "tool"):
            raise LlmError(
                f"messages[{index}].role is {message.role!r}; roles are system, user, assistant and tool",
                codes.INVALID_OPTIONS,
                phase="resolve",
            )
        own: list[tuple[int, ContentBlock]] = []
        for position, block in enumerate(message.content):
            if type(block) is ToolResultBlock and message.role != "system":
                self._result(block, f"messages[{index}].content[{position}]")
            else:
                own.append((position, block))
        if message.role == "tool" and own:
            self.refuse(f"messages[{index}].content[{own[0][0]}]", "a tool message holds tool results only")
        if own or not message.content:
            self._flush_images()
            role = self._row.system_role if message.role == "system" else "user"
            self._out.append({"role": role, "content": self._parts(index, own, images=role == "user")})

    def _parts(self, index: int, blocks: Sequence[tuple[int, ContentBlock]], *, images: bool) -> object:
        texts: list[str] = []
        parts: list[WireMessage] = []
        has_image = False
        for position, block in blocks:
            if type(block) is TextBlock:
                texts.append(block.text)
                parts.append({"type": "text", "text": block.text})
            elif type(block) is ImageBlock and images:
                parts.append(self.image(block, f"messages[{index}].content[{position}]"))
                has_image = True
            else:
                where = "a user message" if images else "a system message"
                self.refuse(f"messages[{index}].content[{position}]", f"{where} has no place for {_kind(block)}")
        return parts if has_image else "".join(texts)

    def _result(self, block: ToolResultBlock, path: str) -> None:
        message: WireMessage = {"role": "tool", "tool_call_id": self.call_id(block.tool_call_id)}
        if self._row.tool_result_names and block.tool_call_id in self._names:
            message["name"] = self._names[block.tool_call_id]
        mark = ERROR_MARK if block.is_error else ""
        if isinstance(block.content, str):
            message["content"] = mark + block.content
        else:
            message["content"] = self._result_parts(block, block.content, mark, path)
        self._out.append(message)

    def _result_parts(
        self, block: ToolResultBlock, content: Sequence[TextBlock | ImageBlock], mark: str, path: str
    ) -> object:
        text = mark + "".join(part.text for part in content if type(part) is TextBlock)
        images = [
            self.image(part, f"{path}.content[{position}]")
            for position, part in enumerate(content)
            if type(part) is ImageBlock
        ]
        if not images:
            return text
        if self._row.tool_images == "inline":
            return [{"type": "text", "text": text}, *images] if text else images
        call_id = self.call_id(block.tool_call_id)
        self._images.append({"type": "text", "text": f"Images that the tool call {call_id} returned:"})
        self._images += images
        return text or "The result is the images in the next user message."

    def _flush_images(self) -> None:
        if self._images:
            self._out.append({"role": "user", "content": self._images})
            self._images = []

    def image(self, block: ImageBlock, path: str) -> WireMessage:
        """Return an image part, or refuse it."""
        row, modalities = self._row, None if self._model is None else self._model.input_modalities
        if row.images == "no" or (modalities is not None and "image" not in modalities):
            self.refuse(path, "it takes no images")
        if row.images == "listed" and modalities is None:
            self.refuse(path, "only some of its models take images: say so in the model's facts (input_modalities)")
        if block.data is not None:
            url = f"data:{block.media_type};base64,{b64encode(block.data).decode('ascii')}"
        elif row.image_urls:
            url = block.url or ""
        else:
            self.refuse(path, "it takes images as bytes only, not by address")
        return {"type": "image_url", "image_url": {"url": url}}

    def call_id(self, call_id: str) -> str:
        """Return what a call's id is on this wire (C9)."""
        return call_id if self._ids is None else self._ids[call_id]

    def named(self, call_id: str, name: str) -> None:
        """Remember a call's name for its result."""
        self._names[call_id] = name

    @property
    def fills_reasoning(self) -> bool:
        """Whether every assistant turn must have the row's reasoning field."""
        return self._fill_reasoning

    def drop(self, index: int, reason: str) -> None:
        """Report what of an earlier turn does not go on the wire."""
        self._dropped.append(ReplayDrop(reason, index))

    def refuse(self, path: str, reason: str) -> NoReturn:
        """Refuse a content block (Q1)."""
        raise LlmError(
            f"{path} cannot be sent to {self._options.provider}/{self._options.model} "
            f"(dialect {self._row.name}): {reason}",
            codes.UNSUPPORTED_CONTENT,
            phase="resolve",
        )

    def _replay(self, index: int, message: Message) -> _ReplayState:
        if message.replay_state is None:
            return _NO_REPLAY
        fault = replay_fault(message, wire=WIRE, version=REPLAY_VERSION)
        if fault is not None:
            self.drop(index, fault)
            return _NO_REPLAY
        path = f"messages[{index}].replay_state"
        try:
            state = msgspec.convert(message.replay_state, _ReplayState)
        except msgspec.ValidationError as wrong:
            raise _bad_state(f"{path} does not validate: {wrong}") from None
        for place in (state.reasoning_details, *(entry and entry.extra_content for entry in state.blocks)):
            wrong_number = json_fault(place, path)
            if wrong_number is not None:
                raise _bad_state(wrong_number)
        return state


class _AssistantTurn:
    """One assistant message on its way to the wire."""

    def __init__(self, row: Dialect, index: int, message: Message, state: _ReplayState) -> None:
        self._row = row
        self._index = index
        self._message = message
        self._state = state
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[WireMessage] = []
        self._field: str | None = row.reasoning_back

    def write(self, writer: HistoryWriter) -> WireMessage:
        for position, block in enumerate(self._message.content):
            entry = self._state.blocks[position] if self._state.blocks else None
            if type(block) is TextBlock:
                self._texts.append(block.text)
            elif type(block) is ToolCallBlock:
                self._call(writer, block, entry)
            elif type(block) is ReasoningBlock:
                self._reasoning.append(block.text)
                if entry is not None and entry.field is not None:
                    self._field = _FIELDS.get(entry.field, self._field)
            else:
                path = f"messages[{self._index}].content[{position}]"
                writer.refuse(path, f"an assistant message has no place for {_kind(block)}")
        message: WireMessage = {"role": "assistant"}
        if self._texts or not self._calls or self._row.empty_content == "empty":
            message["content"] = "".join(self._texts)
        self._put_reasoning(writer, message)
        if self._calls:
            message["tool_calls"] = self._calls
        return message

    def _call(self, writer: HistoryWriter, block: ToolCallBlock, entry: _ReplayEntry | None) -> None:
        writer.named(block.id, block.name)
        arguments = block.arguments if block.arguments.strip() else "{}"
        call: WireMessage = {
            "id": writer.call_id(block.id),
            "type": "function",
            "function": {"name": block.name, "arguments": arguments},
        }
        if entry is not None and entry.extra_content is not None:
            call["extra_content"] = entry.extra_content
        self._calls.append(call)

    def _put_reasoning(self, writer: HistoryWriter, message: WireMessage) -> None:
        text = "".join(self._reasoning)
        details = self._state.reasoning_details
        if details is not None:
            message["reasoning_details"] = details
            # OpenRouter takes the details or the string, and the details say more.
            if self._field in ("reasoning", None):
                return
        if self._field == "think-tags":
            if text:
                message["content"] = f"<think>{text}</think>{''.join(self._texts)}"
        elif self._field == "thinking-part":
            if text:
                parts: list[WireMessage] = [
                    {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}
                ]
                message["content"] = [*parts, *({"type": "text", "text": part} for part in self._texts)]
        elif self._field is not None:
            if text or writer.fills_reasoning:
                message[self._field] = text
        elif text:
            writer.drop(self._index, f"the dialect {self._row.name} has no field for reasoning of earlier turns")


# The names that a reader keeps with a reasoning block, and where such a text goes back to.
_FIELDS: Final[Mapping[str, str]] = {
    "reasoning_content": "reasoning_content",
    "reasoning": "reasoning",
    "reasoning_text": "reasoning_text",
    "reasoning_details": "reasoning",
    "content": "thinking-part",
    "think": "think-tags",
}


def _bad_state(fault: str) -> LlmError:
    return LlmError(f"{fault}; remove it to send the turn plain", codes.INVALID_REPLAY_STATE, phase="resolve")


def _uses_tools(options: GenerateOptions) -> bool:
    return bool(options.tools) or any(
        type(block) is ToolCallBlock for message in options.messages for block in message.content
    )


def _kind(block: ContentBlock) -> str:
    return {
        TextBlock: "text",
        ReasoningBlock: "reasoning",
        ImageBlock: "an image",
        ToolCallBlock: "a tool call",
        ToolResultBlock: "a tool result",
    }[type(block)]


def _merged(messages: list[WireMessage]) -> list[WireMessage]:
    out: list[WireMessage] = []
    for message in messages:
        before = out[-1] if out else {}
        role = message["role"]
        if role in ("user", "assistant") and before.get("role") == role and before.keys() <= {"role", "content"}:
            out[-1] = {**before, **message, "content": _joined(before.get("content"), message.get("content"))}
        else:
            out.append(message)
    return out


def _joined(first: object, second: object) -> object:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}" if first and second else first + second
    return [*_as_parts(first), *_as_parts(second)]


def _as_parts(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content) if isinstance(content, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
