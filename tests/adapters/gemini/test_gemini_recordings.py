"""Every recorded generateContent answer gives what the manifest expects; exceptions: docs/corpus-gemini.md."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from adapters.gemini._generate_wire import asking, contents_of, read, recordings, rows_of
from limen.adapters.gemini import WIRE
from limen.contract import Message, ToolCallBlock, codes, tool_result, user

ROWS = rows_of("gemini-generate")
HERE = recordings() or Path()

if not ROWS:
    pytest.skip("no recordings: set LIMEN_RECORDINGS to their folder", allow_module_level=True)

# What ends otherwise than by a plain STOP: docs/corpus-gemini.md.
FILTERED = {"SAFETY", "RECITATION"}
ENDS = {"MAX_TOKENS": None, "OTHER": codes.SERVER, "FAKE_ENUM": codes.UNKNOWN_FINISH}
TRUNCATED = {
    "vertex--firebase-streaming-failure-empty-content.sse",
    "vertex--firebase-streaming-failure-malformed-content.sse",
    "vertex--firebase-streaming-failure-invalid-json.sse",
}
EMPTY = {"vertex--firebase-unary-success-empty-text-part.json"}
BLOCKED = {
    "google--firebase-streaming-failure-prompt-blocked-safety.sse",
    "google--firebase-unary-failure-only-prompt-feedback.json",
    "vertex--firebase-streaming-failure-prompt-blocked-safety-message.sse",
    "vertex--firebase-streaming-failure-prompt-blocked-safety.sse",
}
ERRORS = {
    (400, "INVALID_ARGUMENT"): codes.INVALID_REQUEST,
    (400, "FAILED_PRECONDITION"): codes.INVALID_REQUEST,
    (403, "PERMISSION_DENIED"): codes.AUTH,
    (404, "NOT_FOUND"): codes.MODEL_NOT_FOUND,
    (429, "RESOURCE_EXHAUSTED"): codes.RATE_LIMIT,
}
# Errors whose reason or sentence says more than their status.
KEYS = ("auth-rejection", "failure-api-key", "authentication-error")
OVERFLOW = "vertex--rubyllm-chat-real-error-scenarios-vertexai-gemini-2-5-fl-9dc4c5-1.json"
NO_CACHE = "vertex--firebase-unary-failure-context-cache-not-found.json"


class Called(msgspec.Struct):
    """A tool call as the manifest expects it."""

    name: str
    arguments_sha256: str


class Failed(msgspec.Struct):
    """An error as the manifest expects it."""

    status: str


class Expected(msgspec.Struct):
    """What the manifest expects of one answer."""

    text_sha256: str = ""
    tool_calls: list[Called] = msgspec.field(default_factory=list[Called])
    finish: str | int | None = None
    reasoning_sha256: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usage_raw: dict[str, object] | None = None
    model: str | None = None
    error: Failed | None = None


class Row(msgspec.Struct):
    """One row of the manifest."""

    file: str
    provider: str
    status: int
    headers: dict[str, str]
    expect: Expected

    @property
    def name(self) -> str:
        """The recording's own name."""
        return Path(self.file).name

    @property
    def body(self) -> bytes:
        """What was recorded."""
        return (HERE.parent / self.file).read_bytes()


ALL = [msgspec.convert(row, Row) for row in ROWS]
ANSWERS = [row for row in ALL if row.expect.error is None and row.name not in TRUNCATED]


def named(row: Row) -> str:
    """A test's name for a row."""
    return row.name


def digest(words: str) -> str:
    """What the manifest keeps of a text."""
    return hashlib.sha256(words.encode()).hexdigest()


def canonical(arguments: str) -> str:
    """Arguments as the manifest hashes them: sorted and compact."""
    return json.dumps(json.loads(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def code_of(row: Row) -> str | None:
    """The code of the failure that an answer is expected to end with."""
    if row.name in BLOCKED or row.expect.finish in FILTERED:
        return codes.CONTENT_FILTER
    return codes.EMPTY_RESPONSE if row.name in EMPTY else ENDS.get(str(row.expect.finish))


@pytest.mark.parametrize("row", ANSWERS, ids=named)
def test_recorded_answer(row: Row) -> None:
    """Text, reasoning, calls, finish, usage and model are what the manifest says (issue 16)."""
    expected = row.expect

    outcome = read(row.body)

    found = outcome.response
    assert outcome.code is None
    assert outcome.failure_code == code_of(row)
    assert digest(found.text) == expected.text_sha256
    assert expected.reasoning_sha256 in (None, digest(found.reasoning))
    assert [(one.name, digest(canonical(one.arguments))) for one in found.tool_calls] == [
        (one.name, one.arguments_sha256) for one in expected.tool_calls
    ]
    assert outcome.facts.get("response_model") == expected.model
    assert outcome.notes == []
    check_usage(row)


def check_usage(row: Row) -> None:
    """Compare the counts with the wire's own, taken apart: thoughts are output, tool prompts are input."""
    usage = read(row.body).response.usage
    raw = row.expect.usage_raw
    assert (usage is None) == (not raw or not any(name.endswith("TokenCount") for name in raw))
    if usage is None or raw is None:
        return
    thoughts, tools = raw.get("thoughtsTokenCount"), raw.get("toolUsePromptTokenCount")
    assert usage.reasoning_tokens == thoughts
    prompt = (usage.input_tokens or 0) + (usage.cache_read_tokens or 0)
    assert prompt == (row.expect.input_tokens or 0) + (tools or 0)  # type: ignore[operator]
    assert usage.output_tokens == (row.expect.output_tokens or 0) + (thoughts or 0)
    assert usage.cache_read_tokens == row.expect.cached_tokens


@pytest.mark.parametrize("row", ANSWERS, ids=named)
def test_recorded_answer_at_cuts(row: Row) -> None:
    """Cut in two at 20 places, and into reads of 7 and 1,000 bytes, an answer stays the same (C16)."""
    body = row.body
    whole = read(body)

    for size in (1_000,) if len(body) > 10_000 else (7, 1_000):
        assert read(body[at : at + size] for at in range(0, len(body), size)) == whole
    for step in range(1, 21):
        cut = len(body) * step // 21
        assert read([body[:cut], body[cut:]]) == whole


STREAMS = [row for row in ANSWERS if row.name.endswith(".sse") and row.name not in BLOCKED]


@pytest.mark.parametrize("row", STREAMS, ids=named)
def test_recorded_stream_cut_off(row: Row) -> None:
    """Cut off before its first finish reason, every recorded stream is truncated, wherever it ends (E6)."""
    body = row.body
    last = body.rindex(b"data:", 0, body.index(b'"finishReason"'))

    for step in range(1, 9):
        assert read(body[: last * step // 9]).code == codes.STREAM_CLOSED
    assert read(body[:last]).code == codes.STREAM_CLOSED


@pytest.mark.parametrize("name", sorted(TRUNCATED))
def test_recorded_stream_without_an_end(name: str) -> None:
    """A stream that ends without a finish reason is truncated, whatever it held."""
    (row,) = [row for row in ALL if row.name == name]

    assert read(row.body).code == codes.STREAM_CLOSED


@pytest.mark.parametrize("row", [row for row in ALL if row.expect.error is not None], ids=named)
def test_recorded_error(row: Row) -> None:
    """Every recorded error has its code (section 3); a bad key is one whatever its status."""
    error = row.expect.error
    assert error is not None
    failure = WIRE.classify(row.status, row.headers, row.body)

    code = ERRORS[row.status, error.status]
    if any(word in row.name for word in KEYS):
        code = codes.AUTH
    elif row.name == OVERFLOW:
        code = codes.CONTEXT_WINDOW_EXCEEDED
    elif row.name == NO_CACHE:
        code = "HTTP_404"
    assert (failure.code, failure.status) == (code, row.status)


def parts_of(body: bytes) -> list[dict[str, object]]:
    """The recorded parts of candidate 0, by the plainest reading of the documentation; unsigned text is joined."""
    if body.lstrip()[:1] in (b"{", b"["):
        loaded = json.loads(body)
        events = loaded if isinstance(loaded, list) else [loaded]
    else:
        events = [
            json.loads(block[5:]) for block in body.replace(b"\r", b"").split(b"\n\n") if block.startswith(b"data:")
        ]
    parts: list[dict[str, object]] = []
    for event in events:
        for candidate in event.get("candidates", [])[:1]:
            for part in (candidate.get("content") or {}).get("parts", []):
                before = parts[-1] if parts else {}
                joins = set(part) <= {"text", "thought"} and set(before) == set(part)
                if joins:
                    before["text"] = str(before["text"]) + part["text"]
                elif part:
                    parts.append(dict(part))
    return parts


def sendable(parts: list[dict[str, object]]) -> list[dict[str, object]]:
    """Parts as they go back: no empty unsigned text, arguments always there."""
    sent: list[dict[str, object]] = []
    for part in parts:
        if part.get("text") == "" and "thoughtSignature" not in part:
            continue
        call = part.get("functionCall")
        sent.append({**part, "functionCall": {"args": {}, **call}} if isinstance(call, dict) else part)
    return sent


def with_results(message: Message) -> list[Message]:
    """A history that goes on after this turn."""
    calls = [block for block in message.content if isinstance(block, ToolCallBlock)]
    return [user("q"), message, *(tool_result(call.id, "done") for call in calls), user("and?")]


# Arguments that were streamed come back as one object, which the recording never had in one piece.
STREAMED = "google--vercel-google-stream-tool-call-arguments.sse"
REPLAYED = [
    row for row in ANSWERS if code_of(row) is None and row.expect.finish != "MAX_TOKENS" and row.name != STREAMED
]


@pytest.mark.parametrize("row", REPLAYED, ids=named)
def test_recorded_turn_is_sent_back_as_it_came(row: Row) -> None:
    """Signatures, thoughts, code execution, images, ids and calls go back unchanged and in place (N4)."""
    message = read(row.body).response.message
    assert message is not None

    sent = contents_of(asking(*with_results(message)))

    assert isinstance(sent, list)
    turn: Mapping[str, object] = sent[1]
    assert turn == {"role": "model", "parts": sendable(parts_of(row.body))}
