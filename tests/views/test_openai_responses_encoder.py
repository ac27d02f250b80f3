"""The encoder of `openai-responses`: the events that its clients require, in their order."""

import json
from collections.abc import Mapping

import pytest

from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishReason,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    codes,
)
from limen.views import EncoderOptions, WireEncoder, encoder

USAGE = TokenUsage(input_tokens=10, output_tokens=9, cache_read_tokens=5, cache_write_tokens=2, reasoning_tokens=3)
COUNTS = {
    "input_tokens": 17,
    "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 26,
}
EVERYTHING: list[StreamChunk] = [
    BlockStart(0, "reasoning"),
    ReasoningDelta(0, "Hm"),
    BlockEnd(0, ReasoningBlock("Hm")),
    BlockStart(1, "text"),
    TextDelta(1, "a"),
    BlockStart(2, "tool-call"),
    ToolCallDelta(2, "call_1", "f", '{"x"'),
    ToolCallDelta(2, "call_1", None, ":1}"),
    BlockEnd(1, TextBlock("a")),
    BlockEnd(2, ToolCallBlock("call_1", "f", '{"x":1}')),
    UsageChunk(USAGE),
    Finish(TOOL_CALLS),
]
REASONING = {"id": "rs_1_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
PART = {"type": "output_text", "text": "a", "annotations": [], "logprobs": []}
MESSAGE = {"id": "msg_1_1", "type": "message", "status": "completed", "role": "assistant", "content": [PART]}
CALL = {"id": "fc_1_2", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "f"}
OUTPUT: list[Mapping[str, object]] = [REASONING, MESSAGE, {**CALL, "arguments": '{"x":1}'}]


def encoding(**options: object) -> WireEncoder:
    given = EncoderOptions(created=1796000000, **options)  # type: ignore[arg-type]
    return encoder("openai-responses", model="asked/Model", id="resp_1", options=given)


def events(encoder_: WireEncoder, chunks: list[StreamChunk]) -> list[dict[str, object]]:
    """The payloads, their names and numbers checked."""
    body = b"".join(data for chunk in chunks for data in encoder_.feed(chunk)) + b"".join(encoder_.eof())
    found: list[dict[str, object]] = []
    for number, block in enumerate(body.decode().removesuffix("\n\n").split("\n\n")):
        name, data = block.split("\n")
        payload: dict[str, object] = json.loads(data.removeprefix("data: "))
        assert name == f"event: {payload.pop('type')}"
        assert payload.pop("sequence_number") == number
        found.append({"event": name.removeprefix("event: "), **payload})
    return found


def test_the_order_of_a_stream() -> None:
    """Created, in progress, each item from its beginning to its end, the terminal event with every item (G2)."""
    found = events(encoding(), EVERYTHING)

    rs, msg, fc = (
        {"item_id": name, "output_index": index} for index, name in enumerate(("rs_1_0", "msg_1_1", "fc_1_2"))
    )
    summary = {**rs, "summary_index": 0}
    content = {**msg, "content_index": 0}
    said = {"type": "summary_text", "text": "Hm"}
    begun = {**CALL, "arguments": "", "status": "in_progress"}
    assert found[2:-1] == [
        {"event": "response.output_item.added", "output_index": 0, "item": {**REASONING, "summary": []}},
        {"event": "response.reasoning_summary_part.added", **summary, "part": {**said, "text": ""}},
        {"event": "response.reasoning_summary_text.delta", **summary, "delta": "Hm"},
        {"event": "response.reasoning_summary_text.done", **summary, "text": "Hm"},
        {"event": "response.reasoning_summary_part.done", **summary, "part": said},
        {"event": "response.output_item.done", "output_index": 0, "item": REASONING},
        {"event": "response.output_item.added", "output_index": 1,
         "item": {**MESSAGE, "status": "in_progress", "content": []}},
        {"event": "response.content_part.added", **content, "part": {**PART, "text": ""}},
        {"event": "response.output_text.delta", **content, "delta": "a", "logprobs": []},
        {"event": "response.output_item.added", "output_index": 2, "item": begun},
        {"event": "response.function_call_arguments.delta", **fc, "delta": '{"x"'},
        {"event": "response.function_call_arguments.delta", **fc, "delta": ":1}"},
        {"event": "response.output_text.done", **content, "text": "a", "logprobs": []},
        {"event": "response.content_part.done", **content, "part": PART},
        {"event": "response.output_item.done", "output_index": 1, "item": MESSAGE},
        {"event": "response.function_call_arguments.done", **fc, "name": "f", "arguments": '{"x":1}'},
        {"event": "response.output_item.done", "output_index": 2, "item": OUTPUT[2]},
    ]  # fmt: skip
    assert [event["event"] for event in found[:2]] == ["response.created", "response.in_progress"]
    last = found[-1]
    response = last["response"]
    assert last["event"] == "response.completed"
    assert isinstance(response, dict)
    facts = {"id": "resp_1", "model": "asked/Model", "status": "completed", "output": OUTPUT, "usage": COUNTS}
    assert {name: response[name] for name in facts} == facts


def test_the_whole_answer() -> None:
    """The same chunks as one response agree with the stream (G2)."""
    encoder_ = encoding()
    found = events(encoder_, EVERYTHING)

    assert json.loads(encoder_.whole().body) == found[-1]["response"]
    assert encoder_.whole().error is None


TEXT: list[StreamChunk] = [BlockStart(0, "text"), TextDelta(0, "a"), BlockEnd(0, TextBlock("a"))]


def response_of(event: dict[str, object]) -> dict[str, object]:
    """The response inside an event."""
    response = event["response"]
    assert isinstance(response, dict)
    return response


def test_a_token_limit() -> None:
    """A token limit is `response.incomplete`; a call that it cut is an incomplete item."""
    cut: list[StreamChunk] = [
        BlockStart(1, "tool-call"),
        ToolCallDelta(1, "c", "f", '{"x'),
        BlockEnd(1, ToolCallBlock("c", "f", '{"x')),
    ]
    last = events(encoding(), [*TEXT, *cut, Finish(MAX_TOKENS)])[-1]
    response = response_of(last)

    assert (last["event"], response["status"]) == ("response.incomplete", "incomplete")
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["output"][1]["status"] == "incomplete"  # type: ignore[index]


@pytest.mark.parametrize(("unknown", "details"), [("zero", {"cached_tokens": 0}), ("absent", {})])
def test_unknown_counts(unknown: str, details: object) -> None:
    """A count that is unknown is 0, or is left out where that is asked for; no counts are no usage."""
    chunks = [*TEXT, UsageChunk(TokenUsage(input_tokens=3)), Finish(STOP)]
    found = response_of(events(encoding(unknown_counts=unknown), chunks)[-1])["usage"]

    assert isinstance(found, dict)
    assert found["input_tokens_details"] == details
    assert response_of(events(encoding(), [*TEXT, Finish(STOP)])[-1])["usage"] is None
    assert response_of(events(encoding(usage="none"), chunks)[-1])["usage"] is None


@pytest.mark.parametrize(
    ("code", "type_", "told", "in_stream"),
    [
        (codes.RATE_LIMIT, "rate_limit_error", "rate_limit_exceeded", "rate_limit_exceeded"),
        (codes.QUOTA, "insufficient_quota", "insufficient_quota", "insufficient_quota"),
        (codes.CONTEXT_WINDOW_EXCEEDED, "invalid_request_error", "context_length_exceeded", "context_length_exceeded"),
        (codes.INVALID_REQUEST, "invalid_request_error", "invalid_value", "invalid_prompt"),
        (codes.CONTENT_FILTER, "invalid_request_error", "content_filter", "invalid_prompt"),
        (codes.OVERLOADED, "service_unavailable_error", "server_is_overloaded", "server_error"),
        (codes.AUTH, "server_error", "upstream_auth", "server_error"),
        (codes.STREAM_CLOSED, "server_error", "stream_closed", "server_error"),
    ],
)
def test_failures(code: str, type_: str, told: str, in_stream: str) -> None:
    """An `error` event and `response.failed`, each in the words that its readers know (serving sheet, 2026-11)."""
    failed = Finish(FinishReason("error", Failure("No.", code)))
    error, last = events(encoding(), [TEXT[0], UsageChunk(USAGE), failed])[-2:]

    assert error["error"] == {"type": type_, "code": told, "message": "No.", "param": None}
    response = response_of(last)
    assert (last["event"], response["status"], response["usage"]) == ("response.failed", "failed", COUNTS)
    assert response["error"] == {"code": in_stream, "message": "No."}


def test_the_wait_of_a_rate_limit() -> None:
    """The wait stands in the message, where Codex looks for it; one that is there already stays."""
    encoder_ = encoding()

    for said, message in (("Slow.", "Slow. Please try again in 1.5s."), ("try again in 2s", "try again in 2s")):
        failure = Failure(said, codes.RATE_LIMIT, provider_retry_after_ms=1500)
        assert encoder_.error(failure).message == message


def test_failed_whole_answer_and_missing_finish() -> None:
    """A whole answer that failed is the wire's error body; a stream without a finish fails once (V2)."""
    encoder_ = encoding()
    encoder_.feed(TEXT[0])
    assert len(encoder_.eof()) == 1
    whole = encoder_.whole()

    assert whole.error is not None
    assert whole.error.status == 502
    assert json.loads(whole.body)["error"]["code"] == "stream_closed"
    assert encoder_.eof() == []


def test_an_image_has_no_place() -> None:
    """An answer with an image fails as UNSUPPORTED_CONTENT."""
    image = ImageBlock(url="https://x.example/i.png")
    chunks: list[StreamChunk] = [BlockStart(0, "image"), BlockEnd(0, image), Finish(STOP)]

    assert events(encoding(), chunks)[-2]["error"]["code"] == "unsupported_parameter"  # type: ignore[index]


def test_what_a_script_has_beside_chunks() -> None:
    """Refusals, signatures, hidden reasoning and early counts have their places."""
    encoder_ = encoding()
    sent = encoder_.early_usage(USAGE)
    sent += encoder_.opaque("aGlkZGVu")
    sent += encoder_.events(BlockStart(0, "reasoning"))
    sent += encoder_.events(ReasoningDelta(0, "r"))
    assert encoder_.signature(0, "c2lnbmVk") == []
    sent += encoder_.events(BlockEnd(0, ReasoningBlock("r")))
    sent += encoder_.refusal("I ")
    sent += encoder_.refusal("cannot.")
    sent += encoder_.close("completed")

    last = json.loads(sent[-1].data.decode().partition("data: ")[2])["response"]
    hidden, signed, refused = last["output"]
    assert (hidden["encrypted_content"], hidden["summary"]) == ("aGlkZGVu", [])
    assert signed["encrypted_content"] == "c2lnbmVk"
    assert refused["content"] == [{"type": "refusal", "refusal": "I cannot."}]
    assert json.loads(sent[0].data.decode().partition("data: ")[2])["response"]["usage"] == COUNTS
    assert encoder_.close("completed") == []
    assert encoder_.keep_alive().startswith(b"event: response.in_progress\n")
