"""Web chat's view: chunks as the parts of a UI message stream, as the npm package `ai` reads them.

Source: npm `ai` 7.0.173, `uiMessageChunkSchema` and `processUIMessageStream`, read 2026-12-01.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, assert_never

import msgspec

from limen.contract import (
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishKind,
    FrozenDict,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    codes,
)
from limen.views._encoder import compact, json_object, sse

PartType: TypeAlias = Literal[
    "start",
    "start-step",
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-available",
    "tool-input-error",
    "file",
    "finish-step",
    "finish",
    "error",
    "abort",
]

CONTENT_TYPE: Final = "text/event-stream"
HEADERS: Final[Mapping[str, str]] = FrozenDict({"x-vercel-ai-ui-message-stream": "v1", "cache-control": "no-cache"})
"""Headers that an answer with this stream has beside its content type."""
DONE: Final = b"data: [DONE]\n\n"
"""Bytes that end the body of such an answer, after the last part."""

_REASONS: Final[Mapping[FinishKind, str]] = {"stop": "stop", "tool-calls": "tool-calls", "max-tokens": "length"}


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a UI message stream: an immutable value, whose `to_json` is the JSON that `ai` reads.

    `type` says which other fields are set; the others are `None`. `input` is the raw argument string of a call: an
    object in the JSON of `tool-input-available`, the string itself in `tool-input-error`.
    """

    type: PartType
    message_id: str | None = None
    id: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    delta: str | None = None
    input_text_delta: str | None = None
    input: str | None = None
    error_text: str | None = None
    url: str | None = None
    media_type: str | None = None
    finish_reason: str | None = None
    reason: str | None = None

    def to_json(self) -> bytes:
        """Return the part as JSON."""
        given = self.input if self.type == "tool-input-error" or self.input is None else json_object(self.input)
        fields: dict[str, object] = {
            "type": self.type,
            "messageId": self.message_id,
            "id": self.id,
            "toolCallId": self.tool_call_id,
            "toolName": self.tool_name,
            "delta": self.delta,
            "inputTextDelta": self.input_text_delta,
            "input": given,
            "errorText": self.error_text,
            "url": self.url,
            "mediaType": self.media_type,
            "finishReason": self.finish_reason,
            "reason": self.reason,
        }
        return compact({name: value for name, value in fields.items() if value is not None})

    def sse(self) -> bytes:
        """Return the part as the server-sent event that carries it."""
        return sse(self.to_json())


class View:
    """Parts of one answer for web chat: `feed` each chunk, then `eof`; pure, with exactly one terminal part (V1, V2).

    `message_id` names the message; turns of one message have views of their own with the same id.

    - `start` and `start-step` first; `text-…` and `reasoning-…` with the block's index in their id, a call's
      `tool-input-start` with its first fragment, which has its id and name; blocks that interleave stay interleaved
    - a call becomes `tool-input-available` when the answer has finished with `tool-calls`, not at its block's end:
      clients run what is available, and a call that the token limit cut is none to run (C17). It, or one whose
      arguments are no JSON object, is `tool-input-error`
    - an image is a `file`, its bytes a `data:` address
    - a success ends as `finish-step` and `finish`, an abort as `abort`, a failure as `error` with `CODE: message`

    Not carried: usage, replay state, a failure's facts beside its code and message.
    """

    def __init__(self, *, message_id: str) -> None:
        self._message_id = message_id
        self._started = False
        self._ended = False
        self._begun: set[int] = set()
        self._calls: list[ToolCallBlock] = []

    def feed(self, chunk: StreamChunk) -> list[Part]:
        """Return the parts of one chunk; none after the terminal one."""
        if self._ended:
            return []
        match chunk:
            case TextDelta(index=index, text=text):
                return [Part(type="text-delta", id=f"text-{index}", delta=text)]
            case ReasoningDelta(index=index, text=text):
                return [Part(type="reasoning-delta", id=f"reasoning-{index}", delta=text)]
            case ToolCallDelta():
                return self._fragment(chunk)
            case BlockStart(index=index, block_type=kind):
                opening = self._start()
                if kind == "text":
                    opening.append(Part(type="text-start", id=f"text-{index}"))
                elif kind == "reasoning":
                    opening.append(Part(type="reasoning-start", id=f"reasoning-{index}"))
                return opening
            case BlockEnd():
                return self._end(chunk)
            case UsageChunk():
                return []
            case Finish():
                return self._finish(chunk)
            case _:
                assert_never(chunk)

    def eof(self) -> list[Part]:
        """Return one `error`, `STREAM_CLOSED`, where no finish was fed; else nothing."""
        if self._ended:
            return []
        return [self._fail(Failure("the stream ended without a finish", codes.STREAM_CLOSED))]

    def _start(self) -> list[Part]:
        if self._started:
            return []
        self._started = True
        return [Part(type="start", message_id=self._message_id), Part(type="start-step")]

    def _fragment(self, chunk: ToolCallDelta) -> list[Part]:
        parts: list[Part] = []
        if chunk.index not in self._begun:
            self._begun.add(chunk.index)
            parts.append(Part(type="tool-input-start", tool_call_id=chunk.id, tool_name=chunk.name or ""))
        if chunk.arguments_delta:
            parts.append(Part(type="tool-input-delta", tool_call_id=chunk.id, input_text_delta=chunk.arguments_delta))
        return parts

    def _end(self, chunk: BlockEnd) -> list[Part]:
        block = chunk.block
        match block:
            case TextBlock():
                return [Part(type="text-end", id=f"text-{chunk.index}")]
            case ReasoningBlock():
                return [Part(type="reasoning-end", id=f"reasoning-{chunk.index}")]
            case ToolCallBlock():
                self._calls.append(block)
                return []
            case ImageBlock():
                return [_file(block)]
            case _:
                assert_never(block)

    def _finish(self, finish: Finish) -> list[Part]:
        reason = finish.reason
        if reason.failure is not None and reason.kind == "aborted":
            self._ended = True
            return [*self._start(), Part(type="abort", reason=reason.failure.message)]
        if reason.failure is not None:
            return [self._fail(reason.failure)]
        self._ended = True
        calls = [_whole_call(call, runnable=reason.kind == "tool-calls") for call in self._calls]
        ending = (Part(type="finish-step"), Part(type="finish", finish_reason=_REASONS[reason.kind]))
        return [*self._start(), *calls, *ending]

    def _fail(self, failure: Failure) -> Part:
        self._ended = True
        return Part(type="error", error_text=f"{failure.code}: {failure.message}")


def _whole_call(call: ToolCallBlock, *, runnable: bool) -> Part:
    if not runnable:
        fault = "the answer reached its token limit, and the call may be cut short"
    elif json_object(call.arguments) is None:
        fault = "the arguments are not one JSON object"
    else:
        return Part(type="tool-input-available", tool_call_id=call.id, tool_name=call.name, input=call.arguments)
    return Part(
        type="tool-input-error", tool_call_id=call.id, tool_name=call.name, input=call.arguments, error_text=fault
    )


def _file(image: ImageBlock) -> Part:
    # The wildcard is for an address whose type nobody said.
    media_type = image.media_type or "image/*"
    if image.url is not None:
        return Part(type="file", url=image.url, media_type=media_type)
    address = f"data:{media_type};base64,{b64encode(image.data or b'').decode()}"
    return Part(type="file", url=address, media_type=media_type)
