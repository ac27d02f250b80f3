"""Tool calls from fragments (W3, W4, C8-C11, C17); each body whole, byte by byte and at every cut."""

import hashlib
import json
import sys
from types import FrameType

import pytest

from adapters.openai_chat._chat_wire import (
    DONE,
    calling,
    ended,
    event,
    fragment,
    opened,
    part,
    read,
    read_all_ways,
    said,
    stream,
)
from limen.contract import (
    MAX_TOKENS,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Finish,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
)


def made(ordinal: int, seed: bytes = b"seed") -> str:
    """The id that C9 makes of the seed and the call's ordinal."""
    return "limen_" + hashlib.sha256(seed + b"\x00" + str(ordinal).encode()).hexdigest()[:16]


def test_a_call_is_its_fragments() -> None:
    """The first fragment names the call, the others carry its arguments, joined exactly (C8)."""
    body = stream(
        calling(fragment("", id="c1", name="add", type="function")),
        calling(fragment('{"a":')),
        calling(fragment(" 1}")),
        ended("tool_calls"),
    )

    assert read_all_ways(body).chunks == [
        *opened(0, "c1", "add"),
        ToolCallDelta(0, "c1", None, '{"a":'),
        ToolCallDelta(0, "c1", None, " 1}"),
        BlockEnd(0, ToolCallBlock("c1", "add", '{"a": 1}')),
        Finish(TOOL_CALLS),
    ]


def test_text_and_calls_interleave_and_end_in_index_order() -> None:
    """One text block, one block per call, each told by the wire's index (C3, C18)."""
    body = stream(
        said("a"),
        calling(fragment('{"x"', id="c1", name="f"), fragment('{"y"', index=1, id="c2", name="g")),
        calling(fragment(":1}")),
        said("b"),
        calling(fragment(":2}", index=1), finish="tool_calls"),
    )

    assert read_all_ways(body).chunks == [
        BlockStart(0, "text"),
        TextDelta(0, "a"),
        *opened(1, "c1", "f", '{"x"'),
        *opened(2, "c2", "g", '{"y"'),
        ToolCallDelta(1, "c1", None, ":1}"),
        TextDelta(0, "b"),
        ToolCallDelta(2, "c2", None, ":2}"),
        BlockEnd(0, TextBlock("ab")),
        BlockEnd(1, ToolCallBlock("c1", "f", '{"x":1}')),
        BlockEnd(2, ToolCallBlock("c2", "g", '{"y":2}')),
        Finish(TOOL_CALLS),
    ]


@pytest.mark.parametrize("word", ["stop", "tool_calls", "function_call", "tool_use", "TOOL_CALL", "end_turn", None])
def test_an_answer_with_calls_finishes_as_tool_calls(word: str | None) -> None:
    """A plain stop after calls is normalized, and so is a marker without any word (C11, W6)."""
    body = stream(calling(fragment("{}", id="c", name="f"), finish=word))

    assert read(body).kind == "tool-calls"


def test_a_cut_call_ends_as_it_arrived() -> None:
    """A max-tokens finish may cut a call short; the response does not offer it for execution (C17)."""
    outcome = read(stream(calling(fragment('{"path":"a', id="c", name="f")), ended("length")))

    assert outcome.chunks == [
        *opened(0, "c", "f", '{"path":"a'),
        BlockEnd(0, ToolCallBlock("c", "f", '{"path":"a')),
        Finish(MAX_TOKENS),
    ]
    assert outcome.response.tool_calls == ()


CASES: dict[str, tuple[list[bytes], list[tuple[str, str, str]]]] = {
    "the id comes after the name": (
        [calling(fragment(name="f")), calling(fragment(id="c")), calling(fragment("{}"))],
        [("c", "f", "{}")],
    ),
    "the first id wins": (
        [calling(fragment('{"a"', id="c1", name="f")), calling(fragment(":1}", id="c2"))],
        [("c1", "f", '{"a":1}')],
    ),
    "a number is its decimal string": (
        [calling(fragment('{"a"', id=123, name="f")), calling(fragment(":1}", id=123))],
        [("123", "f", '{"a":1}')],
    ),
    "the name comes after the arguments": (
        [calling(fragment('{"a"', id="c")), calling(fragment(":1")), calling(fragment("}", name="f"))],
        [("c", "f", '{"a":1}')],
    ),
    "the same name again": (
        [calling(fragment('{"a"', id="c", name="f")), calling(fragment(":1}", name="f"))],
        [("c", "f", '{"a":1}')],
    ),
    "the id stands in the function": (
        [
            part(tool_calls=[{"index": 0, "function": {"id": "c", "name": "f", "arguments": "{"}}]),
            calling(fragment("}")),
        ],
        [("c", "f", "{}")],
    ),
    "a different id with a name is a new call": (
        [calling(fragment('{"a"', id="c1", name="f")), calling(fragment('{"a"', id="c2", name="f"))],
        [("c1", "f", '{"a"'), ("c2", "f", '{"a"')],
    ),
    "another document is a new call": (
        [calling(fragment('{"a":"}"}', id="c1", name="f")), calling(fragment(' {"b"', id="c1", name="f"))],
        [("c1", "f", '{"a":"}"}'), (made(1), "f", ' {"b"')],
    ),
    "a nested object is no other document": (
        [
            calling(fragment('{"a":[', id="c", name="f")),
            calling(fragment("{}")),
            calling(fragment(",")),
            calling(fragment("{}]}")),
        ],
        [("c", "f", '{"a":[{},{}]}')],
    ),
    "brackets in a string end nothing": (
        [calling(fragment(r'{"a":"\"}', id="c", name="f")), calling(fragment("{\\")), calling(fragment('"{"}'))],
        [("c", "f", r'{"a":"\"}{\"{"}')],
    ),
    "a backslash at a fragment's end takes the next character": (
        [calling(fragment('{"a":"\\', id="c", name="f")), calling(fragment('"}')), calling(fragment('{"}'))],
        [("c", "f", '{"a":"\\"}{"}')],
    ),
    "the whole call once more": (
        [
            calling(fragment('{"a":', id="c", name="f")),
            calling(fragment("1}")),
            calling(fragment('{"a":1}', id="c", name="f")),
        ],
        [("c", "f", '{"a":1}')],
    ),
    "the whole arguments once more, with another name": (
        [calling(fragment("{}", name="f")), calling(fragment("{}", name="g"))],
        [(made(0), "f", "{}"), (made(1), "g", "{}")],
    ),
    "another name after a call without arguments": (
        [calling(fragment("", name="f")), calling(fragment("", name="g"))],
        [(made(0), "f", "{}"), (made(1), "g", "{}")],
    ),
    "another name after a complete call": (
        [calling(fragment('{"a":1}', name="f")), calling(fragment("", name="g")), calling(fragment("{}"))],
        [(made(0), "f", '{"a":1}'), (made(1), "g", "{}")],
    ),
    "a repeated native id keeps its place": (
        [calling(fragment("{}", id="c", name="f"), fragment("{}", index=1, id="c", name="f"))],
        [("c", "f", "{}"), (made(1), "f", "{}")],
    ),
    "no index: told by the id": (
        [
            calling(fragment('{"a"', index=None, id="c1", name="f"), fragment('{"b"', index=None, id="c2", name="g")),
            calling(fragment(":1}", index=None, id="c1"), fragment(":2}", index=None, id="c2")),
        ],
        [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')],
    ),
    "no index and no id: the call last opened": (
        [
            calling(fragment('{"a"', index=None, id="c1", name="f")),
            calling(fragment(":1}", index=None)),
            calling(fragment('{"b"', index=None, name="g")),
            calling(fragment(":2}", index=None, id="unknown")),
        ],
        [("c1", "f", '{"a":1}'), (made(1), "g", '{"b":2}')],
    ),
    "no index, an id first": (
        [calling(fragment("", index=None, id="c")), calling(fragment("{}", index=None, name="f"))],
        [("c", "f", "{}")],
    ),
    "indexes with gaps": (
        [calling(fragment("{}", index=1, id="a", name="f")), calling(fragment("{}", index=7, id="b", name="f"))],
        [("a", "f", "{}"), ("b", "f", "{}")],
    ),
    "fragments that say nothing": (
        [
            calling(fragment(), {"index": 3}, {"index": None, "function": None, "type": "function"}),
            part(tool_calls=[None]),
            calling(fragment("{}", id="c", name="f")),
            calling(fragment("", id="", name="", type="function")),
        ],
        [("c", "f", "{}")],
    ),
    "the legacy function call": (
        [part(function_call={"name": "f", "arguments": ""}), part(function_call={"arguments": "{}"})],
        [(made(0), "f", "{}")],
    ),
    "a call of a custom tool": (
        [
            calling({"index": 0, "id": "c", "type": "custom", "custom": {"name": "f", "input": "4 "}}),
            calling({"index": 0, "custom": {"input": "+ 4"}}),
        ],
        [("c", "f", "4 + 4")],
    ),
    "no JSON at all": (
        [calling(fragment("{\\}", id="c", name="f")), calling(fragment("{", name="f"))],
        [("c", "f", "{\\}"), (made(1), "f", "{")],
    ),
    "arguments that are null": ([calling(fragment("null", id="c", name="f"))], [("c", "f", "null")]),
    "large integers": (
        [calling(fragment('{"id": 12345678901234567890123}', id="c", name="f"))],
        [("c", "f", '{"id": 12345678901234567890123}')],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_fragments_find_their_call(case: str) -> None:
    """Each rule of W3, W4, C9 and C10 by an input of its own."""
    events, calls = CASES[case]

    outcome = read_all_ways(stream(*events, ended("tool_calls")))

    assert outcome.calls == calls
    assert outcome.kind == "tool-calls"


def test_a_call_waits_for_its_id_until_arguments_come() -> None:
    """Then an id is made at once, and one that comes later changes nothing (W4, C9)."""
    body = stream(
        calling(fragment(name="f")),
        calling(fragment("{")),
        calling(fragment("}", id="late")),
        ended("tool_calls"),
    )

    assert read_all_ways(body).chunks == [
        *opened(0, made(0), "f", "{"),
        ToolCallDelta(0, made(0), None, "}"),
        BlockEnd(0, ToolCallBlock(made(0), "f", "{}")),
        Finish(TOOL_CALLS),
    ]


def test_a_made_id_is_of_the_seed_and_the_ordinal() -> None:
    """The same input makes the same id, another history another one (C9); the seed is asked for only then."""
    body = stream(calling(fragment("{}", name="f"), fragment("{}", index=1, name="f")), ended())
    asked: list[bool] = []

    def seed() -> bytes:
        asked.append(True)
        return b"history"

    assert [call[0] for call in read(body, id_seed=seed).calls] == [made(0, b"history"), made(1, b"history")]
    assert len(asked) == 2
    read(stream(calling(fragment("{}", id="c", name="f")), ended()), id_seed=seed)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            [calling(fragment("{}", index=None))],
            "a fragment of arguments has neither index nor id nor name, and no call is open",
        ),
        (
            [calling(fragment('{"a"', id="c", name="f")), calling(fragment(":1}", name="g"))],
            "the call 'f' was named 'g' in the middle of its arguments",
        ),
    ],
)
def test_a_fragment_that_fits_no_call_is_malformed(events: list[bytes], message: str) -> None:
    """Nothing is guessed where the meaning is not plain (W3)."""
    outcome = read_all_ways(stream(*events, ended()))

    assert outcome.kind == "raised MALFORMED_RESPONSE"
    assert outcome.raised is not None
    assert outcome.raised.message.endswith(message)


@pytest.mark.parametrize(("fields", "call"), [({"id": "c"}, "'c'"), ({"arguments": "{}"}, "0")])
def test_a_call_that_never_gets_a_name_is_malformed(fields: dict[str, str], call: str) -> None:
    """It cannot be executed, and it cannot be left out (W4, Q139)."""
    outcome = read_all_ways(stream(said("a"), calling(fragment(**fields)), ended("tool_calls")))  # type: ignore[arg-type]  # the two fields are strings

    assert outcome.kind == "raised MALFORMED_RESPONSE"
    assert outcome.raised is not None
    assert outcome.raised.message.endswith(f"the tool call {call} never got a name")


def test_claimed_calls_without_one_are_malformed_in_band() -> None:
    """A finish word that claims calls is no answer without one (section 3)."""
    outcome = read_all_ways(stream(said("a"), ended("tool_calls")))

    assert outcome.kind == "MALFORMED_RESPONSE"
    assert outcome.failure.provider_code == "tool_calls"
    assert outcome.failure.message == "the answer ended with 'tool_calls' and holds no tool call"


def test_arguments_that_are_an_object_are_its_bytes() -> None:
    """White space outside strings goes, digits and order stay, whatever the place (C8)."""
    call = b'{"id":"c","function":{"name":"f","arguments":{"b" : 1.50,\n "a":[ "x y", {"n":1E2} ]}}}'
    expected = [("c", "f", '{"b":1.50,"a":["x y",{"n":1E2}]}')]

    streamed = b'data: {"choices":[null,{"delta":{"tool_calls":[%s]}}]}\n\n' % call.replace(b"\n", b"")
    whole = b'{"choices":[{"message":{"tool_calls":[%s]},"finish_reason":"tool_calls"}]}' % call
    legacy = b'{"choices":[{"message":{"function_call":{"name":"f","arguments":{"a": 1}}},"finish_reason":"stop"}]}'

    assert read(streamed + ended("tool_calls") + DONE).calls == expected
    assert read(whole).calls == expected
    assert read(legacy).calls == [(made(0), "f", '{"a":1}')]


@pytest.mark.parametrize("arguments", [1, True, ["a"]])
def test_arguments_of_another_type_are_malformed(arguments: object) -> None:
    """Strings and objects are all that was ever seen (C15)."""
    assert read(stream(calling(fragment(arguments, id="c", name="f")), ended())).kind == "raised MALFORMED_RESPONSE"


def test_calls_of_a_whole_answer_are_items_of_their_own() -> None:
    """Without ids and with equal arguments they are still as many as were listed (Gemini's layer)."""
    call = {"function": {"name": "f", "arguments": "{}"}}
    body = json.dumps({"choices": [{"message": {"tool_calls": [call, None, call]}, "finish_reason": "stop"}]}).encode()

    assert read(body).calls == [(made(0), "f", "{}"), (made(1), "f", "{}")]


def test_what_a_replay_of_a_call_needs_is_kept() -> None:
    """A thought signature, and that a call was one of a custom tool (N4)."""
    signature = {"google": {"thought_signature": "s"}}
    body = stream(
        said("a"),
        calling(fragment("{}", id="c", name="f", extra_content=signature)),
        calling({"index": 1, "id": "d", "custom": {"name": "g", "input": "x"}}),
        calling(fragment("{", index=2, id="e", name="h")),
        calling(fragment("}", index=2, extra_content={"late": True})),
        ended("tool_calls"),
    )

    assert read(body).finish.replay_state == {
        "v": 1,
        "wire": "openai-chat",
        "blocks": (None, {"extra_content": signature}, {"type": "custom"}, {"extra_content": {"late": True}}),
    }


def test_halves_of_a_surrogate_pair_meet_in_the_next_fragment() -> None:
    """Arguments are a block's text too (S5); before the call starts, and at its end."""
    pieces = [
        r'{"index":0,"id":"c","function":{"arguments":"\ud83d"}}',
        r'{"index":0,"function":{"name":"f","arguments":"\ude00"}}',
        r'{"index":0,"function":{"arguments":"a\ud83d"}}',
        r'{"index":1,"id":"d","function":{"arguments":"\ud83d"}}',
        r'{"index":1,"function":{"name":"g"}}',
    ]
    events = (b'data: {"choices":[{"delta":{"tool_calls":[%s]}}]}\n\n' % piece.encode() for piece in pieces)

    assert read_all_ways(stream(*events, ended("tool_calls"))).chunks == [
        *opened(0, "c", "f", "\U0001f600"),
        ToolCallDelta(0, "c", None, "a"),
        *opened(1, "d", "g"),
        ToolCallDelta(0, "c", None, "\ufffd"),
        ToolCallDelta(1, "d", None, "\ufffd"),
        BlockEnd(0, ToolCallBlock("c", "f", "\U0001f600a\ufffd")),
        BlockEnd(1, ToolCallBlock("d", "g", "\ufffd")),
        Finish(TOOL_CALLS),
    ]


def test_a_call_that_waits_with_half_a_pair_starts_at_the_end() -> None:
    """The half alone is no text that would make an id; at the end it is U+FFFD, and the id is made (S5, W4)."""
    body = rb'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"\ud83d"}}]}}]}'

    assert read_all_ways(body + b"\n\n" + DONE).calls == [(made(0), "f", "\ufffd")]


def test_names_and_ids_are_valid_text() -> None:
    """A lone half in an id or a name is U+FFFD, so that the chunks encode (S5)."""
    body = rb'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"\ud83d","function":{"name":"\ude00"}}]}}]}'

    assert read(body + b"\n\n" + DONE).calls == [("\ufffd", "\ufffd", "{}")]


@pytest.mark.parametrize("named", [False, True])
def test_many_fragments_cost_no_more_than_few(named: bool) -> None:
    """Cost per fragment does not grow with what came before, also where each repeats the name (W3)."""

    def calls(count: int) -> int:
        fields = {"name": "f"} if named else {}
        piece = calling(fragment('{"a"}', **fields))  # type: ignore[arg-type]  # a name is a string
        body = stream(calling(fragment('{"x":["', id="c", name="f")), piece * count, ended("length"))
        made = 0

        def count_call(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(count_call)
        try:
            read(body)
        finally:
            sys.setprofile(None)
        return made

    # Linear is 4; quadratic would be 16.
    assert calls(8_000) < 4.4 * calls(2_000)


def test_an_event_may_hold_no_choice_of_ours() -> None:
    """`choices` may be null, absent or empty, and so may everything in it (W2)."""
    body = stream(
        event(choices=None),
        event(choices=[]),
        event(choices=[None]),
        event(choices=[{"delta": None, "finish_reason": ""}]),
        event(choices=[{"index": None, "delta": {"content": None, "tool_calls": None, "role": None}}]),
        said("a"),
        event(choices=[{"finish_reason": "stop", "usage": None}], usage=None, error=None),
    )

    assert read_all_ways(body).blocks == [TextBlock("a")]
