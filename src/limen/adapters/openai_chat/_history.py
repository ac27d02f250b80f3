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
- A PDF is a `file` part with `file_data` and `filename` (or an address in `file_data`, where the row takes those), an
  uploaded file its `file_id`; a sound is `input_audio`, whose name has no place on the wire.
- Reasoning goes back under the name it arrived under (replay state), else under the row's; where there is neither it
  is left out and reported as `ReplayDrop`. `reasoning_details` and `extra_content` go back unchanged (N4).
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

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
    read_state,
    refuse_block,
)
from limen.adapters.openai_chat._dialects import Dialect
from limen.adapters.openai_chat._mistral import Reference, document, in_order, thinking_part, with_references
from limen.adapters.openai_chat._wire import CALL_STATE, REPLAY_VERSION, TURN_STATE, ReplayEntry, ReplayState
from limen.contract import (
    ContentBlock,
    FileBlock,
    GenerateOptions,
    ImageBlock,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    json_fault,
)

WireMessage: TypeAlias = dict[str, object]

ERROR_MARK: Final = "Error: "
"""Stands before the text of a tool result with `is_error`."""


_NO_REPLAY: Final = ReplayState(())

# https://platform.openai.com/docs/guides/audio (read 2026-11-30): `format` is wav or mp3.
_SOUNDS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3"}
# 400 where `file_data` comes without a name (wire sheet of 2026-11); this one stands in for a file without one.
_NO_NAME: Final = "document.pdf"


class HistoryWriter:
    """Writes one request's messages; refuses what the dialect has no place for, naming `messages[i].content[j]`."""

    def __init__(self, row: Dialect, writer: RequestWriter) -> None:
        self._row = row
        self._writer = writer
        self._options = writer.options
        self._dropped = writer.context.replay_dropped
        self._ids = OutgoingIds(row.tool_ids) if row.tool_ids is not None else None
        self._out: list[WireMessage] = []
        self._images: list[WireMessage] = []
        self._names: dict[str, str] = {}
        self._no_field = f"the dialect {row.name} has no field for reasoning of earlier turns"
        self._fill_reasoning = row.reasoning_required and _uses_tools(self._options)

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
        if not out:
            self._writer.invalid("there is no message and no system text")
        if row.mistral_turns:
            return in_order(out)
        return _merged(out) if row.merge_turns else out

    def _message(self, index: int, message: Message) -> None:
        if message.role == "assistant":
            self._flush_images()
            wire = self._assistant(index, message)
            if self._row.empty_turns == "left out" and not (wire.get("content") or wire.get("tool_calls")):
                reason = f"the dialect {self._row.name} takes no assistant turn without text and calls: it is not sent"
                self._dropped.append(ReplayDrop(reason, index))
                return
            self._out.append(wire)
            return
        check_role(self._writer, index, message.role)
        own: list[tuple[int, ContentBlock]] = []
        for position, block in enumerate(message.content):
            if type(block) is ToolResultBlock and message.role != "system":
                self._result(block, index, position)
            else:
                own.append((position, block))
        if message.role == "tool" and own:
            refuse_block(
                self._writer, f"messages[{index}].content[{own[0][0]}]", "a tool message holds tool results only"
            )
        if own or (not message.content and message.role != "tool"):
            self._flush_images()
            role = self._row.system_role if message.role == "system" else "user"
            self._out.append({"role": role, "content": self._parts(index, own, media=role == "user")})

    def _assistant(self, index: int, message: Message) -> WireMessage:
        state = _NO_REPLAY if message.replay_state is None else self._replay(index, message)
        entries = state.blocks
        text = reasoning = signature = ""
        field: str | None = self._row.reasoning_back
        calls: list[WireMessage] = []
        references: list[Reference] = []
        for position, block in enumerate(message.content):
            entry = entries[position] if entries else None
            if type(block) is TextBlock:
                references += [(len(text) + at, ids) for at, ids in (() if entry is None else entry.references)]
                text += block.text
            elif type(block) is ToolCallBlock:
                check_call(self._writer, block, f"messages[{index}].content[{position}]", self._row.tool_name)
                calls.append(self._call(block, entry))
            elif type(block) is ReasoningBlock:
                reasoning += block.text
                if entry is not None and entry.field is not None:
                    field = _FIELDS.get(entry.field, field)
                    signature = entry.signature or ""
            else:
                refuse_block(
                    self._writer,
                    f"messages[{index}].content[{position}]",
                    f"an assistant message has no place for {block_words(block)}",
                )
        wire: WireMessage = {"role": "assistant"}
        if text or not calls or self._row.empty_content == "empty":
            wire["content"] = text
        if reasoning or self._fill_reasoning or state.reasoning_details is not None:
            self._put_reasoning(wire, index, reasoning, field, state.reasoning_details)
        if references or (reasoning and field == "thinking-part"):
            thinking = [thinking_part(reasoning, signature)] if reasoning and field == "thinking-part" else []
            wire["content"] = [*thinking, *with_references(text, references, f"messages[{index}]")]
        if field == "summary-part" and reasoning:
            piece = {"type": "summary_text", "text": reasoning, "signature": signature}
            parts: list[WireMessage] = [{"type": "reasoning", "summary": [piece]}]
            wire["content"] = [*parts, {"type": "text", "text": text}] if text else parts
        if calls:
            wire["tool_calls"] = calls
        for name in TURN_STATE if state.turn is not None else ():
            if name in (state.turn or {}):
                wire[name] = (state.turn or {})[name]
        return wire

    def _call(self, block: ToolCallBlock, entry: ReplayEntry | None) -> WireMessage:
        call_id = block.id if self._ids is None else self._ids[block.id]
        if self._row.tool_result_names:
            self._names[block.id] = block.name
        if entry is not None and entry.type == "custom":
            # Free text, not JSON: https://platform.openai.com/docs/guides/function-calling#custom-tools (2026-08).
            return {"id": call_id, "type": "custom", "custom": {"name": block.name, "input": block.arguments}}
        arguments = block.arguments if block.arguments.strip() else "{}"
        function = {"name": block.name, "arguments": arguments}
        wire: WireMessage = {"id": call_id, "type": "function", "function": function}
        for name in CALL_STATE:
            value: object = None if entry is None else getattr(entry, name)
            if value is not None:
                wire[name] = value
        return wire

    def _put_reasoning(
        self, wire: WireMessage, index: int, reasoning: str, field: str | None, details: tuple[object, ...] | None
    ) -> None:
        if details is not None:
            wire["reasoning_details"] = details
            # OpenRouter takes the details or the string, and the details say more.
            if field in ("reasoning", None):
                return
        text = wire.get("content", "")
        if field is None:
            self._dropped.append(ReplayDrop(self._no_field, index))
        elif field == "think-tags":
            if reasoning:
                wire["content"] = f"<think>{reasoning}</think>{text}"
        elif field not in ("summary-part", "thinking-part") and (reasoning or self._fill_reasoning):
            wire[field] = reasoning or self._row.reasoning_filler

    def _parts(self, index: int, blocks: Sequence[tuple[int, ContentBlock]], *, media: bool) -> object:
        texts: list[str] = []
        parts: list[WireMessage] = []
        for position, block in blocks:
            path = f"messages[{index}].content[{position}]"
            if type(block) is TextBlock:
                texts.append(block.text)
                parts.append({"type": "text", "text": block.text})
            elif type(block) is ImageBlock and media:
                parts.append(self._image(block, path))
            elif type(block) is FileBlock and media:
                parts.append(self._file(block, path))
            else:
                where = "a user message" if media else "a system message"
                refuse_block(self._writer, path, f"{where} has no place for {block_words(block)}")
        return parts if len(parts) > len(texts) else "".join(texts)

    def _file(self, block: FileBlock, path: str) -> WireMessage:
        """Return a part for a document or a sound, or refuse it."""
        kind = check_file(self._writer, block, path, self._row.files)
        if block.data is not None and kind in _SOUNDS:
            return {"type": "input_audio", "input_audio": {"data": base64_of(block), "format": _SOUNDS[kind]}}
        if self._row.documents == "document_url":
            return document(block, kind)
        named = {} if block.name is None else {"filename": block.name}
        if block.file_id is not None:
            return {"type": "file", "file": {"file_id": block.file_id, **named}}
        data = block.url if block.data is None else f"data:{kind};base64,{base64_of(block)}"
        return {"type": "file", "file": {"filename": _NO_NAME, **named, "file_data": data}}

    def _result(self, block: ToolResultBlock, index: int, position: int) -> None:
        message: WireMessage = {"role": "tool", "tool_call_id": self._call_id(block)}
        if self._row.tool_result_names and block.tool_call_id in self._names:
            message["name"] = self._names[block.tool_call_id]
        mark = ERROR_MARK if block.is_error else ""
        if isinstance(block.content, str):
            message["content"] = mark + block.content
        else:
            path = f"messages[{index}].content[{position}]"
            check_result(self._writer, block, path)
            message["content"] = self._result_parts(block, block.content, mark, path)
        self._out.append(message)

    def _call_id(self, block: ToolResultBlock) -> str:
        return block.tool_call_id if self._ids is None else self._ids[block.tool_call_id]

    def _result_parts(
        self, block: ToolResultBlock, content: Sequence[TextBlock | ImageBlock], mark: str, path: str
    ) -> object:
        text = mark + "".join(part.text for part in content if type(part) is TextBlock)
        images = [
            self._image(part, f"{path}.content[{position}]")
            for position, part in enumerate(content)
            if type(part) is ImageBlock
        ]
        if not images:
            return text
        if self._row.tool_images == "inline":
            return [{"type": "text", "text": text}, *images] if text else images
        call_id = self._call_id(block)
        self._images.append({"type": "text", "text": f"Images that the tool call {call_id} returned:"})
        self._images += images
        return text or "The result is the images in the next user message."

    def _flush_images(self) -> None:
        if self._images:
            self._out.append({"role": "user", "content": self._images})
            self._images = []

    def _image(self, block: ImageBlock, path: str) -> WireMessage:
        """Return an image part, or refuse it."""
        check_image(self._writer, block, path, self._row.image_rules)
        url = block.url if block.data is None else f"data:{block.media_type};base64,{base64_of(block)}"
        return {"type": "image_url", "image_url": {"url": url or ""}}

    def _replay(self, index: int, message: Message) -> ReplayState:
        state = read_state(
            message, index, ReplayState, wire=self._row.wire, version=REPLAY_VERSION, dropped=self._dropped
        )
        if state is None:
            return _NO_REPLAY
        kept = [getattr(entry, name) for entry in state.blocks if entry is not None for name in CALL_STATE]
        for place in (state.reasoning_details, state.turn, *kept):
            wrong_number = None if place is None else json_fault(place, f"messages[{index}].replay_state")
            if wrong_number is not None:
                raise invalid_state(wrong_number)
        return state


# The names that a reader keeps with a reasoning block, and where such a text goes back to.
_FIELDS: Final[Mapping[str, str]] = {
    "reasoning_content": "reasoning_content",
    "reasoning": "reasoning",
    "reasoning_text": "reasoning_text",
    "reasoning_details": "reasoning",
    "content": "thinking-part",
    "think": "think-tags",
    "summary": "summary-part",
}


def _uses_tools(options: GenerateOptions) -> bool:
    return bool(options.tools) or any(
        type(block) is ToolCallBlock for message in options.messages for block in message.content
    )


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
