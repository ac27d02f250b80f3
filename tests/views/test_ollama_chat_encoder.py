"""The encoder of `ollama-chat`: the lines that its clients require, in their order."""

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
    codes,
)
from limen.views import EncoderOptions, WireEncoder, encoder

HEAD = {"model": "asked:model", "created_at": "2026-01-01T00:00:00Z"}
USAGE = TokenUsage(input_tokens=10, output_tokens=9, cache_read_tokens=5, cache_write_tokens=2, reasoning_tokens=3)
TEXT: list[StreamChunk] = [BlockStart(0, "text"), TextDelta(0, "Grü"), TextDelta(0, "ße")]


def encoding() -> WireEncoder:
    return encoder("ollama-chat", model="asked:model", id="x", options=EncoderOptions(created=1_767_225_600))


def lines(chunks: list[StreamChunk]) -> list[dict[str, object]]:
    """The stream's lines, each ended by one LF."""
    one = encoding()
    data = [event for chunk in chunks for event in one.feed(chunk)] + one.eof()
    assert all(event.count(b"\n") == 1 and event.endswith(b"\n") for event in data)
    return [json.loads(event) for event in data]


def whole(chunks: list[StreamChunk]) -> dict[str, object]:
    """The whole answer."""
    one = encoding()
    for chunk in chunks:
        one.feed(chunk)
    body: dict[str, object] = json.loads(one.whole().body)
    return body


def piece(content: str = "", **message: object) -> dict[str, object]:
    return {**HEAD, "message": {"role": "assistant", "content": content, **message}, "done": False}


def ending(reason: str, content: str = "", **fields: object) -> dict[str, object]:
    message = {"role": "assistant", "content": content}
    return {**HEAD, "message": message, "done": True, "done_reason": reason, **fields}


def call(index: int, call_id: str, *fragments: str, name: str = "f") -> list[StreamChunk]:
    first, *rest = fragments
    deltas = [ToolCallDelta(index, call_id, name, first), *(ToolCallDelta(index, call_id, None, one) for one in rest)]
    return [BlockStart(index, "tool-call"), *deltas]


def closed(index: int, call_id: str, arguments: str) -> BlockEnd:
    return BlockEnd(index, ToolCallBlock(call_id, "f", arguments))


def test_text_reasoning_and_calls() -> None:
    """A fragment is a line, a call one line when it has ended, usage and the word stand in the last line."""
    chunks: list[StreamChunk] = [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "Hm"),
        BlockEnd(0, ReasoningBlock("Hm")),
        BlockStart(1, "text"),
        TextDelta(1, "So"),
        BlockEnd(1, TextBlock("So")),
        *call(2, "c1", "", '{"a":\n1.50', "}"),
        *call(3, "", ""),
        closed(2, "c1", '{"a":\n1.50}'),
        closed(3, "", ""),
        UsageChunk(USAGE),
        Finish(TOOL_CALLS),
    ]
    one = {"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"a": 1.5}}}
    two = {"function": {"index": 1, "name": "f", "arguments": {}}}
    end = ending("stop", prompt_eval_count=17, eval_count=9)

    assert lines(chunks) == [
        piece(thinking="Hm"),
        piece("So"),
        piece(tool_calls=[one]),
        piece(tool_calls=[two]),
        end,
    ]
    message = {"role": "assistant", "content": "So", "thinking": "Hm", "tool_calls": [one, two]}
    assert whole(chunks) == {**end, "message": message}


def test_digits_of_arguments_are_kept() -> None:
    """Arguments are embedded as they are, but for line ends between their values, which would end the line (C8)."""
    one = encoding()
    chunks = [*call(0, "c", '{"a":\r\n1.50,"b":"\\n"}'), closed(0, "c", ""), Finish(TOOL_CALLS)]

    assert b'{"a":  1.50,"b":"\\n"}' in b"".join(event for chunk in chunks for event in one.feed(chunk))


def test_line_ends_of_unicode() -> None:
    """Characters at which some clients end a line are escaped, in texts, arguments and errors."""
    odd = "a\u2028b\u2029c\x85d"
    one = encoding()
    chunks: list[StreamChunk] = [
        BlockStart(0, "text"),
        TextDelta(0, odd),
        BlockEnd(0, TextBlock(odd)),
        *call(1, "c", f'{{"a":"{odd}"}}'),
        closed(1, "c", ""),
        Finish(FinishReason("error", Failure(odd, codes.SERVER))),
    ]
    data = [event for chunk in chunks for event in one.feed(chunk)]

    assert [len(event.decode().splitlines()) for event in data] == [1, 1, 1]
    text, made, error = map(json.loads, data)
    arguments = made["message"]["tool_calls"][0]["function"]["arguments"]
    assert (text["message"]["content"], arguments, error["error"]) == (odd, {"a": odd}, odd)


def test_interleaved_blocks() -> None:
    """Texts and calls that interleave go out one after the other, in the order in which they opened."""
    chunks: list[StreamChunk] = [
        *TEXT,
        BlockStart(1, "text"),
        TextDelta(1, "b"),
        *call(2, "c1", '{"a'),
        *call(3, "c2", "{}"),
        closed(3, "c2", "{}"),
        TextDelta(0, "a"),
        ToolCallDelta(2, "c1", None, '":1}'),
        BlockEnd(0, TextBlock("Grüßea")),
        TextDelta(1, "c"),
        closed(2, "c1", '{"a":1}'),
        BlockEnd(1, TextBlock("bc")),
        BlockStart(4, "text"),
        BlockStart(5, "text"),
        TextDelta(5, "d"),
        BlockEnd(5, TextBlock("d")),
        BlockEnd(4, TextBlock("")),
        Finish(TOOL_CALLS),
    ]
    found = lines(chunks)
    said = [line["message"] for line in found]

    assert [one["content"] for one in said if one["content"]] == ["Grü", "ße", "a", "b", "c", "d"]  # type: ignore[index]
    ids = [one["tool_calls"][0]["id"] for one in said if "tool_calls" in one]  # type: ignore[index, operator]
    assert ids == ["c1", "c2"]


@pytest.mark.parametrize(("reason", "word"), [(STOP, "stop"), (MAX_TOKENS, "length")])
def test_finish_words(reason: FinishReason, word: str) -> None:
    """The wire has two words, and leaves out counts that nobody knows."""
    chunks: list[StreamChunk] = [*TEXT, BlockEnd(0, TextBlock("Grüße")), UsageChunk(TokenUsage()), Finish(reason)]

    assert lines(chunks) == [piece("Grü"), piece("ße"), ending(word)]


def test_a_call_that_was_cut() -> None:
    """A call that is no object is left out where a token limit cut it, and else makes the answer a failure."""
    cut: list[StreamChunk] = [*call(0, "c", '{"a'), closed(0, "c", '{"a')]
    failed = lines([*cut, Finish(TOOL_CALLS)])

    assert lines([*cut, Finish(MAX_TOKENS)]) == [ending("length")]
    assert "tool_calls" not in str(whole([*cut, Finish(MAX_TOKENS)]))
    assert failed == [{"error": "the arguments of the call 'c' are no JSON object"}]


def test_a_refusal() -> None:
    """A refusal's words are the content of the last line; text that was open goes out before."""
    refused = Finish(FinishReason("error", Failure("I cannot.", codes.CONTENT_FILTER)))
    chunks: list[StreamChunk] = [*TEXT, BlockStart(1, "text"), TextDelta(1, "b"), refused]

    assert lines(chunks) == [piece("Grü"), piece("ße"), piece("b"), ending("content_filter", "I cannot.")]
    assert lines([refused]) == [ending("content_filter", "I cannot.")]
    assert whole([refused]) == ending("content_filter", "I cannot.")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (codes.INVALID_REQUEST, 400),
        (codes.MODEL_NOT_FOUND, 404),
        (codes.AUTH, 502),
        (codes.RATE_LIMIT, 429),
        (codes.OVERLOADED, 503),
        (codes.TIMEOUT, 504),
        (codes.SERVER, 500),
        ("HTTP_418", 500),
    ],
)
def test_failures(code: str, status: int) -> None:
    """A failure is a line with its message; whole, the same object with a status (V2)."""
    failed = Finish(FinishReason("error", Failure("some words", code)))
    one = encoding()
    for chunk in [*TEXT, failed]:
        one.feed(chunk)
    answer = one.whole()

    assert lines([*TEXT, failed]) == [piece("Grü"), piece("ße"), {"error": "some words"}]
    assert answer.error is not None
    assert (answer.body, answer.error.status) == (b'{"error":"some words"}', status)


def test_what_has_no_place() -> None:
    """An image is a failure; signatures, hidden reasoning and early counts are left out, a silence is a space."""
    one = encoding()
    picture = BlockEnd(0, ImageBlock("image/png", b"x"))

    assert [*one.early_usage(USAGE), *one.opaque("x")] == []
    assert one.keep_alive() == b" "
    assert "has no place" in str(lines([BlockStart(0, "image"), picture, Finish(STOP)]))
    assert (one.content_type, one.begin()) == ("application/x-ndjson", [])
