"""The body of one answer: a stream of frames or one whole document, told apart by its first byte (S3)."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, Generic, Protocol, TypeVar

from limen.adapters.kit._json import first_document, is_cut_short, readable_words
from limen.adapters.kit.errors import ErrorRules, classify_event
from limen.contract import CallFacts, Failure, Limits, LlmError, Phase, StreamChunk, codes, scrub

F_co = TypeVar("F_co", covariant=True)
F = TypeVar("F")

_BOM: Final = b"\xef\xbb\xbf"
_HEAD_BYTES: Final = 1024

# How the lines of an event stream begin; a body with none among its first bytes is no event stream.
SSE_FIELD: Final = re.compile(rb"(?:^|[\r\n])(?:(?:data|event|id|retry)?:|error: ?[{\[\"])")


class Framing(Protocol[F_co]):
    """Bytes to frames: `feed` each read, then `eof` once; past a limit `failure` is set after the last good frame."""

    @property
    def failure(self) -> LlmError | None:
        """The failure after which no more frames come."""
        ...

    def feed(self, data: bytes) -> Sequence[F_co]:
        """Take one read; return the frames it completed."""
        ...

    def eof(self) -> Sequence[F_co]:
        """Take the clean end of the body; return the last frames."""
        ...


class BodyReader(ABC, Generic[F]):
    """Base of every wire's reader (`contract.WireReader`): `feed` each read, then `eof` once; neither raises.

    A wire adds `_take` (frames of a stream), `_end_stream` (the stream's clean end) and `_read_document` (a whole
    answer). Failures that an adapter must raise are kept in `failure` after the chunks that came before them (E1, S4).

    - `framing`: the wire's; `answer`: the name of a whole answer, for messages, such as "a chat completion".
    - `documents`: first bytes that begin a whole answer and no frame; empty for a wire whose frames begin so too.
    - `stream_mark`: a pattern that the first bytes of a real stream hold; `None` asks for none.
    """

    answer: str = "an answer"
    documents: bytes = b"{["
    stream_mark: "re.Pattern[bytes] | None" = SSE_FIELD

    def __init__(
        self,
        framing: Framing[F],
        errors: ErrorRules,
        *,
        limits: Limits,
        content_type: str | None = None,
        facts: CallFacts | None = None,
    ) -> None:
        self.call_facts: CallFacts = facts or CallFacts()
        self.failure: LlmError | None = None
        self.done = False
        self.may_end = False
        self.events = 0
        self._framing = framing
        self._errors = errors
        self._limits = limits
        self._content_type = content_type
        self._streams = False
        self._head = b""  # the body's first bytes, until an event has shown what it is
        self._document: bytearray | None = None

    # -- what a wire adds

    @abstractmethod
    def _take(self, frames: Sequence[F], out: list[StreamChunk]) -> None:
        """Translate frames in order; stop after the terminal chunk (`done`) or a failure."""

    @abstractmethod
    def _end_stream(self, out: list[StreamChunk]) -> None:
        """Take the clean end of a stream that was not complete: finish it where the wire allows, else `_close()`."""

    @abstractmethod
    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        """Translate a whole answer as if it had been streamed (S3)."""

    # -- the body

    def feed(self, data: bytes) -> list[StreamChunk]:
        """Take one read; return the chunks it completed."""
        out: list[StreamChunk] = []
        if self.done or self.failure is not None:
            return out
        if self._streams:
            if not self.events:
                self._head += data[: _HEAD_BYTES - len(self._head)]
            self._frames(self._framing.feed(data), out)
        elif self._document is not None:
            self._extend(self._document, data)
        else:
            self._begin(data, out)
        return out

    def eof(self) -> list[StreamChunk]:
        """Take the body's clean end; return the last chunks, or set `failure`."""
        out: list[StreamChunk] = []
        if self._over():
            return out
        if self._document is not None:
            self._read_document(bytes(self._document).strip(), out)
            return out
        self._frames(self._framing.eof(), out)
        if not self._over():
            self._end_stream(out)
        return out

    def _begin(self, data: bytes, out: list[StreamChunk]) -> None:
        head = self._head + data
        body = head.removeprefix(_BOM).lstrip()
        if not body or _BOM.startswith(head):
            # Blank bytes before the first event tell nothing: only so much of them is kept as a mark may need.
            self._head = head[:_HEAD_BYTES] if _BOM.startswith(head) else b"\n"
            return
        self._head = body[:_HEAD_BYTES]
        if body[:1] in self.documents if self.documents else False:
            self._document = bytearray()
            self._extend(self._document, body)
            return
        self._streams = True
        self._frames(self._framing.feed(head), out)

    def _extend(self, document: bytearray, data: bytes) -> None:
        document += data
        if len(document) > self._limits.event_bytes:
            limit = self._limits.event_bytes
            self._fail(f"the answer is larger than {limit} bytes; limits.event_bytes sets the limit")

    def _frames(self, frames: Sequence[F], out: list[StreamChunk]) -> None:
        self._take(frames, out)
        failure = self._framing.failure
        if failure is not None and not self._over():
            if self._is_no_stream():
                self._refuse()
            else:
                self._fail(failure.failure.message, failure.code)

    def _over(self) -> bool:
        return self.done or self.failure is not None

    # -- outcomes

    @property
    def _phase(self) -> Phase:
        return "mid-stream" if self.events else "first-event"

    def _classified(self, payload: bytes) -> Failure:
        """Say what an error inside the stream, or in place of a whole answer, means."""
        return classify_event(payload, rules=self._errors, phase=self._phase)

    def _close(self) -> None:
        """Fail because the body ended before the answer was complete, or was no answer at all."""
        if self._is_no_stream():
            self._refuse()
        elif not self.events:
            self._fail("the provider closed the stream before its first event", codes.STREAM_CLOSED)
        else:
            self._fail("the provider closed the stream before the answer was complete", codes.STREAM_CLOSED)

    def _is_no_stream(self) -> bool:
        mark = self.stream_mark
        return not self.events and self._streams and mark is not None and not mark.search(self._head)

    def _refuse(self, why: str = "") -> None:
        """Fail because the body is nothing that this wire sends, quoting its first readable words."""
        kind = self._content_type or "none"
        head = self._head if self._document is None else bytes(self._document[:_HEAD_BYTES])
        self._fail(
            f"the body is neither a stream of events nor {self.answer} (content type: {kind}): "
            f"{readable_words(head)}{why}"
        )

    def _refuse_document(
        self, body: bytes, why: object = "it begins like JSON and is none", *, error: bytes | None = None
    ) -> None:
        """Fail over a whole answer that cannot be read: its rest did not arrive, or it is nothing of this wire (S3).

        `error`: the document that tells an error, where the body begins with one.
        """
        if error is not None:
            self._fail_with(error)
        elif is_cut_short(body) and not first_document(body)[1]:
            self._fail("the answer ended before its JSON was complete", codes.STREAM_CLOSED)
        else:
            self._refuse(f" ({why})")

    def _fail(self, message: str, code: str = codes.MALFORMED_RESPONSE) -> None:
        self.failure = LlmError(scrub(message), code, phase=self._phase)

    def _fail_with(self, payload: bytes) -> None:
        """Fail because an error stands in place of the whole answer: no stream, so it is raised (E1)."""
        self.failure = LlmError.of(self._classified(payload))
