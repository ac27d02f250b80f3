"""Bad bytes and retyped fields of a Messages answer: what is beside the answer costs nothing (S5, C15, W2)."""

import copy
import json
from collections.abc import Iterator
from typing import Any

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
from limen.contract import TokenUsage, codes

BEFORE, AFTER = started(), text(9, "late") + stopped("end_turn")


def notes_of(body: bytes) -> list[str]:
    """The sentences about what was read with a doubt."""
    reader = WIRE.reader()
    reader.feed(body)
    reader.eof()
    return reader.call_facts.notes


def said(raw: bytes, more: bytes = b"") -> bytes:
    """A text delta with these bytes for its text."""
    start = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"'
    return start + raw + b'"}' + more + b"}\n\n"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_NQ324_a_number_that_is_none_costs_nothing(number: str) -> None:
    """A number that is none, in a field that nobody reads, is ignored (S5)."""
    odd = said(b"42", b',"similarity":[' + number.encode() + b"]")
    outcome = read_all_ways(BEFORE + odd + closed(0) + stopped("end_turn"))

    assert (outcome.response.text, outcome.finish.reason.kind) == ("42", "stop")


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"a\tb\x01c", "a\tb\x01c"),
        (b"a\xffb", "a\ufffdb"),
        (b"a\xed\xa0\xbdb", "a\ufffd\ufffd\ufffdb"),
        (b"NaN, Infinity", "NaN, Infinity"),
        (rb"\ud83d", "\ufffd"),
        (b"a\x00b\\n", "a\x00b\n"),
    ],
)
def test_one_bad_byte_costs_nothing(raw: bytes, found: str) -> None:
    """Raw control characters stand for themselves, bytes that are no UTF-8 and lone halves are U+FFFD (S5)."""
    body = BEFORE + said(b"<") + said(raw, b',"x":NaN') + said(b">") + closed(0) + stopped("end_turn")
    outcome = read_all_ways(body)

    assert (outcome.response.text, outcome.finish.reason.kind) == (f"<{found}>", "stop")


def test_a_pair_of_halves_is_joined_beside_a_bad_byte() -> None:
    """Mending an event leaves half a surrogate pair for the delta that brings the other (S5)."""
    body = BEFORE + said(b"\t\\ud83d", b',"x":NaN') + said(b"\\ude00!") + closed(0) + stopped("end_turn")

    assert read_all_ways(body).response.text == "\t\U0001f600!"


def test_a_bad_byte_in_every_kind_of_event() -> None:
    """A block's start, a tool's arguments, an item that is kept and a whole answer are mended as well (S5)."""
    start = b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a\xff"}}\n\n'
    item = b'data: {"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","x":"\xff"}}\n\n'
    part = delta(2, "input_json_delta", partial_json="{@}").replace(b"@", b"\t")
    tool = opened(2, "tool_use", id="t", name="f", input={}) + part
    outcome = read_all_ways(BEFORE + start + closed(0) + item + closed(1) + tool + closed(2) + stopped("tool_use"))
    content = b'"content":[{"type":"text","text":"a\xff\t"}]'
    whole = read_all_ways(b'{"type":"message",' + content + b',"stop_reason":"end_turn","x":NaN}')

    assert (outcome.response.text, outcome.response.tool_calls[0].arguments) == ("a\ufffd", "{\t}")
    assert outcome.finish.replay_state is not None
    assert outcome.finish.replay_state["blocks"] == [
        {"after": ['{"type":"server_tool_use","x":"\ufffd"}']},
        None,
    ]
    assert whole.response.text == "a\ufffd\t"


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ([], "{}"),
        ("", "{}"),
        (" ", "{}"),
        ({}, "{}"),
        (None, "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ("{who: Ann", "{who: Ann"),
    ],
)
def test_an_input_that_is_no_object(given: object, arguments: str) -> None:
    """An empty input of any kind is `{}`, and a string stands as it came (C8, W2)."""
    body = BEFORE + opened(0, "tool_use", id="t", name="f", input=given) + closed(0) + stopped("tool_use")

    assert [one.arguments for one in read_all_ways(body).response.tool_calls] == [arguments]


@pytest.mark.parametrize("given", [[1], 7, True])
def test_an_input_of_an_unknown_type_is_malformed(given: object) -> None:
    """Arguments carry the answer, so a type that no variant has is MALFORMED_RESPONSE (C15)."""
    body = BEFORE + opened(0, "tool_use", id="t", name="f", input=given) + closed(0) + stopped("tool_use")

    assert read_all_ways(body).code == codes.MALFORMED_RESPONSE


def test_a_fragment_that_is_an_object() -> None:
    """A gateway that parses the arguments hands over an object, whose bytes are the string (C8)."""
    odd = delta(0, "input_json_delta", partial_json={"a": [1, "x y"]})
    body = BEFORE + opened(0, "tool_use", id="t", name="f", input={}) + odd + closed(0) + stopped("tool_use")

    assert [one.arguments for one in read_all_ways(body).response.tool_calls] == ['{"a":[1,"x y"]}']


@pytest.mark.parametrize(
    ("odd", "note"),
    [
        (event("message_delta", usage={"output_tokens": "7"}), "usage.output_tokens"),
        (event("message_delta", usage={"input_tokens": 4, "cache_creation": 3}), "usage.cache_creation"),
        (event("message_delta", usage={"output_tokens_details": []}), "usage.output_tokens_details"),
        (event("message_delta", usage={"iterations": [7]}), "usage.iterations"),
        (event("message_delta", usage=[]), "usage"),
        (event("message_delta", usage=""), "usage"),
        (event("message_delta", delta={"stop_details": {"category": 5}}), "delta.stop_details.category"),
        (opened(0, "text", text="", citations="x") + closed(0), "content_block.citations"),
        (opened(0, "thinking", thinking="", signature=5) + closed(0), "content_block.signature"),
        (opened(0, "text", text="", name=5) + closed(0), "content_block.name"),
        (opened(0, "text", text="") + delta(0, "text_delta", text="", signature={}) + closed(0), "delta.signature"),
    ],
)
def test_an_unreadable_side_field_leaves_a_note(odd: bytes, note: str) -> None:
    """It is unknown, costs nothing else, and a sentence names it (C15)."""
    outcome = read_all_ways(BEFORE + odd + AFTER)

    assert (outcome.response.text, outcome.finish.reason.kind) == ("late", "stop")
    assert notes_of(BEFORE + odd + AFTER) == [f"{note} could not be read and counts as unknown"]


def test_a_note_costs_no_other_count() -> None:
    """The counts beside an unreadable one are counts."""
    body = started(usage={"input_tokens": "3", "output_tokens": 1, "cache_read_input_tokens": 2}) + AFTER

    assert read_all_ways(body).response.usage == TokenUsage(None, 7, cache_read_tokens=2)


def test_an_index_in_quotes() -> None:
    """A number in quotes is an index all the same."""
    parts = (opened(0, "text", text=""), delta(0, "text_delta", text="a"), closed(0))
    quoted = b"".join(part.replace(b'"index": 0', b'"index": "0"') for part in parts)

    assert read_all_ways(BEFORE + quoted + stopped("end_turn")).response.text == "a"


def test_what_no_mending_helps_is_quoted_as_it_came() -> None:
    """The failure is that of the first reading."""
    reader = WIRE.reader()
    reader.feed(BEFORE + said(b"").replace(b'""', b"NaN5"))

    assert reader.failure is not None
    assert "NaN5" in str(reader.failure)


# -- every field of every event, with every kind of value

STREAM = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "stop_details": {"explanation": None},
            "usage": {"input_tokens": 3, "cache_creation": {"ephemeral_5m_input_tokens": 1}, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm", "tokens": 1}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "", "citations": None}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "42", "signature": None}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": {"type": "direct"}},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": {"category": None}},
        "usage": {
            "output_tokens": 7,
            "output_tokens_details": {"thinking_tokens": 2},
            "iterations": [{"type": "message"}],
        },
    },
    {"type": "message_stop"},
]
VALUES: tuple[object, ...] = (None, [], {}, "", "x", "7", 7, -1, 1.5, True, ["x"], {"a": 1}, [[]], 10**30)
# The fields that carry the answer, or say what an event is; all others are beside it.
ANSWER = {
    *("type", "index", "error", "message", "delta", "content_block"),
    *("message.content", "delta.type", "delta.text", "delta.thinking", "delta.partial_json", "delta.stop_reason"),
    *(f"content_block.{name}" for name in ("type", "text", "thinking", "name", "input")),
}


def paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place inside a JSON value."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, (*path, name))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from paths(inner, (*path, number))


def mutated(number: int, path: tuple[str | int, ...], value: object) -> bytes:
    """The stream with one value of one event replaced."""
    events: list[Any] = copy.deepcopy(STREAM)
    place = events[number]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events)


def told(outcome: Outcome) -> tuple[object, ...]:
    """What a user sees of an answer."""
    found = outcome.response
    return (found.text, found.reasoning, [one.arguments for one in found.tool_calls], outcome.finish.reason.kind)


@pytest.mark.parametrize("number", range(len(STREAM)))
def test_any_value_in_any_field(number: int) -> None:
    """A field beside the answer costs nothing; one that carries it gives an answer or a failure."""
    for path in paths(STREAM[number]):
        name = ".".join(str(step) for step in path)
        for value in VALUES:
            outcome = read(mutated(number, path, value))
            if name not in ANSWER:
                assert told(outcome) == ("42", "hm", ['{"a":1}'], "tool-calls"), (name, value)
            elif outcome.code is None and outcome.finish.reason.failure is None:
                assert outcome.response.text or outcome.response.tool_calls, (name, value)
            else:
                failure = outcome.code or outcome.finish.reason.failure
                assert failure, (name, value)


def test_any_value_in_a_whole_answer() -> None:
    """The same holds for an answer in one piece (S3)."""
    answer = {
        "id": "msg_1",
        "model": "claude-x",
        "role": "assistant",
        "stop_sequence": None,
        "stop_details": {"explanation": None},
        "usage": {"input_tokens": 3, "output_tokens": 1},
        "content": [{"type": "text", "text": "42", "citations": []}],
        "stop_reason": "end_turn",
    }
    for path in paths(answer):
        name = ".".join(str(step) for step in path if isinstance(step, str))
        if name in ("content", "content.type", "content.text", "stop_reason"):
            continue
        for value in VALUES:
            changed: Any = copy.deepcopy(answer)
            place = changed
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            outcome = read(json.dumps(changed).encode())
            assert (outcome.response.text, outcome.finish.reason.kind) == ("42", "stop"), (name, value)


def test_the_stream_itself() -> None:
    """The stream that the table above changes is a sound one."""
    plain = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in STREAM)
    built = started() + thinking(0, "hm", "c2ln") + text(1, "42") + call(2, "t", "f", '{"a":1}') + stopped("tool_use")

    assert told(read(plain)) == told(read(built)) == ("42", "hm", ['{"a":1}'], "tool-calls")
