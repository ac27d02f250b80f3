"""Bytes of one answer to chunks: framing, parsing and translating in one object, without I/O (S3, S4, E1)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from limen.adapters._vendors import CHAT
from limen.adapters.kit import UNREADABLE, BodyReader, DepthCheck, first_document
from limen.adapters.kit.errors import ErrorRules
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.adapters.openai_chat._parse import EVENT, FIRST_EVENT, is_error_list, reread, tells_failure
from limen.adapters.openai_chat._translate import Translator
from limen.adapters.openai_chat._wire import Event, FirstEvent
from limen.contract import IdSeed, Limits, LlmError, StreamChunk, codes, dumps, replace_surrogates
from limen.transport.framing import SseDecoder, SseEvent

_MARKER: Final = b"[DONE]"
# LlmError: a state for the replay nested deeper than a value may be, where the limit was raised past that.
_UNREADABLE: Final = (ValueError, LlmError, *UNREADABLE)


class ChatReader(BodyReader[SseEvent]):
    """Reader of one chat-completions answer (`contract.WireReader`): `feed` each read, then `eof` once; neither raises.

    The answer is a stream of events, or one JSON document where its first byte that is not blank is `{` or `[` (S3).

    - mapped: `content` (text, parts, an object's bytes) to text; the row's reasoning fields, `thinking` parts and,
      where the row says so, `<think>` tags to reasoning; `tool_calls`, `function_call` and custom tools' calls to tool
      calls; `images` to images; `refusal` to the message of a `CONTENT_FILTER`; usage of the event, the choice or
      `x_groq`; id, model, finish word and, where the row names its field, the stop sequence to the call's facts.
    - kept for the replay: the field that reasoning stood in, `reasoning_details`, a call's `extra_content` (N4).
    - left out: other choices than number 0, log-probabilities, annotations and citations, audio, server tools' items,
      filter results, timings, and every field and event that limen does not know (C14, C15).
    - in-band failures: an error inside a stream, a finish word of failure, a refusal, claimed calls without one, an
      empty answer. Raised, so kept in `failure`: an error that is the whole body, what the wire does not allow, and an
      end that comes too early (E1).
    """

    answer = "a chat completion"

    def __init__(
        self,
        rules: ReadingRules,
        errors: ErrorRules,
        *,
        id_seed: IdSeed = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
        wire: str = CHAT,
    ) -> None:
        limits = limits or Limits()
        super().__init__(SseDecoder(limits), errors, limits=limits, content_type=content_type)
        self._rules = rules
        self._translator = Translator(rules, id_seed=id_seed, facts=self.call_facts, depth=limits.depth, wire=wire)
        self._ending = self._translator.ending
        self._decoder = FIRST_EVENT
        self._depth = DepthCheck(limits.depth)

    def _take(self, frames: Sequence[SseEvent], out: list[StreamChunk]) -> None:
        decode, take = EVENT.decode, self._translator.take
        depth, places = self._depth, self._rules.error_places
        beginning, longest = depth.beginning, depth.longest
        for frame in frames:
            payload = frame.data
            try:
                if len(payload) <= longest and payload.startswith(beginning) and not frame.event:
                    try:
                        event = decode(payload)
                    except (msgspec.DecodeError, RecursionError):
                        event = self._reread(payload)
                    if event.choices and not event.error and not (places and self._error(event, payload)):
                        self.events += 1
                        take(event, payload, out)
                    else:
                        self._take_unsettled(event, payload, out)
                else:
                    self._take_rare(frame, out)
                    beginning, longest = depth.beginning, depth.longest
            except _UNREADABLE as fault:
                self._fail(f"an event of the stream is not what chat completions allow: {fault}")
            if self.done or self.failure is not None:
                return
        if self._ending.word is not None:
            self.may_end = self._may_end()

    def _take_rare(self, frame: SseEvent, out: list[StreamChunk]) -> None:
        """Take the end marker, an error event, or an event that does not look like the one before it."""
        payload = frame.data.strip()
        if payload == _MARKER:
            self._end_by_marker(out)
        elif frame.event == "error":
            self._end_in_band(payload, out)
        else:
            shallow = self._depth.is_shallow(payload)
            try:
                event = self._decoder.decode(payload) if shallow else self._reread(payload)
            except (msgspec.DecodeError, RecursionError):
                event = self._reread(payload)
            self._take_unsettled(event, payload, out)

    def _end_by_marker(self, out: list[StreamChunk]) -> None:
        """Finish at the end marker; one without any finish reason is a stop only where the row says so (W6)."""
        if not self._translator.has_word:
            if self._rules.finish_required:
                # llama-cpp-python ends an interrupted answer so: 8 words of 800 tokens (2026-11).
                self._fail("the stream ended with its marker and without a finish reason", codes.STREAM_CLOSED)
                return
            self.call_facts.notes.append("the stream ended with its marker and without a finish reason")
        self._complete(out)

    def _reread(self, payload: bytes) -> Event:
        event = reread(payload, self._decoder, self._limits.depth, self.call_facts.notes)
        self._translator.be_careful()
        return event

    def _take_unsettled(self, event: Event, payload: bytes, out: list[StreamChunk]) -> None:
        """Take an event with all that only few events have: the answer's id and model, an error, no choices."""
        self._take_facts(event)
        error = self._error(event, payload)
        if error is not None:
            self._translator.count(event)
            self._end_in_band(error, out)
            return
        if event.choices or event.usage is not None:
            self.events += 1
        self._translator.take(event, payload, out)

    def _take_facts(self, event: Event) -> None:
        if not isinstance(event, FirstEvent):
            return
        facts = self.call_facts
        if facts.response_id is None and event.id not in (None, ""):
            facts.response_id = replace_surrogates(str(event.id))
        facts.response_model = facts.response_model or replace_surrogates(event.model or "") or None
        if facts.response_id is not None and facts.response_model is not None:
            self._decoder = EVENT
            self._depth.enabled = True

    def _error(self, event: Event, payload: bytes) -> bytes | None:
        """Return the JSON that tells of a failure, where an event does (W1)."""
        if event.error:
            if not isinstance(event.error, (dict, list, str)):
                raise ValueError(f"`error` is {event.error!r}, which is no error that anybody documented")
            return payload
        places = self._rules.error_places
        if "base_resp" in places and event.base_resp is not None and event.base_resp.status_code:
            return payload
        if "x_groq" in places and event.x_groq is not None and event.x_groq.error:
            return dumps({"error": event.x_groq.error})
        if "choice" in places:
            for choice in event.choices or ():
                if choice is not None and choice.error:
                    return dumps({"error": choice.error})
        if not event.choices and event.usage is None and tells_failure(payload, self._limits.depth):
            return payload
        return None

    def _end_stream(self, out: list[StreamChunk]) -> None:
        try:
            if self._may_end():
                self._complete(out)
            else:
                self._translator.flush(out)
                self._close()
        except _UNREADABLE as fault:
            self._fail(f"the answer is not what chat completions allow: {fault}")

    def _read_document(self, body: bytes, out: list[StreamChunk]) -> None:
        try:
            self._take_document(body, out)
        except _UNREADABLE as fault:
            self._refuse(f" ({fault})")

    def _take_document(self, body: bytes, out: list[StreamChunk]) -> None:
        """Read a body that is one JSON document; events of a stream that follow it are not read (S3)."""
        document, whole = first_document(body)
        if not whole:
            self._refuse_document(body)
            return
        if document.startswith(b"["):
            if not is_error_list(document, self._limits.depth):
                self._refuse()
            else:
                self._fail_with(document)
            return
        event = reread(document, FIRST_EVENT, self._limits.depth, self.call_facts.notes)
        self._take_facts(event)
        error = self._error(event, document)
        if error is not None and event.choices is None and len(document) == len(body):
            self._fail_with(error)
        elif error is not None:
            self._translator.count(event)
            self._end_in_band(error, out)
        elif event.choices is None:
            self._refuse()
        else:
            self._take_whole(event, document, body[len(document) :].lstrip(), out)

    def _take_whole(self, event: Event, document: bytes, rest: bytes, out: list[StreamChunk]) -> None:
        """Take one object with choices: a whole answer, or a single event of a stream, which is no end by itself."""
        if rest[:1] in (b"{", b"["):
            self._refuse(" (it is several JSON documents, one after the other)")
            return
        self.events += 1
        self._translator.be_careful()
        ends = rest.endswith(_MARKER) or any(one is not None and one.message is not None for one in event.choices or ())
        self._translator.take_whole(event, document, out)
        if ends or not event.choices or self._ending.word is not None:
            self._complete(out)
        else:
            self._translator.flush(out)
            self._close()

    def _may_end(self) -> bool:
        return self._rules.end_marker == "optional" and self._ending.word is not None

    def _complete(self, out: list[StreamChunk]) -> None:
        self._translator.finish(out)
        self.done = True

    def _end_in_band(self, error: bytes, out: list[StreamChunk]) -> None:
        self._translator.fail(self._classified(error), out)
        self.done = True
