"""Bytes of one answer to chunks: an event stream, or one whole response (S3)."""

from collections.abc import Sequence
from typing import Final

from limen.adapters.kit import UNREADABLE, BodyReader
from limen.adapters.kit.errors import ErrorRules
from limen.adapters.openai_responses._parse import error_of, leading_error, ordinary, rare, read_answer
from limen.adapters.openai_responses._translate import Translator
from limen.adapters.openai_responses._wire import Event, Malformed, ResponseSeen, StreamFailed
from limen.contract import IdSeed, Limits, StreamChunk, codes
from limen.transport.framing import SseDecoder, SseEvent

_NO_ERROR: Final = b'{"message": "the response failed, and the provider does not say why"}'


class ResponsesReader(BodyReader[SseEvent]):
    """Reads one Responses answer (`contract.WireReader`); complete by its terminal event alone."""

    answer = "a response"

    def __init__(
        self,
        errors: ErrorRules,
        *,
        id_seed: IdSeed = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
    ) -> None:
        limits = limits or Limits()
        super().__init__(SseDecoder(limits, marker=None), errors, limits=limits, content_type=content_type)
        self._depth = limits.depth
        self._translator = Translator(self.call_facts, id_seed=id_seed)

    def _take(self, frames: Sequence[SseEvent], out: list[StreamChunk]) -> None:
        depth, take = self._depth, self._translator.take
        taken = 0
        try:
            for frame in frames:
                event = ordinary(frame.data, depth)
                if event is not None and frame.event != "error":
                    taken += 1
                    take(event, out)
                    continue
                self.events, taken = self.events + taken, 0
                self._take_rare(frame, out)
                if self.done:
                    break
        except Malformed as fault:
            self.events, taken = self.events + taken, 0
            self._fail(f"the answer holds {fault}")
        self.events += taken

    def _take_rare(self, frame: SseEvent, out: list[StreamChunk]) -> None:
        event = rare(frame.event, frame.data, self._depth, self.call_facts.notes)
        if event is None:
            return
        self._take_event(event, out)
        self.events += 1
        self.done = self._translator.done

    def _take_event(self, event: Event | StreamFailed, out: list[StreamChunk]) -> None:
        if isinstance(event, StreamFailed):
            self._translator.fail(self._classified(event.payload), out)
        elif isinstance(event, ResponseSeen) and event.ending == "failed":
            self._translator.fail(self._classified(event.error or _NO_ERROR), out, event)
        else:
            self._translator.take_rare(event, out)

    def _end_stream(self, out: list[StreamChunk]) -> None:
        self._close()

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        try:
            response, event = read_answer(body, depth=self._depth, notes=self.call_facts.notes)
            if event is not None:
                self.events += 1
                self._take_event(event, out)
                self.done = self._translator.done
                if not self.done:
                    # A background response that is still queued or running: an answer that is not there yet.
                    self._fail(
                        f"the response is {response.status}, and its answer is not there yet", codes.STREAM_CLOSED
                    )
            elif error_of(response):
                # An error that is the whole body: no stream, so it is raised (E1).
                self._fail_with(body)
            else:
                self._refuse()
        except UNREADABLE as fault:
            self._refuse_document(body, fault, error=leading_error(body))
        except Malformed as fault:
            out.clear()
            self._fail(f"the answer holds {fault}")
