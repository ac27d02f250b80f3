"""The wire `ollama-chat` for the kit: the mock provider's side and the oddities of its servers.

Source of the request's fields: https://docs.ollama.com/api/chat and `…/api/tags`, read 2026-12-01.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from limen.contract import TokenUsage, UsageChunk
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
    request_facts,
)
from limen.testing.wires._description import Oddity, WireDescription
from limen.testing.wires._turns import content_sends, sends_of
from limen.views import EncoderOptions, WireEncoder, encoder

_NAME: Final = "ollama-chat"
# The server has no word of its own for calls, refusals and stop sequences.
_WORDS: Final[Mapping[str, str]] = {
    "stop-sequence": "stop",
    "tool-calls": "stop",
    "max-tokens": "length",
    "refusal": "content_filter",
}


class OllamaChatMock:
    """Ollama's chat as the mock provider serves it."""

    name = _NAME
    base_path = ""
    path = "/api/chat"
    stream_type = "application/x-ndjson"

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell `POST …/api/chat`, and `GET …/api/tags`."""
        if request.method == "POST" and request.path.endswith(self.path):
            return "call"
        return "models" if request.method == "GET" and request.path.endswith("/api/tags") else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read model, `stream`, which is true unless it is false, and the history's length."""
        facts = request_facts(request.json)
        return facts._replace(stream=request.json.get("stream") is not False)

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return a line for each fragment and each call, and the last line."""
        encoding = _encoder(turn, facts)
        return [*content_sends(encoding, turn, hides_reasoning=True), *_ending(encoding, turn)]

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return one object."""
        encoding = _encoder(turn, facts)
        content_sends(encoding, turn, hides_reasoning=True)
        _ending(encoding, turn)
        return encoding.whole().body

    def models(self, names: Sequence[str]) -> bytes:
        """Return the list of `/api/tags`."""
        capabilities = ["completion", "tools", "thinking", "vision"]
        details = {"format": "gguf", "family": "mock", "context_length": 32768}
        models = [{"name": name, "model": name, "details": details, "capabilities": capabilities} for name in names]
        return compact({"models": models}).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"error": message}`."""
        return _plain().error_body(error)

    def error_event(self, error: ProviderError) -> Send:
        """Return a line with an error."""
        return Send("error", _plain().error_event(error))

    def keep_alive(self) -> bytes:
        """Return a space."""
        return _plain().keep_alive()

    def broken(self, shape: str) -> Send:
        """Return JSON cut short, a message that is no object, or a line nobody documented."""
        lines = {
            "malformed": '{"model":"mock","message":{"role":"assi',
            "wrong-shape": '{"model":"mock","message":"text","done":false}',
            "unknown": '{"forecast":"nobody documented this"}',
        }
        return Send("noise", f"{lines[shape]}\n".encode())

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return a line with text."""
        return (_line("content", message={"role": "assistant", "content": text}, done=False),)

    def padded(self, size: int) -> Send:
        """Return a line with a long unknown field."""
        return _line("noise", padding="x" * size)


def _plain() -> WireEncoder:
    return encoder(_NAME, model="mock", id="")


def _encoder(turn: Turn, facts: RequestFacts) -> WireEncoder:
    return encoder(_NAME, model=turn.model or facts.model, id="", options=EncoderOptions(created=1_780_000_000))


def _ending(encoding: WireEncoder, turn: Turn) -> list[Send]:
    if turn.usage is not None:
        # The wire does not tell apart what came from the cache, nor what was thinking.
        encoding.events(UsageChunk(TokenUsage(turn.usage.input, turn.usage.output)))
    return sends_of(encoding.close(_WORDS.get(turn.finish_kind, turn.finish_kind)))


def _text(**fields: object) -> str:
    return f"{compact({'model': 'mock', **fields})}\n"


def _line(kind: Kind, **fields: object) -> Send:
    return Send(kind, _text(**fields).encode())


def _raw(*, done: bool = False, **message: object) -> Raw:
    return Raw(_text(message={"role": "assistant", **message}, done=done))


_CALL: Final = {"function": {"index": 0, "name": "add", "arguments": {"left": 1}}}
_OTHER: Final = {"function": {"index": 0, "name": "add", "arguments": {"left": 2}}}

_ODDITIES: Final[Sequence[Oddity]] = (
    Oddity(
        "W2",
        "null in place of optional fields",
        Turn((_raw(content=None, thinking=None, tool_calls=None, images=None), Text(["a"])), finish="stop"),
        text="a",
    ),
    Oddity(
        "W3",
        "every call with the index 0, in lines of their own",
        Turn((_raw(content="", tool_calls=[{"id": "a", **_CALL}]), _raw(tool_calls=[{"id": "b", **_OTHER}]))),
        calls=(("a", "add", '{"left":1}'), ("b", "add", '{"left":2}')),
    ),
    Oddity(
        "W4",
        "an id that is a number, and arguments that are null",
        Turn((_raw(tool_calls=[{"id": 7, "function": {"name": "now", "arguments": None}}]),)),
        calls=(("7", "now", "{}"),),
    ),
)


WIRE: Final = WireDescription(
    mock=OllamaChatMock(),
    sse=False,
    arguments="object",
    takes_arguments="object",
    claims_calls=False,
    finish_ends=True,
    oddities=_ODDITIES,
    counts=frozenset({"input_tokens", "output_tokens"}),
)
