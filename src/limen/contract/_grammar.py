"""The chunk grammar: which chunk may follow which is decided in this file alone.

The runtime guard and the conformance kit both run `ChunkGrammar`; it does not know which adapter is talking.
Checked: C1-C7, C10, C11, C13. The table below is the grammar's outer shape (C5, C6); the functions it names hold
the rules of one chunk each.
"""

from collections.abc import Callable, Mapping
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
from limen.contract._usage import TokenUsage


class GrammarError(Exception):
    """An adapter broke a C-rule: `rule` is its number. This is the adapter's bug, never the provider's."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule

    def __reduce__(self) -> tuple[type["GrammarError"], tuple[str, str]]:
        return (GrammarError, (self.rule, str(self).removeprefix(f"{self.rule}: ")))


class _Open:
    """A block that is open: its kind, and its deltas' text, joined once at the end."""

    __slots__ = ("block_type", "id", "name", "parts")

    def __init__(self, block_type: BlockType) -> None:
        self.block_type = block_type
        self.parts: list[str] = []
        self.id: str = ""
        self.name: str = ""

    def assembled(self) -> StreamBlock | None:
        """What the deltas make so far; `None` for an image, which has none, and a call without any delta."""
        if self.block_type == "text":
            return TextBlock("".join(self.parts))
        if self.block_type == "reasoning":
            return ReasoningBlock("".join(self.parts))
        if self.block_type == "tool-call" and self.id:
            return ToolCallBlock(self.id, self.name, "".join(self.parts))
        return None


class ChunkGrammar:
    """Check one stream: `feed` each chunk, then `eof` once. Both raise `GrammarError` at the first violation.

    Keeps what arrived (`closed`, `open_blocks()`, `usage`, `finish`), since the check needs it anyway.
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
        """Check one chunk against all that came before it; constant cost, except one join at a block's end."""
        rule = self._row.get(type(chunk))
        if rule is None:
            raise self._misplaced(chunk)
        try:
            rule(self, chunk)
        except (TypeError, AttributeError) as fault:
            # A struct's fields are not checked when it is made: an index that is no int, a text that is no str.
            raise GrammarError("C1", f"{type(chunk).__name__} holds a value of the wrong type ({fault})") from None

    def eof(self) -> None:
        """Check that the stream has ended as it must."""
        if self.finish is None:
            raise GrammarError("C6", "the stream ended without a finish")

    def open_blocks(self) -> dict[int, StreamBlock]:
        """What had arrived of the blocks that are still open, by index."""
        blocks = ((index, block.assembled()) for index, block in self._open.items())
        return {index: block for index, block in blocks if block is not None}

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

    def _block(self, index: int, block_type: BlockType) -> _Open:
        block = self._open.get(index)
        if block is None:
            rule = "C3" if index in self.closed else "C2"
            state = "which has ended" if index in self.closed else "which was never opened"
            raise GrammarError(rule, f"a {block_type} delta for block {index!r}, {state}")
        if block.block_type != block_type:
            raise GrammarError("C1", f"a {block_type} delta in block {index}, which is {block.block_type}")
        return block

    def _text(self, chunk: TextDelta) -> None:
        self._append(self._block(chunk.index, "text"), chunk.text)

    def _reasoning(self, chunk: ReasoningDelta) -> None:
        self._append(self._block(chunk.index, "reasoning"), chunk.text)

    @staticmethod
    def _append(block: _Open, text: str) -> None:
        if not text:
            raise GrammarError("C13", f"an empty {block.block_type} delta")
        if type(text) is not str:
            raise TypeError("text is not a string")
        block.parts.append(text)

    def _tool_call(self, chunk: ToolCallDelta) -> None:
        block = self._block(chunk.index, "tool-call")
        if type(chunk.arguments_delta) is not str:
            raise TypeError("arguments_delta is not a string")
        if block.id:
            if chunk.id != block.id:
                raise GrammarError(
                    "C4", f"block {chunk.index} is the call {block.id!r}, and got a delta of {chunk.id!r}"
                )
            if chunk.name is not None and chunk.name != block.name:
                raise GrammarError("C4", f"the call {block.id!r} is {block.name!r}, and was then named {chunk.name!r}")
        else:
            self._identify(block, chunk)
        block.parts.append(chunk.arguments_delta)

    def _identify(self, block: _Open, chunk: ToolCallDelta) -> None:
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
        if block is None:
            rule = "C3" if chunk.index in self.closed else "C2"
            raise GrammarError(rule, f"block {chunk.index!r} ended, and is not open")
        if block.block_type == "image":
            if type(chunk.block) is not ImageBlock:
                raise GrammarError("C4", f"block {chunk.index} is an image, and ended as something else")
        else:
            if not block.parts:
                raise GrammarError("C1", f"the {block.block_type} block {chunk.index} ended without a delta")
            if chunk.block != block.assembled():
                raise GrammarError("C4", f"the end of block {chunk.index} differs from what its deltas assemble to")
        del self._open[chunk.index]
        self.closed[chunk.index] = chunk.block

    def _usage(self, chunk: UsageChunk) -> None:
        if type(chunk.usage) is not TokenUsage:
            raise TypeError("usage is not TokenUsage")
        self.usage = chunk.usage
        self._row = _COUNTED

    def _finish(self, chunk: Finish) -> None:
        kind = chunk.reason.kind
        if kind not in _FINISH_KINDS:
            raise GrammarError("C6", f"{kind!r} is no way to finish")
        failed = kind in ("error", "aborted")
        if failed != (chunk.reason.failure is not None):
            raise GrammarError("C6", f"a finish of kind {kind} {'without a' if failed else 'with a'} failure")
        if not failed:
            self._check_success(kind)
        self.finish = chunk
        self._row = _FINISHED

    def _check_success(self, kind: str) -> None:
        if self._open:
            raise GrammarError("C7", f"finished as {kind} with open blocks {sorted(self._open)}")
        if kind == "tool-calls" and not self._call_ids:
            raise GrammarError("C11", "finished as tool-calls without a tool call")
        if kind == "stop" and self._call_ids:
            raise GrammarError("C11", "finished as stop with tool calls; that is tool-calls")


# What a rule takes is one member of the union, found by its type; the table is the proof, which no checker can follow.
_Rule: TypeAlias = Callable[[ChunkGrammar, "StreamChunk"], None]
_Row: TypeAlias = Mapping[type, _Rule]

_BLOCK_TYPES: Final = frozenset({"text", "reasoning", "tool-call", "image"})
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
