"""The steps of a call before its execution: known, parsed, validated (X3). No effect happens here."""

import inspect
import reprlib
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeGuard

import msgspec

from limen.contract import (
    AbortError,
    AbortSignal,
    JsonObject,
    TooDeep,
    ToolCallBlock,
    ToolResultBlock,
    codes,
    loads,
)
from limen.tools._check import arguments_fault
from limen.tools._errors import NonRecoverableToolError, ToolContractError, bounded, error_words, failed
from limen.tools._registry import ToolRegistry
from limen.tools._tool import Invalid, Tool, Valid

_JSON: Final = msgspec.json.Decoder(object)


class Ready(NamedTuple):
    """A call whose arguments are validated: the tool and the value that it is executed with."""

    tool: Tool
    arguments: object


def check_calls(calls: object) -> tuple[ToolCallBlock, ...]:
    """Return the calls as a tuple; `INVALID_TOOL_CALL`, raised, unless each is a complete `ToolCallBlock`."""
    if isinstance(calls, (str, bytes)) or not isinstance(calls, Sequence):
        raise _invalid_call(f"a {type(calls).__name__} is no sequence of tool calls")
    return tuple(_checked(call, f"calls[{index}]") for index, call in enumerate(calls))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _checked(call: object, where: str) -> ToolCallBlock:
    if type(call) is not ToolCallBlock:
        raise _invalid_call(f"{where} is a {type(call).__name__}, not a ToolCallBlock")
    # A struct's fields are not checked when it is made.
    fields: tuple[tuple[str, object], ...] = (("id", call.id), ("name", call.name), ("arguments", call.arguments))
    for field, value in fields:
        if type(value) is not str:
            raise _invalid_call(f"{where}.{field} is a {type(value).__name__}, not a string")
        if not value and field != "arguments":
            raise _invalid_call(f"{where}.{field} is empty")
    return call


def _invalid_call(message: str) -> ToolContractError:
    return ToolContractError(codes.INVALID_TOOL_CALL, bounded(message))


def is_raised(error: BaseException) -> bool:
    """Say whether an error of a tool or validator is raised unchanged; every other becomes a result (X4).

    By the real class: `isinstance` would believe what an object says of its own `__class__`. `CancelledError` is
    raised too, and is for the caller to tell, since asyncio is not needed here.
    """
    return issubclass(type(error), (NonRecoverableToolError, AbortError, KeyboardInterrupt))


def prepare(
    call: ToolCallBlock, registry: ToolRegistry, signal: AbortSignal, offered: frozenset[str] | None = None
) -> Ready | ToolResultBlock:
    """Return the call ready to be executed, or the result that says why it is not.

    `offered` names the tools that the model was told of; `None` is all of the registry. The signal is looked at before
    each step and raises `AbortError`.
    """
    signal.raise_if_aborted()
    tool = registry.get(call.name) if offered is None or call.name in offered else None
    if tool is None:
        names = [name for name in registry.names if offered is None or name in offered]
        known = f"the tools are {', '.join(names)}" if names else "there is no tool"
        return failed(call, codes.TOOL_NOT_FOUND, f"no tool is named {reprlib.repr(call.name)}; {known}")
    signal.raise_if_aborted()
    try:
        arguments = loads(call.arguments, _JSON)
    except (msgspec.DecodeError, TooDeep) as fault:
        return _invalid(call, f"the arguments are not JSON: {fault}")
    if not _is_object(arguments):
        return _invalid(call, "$: the arguments are no JSON object")
    if tool.validate is None:
        fault_found = arguments_fault(arguments, tool.parameters)
        return Ready(tool, arguments) if fault_found is None else _invalid(call, fault_found)
    signal.raise_if_aborted()
    return _validated(call, tool, arguments)


def _validated(call: ToolCallBlock, tool: Tool, arguments: object) -> Ready | ToolResultBlock:
    from asyncio import CancelledError, Future

    assert tool.validate is not None
    try:
        decision: object = tool.validate(arguments)
    except CancelledError:
        raise
    except BaseException as error:  # any other is its failure, and a result
        if is_raised(error):
            raise
        return failed(call, codes.TOOL_VALIDATION_FAILED, f"the validator raised {error_words(error)}")
    if type(decision) is Valid:
        return Ready(tool, decision.value)
    if type(decision) is Invalid and type(decision.message) is str:
        return _invalid(call, decision.message)
    if inspect.iscoroutine(decision):
        decision.close()
    elif isinstance(decision, Future):
        # A task that a validator began would run on after the run.
        decision.cancel()
    words = f"the validator returned a {type(decision).__name__}, not Valid(value) or Invalid(message)"
    return failed(call, codes.TOOL_VALIDATION_FAILED, words)


def _invalid(call: ToolCallBlock, message: str) -> ToolResultBlock:
    return failed(call, codes.TOOL_ARGUMENTS_INVALID, message)


def _is_object(value: object) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)
