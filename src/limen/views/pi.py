"""Pi's view: chunks as the lifecycle events of an assistant message, as `@earendil-works/pi-ai` defines them.

Source: npm `@earendil-works/pi-ai`, 0.85.0 and 1.6.0, `dist/types.d.ts` (`AssistantMessageEvent`), read 2026-12-01.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, assert_never

import msgspec

from limen.contract import (
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishKind,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    codes,
)
from limen.views._arguments import arguments_so_far
from limen.views._encoder import compact, json_object

EventType: TypeAlias = Literal[
    "start",
    "text_start",
    "text_delta",
    "text_end",
    "thinking_start",
    "thinking_delta",
    "thinking_end",
    "toolcall_start",
    "toolcall_delta",
    "toolcall_end",
    "done",
    "error",
]
StopReason: TypeAlias = Literal["pending", "stop", "length", "toolUse", "error", "aborted"]

_REASONS: Final[Mapping[FinishKind, StopReason]] = {
    "stop": "stop",
    "tool-calls": "toolUse",
    "max-tokens": "length",
    "aborted": "aborted",
    "error": "error",
}


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Pi's `TextContent`: visible text."""

    text: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking"):
    """Pi's `ThinkingContent`: reasoning."""

    thinking: str


class ToolCall(msgspec.Struct, frozen=True):
    """Pi's `ToolCall`: `arguments` is the text of one JSON object, digits as they came (C8).

    While the call is open, the object holds what has arrived. `arguments_error` says that the whole arguments are no
    JSON object, and what they are; `arguments` is `{}` then, as in Pi from 1.x on.
    """

    id: str
    name: str
    arguments: str
    arguments_error: str | None = None

    def builtins(self) -> dict[str, object]:
        """Return Pi's JSON of the call, its arguments as an object."""
        call: dict[str, object] = {
            "type": "toolCall",
            "id": self.id,
            "name": self.name,
            "arguments": msgspec.Raw(self.arguments.encode()),
        }
        return call if self.arguments_error is None else {**call, "argumentsError": self.arguments_error}


Content: TypeAlias = Text | Thinking | ToolCall


class Message(msgspec.Struct, frozen=True):
    """Pi's `AssistantMessage`: the answer, or as much of it as there is.

    `usage` is zero until it is known, and so are the costs, which limen does not know. `timestamp` is in milliseconds
    since 1970.
    """

    content: tuple[Content, ...]
    api: str
    provider: str
    model: str
    usage: TokenUsage
    stop_reason: StopReason
    timestamp: int
    error_message: str | None = None

    def builtins(self) -> dict[str, object]:
        """Return Pi's JSON of the message."""
        message: dict[str, object] = {
            "role": "assistant",
            "content": [part.builtins() if isinstance(part, ToolCall) else part for part in self.content],
            "api": self.api,
            "provider": self.provider,
            "model": self.model,
            "usage": _usage(self.usage),
            "stopReason": self.stop_reason,
            "timestamp": self.timestamp,
        }
        return message if self.error_message is None else {**message, "errorMessage": self.error_message}


class _Facts(msgspec.Struct, frozen=True):
    """Facts of an answer that no chunk carries."""

    api: str
    provider: str
    model: str
    timestamp: int


class _Log:
    """The blocks of an answer and the texts that came into them; both lists only grow, so a length is a moment."""

    __slots__ = ("blocks", "texts")

    def __init__(self) -> None:
        # Kind, id and name of each block by Pi's index; then index and text of each delta, `None` at a block's end.
        self.blocks: list[tuple[Literal["text", "thinking", "toolcall"], str, str]] = []
        self.texts: list[tuple[int, str | None]] = []


class _Moment(msgspec.Struct, frozen=True, eq=False):
    """The answer at one moment of its stream: a place in the log, and what is known by then."""

    log: _Log
    facts: _Facts
    blocks: int
    texts: int
    stop_reason: StopReason = "pending"
    usage: TokenUsage = TokenUsage()
    error_message: str | None = None

    def message(self) -> Message:
        """Build the message; the cost is linear in the answer so far."""
        parts: list[list[str]] = [[] for _ in range(self.blocks)]
        ended: set[int] = set()
        for place in range(self.texts):
            index, text = self.log.texts[place]
            if text is None:
                ended.add(index)
            else:
                parts[index].append(text)
        content = tuple(
            _content(self.log.blocks[index], "".join(texts), ended=index in ended) for index, texts in enumerate(parts)
        )
        facts = self.facts
        return Message(
            content=content,
            api=facts.api,
            provider=facts.provider,
            model=facts.model,
            usage=self.usage,
            stop_reason=self.stop_reason,
            timestamp=facts.timestamp,
            error_message=self.error_message,
        )


class Event(msgspec.Struct, frozen=True, eq=False):
    """One event of Pi's `AssistantMessageEvent`: an immutable value, whose `to_json` is Pi's JSON.

    Which fields are set follows `type`: `content_index` in all but `start`, `done` and `error`; `delta` in
    `…_delta`; `content` in `text_end` and `thinking_end`; `tool_call` in `toolcall_end`; `reason` in `done` and
    `error`. `partial` is built anew at each access and costs time linear in the answer so far; an event that nobody
    asks for it costs none. Two events are equal if their JSON is.
    """

    type: EventType
    _moment: _Moment
    content_index: int | None = None
    delta: str | None = None
    content: str | None = None
    tool_call: ToolCall | None = None
    reason: StopReason | None = None

    @property
    def partial(self) -> Message:
        """The answer at this event; Pi's JSON of `done` calls it `message`, that of `error` `error`."""
        return self._moment.message()

    def to_json(self) -> bytes:
        """Return the event as Pi's JSON."""
        facts = {"contentIndex": self.content_index, "delta": self.delta, "content": self.content}
        event: dict[str, object] = {"type": self.type}
        event.update((name, value) for name, value in facts.items() if value is not None)
        if self.tool_call is not None:
            event["toolCall"] = self.tool_call.builtins()
        if self.reason is not None:
            event["reason"] = self.reason
        event[_PLACES.get(self.type, "partial")] = self.partial.builtins()
        return compact(event)

    def __eq__(self, other: object) -> bool:
        """Compare by Pi's JSON."""
        return self.to_json() == other.to_json() if isinstance(other, Event) else NotImplemented

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(self.to_json())


_PLACES: Final[Mapping[EventType, str]] = {"done": "message", "error": "error"}


class View:
    """Pi's events of one answer: `feed` each chunk, then `eof`; pure, and with exactly one terminal event (V1, V2).

    `provider` and `model` are echoed, `timestamp` is the begin of the answer in milliseconds since 1970, `api` Pi's
    name of the wire. `start` comes first but for a failure before any chunk. Text and reasoning start with their
    block, a call with its first fragment, which has its id and name; Pi's indexes count in that order, and blocks that
    interleave stay interleaved. A success ends as `done`, everything else as `error`, its message `CODE: message`.

    Not carried: unknown counts (0), costs (0), replay state, a failure's facts beside its code and message. An answer
    that holds an image, for which Pi has no word, ends as the error `UNSUPPORTED_CONTENT`.
    """

    def __init__(self, *, provider: str, model: str, timestamp: int = 0, api: str = "limen") -> None:
        self._facts = _Facts(api, provider, model, timestamp)
        self._log = _Log()
        self._places: dict[int, int] = {}
        self._usage = TokenUsage()
        self._image = False
        self._started = False
        self._ended = False

    def feed(self, chunk: StreamChunk) -> list[Event]:
        """Return the events of one chunk; none after the terminal one."""
        if self._ended:
            return []
        match chunk:
            case TextDelta(index=index, text=text):
                return [self._delta("text_delta", self._places[index], text)]
            case ReasoningDelta(index=index, text=text):
                return [self._delta("thinking_delta", self._places[index], text)]
            case ToolCallDelta():
                return self._fragment(chunk)
            case BlockStart(index=index, block_type=kind):
                if kind == "text":
                    return [*self._start(), self._open(index, "text", "text_start")]
                if kind == "reasoning":
                    return [*self._start(), self._open(index, "thinking", "thinking_start")]
                self._image = self._image or kind == "image"
                return self._start()
            case BlockEnd():
                return self._end(chunk)
            case UsageChunk(usage=usage):
                self._usage = usage
                return self._start()
            case Finish():
                return self._finish(chunk)
            case _:
                assert_never(chunk)

    def eof(self) -> list[Event]:
        """Return one `error`, `STREAM_CLOSED`, where no finish was fed; else nothing."""
        if self._ended:
            return []
        return [self._fail("error", Failure("the stream ended without a finish", codes.STREAM_CLOSED))]

    def _start(self) -> list[Event]:
        if self._started:
            return []
        self._started = True
        return [Event("start", self._moment())]

    def _open(
        self,
        index: int,
        kind: Literal["text", "thinking", "toolcall"],
        event: EventType,
        *,
        call: tuple[str, str] = ("", ""),
    ) -> Event:
        place = self._places[index] = len(self._log.blocks)
        self._log.blocks.append((kind, *call))
        return Event(event, self._moment(), place)

    def _delta(self, event: EventType, place: int, text: str) -> Event:
        self._log.texts.append((place, text))
        return Event(event, self._moment(), place, delta=text)

    def _fragment(self, chunk: ToolCallDelta) -> list[Event]:
        events: list[Event] = []
        if chunk.index not in self._places:
            events.append(self._open(chunk.index, "toolcall", "toolcall_start", call=(chunk.id, chunk.name or "")))
        if chunk.arguments_delta:
            events.append(self._delta("toolcall_delta", self._places[chunk.index], chunk.arguments_delta))
        return events

    def _end(self, chunk: BlockEnd) -> list[Event]:
        block = chunk.block
        if isinstance(block, ImageBlock):
            return []
        place = self._places[chunk.index]
        self._log.texts.append((place, None))
        moment = self._moment()
        match block:
            case TextBlock(text=text):
                return [Event("text_end", moment, place, content=text)]
            case ReasoningBlock(text=text):
                return [Event("thinking_end", moment, place, content=text)]
            case ToolCallBlock(id=call, name=name, arguments=arguments):
                return [Event("toolcall_end", moment, place, tool_call=_whole_call(call, name, arguments))]
            case _:
                assert_never(block)

    def _finish(self, finish: Finish) -> list[Event]:
        reason = finish.reason
        if reason.failure is not None:
            return [self._fail(_REASONS[reason.kind], reason.failure)]
        if self._image:
            what = "the answer holds an image, and Pi's messages have no place for one"
            return [self._fail("error", Failure(what, codes.UNSUPPORTED_CONTENT))]
        self._ended = True
        stop = _REASONS[reason.kind]
        return [*self._start(), Event("done", self._moment(stop), reason=stop)]

    def _fail(self, reason: StopReason, failure: Failure) -> Event:
        self._ended = True
        return Event("error", self._moment(reason, f"{failure.code}: {failure.message}"), reason=reason)

    def _moment(self, reason: StopReason = "pending", error: str | None = None) -> _Moment:
        log = self._log
        return _Moment(log, self._facts, len(log.blocks), len(log.texts), reason, self._usage, error)


def _content(block: tuple[str, str, str], text: str, *, ended: bool) -> Content:
    kind, call, name = block
    if kind == "text":
        return Text(text)
    if kind == "thinking":
        return Thinking(text)
    return _whole_call(call, name, text) if ended else ToolCall(call, name, arguments_so_far(text))


def _whole_call(call: str, name: str, text: str) -> ToolCall:
    arguments = json_object(text)
    if arguments is None:
        return ToolCall(call, name, "{}", f"the arguments are not one JSON object: {text}")
    return ToolCall(call, name, bytes(arguments).decode())


def _usage(usage: TokenUsage) -> Mapping[str, object]:
    counts: dict[str, object] = {
        "input": usage.input_tokens or 0,
        "output": usage.output_tokens or 0,
        "cacheRead": usage.cache_read_tokens or 0,
        "cacheWrite": usage.cache_write_tokens or 0,
    }
    total = sum(count for count in counts.values() if isinstance(count, int))
    if usage.reasoning_tokens is not None:
        counts["reasoning"] = usage.reasoning_tokens
    costs = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
    return {**counts, "totalTokens": total, "cost": costs}
