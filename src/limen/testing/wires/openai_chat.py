"""The wire `openai-chat` for the kit: the mock provider's side and the oddities of its hosts.

Source of the request's fields: https://platform.openai.com/docs/api-reference/chat, read 2026-11-30.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from limen.contract import UsageChunk
from limen.testing.scripts import (
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

_NAME: Final = "openai-chat"
_WORDS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "stop-sequence": "stop",
    "tool-calls": "tool_calls",
    "max-tokens": "length",
    "refusal": "stop",
}
_CREATED: Final = 1796000000
_PLAIN: Final = EncoderOptions(created=_CREATED, fingerprint="fp_mock", usage="none")


class OpenAIChatMock:
    """Chat completions as the mock provider serves them.

    `counts_unasked` is a host that reports usage whether or not `stream_options.include_usage` asks for it.
    """

    name = _NAME
    base_path = "/v1"
    path = "/chat/completions"
    stream_type = "text/event-stream; charset=utf-8"
    encodes = _NAME
    """The wire whose encoder writes the answers."""

    def __init__(self, *, counts_unasked: bool = False) -> None:
        self._counts_unasked = counts_unasked

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell `POST …/chat/completions` and `GET …/models`, unless the latter names a version of Anthropic's."""
        if request.method == "POST" and request.path.endswith(self.path):
            return "call"
        listed = request.method == "GET" and request.path.endswith("/models")
        return "models" if listed and request.header("anthropic-version") is None else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read model, `stream`, the history's length and `stream_options.include_usage`."""
        facts = request_facts(request.json)
        return facts._replace(include_usage=facts.include_usage or self._counts_unasked)

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return the role chunk, the fragments, the finish chunk, usage and `[DONE]`."""
        encoding = _encoder(self.encodes, turn, facts)
        only_calls = bool(turn.parts) and all(isinstance(part, ToolCall) for part in turn.parts)
        sends = sends_of(encoding.begin(call=only_calls))
        if turn.usage is not None and turn.usage_at == "repeated":
            # Some hosts count along: every report is the whole count so far, and the last one stands.
            early = msgspec.structs.replace(turn.usage, output=1, reasoning=None)
            sends += sends_of(encoding.early_usage(usage_of(early)))
        return [*sends, *_rest(encoding, turn)]

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return a `chat.completion` object."""
        encoding = _encoder(self.encodes, turn, facts)
        _rest(encoding, turn)
        return encoding.whole().body

    def models(self, names: Sequence[str]) -> bytes:
        """Return `{"object": "list", "data": […]}`."""
        data = [{"id": name, "object": "model", "created": _CREATED, "owned_by": "mock"} for name in names]
        return compact({"object": "list", "data": data}).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"error": {message, type, param, code}}`."""
        return _plain(self.encodes).error_body(error)

    def error_event(self, error: ProviderError) -> Send:
        """Return a `data:` line whose JSON has a top-level `error`."""
        return Send("error", _plain(self.encodes).error_event(error))

    def keep_alive(self) -> bytes:
        """Return an SSE comment."""
        return _plain(self.encodes).keep_alive()

    def broken(self, shape: str) -> Send:
        """Return JSON cut short, `choices` that is no list, or an object nobody documented."""
        payload = {
            "malformed": '{"id":"chatcmpl-mock","choices":[{"ind',
            "wrong-shape": '{"id":"chatcmpl-mock","object":"chat.completion.chunk","choices":{"delta":"text"}}',
            "unknown": '{"object":"chat.completion.annotation","note":"nobody documented this"}',
        }[shape]
        return Send("noise", f"data: {payload}\n\n".encode())

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return one content chunk; this wire has one text and no block indexes."""
        encoding = _plain(self.encodes)
        encoding.begin()
        return content_sends(encoding, Turn([Text([text])]), hides_reasoning=False)

    def padded(self, size: int) -> Send:
        """Return a chunk without choices, with padding in `obfuscation`."""
        body = {"id": "chatcmpl-mock", "object": "chat.completion.chunk", "choices": (), "obfuscation": "x" * size}
        return Send("noise", f"data: {compact(body)}\n\n".encode())


def _plain(wire: str) -> WireEncoder:
    return encoder(wire, model="mock", id="chatcmpl-mock", options=_PLAIN)


def _encoder(wire: str, turn: Turn, facts: RequestFacts) -> WireEncoder:
    options = _PLAIN
    if turn.usage is not None and turn.usage_at != "trailing":
        options = msgspec.structs.replace(_PLAIN, usage="finish")
    elif turn.usage is not None and facts.include_usage:
        options = msgspec.structs.replace(_PLAIN, usage="trailing")
    return encoder(wire, model=turn.model or facts.model, id="chatcmpl-mock", options=options)


def _rest(encoding: WireEncoder, turn: Turn) -> list[Send]:
    """Return everything after the opening."""
    sends = content_sends(encoding, turn, hides_reasoning=False)
    if turn.usage is not None:
        encoding.events(UsageChunk(usage_of(turn.usage)))
    return [*sends, *sends_of(encoding.close(_WORDS.get(turn.finish_kind, turn.finish_kind)))]


def _chunk(**fields: object) -> Raw:
    return Raw(f"data: {json.dumps(fields)}\n\n")


def _delta(delta: Mapping[str, object], index: int = 0) -> Raw:
    return _chunk(id="x", choices=[{"index": index, "delta": delta, "finish_reason": None}])


def _calls(*calls: object) -> Raw:
    return _delta({"tool_calls": calls})


def _turn(*events: Raw | Text) -> Turn:
    return Turn(events, finish="stop" if any(isinstance(event, Text) for event in events) else "tool-calls")


_ADD: Final = ("call_a", "add", '{"left":1}')
_WHOLE: Final = {"index": 0, "id": "call_a", "function": {"name": "add", "arguments": '{"left":1}'}}
_NULLS: Final = {"content": None, "refusal": None, "role": None, "tool_calls": None, "reasoning_content": None}
_EMPTY: Final = {"content": "", "role": "", "tool_calls": ()}
_NOTHING: Final[Mapping[str, object]] = {}

_ODDITIES: Final[Sequence[Oddity]] = (
    Oddity(
        "W2",
        "null, absent and empty in place of every optional field",
        _turn(
            _chunk(id=None, object=None, created=None, model=None, choices=None, usage=None, error=None),
            _chunk(choices=()),
            _chunk(),
            _chunk(choices=[{"index": 0, "delta": None, "finish_reason": None, "logprobs": None}]),
            _chunk(choices=[{"index": 0}]),
            _delta(_NULLS),
            Text(["a"]),
            _delta(_EMPTY),
            _chunk(choices=[{"index": 0, "delta": _NOTHING, "finish_reason": ""}], usage={"prompt_tokens": None}),
        ),
        text="a",
    ),
    Oddity(
        "W2",
        "null and empty fields in a tool call's fragments",
        _turn(
            _calls({"index": 0, "id": "call_a", "type": None, "function": {"name": "add", "arguments": None}}),
            _calls({"index": 0, "id": None, "function": {"name": None, "arguments": '{"left"'}}),
            _calls({"index": 0, "id": "", "function": {"name": "", "arguments": ":1}"}}),
            _calls({"index": 0, "function": None}),
        ),
        calls=[_ADD],
    ),
    Oddity(
        "W3",
        "an index that is used again, with another id and a name",
        _turn(_calls(_WHOLE), _calls({"index": 0, "id": "call_b", "function": {"name": "now", "arguments": "{}"}})),
        calls=[_ADD, ("call_b", "now", "{}")],
    ),
    Oddity(
        "W3",
        "a whole argument text that is sent again",
        _turn(_calls(_WHOLE), _calls({"index": 0, "function": {"arguments": '{"left":1}'}})),
        calls=[_ADD],
    ),
    Oddity(
        "W3",
        "no index: the id, then the call that was opened last",
        _turn(
            _calls({"id": "call_a", "function": {"name": "add", "arguments": '{"le'}}),
            _calls({"id": "call_b", "function": {"name": "now", "arguments": "{"}}),
            _calls({"id": "call_a", "function": {"arguments": 'ft":1}'}}),
            _calls({"function": {"arguments": "}"}}),
        ),
        calls=[("call_a", "add", '{"left":1}'), ("call_b", "now", "{}")],
    ),
    Oddity(
        "W3",
        "two whole calls in one event, the indexes beginning at 1",
        _turn(
            _calls({**_WHOLE, "index": 1}, {"index": 2, "id": "call_b", "function": {"name": "now", "arguments": ""}})
        ),
        calls=[_ADD, ("call_b", "now", "{}")],
    ),
    Oddity(
        "W4",
        "an id that comes after the first arguments",
        _turn(
            _calls({"index": 0, "function": {"name": "add", "arguments": ""}}),
            _calls({"index": 0, "id": "call_a", "function": {"arguments": '{"left":1}'}}),
        ),
        calls=[_ADD],
    ),
    Oddity(
        "W4",
        "a name that comes after the first arguments, and again with each fragment",
        _turn(
            _calls({"index": 0, "id": "call_a", "function": {"arguments": '{"le'}}),
            _calls({"index": 0, "function": {"name": "add", "arguments": 'ft":'}}),
            _calls({"index": 0, "function": {"name": "add", "arguments": "1}"}}),
        ),
        calls=[_ADD],
    ),
    Oddity(
        "W4",
        "an id that is a number",
        _turn(_calls({"index": 0, "id": 7, "function": {"name": "add", "arguments": '{"left":1}'}})),
        calls=[("7", "add", '{"left":1}')],
    ),
    Oddity(
        "W8",
        "a second choice",
        _turn(_delta({"content": "never"}, 1), Text(["a"]), _delta({"content": "shown"}, 1)),
        text="a",
    ),
)


WIRE: Final = WireDescription(mock=OpenAIChatMock(), oddities=_ODDITIES)
