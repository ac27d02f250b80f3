"""What hosts of a wire were seen to send though its documentation has no such thing, and what it means (W2-W4, W8)."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from limen.testing.server import Raw, Text, Turn


class Oddity(NamedTuple):
    """One answer in an odd form: the rule that gives it a meaning, and the text and calls that it means."""

    rule: str
    what: str
    turn: Turn
    text: str = ""
    calls: Sequence[tuple[str, str, str]] = ()


def _chunk(**fields: object) -> Raw:
    return Raw(f"data: {json.dumps(fields)}\n\n")


def _delta(delta: Mapping[str, object], index: int = 0) -> Raw:
    return _chunk(id="x", choices=[{"index": index, "delta": delta, "finish_reason": None}])


def _calls(*calls: object) -> Raw:
    return _delta({"tool_calls": calls})


def _turn(*events: Raw | Text) -> Turn:
    return Turn(events, finish="stop" if any(isinstance(event, Text) for event in events) else "tool-calls")


_ADD: Final = ("call_a", "add", '{"left":1}')
_WHOLE: Final = {"index": 0, "id": "call_a", "function": {"name": "add", "arguments": '{"left":1}'}}
_NULLS: Final = {"content": None, "refusal": None, "role": None, "tool_calls": None, "reasoning_content": None}
_EMPTY: Final = {"content": "", "role": "", "tool_calls": ()}
_NOTHING: Final[Mapping[str, object]] = {}

CHAT: Final[Sequence[Oddity]] = (
    Oddity(
        "W2",
        "null, absent and empty in place of every optional field",
        _turn(
            _chunk(id=None, object=None, created=None, model=None, choices=None, usage=None, error=None),
            _chunk(choices=()),
            _chunk(),
            _chunk(choices=[{"index": 0, "delta": None, "finish_reason": None, "logprobs": None}]),
            _chunk(choices=[{"index": 0}]),
            _delta(_NULLS),
            Text(["a"]),
            _delta(_EMPTY),
            _chunk(choices=[{"index": 0, "delta": _NOTHING, "finish_reason": ""}], usage={"prompt_tokens": None}),
        ),
        text="a",
    ),
    Oddity(
        "W2",
        "null and empty fields in a tool call's fragments",
        _turn(
            _calls({"index": 0, "id": "call_a", "type": None, "function": {"name": "add", "arguments": None}}),
            _calls({"index": 0, "id": None, "function": {"name": None, "arguments": '{"left"'}}),
            _calls({"index": 0, "id": "", "function": {"name": "", "arguments": ":1}"}}),
            _calls({"index": 0, "function": None}),
        ),
        calls=[_ADD],
    ),
    Oddity(
        "W3",
        "an index that is used again, with another id and a name",
        _turn(_calls(_WHOLE), _calls({"index": 0, "id": "call_b", "function": {"name": "now", "arguments": "{}"}})),
        calls=[_ADD, ("call_b", "now", "{}")],
    ),
    Oddity(
        "W3",
        "a whole argument text that is sent again",
        _turn(_calls(_WHOLE), _calls({"index": 0, "function": {"arguments": '{"left":1}'}})),
        calls=[_ADD],
    ),
    Oddity(
        "W3",
        "no index: the id, then the call that was opened last",
        _turn(
            _calls({"id": "call_a", "function": {"name": "add", "arguments": '{"le'}}),
            _calls({"id": "call_b", "function": {"name": "now", "arguments": "{"}}),
            _calls({"id": "call_a", "function": {"arguments": 'ft":1}'}}),
            _calls({"function": {"arguments": "}"}}),
        ),
        calls=[("call_a", "add", '{"left":1}'), ("call_b", "now", "{}")],
    ),
    Oddity(
        "W3",
        "two whole calls in one event, the indexes beginning at 1",
        _turn(
            _calls({**_WHOLE, "index": 1}, {"index": 2, "id": "call_b", "function": {"name": "now", "arguments": ""}})
        ),
        calls=[_ADD, ("call_b", "now", "")],
    ),
    Oddity(
        "W4",
        "an id that comes after the first arguments",
        _turn(
            _calls({"index": 0, "function": {"name": "add", "arguments": ""}}),
            _calls({"index": 0, "id": "call_a", "function": {"arguments": '{"left":1}'}}),
        ),
        calls=[_ADD],
    ),
    Oddity(
        "W4",
        "a name that comes after the first arguments, and again with each fragment",
        _turn(
            _calls({"index": 0, "id": "call_a", "function": {"arguments": '{"le'}}),
            _calls({"index": 0, "function": {"name": "add", "arguments": 'ft":'}}),
            _calls({"index": 0, "function": {"name": "add", "arguments": "1}"}}),
        ),
        calls=[_ADD],
    ),
    Oddity(
        "W4",
        "an id that is a number",
        _turn(_calls({"index": 0, "id": 7, "function": {"name": "add", "arguments": '{"left":1}'}})),
        calls=[("7", "add", '{"left":1}')],
    ),
    Oddity(
        "W8",
        "a second choice",
        _turn(_delta({"content": "never"}, 1), Text(["a"]), _delta({"content": "shown"}, 1)),
        text="a",
    ),
)


def _event(name: str, **fields: object) -> Raw:
    return Raw(f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n")


MESSAGES: Final[Sequence[Oddity]] = (
    Oddity(
        "W2",
        "null in place of optional fields",
        _turn(
            _event("ping", note=None),
            _event("message_delta", delta={"stop_reason": None, "stop_sequence": None}, usage={"output_tokens": None}),
            _event("message_delta", delta={"stop_reason": None}, usage=None),
            Text(["a"]),
        ),
        text="a",
    ),
)
