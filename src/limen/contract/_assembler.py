"""Assembly of chunks into a `Response`; decides alone which parts of a turn may stand in a history (C17, N3)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, assert_never

from limen.contract._blocks import (
    BlockType,
    ImageBlock,
    ReasoningBlock,
    StreamBlock,
    TextBlock,
    ToolCallBlock,
)
from limen.contract._chunks import (
    BlockEnd,
    BlockStart,
    Finish,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from limen.contract._finish import FinishReason
from limen.contract._json import FrozenDict, freeze_object, json_fault
from limen.contract._messages import Message, ModelSource
from limen.contract._replay import aligned
from limen.contract._response import CallInfo, ReplayDrop, Response
from limen.contract._usage import TokenUsage


class Arrived(NamedTuple):
    """Received part of an answer: closed and open blocks by index, usage, and the finish if there was one."""

    closed: Mapping[int, StreamBlock]
    unfinished: Mapping[int, StreamBlock]
    usage: TokenUsage | None
    finish: Finish | None


class Assembler:
    """Collect chunks: `feed` each one, then read `arrived()`, at any time.

    Tolerant, because interceptors may have changed the stream: the first `BlockEnd` of an index wins over its
    deltas, a delta without a start opens its block, nothing raises.
    """

    __slots__ = ("_closed", "_finish", "_open", "_usage")

    def __init__(self) -> None:
        self._open: dict[int, _Parts] = {}
        self._closed: dict[int, StreamBlock] = {}
        self._usage: TokenUsage | None = None
        self._finish: Finish | None = None

    def feed(self, chunk: StreamChunk) -> None:
        """Add one chunk."""
        match chunk:
            case TextDelta(index=index, text=text):
                self._parts(index, "text").texts.append(text)
            case ReasoningDelta(index=index, text=text):
                self._parts(index, "reasoning").texts.append(text)
            case ToolCallDelta(index=index):
                parts = self._parts(index, "tool-call")
                parts.texts.append(chunk.arguments_delta)
                parts.id = parts.id or chunk.id
                parts.name = parts.name or chunk.name or ""
            case BlockStart(index=index, block_type=block_type):
                self._parts(index, block_type)
            case BlockEnd(index=index, block=block):
                self._closed.setdefault(index, block)
            case UsageChunk(usage=usage):
                self._usage = usage
            case Finish():
                self._finish = chunk
            case _:
                assert_never(chunk)

    def arrived(self) -> Arrived:
        """Return the blocks, usage and finish received so far."""
        unfinished = {
            index: block
            for index, parts in self._open.items()
            if index not in self._closed and (block := parts.block()) is not None
        }
        return Arrived(dict(self._closed), unfinished, self._usage, self._finish)

    def _parts(self, index: int, block_type: BlockType) -> "_Parts":
        parts = self._open.get(index)
        if parts is None:
            parts = self._open[index] = _Parts(block_type)
        return parts


class _Parts:
    __slots__ = ("block_type", "id", "name", "texts")

    def __init__(self, block_type: BlockType) -> None:
        self.block_type = block_type
        self.texts: list[str] = []
        self.id = ""
        self.name = ""

    def block(self) -> StreamBlock | None:
        text = "".join(self.texts)
        if self.block_type == "text":
            return TextBlock(text)
        if self.block_type == "reasoning":
            return ReasoningBlock(text)
        if self.block_type == "tool-call" and self.id:
            return ToolCallBlock(self.id, self.name, text)
        return None


def assemble(
    arrived: Arrived,
    finish: FinishReason,
    *,
    source: ModelSource | None = None,
    info: CallInfo | None = None,
    replay_dropped: Sequence[ReplayDrop] = (),
) -> Response:
    """Build the response: calls that may be executed, the message for the history, and its replay state (C17)."""
    blocks = {**arrived.closed, **arrived.unfinished}
    ordered = [blocks[index] for index in sorted(blocks)]
    calls = {index: block for index, block in enumerate(ordered) if isinstance(block, ToolCallBlock)}
    executable = _executable(calls, finish)
    kept = [
        index
        for index, block in enumerate(ordered)
        if (index in executable if isinstance(block, ToolCallBlock) else _stays(block, finish))
    ]
    dropped = list(replay_dropped)
    state = None if arrived.finish is None else arrived.finish.replay_state
    state = _kept_state(state, finish, ordered, kept, dropped)
    message = None
    if kept or (state is not None and finish.kind == "stop"):
        message = Message("assistant", tuple(ordered[index] for index in kept), source=source, replay_state=state)
    return Response(
        message=message,
        finish=finish,
        usage=arrived.usage,
        text="".join(block.text for block in ordered if isinstance(block, TextBlock)),
        reasoning="".join(block.text for block in ordered if isinstance(block, ReasoningBlock)),
        tool_calls=tuple(executable.values()),
        incomplete_tool_calls=tuple(call for index, call in calls.items() if index not in executable),
        replay_state=None if message is None else state,
        replay_dropped=tuple(dropped),
        info=info,
    )


def _executable(calls: Mapping[int, ToolCallBlock], finish: FinishReason) -> Mapping[int, ToolCallBlock]:
    """Return the calls that may be executed; of an unguarded stream, the named ones and the first of each id (C10)."""
    if finish.kind != "tool-calls":
        return {}
    first: dict[str, int] = {}
    for index, call in calls.items():
        if call.name:
            first.setdefault(call.id, index)
    return {index: calls[index] for index in first.values()}


def _stays(block: TextBlock | ReasoningBlock | ImageBlock, finish: FinishReason) -> bool:
    if finish.kind in ("error", "aborted") and not isinstance(block, ImageBlock):
        return bool(block.text.strip())
    return True


def _kept_state(
    state: Mapping[str, object] | None,
    finish: FinishReason,
    blocks: Sequence[StreamBlock],
    kept: Sequence[int],
    dropped: list[ReplayDrop],
) -> FrozenDict[object] | None:
    if state is None or finish.kind in ("error", "aborted"):
        return None
    fault = json_fault(state)
    if fault is not None:
        dropped.append(ReplayDrop(f"the answer's replay state is not JSON: {fault}"))
        return None
    entries = state.get("blocks")
    if entries is None:
        return freeze_object(state)
    if not aligned(state, len(blocks)) or not isinstance(entries, tuple):
        dropped.append(ReplayDrop("the answer's replay state does not have one entry for each block"))
        return None
    if len(kept) == len(blocks):
        return freeze_object(state)
    chosen: list[object] = [entries[index] for index in kept]
    return freeze_object({**state, "blocks": chosen})
