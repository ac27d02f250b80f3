"""The wire `gemini-generate` for the kit: the mock provider's side and the oddities of its hosts.

Source of the request's fields: https://ai.google.dev/api/generate-content, read 2026-11-30.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

import msgspec

from limen.contract import TokenUsage, UsageChunk
from limen.testing.scripts import (
    ProviderError,
    Raw,
    ReceivedRequest,
    RequestFacts,
    RequestKind,
    Send,
    Text,
    Turn,
    Usage,
    compact,
    field_of,
    items_of,
)
from limen.testing.wires._description import Oddity, WireDescription
from limen.testing.wires._turns import content_sends, sends_of, usage_of
from limen.views import EncoderOptions, WireEncoder, encoder

_NAME: Final = "gemini-generate"
_WORDS: Final[Mapping[str, str]] = {
    "stop": "STOP",
    "stop-sequence": "STOP",
    "tool-calls": "STOP",
    "max-tokens": "MAX_TOKENS",
    "refusal": "SAFETY",
    "content_filter": "SAFETY",
}
_STREAM: Final = ":streamGenerateContent"
_WHOLE: Final = ":generateContent"
# google.rpc.Code by HTTP status: https://google.aip.dev/193
_STATUS: Final[Mapping[int, str]] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GeminiGenerateMock:
    """generateContent as the mock provider serves it: model and streaming stand in the path."""

    name = _NAME
    base_path = "/v1beta"
    path = _STREAM
    stream_type = "text/event-stream"

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell a POST to a model's method, and `GET …/models` with the header `x-goog-api-key`."""
        if request.method == "POST" and request.path.endswith((_STREAM, _WHOLE)):
            return "call"
        listed = request.method == "GET" and request.path.endswith("/models")
        return "models" if listed and request.header("x-goog-api-key") is not None else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read model and method from the path, and the history's length from `contents`."""
        name, _, method = request.path.rpartition("/")[2].rpartition(":")
        count = sum(1 for item in items_of(request.json.get("contents")) if field_of(item, "role") == "model")
        return RequestFacts(
            model=unquote(name), stream=f":{method}" == _STREAM, assistant_messages=count, include_usage=True
        )

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return the parts, each in a chunk of its own, and the chunk with finish reason and counts."""
        encoding = _encoder(turn, facts)
        sends = content_sends(encoding, turn, hides_reasoning=False)
        if turn.usage is not None and turn.usage_at == "repeated":
            sends += sends_of(encoding.early_usage(msgspec.structs.replace(_usage(turn.usage), output_tokens=1)))
        return [*sends, *_ending(encoding, turn)]

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return one object of the form of a chunk."""
        encoding = _encoder(turn, facts)
        content_sends(encoding, turn, hides_reasoning=False)
        _ending(encoding, turn)
        return encoding.whole().body

    def models(self, names: Sequence[str]) -> bytes:
        """Return one page that holds every model."""
        listed = [
            {
                "name": f"models/{name}",
                "displayName": name,
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            }
            for name in names
        ]
        return compact({"models": listed}).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"error": {code, message, status, details}}`."""
        return _plain().error_body(_google(error))

    def error_event(self, error: ProviderError) -> Send:
        """Return a chunk with `error`."""
        return Send("error", _plain().error_event(_google(error)))

    def keep_alive(self) -> bytes:
        """Return a chunk that says nothing."""
        return _plain().keep_alive()

    def broken(self, shape: str) -> Send:
        """Return JSON cut short, `candidates` that is no list, or an object nobody documented."""
        payload = {
            "malformed": '{"candidates":[{"content":{"par',
            "wrong-shape": '{"candidates":{"content":"text"}}',
            "unknown": '{"weatherReport":{"forecast":"nobody documented this"}}',
        }[shape]
        return Send("noise", f"data: {payload}\n\n".encode())

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return one chunk of text; this wire has one text and no block indexes."""
        return content_sends(_plain(), Turn([Text([text])]), hides_reasoning=False)

    def padded(self, size: int) -> Send:
        """Return a chunk without candidates, with a long unknown field."""
        return Send("noise", f"data: {compact({'padding': 'x' * size})}\n\n".encode())


def _google(error: ProviderError) -> ProviderError:
    reason = None if error.code is None else error.code.upper()
    if reason == "INVALID_API_KEY":
        reason = "API_KEY_INVALID"
    word = "OVERLOADED" if error.status == 529 else _STATUS.get(error.status, "UNKNOWN")
    return error._replace(type=word, code=reason)


def _plain() -> WireEncoder:
    return encoder(_NAME, model="mock", id="resp_mock")


def _encoder(turn: Turn, facts: RequestFacts) -> WireEncoder:
    return encoder(_NAME, model=turn.model or facts.model, id="resp_mock", options=EncoderOptions())


def _usage(usage: Usage) -> TokenUsage:
    # The wire counts no cache writes: a host of it does not know any.
    return usage_of(msgspec.structs.replace(usage, cache_write=None))


def _ending(encoding: WireEncoder, turn: Turn) -> list[Send]:
    if turn.usage is not None:
        encoding.events(UsageChunk(_usage(turn.usage)))
    return sends_of(encoding.close(_WORDS.get(turn.finish_kind, turn.finish_kind)))


def _chunk(**fields: object) -> Raw:
    return Raw(f"data: {compact(fields)}\n\n")


def _parts(*parts: object, **fields: object) -> Raw:
    return _chunk(candidates=[{"content": {"parts": parts, "role": "model"}, **fields}])


def _call(**fields: object) -> Mapping[str, object]:
    return {"functionCall": fields}


_NOTHING: Final[Mapping[str, object]] = {}
_ADD: Final = _call(id="call_a", name="add", args={"left": 1})
_TEXT: Final = Turn((Text(["a"]),)).parts

_ODDITIES: Final[Sequence[Oddity]] = (
    Oddity(
        "W2",
        "null, absent and empty in place of every optional field",
        Turn(
            (
                _chunk(candidates=None, usageMetadata=None, promptFeedback=None, error=None, modelVersion=None),
                _chunk(candidates=()),
                _chunk(candidates=[_NOTHING]),
                _chunk(candidates=[{"content": None, "finishReason": None, "index": None}]),
                _chunk(candidates=[{"content": _NOTHING, "finishReason": ""}]),
                _parts(),
                _parts(_NOTHING, {"text": None, "thought": None, "thoughtSignature": None}),
                *_TEXT,
                _parts({"text": "", "functionCall": None}),
                _chunk(usageMetadata={"promptTokenCount": None}, promptFeedback=_NOTHING),
            )
        ),
        text="a",
    ),
    Oddity(
        "W2",
        "a call without arguments, and one with null",
        Turn((_parts(_call(id="call_a", name="now"), _call(id="call_b", name="now", args=None)),), finish="STOP"),
        calls=[("call_a", "now", "{}"), ("call_b", "now", "{}")],
    ),
    Oddity(
        "W3",
        "arguments that are streamed by path",
        Turn(
            (
                _parts(_call(id="call_a", name="add", willContinue=True)),
                _parts(
                    _call(
                        partialArgs=[{"jsonPath": "$.city", "stringValue": "Bos", "willContinue": True}],
                        willContinue=True,
                    )
                ),
                _parts(_call(partialArgs=[{"jsonPath": "$.city", "stringValue": "ton"}], willContinue=True)),
                _parts(_call(partialArgs=[{"jsonPath": "$.left", "numberValue": 1}], willContinue=True)),
                _parts(_call()),
            ),
            finish="STOP",
        ),
        calls=[("call_a", "add", '{"city":"Boston","left":1}')],
    ),
    Oddity(
        "W4",
        "an id that is a number",
        Turn((_parts(_call(id=7, name="add", args={"left": 1})),), finish="STOP"),
        calls=[("7", "add", '{"left":1}')],
    ),
    Oddity(
        "W8",
        "a second candidate",
        Turn((_parts({"text": "never"}, index=1), *_TEXT, _parts({"text": "shown"}, index=1))),
        text="a",
    ),
)


WIRE: Final = WireDescription(
    mock=GeminiGenerateMock(),
    arguments="object",
    takes_arguments="object",
    oddities=_ODDITIES,
    claims_calls=False,
    end_marker=False,
    counts=[name for name in TokenUsage.__struct_fields__ if name != "cache_write_tokens"],
)
