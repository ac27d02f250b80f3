"""Every recorded Anthropic Messages answer gives what the manifest expects; exceptions: docs/corpus-anthropic.md."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from adapters.anthropic._messages_wire import asking, body_of, read, recordings, rows_of
from limen.adapters.anthropic import WIRE
from limen.contract import Message, TokenUsage, ToolCallBlock, codes, tool_result, user

ROWS = rows_of("anthropic-messages")
HERE = recordings() or Path()

if not ROWS:
    pytest.skip("no recordings: set LIMEN_RECORDINGS to their folder", allow_module_level=True)

DIALECTS = {"vertex-anthropic": "vertex", "azure": "azure"}
KINDS = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool-calls", "max_tokens": "max-tokens"}
# What differs, and why: docs/corpus-anthropic.md.
EMPTY = {"anthropic--chatlas-anthropic-empty-response.sse"}
# Input, output and cache reads of a compaction pass, which stand in `usage.iterations` alone and are added (NQ335).
PASSES = {"anthropic--pydanticai-anthropic-compaction-usage-cache-streaming.sse": (100, 83, 55096)}
SPLICED = "anthropic--vercel-spliced-message-start.sse"
# The codes of recorded errors, by status and type; a sentence decides the two that have one of their own.
ERRORS = {
    (401, "authentication_error"): codes.AUTH,
    (404, "not_found_error"): codes.MODEL_NOT_FOUND,
    (400, "invalid_request_error"): codes.INVALID_REQUEST,
}
OVERFLOW = "anthropic--rubyllm-chat-real-error-scenarios-anthropic-claude-haiku-a8a7df.json"


class Called(msgspec.Struct):
    """A tool call as the manifest expects it."""

    name: str
    arguments_sha256: str
    id_sha256: str


class Failed(msgspec.Struct):
    """An error as the manifest expects it."""

    status: int
    type: str
    message_sha256: str


class Expected(msgspec.Struct):
    """What the manifest expects of one answer."""

    text_sha256: str = ""
    tool_calls: list[Called] = msgspec.field(default_factory=list[Called])
    finish: str = ""
    reasoning_sha256: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
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

    @property
    def dialect(self) -> str | None:
        """The dialect row of the host."""
        return DIALECTS.get(self.provider)


ALL = [msgspec.convert(row, Row) for row in ROWS]
ANSWERS = [row for row in ALL if row.expect.error is None and row.name != SPLICED]
ERRORS_SEEN = [row for row in ALL if row.expect.error is not None]


def named(row: Row) -> str:
    """A test's name for a row."""
    return row.name


def digest(text: str) -> str:
    """What the manifest keeps of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(arguments: str) -> str:
    """Arguments as the manifest hashes them: sorted and compact where they are JSON."""
    try:
        value: object = json.loads(arguments)
    except ValueError:
        return arguments
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("row", ANSWERS, ids=named)
def test_recorded_answer(row: Row) -> None:
    """Text, reasoning, calls, finish, usage and model are what the manifest says (issue 6)."""
    expected = row.expect

    outcome = read(row.body, dialect=row.dialect)

    found = outcome.response
    usage = found.usage or TokenUsage()
    kind = "error" if row.name in EMPTY or expected.finish == "refusal" else KINDS[expected.finish]
    assert outcome.code is None
    assert digest(found.text) == expected.text_sha256
    assert expected.reasoning_sha256 in (None, digest(found.reasoning))
    assert [
        (call.name, digest(canonical(call.arguments)), digest(call.id))
        for call in found.tool_calls or found.incomplete_tool_calls
    ] == [(call.name, call.arguments_sha256, call.id_sha256) for call in expected.tool_calls]
    assert found.finish.kind == kind
    assert outcome.facts["provider_reason"] == expected.finish
    assert outcome.facts["response_model"] == expected.model
    more_input, more_output, more_cached = PASSES.get(row.name, (0, 0, 0))
    assert usage.input_tokens == (expected.input_tokens or 0) + more_input
    assert usage.output_tokens == (expected.output_tokens or 0) + more_output
    assert expected.cached_tokens is None or usage.cache_read_tokens == expected.cached_tokens + more_cached
    assert expected.cache_write_tokens in (None, usage.cache_write_tokens)


@pytest.mark.parametrize("row", [row for row in ANSWERS if row.name in EMPTY], ids=named)
def test_recorded_empty_answer(row: Row) -> None:
    """A recorded turn of one empty text block is EMPTY_RESPONSE (C12)."""
    failure = read(row.body).finish.reason.failure

    assert failure is not None
    assert failure.code == codes.EMPTY_RESPONSE


def test_recorded_splice() -> None:
    """A second message with another id inside a stream is malformed, and not two answers in one."""
    (row,) = [row for row in ALL if row.name == SPLICED]

    assert read(row.body).code == codes.MALFORMED_RESPONSE


@pytest.mark.parametrize("row", ANSWERS, ids=named)
def test_recorded_answer_at_cuts(row: Row) -> None:
    """Cut in two at 40 places, and into reads of 1, 7 and 1,000 bytes, an answer stays the same (C16)."""
    body = row.body
    whole = read(body, dialect=row.dialect)

    for size in (7, 1_000) if len(body) > 20_000 else (1, 7, 1_000):
        assert read((body[at : at + size] for at in range(0, len(body), size)), dialect=row.dialect) == whole
    for step in range(1, 41):
        cut = len(body) * step // 41
        assert read([body[:cut], body[cut:]], dialect=row.dialect) == whole


@pytest.mark.parametrize("row", [row for row in ANSWERS if row.name.endswith(".sse")], ids=named)
def test_recorded_stream_cut_off(row: Row) -> None:
    """Without its end, every recorded stream is truncated, wherever it ends (E6)."""
    body = row.body
    last = body.rindex(b"event: message_stop") if b"event: message_stop" in body else body.rindex(b"data:")

    for step in range(1, 21):
        assert read(body[: last * step // 21], dialect=row.dialect).code == codes.STREAM_CLOSED
    assert read(body[:last], dialect=row.dialect).code == codes.STREAM_CLOSED


@pytest.mark.parametrize("row", ERRORS_SEEN, ids=named)
def test_recorded_error(row: Row) -> None:
    """Every recorded error has its code, the provider's own words and type (section 3)."""
    error = row.expect.error
    assert error is not None

    failure = WIRE.classify(row.status, row.headers, row.body)

    code = codes.CONTEXT_WINDOW_EXCEEDED if row.name == OVERFLOW else ERRORS[(row.status, error.type)]
    assert (failure.code, failure.status, failure.provider_code) == (code, row.status, error.type)
    assert digest(failure.message) == error.message_sha256
    assert failure.phase == "headers"


def blocks_of(body: bytes) -> list[dict[str, object]]:
    """The recorded blocks, put together by the plainest reading of the documentation."""
    if body.lstrip()[:1] == b"{":
        whole: list[dict[str, object]] = json.loads(body)["content"]
        return whole
    blocks: dict[int, dict[str, object]] = {}
    inputs: dict[int, str] = {}
    for line in body.replace(b"\r", b"").split(b"\n"):
        found = json.loads(line[5:]) if line.startswith(b"data:") else {}
        index, delta = found.get("index", -1), found.get("delta", {})
        match found.get("type"), delta.get("type"):
            case "content_block_start", _:
                blocks[index] = found["content_block"]
            case _, "text_delta" | "thinking_delta" as kind:
                field = kind.removesuffix("_delta")
                blocks[index][field] = str(blocks[index].get(field) or "") + delta[field]
            case _, "signature_delta":
                blocks[index]["signature"] = delta["signature"]
            case _, "input_json_delta":
                inputs[index] = inputs.get(index, "") + delta["partial_json"]
            case _, "citations_delta":
                known = blocks[index].get("citations") or []
                assert isinstance(known, list)
                blocks[index]["citations"] = [*known, delta["citation"]]
            case _, "compaction_delta":
                blocks[index].update({key: value for key, value in delta.items() if key != "type"})
            case _:
                pass
    for index, text in inputs.items():
        if text:
            blocks[index]["input"] = json.loads(text)
    return list(blocks.values())


def sendable(blocks: list[dict[str, object]]) -> list[dict[str, object]]:
    """What of recorded blocks goes back: no blank text, nothing that says what is so without it."""
    sent: list[dict[str, object]] = []
    for block in blocks:
        if block["type"] == "text" and not str(block["text"]).strip():
            continue
        plain = dict(block)
        if block["type"] in ("text", "tool_use"):
            if plain.get("caller") == {"type": "direct"}:
                del plain["caller"]
            if not plain.get("citations", True):
                del plain["citations"]
        sent.append(plain)
    return sent


def with_results(message: Message) -> list[Message]:
    """A history that goes on after this turn."""
    calls = [block for block in message.content if isinstance(block, ToolCallBlock)]
    return [user("q"), message, *(tool_result(call.id, "done") for call in calls), user("and?")]


REPLAYED = [row for row in ANSWERS if row.expect.finish in ("end_turn", "tool_use") and row.name not in EMPTY]


@pytest.mark.parametrize("row", REPLAYED, ids=named)
def test_recorded_turn_is_sent_back_as_it_came(row: Row) -> None:
    """Signatures, redacted thinking, server tools, citations and calls go back unchanged and in place (N4)."""
    message = read(row.body, dialect=row.dialect).response.message
    assert message is not None

    sent = body_of(asking(*with_results(message)), row.dialect)["messages"]

    assert isinstance(sent, list)
    turn: Mapping[str, object] = sent[1]
    assert turn == {"role": "assistant", "content": sendable(blocks_of(row.body))}
