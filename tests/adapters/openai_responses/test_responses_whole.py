"""Answers that are no stream, and bodies that are no answer (S3)."""

import json

import pytest

from adapters.openai_responses._responses_wire import (
    call_item,
    ended,
    message_item,
    read,
    read_all_ways,
    reasoning_item,
)
from limen.adapters.openai_responses import WIRE
from limen.contract import (
    MAX_TOKENS,
    TOOL_CALLS,
    Limits,
    ReasoningBlock,
    TextBlock,
    TokenUsage,
    ToolCallBlock,
    codes,
)

ITEMS = [reasoning_item("r"), message_item("é"), call_item('{"a":1}')]


def whole(**fields: object) -> bytes:
    """A response object."""
    body = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "gpt-x",
        "output": ITEMS,
        "error": None,
    }
    return json.dumps({**body, **fields}, ensure_ascii=False).encode()


def test_a_whole_answer() -> None:
    """A whole response is translated as if it had been streamed."""
    usage = {"input_tokens": 3, "output_tokens": 7}

    outcome = read_all_ways(whole(usage=usage))

    assert outcome.message.content == (ReasoningBlock("r"), TextBlock("é"), ToolCallBlock("call_a", "add", '{"a":1}'))
    assert outcome.finish.reason == TOOL_CALLS
    assert outcome.response.usage == TokenUsage(input_tokens=3, output_tokens=7)
    assert outcome.chunks == read(ended(output=ITEMS, usage=usage)).chunks


def test_other_endings() -> None:
    """A token limit, a failure and a cancellation are told by the status; no status is a completed one."""
    assert (
        read(whole(status="incomplete", incomplete_details={"reason": "max_output_tokens"})).finish.reason == MAX_TOKENS
    )
    assert read(whole(status="failed", error={"code": "server_error", "message": "No."})).failure.message == "No."
    assert read(whole(status="cancelled")).failure.code == codes.ABORTED
    assert read(whole(status=None, object=None)).finish.reason == TOOL_CALLS
    assert read(whole(status="solar_flare")).failure.code == codes.UNKNOWN_FINISH


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_an_answer_that_is_not_there_yet(status: str) -> None:
    """A background response that still runs is no answer (W6)."""
    assert read(whole(status=status, output=[])).code == codes.STREAM_CLOSED


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"error":{"message":"No.","type":"invalid_request_error","code":"model_not_found"}}', codes.MODEL_NOT_FOUND),
        (b'{"error":{"message":"Wait.","code":"rate_limit_exceeded"}} tail', codes.RATE_LIMIT),
        (b'{"object":"chat.completion","choices":[]}', codes.MALFORMED_RESPONSE),
        (b'{"a":1} {"b":2}', codes.MALFORMED_RESPONSE),
        (b"[1]", codes.MALFORMED_RESPONSE),
        (b'{"output":7}', codes.MALFORMED_RESPONSE),
        (b"<html>no</html>", codes.MALFORMED_RESPONSE),
        (whole()[:40], codes.STREAM_CLOSED),
        (whole(output=[{"type": "message", "content": 7}]), codes.MALFORMED_RESPONSE),
        (b"", codes.STREAM_CLOSED),
    ],
)
def test_what_is_no_answer(body: bytes, code: str) -> None:
    """An error in place of an answer has its code; anything else is malformed, or closed where it was cut."""
    assert read(body).code == code


def test_surrogates_and_bad_bytes() -> None:
    """Lone halves and control characters cost themselves only (S5)."""
    body = b'{"object":"response","output":[{"type":"message","content":[{"type":"output_text","text":"a%b"}]}]}'

    assert read(body % b"\\ud83d").message.content == (TextBlock("a\ufffd"),)
    assert read(body % b"\x01").message.content == (TextBlock("a\x01"),)


def test_a_whole_answer_too_deep() -> None:
    """JSON nested past the limit is malformed (S2)."""
    deep = b'{"object":"response","output":' + b"[" * 60 + b"]" * 60 + b"}"

    assert read(deep, limits=Limits(depth=50)).code == codes.MALFORMED_RESPONSE
    assert WIRE.default_dialect == "openai"
