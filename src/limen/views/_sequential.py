"""Encoder of a wire without blocks: text, reasoning and calls one after the other."""

from abc import abstractmethod
from collections import deque

from limen.views._encoder import EncoderOptions, OutgoingBlock, WireEncoder, WireEvent


class SequentialEncoder(WireEncoder):
    """Encoder whose wire has one text and one reasoning, and no word for where a block begins or ends.

    Of the blocks of one kind the first that is open goes out as it comes; what arrives in the others waits for it (V1).
    A call goes out in one piece at its end, in the order in which calls began; the encoder of a wire that takes
    fragments overrides `_call`.
    """

    def __init__(self, *, model: str, id: str, options: EncoderOptions) -> None:  # noqa: A002 - V1 fixes the name
        super().__init__(model=model, id=id, options=options)
        self._waiting: dict[str, deque[OutgoingBlock]] = {"text": deque(), "reasoning": deque(), "tool-call": deque()}

    @abstractmethod
    def _piece(self, block: OutgoingBlock, text: str) -> WireEvent:
        """Return the event of a piece of text or reasoning."""

    def _whole_call(self, block: OutgoingBlock) -> list[WireEvent]:
        """Return the event of a call that has ended; none where it went out in fragments, or the wire has no place."""
        return []

    def _open_block(self, block: OutgoingBlock) -> list[WireEvent]:
        self._waiting[block.kind].append(block)
        return []

    def _text(self, block: OutgoingBlock, text: str) -> list[WireEvent]:
        return [self._piece(block, text)] if self._waiting[block.kind][0] is block else []

    def _call(self, block: OutgoingBlock, arguments: str, *, first: bool) -> list[WireEvent]:
        if first:
            self._waiting[block.kind].append(block)
        return []

    def _close_block(self, block: OutgoingBlock) -> list[WireEvent]:
        waiting = self._waiting[block.kind]
        return self._next(waiting) if waiting and waiting[0] is block else []

    def _next(self, waiting: deque[OutgoingBlock]) -> list[WireEvent]:
        """Drop the block that has ended, and return what arrived in the others up to the next one that is open."""
        events: list[WireEvent] = []
        ended = waiting.popleft()
        if ended.kind == "tool-call":
            events += self._whole_call(ended)
        while waiting:
            block = waiting[0]
            if block.kind != "tool-call" and block.text:
                events.append(self._piece(block, block.text))
            if not block.ended:
                break
            waiting.popleft()
            if block.kind == "tool-call":
                events += self._whole_call(block)
        return events

    def _held(self) -> list[WireEvent]:
        """Return the text that waits behind an open block: a refusal may come while blocks are open."""
        held: list[WireEvent] = []
        for kind in ("text", "reasoning"):
            while self._waiting[kind]:
                held += self._next(self._waiting[kind])
        return held
