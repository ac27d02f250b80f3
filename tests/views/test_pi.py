"""Pi's view: lifecycle events of an assistant message, as immutable values with Pi's JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import limen
from counted import calls
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
from limen.views import pi
from limen.views._arguments import arguments_so_far
from views._streams import ARGUMENTS as OBJECTS
from views._streams import Shape, content, encoded, streams

COSTS = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": COSTS}
CHUNKS: list[StreamChunk] = [
    BlockStart(0, "reasoning"),
    ReasoningDelta(0, "Hm"),
    BlockEnd(0, ReasoningBlock("Hm")),
    BlockStart(1, "tool-call"),
    BlockStart(2, "text"),
    TextDelta(2, "a"),
    ToolCallDelta(1, "call_1", "f", '{"x":"y'),
    ToolCallDelta(1, "call_1", None, '","z":1.50}'),
    BlockEnd(1, ToolCallBlock("call_1", "f", '{"x":"y","z":1.50}')),
    BlockEnd(2, TextBlock("a")),
    UsageChunk(TokenUsage(input_tokens=3, output_tokens=5, cache_read_tokens=2, reasoning_tokens=4)),
    Finish(TOOL_CALLS),
]


def view() -> pi.View:
    return pi.View(provider="route", model="some/model", timestamp=1796000000000)


def events(chunks: list[StreamChunk]) -> list[pi.Event]:
    view_ = view()
    return [event for chunk in chunks for event in view_.feed(chunk)] + view_.eof()


def message(*parts: object, stop: str = "pending", usage: object = NO_USAGE, **more: object) -> dict[str, object]:
    return {
        "role": "assistant",
        "content": list(parts),
        "api": "limen",
        "provider": "route",
        "model": "some/model",
        "usage": usage,
        "stopReason": stop,
        "timestamp": 1796000000000,
        **more,
    }


def text(said: str) -> dict[str, object]:
    return {"type": "text", "text": said}


def thinking(thought: str) -> dict[str, object]:
    return {"type": "thinking", "thinking": thought}


def call(**arguments: object) -> dict[str, object]:
    return {"type": "toolCall", "id": "call_1", "name": "f", "arguments": arguments}


def at(kind: str, index: int, *parts: object, **more: object) -> dict[str, object]:
    return {"type": kind, "contentIndex": index, **more, "partial": message(*parts)}


def test_the_events_of_an_answer() -> None:
    """Each chunk becomes Pi's events, every one with the answer so far; `done` has it whole, with its usage (V1)."""
    usage = {**NO_USAGE, "input": 3, "output": 5, "cacheRead": 2, "reasoning": 4, "totalTokens": 10}
    hm = thinking("Hm")
    whole = call(x="y", z=1.5)

    assert [json.loads(event.to_json()) for event in events(CHUNKS)] == [
        {"type": "start", "partial": message()},
        at("thinking_start", 0, thinking("")),
        at("thinking_delta", 0, hm, delta="Hm"),
        at("thinking_end", 0, hm, content="Hm"),
        at("text_start", 1, hm, text("")),
        at("text_delta", 1, hm, text("a"), delta="a"),
        at("toolcall_start", 2, hm, text("a"), call()),
        at("toolcall_delta", 2, hm, text("a"), call(x="y"), delta='{"x":"y'),
        at("toolcall_delta", 2, hm, text("a"), whole, delta='","z":1.50}'),
        at("toolcall_end", 2, hm, text("a"), whole, toolCall=whole),
        at("text_end", 1, hm, text("a"), whole, content="a"),
        {"type": "done", "reason": "toolUse", "message": message(hm, text("a"), whole, stop="toolUse", usage=usage)},
    ]


def test_digits_of_arguments_stay() -> None:
    """Arguments become an object by their own bytes (C8), and `limen.encode` writes an event as Pi's JSON."""
    last = events(CHUNKS)[-1]

    assert b'"arguments":{"x":"y","z":1.50}' in last.to_json()
    assert limen.encode(last) == last.to_json()


def test_events_are_values() -> None:
    """Events are immutable, equal and hashable by content, share nothing, and stay as they were (V1, V2)."""
    view_ = view()
    first = [event for chunk in CHUNKS[:4] for event in view_.feed(chunk)]
    before = [event.to_json() for event in first]
    rest = [event for chunk in CHUNKS[4:] for event in view_.feed(chunk)]

    assert [event.to_json() for event in first] == before
    assert first + rest == events(CHUNKS)
    assert len({*first, *rest, *events(CHUNKS)}) == len(first) + len(rest)
    assert first[0] != "start"
    assert (first[1].partial == first[1].partial, first[1].partial is first[1].partial) == (True, False)
    with pytest.raises(AttributeError):
        first[0].type = "done"  # type: ignore[misc]


@pytest.mark.parametrize(("kind", "reason"), [("error", "error"), ("aborted", "aborted")])
def test_a_failure_is_one_error(kind: str, reason: str) -> None:
    """A failure ends as `error` with what had arrived, an abort with Pi's word for it; nothing follows (V2)."""
    finish = Finish(FinishReason(kind, Failure("gone", "TRANSPORT")))  # type: ignore[arg-type]
    found = events([*CHUNKS[:2], finish, *CHUNKS])
    failed = message(thinking("Hm"), stop=reason, errorMessage="TRANSPORT: gone")

    assert json.loads(found[-1].to_json()) == {"type": "error", "reason": reason, "error": failed}
    assert [event.type for event in found].count("error") == 1
    assert [event.type for event in events([finish])] == ["error"]


def test_a_stream_without_a_finish() -> None:
    """The end of the chunks without a finish is one error, STREAM_CLOSED; after a finish it is nothing (V2)."""
    view_ = view()
    (event,) = view_.eof()

    assert (event.type, event.partial.error_message, view_.eof()) == (
        "error",
        "STREAM_CLOSED: the stream ended without a finish",
        [],
    )


def test_an_empty_answer() -> None:
    """An answer that the token limit left empty starts before it is done."""
    assert [(event.type, event.reason) for event in events([Finish(MAX_TOKENS)])] == [
        ("start", None),
        ("done", "length"),
    ]


def test_an_image() -> None:
    """An answer that holds an image, for which Pi has no word, ends as the error UNSUPPORTED_CONTENT."""
    image = ImageBlock(url="https://example.test/a.png")
    found = events([BlockStart(0, "image"), BlockEnd(0, image), Finish(STOP)])

    assert [event.type for event in found] == ["start", "error"]
    assert (found[-1].partial.error_message or "").startswith("UNSUPPORTED_CONTENT: ")


def test_a_call_that_was_cut() -> None:
    """Whole arguments that are no JSON object are `{}`, with the words that say so, as in Pi 1.x."""
    chunks: list[StreamChunk] = [
        BlockStart(0, "tool-call"),
        ToolCallDelta(0, "call_1", "f", '{"x":1,"y'),
        BlockEnd(0, ToolCallBlock("call_1", "f", '{"x":1,"y')),
        Finish(MAX_TOKENS),
    ]
    found = [json.loads(event.to_json()) for event in events(chunks)]
    cut = {**call(), "argumentsError": 'the arguments are not one JSON object: {"x":1,"y'}

    assert [event["partial"]["content"] for event in found[2:3]] == [[call(x=1)]]
    assert (found[3]["toolCall"], found[4]["message"]["content"]) == (cut, [cut])


@settings(deadline=None)
@given(chunks=streams(Shape()))
def test_random_streams(chunks: list[StreamChunk]) -> None:
    """A grammatical stream of any shape keeps text, reasoning and calls, has one terminal event, and starts first."""
    found = events(chunks)
    partial = found[-1].partial
    calls = tuple(
        (one.id, one.name, json.loads(one.arguments)) for one in partial.content if isinstance(one, pi.ToolCall)
    )
    expected = content(chunks)

    assert [event.type for event in found if event.type in ("start", "done", "error")] == ["start", "done"]
    assert "".join(one.text for one in partial.content if isinstance(one, pi.Text)) == expected.text
    assert "".join(one.thinking for one in partial.content if isinstance(one, pi.Thinking)) == expected.reasoning
    if expected.kind != "max-tokens":
        # Pi's order is that of the first fragments.
        assert sorted(calls, key=str) == sorted(
            ((one, name, json.loads(arguments)) for one, name, arguments in expected.calls), key=str
        )


@settings(deadline=None)
@given(arguments=OBJECTS, data=st.data())
def test_arguments_so_far_are_an_object_that_grows(arguments: dict[str, object], data: st.DataObject) -> None:
    """Any beginning of an object's JSON gives an object, which holds no member that the whole one has not."""
    whole = encoded(arguments)
    cut = data.draw(st.integers(0, len(whole)))
    so_far = json.loads(arguments_so_far(whole[:cut]))

    assert set(so_far) <= set(arguments)
    assert json.loads(arguments_so_far(whole)) == arguments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "{}"),
        ("  ", "{}"),
        ("nothing", "{}"),
        ("[1", "{}"),
        ("]", "{}"),
        ('{"a"]', "{}"),
        ('{"a":1', "{}"),
        ('{"a":1,', '{"a":1}'),
        ('{"a":"b\\u00', '{"a":"b"}'),
        ('{"a":"b\\', '{"a":"b"}'),
        ('{"a":"b","c', '{"a":"b"}'),
        ('{"a":[{"b":[true,"x', '{"a":[{"b":[true,"x"]}]}'),
        ('{"a":["x",', '{"a":["x"]}'),
        ('{"a":nonsense,"b":"c', "{}"),
    ],
)
def test_arguments_so_far(text: str, expected: str) -> None:
    """Whole members stand, a string value stands as far as it has come, and what may go on is left out."""
    assert arguments_so_far(text) == expected


def test_a_long_answer_costs_no_more_for_each_event() -> None:
    """Feeding costs the same per chunk however long the answer is, and one encoding is linear in it (S2)."""

    def work(count: int) -> tuple[int, int]:
        view_ = view()
        view_.feed(BlockStart(0, "tool-call"))
        view_.feed(ToolCallDelta(0, "call_1", "f", '{"x":["'))
        fed = calls(lambda: [view_.feed(ToolCallDelta(0, "call_1", None, 'y","')) for _ in range(count)])
        (event,) = view_.feed(ToolCallDelta(0, "call_1", None, "z"))
        return fed, calls(event.to_json)

    work(10)
    assert [one <= 4.2 * other for one, other in zip(work(8_000), work(2_000), strict=True)] == [True, True]
