"""Wire events of Anthropic Messages to chunks.

Sources of truth, read 2026-11-30: https://platform.claude.com/docs/en/build-with-claude/streaming and
`…/handling-stop-reasons`. The wire has block events of its own and is followed (C18): each of its blocks with content
is one block here, opened by its first content. What makes no block (redacted and textless thinking, the provider's own
tools, citations) goes to the replay state, in its place.
"""

from typing import assert_never

from limen.adapters.anthropic._slots import IMPLIED, CallSlot, ItemSlot, Slot, TextSlot, kept_items, replay_state
from limen.adapters.anthropic._usage import counted, later_usage
from limen.adapters.anthropic._wire import (
    Block,
    BlockStarted,
    Event,
    ItemDelta,
    Malformed,
    MessageStarted,
    MessageStopped,
    WireDelta,
    WireEvent,
    WireMessageDelta,
    WireStop,
    WireStopDetails,
    WireUsage,
)
from limen.adapters.kit import Blocks, Ending, is_object
from limen.contract import (
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    IdSeed,
    JsonObject,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
    scrub,
)


class Translator:
    """One answer in flight: `take` or `take_rare` each event in order; `done` is set with the terminal chunk.

    Raises `Malformed` for an order that the wire does not allow.
    """

    __slots__ = ("_by_index", "_details", "_ending", "_facts", "_last", "_preview", "_slots", "_started",
                 "_usage", "blocks", "done")  # fmt: skip

    def __init__(self, facts: CallFacts, *, id_seed: IdSeed = b"") -> None:
        self.blocks = Blocks(id_seed)
        self.done = False
        self._facts = facts
        self._ending = Ending()
        self._details: WireStopDetails | None = None
        self._usage: WireUsage | None = None
        self._started = False
        self._preview: tuple[Block, ...] = ()
        self._slots: list[Slot] = []
        self._by_index: dict[int | None, Slot] = {}
        self._last = -1

    def take(self, event: WireEvent, out: list[StreamChunk]) -> None:
        """Take a delta of text, thinking or arguments, or the end of a block; this runs once for each token."""
        delta = event.delta
        if delta is None:
            self._stop(event.index, out)
            return
        slot = self._by_index.get(event.index)
        if slot is not None and slot.index >= 0 and not slot.ended and not self.blocks.careful:
            if type(slot) is TextSlot:
                text = delta.text if slot.kind == "text" else delta.thinking
                if text and delta.type == slot.delta_type:
                    slot.parts.append(text)
                    out.append((TextDelta if slot.kind == "text" else ReasoningDelta)(slot.index, text))
                    return
            elif type(slot) is CallSlot and slot.parts and delta.partial_json and delta.type == "input_json_delta":
                slot.parts.append(delta.partial_json)
                out.append(ToolCallDelta(slot.index, slot.id, None, delta.partial_json))
                return
        self._take(event.index, delta, out)

    def take_rare(self, event: Event, out: list[StreamChunk]) -> None:
        """Take any event but a failure; nothing is to be fed after `done` (S6)."""
        match event:
            case WireEvent():
                # A delta that the fast decoder could not read may hold half of a surrogate pair (S5).
                self.blocks.careful |= event.delta is not None
                self.take(event, out)
            case BlockStarted():
                self._start(event, out)
            case ItemDelta():
                self._take_item(event, out)
            case WireMessageDelta():
                self._report(event)
            case MessageStarted():
                self._begin(event)
            case MessageStopped():
                self._finish(out)
            case _:
                assert_never(event)

    def take_whole(self, answer: MessageStarted, out: list[StreamChunk]) -> None:
        """Translate an answer that came in one piece as if it had been streamed (S3)."""
        self._begin(answer)
        message = answer.message
        stop = WireStop(message.stop_reason, message.stop_sequence, message.stop_details)
        self._report(WireMessageDelta(stop, usage=message.usage))
        self._finish(out)

    def fail(self, failure: Failure, out: list[StreamChunk]) -> None:
        """End in-band: blocks that are open stay open (C7), usage comes before it where it is known (C5)."""
        self._end(FinishReason("error", failure), None, out)

    # -- the message

    def _begin(self, event: MessageStarted) -> None:
        message = event.message
        if self._started:
            # Some gateways send it twice; another id is another answer, spliced in by a retry behind our back.
            known = self._facts.response_id
            if message.id and known and message.id != known:
                raise Malformed(f"a second message, {message.id}, inside of {known}")
            return
        self._started = True
        self._facts.response_id = message.id or None
        self._facts.response_model = message.model or None
        self._usage = later_usage(self._usage, message.usage)
        self._preview = event.content

    def _report(self, event: WireMessageDelta) -> None:
        self._usage = later_usage(self._usage, event.usage)
        stop = event.delta
        if stop is None:
            return
        if stop.stop_sequence:
            self._facts.stop_sequence = stop.stop_sequence
        if stop.stop_reason and self._ending.add(stop.stop_reason):
            self._details = stop.stop_details
            self._facts.provider_reason = self._ending.word

    # -- blocks

    def _unfold(self, out: list[StreamChunk], first: BlockStarted | None = None) -> None:
        """Deliver blocks that came with the start of the message, unless the stream begins them anew."""
        blocks, self._preview = self._preview, ()
        if first is not None and first.index == 0 and first.block.same(blocks[0]):
            return
        for block in blocks:
            self._close(self._open(block, out), out)

    def _start(self, event: BlockStarted, out: list[StreamChunk]) -> Slot:
        if self._preview:
            self._unfold(out, event)
        index = self._last + 1 if event.index is None else event.index
        known = self._by_index.get(index)
        if known is not None and not known.ended:
            raise Malformed(f"block {index} twice")
        # The index of a block that has ended may come again: one block after the other is plain enough.
        slot = self._by_index[index] = self._open(event.block, out)
        self._last = index
        return slot

    def _open(self, block: Block, out: list[StreamChunk]) -> Slot:
        slot: Slot
        if block.kind == "tool_use":
            ids = self.blocks.ids
            slot = CallSlot(block, ids.take(block.id, len(ids.used)))
            self.blocks.open_call(slot, out)
        elif block.kind == "item":
            slot = ItemSlot(block)
        else:
            slot = TextSlot(block)
            self.blocks.add(slot, block.text, out)
        self._slots.append(slot)
        return slot

    def _take(self, index: int | None, delta: WireDelta, out: list[StreamChunk]) -> None:
        slot = self._target(index, delta.type, out)
        if isinstance(slot, ItemSlot):
            slot.broken |= delta.type != "input_json_delta"
            slot.parts.append(delta.partial_json or "")
        elif isinstance(slot, CallSlot) and delta.type == "input_json_delta":
            self.blocks.add_arguments(slot, delta.partial_json or "", out)
        elif isinstance(slot, TextSlot) and delta.type == slot.delta_type:
            self.blocks.add(slot, (delta.text if slot.kind == "text" else delta.thinking) or "", out)
        elif isinstance(slot, TextSlot) and slot.kind == "reasoning" and delta.type == "signature_delta":
            # A signature does not go on where the thinking before it ended (S5).
            self.blocks.flush(slot, out)
            slot.signature.append(delta.signature or "")
        else:
            raise Malformed(f"a {delta.type} in a {slot.type} block")

    def _take_item(self, event: ItemDelta, out: list[StreamChunk]) -> None:
        index = self._last if event.index is None else event.index
        if index not in self._by_index and event.type not in IMPLIED:
            # An unknown delta of an unknown block: by the wire's rule it is passed over (C15).
            return
        slot = self._target(event.index, event.type, out)
        if isinstance(slot, ItemSlot):
            # `compaction_delta` brings fields of the block; what is unknown leaves it incomplete.
            slot.fields.update(event.fields)
            slot.broken |= not event.fields
        elif isinstance(slot, TextSlot) and event.citation is not None:
            slot.citations.append(event.citation)

    def _target(self, index: int | None, kind: str | None, out: list[StreamChunk]) -> Slot:
        """Find the block of a delta: without an index the last one, without a start one that the delta implies."""
        index = max(self._last, 0) if index is None else index
        slot = self._by_index.get(index)
        if slot is None:
            if kind not in IMPLIED:
                raise Malformed(f"a {kind} for block {index}, which never began")
            return self._start(BlockStarted(index, IMPLIED[kind]), out)
        if slot.ended:
            raise Malformed(f"a {kind} for block {index}, which has ended")
        return slot

    def _stop(self, index: int | None, out: list[StreamChunk]) -> None:
        slot = self._by_index.get(self._last if index is None else index)
        # The end of a block that never began, or ended before, has nothing to close.
        if slot is not None and not slot.ended:
            self._close(slot, out)

    def _close(self, slot: Slot, out: list[StreamChunk], *, cut: bool = False) -> None:
        slot.ended = True
        if isinstance(slot, ItemSlot):
            return
        self.blocks.flush(slot, out)
        if isinstance(slot, CallSlot) and not slot.parts and slot.given:
            slot.waiting = ""
            self.blocks.add_arguments(slot, slot.given, out)
        if slot.index >= 0:
            self.blocks.end(slot, out, cut=cut)

    # -- the end

    def _finish(self, out: list[StreamChunk]) -> None:
        """Decide the outcome (W5), close what is open, count, finish: the wire is complete."""
        if self._preview:
            self._unfold(out)
        for slot in self._slots:
            if not isinstance(slot, ItemSlot):
                self.blocks.flush(slot, out)
        failure = self._ending.failure(_refusal(self._details))
        if failure is not None:
            self.fail(failure, out)
            return
        cut = self._ending.meaning == "max-tokens"
        for slot in self._slots:
            if slot.ended:
                continue
            if isinstance(slot, CallSlot) and slot.parts and not cut and not is_object("".join(slot.parts)):
                raise Malformed("a tool call whose arguments end in the middle, and no end of it")
            self._close(slot, out, cut=cut)
        kept = kept_items(self._slots, cut=cut)
        reason = self._ending.outcome(
            calls=bool(self.blocks.ids.used),
            answered=any(slot.answers(kept) for slot in self._slots),
            stop_matched=self._facts.stop_sequence is not None,
        )
        state = None if reason.failure else replay_state(self._slots, kept, cut=cut)
        self._end(reason, state, out)

    def _end(self, reason: FinishReason, state: JsonObject | None, out: list[StreamChunk]) -> None:
        usage = None if self._usage is None else counted(self._usage, self._facts.notes)
        if usage is not None:
            out.append(UsageChunk(usage))
        out.append(Finish(reason, state))
        self.done = True


def _refusal(details: WireStopDetails | None) -> str:
    details = details or WireStopDetails()
    text = details.explanation or "the provider refused to answer or to go on"
    return scrub(f"{text} ({details.category})" if details.category else text)
