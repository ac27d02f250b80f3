"""Bytes of one answer to chunks: lines of a stream, or one whole object, without I/O (S3, S4, E1)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from limen.adapters.kit import UNREADABLE, BodyReader, DepthCheck, first_document, is_cut_short
from limen.adapters.kit.errors import ErrorRules
from limen.adapters.ollama._parse import LINE, read_model, reread
from limen.adapters.ollama._translate import Translator
from limen.adapters.ollama._wire import WireLine
from limen.contract import IdSeed, Limits, StreamChunk
from limen.transport.framing import NdjsonDecoder

_UNREADABLE: Final = (ValueError, *UNREADABLE)
# The part of a line that is no answer from which a failure takes its words.
_QUOTED_BYTES: Final = 1024


class OllamaReader(BodyReader[bytes]):
    """Reader of one answer of Ollama's chat (`contract.WireReader`): complete by `"done": true` alone.

    A whole answer is the object of a last line, so it is read as a stream of one line; where it stands on several
    lines, it is read when the body ends. An error in a line is in-band, and raised where it is all of a body whose
    content type says that it is no stream (E1). Lines without a known field say nothing (C15).
    """

    answer = "an answer of Ollama's chat"
    documents = b""
    stream_mark = None

    def __init__(
        self,
        errors: ErrorRules,
        *,
        id_seed: IdSeed = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
    ) -> None:
        limits = limits or Limits()
        super().__init__(NdjsonDecoder(limits), errors, limits=limits, content_type=content_type)
        self._translator = Translator(self.call_facts, id_seed=id_seed)
        self._depth = DepthCheck(limits.depth)
        self._depth.enabled = True
        self._is_whole = (content_type or "").partition(";")[0].strip().lower() == "application/json"
        self._silent = False  # whether a line without a known field has come
        self._object: bytearray | None = None  # a first object that did not end within its line
        self._at_end = False

    def eof(self) -> list[StreamChunk]:
        """Take the body's clean end; return the last chunks, or set `failure`."""
        self._at_end = True
        return super().eof()

    def _take(self, frames: Sequence[bytes], out: list[StreamChunk]) -> None:
        decode, take, depth = LINE.decode, self._translator.take, self._depth
        longest = depth.longest if self.events else -1
        for payload in frames:
            if len(payload) <= longest and payload.startswith(depth.beginning):
                try:
                    line = decode(payload)
                except (msgspec.DecodeError, RecursionError):
                    line = None
                if line is not None and line.message is not None and not (line.done or line.error):
                    # An ordinary line; this runs once for each token.
                    self.events += 1
                    try:
                        take(line, payload, out)
                    except _UNREADABLE as fault:
                        self._take_unreadable(payload, fault, out)
                        return
                    continue
            self._take_slowly(payload, out)
            if self.done or self.failure is not None:
                return
            longest = depth.longest if self.events else -1

    def _take_slowly(self, payload: bytes, out: list[StreamChunk]) -> None:
        """Take a line that is not known to be an ordinary one."""
        try:
            if self._object is not None:
                self._extend_object(self._object, payload)
                return
            try:
                line = LINE.decode(payload) if self._depth.is_shallow(payload) else self._reread(payload)
            except (msgspec.DecodeError, RecursionError):
                line = self._reread(payload)
            self._take_line(line, payload, out)
        except _UNREADABLE as fault:
            self._take_unreadable(payload, fault, out)

    def _reread(self, payload: bytes) -> WireLine:
        line = reread(payload, self._limits.depth)
        self._translator.be_careful()
        return line

    def _take_line(self, line: WireLine, payload: bytes, out: list[StreamChunk]) -> None:
        """Take any line: the first one, the last one, an error, one that says nothing."""
        if self.call_facts.response_model is None:
            self.call_facts.response_model = read_model(payload)
        if line.error:
            self._take_error(line.error, payload, out)
        elif line.message is None and line.done is None:
            self._silent = True
        else:
            self.events += 1
            self._translator.take(line, payload, out)
            if line.done:
                self._translator.finish(out)
                self.done = True

    def _take_error(self, error: object, payload: bytes, out: list[StreamChunk]) -> None:
        if not isinstance(error, (str, dict, list)):
            raise ValueError(f"`error` is {error!r}, which is no error that anybody documented")
        if self._is_whole and not self.events:
            self._fail_with(payload)
            return
        self._translator.fail(self._classified(payload), out)
        self.events += 1
        self.done = True

    def _take_unreadable(self, payload: bytes, fault: Exception, out: list[StreamChunk]) -> None:
        """Tell a line that was cut, or the beginning of an object on several lines, from what this wire never sends."""
        cut = is_cut_short(payload)
        if cut and not self.events and not self._silent:
            self._object = bytearray(payload)
        elif cut and self._at_end:
            self._end_stream(out)
        elif self.events:
            self._fail(f"a line of the stream is not what Ollama documents: {fault}")
        else:
            # As much as the line holds, however the reads were cut.
            self._head = payload[:_QUOTED_BYTES]
            self._refuse(f" ({fault})")

    def _extend_object(self, unfinished: bytearray, payload: bytes) -> None:
        try:
            line = LINE.decode(payload)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            if line.message is not None or line.done is not None:
                # A line of the stream: what stood before it was cut, and is no object on several lines.
                self._head = bytes(unfinished[:_QUOTED_BYTES])
                self._refuse(" (its first line is no JSON)")
                return
        unfinished += b"\n" + payload
        if len(unfinished) > self._limits.event_bytes:
            limit = self._limits.event_bytes
            self._fail(f"the answer is larger than {limit} bytes; limits.event_bytes sets the limit")

    def _end_stream(self, out: list[StreamChunk]) -> None:
        unfinished, self._object = self._object, None
        if unfinished is not None:
            self._read_document(bytes(unfinished), out)
            if self._over():
                return
        self._translator.flush(out)
        if self._silent and not self.events:
            self._refuse()
        else:
            self._close()

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        document, ends = first_document(body)
        if ends and len(document) == len(body):
            try:
                self._take_line(self._reread(document), document, out)
            except _UNREADABLE as fault:
                self._refuse(f" ({fault})")
        elif ends or not is_cut_short(body):
            self._refuse(" (it begins like JSON and is none)")
