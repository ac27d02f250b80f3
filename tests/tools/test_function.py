"""X1: `@tool` makes a tool of a function: schema from annotations, description from the docstring."""

import builtins
import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

from limen.contract import ToolResultBlock
from limen.tools import Tool, ToolContext, ToolContractError, ToolRegistry, run_tool_calls, tool
from tools._scripted import call, error_of


class Unit(Enum):
    """A unit."""

    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Place(msgspec.Struct):
    """A place."""

    city: Annotated[str, "The city's name."]
    country: str = "NO"


@dataclass
class Span:
    """A span of days."""

    start: date
    days: Annotated[int, msgspec.Meta(ge=1)] = 1


class Extra(TypedDict):
    """More."""

    note: str
    tags: NotRequired[list[str]]


class Person(pydantic.BaseModel):
    """A person."""

    name: str
    age: int = pydantic.Field(default=0, ge=0)


async def answer(registry_tool: Tool, arguments: object) -> ToolResultBlock:
    """Run one call of the tool."""
    (result,) = await run_tool_calls([call(registry_tool.name, arguments)], ToolRegistry([registry_tool]))
    return result


@tool
async def weather(
    place: Place,
    span: Span,
    unit: Unit = Unit.CELSIUS,
    extra: Extra | None = None,
    mode: Annotated[Literal["short", "long"], "How much to say."] = "short",
) -> object:
    """Look up the weather.

    More than the summary, which is for people.

    Args:
        place: Where to look.
        span: When to look,
            from its first day on.
        mode: Not this, since the annotation says it.
    """
    return [place, span, unit, extra, mode]


def test_x1_the_schema_comes_from_the_annotations() -> None:
    """X1: structs, dataclasses, `TypedDict`, enums, unions, defaults and descriptions become one closed schema."""
    assert (weather.name, weather.description) == ("weather", "Look up the weather.")
    assert weather.parameters == {
        "type": "object",
        "properties": {
            "place": {"$ref": "#/$defs/Place", "description": "Where to look."},
            "span": {"$ref": "#/$defs/Span", "description": "When to look, from its first day on."},
            "unit": {"$ref": "#/$defs/Unit", "default": "celsius"},
            "extra": {"anyOf": [{"$ref": "#/$defs/Extra"}, {"type": "null"}], "default": None},
            "mode": {"enum": ["long", "short"], "description": "How much to say.", "default": "short"},
        },
        "required": ["place", "span"],
        "additionalProperties": False,
        "$defs": {
            "Place": {
                "title": "Place",
                "description": "A place.",
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city's name."},
                    "country": {"type": "string", "default": "NO"},
                },
                "required": ["city"],
                "additionalProperties": False,
            },
            "Span": {
                "title": "Span",
                "description": "A span of days.",
                "type": "object",
                "properties": {
                    "start": {"type": "string", "format": "date"},
                    "days": {"type": "integer", "minimum": 1, "default": 1},
                },
                "required": ["start"],
                "additionalProperties": False,
            },
            "Unit": {"title": "Unit", "description": "A unit.", "enum": ["celsius", "kelvin"]},
            "Extra": {
                "title": "Extra",
                "description": "More.",
                "type": "object",
                "properties": {"note": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
                "required": ["note"],
                "additionalProperties": False,
            },
        },
    }


async def test_x1_arguments_arrive_as_their_types() -> None:
    """X1, X3: the function gets values of its annotations' types, and its own defaults where nothing is given."""
    seen: list[object] = []

    @tool
    async def see(place: Place, span: Span, unit: Unit = Unit.CELSIUS, extra: Extra | None = None) -> None:
        """See."""
        seen.extend([place, span, unit, extra])

    await answer(see, {"place": {"city": "Oslo"}, "span": {"start": "2026-01-02", "days": 2}, "extra": {"note": "n"}})

    assert seen == [Place("Oslo"), Span(date(2026, 1, 2), 2), Unit.CELSIUS, {"note": "n"}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "$.place: is required"),
        ({"place": {"city": "Oslo"}, "span": {"start": "2026-01-02"}, "more": 1}, "$.more: is no known property"),
        ({"place": {"city": "Oslo", "zip": 1}, "span": {"start": "2026-01-02"}}, "$.place.zip: is no known property"),
        ({"place": {"city": 3}, "span": {"start": "2026-01-02"}}, "$.place.city: expected string, got integer"),
        ({"place": {"city": "Oslo"}, "span": {"start": "soon"}}, "$.span.start: Invalid RFC3339 encoded date"),
        ({"place": {"city": "Oslo"}, "span": {"start": "2026-01-02", "days": 0}}, "$.span.days: is below the minimum"),
        ({"place": {"city": "Oslo"}, "span": {"start": "2026-01-02"}, "unit": "F"}, "$.unit: is none of the 2 values"),
    ],
)
async def test_x3_arguments_that_do_not_fit_are_a_result(arguments: object, words: str) -> None:
    """X1, X3: objects are closed down to the innermost, and a fault names its path."""
    code, message = error_of(await answer(weather, arguments))

    assert code == "TOOL_ARGUMENTS_INVALID"
    assert message.startswith(words)


def test_x1_a_tool_can_still_be_called() -> None:
    """X1: calling the tool calls the function, so that it can be tested and used as before."""

    @tool(name="plus", description="Add.", parallel=False, timeout=2)
    def add(left: int, right: int = 1) -> int:
        return left + right

    assert (add(2), add(2, right=3)) == (3, 5)
    assert (add.name, add.description, add.parallel, add.timeout) == ("plus", "Add.", False, 2.0)


async def test_x1_the_context_is_given_by_its_annotation() -> None:
    """X1: a parameter annotated `ToolContext` gets the context, whatever its name, and is not in the schema."""

    @tool
    def name_of(number: int, where: "ToolContext | None" = None) -> str:
        """Say the name."""
        assert where is not None
        return f"{where.name} {where.call_id} {number}"

    assert name_of.parameters["properties"] == {"number": {"type": "integer"}}
    assert (await answer(name_of, {"number": 3})).content == "name_of call_1 3"


async def test_x1_pydantic_models() -> None:
    """X1: a function that takes pydantic models is read by pydantic, with the same closed schema and paths."""
    seen: list[object] = []

    @tool
    def greet(person: Person, others: list[Person], loud: Annotated[bool, "Shout."] = False) -> str:
        """Greet.

        :param person: Whom.
        """
        seen.append([person, others, loud])
        return f"hello {person.name}"

    person: dict[str, Any] = {
        "title": "Person",
        "description": "A person.",
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "age": {"type": "integer", "title": "Age", "minimum": 0, "default": 0},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert greet.parameters == {
        "type": "object",
        "properties": {
            "person": {"$ref": "#/$defs/Person", "description": "Whom."},
            "others": {"type": "array", "title": "Others", "items": {"$ref": "#/$defs/Person"}},
            "loud": {"type": "boolean", "title": "Loud", "description": "Shout.", "default": False},
        },
        "required": ["person", "others"],
        "additionalProperties": False,
        "$defs": {"Person": person},
    }
    assert (await answer(greet, {"person": {"name": "Ada"}, "others": []})).content == "hello Ada"
    assert seen == [[Person(name="Ada"), [], False]]
    code, message = error_of(await answer(greet, {"person": {"name": "Ada", "age": "old"}, "others": []}))
    assert (code, message) == ("TOOL_ARGUMENTS_INVALID", "$.person.age: expected integer, got string")


async def test_x3_a_models_own_validator_decides() -> None:
    """X3: what only the model's own validator knows is a fault with its path, too."""

    class Even(pydantic.BaseModel):
        number: int

        @pydantic.field_validator("number")
        @classmethod
        def is_even(cls, value: int) -> int:
            """Refuse odd numbers."""
            if value % 2:
                raise ValueError("is odd")
            return value

    @tool
    def take(numbers: list[Even]) -> str:
        """Take."""
        return "taken"

    code, message = error_of(await answer(take, {"numbers": [{"number": 2}, {"number": 3}]}))

    assert (code, message) == ("TOOL_ARGUMENTS_INVALID", "$.numbers[1].number: Value error, is odd")


GOOGLE = """Do.

    Args:
        a: The a.
        b: The b.
    """
NUMPY = """Do.

    Parameters
    ----------
    a : int
        The a.
    b : str
        The b.
    """
SPHINX = """Do.

    :param a: The a.
    :param b: The b.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_x1_parameters_are_described_by_the_docstring(text: str) -> None:
    """X1: per-parameter text is read from Google, NumPy and Sphinx sections."""

    def do(a: int, b: str) -> None: ...

    do.__doc__ = text

    assert tool(do).parameters["properties"] == {
        "a": {"type": "integer", "description": "The a."},
        "b": {"type": "string", "description": "The b."},
    }


def test_x1_without_the_parser_there_is_the_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """X1: where docstring_parser is not installed, the description is the summary, and nothing else is lost."""
    monkeypatch.setitem(sys.modules, "docstring_parser", None)

    def do(a: int) -> None: ...

    do.__doc__ = GOOGLE
    made = tool(do)

    assert (made.description, made.parameters["properties"]) == ("Do.", {"a": {"type": "integer"}})


def test_x1_a_docstring_that_cannot_be_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """X1: a docstring that the parser gives up on still has its summary."""
    import docstring_parser

    def give_up(text: str) -> object:
        raise docstring_parser.ParseError(text)

    monkeypatch.setattr(docstring_parser, "parse", give_up)

    @tool
    def do(a: int) -> None:
        """Do it,
        in two lines.

        Args:
            a: The a.
        """

    assert (do.description, do.parameters["properties"]) == ("Do it, in two lines.", {"a": {"type": "integer"}})


class Counter:
    """Methods and callable objects are tools as well."""

    def __init__(self) -> None:
        self.count = 0

    def up(self, by: int) -> int:
        """Count up."""
        self.count += by
        return self.count

    async def __call__(self, to: int) -> int:
        """Count to a number."""
        self.count = to
        return to


async def test_x1_methods_objects_and_partials() -> None:
    """X1: a bound method, an object with an async `__call__` and a partial are read like functions."""
    counter = Counter()

    def power(base: int, exponent: int) -> int:
        """Raise to a power."""
        return int(base**exponent)

    square = tool(name="square", description="Square.")(partial(power, exponent=2))
    up, to = tool(counter.up), tool(name="to", description="Count.")(counter)

    assert (await answer(up, {"by": 3})).content == "3"
    assert (await answer(to, {"to": 9})).content == "9"
    assert (await answer(square, {"base": 3})).content == "9"
    assert counter.count == 9


def test_x1_the_type_of_the_result_is_not_asked_for() -> None:
    """X1: a result of a type that only a checker knows makes no tool unusable; a wrapper is looked through."""

    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: object, **kwargs: object) -> object:
            return function(*args, **kwargs)

        return inner

    @tool
    @logged
    def do(a: "int") -> "Missing":  # type: ignore[name-defined]  # noqa: F821
        """Do."""

    assert do.parameters["properties"] == {"a": {"type": "integer"}}


def test_x1_a_default_that_is_no_data_is_not_shown() -> None:
    """X1: a default that is no JSON makes the parameter optional and is not in the schema."""

    @tool
    def do(a: float = float("nan"), b: str = object()) -> None:  # type: ignore[assignment] # no string at all is the case
        """Do."""

    assert do.parameters["properties"] == {"a": {"type": "number"}, "b": {"type": "string"}}
    assert do.parameters["required"] == ()


def no_annotation(a) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Do."""


def many(*a: int) -> None:
    """Do."""


def named(**a: int) -> None:
    """Do."""


def first(a: int, /) -> None:
    """Do."""


def foreign(a: Counter) -> None:
    """Do."""


def missing(a: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Do."""


def silent(a: int) -> None: ...


def mixed(a: Person, b: Place) -> None:
    """Do."""


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (no_annotation, "no_annotation: the parameter a has no annotation"),
        (many, "many: the parameter *a: int cannot be given by name"),
        (named, "named: the parameter **a: int cannot be given by name"),
        (first, "first: the parameter a: int cannot be given by name"),
        (foreign, "foreign: foreign has no JSON schema"),
        (missing, "the signature of missing cannot be read: name 'Missing' is not defined"),
        (silent, "a tool's description is text that is not blank"),
        (mixed, "mixed: mixed has no JSON schema"),
        (lambda: None, "a tool's name is 1 to 64 of"),
        (partial(silent), "a tool's name is 1 to 64 of"),
        ("add", "a tool is made of a function, got a str"),
        (builtins.print, "cannot be given by name"),
    ],
)
def test_x1_what_cannot_be_a_tool(function: Any, words: str) -> None:
    """X1: a function whose parameters or description say too little is `INVALID_TOOL_DEFINITION`."""
    with pytest.raises(ToolContractError) as caught:
        tool(function)

    assert caught.value.code == "INVALID_TOOL_DEFINITION"
    assert words in caught.value.message


class Node(msgspec.Struct):
    """A tree."""

    value: int
    children: list["Node"] = []


async def test_x1_recursive_types() -> None:
    """X1, X3: a type that contains itself has a schema, and a fault deep inside has its path."""

    @tool
    def total(tree: Node) -> int:
        """Add up a tree."""

        def of(node: Node) -> int:
            return node.value + sum(map(of, node.children))

        return of(tree)

    tree: Mapping[str, object] = {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}
    bad = {"value": 1, "children": [{"value": 2, "children": [{"value": "3"}]}]}

    assert (await answer(total, {"tree": tree})).content == "6"
    assert error_of(await answer(total, {"tree": bad}))[1] == (
        "$.tree.children[0].children[0].value: expected integer, got string"
    )
