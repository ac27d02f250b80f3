"""Bytes of one answer to chunks: Amazon's event stream, or one whole answer (S3)."""

import re
from collections.abc import Sequence

from limen.adapters._aws import FRAMES_MARK, exception_of
from limen.adapters.bedrock._parse import counted, ordinary, rare, read_answer
from limen.adapters.bedrock._translate import Translator
from limen.adapters.bedrock._wire import Malformed
from limen.adapters.kit import UNREADABLE, BodyReader
from limen.adapters.kit.errors import ErrorRules
from limen.contract import IdSeed, Limits, StreamChunk
from limen.transport.framing import EventStreamDecoder, EventStreamFrame


class ConverseReader(BodyReader[EventStreamFrame]):
    """Reads one answer of Converse (`contract.WireReader`).

    It is complete by `messageStop` and `metadata`, or by `messageStop` and the end of the body.
    """

    answer = "an answer of Converse"
    stream_mark: "re.Pattern[bytes] | None" = FRAMES_MARK

    def __init__(
        self,
        errors: ErrorRules,
        *,
        id_seed: IdSeed = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
    ) -> None:
        limits = limits or Limits()
        super().__init__(EventStreamDecoder(limits), errors, limits=limits, content_type=content_type)
        self._depth = limits.depth
        self._translator = Translator(self.call_facts, id_seed=id_seed)

    def _take(self, frames: Sequence[EventStreamFrame], out: list[StreamChunk]) -> None:
        translator, depth = self._translator, self._depth
        try:
            for frame in frames:
                name = frame.text(":event-type")
                event = ordinary(name, frame.payload, depth)
                if event is not None:
                    self.events += 1
                    translator.take(event, out)
                    continue
                self._take_rare(name, frame, out)
                if self.done:
                    break
        except Malformed as fault:
            self._fail(f"the answer holds {fault}")

    def _take_rare(self, name: str, frame: EventStreamFrame, out: list[StreamChunk]) -> None:
        error = exception_of(frame)
        if error is not None:
            self._translator.fail(self._classified(error), out)
            self.events += 1
        else:
            event = rare(name, frame.payload, self._depth, self.call_facts.notes)
            if event is None:
                return
            self.events += 1
            self._translator.take_rare(event, out)
            self.may_end = self._translator.stopped
        self.done = self._translator.done

    def _end_stream(self, out: list[StreamChunk]) -> None:
        if not self._translator.stopped:
            self._close()
            return
        try:
            self._translator.finish(out)
            self.done = True
        except Malformed as fault:
            self._fail(f"the answer holds {fault}")

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        try:
            answer = read_answer(body, depth=self._depth)
            if answer.output is None and (answer.error or answer.message or answer.Message):
                # An error that is the whole body: no stream, so it is raised (E1).
                self._fail_with(body)
            elif answer.output is None:
                self._refuse()
            else:
                self.events += 1
                self._translator.take_whole(answer, counted(answer.usage, self.call_facts.notes), body, out)
                self.done = True
        except UNREADABLE as fault:
            self._refuse_document(body, fault)
        except Malformed as fault:
            out.clear()
            self._fail(f"the answer holds {fault}")
