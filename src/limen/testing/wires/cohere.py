"""The wire `cohere` for the kit: the mock provider's side and the oddities that are known of it.

Source of the request's fields: https://docs.cohere.com/reference/chat, read 2026-11-30.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from limen.contract import UsageChunk
from limen.testing.scripts import (
    Kind,
    ProviderError,
    Raw,
    ReceivedRequest,
    RequestFacts,
    RequestKind,
    Send,
    Text,
    ToolCall,
    Turn,
    compact,
    request_facts,
)
from limen.testing.wires._description import Oddity, WireDescription
from limen.testing.wires._turns import content_sends, sends_of, usage_of
from limen.views import EncoderOptions, WireEncoder, encoder

_NAME: Final = "cohere"
_WORDS: Final[Mapping[str, str]] = {
    "stop": "COMPLETE",
    "stop-sequence": "STOP_SEQUENCE",
    "tool-calls": "TOOL_CALL",
    "max-tokens": "MAX_TOKENS",
    "refusal": "ERROR_TOXIC",
}


class CohereMock:
    """Cohere's chat, version 2, as the mock provider serves it."""

    name = _NAME
    base_path = "/cohere"
    path = "/v2/chat"
    stream_type = "text/event-stream"

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell `POST …/v2/chat`, and `GET …/cohere/v1/models`: other wires list their models under that path too."""
        if request.method == "POST" and request.path.endswith(self.path):
            return "call"
        listed = request.method == "GET" and request.path.endswith(f"{self.base_path}/v1/models")
        return "models" if listed else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read model, `stream` and the history's length."""
        return request_facts(request.json)

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return `message-start`, parts and calls, `message-end` and `[DONE]`."""
        encoding = _encoder(turn, facts)
        return [*sends_of(encoding.begin()), *_rest(encoding, turn)]

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return the answer as one object."""
        encoding = _encoder(turn, facts)
        _rest(encoding, turn)
        return encoding.whole().body

    def models(self, names: Sequence[str]) -> bytes:
        """Return one page that holds every model."""
        models = [{"name": name, "endpoints": ["chat"], "context_length": 256000} for name in names]
        return compact({"models": models}).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"id", "message"}`."""
        return _plain().error_body(error)

    def error_event(self, error: ProviderError) -> Send:
        """Return `message-end` with the word `ERROR`."""
        return Send("error", _plain().error_event(error))

    def keep_alive(self) -> bytes:
        """Return an SSE comment."""
        return _plain().keep_alive()

    def broken(self, shape: str) -> Send:
        """Return JSON cut short, a message that is no object, or an event nobody documented."""
        return {
            "malformed": Send("noise", b'event: content-delta\ndata: {"type":"content-delta","ind\n\n'),
            "wrong-shape": _send("noise", "content-delta", index=0, delta={"message": "text"}),
            "unknown": _send("noise", "weather-report", delta="nobody documented this"),
        }[shape]

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return a whole part of the content of that index."""
        return (
            _send("open", "content-start", index=index, delta=_content({"type": "text", "text": ""})),
            _send("content", "content-delta", index=index, delta=_content({"text": text})),
            _send("noise", "content-end", index=index),
        )

    def padded(self, size: int) -> Send:
        """Return a `debug` event with a long text."""
        return _send("noise", "debug", prompt="x" * size)


def _plain() -> WireEncoder:
    return encoder(_NAME, model="mock", id="mock-answer", options=EncoderOptions(request_id="mock-request"))


def _encoder(turn: Turn, facts: RequestFacts) -> WireEncoder:
    encoding = encoder(
        _NAME, model=turn.model or facts.model, id="mock-answer", options=EncoderOptions(request_id="mock-request")
    )
    encoding.stop_sequence = turn.stop_sequence
    return encoding


def _rest(encoding: WireEncoder, turn: Turn) -> list[Send]:
    """Return everything after the opening."""
    sends = content_sends(encoding, turn, hides_reasoning=False)
    if turn.usage is not None:
        encoding.events(UsageChunk(usage_of(turn.usage)))
    return [*sends, *sends_of(encoding.close(_WORDS.get(turn.finish_kind, turn.finish_kind)))]


def _event_bytes(name: str, **fields: object) -> str:
    return f"event: {name}\ndata: {compact({'type': name, **fields})}\n\n"


def _send(kind: Kind, name: str, **fields: object) -> Send:
    return Send(kind, _event_bytes(name, **fields).encode())


def _raw(name: str, **fields: object) -> Raw:
    return Raw(_event_bytes(name, **fields))


def _content(content: object) -> Mapping[str, object]:
    return {"message": {"content": content}}


_NULLS: Final = {"content": None, "tool_plan": None, "tool_calls": None, "citations": None}

_ODDITIES: Final[Sequence[Oddity]] = (
    Oddity(
        "W2",
        "null, absent and empty in place of optional fields",
        Turn(
            (
                _raw("content-delta", index=None, delta=None),
                _raw("content-delta", index=7, delta={"message": _NULLS}),
                _raw("tool-plan-delta", delta={"message": {"tool_plan": ""}}),
                _raw("citation-end", index=None),
                Text(["a"]),
            ),
            finish="stop",
        ),
        text="a",
    ),
    Oddity(
        "W2",
        "null fields in a call's fragments, and a part without its start",
        Turn(
            (
                _raw("content-delta", index=0, delta=_content({"text": "b"})),
                ToolCall("call_a", "add", '{"left":1}'),
                _raw("tool-call-delta", index=0, delta={"message": {"tool_calls": {"function": None}}}),
            ),
            finish="tool-calls",
        ),
        text="b",
        calls=[("call_a", "add", '{"left":1}')],
    ),
)


WIRE: Final = WireDescription(
    mock=CohereMock(),
    block_events=True,
    stop_sequences=True,
    oddities=_ODDITIES,
    counts=("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens"),
)
