"""Timeline of a call, as data for a terminal, a page or a test.

All times are milliseconds after the request began.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import assert_never

import msgspec
from msgspec.structs import force_setattr

from limen.contract import (
    BlockEnd,
    BlockStart,
    BlockType,
    CallInfo,
    Failure,
    Finish,
    LlmError,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
    Wire,
)
from limen.recording._cassette import Exchange
from limen.recording._replay import Replay, TimedChunk

# Shortest silence that a person watching the stream notices.
GAP_MS: float = 500.0


class TracedDelta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Delta of a block: its time and its number of characters."""

    at_ms: float
    size: int


class TracedBlock(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Content block as a bar; `end_ms` is absent if it never ended, `name` is a tool's name."""

    index: int
    block_type: BlockType
    start_ms: float
    end_ms: float | None = None
    name: str | None = None
    text: str = ""
    deltas: Sequence[TracedDelta] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "deltas", tuple(self.deltas))


class Gap(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Silence: no chunk arrived between these two times."""

    start_ms: float
    end_ms: float


class Trace(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Timeline of one call: model, times, blocks, usage and outcome. Absent is unknown.

    `request` is what was asked: the body of a recorded request, or the prompt of a live one.
    """

    route: str
    model: str
    wire: str | None = None
    dialect: str | None = None
    request: str | None = None
    status: int | None = None
    request_id: str | None = None
    headers_ms: float | None = None
    first_event_ms: float | None = None
    total_ms: float
    bytes_read: int = 0
    reads: Sequence[float] = ()
    blocks: Sequence[TracedBlock] = ()
    gaps: Sequence[Gap] = ()
    usage: TokenUsage | None = None
    finish: str | None = None
    failure: Failure | None = None

    def __post_init__(self) -> None:
        for name in ("reads", "blocks", "gaps"):
            force_setattr(self, name, tuple(getattr(self, name)))


class _Bar:
    def __init__(self, index: int, block_type: BlockType, at_ms: float) -> None:
        self.index = index
        self.block_type: BlockType = block_type
        self.start_ms = at_ms
        self.end_ms: float | None = None
        self.name: str | None = None
        self.parts: list[str] = []
        self.deltas: list[TracedDelta] = []

    def delta(self, at_ms: float, text: str) -> None:
        self.parts.append(text)
        self.deltas.append(TracedDelta(at_ms, len(text)))

    def block(self) -> TracedBlock:
        return TracedBlock(
            self.index, self.block_type, self.start_ms, self.end_ms, self.name, "".join(self.parts), self.deltas
        )


class Timeline:
    """Collector of the chunks of one call: `add` each with its time, then read the attributes."""

    def __init__(self) -> None:
        self._bars: dict[int, _Bar] = {}
        self.usage: TokenUsage | None = None
        self.finish: str | None = None
        self.failure: Failure | None = None
        self.first_ms: float | None = None

    @property
    def blocks(self) -> tuple[TracedBlock, ...]:
        """Blocks so far, by index."""
        return tuple(self._bars[index].block() for index in sorted(self._bars))

    def add(self, at_ms: float, chunk: StreamChunk) -> None:
        """Add one chunk."""
        if self.first_ms is None:
            self.first_ms = at_ms
        match chunk:
            case BlockStart(index=index, block_type=block_type):
                self._bar(index, block_type, at_ms)
            case TextDelta(index=index, text=text):
                self._bar(index, "text", at_ms).delta(at_ms, text)
            case ReasoningDelta(index=index, text=text):
                self._bar(index, "reasoning", at_ms).delta(at_ms, text)
            case ToolCallDelta(index=index):
                bar = self._bar(index, "tool-call", at_ms)
                bar.name = bar.name or chunk.name
                bar.delta(at_ms, chunk.arguments_delta)
            case BlockEnd(index=index):
                if index in self._bars:
                    self._bars[index].end_ms = at_ms
            case UsageChunk(usage=usage):
                self.usage = usage
            case Finish(reason=reason):
                self.finish, self.failure = reason.kind, reason.failure
            case _:
                assert_never(chunk)

    def _bar(self, index: int, block_type: BlockType, at_ms: float) -> _Bar:
        bar = self._bars.get(index)
        if bar is None:
            bar = self._bars[index] = _Bar(index, block_type, at_ms)
        return bar


def trace_exchange(exchange: Exchange, wire: Wire, *, gap_ms: float = GAP_MS) -> Trace:
    """Make the timeline of a recorded exchange; a failure that a call would raise is the trace's failure."""
    replay = Replay(exchange, wire)
    line = Timeline()
    try:
        for timed in replay.timed():
            line.add(timed.at_ms, timed.chunk)
    except LlmError as error:
        line.failure = error.failure
    response = exchange.response
    reads = () if response is None else tuple(read.at_ms for read in response.reads)
    return Trace(
        route=exchange.route,
        model=exchange.model,
        wire=wire.name,
        dialect=exchange.dialect,
        request=_asked(exchange),
        status=None if response is None else response.status,
        request_id=replay.call_facts.request_id,
        headers_ms=None if response is None else response.at_ms,
        first_event_ms=replay.call_facts.first_event_ms,
        total_ms=exchange.ended_ms,
        bytes_read=0 if response is None else len(response.body),
        reads=reads,
        blocks=line.blocks,
        gaps=_gaps((0.0, *reads, exchange.ended_ms), gap_ms),
        usage=line.usage,
        finish=line.finish,
        failure=line.failure,
    )


def _asked(exchange: Exchange) -> str | None:
    body = exchange.request.json
    return None if not body else msgspec.json.format(msgspec.json.encode(body), indent=2).decode()


def trace_chunks(
    timed: Iterable[TimedChunk],
    *,
    route: str,
    model: str,
    total_ms: float,
    gap_ms: float = GAP_MS,
    info: CallInfo | None = None,
    request: str | None = None,
) -> Trace:
    """Make the timeline of a live call from its chunks, each with the time at which its consumer saw it.

    `info` is the answer's (`Response.info`) and tells the request's id; `request` is what was asked.
    """
    line = Timeline()
    times: list[float] = []
    for one in timed:
        times.append(one.at_ms)
        line.add(one.at_ms, one.chunk)
    return Trace(
        route=route,
        model=model,
        request=request,
        request_id=None if info is None else info.request_id,
        first_event_ms=line.first_ms,
        total_ms=total_ms,
        blocks=line.blocks,
        gaps=_gaps((0.0, *times, total_ms), gap_ms),
        usage=line.usage,
        finish=line.finish,
        failure=line.failure,
    )


def _gaps(times: Sequence[float], least: float) -> tuple[Gap, ...]:
    return tuple(Gap(before, after) for before, after in pairwise(times) if after - before >= least)
