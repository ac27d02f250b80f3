"""The encoder of `openai-chat`: the events that its clients require, in their order."""

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
)
from limen.views import EncoderOptions, WireEncoder, encoder

WIRE = "openai-chat"
HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1796000000, "model": "asked/Model"}
USAGE = TokenUsage(input_tokens=10, output_tokens=9, cache_read_tokens=5, cache_write_tokens=2, reasoning_tokens=3)
COUNTS = {
    "prompt_tokens": 17,
    "completion_tokens": 9,
    "total_tokens": 26,
    "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
EVERYTHING: list[StreamChunk] = [
    BlockStart(0, "reasoning"),
    ReasoningDelta(0, "Hm"),
    BlockEnd(0, ReasoningBlock("Hm")),
    BlockStart(1, "text"),
    TextDelta(1, "a"),
    BlockStart(2, "tool-call"),
    ToolCallDelta(2, "call_1", "f", '{"x"'),
    BlockStart(3, "tool-call"),
    ToolCallDelta(3, "call_2", "g", "{}"),
    ToolCallDelta(2, "call_1", None, ":1.50}"),
    BlockEnd(1, TextBlock("a")),
    BlockEnd(2, ToolCallBlock("call_1", "f", '{"x":1.50}')),
    BlockEnd(3, ToolCallBlock("call_2", "g", "{}")),
    UsageChunk(USAGE),
    Finish(TOOL_CALLS),
]


def encoding(**options: object) -> WireEncoder:
    return encoder(WIRE, model="asked/Model", id="chatcmpl-1", options=EncoderOptions(created=1796000000, **options))  # type: ignore[arg-type]


def payloads(encoder_: WireEncoder, chunks: list[StreamChunk]) -> list[object]:
    events = [data for chunk in chunks for data in encoder_.feed(chunk)]
    events += encoder_.eof()
    assert all(event.startswith(b"data: ") and event.endswith(b"\n\n") for event in events)
    texts = [event[6:-2].decode() for event in events]
    return [text if text == "[DONE]" else json.loads(text) for text in texts]


def chunk(delta: Mapping[str, object], finish: str | None = None) -> dict[str, object]:
    return {**HEAD, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}], "usage": None}


def opening(index: int, call: str, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": call, "type": "function", "function": function}]}


def test_the_order_of_a_stream() -> None:
    """Role, deltas, one chunk with the finish reason, usage by itself with null before it, the end marker (G2)."""
    fragment = {"tool_calls": [{"index": 0, "function": {"arguments": ":1.50}"}}]}

    assert payloads(encoding(), EVERYTHING) == [
        chunk({"role": "assistant", "content": "", "refusal": None}),
        chunk({"content": None, "reasoning_content": "Hm"}),
        chunk({"content": "a"}),
        chunk(opening(0, "call_1", "f", '{"x"')),
        chunk(opening(1, "call_2", "g", "{}")),
        chunk(fragment),
        chunk({}, "tool_calls"),
        {**HEAD, "choices": [], "usage": COUNTS},
        "[DONE]",
    ]


def test_the_whole_answer() -> None:
    """The same chunks as one object, arguments as the string that they are (G2, C8)."""
    encoder_ = encoding(fingerprint="fp_1")
    payloads(encoder_, EVERYTHING)
    functions = [{"name": "f", "arguments": '{"x":1.50}'}, {"name": "g", "arguments": "{}"}]
    calls = [
        {"id": f"call_{number}", "type": "function", "function": function}
        for number, function in enumerate(functions, 1)
    ]
    message = {"role": "assistant", "content": "a", "refusal": None, "reasoning_content": "Hm", "tool_calls": calls}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    head = {**HEAD, "object": "chat.completion", "system_fingerprint": "fp_1"}

    assert (json.loads(encoder_.whole().body), encoder_.whole().error) == (
        {**head, "choices": [choice], "usage": COUNTS},
        None,
    )


TEXT: list[StreamChunk] = [BlockStart(0, "text"), TextDelta(0, "a"), BlockEnd(0, TextBlock("a"))]


@pytest.mark.parametrize(
    ("usage", "expected"), [("none", []), ("finish", [COUNTS]), ("trailing", [None] * 3 + [COUNTS])]
)
def test_the_place_of_usage(usage: str, expected: list[object]) -> None:
    """Usage stands where the client asked for it, and without a question nowhere."""
    found = payloads(encoding(usage=usage), [*TEXT, UsageChunk(USAGE), Finish(STOP)])
    events = [event for event in found if isinstance(event, dict)]

    assert [event["usage"] for event in events if "usage" in event] == expected


def test_usage_that_never_came() -> None:
    """Without counts there is no usage, wherever it was asked for."""
    found = payloads(encoding(usage="finish"), [*TEXT, Finish(STOP)])

    assert [event for event in found if isinstance(event, dict) and "usage" in event] == []


def test_unknown_counts() -> None:
    """A count that is unknown is 0 where the wire demands a number, and is left out where it does not."""
    found = payloads(encoding(), [*TEXT, UsageChunk(TokenUsage(cache_read_tokens=4)), Finish(STOP)])
    usage = {
        "prompt_tokens": 4,
        "completion_tokens": 0,
        "total_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 4},
    }

    assert found[-2:] == [{**HEAD, "choices": [], "usage": usage}, "[DONE]"]


def test_an_answer_without_content() -> None:
    """An answer that the token limit left empty has its role chunk and its finish reason."""
    role = chunk({"role": "assistant", "content": "", "refusal": None})

    assert payloads(encoding(), [Finish(MAX_TOKENS)]) == [role, chunk({}, "length"), "[DONE]"]


def test_calls_alone() -> None:
    """An answer that begins with a call has no content."""
    first, *_ = payloads(encoding(), [BlockStart(0, "tool-call")])

    assert first == chunk({"role": "assistant", "content": None, "refusal": None})


def test_blocks_of_one_kind_wait_for_each_other() -> None:
    """Text blocks that interleave are written one after the other: the wire has one text (V1)."""
    chunks: list[StreamChunk] = [
        BlockStart(0, "text"),
        TextDelta(0, "a"),
        BlockStart(1, "text"),
        TextDelta(1, "c"),
        BlockStart(2, "text"),
        TextDelta(2, "e"),
        TextDelta(0, "b"),
        BlockEnd(2, TextBlock("e")),
        BlockEnd(0, TextBlock("ab")),
        TextDelta(1, "d"),
        BlockEnd(1, TextBlock("cd")),
        Finish(STOP),
    ]
    expected = [chunk({"content": text}) for text in "abcde"]

    assert payloads(encoding(), chunks)[1:-2] == expected


def test_a_block_that_waited_without_text() -> None:
    """A block that had nothing to say while it waited is written as it goes on."""
    chunks: list[StreamChunk] = [
        *TEXT[:2],
        BlockStart(1, "text"),
        BlockEnd(0, TextBlock("a")),
        TextDelta(1, "b"),
        BlockEnd(1, TextBlock("b")),
        Finish(STOP),
    ]

    assert payloads(encoding(), chunks)[1:-2] == [chunk({"content": "a"}), chunk({"content": "b"})]


def test_a_refusal() -> None:
    """A filtered answer ends in order: what was held back, the words as `refusal`, `content_filter`, the marker."""
    chunks: list[StreamChunk] = [
        *TEXT[:2],
        BlockStart(1, "text"),
        TextDelta(1, "b"),
        Finish(FinishReason("error", Failure("I cannot.", "CONTENT_FILTER"))),
    ]
    encoder_ = encoding()

    assert payloads(encoder_, chunks)[2:] == [
        chunk({"refusal": "I cannot."}),
        chunk({"content": "b"}),
        chunk({}, "content_filter"),
        "[DONE]",
    ]
    (choice,) = json.loads(encoder_.whole().body)["choices"]
    assert choice["message"] == {"role": "assistant", "content": "ab", "refusal": "I cannot."}


def error(message: str, kind: str, code: str) -> dict[str, object]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def test_a_failure_in_the_stream() -> None:
    """A failure is one chunk with a top-level `error`, without the end marker; whole, it is the error body (G3)."""
    encoder_ = encoding()
    failed = Finish(FinishReason("error", Failure("slow down", "RATE_LIMIT")))
    expected = error("slow down", "rate_limit_error", "rate_limit_exceeded")
    whole_error = (429, "slow down", "rate_limit_error", "rate_limit_exceeded", None)

    assert payloads(encoder_, [*TEXT[:2], failed])[2:] == [expected]
    assert (json.loads(encoder_.whole().body), encoder_.whole().error) == (expected, whole_error)


def test_a_stream_without_a_finish() -> None:
    """The end of the chunks without a finish is one error event (V2)."""
    expected = error("the stream ended without a finish", "server_error", "stream_closed")

    assert payloads(encoding(), TEXT)[2:] == [expected]
    assert json.loads(encoding().whole().body) == expected


def test_an_image() -> None:
    """The wire has no place for an image: the answer ends as UNSUPPORTED_CONTENT."""
    image: list[StreamChunk] = [
        BlockStart(0, "image"),
        BlockEnd(0, ImageBlock(url="https://example.test/a.png")),
        Finish(STOP),
    ]
    expected = error(
        "the answer holds an image, and openai-chat has no place for one",
        "invalid_request_error",
        "unsupported_parameter",
    )

    assert payloads(encoding(), image) == [expected]


def test_what_the_wire_has_no_place_for() -> None:
    """Signatures and hidden reasoning are left out, and a keep-alive is a comment (G4)."""
    encoder_ = encoding()
    encoder_.feed(BlockStart(0, "reasoning"))

    assert (encoder_.signature(0, "c2ln"), encoder_.opaque("b3Bh"), encoder_.keep_alive()) == (
        [],
        [],
        b": keep-alive\n\n",
    )
