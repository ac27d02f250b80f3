"""Wire events of Bedrock Converse to chunks.

The wire has block events of its own and is followed (C18): each of its blocks with content is one block here, opened
by its first content, since text and reasoning begin without a start. A block that holds citations alone makes none.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from limen.adapters.bedrock._parse import arguments, base64_bytes, call_started, item_text, media_type, whole_stop
from limen.adapters.bedrock._slots import (
    CallSlot,
    ImageSlot,
    ReasoningSlot,
    ServerCallSlot,
    ServerResultSlot,
    Slot,
    TextSlot,
    kept_items,
    replay_state,
)
from limen.adapters.bedrock._wire import (
    CallStarted,
    Counted,
    Event,
    ImageStarted,
    ItemDelta,
    ItemStarted,
    Malformed,
    Metadata,
    Started,
    Stopped,
    WireAnswer,
    WireBlock,
    WireBlockDelta,
    WireDelta,
    WireMessage,
    WireOutput,
    WireReasoning,
    WireReasoningText,
)
from limen.adapters.kit import Blocks, Ending, FinishMeaning, is_object, merged
from limen.contract import (
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    IdSeed,
    ImageBlock,
    JsonObject,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)

# Beside the words of every wire: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html
# (read 2026-11-30). A guardrail that stepped in has replaced the answer by its own words.
_WORDS: Final[Mapping[str, FinishMeaning]] = {"content_filtered": "CONTENT_FILTER"}


class Translator:
    """One answer in flight: `take` or `take_rare` each event in order; `done` is set with the terminal chunk.

    `stopped` is set by `messageStop`; the answer is complete with the `metadata` behind it, or at the end of the body.
    Raises `Malformed` for an order that the wire does not allow.
    """

    __slots__ = ("_by_index", "_ending", "_facts", "_last", "_slots", "_usage", "blocks", "done", "stopped")

    def __init__(self, facts: CallFacts, *, id_seed: IdSeed = b"") -> None:
        self.blocks = Blocks(id_seed)
        self.done = False
        self.stopped = False
        self._facts = facts
        self._ending = Ending(_WORDS)
        self._usage: Counted | None = None
        self._slots: list[Slot] = []
        self._by_index: dict[int, Slot] = {}
        self._last = 0

    def take(self, event: WireBlockDelta, out: list[StreamChunk]) -> None:
        """Take a delta of text, reasoning or arguments, or the end of a block; this runs once for each token."""
        delta, index = event.delta, event.contentBlockIndex
        if delta is None:
            self._stop(index, out)
            return
        slot = None if index is None else self._by_index.get(index)
        if slot is not None and slot.index >= 0 and not slot.ended and not self.blocks.careful:
            if type(slot) is TextSlot and delta.text:
                slot.parts.append(delta.text)
                out.append(TextDelta(slot.index, delta.text))
                return
            if type(slot) is CallSlot and slot.parts and delta.toolUse is not None and delta.toolUse.input:
                slot.parts.append(delta.toolUse.input)
                out.append(ToolCallDelta(slot.index, slot.id, None, delta.toolUse.input))
                return
        self._take(self._last if index is None else index, delta, out)

    def take_rare(self, event: Event, out: list[StreamChunk]) -> None:
        """Take any event but a failure; nothing is to be fed after `done` (S6)."""
        match event:
            case WireBlockDelta():
                # A delta that the fast decoder could not read may hold half of a surrogate pair (S5).
                self.blocks.careful |= event.delta is not None
                self.take(event, out)
            case CallStarted():
                self._start_call(event, out)
            case ItemStarted():
                self._place(event.index, ServerResultSlot(event.raw))
            case ImageStarted():
                self._place(event.index, ImageSlot(event.media_type))
            case ItemDelta():
                self._take_item(event)
            case Stopped():
                self._note_stop(event)
            case Metadata():
                self._usage = merged(self._usage, event.usage)
                # Counts that come before `messageStop`, as in some recordings, may come again behind it.
                if self.stopped:
                    self.finish(out)
            case Started():
                pass
            case _:
                assert_never(event)

    def take_whole(self, answer: WireAnswer, usage: Counted | None, payload: bytes, out: list[StreamChunk]) -> None:
        """Translate an answer that came in one piece as if it had been streamed (S3)."""
        message = (answer.output or WireOutput()).message or WireMessage()
        for index, block in enumerate(message.content or ()):
            self._unfold(index, block, payload, out)
            self._stop(index, out)
        self._note_stop(whole_stop(answer))
        self._usage = usage
        self.finish(out)

    def fail(self, failure: Failure, out: list[StreamChunk]) -> None:
        """End in-band: blocks that are open stay open (C7), usage comes before it where it is known (C5)."""
        self._end(FinishReason("error", failure), None, out)

    # -- blocks

    def _unfold(self, index: int, block: WireBlock, payload: bytes, out: list[StreamChunk]) -> None:
        call, reasoning, image = block.toolUse, block.reasoningContent, block.image
        if call is not None:
            self._start_call(call_started(call, index, payload), out)
            self._add_arguments(self._by_index[index], arguments(call, payload), out)
        elif reasoning is not None:
            said = reasoning.reasoningText or WireReasoningText()
            self._reason(index, WireReasoning(said.text, said.signature, reasoning.redactedContent), out)
        elif block.toolResult:
            self._place(index, ServerResultSlot(item_text(block.toolResult)))
        elif image is not None:
            slot = ImageSlot(media_type(image.format))
            self._place(index, slot)
            slot.data += base64_bytes((None if image.source is None else image.source.bytes) or "", payload)
        else:
            cited = [] if block.citationsContent is None else block.citationsContent.content or []
            for text in filter(None, (block.text, *(part.text for part in cited))):
                self._say(index, text, out)

    def _start_call(self, event: CallStarted, out: list[StreamChunk]) -> None:
        if event.type is not None:
            self._place(event.index, ServerCallSlot(event))
            return
        ids = self.blocks.ids
        slot = CallSlot(ids.take(event.id, len(ids.used)), event.name)
        self._place(event.index, slot)
        self.blocks.open_call(slot, out)

    def _place(self, index: int | None, slot: Slot) -> None:
        index = self._next() if index is None else index
        known = self._by_index.get(index)
        if known is not None and not known.ended:
            raise Malformed(f"block {index} twice")
        # The index of a block that has ended may come again: one block after the other is plain enough.
        self._by_index[index] = slot
        self._slots.append(slot)
        self._last = index

    def _next(self) -> int:
        return self._last + 1 if self._by_index else 0

    def _take(self, index: int, delta: WireDelta, out: list[StreamChunk]) -> None:
        if delta.reasoningContent is not None:
            self._reason(index, delta.reasoningContent, out)
        if delta.toolUse is not None:
            self._add_arguments(self._by_index.get(index), delta.toolUse.input or "", out)
        # Neither text, reasoning nor arguments: a citation, or a delta of a kind unknown here (C15).
        if delta.text:
            self._say(index, delta.text, out)

    def _say(self, index: int, text: str, out: list[StreamChunk]) -> None:
        slot = self._by_index.get(index)
        if slot is None or slot.ended:
            slot = TextSlot()
            self._place(index, slot)
        if not isinstance(slot, TextSlot):
            raise Malformed(f"a text for block {index}, which {_state(slot)}")
        self.blocks.add(slot, text, out)

    def _reason(self, index: int, delta: WireReasoning, out: list[StreamChunk]) -> None:
        slot = self._by_index.get(index)
        if slot is None or slot.ended:
            slot = ReasoningSlot()
            self._place(index, slot)
        if not isinstance(slot, ReasoningSlot):
            raise Malformed(f"reasoning for block {index}, which {_state(slot)}")
        self.blocks.add(slot, delta.text or "", out)
        if delta.signature:
            # A signature does not go on where the reasoning before it ended (S5).
            self.blocks.flush(slot, out)
            slot.signature.append(delta.signature)
        if delta.redactedContent:
            slot.hidden += base64_bytes(delta.redactedContent, b"reasoningContent.redactedContent")

    def _add_arguments(self, slot: Slot | None, text: str, out: list[StreamChunk]) -> None:
        if slot is None or slot.ended or not isinstance(slot, CallSlot | ServerCallSlot):
            where = "never began" if slot is None else _state(slot)
            raise Malformed(f"arguments for a block that {where}")
        if isinstance(slot, CallSlot):
            self.blocks.add_arguments(slot, text, out)
        else:
            slot.parts.append(text)

    def _take_item(self, event: ItemDelta) -> None:
        slot = self._by_index.get(self._last if event.index is None else event.index)
        if isinstance(slot, ServerResultSlot):
            slot.parts += event.parts
        elif isinstance(slot, ImageSlot):
            slot.data += event.data

    def _stop(self, index: int | None, out: list[StreamChunk]) -> None:
        slot = self._by_index.get(self._last if index is None else index)
        # The end of a block that held nothing, or ended before, has nothing to close.
        if slot is not None and not slot.ended:
            self._close(slot, out)

    def _close(self, slot: Slot, out: list[StreamChunk], *, cut: bool = False) -> None:
        slot.ended = True
        if isinstance(slot, ImageSlot):
            if slot.data:
                image = ImageBlock(slot.media_type, bytes(slot.data))
                slot.index = len(self.blocks.opened)
                self.blocks.show(image, out)
                self.blocks.end(self.blocks.opened[-1], out)
        elif isinstance(slot, TextSlot | ReasoningSlot | CallSlot):
            self.blocks.flush(slot, out)
            if slot.index >= 0:
                self.blocks.end(slot, out, cut=cut)

    # -- the end

    def _note_stop(self, event: Stopped) -> None:
        self.stopped = True
        self._facts.stop_sequence = event.stop_sequence or self._facts.stop_sequence
        if event.word is not None and self._ending.add(event.word):
            self._facts.provider_reason = self._ending.word

    def finish(self, out: list[StreamChunk]) -> None:
        """Decide the outcome (W5), close what is open, count, finish: the wire is complete."""
        for slot in self._slots:
            if isinstance(slot, TextSlot | ReasoningSlot | CallSlot):
                self.blocks.flush(slot, out)
        failure = self._ending.failure()
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
        kept = kept_items(self._slots)
        reason = self._ending.outcome(
            calls=bool(self.blocks.ids.used),
            answered=any(_answers(slot, kept) for slot in self._slots),
            stop_matched=self._facts.stop_sequence is not None,
        )
        state = None if reason.failure else replay_state(self._slots, kept, cut=cut)
        self._end(reason, state, out)

    def _end(self, reason: FinishReason, state: JsonObject | None, out: list[StreamChunk]) -> None:
        usage = self._usage
        if usage is not None:
            counts = TokenUsage(
                input_tokens=usage.input,
                output_tokens=usage.output,
                cache_read_tokens=usage.cache_read,
                cache_write_tokens=usage.cache_write,
            )
            out.append(UsageChunk(counts))
        out.append(Finish(reason, state))
        self.done = True


def _answers(slot: Slot, kept: dict[Slot, list[str]]) -> bool:
    """Tell whether a slot is an answer by itself (C12): text, an image, or work of the provider's own that is kept."""
    if isinstance(slot, TextSlot | ReasoningSlot):
        return not slot.is_blank
    return slot.index >= 0 if isinstance(slot, ImageSlot) else not isinstance(slot, CallSlot) and slot in kept


def _state(slot: Slot) -> str:
    return "has ended" if slot.ended else "is of another kind"
