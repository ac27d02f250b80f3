"""Bytes of one answer to chunks: an event stream, or one whole answer (S3)."""

from collections.abc import Sequence
from typing import Final

from limen.adapters.cohere._parse import ordinary, read_answer, read_event
from limen.adapters.cohere._translate import Translator
from limen.adapters.cohere._wire import Malformed
from limen.adapters.kit import UNREADABLE, BodyReader
from limen.adapters.kit.errors import ErrorRules
from limen.contract import IdSeed, Limits, StreamChunk, codes
from limen.transport.framing import SseDecoder, SseEvent

_MARKER: Final = b"[DONE]"


class CohereReader(BodyReader[SseEvent]):
    """Reads one answer (`contract.WireReader`).

    A stream is complete by `[DONE]` after `message-end`, or by a clean end of body after it: Cohere sends the marker,
    and was recorded without it (2025-03 … 2026-08). `message-end` always comes, so a marker without it is
    `STREAM_CLOSED` (W6).
    """

    answer = "a chat answer"

    def __init__(
        self,
        errors: ErrorRules,
        *,
        id_seed: IdSeed = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
    ) -> None:
        limits = limits or Limits()
        super().__init__(SseDecoder(limits), errors, limits=limits, content_type=content_type)
        self._depth = limits.depth
        self._translator = Translator(self.call_facts, errors, id_seed=id_seed)

    def _take(self, frames: Sequence[SseEvent], out: list[StreamChunk]) -> None:
        depth, take = self._depth, self._translator.take
        try:
            for frame in frames:
                event = ordinary(frame.event, frame.data, depth)
                if event is not None:
                    self.events += 1
                    take(event, out)
                    continue
                self._take_rare(frame, out)
                if self.done or self.failure is not None:
                    return
        except Malformed as fault:
            self._fail(f"the answer holds {fault}")
        self.may_end = self._translator.is_finished

    def _take_rare(self, frame: SseEvent, out: list[StreamChunk]) -> None:
        payload = frame.data.strip()
        if payload == _MARKER:
            self._end_by_marker(out)
            return
        event = read_event(frame.event, payload, self._depth, self.call_facts.notes)
        if event is None:
            return
        self.events += 1
        if isinstance(event, bytes):
            self._translator.fail(self._classified(event), out)
            self.done = True
        else:
            # What the fast decoder could not read may hold half of a surrogate pair (S5).
            self._translator.take_rare(event, out)
            if self._translator.has_failed:
                self._complete(out)

    def _end_by_marker(self, out: list[StreamChunk]) -> None:
        if self._translator.is_finished:
            self._complete(out)
        else:
            self._fail("the stream ended with its marker and without message-end", codes.STREAM_CLOSED)

    def _end_stream(self, out: list[StreamChunk]) -> None:
        if not self._translator.is_finished:
            self._close()
            return
        try:
            self._complete(out)
        except Malformed as fault:
            self._fail(f"the answer holds {fault}")

    def _complete(self, out: list[StreamChunk]) -> None:
        self._translator.finish(out)
        self.done = True

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        try:
            answer = read_answer(body, self._depth, self.call_facts.notes)
            if isinstance(answer.message, str) or (answer.message is None and answer.error):
                # An error that is the whole body: no stream, so it is raised (E1).
                self._fail_with(body)
            elif answer.message is None:
                self._refuse()
            else:
                self.events += 1
                self._translator.take_whole(answer, answer.message, out)
                self._complete(out)
        except UNREADABLE as fault:
            self._refuse_document(body, fault)
        except Malformed as fault:
            out.clear()
            self._fail(f"the answer holds {fault}")
