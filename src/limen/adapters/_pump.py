"""Bytes to chunks over a live connection, once for every wire.

A reader is pure and says what it found; the pump adds what only a connection has: time, phases, the order of bytes
and failures (S4), and when the connection may go (S6).
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from limen.adapters.kit.errors import delay_ms, rate_limits, request_id, should_retry
from limen.contract import (
    AbortSignal,
    CallFacts,
    Failure,
    Finish,
    LlmError,
    Phase,
    ReplayDrop,
    StreamChunk,
    WireReader,
    codes,
    safe_cause,
)
from limen.transport import HttpAnswer

# Where the end of the body is the end of the answer, so long a silence after the finish word is that end too (S6).
SILENCE: Final = 5.0


class WireCall(NamedTuple):
    """The parts of a call beside its connection: how to begin it, read it, and classify a refusal.

    `begin` sends the request, or raises what is wrong with it, and adds replay state that was not used to the list it
    gets; `reader` gets the answer's content type; `classify` and `request_id` get lower-case header names and never
    raise. `clock` is the time of day, for retry hints that are dates. `silence` is in seconds.
    """

    begin: Callable[[list[ReplayDrop]], Awaitable[HttpAnswer]]
    reader: Callable[[str | None], WireReader]
    classify: Callable[[int, Mapping[str, str], bytes], Failure]
    clock: Callable[[], float]
    signal: AbortSignal | None = None
    silence: float = SILENCE
    request_id: Callable[[Mapping[str, str]], str | None] = request_id


class WireStream:
    """The stream of one call: iterate it, or take batches; `aclose` it when it is left early (R11).

    It begins with its first step. Failures of transport and protocol are raised as `LlmError` after every chunk that
    came before them; once it has ended or raised, it is at its end. `call_facts` is complete at the end; the object
    may be another one than at the start.
    """

    __slots__ = (
        "_answer",
        "_begun",
        "_call",
        "_chunks",
        "_dropped",
        "_events",
        "_facts",
        "_failure",
        "_may_end",
        "_over",
        "_reader",
    )

    def __init__(self, call: WireCall) -> None:
        self._dropped: list[ReplayDrop] = []
        self._facts: CallFacts | None = None
        self._call = call
        self._answer: HttpAnswer | None = None
        self._reader: WireReader | None = None
        self._chunks: deque[StreamChunk] = deque()
        self._events = 0
        self._may_end = False
        self._failure: LlmError | None = None
        self._begun = False
        self._over = False

    @property
    def call_facts(self) -> CallFacts:
        """Facts of the call so far, made when they are first needed."""
        if self._facts is None:
            self._facts = CallFacts()
            self._facts.replay_dropped = self._dropped
        return self._facts

    def __aiter__(self) -> "WireStream":
        return self

    async def __anext__(self) -> StreamChunk:
        if not self._chunks:
            self._chunks.extend(await self.next_batch())
            if not self._chunks:
                raise StopAsyncIteration
        return self._chunks.popleft()

    async def next_batch(self) -> list[StreamChunk]:
        """Return the chunks of the next read that had any; an empty list is the end."""
        if self._chunks:
            batch = list(self._chunks)
            self._chunks.clear()
            return batch
        if not self._begun and not self._over:
            self._begun = True
            await self._begin()
        answer, reader = self._answer, self._reader
        while not self._over and answer is not None and reader is not None:
            if self._failure is not None:
                self._over = True
                raise self._failure
            data, broken = b"", None
            try:
                data = await answer.read()
            except LlmError as failure:
                broken = failure
            except BaseException:
                self._over = not answer.readable
                raise
            if broken is not None:
                self._over = True
                raise self._judged(broken)
            chunks = reader.feed(data) if data else reader.eof()
            self._follow(answer, reader, data, chunks)
            if chunks:
                return chunks
        return []

    async def aclose(self) -> None:
        """Close the connection before returning; harmless after the end, and more than once.

        A complete answer has given its connection back, or is about to (S6): that is not undone.
        """
        self._over = True
        self._chunks.clear()
        if self._answer is not None and not (self._reader is not None and self._reader.done):
            await self._answer.close()

    def abandon(self) -> None:
        """Give the connection up from a finalizer of the reader, who warns himself; touches no loop (R11, T2)."""
        if self._answer is not None:
            self._answer.abandon()

    async def _begin(self) -> None:
        failure: LlmError | None = None
        try:
            answer = await self._call.begin(self._dropped)
            self._answer = answer
            if self._over:
                # Left while the request was on its way.
                await answer.close()
                return
            self.call_facts.request_id = self._call.request_id(answer.headers)
            self.call_facts.rate_limits = rate_limits(answer.headers, now=self._call.clock())
            if 200 <= answer.status < 300:
                self._open(answer)
                return
            failure = await self._refusal(answer)
        except LlmError as raised:
            failure = raised
        except BaseException:
            self._over = True
            raise
        self._over = True
        raise self._judged(failure)

    def _open(self, answer: HttpAnswer) -> None:
        reader = self._call.reader(answer.headers.get("content-type"))
        facts, early = reader.call_facts, self.call_facts
        facts.request_id = early.request_id
        facts.rate_limits = early.rate_limits
        facts.replay_dropped = early.replay_dropped + facts.replay_dropped
        self._reader = reader
        self._facts = facts

    async def _refusal(self, answer: HttpAnswer) -> LlmError:
        call = self._call
        body = await answer.error_body()
        failure = call.classify(answer.status, answer.headers, body)
        return LlmError.of(completed(failure, answer, call.clock(), call.request_id))

    def _follow(self, answer: HttpAnswer, reader: WireReader, data: bytes, chunks: list[StreamChunk]) -> None:
        """Do what the reader found in this read means for the connection."""
        if reader.events != self._events:
            if self._events == 0:
                self.call_facts.first_event_ms = answer.since_sent_ms
            self._events = reader.events
            answer.event_arrived()
        else:
            answer.no_event()
        if reader.done:
            self._over = True
            answer.release()
            self._complete(chunks)
        elif reader.failure is not None:
            answer.drop()
            self._failure = self._judged(reader.failure)
        elif not data:
            self._failure = self._judged(LlmError("the answer ended before it was complete", codes.STREAM_CLOSED))
        elif reader.may_end != self._may_end:
            self._may_end = reader.may_end
            answer.end_on_silence(self._call.silence if reader.may_end else None)

    def _complete(self, chunks: list[StreamChunk]) -> None:
        """Give an in-band failure the facts that only the connection knows."""
        last = chunks[-1] if chunks else None
        if isinstance(last, Finish) and last.reason.failure is not None:
            failure = replace(
                last.reason.failure,
                phase=last.reason.failure.phase or self._phase(),
                request_id=last.reason.failure.request_id or self.call_facts.request_id,
            )
            chunks[-1] = replace(last, reason=replace(last.reason, failure=failure))

    def _phase(self) -> Phase:
        return "mid-stream" if self._events else "first-event"

    def _judged(self, error: LlmError) -> LlmError:
        """Give a failure its phase and request id; once aborted, any failure is the abort's (Q6)."""
        failure = error.failure
        phase = failure.phase or (None if self._reader is None else self._phase())
        known = failure.request_id or self.call_facts.request_id
        signal = self._call.signal
        if signal is not None and signal.aborted and failure.code != codes.ABORTED:
            aborted = LlmError("the call was aborted", codes.ABORTED, phase=phase, request_id=known)
            aborted.__cause__ = safe_cause(error)
            return aborted
        if phase == failure.phase and known == failure.request_id:
            return error
        judged = LlmError.of(replace(failure, phase=phase, request_id=known))
        judged.__cause__ = error.__cause__
        return judged


def completed(
    failure: Failure, answer: HttpAnswer, now: float, request_id: Callable[[Mapping[str, str]], str | None]
) -> Failure:
    """Add to a refusal the facts of its headers: status, request id and retry hints (E3)."""
    headers = answer.headers
    return replace(
        failure,
        phase="headers",
        status=failure.status or answer.status,
        provider_retry_after_ms=failure.provider_retry_after_ms or delay_ms(failure.code, headers, now=now),
        request_id=failure.request_id or request_id(headers),
        should_retry=should_retry(headers) if failure.should_retry is None else failure.should_retry,
    )
