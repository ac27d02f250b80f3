"""A whole message instead of a stream is translated as if it had been streamed (S3)."""

import json

from adapters.anthropic._messages_wire import (
    Outcome,
    call,
    event,
    item,
    read,
    read_all_ways,
    started,
    stopped,
    text,
    thinking,
)
from limen.contract import codes

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "a"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"b": [1, 2.50]}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 7},
}
STREAMED = (
    started()
    + thinking(0, "hm", "c2ln")
    + text(1, "a")
    + item(2, "server_tool_use", id="s", name="web_search", input={"q": 1})
    + item(3, "web_search_tool_result", tool_use_id="s", content=[])
    + call(4, "t", "f", '{"b":[1,2.50]}')
    + stopped("tool_use")
)


def test_whole_message_is_the_same_as_its_stream() -> None:
    """Chunks, facts and replay state of a whole message are those of the same answer streamed."""
    body = json.dumps(MESSAGE).replace("2.5]", "2.50]").encode()

    assert read_all_ways(body) == read(STREAMED)


def test_whole_message_with_bom_and_space() -> None:
    """A byte order mark and blanks before a whole message are passed over, as in a stream (S1)."""
    body = b"\xef\xbb\xbf\r\n  " + json.dumps(MESSAGE, indent=1).replace("2.5\n", "2.50\n").encode()

    assert read_all_ways(body) == read(STREAMED)


def test_whole_message_cut_by_a_limit() -> None:
    """The stop reason of a whole message counts like a streamed one."""
    body = json.dumps({**MESSAGE, "stop_reason": "max_tokens"}).encode()

    outcome = read_all_ways(body)

    assert outcome.finish.reason.kind == "max-tokens"
    assert outcome.response.tool_calls == ()


def test_whole_message_without_content() -> None:
    """A whole message that says nothing is EMPTY_RESPONSE in-band, as in a stream (C12)."""
    reason = read_all_ways(b'{"type":"message","content":[],"stop_reason":"end_turn"}').finish.reason

    assert reason.failure is not None
    assert reason.failure.code == codes.EMPTY_RESPONSE


def test_whole_message_whose_content_is_null_or_absent() -> None:
    """Null, absent and empty content are one thing, so the stop reason decides (W2, C12)."""
    refused = read_all_ways(b'{"type":"message","content":null,"stop_reason":"refusal"}').finish.reason
    cut = read_all_ways(b'{"type":"message","stop_reason":"max_tokens"}').finish.reason

    assert refused.failure is not None
    assert (refused.failure.code, cut.kind) == (codes.CONTENT_FILTER, "max-tokens")


def test_whole_message_of_another_shape() -> None:
    """A block that no variant has makes a whole answer MALFORMED_RESPONSE (C15)."""
    assert read_all_ways(b'{"type":"message","content":[{"type":"text","text":5}]}') == Outcome(
        [], codes.MALFORMED_RESPONSE, {}
    )
    assert read_all_ways(
        b'{"type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":[1]}]}'
    ) == Outcome([], codes.MALFORMED_RESPONSE, {})


def test_whole_message_with_half_a_pair() -> None:
    """A lone half of a surrogate pair in a whole answer is U+FFFD (S5)."""
    body = b'{"type":"message","content":[{"type":"text","text":"a\\ud83d"}],"stop_reason":"end_turn"}'

    assert read_all_ways(body).response.text == "a\ufffd"


def test_pings_before_a_stream_do_not_make_it_whole() -> None:
    """Blank lines and comments before the first event leave a stream a stream."""
    assert read(b"\n\n: hi\n\n" + event("ping") + STREAMED) == read(STREAMED)
