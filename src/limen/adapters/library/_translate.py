"""The library's chunks to limen's, and what it raises to failures."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from limen.adapters.kit import (
    Blocks,
    Calls,
    Ending,
    Fragment,
    MalformedCall,
    OpenText,
    StateWriter,
    UsageReports,
)
from limen.adapters.kit.errors import classify_answer, classify_event
from limen.adapters.library._parse import Raised, read_part, read_thinking, read_usage
from limen.adapters.library._wire import NAME, REPLAY_VERSION, Delta, Thinking, ToolCall
from limen.contract import (
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    JsonObject,
    LlmError,
    Phase,
    StreamChunk,
    UsageChunk,
    codes,
    replace_surrogates,
    scrub,
)

# A JSON object inside a message, such as `AnthropicException - b'{"type":"error",…}'`.
_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)
_LATE: Final = (
    "httpx.TimeoutException",
    "httpcore.TimeoutException",
    "openai.APITimeoutError",
    "builtins.TimeoutError",
)
_UNCONNECTED: Final = ("httpx.ConnectError", "httpx.ConnectTimeout", "aiohttp.ClientConnectorError")
_CUT: Final = ("httpx.RemoteProtocolError", "httpcore.RemoteProtocolError", "aiohttp.ClientPayloadError")
# What the library says where a stream ended cleanly without a finish word (1.110).
_NO_END: Final = "Stream ended before a finish_reason was received"
_RESET: Final = re.compile(r"ConnectionResetError|Connection reset")
_NETWORK: Final = (
    "httpx.TransportError",
    "httpcore.NetworkError",
    "httpcore.ProtocolError",
    "aiohttp.ClientConnectionError",
    "builtins.OSError",
)
_UNREADABLE: Final = (
    "json.JSONDecodeError",
    "pydantic_core.ValidationError",
    "openai.APIResponseValidationError",
    "builtins.UnicodeDecodeError",
)
# A bug of the library's, which data of another shape than it expects runs into.
_TRIPPED: Final = ("builtins.LookupError", "builtins.TypeError", "builtins.AttributeError", "builtins.ValueError")
_REFUSED: Final = ("litellm.UnsupportedParamsError",)
_OPENED: Final = ("first-event", "mid-stream")
# Exceptions that the HTTP clients make of an answer; the library's own may have a status that nobody sent.
_ANSWERED: Final = ("httpx.HTTPStatusError", "openai.APIStatusError", "aiohttp.ClientResponseError")


class Translator:
    """One answer of the library: `feed` each of its chunks, then `eof`.

    - reasoning and text are one block each, a call one block; all end at the end (C18)
    - only choice 0 counts (W8); usage is disjoint (C5); thinking blocks of Anthropic's become replay state (N4)
    - the finish word is decided at the end (W5)
    """

    def __init__(self, id_seed: Callable[[], bytes], facts: CallFacts) -> None:
        self._blocks = Blocks(id_seed)
        # What the library hands over is text already: half a pair of surrogates may be in any of it (S5).
        self._blocks.careful = True
        self._calls = Calls(self._blocks)
        self._text = OpenText("text")
        self._reasoning = OpenText("reasoning")
        self._ending = Ending()
        self._usage = UsageReports()
        self._refusal: list[str] = []
        self._thinking: list[dict[str, str]] = []
        self._facts = facts
        self.events = 0

    def feed(self, given: object) -> list[StreamChunk]:
        """Return the chunks of one object of the library; a wrong shape raises `MALFORMED_RESPONSE`."""
        part = read_part(given)
        facts = self._facts
        facts.response_id = facts.response_id or part.id or None
        facts.response_model = facts.response_model or part.model or None
        out: list[StreamChunk] = []
        for choice in part.choices or ():
            if choice.index:
                continue
            self.events += 1
            if choice.delta is not None:
                self._take(choice.delta, out)
            if choice.finish_reason:
                self._ending.add(choice.finish_reason)
        report = read_usage(given, facts.notes)
        if report is not None:
            self._usage.add(report, finished=self._ending.word is not None)
        return out

    def eof(self, received: str | None) -> list[StreamChunk]:
        """Return the last chunks; an answer without a finish word is raised as `STREAM_CLOSED`.

        `received` is the finish word that the library had from the provider, where it keeps it: in a chunk it may be
        another one, and a made one where the provider sent none.
        """
        ending, out = self._ending, list[StreamChunk]()
        if received:
            ending.add(received)
        if ending.word is None or received is None:
            phase: Phase = "mid-stream" if self._blocks.opened else "first-event"
            raise LlmError("the answer ended before it was complete", codes.STREAM_CLOSED, phase=phase)
        self._facts.provider_reason = ending.word
        self._blocks.flush(self._reasoning, out)
        self._blocks.flush(self._text, out)
        text = "".join(self._refusal)
        failure = ending.failure(filtered=scrub(replace_surrogates(text)) if text.strip() else None)
        if failure is None and text.strip():
            failure = Failure(scrub(replace_surrogates(text)), codes.CONTENT_FILTER, phase="mid-stream")
        reason = FinishReason("error", failure) if failure is not None else self._outcome(out)
        if reason.failure is None:
            self._blocks.end_all(out, cut=ending.meaning == "max-tokens")
        self._count(out)
        out.append(Finish(reason, self._state() if reason.failure is None else None))
        return out

    def failed(self, failure: Failure) -> list[StreamChunk]:
        """Return the chunks of an answer that failed inside its stream, the usage before the finish (C5)."""
        out: list[StreamChunk] = []
        self._count(out)
        return [*out, Finish(FinishReason("error", failure))]

    def _take(self, delta: Delta, out: list[StreamChunk]) -> None:
        for given in delta.thinking_blocks or ():
            thinking = read_thinking(given, self._facts.notes)
            if thinking is not None:
                self._keep(thinking)
        self._blocks.add(self._reasoning, delta.reasoning_content or "", out)
        self._blocks.add(self._text, delta.content or "", out)
        if delta.refusal:
            self._refusal.append(delta.refusal)
        for call in delta.tool_calls or ():
            self._fragment(call, out)

    def _fragment(self, call: ToolCall, out: list[StreamChunk]) -> None:
        name, text = ("", "") if call.function is None else (call.function.name, call.function.arguments)
        native = "" if call.id is None else replace_surrogates(str(call.id))
        try:
            self._calls.take(Fragment(call.index, native, name or "", text or ""), out)
        except MalformedCall as fault:
            raise LlmError(scrub(str(fault)), codes.MALFORMED_RESPONSE) from None

    def _keep(self, part: Thinking) -> None:
        """Add a part of a thinking block to the block it continues; a signature ends one, hidden ones are whole."""
        if part.type == "redacted_thinking":
            self._thinking.append({"type": "redacted_thinking", "data": part.data or ""})
            return
        last = self._thinking[-1] if self._thinking else None
        if last is None or last["type"] != "thinking" or last["signature"]:
            last = {"type": "thinking", "thinking": "", "signature": ""}
            self._thinking.append(last)
        last["thinking"] += part.thinking or ""
        last["signature"] += part.signature or ""

    def _outcome(self, out: list[StreamChunk]) -> FinishReason:
        try:
            self._calls.open_waiting(out)
        except MalformedCall as fault:
            raise LlmError(scrub(str(fault)), codes.MALFORMED_RESPONSE) from None
        answered = not (self._text.is_blank and self._reasoning.is_blank)
        return self._ending.outcome(calls=bool(self._calls.listed), answered=answered, stop_matched=False)

    def _count(self, out: list[StreamChunk]) -> None:
        usage = self._usage.total()
        if usage is not None:
            out.append(UsageChunk(usage))

    def _state(self) -> JsonObject | None:
        state = StateWriter(NAME, REPLAY_VERSION)
        signed = [block for block in self._thinking if block.get("signature") or block["type"] != "thinking"]
        if signed:
            state.field("thinking", signed)
        return state.state(len(self._blocks.opened))


class Judged(NamedTuple):
    """A failure, and whether the provider told of it inside its stream (E1: in-band) or not (raised)."""

    failure: Failure
    told: bool = False


def judged(raised: Raised, *, phase: Phase) -> Judged:
    """Say what an exception of the library means, by its classes, its status and the answer behind it.

    `phase` is `headers` until the library has an answer, and before any I/O `resolve`; what comes later and is neither
    the network's nor the library's own fault was told by the provider.
    """
    message = scrub(replace_surrogates(raised.text))
    code = _network_code(raised, opened=phase in _OPENED)
    if code is not None:
        return Judged(Failure(message, code, phase="connect" if raised.is_a(*_UNCONNECTED) else phase))
    if raised.is_a(*_REFUSED):
        return Judged(Failure(message, codes.UNSUPPORTED, phase="resolve"))
    if raised.is_a(*_UNREADABLE) or (phase in _OPENED and raised.is_a(*_TRIPPED)):
        return Judged(Failure(message, codes.MALFORMED_RESPONSE, phase=phase))
    body = raised.body or _inside(raised.cause) or raised.cause.encode("utf-8", "replace")
    if phase in _OPENED and (raised.status is not None or raised.body):
        return Judged(classify_event(body, phase=phase), told=True)
    if raised.status is not None and raised.status >= 300 and raised.is_a(*_ANSWERED):
        return Judged(classify_answer(raised.status, raised.headers, body))
    return Judged(Failure(message, codes.UNKNOWN, phase=phase))


def _network_code(raised: Raised, *, opened: bool) -> str | None:
    """Return the code of a failure of time or of the network, `None` for one that is neither."""
    if raised.is_a(*_LATE):
        return codes.TIMEOUT
    if _RESET.search(raised.said) is not None:
        return codes.TRANSPORT
    if raised.is_a(*_CUT) or _NO_END in raised.said:
        return codes.STREAM_CLOSED if opened else codes.TRANSPORT
    return codes.TRANSPORT if raised.is_a(*_NETWORK) else None


def _inside(text: str) -> bytes:
    found = _OBJECT.search(text)
    return b"" if found is None else found.group().encode("utf-8", "replace")
