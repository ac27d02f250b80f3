"""The wire `anthropic-messages` for the kit: the mock provider's side and the oddities of its hosts.

Source of the request's fields: https://docs.claude.com/en/api/messages, read 2026-11-30.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from limen.contract import TokenUsage, UsageChunk
from limen.testing.scripts import (
    Kind,
    ProviderError,
    Raw,
    ReceivedRequest,
    Refusal,
    RequestFacts,
    RequestKind,
    Send,
    Text,
    Turn,
    Usage,
    compact,
    request_facts,
)
from limen.testing.wires._description import Oddity, WireDescription
from limen.testing.wires._turns import content_sends, sends_of, usage_of
from limen.views import EncoderOptions, WireEncoder, encoder

_NAME: Final = "anthropic-messages"
_WORDS: Final[Mapping[str, str]] = {
    "stop": "end_turn",
    "stop-sequence": "stop_sequence",
    "tool-calls": "tool_use",
    "max-tokens": "max_tokens",
    "refusal": "refusal",
}


class AnthropicMessagesMock:
    """Anthropic messages as the mock provider serves them.

    `path` is another one where a cloud serves the same wire under its own, such as `:streamRawPredict`.
    """

    name = _NAME
    base_path = ""
    stream_type = "text/event-stream; charset=utf-8"

    def __init__(self, *, path: str = "/v1/messages") -> None:
        self.path = path

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell a POST to the wire's path, and `GET …/models` with the header `anthropic-version`."""
        if request.method == "POST" and request.path.endswith(self.path):
            return "call"
        listed = request.method == "GET" and request.path.endswith("/models")
        return "models" if listed and request.header("anthropic-version") is not None else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read model, `stream` and the history's length."""
        return request_facts(request.json)

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return `message_start`, the blocks with a ping after the first start, `message_delta`, `message_stop`."""
        encoding = _encoder(turn, facts)
        sends = sends_of(encoding.begin()) + content_sends(encoding, turn, hides_reasoning=True)
        if any(not isinstance(part, Refusal) for part in turn.parts):
            sends.insert(2, Send("noise", encoding.keep_alive()))
        if turn.usage_at == "repeated":
            # An early report with a provisional count; the later one replaces it.
            sends += sends_of(encoding.early_usage(TokenUsage(output_tokens=1)))
        return [*sends, *_ending(encoding, turn)]

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return a `message` object."""
        encoding = _encoder(turn, facts)
        content_sends(encoding, turn, hides_reasoning=True)
        _ending(encoding, turn)
        return encoding.whole().body

    def models(self, names: Sequence[str]) -> bytes:
        """Return one page that holds every model."""
        data = [
            {"type": "model", "id": name, "display_name": name, "created_at": "2026-11-30T00:00:00Z"} for name in names
        ]
        page = {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}
        return compact(page).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"type": "error", "error": {type, message}, "request_id"}`."""
        return _plain().error_body(error)

    def error_event(self, error: ProviderError) -> Send:
        """Return an `error` event."""
        return Send("error", _plain().error_event(error))

    def keep_alive(self) -> bytes:
        """Return a `ping` event."""
        return _plain().keep_alive()

    def broken(self, shape: str) -> Send:
        """Return JSON cut short, a delta that is no object, or an event nobody documented."""
        return {
            "malformed": Send("noise", b'event: content_block_delta\ndata: {"type":"content_block_delta","ind\n\n'),
            "wrong-shape": _send("noise", "content_block_delta", index=0, delta="text"),
            "unknown": _send("noise", "weather_report", forecast="nobody documented this"),
        }[shape]

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return a whole text block of that index."""
        return (
            _send("open", "content_block_start", index=index, content_block={"type": "text", "text": ""}),
            _send("content", "content_block_delta", index=index, delta={"type": "text_delta", "text": text}),
            _send("noise", "content_block_stop", index=index),
        )

    def padded(self, size: int) -> Send:
        """Return a ping with a long unknown field."""
        return _send("noise", "ping", padding="x" * size)


def _plain() -> WireEncoder:
    return encoder(_NAME, model="mock", id="msg_mock", options=EncoderOptions(request_id="req_mock"))


def _encoder(turn: Turn, facts: RequestFacts) -> WireEncoder:
    options = EncoderOptions(request_id="req_mock", start_usage=usage_of(turn.usage or Usage()))
    encoding = encoder(_NAME, model=turn.model or facts.model, id="msg_mock", options=options)
    encoding.stop_sequence = turn.stop_sequence
    return encoding


def _ending(encoding: WireEncoder, turn: Turn) -> list[Send]:
    if turn.usage is not None:
        encoding.events(UsageChunk(usage_of(turn.usage)))
    return sends_of(encoding.close(_WORDS.get(turn.finish_kind, turn.finish_kind)))


def _event_bytes(name: str, **fields: object) -> str:
    return f"event: {name}\ndata: {compact({'type': name, **fields})}\n\n"


def _send(kind: Kind, name: str, **fields: object) -> Send:
    return Send(kind, _event_bytes(name, **fields).encode())


def _raw(name: str, **fields: object) -> Raw:
    return Raw(_event_bytes(name, **fields))


_ODDITIES: Final[Sequence[Oddity]] = (
    Oddity(
        "W2",
        "null in place of optional fields",
        Turn(
            (
                _raw("ping", note=None),
                _raw(
                    "message_delta", delta={"stop_reason": None, "stop_sequence": None}, usage={"output_tokens": None}
                ),
                _raw("message_delta", delta={"stop_reason": None}, usage=None),
                Text(["a"]),
            ),
            finish="stop",
        ),
        text="a",
    ),
)


WIRE: Final = WireDescription(
    mock=AnthropicMessagesMock(),
    takes_arguments="object",
    block_events=True,
    stop_sequences=True,
    oddities=_ODDITIES,
)
