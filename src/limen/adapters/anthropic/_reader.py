"""Bytes of one answer to chunks: an event stream, or one whole message (S3)."""

import re
from collections.abc import Sequence

from limen.adapters._aws import FRAMES_MARK, is_bare_error
from limen.adapters.anthropic._parse import leading_error, ordinary, rare, read_answer
from limen.adapters.anthropic._translate import Translator
from limen.adapters.anthropic._wire import Malformed, StreamFailed
from limen.adapters.kit import UNREADABLE, BodyReader, Framing
from limen.adapters.kit.errors import ErrorRules
from limen.contract import IdSeed, Limits, StreamChunk
from limen.transport.framing import SseEvent


class MessagesReader(BodyReader[SseEvent]):
    """Reads one Messages answer (`contract.WireReader`); complete by `message_stop` alone.

    `framing` is the row's: server-sent events, or Amazon's frames.
    """

    answer = "a message"

    def __init__(
        self,
        framing: Framing[SseEvent],
        errors: ErrorRules,
        *,
        id_seed: IdSeed = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
    ) -> None:
        limits = limits or Limits()
        super().__init__(framing, errors, limits=limits, content_type=content_type)
        self._depth = limits.depth
        self._translator = Translator(self.call_facts, id_seed=id_seed)

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
                if self.done:
                    break
        except Malformed as fault:
            self._fail(f"the answer holds {fault}")

    def _take_rare(self, frame: SseEvent, out: list[StreamChunk]) -> None:
        event = rare(frame.event, frame.data, self._depth, self.call_facts.notes)
        if event is None:
            return
        if isinstance(event, StreamFailed):
            self._translator.fail(self._classified(event.payload), out)
            self.events += 1
        else:
            self.events += 1
            self._translator.take_rare(event, out)
        self.done = self._translator.done

    def _end_stream(self, out: list[StreamChunk]) -> None:
        self._close()

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        try:
            answer = read_answer(body, depth=self._depth, notes=self.call_facts.notes)
            message = answer.message
            if message.error or message.type == "error":
                # An error that is the whole body: no stream, so it is raised (E1).
                self._fail_with(body)
            elif message.content is None and message.type != "message":
                self._refuse()
            else:
                self.events += 1
                self._translator.take_whole(answer, out)
                self.done = self._translator.done
        except UNREADABLE as fault:
            self._refuse_document(body, fault, error=leading_error(body))
        except Malformed as fault:
            out.clear()
            self._fail(f"the answer holds {fault}")


class InvokeReader(MessagesReader):
    """The same in Amazon's frames; an error that is the whole body is Amazon's own, `{"message": …}`."""

    stream_mark: "re.Pattern[bytes] | None" = FRAMES_MARK

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        if is_bare_error(body):
            self._fail_with(body)
        else:
            super()._read_document(body, out)
