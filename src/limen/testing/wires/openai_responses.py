"""The wire `openai-responses` for the kit: the mock provider's side and the oddities of its hosts.

Source of the request's fields: https://platform.openai.com/docs/api-reference/responses, read 2026-11-30.
"""

import json
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
    Turn,
    compact,
    field_of,
    items_of,
    request_facts,
)
from limen.testing.wires._description import Oddity, WireDescription
from limen.testing.wires._turns import content_sends, sends_of, usage_of
from limen.views import EncoderOptions, WireEncoder, encoder

_NAME: Final = "openai-responses"
_WORDS: Final[Mapping[str, str]] = {
    "stop": "completed",
    "stop-sequence": "completed",
    "tool-calls": "completed",
    "max-tokens": "max_output_tokens",
    "refusal": "completed",
}
_CREATED: Final = 1796000000
_PLAIN: Final = EncoderOptions(created=_CREATED, unknown_counts="absent")


class OpenAIResponsesMock:
    """Responses as the mock provider serves them."""

    name = _NAME
    base_path = "/v1"
    path = "/responses"
    stream_type = "text/event-stream; charset=utf-8"

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell `POST …/responses` and `GET …/models`, unless the latter names a version of Anthropic's."""
        if request.method == "POST" and request.path.endswith(self.path):
            return "call"
        listed = request.method == "GET" and request.path.endswith("/models")
        return "models" if listed and request.header("anthropic-version") is None else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read model and `stream`; the turns of the history are counted by what the client sent back of each."""
        facts = request_facts(request.json)
        return facts._replace(assistant_messages=_turns(request.json))

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return `response.created`, `response.in_progress`, the items and the terminal event."""
        encoding = _encoder(turn, facts)
        sends = sends_of(encoding.begin())
        if turn.usage is not None and turn.usage_at == "repeated":
            sends += sends_of(encoding.early_usage(usage_of(turn.usage)))
        return [*sends, *_rest(encoding, turn)]

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return a `response` object."""
        encoding = _encoder(turn, facts)
        _rest(encoding, turn)
        return encoding.whole().body

    def models(self, names: Sequence[str]) -> bytes:
        """Return `{"object": "list", "data": […]}`."""
        data = [{"id": name, "object": "model", "created": _CREATED, "owned_by": "mock"} for name in names]
        return compact({"object": "list", "data": data}).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"error": {message, type, param, code}}`."""
        return _plain().error_body(error)

    def error_event(self, error: ProviderError) -> Send:
        """Return an `error` event, and the `response.failed` that follows it."""
        return Send("error", _plain().error_event(error))

    def keep_alive(self) -> bytes:
        """Return an SSE comment, as OpenRouter sends them."""
        return b": keep-alive\n\n"

    def broken(self, shape: str) -> Send:
        """Return JSON cut short, a delta that is no text, or an event nobody documented."""
        return {
            "malformed": Send("noise", b'event: response.output_text.delta\ndata: {"type":"response.outp\n\n'),
            "wrong-shape": _send("noise", "response.output_text.delta", output_index=0, content_index=0, delta=[1]),
            "unknown": _send("noise", "response.weather_report", forecast="nobody documented this"),
        }[shape]

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return a whole message of that output index."""
        part = {"type": "output_text", "text": text, "annotations": ()}
        item = {"id": f"msg_more_{index}", "type": "message", "role": "assistant"}
        begun, ended = {**item, "status": "in_progress", "content": ()}, {**item, "status": "completed"}
        place = {"item_id": item["id"], "output_index": index, "content_index": 0}
        return (
            _send("open", "response.output_item.added", output_index=index, item=begun),
            _send("content", "response.output_text.delta", **place, delta=text),
            _send("noise", "response.output_item.done", output_index=index, item={**ended, "content": (part,)}),
        )

    def padded(self, size: int) -> Send:
        """Return an event of an unknown type, with padding in `obfuscation`."""
        return _send("noise", "response.padding", obfuscation="x" * size)


def _turns(body: object) -> int:
    """Count the assistant's turns of a request: each is one run of items between the client's own."""
    turns, within = 0, False
    for item in items_of(field_of(body, "input")):
        own = _is_own(item)
        turns += own and not within
        within = own
    return turns


def _is_own(item: object) -> bool:
    """Tell whether an item is the model's."""
    kind = field_of(item, "type") or "message"
    return field_of(item, "role") == "assistant" if kind == "message" else not str(kind).endswith("_output")


def _plain() -> WireEncoder:
    return encoder(_NAME, model="mock", id="resp_mock", options=_PLAIN)


def _encoder(turn: Turn, facts: RequestFacts) -> WireEncoder:
    return encoder(_NAME, model=turn.model or facts.model, id="resp_mock", options=_PLAIN)


def _rest(encoding: WireEncoder, turn: Turn) -> list[Send]:
    """Return everything after the opening."""
    sends = content_sends(encoding, turn, hides_reasoning=True)
    if turn.usage is not None:
        encoding.events(UsageChunk(usage_of(turn.usage)))
    return [*sends, *sends_of(encoding.close(_WORDS.get(turn.finish_kind, turn.finish_kind)))]


def _event_bytes(name: str, **fields: object) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n"


def _send(kind: Kind, name: str, **fields: object) -> Send:
    return Send(kind, _event_bytes(name, **fields).encode())


def _raw(name: str, **fields: object) -> Raw:
    return Raw(_event_bytes(name, **fields))


_CALL: Final = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "add", "arguments": ""}
_WHOLE: Final = {**_CALL, "arguments": '{"left":1}', "status": "completed"}
_ADD: Final = ("call_a", "add", '{"left":1}')
_OTHER: Final = {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "now", "arguments": "{}"}

_ODDITIES: Final[Sequence[Oddity]] = (
    Oddity(
        "W2",
        "null in place of optional fields",
        Turn(
            (
                _raw("response.in_progress", response=None),
                _raw("response.output_text.annotation.added", output_index=0, annotation=None),
                Text(["a"]),
                _raw("keepalive", sequence_number=None),
            ),
            finish="stop",
        ),
        text="a",
    ),
    Oddity(
        "W3",
        "fragments of two calls that alternate",
        Turn(
            (
                _raw("response.output_item.added", output_index=0, item=_CALL),
                _raw("response.output_item.added", output_index=1, item={**_OTHER, "arguments": ""}),
                _raw("response.function_call_arguments.delta", output_index=1, delta="{"),
                _raw("response.function_call_arguments.delta", output_index=0, delta='{"left":1}'),
                _raw("response.function_call_arguments.delta", output_index=1, delta="}"),
                _raw("response.output_item.done", output_index=0, item=_WHOLE),
                _raw("response.output_item.done", output_index=1, item=_OTHER),
            ),
            finish="tool-calls",
        ),
        calls=[_ADD, ("call_b", "now", "{}")],
    ),
    Oddity(
        "W3",
        "an item's id that changes with every event",
        Turn(
            (
                _raw("response.output_item.added", output_index=0, item={**_CALL, "id": "fc_x"}),
                _raw("response.function_call_arguments.delta", output_index=0, item_id="fc_y", delta='{"left":1}'),
                _raw("response.output_item.done", output_index=0, item={**_WHOLE, "id": "fc_z"}),
            ),
            finish="tool-calls",
        ),
        calls=[_ADD],
    ),
    Oddity(
        "W3",
        "a call that only its end tells of",
        Turn((_raw("response.output_item.done", output_index=0, item=_WHOLE),), finish="tool-calls"),
        calls=[_ADD],
    ),
    Oddity(
        "W4",
        "a name that comes with the end of the call",
        Turn(
            (
                _raw("response.output_item.added", output_index=0, item={**_CALL, "name": None}),
                _raw("response.function_call_arguments.delta", output_index=0, delta='{"left":1}'),
                _raw("response.output_item.done", output_index=0, item=_WHOLE),
            ),
            finish="tool-calls",
        ),
        calls=[_ADD],
    ),
    Oddity(
        "W4",
        "an id that is a number",
        Turn((_raw("response.output_item.done", output_index=0, item={**_WHOLE, "call_id": 7}),), finish="tool-calls"),
        calls=[("7", "add", '{"left":1}')],
    ),
)


WIRE: Final = WireDescription(
    mock=OpenAIResponsesMock(), block_events=True, claims_calls=False, finish_ends=True, oddities=_ODDITIES
)
