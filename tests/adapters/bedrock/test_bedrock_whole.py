"""Whole answers of Converse, read as if they had been streamed (S3)."""

import json
from base64 import b64encode

import pytest

from adapters.bedrock._converse_wire import (
    call,
    delta,
    ended,
    hidden,
    read,
    read_all_ways,
    started,
    text,
    thinking,
)
from limen.contract import ImageBlock, Limits, ToolCallBlock, codes


def answer(*content: object, **fields: object) -> bytes:
    whole = {"output": {"message": {"role": "assistant", "content": list(content)}}, "stopReason": "end_turn"}
    usage = {"inputTokens": 3, "outputTokens": 7, "totalTokens": 10}
    return json.dumps({**whole, "usage": usage, "metrics": {"latencyMs": 1}, **fields}).encode()


def test_a_whole_answer_is_the_stream() -> None:
    """Every kind of block, the ending and the counts are those of the same answer streamed (S3)."""
    use = {"toolUseId": "s", "name": "web", "input": {"q": 1}, "type": "server_tool_use"}
    result = {"toolUseId": "s", "type": "r", "content": [{"text": "x"}]}
    whole = answer(
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
        {"reasoningContent": {"redactedContent": b64encode(b"ab").decode()}},
        {"text": "a"},
        {"toolUse": {"toolUseId": "t", "name": "add", "input": {"left": 1}}},
        {"toolUse": use},
        {"toolResult": result},
        {"novelty": {}},
        stopReason="tool_use",
    )
    streamed = (
        started()
        + thinking(0, "hm", "sig")
        + hidden(1, b"ab")
        + text(2, "a")
        + call(3, "t", "add", '{"left":1}')
        + ended("tool_use")
    )
    found, expected = read_all_ways(whole), read(streamed)
    assert found.chunks[:-1] == expected.chunks[:-1]
    state = found.finish.replay_state
    assert state is not None
    kept = [
        '{"toolUse":{"toolUseId":"s","name":"web","input":{"q":1},"type":"server_tool_use"}}',
        '{"toolResult":{"toolUseId":"s","type":"r","content":[{"text":"x"}]}}',
    ]
    assert expected.finish.replay_state is not None
    assert state == {**expected.finish.replay_state, "blocks": [*list(state["blocks"])[:2], {"after": kept}]}  # type: ignore[call-overload]


def test_citations_are_text() -> None:
    """The text inside `citationsContent` is text; its sources are left out (C14)."""
    cited = {"citationsContent": {"content": [{"text": "b"}, {"text": "c"}], "citations": [{"title": "t"}]}}
    assert read_all_ways(answer({"text": "a"}, cited, {"citationsContent": {}})).response.text == "abc"


def test_images() -> None:
    """An image stands whole in its block."""
    image = {"image": {"format": "png", "source": {"bytes": b64encode(b"\x89PNG").decode()}}}
    message = read(answer(image, {"image": {"format": "png"}})).response.message
    assert message is not None
    assert message.content == (ImageBlock("image/png", b"\x89PNG"),)


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ('{"a": 1.50, "b": "x y"}', '{"a":1.50,"b":"x y"}'),
        ("{ }", "{}"),
        ("null", "{}"),
        ("[]", "{}"),
        ('"{\\"a\\": 1}"', '{"a": 1}'),
        ('" "', "{}"),
    ],
)
def test_arguments_keep_their_digits(given: str, arguments: str) -> None:
    """An input keeps its bytes but for white space; a string stands as it came, nothing is an object (C8)."""
    body = answer({"toolUse": {"toolUseId": "t", "name": "a", "input": "@"}}, stopReason="tool_use")
    found = read(body.replace(b'"@"', given.encode()))
    assert found.response.tool_calls == (ToolCallBlock("t", "a", arguments),)


def test_bodies_that_are_no_answer() -> None:
    """Errors are classified and raised; JSON of no wire, cut or broken JSON and wrong blocks each have a code (S3)."""
    assert read(b'{"message":"Too many tokens, please wait before trying again."}').code == codes.RATE_LIMIT
    assert read(b'{"Message":"x"}').code == codes.SERVER
    assert read(b'{"error":{"message":"x"}}').code == codes.SERVER
    assert read(b'{"status":"queued"}').code == codes.MALFORMED_RESPONSE
    assert read(b"{oops").code == codes.MALFORMED_RESPONSE
    assert read(answer({"text": "a"})[:-9]).code == codes.STREAM_CLOSED
    assert read(answer({"text": 7})).code == codes.MALFORMED_RESPONSE
    assert read(answer({"toolUse": {"name": "a", "input": 7}})).code == codes.MALFORMED_RESPONSE
    assert read(answer({"text": "a"}), limits=Limits(event_bytes=10)).code == codes.MALFORMED_RESPONSE
    empty = read(b'{"output":{},"stopReason":"end_turn"}').finish.reason.failure
    assert empty is not None
    assert empty.code == codes.EMPTY_RESPONSE
    assert read(b'{"output":{"message":[]},"stopReason":"max_tokens"}').finish.reason.kind == "max-tokens"


def test_a_stream_after_blank_bytes_is_no_stream() -> None:
    """White space before a whole answer is passed over."""
    assert read(b" \n" + answer({"text": "a"})).response.text == "a"
    assert read(delta(0, text="a")).code == codes.STREAM_CLOSED
