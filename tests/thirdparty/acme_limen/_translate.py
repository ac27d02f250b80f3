"""Acme's lines to chunks: pure, one object for one answer."""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from acme_limen._parse import failure_of
from acme_limen._serialize import VERSION, WIRE
from acme_limen._wire import WireCount, WireLine
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    IdSeed,
    LlmError,
    ReasoningBlock,
    ReasoningDelta,
    StreamBlock,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    codes,
    replace_surrogates,
    scrub,
)

_FINISHES: Final[Mapping[str, str]] = {"done": "stop", "stopword": "stop", "calls": "calls", "limit": "limit"}
_FILTERED: Final = frozenset({"refused", "content_filter"})


class _Block:
    def __init__(self, index: int, kind: str, *, id: str = "", name: str = "") -> None:  # noqa: A002 - the wire's word
        self.index, self.kind, self.id, self.name = index, kind, id, name
        self.parts: list[str] = []
        self.half = ""
        self.seal: str | None = None

    def take(self, text: str) -> str:
        """Return what of a fragment can be shown now: half of a surrogate pair waits for its other half (S5)."""
        text = self.half + text
        self.half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        shown = replace_surrogates(text[: len(text) - len(self.half)])
        self.parts.append(shown)
        return shown

    def delta(self, text: str, *, first: bool = False) -> StreamChunk:
        if self.kind == "text":
            return TextDelta(self.index, text)
        if self.kind == "reasoning":
            return ReasoningDelta(self.index, text)
        return ToolCallDelta(self.index, self.id, self.name if first else None, text)

    def end(self) -> list[StreamChunk]:
        chunks: list[StreamChunk] = []
        if self.half:
            self.half = ""
            self.parts.append("\ufffd")
            chunks.append(self.delta("\ufffd"))
        return [*chunks, BlockEnd(self.index, self.value())]

    def value(self) -> StreamBlock:
        text = "".join(self.parts)
        if self.kind == "text":
            return TextBlock(text)
        return ReasoningBlock(text) if self.kind == "reasoning" else ToolCallBlock(self.id, self.name, text)


class Translator:
    """One answer: `line` for each line in order; `finished` once the terminal chunk was returned."""

    def __init__(self, id_seed: IdSeed, facts: CallFacts) -> None:
        self._seed = id_seed
        self._facts = facts
        self._blocks: list[_Block] = []
        self._calls: dict[int, _Block] = {}
        self._count = WireCount()
        self._end: str | None = None
        self._why = ""
        self.finished = False

    @property
    def may_end(self) -> bool:
        """Whether a finish word was seen, so that the end of the body is the end (W6)."""
        return self._end is not None

    def line(self, line: WireLine) -> list[StreamChunk]:
        """Take one line; raises `LlmError` for what no documented answer has."""
        if line.error is not None:
            return [*self._usage(), self._failed(failure_of(line.error))]
        chunks: list[StreamChunk] = []
        if line.think:
            chunks += self._text("reasoning", line.think)
        if line.seal:
            self._sealed(line.seal)
        if line.say:
            chunks += self._text("text", line.say)
        if line.call is not None:
            chunks += self._call(line.call, line)
        if line.count is not None:
            self._count = _latest(self._count, line.count)
        if line.end:
            self._end, self._why = line.end, line.why or ""
            self._facts.provider_reason = line.end
        return [*chunks, *self.finish()] if line.bye else chunks

    def finish(self) -> list[StreamChunk]:
        """The answer is complete: return what ends it."""
        word = self._end or "done"
        failure = self._judge(word)
        if failure is not None:
            return [*self._usage(), self._failed(failure)]
        ends = [chunk for block in self._blocks for chunk in block.end()]
        kind = _FINISHES[word]
        reason = MAX_TOKENS if kind == "limit" else TOOL_CALLS if self._calls else STOP
        self.finished = True
        return [*ends, *self._usage(), Finish(reason, self._state())]

    def _judge(self, word: str) -> Failure | None:
        if word in _FILTERED:
            return Failure(scrub(self._why or "Acme refused"), codes.CONTENT_FILTER, provider_code=word)
        if word not in _FINISHES:
            return Failure(
                f"Acme ended with {word!r}, which is not documented", codes.UNKNOWN_FINISH, provider_code=word
            )
        if word == "calls" and not self._calls:
            return Failure("Acme claimed calls and made none", codes.MALFORMED_RESPONSE, provider_code=word)
        blank = not any(block.kind != "text" or "".join(block.parts).strip() for block in self._blocks)
        if word == "done" and blank:
            return Failure("Acme answered nothing", codes.EMPTY_RESPONSE, provider_code=word)
        return None

    def _failed(self, failure: Failure) -> Finish:
        self.finished = True
        return Finish(FinishReason("error", failure))

    def _text(self, kind: str, text: str) -> list[StreamChunk]:
        block = next((one for one in self._blocks if one.kind == kind), None)
        chunks: list[StreamChunk] = []
        if block is None:
            block = self._open(_Block(len(self._blocks), kind))
            chunks.append(BlockStart(block.index, "text" if kind == "text" else "reasoning"))
        shown = block.take(text)
        return [*chunks, block.delta(shown)] if shown else chunks

    def _sealed(self, seal: str) -> None:
        for block in self._blocks:
            if block.kind == "reasoning":
                block.seal = seal

    def _call(self, number: int, line: WireLine) -> list[StreamChunk]:
        block = self._calls.get(number)
        if block is not None:
            return [block.delta(block.take(line.args))] if line.args else []
        if not line.name:
            raise LlmError(f"Acme began the call {number} without a name", codes.MALFORMED_RESPONSE)
        block = self._open(_Block(len(self._blocks), "tool-call", id=self._id(line.id), name=line.name))
        self._calls[number] = block
        return [BlockStart(block.index, "tool-call"), block.delta(block.take(line.args or ""), first=True)]

    def _id(self, native: str | None) -> str:
        if native and native not in {block.id for block in self._blocks}:
            return native
        seed = self._seed() if callable(self._seed) else self._seed
        digest = hashlib.sha256(seed + b"\0" + str(len(self._calls)).encode()).hexdigest()
        return f"limen_{digest[:16]}"

    def _open(self, block: _Block) -> _Block:
        self._blocks.append(block)
        return block

    def _usage(self) -> list[StreamChunk]:
        one = self._count
        if one == WireCount():
            return []
        usage = TokenUsage(
            input_tokens=one.given,
            output_tokens=one.out,
            cache_read_tokens=one.cached,
            cache_write_tokens=one.stored,
            reasoning_tokens=one.thought,
        )
        return [UsageChunk(usage)]

    def _state(self) -> Mapping[str, object] | None:
        if not any(block.seal for block in self._blocks):
            return None
        entries = [None if block.seal is None else {"seal": block.seal} for block in self._blocks]
        return {"v": VERSION, "wire": WIRE, "blocks": entries}


def _latest(old: WireCount, new: WireCount) -> WireCount:
    told = {name: value for name in new.__struct_fields__ if (value := getattr(new, name)) is not None}
    return msgspec.structs.replace(old, **told)
