"""Anthropic Messages: wire events to chunks.

Source of truth: https://platform.claude.com/docs/en/build-with-claude/streaming, read 2026-11-30.

The wire has block events of its own and is followed (C18): each of its blocks with content is one block here, opened
by its first content. What makes no block (redacted and textless thinking, the provider's own tools, citations) goes
to the replay state, in its place.
"""

import hashlib
from collections.abc import Callable
from typing import Final, assert_never

from limen.adapters.anthropic._translate import _finish as finish
from limen.adapters.anthropic._translate._replay import replay_state
from limen.adapters.anthropic._translate._slots import CallSlot, ItemSlot, Slot, TextSlot, ThinkingSlot
from limen.adapters.anthropic._wire import (
    Block,
    BlockStarted,
    Event,
    ItemDelta,
    MessageStarted,
    MessageStopped,
    RareEvent,
    StreamFailed,
    WireDelta,
    WireEvent,
    WireMessageDelta,
    WireStop,
    WireUsage,
)
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    IdSeed,
    LlmError,
    Phase,
    StreamChunk,
    UsageChunk,
    codes,
    scrub,
)

# A delta for a block whose start a gateway left out says by itself what it belongs to; a tool call's does not.
_IMPLIED: Final = {
    "text_delta": Block("text", "text"),
    "citations_delta": Block("text", "text"),
    "thinking_delta": Block("thinking", "thinking"),
    "signature_delta": Block("thinking", "thinking"),
}
# Items that are no answer by themselves (C12).
_NO_ANSWER: Final = frozenset({"redacted_thinking", "fallback"})


class Translator:
    """One answer in flight: `feed` each event in order; `done` is set with the terminal chunk.

    `classify` judges an error inside the stream. Raises `LlmError` `MALFORMED_RESPONSE` for an order that the wire
    does not allow.
    """

    __slots__ = ("_by_index", "_call_ids", "_classify", "_facts", "_id_seed", "_last", "_next", "_preview",
                 "_slots", "_started", "_stop", "_usage", "done")  # fmt: skip

    def __init__(self, facts: CallFacts, *, classify: Callable[[bytes, Phase], Failure], id_seed: IdSeed = b"") -> None:
        self._facts = facts
        self._classify = classify
        self._id_seed = id_seed
        self._started: MessageStarted | None = None
        self._preview: tuple[Block, ...] = ()
        self._slots: list[Slot] = []
        self._by_index: dict[int, Slot] = {}
        self._last = -1
        self._next = 0
        self._call_ids: dict[str, None] = {}
        self._stop = WireStop()
        self._usage: WireUsage | None = None
        self.done = False

    def feed(self, event: Event) -> list[StreamChunk]:
        """Take one event; nothing is to be fed after `done` (S6)."""
        if isinstance(event, WireEvent):
            delta = event.delta
            slot = self._by_index.get(event.index)  # type: ignore[arg-type] # None is no key, and is seen to below
            if slot is not None and delta is not None and not slot.ended:
                return slot.take(delta)
            return self._end(event.index) if delta is None else self._odd_delta(event.index, delta)
        return self._event(event)

    def _event(self, event: RareEvent) -> list[StreamChunk]:
        match event:
            case BlockStarted():
                return self._start(event)
            case ItemDelta():
                return self._item_delta(event)
            case WireMessageDelta():
                self._report(event)
                return []
            case MessageStarted():
                self._begin(event)
                return []
            case MessageStopped():
                return self._finish()
            case StreamFailed():
                first = self._started is None and not self._slots
                return self._failed(self._classify(event.payload, "first-event" if first else "mid-stream"))
            case _:
                assert_never(event)

    def whole(self, answer: MessageStarted) -> list[StreamChunk]:
        """Translate an answer that came in one piece as if it had been streamed (S3)."""
        self._begin(answer)
        message = answer.message
        self._report(
            WireMessageDelta(
                WireStop(message.stop_reason, message.stop_sequence, message.stop_details), usage=message.usage
            )
        )
        return self._finish()

    def _begin(self, event: MessageStarted) -> None:
        message = event.message
        if self._started is not None:
            # Some gateways send it twice; another id is another answer, spliced in by a retry behind our back.
            known = self._facts.response_id
            if message.id and known and message.id != known:
                raise self._malformed(f"a second message, {message.id}, inside of {known}")
            return
        self._started = event
        self._facts.response_id = message.id or None
        self._facts.response_model = message.model or None
        self._usage = finish.merged(self._usage, message.usage)
        self._preview = event.content

    def _unfold(self, first: BlockStarted | None = None) -> list[StreamChunk]:
        """Deliver blocks that came with the start of the message, unless the stream begins them anew."""
        blocks, self._preview = self._preview, ()
        if first is not None and first.index == 0 and _same(first.block, blocks[0]):
            return []
        chunks: list[StreamChunk] = []
        for block in blocks:
            slot = self._slot(block)
            chunks += slot.start()
            chunks += self._close(slot)
        return chunks

    def _start(self, event: BlockStarted) -> list[StreamChunk]:
        chunks = self._unfold(event) if self._preview else []
        index = self._last + 1 if event.index is None else event.index
        known = self._by_index.get(index)
        if known is not None and not known.ended:
            raise self._malformed(f"block {index} twice")
        # The index of a block that has ended may come again: one block after the other is plain enough.
        slot = self._by_index[index] = self._slot(event.block)
        self._last = index
        return [*chunks, *slot.start()]

    def _slot(self, block: Block) -> Slot:
        slot: Slot
        match block.kind:
            case "text":
                slot = TextSlot(block, self._open)
            case "thinking":
                slot = ThinkingSlot(block, self._open)
            case "tool_use":
                slot = CallSlot(block, self._open, self._call_id(block.id))
            case _:
                slot = ItemSlot(block, self._open)
        self._slots.append(slot)
        return slot

    def _open(self) -> int:
        index = self._next
        self._next += 1
        return index

    def _call_id(self, native: str) -> str:
        """The wire's own id; one that is missing, or was there before, is made (C9, C10)."""
        ordinal = len(self._call_ids)
        if not native or native in self._call_ids:
            seed = self._id_seed if isinstance(self._id_seed, bytes) else self._id_seed()
            native = f"limen_{hashlib.sha256(seed + bytes(1) + str(ordinal).encode()).hexdigest()[:16]}"
        self._call_ids[native] = None
        return native

    def _odd_delta(self, index: int | None, delta: WireDelta) -> list[StreamChunk]:
        """A delta without an index, for a block that has ended, or for one that never began."""
        chunks, slot = self._target(index, delta.type)
        return [*chunks, *slot.take(delta)]

    def _item_delta(self, event: ItemDelta) -> list[StreamChunk]:
        index = self._last if event.index is None else event.index
        if index not in self._by_index and event.type not in _IMPLIED:
            # An unknown delta of an unknown block: by the wire's rule it is passed over (C15).
            return []
        chunks, slot = self._target(event.index, event.type)
        slot.take_item(event)
        return chunks

    def _target(self, index: int | None, kind: str | None) -> tuple[list[StreamChunk], Slot]:
        index = max(self._last, 0) if index is None else index
        slot = self._by_index.get(index)
        if slot is not None:
            if slot.ended:
                raise self._malformed(f"a {kind} for block {index}, which has ended")
            return [], slot
        if kind not in _IMPLIED:
            raise self._malformed(f"a {kind} for block {index}, which never began")
        started = BlockStarted(index, _IMPLIED[kind])
        return self._start(started), self._by_index[index]

    def _end(self, index: int | None) -> list[StreamChunk]:
        index = self._last if index is None else index
        slot = self._by_index.get(index)
        # The end of a block that never began, or ended before, has nothing to close.
        return [] if slot is None or slot.ended else self._close(slot)

    @staticmethod
    def _close(slot: Slot, *, cut: bool = False) -> list[StreamChunk]:
        slot.ended = True
        return slot.end(cut=cut)

    def _report(self, event: WireMessageDelta) -> None:
        self._usage = finish.merged(self._usage, event.usage)
        stop = event.delta
        if stop is None:
            return
        if stop.stop_sequence:
            self._facts.stop_sequence = stop.stop_sequence
        if finish.outranks(stop, self._stop):
            self._stop = stop
            self._facts.provider_reason = stop.stop_reason

    def _finish(self) -> list[StreamChunk]:
        """The wire is complete: decide the outcome (W5), close what is open, count, finish."""
        chunks = self._unfold() if self._preview else []
        word = self._stop.stop_reason or None
        # An end without any reason is a stop, as an end marker without one is on other wires (W6).
        meaning = finish.STOP if word is None else finish.meaning(word)
        if word is not None and meaning not in (finish.STOP, finish.CALLS, finish.LENGTH):
            return [*chunks, *self._failed(finish.failed(word, meaning, self._stop.stop_details))]
        for slot in self._slots:
            if isinstance(slot, CallSlot) and meaning != finish.LENGTH and slot.cut_short():
                raise self._malformed("a tool call whose arguments end in the middle, and no end of it")
            if not slot.ended:
                chunks += self._close(slot, cut=meaning == finish.LENGTH)
        reason = self._outcome(word, meaning)
        if reason.failure is not None:
            return [*chunks, *self._failed(reason.failure)]
        self.done = True
        state = replay_state(self._slots, cut=reason is MAX_TOKENS)
        return [*chunks, *self._counts(), Finish(reason, state)]

    def _outcome(self, word: str | None, meaning: str) -> FinishReason:
        if meaning == finish.LENGTH:
            return MAX_TOKENS
        if self._call_ids:
            # A plain stop after complete client calls is one for calls (C11).
            return TOOL_CALLS
        if word is not None and meaning == finish.CALLS:
            return FinishReason("error", finish.no_call(word))
        if word == "stop_sequence" or self._facts.stop_sequence or any(map(_answers, self._slots)):
            return STOP
        return FinishReason("error", finish.empty(word))

    def _failed(self, failure: Failure) -> list[StreamChunk]:
        """A failure in-band: blocks that are open stay open (C7), usage comes before it where it is known (C5)."""
        self.done = True
        return [*self._counts(), Finish(FinishReason("error", failure))]

    def _counts(self) -> list[StreamChunk]:
        usage = None if self._usage is None else finish.counted(self._usage)
        return [] if usage is None else [UsageChunk(usage)]

    @staticmethod
    def _malformed(what: str) -> LlmError:
        return LlmError(scrub(f"the answer holds {what}"), codes.MALFORMED_RESPONSE)


def _same(one: Block, other: Block) -> bool:
    return (one.type, one.id) == (other.type, other.id)


def _answers(slot: Slot) -> bool:
    """Whether a block or item is an answer: text or thinking that says something, or work of the provider's own."""
    if isinstance(slot, (TextSlot, ThinkingSlot)):
        return not slot.blank()
    return isinstance(slot, ItemSlot) and slot.type not in _NO_ANSWER
