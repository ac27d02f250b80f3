"""Bytes of one answer to chunks: an event stream, an array of chunks, or one whole answer (S3)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from limen.adapters.gemini._parse import CHUNK, CHUNKS, FIRST_CHUNK, is_plain, read_parts, reread
from limen.adapters.gemini._translate import Translator
from limen.adapters.gemini._wire import Malformed, WireChunk, WireFirstChunk
from limen.adapters.kit import UNREADABLE, BodyReader, first_document, mended, without_lone_halves
from limen.adapters.kit.errors import ErrorRules
from limen.contract import IdSeed, Limits, StreamChunk, loads, replace_surrogates
from limen.transport.framing import SseDecoder, SseEvent

_MARKER: Final = b"[DONE]"


class GenerateReader(BodyReader[SseEvent]):
    """Reads one answer (`contract.WireReader`).

    The wire has no end marker: an answer is complete by a finish reason and the end of the body (W6, S6), or by a
    prompt that was refused.
    """

    answer = "an answer of generateContent"

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
        self._known = False  # whether id and model are known, which every chunk repeats
        self._translator = Translator(self.call_facts, id_seed=id_seed)

    def _take(self, frames: Sequence[SseEvent], out: list[StreamChunk]) -> None:
        depth, take_ordinary = self._depth, self._translator.take_ordinary
        try:
            for frame in frames:
                payload = frame.data
                shallow = len(payload) <= 2 * depth or payload.count(b"{") + payload.count(b"[") <= depth
                try:
                    chunk = CHUNK.decode(payload) if shallow and self._known else None
                except (msgspec.DecodeError, RecursionError):
                    chunk = None
                if chunk is None or chunk.error or frame.event:
                    self._take_rare(frame, payload, out)
                elif take_ordinary(chunk, out):
                    self.events += 1
                    continue
                else:
                    self._take_chunk(chunk, payload, out)
                if self.done:
                    return
        except Malformed as fault:
            self._fail(f"the answer holds {fault}")
            return
        self.may_end = self._translator.ending.word is not None

    def _take_chunk(self, chunk: WireChunk, payload: bytes, out: list[StreamChunk]) -> None:
        if chunk.candidates or chunk.feedback is not None:
            self.events += 1
        if is_plain(chunk):
            self._translator.take(chunk, out)
        else:
            self._translator.take_parts(chunk, read_parts(payload), out)
        if self._translator.is_blocked:
            self._complete(out)

    def _take_rare(self, frame: SseEvent, payload: bytes, out: list[StreamChunk]) -> None:
        if payload.strip() == _MARKER:
            return  # gateways add it
        if frame.event == "error":
            self._end_in_band(payload, out)
            return
        chunk = self._read(payload)
        if chunk.error:
            self._translator.count(chunk)
            self._end_in_band(payload, out)
        else:
            self._take_chunk(chunk, payload, out)

    def _read(self, payload: bytes) -> WireChunk:
        """Read a chunk with all that it may have; what the fast decoder refuses is read tolerantly (S5)."""
        decoder = CHUNK if self._known else FIRST_CHUNK
        shallow = payload.count(b"{") + payload.count(b"[") <= self._depth
        try:
            chunk = decoder.decode(payload) if shallow else None
        except (msgspec.DecodeError, RecursionError):
            chunk = None
        if chunk is None:
            chunk = reread(payload, decoder, self._depth, self.call_facts.notes)
            self._translator.blocks.careful = True
        if isinstance(chunk, WireFirstChunk):
            facts = self.call_facts
            facts.response_id = facts.response_id or replace_surrogates(str(chunk.id or "")) or None
            facts.response_model = facts.response_model or replace_surrogates(chunk.model or "") or None
            self._known = facts.response_id is not None and facts.response_model is not None
        return chunk

    def _end_stream(self, out: list[StreamChunk]) -> None:
        if self._translator.ending.word is not None:
            self._complete(out)
        else:
            self._translator.flush(out)
            self._close()

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        document, whole = first_document(body)
        try:
            if not whole:
                self._refuse_document(body)
            elif document.startswith(b"["):
                self._take_array(document, out)
            else:
                self._take_whole(document, out)
        except (Malformed, *UNREADABLE) as fault:
            self._refuse(f" ({fault})")

    def _take_array(self, document: bytes, out: list[StreamChunk]) -> None:
        """Take the form of the stream without `alt=sse`: one array of chunks, or of one error (S3)."""
        try:
            chunks = loads(document, CHUNKS, depth=self._depth)
        except msgspec.DecodeError:
            chunks = loads(without_lone_halves(mended(document)), CHUNKS, depth=self._depth)
        for number, raw in enumerate(chunks):
            payload = bytes(raw)
            if number == 0 and self._is_error(payload):
                self._fail_with(document)
                return
            self._take_rare(SseEvent(None, payload), payload, out)
            if self.done:
                return
        if not self.events:
            self._refuse()
            return
        self._end_stream(out)

    def _take_whole(self, document: bytes, out: list[StreamChunk]) -> None:
        """Take one object: a whole answer, or an error in its place, which is raised (E1)."""
        if self._is_error(document):
            self._fail_with(document)
            return
        chunk = self._read(document)
        if chunk.candidates is None and chunk.feedback is None:
            self._refuse()
            return
        self._take_chunk(chunk, document, out)
        if not self.done:
            self._end_stream(out)

    def _is_error(self, payload: bytes) -> bool:
        chunk = self._read(payload)
        return bool(chunk.error) and not chunk.candidates

    def _complete(self, out: list[StreamChunk]) -> None:
        self._translator.finish(out)
        self.done = True

    def _end_in_band(self, payload: bytes, out: list[StreamChunk]) -> None:
        self._translator.fail(self._classified(payload), out)
        self.events += 1
        self.done = True
