"""Checks of the request: what is set goes on the wire or is refused before any I/O (Q1-Q5, Q7-Q9, C8, R4, N1)."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

import msgspec

from limen.contract import (
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolChoice,
    ToolSpec,
    assistant,
    tool_result,
    user,
)
from limen.testing.conformance._bench import MODEL, ROUTE, Bench, but
from limen.testing.conformance._check import check
from limen.testing.conformance._outcome import NotApplicable, Outcome

_UNSUPPORTED: Final = ("UNSUPPORTED", "UNSUPPORTED_CONTENT", "UNSUPPORTED_REASONING_EFFORT")
_PICTURE: Final = b"\x89PNG limen conformance picture"
_PICTURE_TEXT: Final = base64.b64encode(_PICTURE).decode()
_ADDRESS: Final = "https://example.test/limen-picture.png"

# Every field of a request with a value, and what of it must be found in the body; no trace means: it only must differ.
FIELDS: Final[Mapping[str, tuple[Mapping[str, object], str | None]]] = {
    "system": ({"system": "LIMEN-SYSTEM"}, "LIMEN-SYSTEM"),
    "tools": ({"tools": (ToolSpec("limen_tool", "LIMEN-TOOL"),)}, "LIMEN-TOOL"),
    "tools.strict": ({"tools": (ToolSpec("add", strict=True),)}, None),
    "tool_choice=none": ({"tool_choice": "none"}, None),
    "tool_choice=required": ({"tool_choice": "required"}, None),
    "tool_choice=name": ({"tool_choice": ToolChoice("now")}, None),
    "parallel_tool_calls": ({"parallel_tool_calls": False}, None),
    "response_format=json": ({"response_format": "json"}, None),
    "response_format=schema": (
        {"response_format": JsonSchema("limen", {"type": "object", "properties": {"LIMEN-FIELD": {"type": "string"}}})},
        "LIMEN-FIELD",
    ),
    "temperature": ({"temperature": 0.375}, "0.375"),
    "top_p": ({"top_p": 0.625}, "0.625"),
    "max_tokens": ({"max_tokens": 4321}, "4321"),
    "stop": ({"stop": ("LIMEN-STOP",)}, "LIMEN-STOP"),
    "seed": ({"seed": 7654321}, "7654321"),
    "cache=short": ({"cache": "short"}, None),
    "cache=long": ({"cache": "long"}, None),
}
CONTENT: Final[Mapping[str, tuple[Sequence[Message], Sequence[str]]]] = {
    "image bytes": (
        [user([TextBlock("LIMEN-BESIDE"), ImageBlock("image/png", _PICTURE)])],
        ["LIMEN-BESIDE", _PICTURE_TEXT],
    ),
    "image url": ([user([TextBlock("LIMEN-BESIDE"), ImageBlock(url=_ADDRESS)])], ["LIMEN-BESIDE", _ADDRESS]),
    "a failed tool": (
        [
            user("a"),
            assistant([ToolCallBlock("call_1", "add", "{}")]),
            tool_result("call_1", "LIMEN-OOPS", is_error=True),
        ],
        ["LIMEN-OOPS"],
    ),
    "an image in a tool result": (
        [
            user("a"),
            assistant([ToolCallBlock("call_1", "add", "{}")]),
            tool_result("call_1", [TextBlock("LIMEN-BESIDE"), ImageBlock("image/png", _PICTURE)]),
        ],
        ["LIMEN-BESIDE", _PICTURE_TEXT],
    ),
    "a system message": ([Message("system", (TextBlock("LIMEN-MIDDLE"),)), user("a")], ["LIMEN-MIDDLE"]),
}


def _body(outcome: Outcome) -> str:
    return outcome.request.body.decode("utf-8")


def _refused(outcome: Outcome) -> bool:
    """Return whether the call was refused as unsupported; a refusal after a request is `Broken`."""
    if outcome.failure is None or outcome.failure.code not in _UNSUPPORTED:
        return False
    outcome.expect(outcome.way == "raised", f"the refusal came {outcome.way}, expected raised")
    outcome.expect(not outcome.requests, "the field was refused after a request had been made")
    return True


@check("Q1", "every-field", "Every field that is set goes on the wire or is refused before any I/O", basic=True)
async def _every_field(bench: Bench) -> None:
    plain = _body(await bench.outcome("text"))
    extra = {"extra": {bench.wire.name: {"limen_extra": "LIMEN-EXTRA"}}}
    for name, (changes, trace) in {**FIELDS, "extra": (extra, "LIMEN-EXTRA")}.items():
        outcome = await bench.call("text", but(bench.options(), **changes), what=f"with {name}")
        if _refused(outcome):
            continue
        outcome.expect_success("stop")
        body = _body(outcome)
        outcome.expect(body != plain, f"{name} was set, and the request is the same as without it")
        outcome.expect(trace is None or trace in body, f"{name} was set, and {trace!r} is not in the request")


@check("Q1", "every-content", "Every kind of content goes on the wire or is refused before any I/O")
async def _every_content(bench: Bench) -> None:
    for name, (messages, traces) in CONTENT.items():
        outcome = await bench.call("text", bench.options(*messages), what=name)
        if _refused(outcome):
            continue
        outcome.expect_success("stop")
        body = _body(outcome)
        for trace in traces:
            outcome.expect(trace in body, f"{trace!r} is not in the request")


@check("Q2", "model-verbatim", "The model's id reaches the provider byte for byte")
async def _model_verbatim(bench: Bench) -> None:
    model = "vendor/Some.Model:free@2026-11_ß"
    outcome = await bench.call("text", but(bench.options(), model=model), what=f"model {model!r}")
    outcome.expect_success("stop")
    found = outcome.request.json.get("model")
    outcome.expect(found == model or model in unquote(outcome.request.path), f"the provider got {found!r}")


_UNSET: Final = frozenset(
    ("temperature", "top_p", "seed", "stop", "stop_sequences", "tool_choice", "response_format", "reasoning_effort")
)


@check("Q3", "no-nulls", "What is not set does not appear on the wire")
async def _no_nulls(bench: Bench) -> None:
    outcome = await bench.call("text", bench.options(tools=()), what="a request with nothing set")
    body = outcome.request.json
    outcome.expect(None not in list(_values(body)), "the request holds a null")
    there = sorted((_UNSET | {"tools", "system"}) & set(body))
    outcome.expect(not there, f"the request holds {', '.join(there)}, which was not set")


def _values(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, dict):
        for item in msgspec.convert(value, dict[str, object]).values():
            yield from _values(item)
    elif isinstance(value, list):
        for item in msgspec.convert(value, list[object]):
            yield from _values(item)


@check("Q4", "history-order", "The history is serialized in order, and whole")
async def _history_order(bench: Bench) -> None:
    _need_tools(bench)
    history = (
        user("LIMEN-1"),
        assistant(
            [TextBlock("LIMEN-2"), ToolCallBlock("call_1", "add", '{"left":3}'), ToolCallBlock("call_2", "now", "{}")]
        ),
        tool_result("call_1", "LIMEN-4"),
        tool_result("call_2", "LIMEN-5"),
        assistant("LIMEN-6"),
        user("LIMEN-7"),
    )
    outcome = await bench.call("text", bench.options(*history), what="a long history")
    outcome.expect_success("stop")
    body = _body(outcome)
    places = [body.find(f"LIMEN-{number}") for number in (1, 2, 4, 5, 6, 7)]
    outcome.expect(-1 not in places, f"a message is missing from the request (places {places})")
    outcome.expect(places == sorted(places), f"the messages are out of order (places {places})")


@check("C8", "arguments-back", "A call's arguments go back as the wire takes them: the string as it is, or its object")
async def _arguments_back(bench: Bench) -> None:
    _need_tools(bench)
    raw = '{"right": 2.50, "left":[1, 2]}'
    outcome = await bench.call("text", _with_call(bench, raw), what="a call in the history")
    outcome.expect_success("stop")
    values = list(_values(outcome.request.json))
    if bench.wire.takes_arguments == "string":
        outcome.expect(raw in values, "the request does not hold the arguments as they were")
        return
    outcome.expect(msgspec.json.decode(raw) in values, "the request does not hold the arguments' object")
    empty = await bench.call("text", _with_call(bench, ""), what="a call with empty arguments in the history")
    empty.expect_success("stop")
    wrong = await bench.call("text", _with_call(bench, "[1]"), what="a call whose arguments are no object")
    failure = wrong.expect_failure("INVALID_OPTIONS", way="raised")
    wrong.expect("call_1" in failure.message, f"the message does not name the call: {failure.message!r}")
    wrong.expect(not wrong.requests, "a request was made")


def _need_tools(bench: Bench) -> None:
    if not bench.wire.tools:
        raise NotApplicable("this provider takes no tools")


def _with_call(bench: Bench, arguments: str) -> GenerateOptions:
    call = ToolCallBlock("call_1", "add", arguments)
    return bench.options(user("a"), assistant([call]), tool_result("call_1", "b"))


@check("Q5", "one-attempt", "One attempt per call: retrying lives above")
async def _one_attempt(bench: Bench) -> None:
    for fault in ("500", "429-no-hint", "reset-before-headers", "cut"):
        outcome = await bench.outcome(f"text+{fault}")
        outcome.expect(len(outcome.requests) == 1, f"the call made {len(outcome.requests)} requests")


@check("Q7", "user-agent", "The User-Agent names limen and its version")
async def _user_agent(bench: Bench) -> None:
    outcome = await bench.outcome("text")
    agent = outcome.request.header("user-agent") or ""
    outcome.expect(re.search(r"(^| )limen/\d", agent), f"the User-Agent is {agent!r}")


@check("Q8", "surrogates", "A lone surrogate goes out as U+FFFD; a number that is not JSON is INVALID_OPTIONS")
async def _surrogates(bench: Bench) -> None:
    outcome = await bench.call("text", bench.options(user("LIMEN \ud800 END")), what="a lone surrogate")
    outcome.expect_success("stop")
    outcome.expect("LIMEN \ufffd END" in list(_texts(outcome.request.json)), "the text did not arrive with U+FFFD")
    number = await bench.call("text", but(bench.options(), temperature=float("nan")), what="a temperature of NaN")
    if not _refused(number):
        number.expect_failure("INVALID_OPTIONS", way="raised")
        number.expect(not number.requests, "a request was made")


def _texts(value: object) -> Iterator[str]:
    return (one for one in _values(value) if isinstance(one, str))


@check("Q9", "extra", "Extra fields are merged at the top; a key of the serializer's own or of another wire is refused")
async def _extra(bench: Bench) -> None:
    name = bench.wire.name
    outcome = await bench.call(
        "text", but(bench.options(), extra={name: {"limen_extra": [1, {"a": None}]}}), what="extra"
    )
    outcome.expect_success("stop")
    outcome.expect(
        outcome.request.json.get("limen_extra") == [1, {"a": None}], "the extra field is not as it was given"
    )
    key = next(iter(outcome.request.json))
    own = await bench.call("text", but(bench.options(), extra={name: {key: "another"}}), what=f"extra over {key}")
    own.expect_failure("INVALID_OPTIONS", way="raised")
    foreign = await bench.call(
        "text", but(bench.options(), extra={"telegraph": {"a": 1}}), what="extra for another wire"
    )
    foreign.expect_failure("UNSUPPORTED", way="raised")
    foreign.expect(not own.requests and not foreign.requests, "a request was made")


@check("R4", "efforts", "An effort of the model's list goes on the wire; one outside it is refused")
async def _efforts(bench: Bench) -> None:
    info = await bench.adapter.resolve_model(ROUTE, MODEL)
    if info.efforts is None:
        outcome = await bench.call("text", but(bench.options(), reasoning_effort="high"), what="effort high")
        if not _refused(outcome):
            outcome.expect("high" in map(str.lower, _texts(outcome.request.json)), "the effort is not in the request")
        return
    plain = _body(await bench.outcome("text"))
    for effort in info.efforts:
        outcome = await bench.call("text", but(bench.options(), reasoning_effort=effort.id), what=f"effort {effort.id}")
        outcome.expect_success("stop")
        outcome.expect(_body(outcome) != plain, "the request is the same as without an effort")
    outcome = await bench.call("text", but(bench.options(), reasoning_effort="limen-none"), what="an unknown effort")
    outcome.expect_failure("UNSUPPORTED_REASONING_EFFORT", way="raised")
    outcome.expect(not outcome.requests, "a request was made")


@check("N1", "history-check", "A history that cannot be served is refused before any I/O, naming the message")
async def _history_check(bench: Bench) -> None:
    call = ToolCallBlock("call_1", "add", "{}")
    cases = {
        "an unanswered call": ([user("a"), assistant([call]), user("b")], "messages[1]", "messages[2]"),
        "a result without a call": ([user("a"), tool_result("call_1", "b")], "messages[1]", "messages[1]"),
        "two calls with one id": (
            [user("a"), assistant([call, call]), tool_result("call_1", "b")],
            "messages[1]",
            "messages[1]",
        ),
    }
    for what, (messages, *places) in cases.items():
        outcome = await bench.call("text", bench.options(*messages), what=what)
        failure = outcome.expect_failure("INVALID_OPTIONS", way="raised")
        outcome.expect(not outcome.requests, "a request was made")
        outcome.expect(
            any(place in failure.message for place in places), f"the message names no place: {failure.message!r}"
        )
