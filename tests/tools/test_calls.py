"""X3, X4: one call in its steps, and every way in which a tool can fail."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import pytest

import limen
from limen.contract import ToolCallBlock, ToolResultBlock, remember_secret
from limen.tools import (
    Invalid,
    NonRecoverableToolError,
    Tool,
    ToolContext,
    ToolContractError,
    ToolRegistry,
    Valid,
    run_tool_calls,
)
from tools._scripted import call, error_of

CLOSED: dict[str, object] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "of": {"type": "array", "items": {"enum": ["x", "y"]}}},
    "required": ["a"],
    "additionalProperties": False,
}


class Seen:
    """A tool that keeps what it was executed with."""

    def __init__(self, validate: Callable[..., Any] | None = None, parameters: Mapping[str, object] = CLOSED) -> None:
        self.effects: list[object] = []
        self.contexts: list[ToolContext] = []
        self.registry = ToolRegistry([Tool("do", "Do.", parameters, self.execute, validate)])

    async def execute(self, arguments: object, context: ToolContext) -> str:
        """Have an effect."""
        self.effects.append(arguments)
        self.contexts.append(context)
        return "done"


def raising(error: BaseException, *, plain: bool = False) -> ToolRegistry:
    """Return a registry whose tool raises this, from an async or a plain function."""

    async def execute(arguments: object, context: ToolContext) -> NoReturn:
        raise error

    def execute_plainly(arguments: object, context: ToolContext) -> NoReturn:
        raise error

    return ToolRegistry([Tool("do", "Do.", {}, execute_plainly if plain else execute)])


async def one(registry: ToolRegistry, arguments: object = None, **options: Any) -> ToolResultBlock:
    """Run one call of the tool."""
    (result,) = await run_tool_calls([call("do", arguments, "id-7")], registry, **options)
    return result


async def test_x3_a_good_call_is_executed_once() -> None:
    """X3: arguments that validate reach the tool with its context, and the result is linked by the call's id."""
    seen = Seen()
    signal = limen.AbortController().signal

    result = await one(seen.registry, {"a": 1, "of": ["x"]}, signal=signal)

    assert result == ToolResultBlock("id-7", "done")
    assert seen.effects == [{"a": 1, "of": ["x"]}]
    assert seen.contexts == [ToolContext(signal, "id-7", "do")]


class LooksLikeACall:
    """Has the fields of a call, and says that it is one."""

    id, name, arguments = "1", "do", '{"a":1}'

    @property  # type: ignore[misc] # the lie is the case
    def __class__(self) -> type:
        return ToolCallBlock


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([None], "calls[0] is a NoneType, not a ToolCallBlock"),
        ([call("do"), {"id": "1"}], "calls[1] is a dict, not a ToolCallBlock"),
        ([LooksLikeACall()], "calls[0] is a LooksLikeACall, not a ToolCallBlock"),
        ([ToolCallBlock("", "do", "{}")], "calls[0].id is empty"),
        ([ToolCallBlock("1", "", "{}")], "calls[0].name is empty"),
        ([ToolCallBlock(1, "do", "{}")], "calls[0].id is a int, not a string"),  # type: ignore[arg-type]
        ([ToolCallBlock("1", "do", {"a": 1})], "calls[0].arguments is a dict, not a string"),  # type: ignore[arg-type]
        ("do", "a str is no sequence of tool calls"),
        (call("do"), "a ToolCallBlock is no sequence of tool calls"),
    ],
)
async def test_x3_what_is_no_call_is_raised(calls: Any, words: str) -> None:
    """X3: what is no complete call is `INVALID_TOOL_CALL`, raised before any call of the batch has an effect."""
    seen = Seen(parameters={})
    with pytest.raises(ToolContractError) as caught:
        await run_tool_calls(calls, seen.registry)

    assert (caught.value.code, caught.value.message) == ("INVALID_TOOL_CALL", words)
    assert seen.effects == []


async def test_x3_an_unknown_name_is_a_result() -> None:
    """X3: a name that is not registered is `TOOL_NOT_FOUND`, and the message lists the names that are."""
    (result,) = await run_tool_calls([call("undo")], Seen().registry)
    assert error_of(result) == ("TOOL_NOT_FOUND", "no tool is named 'undo'; the tools are do")

    (result,) = await run_tool_calls([call("undo")], ToolRegistry())
    assert error_of(result) == ("TOOL_NOT_FOUND", "no tool is named 'undo'; there is no tool")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "the arguments are not JSON: "),
        ("{", "the arguments are not JSON: "),
        ('{"a":1}{}', "the arguments are not JSON: "),
        ('{"a":NaN}', "the arguments are not JSON: "),
        ("[1]", "$: the arguments are no JSON object"),
        ("null", "$: the arguments are no JSON object"),
        ('{"a":' + "[" * 200 + "]" * 200 + "}", "the arguments are not JSON: JSON is nested deeper than 128 levels"),
        ("{}", "$.a: is required"),
        ('{"a":"1"}', "$.a: expected integer, got string"),
        ('{"a":true}', "$.a: expected integer, got boolean"),
        ('{"a":1,"of":["x","z"]}', "$.of[1]: is none of the 2 values that are allowed"),
        ('{"a":1,"b":2}', "$.b: is no known property; known: a, of"),
    ],
)
async def test_x3_arguments_that_do_not_validate_are_a_result(arguments: str, words: str) -> None:
    """X3: arguments that are not one JSON object of the schema are `TOOL_ARGUMENTS_INVALID`, with no effect."""
    seen = Seen()

    code, message = error_of(await one(seen.registry, arguments))
    # What follows "not JSON: " are msgspec's words, which change with its version.
    assert (code, message[: len(words)] if words.endswith(": ") else message) == ("TOOL_ARGUMENTS_INVALID", words)
    assert seen.effects == []


async def test_x3_a_validator_decides() -> None:
    """X3: `Valid` gives the value that is executed, whatever the schema says; `Invalid` its message to the model."""
    seen = Seen(lambda arguments: Valid(["proved", arguments]))
    assert (await one(seen.registry, {"any": 1})).is_error is False
    assert seen.effects == [["proved", {"any": 1}]]

    seen = Seen(lambda arguments: Invalid("$.a: is odd"))
    assert error_of(await one(seen.registry, {"a": 1})) == ("TOOL_ARGUMENTS_INVALID", "$.a: is odd")
    assert seen.effects == []


class LooksValid:
    """Says that it is `Valid`."""

    value = 3

    @property  # type: ignore[misc] # the lie is the case
    def __class__(self) -> type:
        return Valid


async def decide_later(arguments: object) -> Valid:
    """A validator that is async by mistake."""
    return Valid(arguments)


def validator_raises(error: BaseException) -> Callable[[object], Valid]:
    """Return a validator that raises this."""

    def validate(arguments: object) -> Valid:
        raise error

    return validate


@pytest.mark.parametrize(
    ("validate", "words"),
    [
        (validator_raises(ValueError("odd")), "the validator raised ValueError: odd"),
        (validator_raises(SystemExit(3)), "the validator raised SystemExit: 3"),
        (validator_raises(GeneratorExit()), "the validator raised GeneratorExit"),
        (decide_later, "the validator returned a coroutine, not Valid(value) or Invalid(message)"),
        (lambda arguments: None, "the validator returned a NoneType, not Valid(value) or Invalid(message)"),
        (lambda arguments: True, "the validator returned a bool, not Valid(value) or Invalid(message)"),
        (lambda arguments: LooksValid(), "the validator returned a LooksValid, not Valid(value) or Invalid(message)"),
        (lambda arguments: Invalid(3), "the validator returned a Invalid, not Valid(value) or Invalid(message)"),  # type: ignore[arg-type]
    ],
)
async def test_x3_a_validator_that_fails_is_a_result(validate: Callable[..., Any], words: str) -> None:
    """X3: a validator that raises, is async or does not decide is `TOOL_VALIDATION_FAILED`, with no effect."""
    seen = Seen(validate)

    assert error_of(await one(seen.registry, {"a": 1})) == ("TOOL_VALIDATION_FAILED", words)
    assert seen.effects == []


class LooksNonRecoverable(Exception):
    """Says that it is a `NonRecoverableToolError`."""

    @property  # type: ignore[misc] # the lie is the case
    def __class__(self) -> type:
        return NonRecoverableToolError


class Nameless(type):
    """A class of classes that have no readable name."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")


class HostileError(Exception, metaclass=Nameless):
    """Neither its class's name nor its text can be read."""

    def __str__(self) -> str:
        raise SystemExit(4)


ORDINARY = [
    (ValueError("odd"), "ValueError: odd"),
    (KeyError("city"), "KeyError: 'city'"),
    (ValueError(), "ValueError"),
    (TimeoutError("slow"), "TimeoutError: slow"),
    (SystemExit(3), "SystemExit: 3"),
    (GeneratorExit("bye"), "GeneratorExit: bye"),
    (ExceptionGroup("many", [ValueError("odd")]), "ExceptionGroup: many (1 sub-exception)"),
    (BaseExceptionGroup("all", [KeyboardInterrupt()]), "BaseExceptionGroup: all (1 sub-exception)"),
    (ExceptionGroup("stop", [NonRecoverableToolError()]), "ExceptionGroup: stop (1 sub-exception)"),
    (limen.LlmError("no such route", "NO_ADAPTER"), "LlmError: NO_ADAPTER: no such route"),
    (ToolContractError("TOOL_NOT_FOUND"), "ToolContractError: TOOL_NOT_FOUND"),
    (LooksNonRecoverable("stop!"), "LooksNonRecoverable: stop!"),
    (HostileError(), "an exception whose text cannot be read"),
]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize(("error", "words"), ORDINARY, ids=[words.partition(":")[0] for _, words in ORDINARY])
async def test_x4_whatever_else_a_tool_raises_is_a_result(error: BaseException, words: str, plain: bool) -> None:
    """X4: an ordinary failure, a group, a forged error or a look-alike is `TOOL_EXECUTION_FAILED`."""
    assert error_of(await one(raising(error, plain=plain))) == ("TOOL_EXECUTION_FAILED", words)


class Derived(NonRecoverableToolError):
    """A program's own reason to stop."""


STOPS = [
    NonRecoverableToolError("disk on fire"),
    Derived(),
    limen.AbortError("enough"),
    KeyboardInterrupt(),
    asyncio.CancelledError("from inside"),
]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize("error", STOPS, ids=[type(error).__name__ for error in STOPS])
async def test_x4_what_stops_the_run_is_raised_unchanged(error: BaseException, plain: bool) -> None:
    """X4: the four kinds that stop a run leave it as the object that the tool raised."""
    with pytest.raises(type(error)) as caught:
        await one(raising(error, plain=plain))

    assert caught.value is error


@pytest.mark.parametrize("error", STOPS, ids=[type(error).__name__ for error in STOPS])
async def test_x4_a_validator_may_stop_the_run(error: BaseException) -> None:
    """X4: the same four kinds are raised unchanged from a validator too, with no effect."""
    seen = Seen(validator_raises(error))
    with pytest.raises(type(error)) as caught:
        await one(seen.registry)

    assert caught.value is error
    assert seen.effects == []


async def test_x4_messages_are_scrubbed_and_bounded() -> None:
    """X4, E5: an error's message holds no credential, is at most 1,024 code points and valid Unicode."""
    remember_secret("hunter2-hunter2")
    words = "key hunter2-hunter2 \ud800" + "x" * 5_000

    code, message = error_of(await one(raising(ValueError(words))))

    assert (code, len(message)) == ("TOOL_EXECUTION_FAILED", 1_024)
    assert message.startswith("ValueError: key [redacted] \ufffdxxx")
    assert message.endswith("x…")


async def test_x3_a_lambda_around_an_async_function() -> None:
    """X3: a plain function that returns a coroutine is awaited."""

    async def later(arguments: object) -> str:
        return "later"

    registry = ToolRegistry([Tool("do", "Do.", {}, lambda arguments, context: later(arguments))])

    assert await one(registry) == ToolResultBlock("id-7", "later")


async def test_x3_an_object_with_an_async_call() -> None:
    """X3: an object whose `__call__` is async is a tool's function like any other, and runs on the loop."""

    class Caller:
        async def __call__(self, arguments: object, context: ToolContext) -> str:
            return str(asyncio.current_task() is not None)

    assert await one(ToolRegistry([Tool("do", "Do.", {}, Caller())])) == ToolResultBlock("id-7", "True")


async def test_x3_big_numbers_stay_themselves() -> None:
    """X3, C8: a number that no float holds reaches the tool digit by digit."""
    seen = Seen(parameters={})
    await one(seen.registry, '{"a":1180591620717411303425}')

    assert seen.effects == [{"a": 1180591620717411303425}]


def test_errors_travel() -> None:
    """A contract error pickles with its code and message; one without a message is its code."""
    import pickle

    error = ToolContractError("INVALID_TOOL_CALL", "no call")
    again = pickle.loads(pickle.dumps(error))

    assert (again.code, again.message, str(again)) == ("INVALID_TOOL_CALL", "no call", "INVALID_TOOL_CALL: no call")
    assert str(ToolContractError("INVALID_TOOL_CALL")) == "INVALID_TOOL_CALL"
