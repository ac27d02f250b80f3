"""Q1, N1: a request that is wrong by itself is refused by its field, before anything is sent."""

from collections.abc import Callable

import pytest

import limen
from limen.contract import (
    GenerateOptions,
    LlmError,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolSpec,
    check_request,
    codes,
    user,
)


def asking(**fields: object) -> GenerateOptions:
    """A request that is well but for these fields."""
    given = {"provider": "route", "model": "m", "messages": [user("Hi")], **fields}
    return GenerateOptions(**given)  # type: ignore[arg-type]  # on purpose


def said(role: str, *blocks: object) -> Message:
    """A message of anything."""
    return Message(role, blocks)  # type: ignore[arg-type]  # on purpose


def text(value: object) -> TextBlock:
    """A block whose text may be anything."""
    return TextBlock(value)  # type: ignore[arg-type]  # on purpose


def reasoning(value: object) -> ReasoningBlock:
    """A block whose text may be anything."""
    return ReasoningBlock(value)  # type: ignore[arg-type]  # on purpose


FAULTS: list[tuple[dict[str, object], str]] = [
    ({"model": None}, "model is a NoneType, not a string"),
    ({"model": 3}, "model is a int, not a string"),
    ({"model": ""}, "model is empty; name one of the route's models"),
    ({"system": 5}, "system is a int, not a string"),
    ({"parallel_tool_calls": "yes"}, "parallel_tool_calls is a str, not a bool"),
    ({"temperature": "hot"}, "temperature is a str, not a number"),
    ({"temperature": True}, "temperature is a bool, not a number"),
    ({"top_p": [1]}, "top_p is a list, not a number"),
    ({"max_tokens": "5"}, "max_tokens is a str, not a whole number"),
    ({"max_tokens": 1.5}, "max_tokens is a float, not a whole number"),
    ({"max_tokens": True}, "max_tokens is a bool, not a whole number"),
    ({"seed": 1.0}, "seed is a float, not a whole number"),
    ({"reasoning_effort": 5}, "reasoning_effort is a int, not a string"),
    ({"session_id": b"x"}, "session_id is a bytes, not a string"),
    ({"purpose": 5}, "purpose is a int, not a string"),
    ({"tools": [ToolSpec("add", "", {}), "add"]}, "tools[1] is a str, not a ToolSpec"),
    ({"stop": ["a", 5]}, "stop[1] is a int, not a string"),
    ({"messages": ["Hi"]}, "messages[0] is a str, not a Message"),
    ({"messages": [user("Hi"), said("user", 5)]}, "messages[1] holds a int, which is no block of content"),
    ({"messages": [said("assistant", 5)]}, "messages[0] holds a int, which is no block of content"),
    ({"messages": [said("user", text(5))]}, "messages[0] holds a block whose text is a int, not a string"),
    (
        {"messages": [said("assistant", reasoning(None))]},
        "messages[0] holds a block whose text is a NoneType, not a string",
    ),
]


@pytest.mark.parametrize(("fields", "words"), FAULTS)
def test_what_is_not_of_its_kind_is_refused_by_its_field(fields: dict[str, object], words: str) -> None:
    """Q1: a field of another kind than its own is `INVALID_OPTIONS`, whatever a wire would make of it."""
    with pytest.raises(LlmError) as caught:
        check_request(asking(**fields))

    failure = caught.value.failure
    assert (failure.message, failure.code, failure.phase) == (words, codes.INVALID_OPTIONS, "resolve")


@pytest.mark.parametrize("wire", sorted(limen.wires()))
def test_no_wire_sends_it(wire: str) -> None:
    """Q1: the same on every wire, before any I/O."""
    for fields, words in FAULTS:
        with pytest.raises(LlmError) as caught:
            limen.build_request(wire, asking(**{"max_tokens": 5, **fields}))
        assert caught.value.failure.message == words


class Name(str):
    """A string of a class of its own, such as an enum's member."""

    __slots__ = ()


@pytest.mark.parametrize(
    "make",
    [
        asking,
        lambda: asking(model=Name("m"), system=Name("s"), stop=[Name("x")]),
        lambda: asking(temperature=1, top_p=0.5, max_tokens=1, seed=0, parallel_tool_calls=False),
        lambda: asking(messages=[said("user", text(Name("x")))], tools=[ToolSpec("add", "", {})]),
    ],
)
def test_what_is_of_its_kind_passes(make: Callable[[], GenerateOptions]) -> None:
    """Q1: an unset field, a number that is whole, a string of any class: each is what it is declared to be."""
    check_request(make())
