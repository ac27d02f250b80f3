"""A tool as an immutable value, checked and copied when it is made (X1)."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeAlias

import msgspec

from limen.contract import AbortSignal, FrozenDict, ToolSpec, freeze_object, json_fault
from limen.tools._check import schema_fault
from limen.tools._errors import error_text, invalid_definition

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ToolContext(msgspec.Struct, frozen=True):
    """Facts about the call that a tool serves: `signal` (the run's abort signal), `call_id` and the tool's `name`."""

    signal: AbortSignal
    call_id: str
    name: str


class Valid(msgspec.Struct, frozen=True):
    """A validator's yes: `value` is what the tool is executed with, in place of the parsed arguments."""

    value: object


class Invalid(msgspec.Struct, frozen=True):
    """A validator's no: `message` tells the model what is wrong with the arguments."""

    message: str


Decision: TypeAlias = Valid | Invalid
Execute: TypeAlias = Callable[..., object]
"""`execute(arguments, context)`, async or not; a plain function runs in a thread (X6)."""

Validate: TypeAlias = Callable[..., Decision]
"""`validate(arguments)`: a plain function that is quick, since it runs on the event loop."""


class Tool:
    """A tool: `Tool(name, description, parameters, execute, validate=None, parallel=True, timeout=None)`.

    - `name`: 1 to 64 of `A-Z a-z 0-9 _ -`, which every wire takes; `description`: text that is not blank;
    - `parameters`: a JSON schema of an object; it is copied, so changing the source changes nothing;
    - `execute(arguments, context)`: async, or a plain function, which runs in a thread of its own;
    - `validate(arguments)`: returns `Valid(value)` or `Invalid(message)`; without it `parameters` is checked;
    - `parallel=False`: no other tool runs beside this one; `timeout`: seconds for an execution, positive and finite.

    Anything else is `ToolContractError` `INVALID_TOOL_DEFINITION`. Immutable; compared by identity.
    """

    __slots__ = ("description", "execute", "name", "parallel", "parameters", "timeout", "validate")

    name: str
    description: str
    parameters: FrozenDict[object]
    execute: Execute
    validate: Validate | None
    parallel: bool
    timeout: float | None

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, object],
        execute: Execute,
        validate: Validate | None = None,
        *,
        parallel: bool = True,
        timeout: float | None = None,
    ) -> None:
        fields: dict[str, object] = {
            "name": _checked_name(name),
            "description": _checked_description(description),
            "parameters": _checked_schema(parameters),
            "execute": _checked_callable("execute", execute),
            "validate": None if validate is None else _checked_callable("validate", validate),
            "parallel": _checked_bool(parallel),
            "timeout": None if timeout is None else _checked_timeout(timeout),
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @property
    def spec(self) -> ToolSpec:
        """The tool as `GenerateOptions.tools` takes it."""
        return ToolSpec(self.name, self.description, self.parameters)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a tool is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a tool is immutable")

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"


def is_async(function: Callable[..., object]) -> bool:
    """Say whether calling a function, or an object with `__call__`, makes a coroutine."""
    call: object = getattr(type(function), "__call__")  # noqa: B004, B009 - asked whether it is async, not whether it is there
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _checked_name(name: object) -> str:
    if type(name) is not str or not _NAME.fullmatch(name):
        raise invalid_definition(f"a tool's name is 1 to 64 of A-Z, a-z, 0-9, _ and -, got {_short(name)}")
    return name


def _checked_description(description: object) -> str:
    if type(description) is not str or not description.strip():
        raise invalid_definition(f"a tool's description is text that is not blank, got {_short(description)}")
    return description


def _checked_schema(parameters: object) -> FrozenDict[object]:
    if not isinstance(parameters, Mapping):
        raise invalid_definition(f"a tool's parameters are a JSON-schema object, got a {type(parameters).__name__}")
    try:
        schema = freeze_object(parameters)  # pyright: ignore[reportUnknownArgumentType]
        fault = json_fault(schema, "parameters") or schema_fault(schema)
    except Exception as error:  # noqa: BLE001 - a foreign mapping may raise anything while it is read
        raise invalid_definition(f"a tool's parameters cannot be read: {error_text(error)}") from None
    if fault is not None:
        raise invalid_definition(fault)
    return schema


def _checked_callable(role: str, function: object) -> Callable[..., object]:
    if not callable(function):
        raise invalid_definition(f"a tool's {role} is a function, got a {type(function).__name__}")
    return function


def _checked_bool(parallel: object) -> bool:
    if type(parallel) is not bool:
        raise invalid_definition(f"a tool's parallel is a bool, got {_short(parallel)}")
    return parallel


def _checked_timeout(timeout: object) -> float:
    if isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and 0 < timeout <= sys.float_info.max:
        return float(timeout)
    raise invalid_definition(f"a tool's timeout is positive, finite seconds, got {_short(timeout)}")


def _short(value: object) -> str:
    return repr(value[:80]) if isinstance(value, str) else f"a {type(value).__name__}"
