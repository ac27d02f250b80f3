"""Anthropic Messages answers that fail: errors in-band, truncation, disorder, bodies that are no stream (E1, W1)."""

import json

import pytest

from adapters.anthropic._messages_wire import (
    Outcome,
    call,
    closed,
    delta,
    event,
    opened,
    read,
    read_all_ways,
    started,
    stopped,
    text,
    thinking,
)
from limen.adapters.anthropic import WIRE
from limen.contract import (
    BlockStart,
    Failure,
    Finish,
    FinishReason,
    Limits,
    TextDelta,
    TokenUsage,
    UsageChunk,
    codes,
)


def errors(kind: str, message: str = "No.", **fields: object) -> bytes:
    """An `error` event."""
    return event("error", error={"details": None, "type": kind, "message": message}, **fields)


def in_band(body: bytes) -> Failure:
    """The failure that a body ends with in-band, however it is cut."""
    outcome = read_all_ways(body)
    reason = outcome.finish.reason
    assert (reason.kind, outcome.code) == ("error", None)
    assert reason.failure is not None
    return reason.failure


@pytest.mark.parametrize(
    ("kind", "message", "code"),
    [
        ("overloaded_error", "Overloaded", codes.OVERLOADED),
        ("api_error", "Internal server error", codes.SERVER),
        ("rate_limit_error", "Slow down", codes.RATE_LIMIT),
        ("timeout_error", "Timed out", codes.TIMEOUT),
        ("authentication_error", "invalid x-api-key", codes.AUTH),
        ("permission_error", "No.", codes.AUTH),
        ("billing_error", "Pay.", codes.QUOTA),
        ("not_found_error", "model: claude-y", codes.MODEL_NOT_FOUND),
        ("invalid_request_error", "bad", codes.INVALID_REQUEST),
        ("invalid_request_error", "prompt is too long: 9 tokens > 5 maximum", codes.CONTEXT_WINDOW_EXCEEDED),
        ("request_too_large", "Too large", codes.INVALID_REQUEST),
        ("new_kind_of_error", "Hm", codes.SERVER),
    ],
)
def test_error_as_the_first_event(kind: str, message: str, code: str) -> None:
    """An error event is in-band, also as the first event after HTTP 200, and says what it is (E1, W1)."""
    failure = in_band(errors(kind, message, request_id="req_1"))

    assert failure == Failure(message, code, phase="first-event", provider_code=kind, request_id="req_1")


def test_error_in_the_middle_keeps_what_came() -> None:
    """Blocks stay open and usage precedes the failure (C5, C7); nothing after it counts."""
    body = started() + opened(0, "text", text="") + delta(0, "text_delta", text="par") + errors("overloaded_error")

    assert read_all_ways(body + stopped("end_turn")).chunks == [
        BlockStart(0, "text"),
        TextDelta(0, "par"),
        UsageChunk(TokenUsage(3, 1)),
        Finish(
            FinishReason(
                "error", Failure("No.", codes.OVERLOADED, phase="mid-stream", provider_code="overloaded_error")
            )
        ),
    ]


@pytest.mark.parametrize(
    "payload",
    [
        b'data: {"error":{"type":"overloaded_error","message":"No."}}\n\n',
        b'event: error\ndata: {"error":{"type":"overloaded_error","message":"No."}}\n\n',
        b'event: error\ndata: {"type":"overloaded_error","message":"No."}\n\n',
        b'data: {"type":"error","message":"No.","code":"overloaded"}\n\n',
        b'data: {"type":"content_block_delta","error":{"type":"overloaded_error","message":"No."}}\n\n',
        b"event: error\ndata: overloaded\n\n",
        b'event: error\ndata: ["overloaded"]\n\n',
        b'event: error\ndata: {"type":5,"index":"x","message":"overloaded"}\n\n',
        b'event: error\ndata: "overloaded"\n\n',
        b'data: {"type":"error","index":"x","message":"overloaded"}\n\n',
    ],
)
def test_shapes_of_errors(payload: bytes) -> None:
    """A top-level error or an event named error ends the stream, whatever its shape (W1)."""
    assert in_band(started() + payload).code == codes.OVERLOADED


def test_error_null_is_absence() -> None:
    """`error: null` says that there is none (W1, W2)."""
    body = event("message_start", message={"id": "m"}, error=None) + text(0, "a") + stopped("end_turn", usage={})

    assert read_all_ways(body).finish.reason.kind == "stop"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\n",
        b": ping\n\n",
        event("ping"),
        started(),
        started() + text(0, "a"),
        started() + text(0, "a") + event("message_delta", delta={"stop_reason": "end_turn"}),
        started() + text(0, "a") + b"data: [DONE]\n\n",
        (started() + text(0, "a") + stopped("end_turn"))[:-6],
        b'{"type":"message","content":[{"type":"text","text":"a',
        b'{"type":"message","content":[{"type":"text","text":"a"}]',
    ],
)
def test_truncation_has_one_code(body: bytes) -> None:
    """A body that ends before message_stop is STREAM_CLOSED, with no event at all too (W6, E6)."""
    assert read_all_ways(body).code == codes.STREAM_CLOSED


def test_truncation_keeps_what_came() -> None:
    """What arrived before the end is delivered, and the phase says how far it came (S4, E6)."""
    reader = WIRE.reader()
    early = WIRE.reader()

    chunks = reader.feed(started() + opened(0, "text", text="") + delta(0, "text_delta", text="a"))

    assert (chunks + reader.eof(), early.eof()) == ([BlockStart(0, "text"), TextDelta(0, "a")], [])
    assert reader.failure is not None
    assert early.failure is not None
    assert (reader.failure.failure.phase, early.failure.failure.phase) == ("mid-stream", "first-event")


@pytest.mark.parametrize(
    "broken",
    [
        b"data: {\n\n",
        b'data: {"type":"message_start"\n\n',
        b"data: hello\n\n",
        b"data: 5\n\n",
        b"data: []\n\n",
        b'data: {"type":5}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":5}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":"x"}\n\n',
        b'data: {"type":"content_block_delta","index":"a","delta":{"type":"text_delta","text":"x"}}\n\n',
        b'data: {"type":"content_block_stop","index":1.5}\n\n',
        event("content_block_start", index=0, content_block=None),
        event("content_block_start", index=0),
        event("content_block_start", index=0, content_block="text"),
        event("content_block_start", index=0, content_block={"type": ""}),
        event("message_start", message="x"),
        event("message_start", message={"content": "x"}),
        event("message_delta", delta={"stop_reason": 5}),
        opened(0, "text", text=5),
        opened(0, "tool_use", id="t", input={}),
        opened(0, "tool_use", id="t", name="", input={}),
        opened(0, "tool_use", id="t", name="f", input=[1]),
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"x","y":"\\ud83"}}\n\n',
        opened(0, "text", text="") + opened(0, "text", text=""),
        delta(0, "input_json_delta", partial_json="{}"),
        text(0, "a") + delta(0, "text_delta", text="b"),
        opened(0, "text", text="") + delta(0, "thinking_delta", thinking="b"),
        opened(0, "thinking", thinking="") + delta(0, "text_delta", text="b"),
        opened(0, "tool_use", id="t", name="f", input={}) + delta(0, "text_delta", text="b"),
        started("msg_2"),
        b"data: " + b"[" * 200 + b"]" * 200 + b"\n\n",
    ],
)
def test_what_the_wire_does_not_allow(broken: bytes) -> None:
    """Bytes, JSON, shape or order that no variant has: MALFORMED_RESPONSE, raised, after what came before (C15, S4)."""
    before = event("message_start", message={"id": "msg_1"})

    outcome = read_all_ways(before + broken + text(9, "late") + stopped("end_turn"))

    assert outcome.code == codes.MALFORMED_RESPONSE
    assert all(type(chunk) is not Finish for chunk in outcome.chunks)


def test_a_count_that_is_no_whole_number() -> None:
    """Half a token is no count: it is unknown, costs nothing else, and leaves a note (C15)."""
    body = started() + text(0, "a") + stopped("end_turn", usage={"output_tokens": 1.5})
    reader = WIRE.reader()

    chunks = reader.feed(body) + reader.eof()

    assert chunks[-2:] == [UsageChunk(TokenUsage(input_tokens=3)), Finish(FinishReason("stop"))]
    assert reader.call_facts.notes == ["a token count of 1.5 counts as unknown"]
    assert read_all_ways(body).chunks == chunks


def test_malformed_says_what_and_shows_no_secret() -> None:
    """The message has the first readable words, scrubbed and bounded (E5)."""
    reader = WIRE.reader()

    reader.feed(started() + b"data: sk-ant-REDACTED is\t not JSON " + b"x" * 900 + b"\n\n")

    assert reader.failure is not None
    message = reader.failure.failure.message
    assert "[redacted] is not JSON" in message
    assert len(message) < 250
    assert reader.failure.failure.phase == "mid-stream"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html><body>Bad gateway</body></html>", "Bad gateway"),
        (b"upstream connect error", "upstream connect error"),
        (b"\xef\xbb\xbfhello", "hello"),
        (b"[1, 2]", "[1, 2] (Expected"),
        (b'{"hello": 1}', '{"hello": 1}'),
        (b'{"content": nul}', '{"content": nul} (JSON is malformed'),
        (b'{"a": 1} {"b": 2}', '{"a": 1} {"b": 2} (JSON is malformed'),
        (b"{oops", "{oops (JSON is malformed"),
        (b"[1,,", "[1,, (Expected"),
        (b"{" + b'"a":{' * 200 + b"}" * 201, '{"a":{"a":{'),
    ],
)
def test_bodies_that_are_no_answer(body: bytes, words: str) -> None:
    """A page, a sentence or foreign JSON is MALFORMED_RESPONSE with the content type and its first words (S3)."""
    reader = WIRE.reader(content_type="text/html")

    assert reader.feed(body) + reader.eof() == []
    assert reader.failure is not None
    assert reader.failure.code == codes.MALFORMED_RESPONSE
    beginning = "the body is neither a stream of events nor a message (content type: text/html): "
    assert reader.failure.failure.message.startswith(beginning + words)
    assert read_all_ways(body).code == codes.MALFORMED_RESPONSE


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": ' + b"[" * 1000,
        b'{"error": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"error": ' + b"[" * 129 + b"]" * 129 + b"}",
    ],
    ids=["cut", "far too deep", "one too deep"],
)
def test_bodies_that_are_too_deep(body: bytes) -> None:
    """A body nested past the limit is MALFORMED_RESPONSE, whatever it would tell, and no RecursionError (S2)."""
    assert read(body) == read([body[:1], body[1:50], body[50:]]) == Outcome([], codes.MALFORMED_RESPONSE, {})


@pytest.mark.parametrize(
    "body",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "No."}},
        {"error": {"type": "overloaded_error", "message": "No."}},
        {"type": "error", "message": "overloaded"},
    ],
)
def test_whole_error_body_after_200_is_raised(body: object) -> None:
    """A 2xx answer that is one error object is no stream: it is classified and raised (E1, S3)."""
    pretty = json.dumps(body, indent=2).encode()

    assert read_all_ways(pretty) == Outcome([], codes.OVERLOADED, {})
    assert read_all_ways(json.dumps(body).encode() + b"\n\ndata: {}\n\n") == Outcome([], codes.OVERLOADED, {})


def test_limits_of_size() -> None:
    """An event or an answer over the limit is MALFORMED_RESPONSE, after what came before (S2)."""
    limits = Limits(event_bytes=400)
    long = text(1, "x" * 900) + stopped("end_turn")

    assert read_all_ways(started() + text(0, "a") + long, limits=limits).code == codes.MALFORMED_RESPONSE
    assert len(read(started() + text(0, "a") + long, limits=limits).chunks) == 3
    assert read(b'{"a":"' + b"x" * 900, limits=limits).code == codes.MALFORMED_RESPONSE
    assert read(b"\n" * 5000 + b": x" + b"x" * 900, limits=limits).code == codes.MALFORMED_RESPONSE


def test_unknown_things_are_passed_over() -> None:
    """Unknown events, deltas, fields and blocks are ignored by the wire's rule, whatever they hold (C15)."""
    body = (
        event("future_event", index="x", delta={"type": 5})
        + event("future_event", delta="x")
        + b'data: {"type":"future_event","index":[1]}\n\n'
        + b'data: {"no":"type"}\n\n'
        + started(future={"x": [1]})
        + opened(0, "text", text="", future=1)
        + delta(0, "future_delta", text={"not": "text"})
        + delta(0, "future_delta", of="a kind")
        + delta(0, "text_delta", text="a", future=1)
        + event("content_block_delta", index=0, delta={"type": None})
        + closed(0)
        + delta(5, "future_delta", x=1)
        + stopped("end_turn", future=1)
    )

    assert read_all_ways(body) == read(started() + text(0, "a") + stopped("end_turn"))


def test_keep_alives_are_no_model_events() -> None:
    """Pings and comments do not count as events of the model (T1)."""
    reader = WIRE.reader()

    reader.feed(b": x\n\n" + event("ping") + event("ping"))
    quiet = reader.events
    reader.feed(started())

    assert (quiet, reader.events) == (0, 1)


HALVES = [
    (["\ud83d", "\ude00!"], "😀!"),
    (["a\ud83d", "b"], "a\ufffdb"),
    (["\ude00"], "\ufffd"),
    (["a\ud83d"], "a\ufffd"),
    (["\ud83d", "\ud83d", "\ude00"], "\ufffd😀"),
    (["é\ud83d\ude00"], "é😀"),
]


@pytest.mark.parametrize(("parts", "whole"), HALVES)
def test_halves_of_surrogate_pairs_are_joined(parts: list[str], whole: str) -> None:
    """An escaped half is joined with the next delta of its block, else it is U+FFFD; in every kind of block (S5)."""

    def escaped(index: int, kind: str, field: str) -> bytes:
        return b"".join(
            b"data: "
            + json.dumps({"type": "content_block_delta", "index": index, "delta": {"type": kind, field: part}}).encode()
            + b"\n\n"
            for part in parts
        )

    body = (
        started()
        + opened(0, "thinking", thinking="")
        + escaped(0, "thinking_delta", "thinking")
        + closed(0)
        + opened(1, "tool_use", id="t", name="f", input={})
        + escaped(1, "input_json_delta", "partial_json")
        + closed(1)
        + opened(2, "text", text="")
        + escaped(2, "text_delta", "text")
    )

    closed_block = read_all_ways(body + closed(2) + stopped("tool_use")).response
    open_block = read_all_ways(body + stopped("tool_use")).response

    assert closed_block == open_block
    assert (closed_block.text, closed_block.reasoning, closed_block.tool_calls[0].arguments) == (whole, whole, whole)


def test_a_half_of_thinking_does_not_reach_its_signature() -> None:
    """A signature is sent back byte for byte, so half a character before it stays with the thinking (S5, N4)."""
    half = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h\\ud83d"}}\n\n'
    body = (
        started() + opened(0, "thinking", thinking="") + half + delta(0, "signature_delta", signature="sig") + closed(0)
    )

    response = read_all_ways(body + text(1, "a") + stopped("end_turn")).response

    assert response.reasoning == "h\ufffd"
    assert response.replay_state == {"v": 1, "wire": WIRE.name, "blocks": ({"signature": "sig"}, None)}


def test_lone_halves_elsewhere_are_replaced() -> None:
    """Where no next delta can complete it, a lone half is U+FFFD; escaped backslashes are not halves (S5)."""
    block = '{"type":"text","text":"a\\ud83d\\\\ud83d\\ud83d\\ude00","citations":[{"x":"\\udc00"}]}'
    body = f'data: {{"type":"content_block_start","index":0,"content_block":{block}}}\n\n'.encode()

    outcome = read_all_ways(started() + body + closed(0) + stopped("end_turn"))

    assert outcome.response.text == "a\ufffd\\ud83d😀"
    assert outcome.finish.replay_state is not None
    assert outcome.finish.replay_state["blocks"] == ({"citations": ('{"x":"\\ufffd"}',)},)


def test_thinking_and_calls_cut_by_an_error_leave_no_state() -> None:
    """A failure has no replay state (C17)."""
    body = started() + thinking(0, "hm", "sig") + call(1, "t", "f") + errors("api_error")

    assert read_all_ways(body).finish.replay_state is None
