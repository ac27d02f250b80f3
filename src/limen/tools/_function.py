"""Tools from functions: the schema from the annotations, the description from the docstring (X1)."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import (
    Annotated,
    Final,
    Generic,
    NamedTuple,
    NotRequired,
    ParamSpec,
    TypeVar,
    get_args,
    get_type_hints,
    overload,
)

import msgspec

from limen.contract import FrozenDict, SchemaFault, TypeSchema, annotated_text, freeze_object, json_fault, record_type
from limen.tools._check import arguments_fault
from limen.tools._docstring import documented
from limen.tools._errors import error_text, invalid_definition
from limen.tools._tool import Decision, Invalid, Tool, ToolContext, Valid, is_async

P = ParamSpec("P")
R = TypeVar("R")

_NO_DATA: Final = object()
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class FunctionTool(Tool, Generic[P, R]):
    """A tool made of a function; calling it calls the function, unvalidated."""

    __slots__ = ("function",)

    function: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, parallel: bool = True, timeout: float | None = None
) -> "_Decorator": ...
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parallel: bool = True,
    timeout: float | None = None,
) -> "FunctionTool[P, R] | _Decorator":
    """Make a tool of a function: `@tool`, or `@tool(name=…, description=…, parallel=…, timeout=…)`.

    The schema is a closed object of the parameters: types that msgspec knows (structs, dataclasses, `TypedDict`, enums,
    unions, dates …) or pydantic models; a parameter with a default is optional. A parameter annotated `ToolContext`
    gets the context of the call. `Annotated[type, "text"]` describes a parameter, else the docstring's section does
    (with `limen[tools]`); the docstring's first paragraph is the description, the function's name the name.
    `INVALID_TOOL_DEFINITION` for a parameter without a usable annotation, `*args`, `**kwargs`, or no description.
    """
    decorate = _Decorator(name, description, parallel=parallel, timeout=timeout)
    return decorate if function is None else decorate(function)


class _Decorator:
    """`@tool(…)` with its options, waiting for the function."""

    def __init__(self, name: str | None, description: str | None, *, parallel: bool, timeout: float | None) -> None:
        self._name = name
        self._description = description
        self._parallel = parallel
        self._timeout = timeout

    def __call__(self, function: Callable[P, R]) -> FunctionTool[P, R]:
        """Make the tool."""
        name = str(self._name or getattr(function, "__name__", ""))
        parts = _Parts.of(function, name)
        made: FunctionTool[P, R] = FunctionTool(
            name,
            self._description or parts.summary,
            parts.document,
            parts.execute(function),
            parts.validate,
            parallel=self._parallel,
            timeout=self._timeout,
        )
        object.__setattr__(made, "function", function)
        return made


class _Parts(NamedTuple):
    """A function read as a tool: its parameters as a schema, which of them is the context, its summary."""

    schema: TypeSchema[dict[str, object]]
    document: FrozenDict[object]
    context: str | None
    summary: str

    @classmethod
    def of(cls, function: object, name: str) -> "_Parts":
        """Read a function; `INVALID_TOOL_DEFINITION` where it cannot be a tool."""
        if not callable(function):
            raise invalid_definition(f"a tool is made of a function, got a {type(function).__name__}")
        summary, texts = documented(function)
        parameters, hints = _signature(function, name)
        context = next((found for found in parameters if _is_context(hints[found])), None)
        given = [found for found in parameters.values() if found.name != context]
        fields = {found.name: _field(found, hints[found.name], texts.get(found.name)) for found in given}
        try:
            schema = TypeSchema(record_type(name, fields))
        except SchemaFault as fault:
            raise invalid_definition(f"{name}: {fault}") from None
        return cls(schema, _with_defaults(schema.document, given), context, summary)

    def validate(self, arguments: Mapping[str, object]) -> Decision:
        """Return the arguments as values of the parameters' types, or say which does not fit."""
        fault = arguments_fault(arguments, self.document)
        if fault is not None:
            return Invalid(fault)
        try:
            return Valid(self.schema.read(arguments))
        except SchemaFault as error:
            return Invalid(str(error))

    def execute(self, function: Callable[..., object]) -> Callable[[Mapping[str, object], ToolContext], object]:
        """Return the function as a tool's `execute`, async if it is."""

        def run(arguments: Mapping[str, object], context: ToolContext) -> object:
            return function(**arguments, **({} if self.context is None else {self.context: context}))

        async def run_async(arguments: Mapping[str, object], context: ToolContext) -> object:
            made = run(arguments, context)
            assert inspect.isawaitable(made)
            return await made

        return run_async if is_async(function) else run


def _signature(
    function: Callable[..., object], name: str
) -> tuple[Mapping[str, inspect.Parameter], Mapping[str, object]]:
    try:
        parameters = inspect.signature(function).parameters
        hints = _hints(function)
    except Exception as error:  # noqa: BLE001 - a name in an annotation may be missing or raise anything
        raise invalid_definition(f"the signature of {name or 'the tool'} cannot be read: {error_text(error)}") from None
    for parameter in parameters.values():
        if parameter.kind not in _BY_NAME:
            raise invalid_definition(f"{name}: the parameter {parameter} cannot be given by name")
        if parameter.name not in hints:
            raise invalid_definition(f"{name}: the parameter {parameter.name} has no annotation")
    return parameters, hints


def _hints(function: Callable[..., object]) -> Mapping[str, object]:
    """Return the types of a function's parameters; that of its result is not needed, and its name may be unknown."""
    annotated: Callable[..., object] = function.func if isinstance(function, partial) else function  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not inspect.isroutine(annotated):
        annotated = type(annotated).__call__
    annotations: Mapping[str, object] = getattr(annotated, "__annotations__", {})
    of_parameters = SimpleNamespace(__annotations__={key: kind for key, kind in annotations.items() if key != "return"})
    known: dict[str, object] = getattr(inspect.unwrap(annotated), "__globals__", {})
    return get_type_hints(of_parameters, globalns=known, include_extras=True)


def _is_context(hint: object) -> bool:
    return hint is ToolContext or ToolContext in get_args(hint)


def _field(parameter: inspect.Parameter, hint: object, text: str | None) -> object:
    if text is not None and annotated_text(hint) is None:
        hint = Annotated[hint, text]
    return hint if parameter.default is inspect.Parameter.empty else NotRequired[hint]


def _with_defaults(document: FrozenDict[object], parameters: Sequence[inspect.Parameter]) -> FrozenDict[object]:
    """Return the schema with each default that is data, and without the title, which says the tool's name again."""
    properties = document.get("properties")
    assert isinstance(properties, Mapping)
    described: dict[str, object] = dict(properties)  # pyright: ignore[reportUnknownArgumentType]
    for parameter in parameters:
        schema = described[parameter.name]
        default = _data(parameter.default)
        if default is not _NO_DATA and isinstance(schema, Mapping):
            described[parameter.name] = {**schema, "default": default}
    whole = {word: value for word, value in document.items() if word != "title"}
    return freeze_object({**whole, "properties": described})


def _data(default: object) -> object:
    if default is inspect.Parameter.empty:
        return _NO_DATA
    try:
        data: object = msgspec.to_builtins(default)
    except Exception:  # noqa: BLE001 - a default of any other kind is the function's own matter
        return _NO_DATA
    return data if json_fault(data) is None else _NO_DATA
