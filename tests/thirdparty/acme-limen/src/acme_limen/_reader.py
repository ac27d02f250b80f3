"""Bytes of an answer to chunks: lines of a stream, or one whole document, without I/O."""

from collections.abc import Sequence

from acme_limen._translate import Translator
from acme_limen._wire import LINE, WireLine
from limen.adapters.kit import UNREADABLE, BodyReader, is_cut_short
from limen.adapters.kit.errors import ErrorRules
from limen.contract import IdSeed, Limits, LlmError, StreamChunk, codes, dumps, loads


class Lines:
    """Framing of Acme's wire: lines that are not blank, at most `limit` bytes each (`kit.Framing`)."""

    def __init__(self, limit: int) -> None:
        self.failure: LlmError | None = None
        self._limit = limit
        self._parts: list[bytes] = []  # of a line whose end has not come; joined once, whatever the reads were
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Take one read; return the lines it completed."""
        lines: list[bytes] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._add(piece)
            lines.append(b"".join(self._parts).strip())
            self._parts, self._size = [], 0
        self._add(rest)
        return [line for line in lines if line]

    def eof(self) -> list[bytes]:
        """Take the end of the body; return a last line without its line end, unless it was cut."""
        rest = b"".join(self._parts).strip()
        return [rest] if rest and not is_cut_short(rest) else []

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self.failure = LlmError(f"a line is longer than {self._limit} bytes", codes.MALFORMED_RESPONSE)
        else:
            self._parts.append(piece)


class AcmeReader(BodyReader[bytes]):
    """Reader of one answer: `{"say": …}` lines, or `{"whole": [lines]}`, which its content type tells apart (S3)."""

    answer = "an answer of Acme's"
    stream_mark = None

    def __init__(self, errors: ErrorRules, *, id_seed: IdSeed, limits: Limits | None, content_type: str | None) -> None:
        limits = limits or Limits()
        super().__init__(Lines(limits.event_bytes), errors, limits=limits, content_type=content_type)
        # A line begins like a whole answer, so the first byte tells nothing.
        self.documents = b"{[" if (content_type or "").startswith("application/json") else b""
        self._translator = Translator(id_seed, self.call_facts)

    def _take(self, frames: Sequence[bytes], out: list[StreamChunk]) -> None:
        for frame in frames:
            try:
                self._take_line(loads(frame, LINE, depth=self._limits.depth), out)
            except (ValueError, *UNREADABLE) as fault:
                if self.events:
                    self._fail(f"a line is not what Acme documents: {fault}")
                else:
                    self._refuse(f" ({fault})")
            if self._over():
                return

    def _take_line(self, line: WireLine, out: list[StreamChunk]) -> None:
        if line.error is not None:
            self._translator.fail(self._classified(dumps({"error": line.error})), out)
            self.done = True
            return
        self.events += 1
        self._translator.take(line, out)
        self.may_end = self._translator.ending.word is not None
        if line.bye:
            self._complete(out)

    def _end_stream(self, out: list[StreamChunk]) -> None:
        if self.may_end:
            self._complete(out)
        else:
            self._close()

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        if is_cut_short(body):
            self._close()
            return
        try:
            answer = loads(body, LINE, depth=self._limits.depth)
            if answer.error is not None:
                self._fail_with(body)
            elif answer.whole is None:
                self._refuse()
            for line in answer.whole or ():
                if not self._over():
                    self._take_line(line, out)
            if answer.whole is not None and not self._over():
                self._end_stream(out)
        except (ValueError, *UNREADABLE) as fault:
            self._refuse(f" ({fault})")

    def _complete(self, out: list[StreamChunk]) -> None:
        self._translator.finish(out)
        self.done = True
