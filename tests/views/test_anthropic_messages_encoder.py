"""The encoder of `anthropic-messages`: the events that its clients require, in their order."""

import json

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

WIRE = "anthropic-messages"
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "asked-model",
    "stop_reason": None,
    "stop_sequence": None,
}
ZEROS = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
USAGE = TokenUsage(input_tokens=10, output_tokens=9, cache_read_tokens=5, cache_write_tokens=2, reasoning_tokens=3)
COUNTS = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 2,
    "cache_read_input_tokens": 5,
    "output_tokens": 9,
    "output_tokens_details": {"thinking_tokens": 3},
}


def encoding(options: EncoderOptions | None = None) -> WireEncoder:
    return encoder(WIRE, model="asked-model", id="msg_1", options=options)


def read(events: list[bytes]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for event in events:
        name, data = event.decode().removesuffix("\n\n").split("\n")
        payload = json.loads(data.removeprefix("data: "))
        assert name == f"event: {payload['type']}"
        found.append(payload)
    return found


def payloads(encoder_: WireEncoder, chunks: list[StreamChunk]) -> list[dict[str, object]]:
    return read([data for chunk in chunks for data in encoder_.feed(chunk)] + encoder_.eof())


def start(index: int, **block: object) -> dict[str, object]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **fields: object) -> dict[str, object]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def stop(index: int) -> dict[str, object]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str, usage: dict[str, object] | None = None, **more: object) -> list[dict[str, object]]:
    ending = {"stop_reason": reason, "stop_sequence": None, **more}
    usage = {"output_tokens": 0} if usage is None else usage
    return [{"type": "message_delta", "delta": ending, "usage": usage}, {"type": "message_stop"}]


BEGIN = {"type": "message_start", "message": {**MESSAGE, "content": [], "usage": ZEROS}}
CALL: list[StreamChunk] = [
    BlockStart(0, "reasoning"),
    ReasoningDelta(0, "Hm"),
    BlockEnd(0, ReasoningBlock("Hm")),
    BlockStart(1, "tool-call"),
    ToolCallDelta(1, "call_1", "f", '{"x"'),
    ToolCallDelta(1, "call_1", None, ":1.50}"),
    BlockEnd(1, ToolCallBlock("call_1", "f", '{"x":1.50}')),
    UsageChunk(USAGE),
    Finish(TOOL_CALLS),
]


def test_the_order_of_a_stream() -> None:
    """`message_start` with zero counts, whole blocks, arguments as deltas, all counts at the end, one stop (G2)."""
    assert payloads(encoding(), CALL) == [
        BEGIN,
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="Hm"),
        stop(0),
        start(1, type="tool_use", id="call_1", name="f", input={}),
        delta(1, type="input_json_delta", partial_json='{"x"'),
        delta(1, type="input_json_delta", partial_json=":1.50}"),
        stop(1),
        *end("tool_use", COUNTS),
    ]


def test_the_whole_answer() -> None:
    """The same chunks as one object, the arguments as their own bytes (G2, C8)."""
    encoder_ = encoding()
    payloads(encoder_, CALL)
    body = encoder_.whole().body
    content = [
        {"type": "thinking", "thinking": "Hm", "signature": ""},
        {"type": "tool_use", "id": "call_1", "name": "f", "input": {"x": 1.5}},
    ]

    assert json.loads(body) == {**MESSAGE, "content": content, "stop_reason": "tool_use", "usage": COUNTS}
    assert b'"input":{"x":1.50}' in body


def test_counts_that_are_known_before() -> None:
    """Input counts that are known at the start stand there, and then only output follows, as at Anthropic."""
    encoder_ = encoding(EncoderOptions(start_usage=TokenUsage(input_tokens=10, cache_read_tokens=5)))
    found = payloads(encoder_, [*CALL[:3], UsageChunk(USAGE), Finish(STOP)])
    first = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}

    assert found[0] == {"type": "message_start", "message": {**MESSAGE, "content": [], "usage": first}}
    assert found[-2]["usage"] == {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 3}}


def test_state_in_its_places() -> None:
    """A signature goes into its open block, hidden reasoning is a block of its own, and indexes have no gap (G6)."""
    encoder_ = encoding()
    events = [event for chunk in CALL[:2] for event in encoder_.feed(chunk)]
    events += [event.data for event in encoder_.signature(0, "c2ln")]
    events += encoder_.feed(CALL[2])
    events += [event.data for event in encoder_.opaque("b3Bh")]
    events += [event for chunk in CALL[3:] for event in encoder_.feed(chunk)]
    content = json.loads(encoder_.whole().body)["content"]

    assert read(events)[3:8] == [
        delta(0, type="signature_delta", signature="c2ln"),
        stop(0),
        start(1, type="redacted_thinking", data="b3Bh"),
        stop(1),
        start(2, type="tool_use", id="call_1", name="f", input={}),
    ]
    assert content[:2] == [
        {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3Bh"},
    ]


def test_indexes_follow_the_order_on_the_wire() -> None:
    """A call that opens late comes after what opened before it on the wire: clients append blocks as they start."""
    chunks: list[StreamChunk] = [
        BlockStart(0, "tool-call"),
        BlockStart(1, "text"),
        TextDelta(1, "a"),
        ToolCallDelta(0, "call_1", "f", "{}"),
        BlockEnd(0, ToolCallBlock("call_1", "f", "{}")),
        BlockEnd(1, TextBlock("a")),
        Finish(TOOL_CALLS),
    ]
    started = [event for event in payloads(encoding(), chunks) if event["type"] == "content_block_start"]

    assert started == [start(0, type="text", text=""), start(1, type="tool_use", id="call_1", name="f", input={})]


TEXT: list[StreamChunk] = [BlockStart(0, "text"), TextDelta(0, "a"), BlockEnd(0, TextBlock("a"))]


def test_a_matched_stop_sequence() -> None:
    """A stop whose sequence is known says which it was."""
    encoder_ = encoding()
    encoder_.stop_sequence = "END"

    assert payloads(encoder_, [*TEXT, Finish(STOP)])[-2:] == end("stop_sequence", stop_sequence="END")


def test_a_refusal() -> None:
    """A refusal is an ending with its words as the explanation, and closes the block that was open."""
    encoder_ = encoding()
    refused = Finish(FinishReason("error", Failure("I cannot.", "CONTENT_FILTER")))
    details = {"type": "refusal", "category": None, "explanation": "I cannot."}

    assert payloads(encoder_, [*TEXT[:2], refused])[3:] == [stop(0), *end("refusal", stop_details=details)]
    assert json.loads(encoder_.whole().body)["content"] == [{"type": "text", "text": "a"}]


def test_a_failure_in_the_stream() -> None:
    """A failure is one `error` event and nothing after it; whole, it is the error body with the request's id (G3)."""
    encoder_ = encoding(EncoderOptions(request_id="req_1"))
    failed = Finish(FinishReason("error", Failure("slow down", "RATE_LIMIT")))
    error = {"type": "rate_limit_error", "message": "slow down"}
    whole_error = (429, "slow down", "rate_limit_error", None, None)

    assert payloads(encoder_, [*TEXT[:2], failed])[3:] == [{"type": "error", "error": error}]
    assert json.loads(encoder_.whole().body) == {"type": "error", "error": error, "request_id": "req_1"}
    assert encoder_.whole().error == whole_error


def test_a_stream_without_a_finish() -> None:
    """The end of the chunks without a finish is one error event (V2)."""
    error = {"type": "api_error", "message": "the stream ended without a finish"}

    assert payloads(encoding(), TEXT)[-1:] == [{"type": "error", "error": error}]


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        ("CONTEXT_WINDOW_EXCEEDED", "8193 > 8192", "prompt is too long: 8193 > 8192"),
        (
            "CONTEXT_WINDOW_EXCEEDED",
            "prompt is too long: 9 tokens > 8 maximum",
            "prompt is too long: 9 tokens > 8 maximum",
        ),
        ("MODEL_NOT_FOUND", "no such thing", "model: asked-model: no such thing"),
        ("MODEL_NOT_FOUND", "model: x", "model: x"),
    ],
)
def test_wording_that_clients_act_on(code: str, message: str, expected: str) -> None:
    """Clients recognise an overflow and an unknown model by Anthropic's own words alone (G3)."""
    assert encoding().error(Failure(message, code)).message == expected


def calling(arguments: str) -> list[StreamChunk]:
    return [
        BlockStart(0, "tool-call"),
        ToolCallDelta(0, "call_1", "f", arguments),
        BlockEnd(0, ToolCallBlock("call_1", "f", arguments)),
    ]


@pytest.mark.parametrize("arguments", ["[1]", '{"x":', "7", '{"x":NaN}', "{" * 100_000, '"\ud800"'])
def test_arguments_that_are_no_object(arguments: str) -> None:
    """A whole answer has no place for such arguments: it is MALFORMED_RESPONSE, or lacks the call that was cut."""
    encoder_, cut = encoding(), encoding()
    for chunk in [*calling(arguments), Finish(TOOL_CALLS)]:
        encoder_.feed(chunk)
    for chunk in [*calling(arguments), Finish(MAX_TOKENS)]:
        cut.feed(chunk)
    message = "the arguments of the call 'call_1' are no JSON object"

    assert encoder_.whole().error == (502, message, "api_error", None, None)
    assert json.loads(encoder_.whole().body)["error"] == {"type": "api_error", "message": message}
    assert json.loads(cut.whole().body)["content"] == []


@pytest.mark.parametrize("arguments", ["", " ", "{}"])
def test_a_call_without_arguments(arguments: str) -> None:
    """A call without arguments has the empty object in a whole answer (C8)."""
    encoder_ = encoding()
    for chunk in [*calling(arguments), Finish(TOOL_CALLS)]:
        encoder_.feed(chunk)

    assert json.loads(encoder_.whole().body)["content"] == [
        {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}
    ]


def test_an_image() -> None:
    """An image keeps no index, and the answer ends as UNSUPPORTED_CONTENT."""
    chunks: list[StreamChunk] = [
        BlockStart(0, "image"),
        BlockEnd(0, ImageBlock(url="https://example.test/a.png")),
        BlockStart(1, "text"),
        TextDelta(1, "a"),
        BlockEnd(1, TextBlock("a")),
        Finish(STOP),
    ]
    message = "the answer holds an image, and anthropic-messages has no place for one"
    error = {"type": "invalid_request_error", "message": message}

    assert payloads(encoding(), chunks) == [
        BEGIN,
        start(0, type="text", text=""),
        delta(0, type="text_delta", text="a"),
        stop(0),
        {"type": "error", "error": error},
    ]


def test_a_keep_alive() -> None:
    """A silence is broken by a `ping`, also before the answer has begun (G4)."""
    assert encoding().keep_alive() == b'event: ping\ndata: {"type":"ping"}\n\n'
