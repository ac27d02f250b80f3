"""Wire events of OpenAI Responses to chunks.

Source of truth, read 2026-11-30: https://platform.openai.com/docs/api-reference/responses-streaming. The wire has block
events of its own and is followed (C18): each text part of a message, each call and each reasoning item with text is one
block here, opened by its first content and closed by the event that ends it. Items are known by `output_index`:
GitHub Copilot gives an item another id with every event (2026-08). Servers that send deltas only, ends only or the last
event only are read alike: what an end tells beyond its deltas is one more delta, and what differs is refused.
"""

from collections import deque
from typing import Final, assert_never

import msgspec

from limen.adapters.kit import Blocks, Ending, FinishMeaning, OpenCall, OpenText, UsageReports, is_object
from limen.adapters.openai_responses._parse import DELTAS, counts
from limen.adapters.openai_responses._slots import (
    BREAK,
    CallSlot,
    MessageSlot,
    ReasoningSlot,
    Slot,
    WorkSlot,
    kind_of,
    replay_state,
    slot_for,
    texts_of,
    with_sealed,
)
from limen.adapters.openai_responses._wire import (
    DeltaSeen,
    Event,
    Item,
    ItemKind,
    ItemSeen,
    Malformed,
    Piece,
    PieceKind,
    PieceSeen,
    Place,
    ResponseSeen,
    WireDelta,
)
from limen.contract import (
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    FrozenDict,
    IdSeed,
    JsonObject,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
    codes,
    replace_surrogates,
    scrub,
)

# https://platform.openai.com/docs/api-reference/responses/object (2026-11): `status`, and `incomplete_details.reason`.
_WORDS: Final[FrozenDict[FinishMeaning]] = FrozenDict(
    {"completed": "stop", "max_output_tokens": "max-tokens", "max_messages": "max-tokens", "steered": "stop",
     "incomplete": "max-tokens"}
)  # fmt: skip
_OWNERS: Final[dict[PieceKind, ItemKind]] = {
    "text": "message",
    "refusal": "message",
    "reasoning": "reasoning",
    "summary": "reasoning",
    "arguments": "call",
    "input": "custom",
}
_JSON: Final[msgspec.json.Decoder[object]] = msgspec.json.Decoder(object)


class Translator:
    """One answer in flight: `take` or `take_rare` each event in order; `done` is set with the terminal chunk.

    Raises `Malformed` for an order that the wire does not allow.
    """

    __slots__ = ("_by_id", "_by_index", "_ending", "_facts", "_hot", "_hot_key", "_last", "_slots",
                 "_usage", "blocks", "done")  # fmt: skip

    def __init__(self, facts: CallFacts, *, id_seed: IdSeed = b"") -> None:
        self.blocks = Blocks(id_seed)
        self.done = False
        self._facts = facts
        self._ending = Ending(_WORDS)
        self._usage = UsageReports()
        self._slots: list[Slot] = []
        self._by_index: dict[int, Slot] = {}
        self._by_id: dict[str, Slot] = {}
        self._last = -1
        # The block of the delta before, and what an event says that is one more of it: this is so for nearly all.
        self._hot: OpenText | OpenCall | None = None
        self._hot_key: tuple[str, int, int | None, int | None] = ("", -1, None, None)

    def take(self, event: WireDelta, out: list[StreamChunk]) -> None:
        """Take an ordinary delta of text, reasoning or arguments; this runs once for each token."""
        hot, text = self._hot, event.delta
        key = (event.type, event.output_index, event.content_index, event.summary_index)
        if hot is not None and text and key == self._hot_key:
            hot.parts.append(text)
            if type(hot) is OpenText:
                out.append(TextDelta(hot.index, text))
            elif isinstance(hot, OpenText):
                out.append(ReasoningDelta(hot.index, text))
            else:
                out.append(ToolCallDelta(hot.index, hot.id, None, text))
            return
        kind = DELTAS[event.type]
        part = event.summary_index if kind == "summary" else event.content_index
        block = self._take(Place(event.output_index, part=part or 0), Piece(kind, text), out)
        # Whatever ends a block, and what makes the reading careful, forgets this one.
        is_open = block is not None and block.index >= 0 and block.parts and not self.blocks.careful
        self._hot, self._hot_key = (block, key) if is_open else (None, key)

    def take_rare(self, event: Event, out: list[StreamChunk]) -> None:
        """Take any event but a failure; nothing is to be fed after `done` (S6)."""
        match event:
            case DeltaSeen():
                # A delta that the fast decoder could not read may hold half of a surrogate pair (S5).
                self.blocks.careful = True
                self._hot = None
                self._take(event.place, event.piece, out)
            case ItemSeen():
                self._item(event, out)
            case PieceSeen():
                self._piece(event, out)
            case ResponseSeen():
                self._begin(event)
                if event.ending:
                    self._finish(event, out)
            case _:
                assert_never(event)

    def fail(self, failure: Failure, out: list[StreamChunk], response: ResponseSeen | None = None) -> None:
        """End in-band: blocks that are open stay open (C7), usage comes before it where it is known (C5)."""
        if response is not None:
            self._begin(response)
            self._facts.provider_reason = response.ending
        self._end(FinishReason("error", failure), None, out)

    def _begin(self, event: ResponseSeen) -> None:
        facts = self._facts
        facts.response_id = event.id or facts.response_id
        facts.response_model = event.model or facts.response_model
        report = counts(event.usage, facts.notes)
        if report is not None:
            self._usage.add(report, finished=bool(event.ending))

    # -- deltas and ends of parts

    def _take(self, place: Place, piece: Piece, out: list[StreamChunk]) -> OpenText | OpenCall | None:
        kind, text = piece.kind, piece.text
        slot = self._target(place, kind)
        if isinstance(slot, CallSlot):
            if slot.given and not is_object(slot.given):
                # The start of the arguments stood in the item itself.
                self.blocks.add_arguments(slot, slot.given, out)
            slot.given = ""
            self.blocks.add_arguments(slot, text, out)
            return slot
        if isinstance(slot, ReasoningSlot):
            self._reason(slot, piece, place.part, out)
            # A content beside the summary is the same told twice, and is no part of the block.
            return slot if slot.source == kind else None
        if not isinstance(slot, MessageSlot):
            return None
        if kind == "refusal":
            slot.refusals.setdefault(place.part, []).append(text)
            return None
        return self._text(slot, place.part, text, out)

    def _text(self, slot: MessageSlot, part: int, text: str, out: list[StreamChunk]) -> OpenText:
        block = slot.parts.setdefault(part, OpenText("text"))
        if block.ended and text:
            raise Malformed("text for a part that has ended")
        self.blocks.add(block, text, out)
        return block

    def _reason(self, slot: ReasoningSlot, piece: Piece, part: int, out: list[StreamChunk]) -> None:
        """Add to a reasoning block; a summary and a content beside each other are one text told twice."""
        if not piece.text or slot.source not in (None, piece.kind):
            return
        slot.source = piece.kind
        if not slot.places or part > slot.places[-1]:
            if slot.places:
                self.blocks.flush(slot, out)
                self.blocks.add(slot, BREAK, out)
            slot.places.append(part)
            slot.starts.append(len(slot.parts))
        elif part != slot.places[-1]:
            raise Malformed("reasoning for a part that another one has followed")
        self.blocks.add(slot, piece.text, out)

    def _piece(self, event: PieceSeen, out: list[StreamChunk]) -> None:
        """Take the beginning of a part with some text, or the whole text of one."""
        place, piece = event.place, event.piece
        slot = self._find(place)
        if slot is not None and slot.done:
            return
        if not piece.text and (slot is None or kind_of(slot) != _OWNERS[piece.kind]):
            # The beginning of a part that says nothing yet, under whatever name.
            return
        slot = self._target(place, piece.kind)
        self._hot = None
        if isinstance(slot, CallSlot):
            self._settle(slot, piece.text, out)
        elif isinstance(slot, ReasoningSlot):
            self._whole_reasoning(slot, piece, place.part, out)
        elif isinstance(slot, MessageSlot) and piece.kind == "refusal":
            if piece.text:
                slot.refusals[place.part] = [piece.text]
        elif isinstance(slot, MessageSlot):
            block = self._text(slot, place.part, "" if event.done else piece.text, out)
            if event.done:
                self._settle(block, piece.text, out)
            if event.closes and block.index >= 0 and not block.ended:
                self.blocks.end(block, out)

    def _whole_reasoning(self, slot: ReasoningSlot, piece: Piece, part: int, out: list[StreamChunk]) -> None:
        if part not in slot.places:
            self._reason(slot, piece, part, out)
        elif slot.source == piece.kind and part == slot.places[-1]:
            self.blocks.flush(slot, out)
            self._settle_tail(slot, piece.text, "".join(slot.parts[slot.starts[-1] :]), out)

    def _settle(self, block: OpenText | OpenCall, whole: str, out: list[StreamChunk]) -> None:
        """Emit what the whole text has beyond the deltas; one that says nothing settles nothing (W2)."""
        self.blocks.flush(block, out)
        have = "".join(block.parts)
        if isinstance(block, OpenCall) and not have:
            have = block.waiting
        self._settle_tail(block, whole, have, out)

    def _settle_tail(self, block: OpenText | OpenCall, whole: str, have: str, out: list[StreamChunk]) -> None:
        whole = replace_surrogates(whole)
        if not whole or whole == have:
            return
        if isinstance(block, OpenCall) and not whole.startswith(have) and _same_json(whole, have):
            # The same arguments with other blanks: what was sent first stands.
            return
        if block.ended or not whole.startswith(have):
            raise Malformed(f"the end of {_words(block)}, which is not what its deltas say")
        if isinstance(block, OpenCall):
            self.blocks.add_arguments(block, whole[len(have) :], out)
        else:
            self.blocks.add(block, whole[len(have) :], out)

    # -- items

    def _find(self, place: Place) -> Slot | None:
        if place.index is not None:
            return self._by_index.get(place.index)
        return self._by_id.get(place.id) or (self._slots[-1] if self._slots else None)

    def _target(self, place: Place, kind: PieceKind) -> Slot:
        """Find the item of a part, or begin one that the part implies; an item that makes no block takes anything."""
        slot = self._find(place)
        owner = _OWNERS[kind]
        guessed = place.index is None and place.id not in self._by_id
        if slot is None or (guessed and (slot.done or kind_of(slot) != owner)):
            return self._new(owner, place)
        if isinstance(slot, WorkSlot):
            return slot
        if kind_of(slot) != owner:
            raise Malformed(f"{kind} in an item of the kind {kind_of(slot)}")
        if slot.done:
            raise Malformed(f"{kind} for an item that has ended")
        return slot

    def _new(self, kind: ItemKind, place: Place) -> Slot:
        index = self._last + 1 if place.index is None else place.index
        self._last = max(index, self._last)
        slot = self._by_index[index] = slot_for(kind, index)
        if place.id:
            self._by_id[place.id] = slot
        self._slots.append(slot)
        return slot

    def _item(self, event: ItemSeen, out: list[StreamChunk]) -> None:
        item, place = event.item, event.place
        place = msgspec.structs.replace(place, id=item.id or place.id)
        slot = self._by_index.get(place.index) if place.index is not None else self._by_id.get(place.id)
        if slot is not None and kind_of(slot) == item.kind:
            if slot.done and slot.item is not None and (item.id == slot.item.id or item.raw == slot.item.raw):
                return
        elif slot is not None and not slot.done and event.done:
            raise Malformed(f"the end of a {item.type} where a {kind_of(slot)} began")
        if slot is None or slot.done or kind_of(slot) != item.kind:
            # The index of an item that has ended may come again: one item after the other is plain enough.
            slot = self._new(item.kind, place)
        if place.id:
            self._by_id[place.id] = slot
        self._hot = None
        if event.done:
            self._complete(slot, item, out)
        elif isinstance(slot, CallSlot):
            slot.given = item.arguments if item.arguments.strip() != "{}" else ""
            self._name(slot, item, out, final=False)

    def _name(self, slot: CallSlot, item: Item | None, out: list[StreamChunk], *, final: bool) -> None:
        """Open a call once its name and id are there; at its end an id is made where there is none (W4)."""
        if slot.index >= 0:
            return
        native = "" if item is None else item.call_id
        slot.name = slot.name or ("" if item is None else replace_surrogates(item.name))
        if not final and not (native and slot.name):
            return
        if not slot.name:
            raise Malformed("a tool call without a name")
        slot.id = self.blocks.ids.take(native, len(self.blocks.ids.used))
        self.blocks.open_call(slot, out)

    def _complete(self, slot: Slot, item: Item, out: list[StreamChunk], *, cut: bool = False) -> None:
        """Take an item that is whole: emit what its deltas did not say, and end its blocks."""
        slot.item = item
        if isinstance(slot, CallSlot):
            self._settle(slot, item.arguments or ("" if slot.parts else slot.given), out)
            self._name(slot, item, out, final=True)
            self.blocks.end(slot, out, cut=cut or not item.complete)
        elif isinstance(slot, ReasoningSlot):
            self._complete_reasoning(slot, item, out)
        elif isinstance(slot, MessageSlot):
            for index, text in texts_of(item.content, "refusal"):
                slot.refusals[index] = [text]
            self._complete_message(slot, texts_of(item.content, "text"), out)
        slot.done = True

    def _complete_message(self, slot: MessageSlot, told: list[tuple[int, str]], out: list[StreamChunk]) -> None:
        """Settle the text parts, by their indexes; vLLM streams a part as 1 that its item has as 0: then by order."""
        streamed = [index for index, part in sorted(slot.parts.items()) if part.parts]
        if not {index for index, _ in told}.issuperset(streamed):
            places = [*streamed, *range(max(streamed) + 1, max(streamed) + 1 + len(told))]
            told = [(place, text) for place, (_, text) in zip(places, told, strict=False)]
        for index, text in told:
            self._settle(slot.parts.setdefault(index, OpenText("text")), text, out)
        for block in slot.parts.values():
            self._close(block, out)

    def _complete_reasoning(self, slot: ReasoningSlot, item: Item, out: list[StreamChunk]) -> None:
        told = {"summary": texts_of(item.summary, "summary"), "reasoning": texts_of(item.content, "reasoning")}
        source = slot.source or ("summary" if told["summary"] else "reasoning")
        texts = [text for _, text in told[source]]
        begun = len(slot.places)
        self._settle(slot, BREAK.join(texts[:begun]), out)
        for text in texts[begun:]:
            self._reason(slot, Piece(source, text), slot.places[-1] + 1 if slot.places else 0, out)
        self._close(slot, out)

    def _close(self, block: OpenText, out: list[StreamChunk]) -> None:
        self.blocks.flush(block, out)
        if block.index >= 0 and not block.ended:
            self.blocks.end(block, out)

    # -- the end

    def _finish(self, event: ResponseSeen, out: list[StreamChunk]) -> None:
        """Decide the outcome (W5), close what is open, count, finish: the wire is complete."""
        self._hot = None
        if event.ending == "cancelled":
            self._facts.provider_reason = event.ending
            message = "the response was cancelled at the provider"
            failure = Failure(message, codes.ABORTED, phase="mid-stream", provider_code=event.ending)
            self._end(FinishReason("aborted", failure), None, out)
            return
        self._ending.add(event.reason or event.ending if event.ending == "incomplete" else event.ending)
        self._facts.provider_reason = self._ending.word
        cut = self._ending.meaning == "max-tokens"
        self._take_output(event.output, out, cut=cut)
        wrong = self._ending.failure() or _refused(self._slots)
        if wrong is not None:
            self._end(FinishReason("error", wrong), None, out)
            return
        for slot in self._slots:
            if not slot.done:
                self._close_unended(slot, out, cut=cut)
        reason = self._ending.outcome(
            calls=bool(self.blocks.ids.used),
            answered=any(slot.answers for slot in self._slots),
            stop_matched=False,
        )
        state = None if reason.failure else replay_state(self._slots, cut=cut)
        self._end(reason, state, out)

    def _take_output(self, output: tuple[Item, ...], out: list[StreamChunk], *, cut: bool) -> None:
        """Take the items of the last event: those that have not ended so far end by it, the others are known.

        An item is found by its id, else by its place, else it is the next of its kind: the ids of OpenRouter's last
        event are not those of its stream (2026), and some servers leave items out of it.
        """
        waiting: dict[ItemKind, deque[Slot]] = {}
        known = list(self._slots)
        for slot in sorted(known, key=lambda one: one.key):
            waiting.setdefault(kind_of(slot), deque()).append(slot)
        matched: set[int] = set()
        for index, item in enumerate(output):
            queue = waiting.get(item.kind, deque())
            while queue and id(queue[0]) in matched:
                queue.popleft()
            candidates = (self._by_id.get(item.id), self._by_index.get(index), queue[0] if queue else None)
            found = next(
                (one for one in candidates if one and kind_of(one) == item.kind and id(one) not in matched), None
            )
            if found is None:
                place = Place(index if index not in self._by_index else None, item.id)
                found = self._new(item.kind, place)
            matched.add(id(found))
            if not found.done:
                self._complete(found, item, out, cut=cut)
            elif isinstance(found, ReasoningSlot) and found.item is not None:
                found.item = with_sealed(found.item, item)

    def _close_unended(self, slot: Slot, out: list[StreamChunk], *, cut: bool) -> None:
        if isinstance(slot, CallSlot):
            if not slot.parts and slot.given:
                self.blocks.add_arguments(slot, slot.given, out)
            self._name(slot, None, out, final=True)
            if slot.parts and slot.kind == "call" and not cut and not is_object("".join(slot.parts)):
                raise Malformed("a tool call whose arguments end in the middle, and no end of it")
            self.blocks.end(slot, out, cut=cut)
        elif isinstance(slot, ReasoningSlot):
            self._close(slot, out)
        elif isinstance(slot, MessageSlot):
            for block in slot.parts.values():
                self._close(block, out)

    def _end(self, reason: FinishReason, state: JsonObject | None, out: list[StreamChunk]) -> None:
        usage = self._usage.total()
        if usage is not None:
            out.append(UsageChunk(usage))
        out.append(Finish(reason, state))
        self.done = True


def _refused(slots: list[Slot]) -> Failure | None:
    """Return the failure that a refusal is; its text is the message."""
    pieces = [
        piece
        for slot in slots
        if isinstance(slot, MessageSlot)
        for _, texts in sorted(slot.refusals.items())
        for piece in texts
    ]
    if not pieces:
        return None
    text = scrub(replace_surrogates("".join(pieces))).strip() or "the provider refused to answer"
    return Failure(text, codes.CONTENT_FILTER, phase="mid-stream", provider_code="refusal")


def _same_json(one: str, other: str) -> bool:
    try:
        return _JSON.decode(one) == _JSON.decode(other)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False


def _words(block: OpenText | OpenCall) -> str:
    return "a tool call" if isinstance(block, OpenCall) else f"a {block.kind} part"
