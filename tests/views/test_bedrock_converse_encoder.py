"""The encoder of `bedrock-converse`: the events that its clients require, in their order."""

import json
import struct
import zlib

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
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    codes,
)
from limen.views import WireEncoder, encoder

USAGE = TokenUsage(input_tokens=10, output_tokens=9, cache_read_tokens=5, cache_write_tokens=2, reasoning_tokens=3)
COUNTS = {
    "inputTokens": 10,
    "outputTokens": 9,
    "totalTokens": 26,
    "cacheReadInputTokens": 5,
    "cacheWriteInputTokens": 2,
}
LONG = "Input is too long for requested model"
UNKNOWN = "The provided model identifier is invalid"
METRICS = {"latencyMs": 0}


def encoding() -> WireEncoder:
    return encoder("bedrock-converse", model="asked-model", id="1")


def frames(data: bytes) -> list[tuple[str, object]]:
    """The name and the payload of each frame; both checksums are verified."""
    found: list[tuple[str, object]] = []
    while data:
        total, headers, crc = struct.unpack(">III", data[:12])
        assert zlib.crc32(data[:8]) == crc
        assert struct.unpack(">I", data[total - 4 : total])[0] == zlib.crc32(data[: total - 4])
        fields: dict[str, str] = {}
        place = 12
        while place < 12 + headers:
            end = place + 1 + data[place]
            (size,) = struct.unpack(">H", data[end + 1 : end + 3])
            fields[data[place + 1 : end].decode()] = data[end + 3 : end + 3 + size].decode()
            place = end + 3 + size
        assert fields[":content-type"] == "application/json"
        kind = fields[":message-type"]
        found.append(
            (fields[":event-type" if kind == "event" else ":exception-type"], json.loads(data[place : total - 4]))
        )
        data = data[total:]
    return found


def test_the_events_of_a_turn() -> None:
    """Text and reasoning begin with their first delta, calls with a start; counts stand in `metadata` (G2)."""
    made = encoding()
    sent = [
        *made.feed(BlockStart(0, "reasoning")),
        *made.feed(ReasoningDelta(0, "hm")),
        *(event.data for event in made.signature(0, "sig")),
        *made.feed(BlockEnd(0, ReasoningBlock("hm"))),
        *(event.data for event in made.opaque("ab")),
        *made.feed(BlockStart(1, "text")),
        *made.feed(TextDelta(1, "a")),
        *made.feed(BlockEnd(1, TextBlock("a"))),
        *made.feed(BlockStart(2, "tool-call")),
        *made.feed(ToolCallDelta(2, "t", "add", "")),
        *made.feed(ToolCallDelta(2, "t", None, "{}")),
        *made.feed(BlockEnd(2, ToolCallBlock("t", "add", "{}"))),
        *(event.data for event in made.early_usage(TokenUsage(1, 2))),
        *made.feed(UsageChunk(USAGE)),
        *made.feed(Finish(TOOL_CALLS)),
    ]
    assert frames(b"".join(sent)) == [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "sig"}}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"reasoningContent": {"redactedContent": "YWI="}}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"text": "a"}}),
        ("contentBlockStop", {"contentBlockIndex": 2}),
        ("contentBlockStart", {"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "t", "name": "add"}}}),
        ("contentBlockDelta", {"contentBlockIndex": 3, "delta": {"toolUse": {"input": ""}}}),
        ("contentBlockDelta", {"contentBlockIndex": 3, "delta": {"toolUse": {"input": "{}"}}}),
        ("contentBlockStop", {"contentBlockIndex": 3}),
        ("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}, "metrics": METRICS}),
        ("messageStop", {"stopReason": "tool_use"}),
        ("metadata", {"usage": COUNTS, "metrics": METRICS}),
    ]
    assert json.loads(made.whole().body) == {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
                    {"reasoningContent": {"redactedContent": "YWI="}},
                    {"text": "a"},
                    {"toolUse": {"toolUseId": "t", "name": "add", "input": {}}},
                ],
            }
        },
        "stopReason": "tool_use",
        "metrics": METRICS,
        "usage": COUNTS,
    }


def test_endings() -> None:
    """A matched stop sequence is told; without counts there are none; a filter is a finish word (G2)."""
    made = encoding()
    made.stop_sequence = "END"
    matched = {"stopReason": "stop_sequence", "additionalModelResponseFields": {"stop_sequence": "END"}}
    assert frames(b"".join(made.feed(Finish(STOP)))) == [
        ("messageStart", {"role": "assistant"}),
        ("messageStop", matched),
        ("metadata", {"metrics": METRICS}),
    ]
    whole = {"output": {"message": {"role": "assistant", "content": []}}, **matched, "metrics": METRICS}
    assert json.loads(made.whole().body) == whole
    made = encoding()
    made.feed(BlockStart(0, "text"))
    made.feed(TextDelta(0, "a"))
    filtered = Finish(FinishReason("error", Failure("no", codes.CONTENT_FILTER)))
    assert [name for name, _ in frames(b"".join(made.feed(filtered)))] == [
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]


@pytest.mark.parametrize(
    ("code", "status", "kind", "message", "inside"),
    [
        (codes.RATE_LIMIT, 429, "ThrottlingException", "m", "throttlingException"),
        (codes.CONTEXT_WINDOW_EXCEEDED, 400, "ValidationException", f"{LONG}: m", "validationException"),
        (codes.MODEL_NOT_FOUND, 404, "ResourceNotFoundException", f"{UNKNOWN}: m", "validationException"),
        (codes.AUTH, 500, "InternalServerException", "m", "internalServerException"),
        (codes.TIMEOUT, 408, "ModelTimeoutException", "m", "internalServerException"),
        (codes.OVERLOADED, 503, "ServiceUnavailableException", "m", "serviceUnavailableException"),
    ],
)  # fmt: skip
def test_errors(code: str, status: int, kind: str, message: str, inside: str) -> None:
    """A failure has Bedrock's status and type, in the wording that clients know; a key is never theirs (G3)."""
    made = encoding()
    error = made.error(Failure("m", code))
    assert (error.status, error.type, error.message) == (status, kind, message)
    assert made.error(Failure(message, code)).message == message
    assert json.loads(made.error_body(error)) == {"message": message, "__type": kind}
    assert frames(made.error_event(error)) == [(inside, {"message": message})]


def test_arguments_that_are_no_object() -> None:
    """A whole answer has no place for them: left out where a limit cut them, else the failure (C8, C17)."""
    made = encoding()
    made.feed(BlockStart(0, "tool-call"))
    made.feed(ToolCallDelta(0, "t", "add", '{"a'))
    made.feed(BlockEnd(0, ToolCallBlock("t", "add", '{"a')))
    other = encoding()
    for chunk in (BlockStart(0, "tool-call"), ToolCallDelta(0, "t", "add", '{"a')):
        other.feed(chunk)
    made.feed(Finish(MAX_TOKENS))
    other.feed(Finish(TOOL_CALLS))
    assert json.loads(made.whole().body)["output"]["message"]["content"] == []
    assert other.whole().error is not None


def test_what_has_no_place() -> None:
    """An image fails the answer; reasoning without a signature has none; a keep-alive is an event of another name."""
    made = encoding()
    made.feed(BlockStart(0, "reasoning"))
    made.feed(ReasoningDelta(0, "hm"))
    made.feed(BlockStart(1, "image"))
    made.feed(BlockEnd(1, ImageBlock("image/png", b"x")))
    assert frames(b"".join(made.feed(Finish(STOP))))[0][0] == "validationException"
    made = encoding()
    made.feed(BlockStart(0, "reasoning"))
    made.feed(ReasoningDelta(0, "hm"))
    made.feed(Finish(MAX_TOKENS))
    content = json.loads(made.whole().body)["output"]["message"]["content"]
    assert content == [{"reasoningContent": {"reasoningText": {"text": "hm"}}}]
    assert [name for name, _ in frames(made.keep_alive())] == ["keepAlive"]
