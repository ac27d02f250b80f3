"""Bytes to chunks: lines, or one whole answer, in either case without I/O."""

from acme_limen._parse import failure_of, is_cut, read_line
from acme_limen._translate import Translator
from acme_limen._wire import WireLine
from limen.contract import CallFacts, IdSeed, Limits, LlmError, StreamChunk, codes


class AcmeReader:
    """`feed` each read, `eof` once (`limen.contract.WireReader`); never raises, and keeps a failure in `failure`."""

    def __init__(self, id_seed: IdSeed, limits: Limits, content_type: str | None) -> None:
        self.call_facts = CallFacts()
        self.failure: LlmError | None = None
        self.done = False
        self.may_end = False
        self.events = 0
        self._limit = limits.event_bytes
        self._whole = (content_type or "").startswith("application/json")
        self._rest = b""
        self._translator = Translator(id_seed, self.call_facts)

    def feed(self, data: bytes) -> list[StreamChunk]:
        """Take one read; return the chunks it completed."""
        chunks: list[StreamChunk] = []
        self._rest += data
        if not self._whole:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                if self.failure is None and not self.done:
                    self._take(line, chunks)
        if len(self._rest) > self._limit and self.failure is None:
            self._too_long()
        return chunks

    def eof(self) -> list[StreamChunk]:
        """The body ended cleanly: return the last chunks, or set `failure`."""
        chunks: list[StreamChunk] = []
        if self.failure is not None or self.done:
            return chunks
        rest, self._rest = self._rest.strip(), b""
        if rest and not is_cut(rest):
            self._take(rest, chunks)
        self._close(chunks)
        return chunks

    def _close(self, chunks: list[StreamChunk]) -> None:
        if self.failure is not None or self.done:
            return
        if self.may_end:
            chunks += self._translator.finish()
            self.done = True
        else:
            self.failure = LlmError("Acme's answer ended before it was complete", codes.STREAM_CLOSED)

    def _take(self, data: bytes, chunks: list[StreamChunk]) -> None:
        if not data.strip():
            return
        if len(data) > self._limit:
            self._too_long()
            return
        try:
            line = read_line(data)
            if self._whole:
                _check_whole(line)
            self.events += line.error is None
            for one in (line,) if line.whole is None else line.whole:
                chunks += self._translator.line(one)
            self.done, self.may_end = self._translator.finished, self._translator.may_end
        except LlmError as failure:
            self.failure = failure

    def _too_long(self) -> None:
        self.failure = LlmError(f"a line of Acme's is longer than {self._limit} bytes", codes.MALFORMED_RESPONSE)


def _check_whole(line: WireLine) -> None:
    """A whole body is an answer, or an error that was not streamed, which is raised (E1)."""
    if line.error is not None:
        raise LlmError.of(failure_of(line.error))
    if line.whole is None:
        raise LlmError("the body is JSON, and no answer of Acme's", codes.MALFORMED_RESPONSE)
