"""Chunk grammar: decides alone which chunk may follow which.

The runtime guard and the conformance kit both run `ChunkGrammar`, which knows no adapter. Checked: C1-C7, C10, C11,
C13. The table at the end is the order of chunks (C5, C6); each function that it names checks one kind of chunk.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

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
from limen.contract._failure import Failure, failure_fault
from limen.contract._finish import FinishReason
from limen.contract._usage import TokenUsage


class GrammarError(Exception):
    """Violation of a C-rule, a bug of the adapter and never of the provider; `rule` is the rule's number.

    `position` is the number of chunks that stand before the faulty one in the batch that was fed.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule
        self.position = 0

    def __reduce__(self) -> tuple[type["GrammarError"], tuple[str, str]]:
        return (GrammarError, (self.rule, str(self).removeprefix(f"{self.rule}: ")))


class _Open:
    """Open block: its kind, and the fragments of its deltas, joined once at the end."""

    __slots__ = ("block_type", "id", "name", "parts")

    def __init__(self, block_type: BlockType) -> None:
        self.block_type = block_type
        self.parts: list[str] = []
        self.id: str = ""
        self.name: str = ""

    def assembled(self) -> StreamBlock | None:
        """Return the block that its deltas make so far; `None` for an image or for a call without any delta."""
        if self.block_type == "text":
            return TextBlock("".join(self.parts))
        if self.block_type == "reasoning":
            return ReasoningBlock("".join(self.parts))
        if self.block_type == "tool-call" and self.id:
            return ToolCallBlock(self.id, self.name, "".join(self.parts))
        return None


class ChunkGrammar:
    """Checker of one stream: `feed` each chunk, then `eof` once; both raise `GrammarError` at the first violation.

    Keeps the received parts (`closed`, `open_blocks()`, `usage`, `finish`), which the check needs anyway.
    """

    __slots__ = ("_call_ids", "_open", "_row", "closed", "finish", "usage")

    def __init__(self) -> None:
        self._row: _Row = _STREAMING
        self._open: dict[int, _Open] = {}
        self._call_ids: set[str] = set()
        self.closed: dict[int, StreamBlock] = {}
        self.usage: TokenUsage | None = None
        self.finish: Finish | None = None

    def feed(self, chunk: StreamChunk) -> None:
        """Check one chunk against all chunks before it; constant cost, except one join at a block's end."""
        self.feed_all((chunk,))

    def feed_all(self, chunks: Sequence[StreamChunk]) -> None:
        """Check chunks that arrived together, in their order; `GrammarError.position` names the faulty one."""
        position = 0
        try:
            for chunk in chunks:
                self._row[type(chunk)](self, chunk)
                position += 1
        except GrammarError as violation:
            violation.position = position
            raise
        except KeyError:
            raise self._located(self._misplaced(chunks[position]), position) from None
        except (TypeError, AttributeError) as fault:
            # msgspec checks no field of a struct made in Python: an index may be no int, a text no str.
            name = type(chunks[position]).__name__
            mistyped = GrammarError("C1", f"{name} holds a value of the wrong type ({fault})")
            raise self._located(mistyped, position) from None

    def eof(self) -> None:
        """Check that the stream ended with its `Finish` (C6)."""
        if self.finish is None:
            raise GrammarError("C6", "the stream ended without a finish")

    def open_blocks(self) -> dict[int, StreamBlock]:
        """Return the received part of the blocks that are still open, by index."""
        blocks = ((index, block.assembled()) for index, block in self._open.items())
        return {index: block for index, block in blocks if block is not None}

    @staticmethod
    def _located(violation: GrammarError, position: int) -> GrammarError:
        violation.position = position
        return violation

    def _misplaced(self, chunk: object) -> GrammarError:
        name = type(chunk).__name__
        if type(chunk) not in _STREAMING:
            return GrammarError("C1", f"{name} is not a chunk")
        if self.finish is not None:
            return GrammarError("C6", f"{name} after the finish")
        if type(chunk) is UsageChunk:
            return GrammarError("C5", "a second usage")
        return GrammarError("C5", f"{name} after the usage")

    def _start(self, chunk: BlockStart) -> None:
        expected = len(self._open) + len(self.closed)
        if type(chunk.index) is not int or chunk.index != expected:
            raise GrammarError("C2", f"block {chunk.index!r} opened, expected {expected}")
        if chunk.block_type not in _BLOCK_TYPES:
            raise GrammarError("C1", f"{chunk.block_type!r} is no kind of block")
        self._open[chunk.index] = _Open(chunk.block_type)

    def _text(self, chunk: TextDelta) -> None:
        index, text = chunk.index, chunk.text
        block = self._open.get(index)
        if block is None or block.block_type != "text" or type(text) is not str or not text or type(index) is not int:
            raise self._wrong_delta(chunk, "text", text)
        block.parts.append(text)

    def _reasoning(self, chunk: ReasoningDelta) -> None:
        index, text = chunk.index, chunk.text
        block = self._open.get(index)
        if (
            block is None
            or block.block_type != "reasoning"
            or type(text) is not str
            or not text
            or type(index) is not int
        ):
            raise self._wrong_delta(chunk, "reasoning", text)
        block.parts.append(text)

    def _tool_call(self, chunk: ToolCallDelta) -> None:
        index, text = chunk.index, chunk.arguments_delta
        block = self._open.get(index)
        if block is None or block.block_type != "tool-call" or type(text) is not str or type(index) is not int:
            raise self._wrong_delta(chunk, "tool-call", text)
        if not block.id or chunk.id != block.id or (chunk.name is not None and chunk.name != block.name):
            self._identify(block, chunk)
        block.parts.append(text)

    def _wrong_delta(
        self, chunk: TextDelta | ReasoningDelta | ToolCallDelta, block_type: BlockType, text: object
    ) -> GrammarError:
        index = chunk.index
        if type(index) is not int:
            return GrammarError("C2", f"a {block_type} delta with the index {index!r}, which is no whole number")
        block = self._open.get(index)
        if block is None:
            rule, state = ("C3", "which has ended") if index in self.closed else ("C2", "which was never opened")
            return GrammarError(rule, f"a {block_type} delta for block {index!r}, {state}")
        if block.block_type != block_type:
            return GrammarError("C1", f"a {block_type} delta in block {index}, which is {block.block_type}")
        if type(text) is not str:
            return GrammarError("C1", f"a {block_type} delta whose text is a {type(text).__name__}")
        return GrammarError("C13", f"an empty {block_type} delta")

    def _identify(self, block: _Open, chunk: ToolCallDelta) -> None:
        if block.id:
            if chunk.id != block.id:
                raise GrammarError(
                    "C4", f"block {chunk.index} is the call {block.id!r}, and got a delta of {chunk.id!r}"
                )
            raise GrammarError("C4", f"the call {block.id!r} is {block.name!r}, and was then named {chunk.name!r}")
        if type(chunk.id) is not str or not chunk.id:
            raise GrammarError("C10", f"the tool call in block {chunk.index} has no id")
        if type(chunk.name) is not str or not chunk.name:
            raise GrammarError("C10", f"the first delta of the call {chunk.id!r} has no name")
        if chunk.id in self._call_ids:
            raise GrammarError("C10", f"two tool calls have the id {chunk.id!r}")
        self._call_ids.add(chunk.id)
        block.id, block.name = chunk.id, chunk.name

    def _end(self, chunk: BlockEnd) -> None:
        block = self._open.get(chunk.index)
        if block is None or type(chunk.index) is not int:
            rule = "C3" if chunk.index in self.closed else "C2"
            raise GrammarError(rule, f"block {chunk.index!r} ended, and is not open")
        if block.block_type == "image":
            if type(chunk.block) is not ImageBlock:
                raise GrammarError("C4", f"block {chunk.index} is an image, and ended as something else")
        else:
            if not block.parts:
                raise GrammarError("C1", f"the {block.block_type} block {chunk.index} ended without a delta")
            assembled = block.assembled()
            if type(chunk.block) is not type(assembled) or chunk.block != assembled:
                raise GrammarError("C4", f"the end of block {chunk.index} differs from what its deltas assemble to")
        del self._open[chunk.index]
        self.closed[chunk.index] = chunk.block

    def _usage(self, chunk: UsageChunk) -> None:
        if type(chunk.usage) is not TokenUsage:
            raise TypeError("usage is not TokenUsage")
        self.usage = chunk.usage
        self._row = _COUNTED

    def _finish(self, chunk: Finish) -> None:
        if type(chunk.reason) is not FinishReason:
            raise TypeError("reason is not FinishReason")
        kind = chunk.reason.kind
        if kind not in _FINISH_KINDS:
            raise GrammarError("C6", f"{kind!r} is no way to finish")
        failed = kind in ("error", "aborted")
        failure = chunk.reason.failure
        if failed != (failure is not None):
            raise GrammarError("C6", f"a finish of kind {kind} {'without a' if failed else 'with a'} failure")
        if failure is None:
            self._check_success(kind)
        elif type(failure) is not Failure:
            raise TypeError("failure is not Failure")
        elif (fault := failure_fault(failure)) is not None:
            raise GrammarError("C6", f"a finish whose failure is none: {fault}")
        self.finish = chunk
        self._row = _FINISHED

    def _check_success(self, kind: str) -> None:
        if self._open:
            raise GrammarError("C7", f"finished as {kind} with open blocks {sorted(self._open)}")
        if kind == "tool-calls" and not self._call_ids:
            raise GrammarError("C11", "finished as tool-calls without a tool call")
        if kind == "stop" and self._call_ids:
            raise GrammarError("C11", "finished as stop with tool calls; that is tool-calls")


# Each function takes one member of the union, looked up by its type; checkers cannot follow the table.
_Rule: TypeAlias = Callable[[ChunkGrammar, "StreamChunk"], None]
_Row: TypeAlias = Mapping[type, _Rule]

_BLOCK_TYPES: Final = frozenset({"text", "reasoning", "tool-call", "image"})
_REASONING: Final = "reasoning"
_FINISH_KINDS: Final = frozenset({"stop", "tool-calls", "max-tokens", "aborted", "error"})

_STREAMING: Final[_Row] = {
    BlockStart: ChunkGrammar._start,  # type: ignore[dict-item]
    TextDelta: ChunkGrammar._text,  # type: ignore[dict-item]
    ReasoningDelta: ChunkGrammar._reasoning,  # type: ignore[dict-item]
    ToolCallDelta: ChunkGrammar._tool_call,  # type: ignore[dict-item]
    BlockEnd: ChunkGrammar._end,  # type: ignore[dict-item]
    UsageChunk: ChunkGrammar._usage,  # type: ignore[dict-item]
    Finish: ChunkGrammar._finish,  # type: ignore[dict-item]
}
_COUNTED: Final[_Row] = {Finish: ChunkGrammar._finish}  # type: ignore[dict-item]
_FINISHED: Final[_Row] = {}
