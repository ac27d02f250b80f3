"""X9: a type as the schema of an answer, and the answer as a value of the type."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

import limen
from limen import contract
from limen.contract import remember_secret


class Weather(msgspec.Struct):
    """The weather."""

    city: Annotated[str, "The city's name."]
    degrees: float = 0.0
    next: "Weather | None" = None


@dataclass
class Point:
    """A point."""

    x: int
    y: int = 3


class Note(TypedDict):
    """A note."""

    text: str
    tags: NotRequired[list[str]]


class Person(pydantic.BaseModel):
    """A person."""

    name: str
    born: int = pydantic.Field(default=1900, ge=0)


class Branch(pydantic.BaseModel):
    """A model that mentions itself."""

    value: int = 0
    more: list["Branch"] = []


class Even(pydantic.BaseModel):
    """A model with a rule of its own."""

    number: int

    @pydantic.model_validator(mode="after")
    def is_even(self) -> "Even":
        """Refuse odd numbers."""
        if self.number % 2:
            raise ValueError("is odd")
        return self


def answer(text: str, kind: str = "stop") -> limen.Response:
    """Make a response of this text."""
    return limen.Response(limen.assistant(text), limen.FinishReason(kind), text=text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (
            Weather,
            {
                "title": "Weather",
                "description": "The weather.",
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city's name."},
                    "degrees": {"type": "number", "default": 0.0},
                    "next": {"anyOf": [{"$ref": "#/$defs/Weather"}, {"type": "null"}], "default": None},
                },
                "required": ["city"],
                "additionalProperties": False,
            },
        ),
        (
            Point,
            {
                "title": "Point",
                "description": "A point.",
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 3}},
                "required": ["x"],
                "additionalProperties": False,
            },
        ),
        (
            Note,
            {
                "title": "Note",
                "description": "A note.",
                "type": "object",
                "properties": {"tags": {"type": "array", "items": {"type": "string"}}, "text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            },
        ),
        (
            Person,
            {
                "title": "Person",
                "description": "A person.",
                "type": "object",
                "properties": {
                    "name": {"type": "string", "title": "Name"},
                    "born": {"type": "integer", "title": "Born", "default": 1900, "minimum": 0},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_x9_a_type_is_a_schema(kind: type, schema: dict[str, Any]) -> None:
    """X9: structs, dataclasses, `TypedDict` and pydantic models become closed schemas; `strict` is not set unasked."""
    made = limen.JsonSchema.of(kind)
    definitions = {"$defs": {"Weather": schema}} if kind is Weather else {}

    assert (made.name, made.strict) == (kind.__name__, None)
    assert made.schema == {**schema, **definitions}
    assert limen.decode(limen.JsonSchema, limen.encode(made)) == made


def test_x9_descriptions_follow_renamed_fields() -> None:
    """X9: an `Annotated` text describes its field under the name that the field has in JSON."""

    class Renamed(msgspec.Struct, rename="camel"):
        city_name: Annotated[str, "The city's name."]
        country: str

    assert limen.JsonSchema.of(Renamed).schema["properties"] == {
        "cityName": {"type": "string", "description": "The city's name."},
        "country": {"type": "string"},
    }


def test_x9_strict_asks_for_every_field() -> None:
    """X9: in strict mode a field with a default becomes required, at every depth, and `strict` is set."""

    class Trip(msgspec.Struct):
        stops: list[Point]
        byname: dict[str, Point] = {}
        default: str | Point = ""
        pair: tuple[int, Point] = (1, Point(1))

    made = limen.JsonSchema.of(Trip, strict=True, name="trip")

    assert (made.name, made.strict) == ("trip", True)
    point = {
        "title": "Point",
        "description": "A point.",
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        "required": ["x", "y"],
        "additionalProperties": False,
    }
    there = {"$ref": "#/$defs/Point"}
    pair = {"type": "array", "minItems": 2, "maxItems": 2, "items": False, "prefixItems": [{"type": "integer"}, there]}
    assert made.schema == {
        "title": "Trip",
        "type": "object",
        "properties": {
            "stops": {"type": "array", "items": there},
            "byname": {"type": "object", "additionalProperties": there},
            "default": {"anyOf": [{"type": "string"}, there]},
            "pair": pair,
        },
        "required": ["stops", "byname", "default", "pair"],
        "additionalProperties": False,
        "$defs": {"Point": point},
    }


def test_x9_names_fit_the_wires() -> None:
    """X9: a type whose name no wire takes gets one of the characters that all take."""
    assert limen.JsonSchema.of(list[Point]).name == "list"
    assert limen.JsonSchema.of(type("Wétter" + "r" * 80, (msgspec.Struct,), {})).name == "W_tter" + "r" * 58


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Weather, '{"city":"Oslo","next":{"city":"Bergen"}}', Weather("Oslo", next=Weather("Bergen"))),
        (Point, ' {"x":1}\n', Point(1, 3)),
        (Note, '{"text":"a","tags":["b"]}', {"text": "a", "tags": ["b"]}),
        (Person, '{"name":"Ada","more":1}', Person(name="Ada")),
        (list[Point], '[{"x":1,"y":2}]', [Point(1, 2)]),
        (dict[int, str], '{"1":"a"}', {1: "a"}),
    ],
)
def test_x9_an_answer_is_a_value(kind: type, text: str, value: object) -> None:
    """X9: the answer's text is read as a value of the type; unknown fields are the type's own matter."""
    assert answer(text).parse(kind) == value


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Weather, '{"city":3}', "$.city: Expected `str`, got `int`"),
        (Weather, '{"city":"a","next":{"city":null}}', "$.next.city: Expected `str`, got `null`"),
        (Point, "{}", "$: Object missing required field `x`"),
        (Person, '{"name":"Ada","born":-1}', "$.born: Input should be greater than or equal to 0"),
        (list[Person], '[{"name":"Ada"},{}]', "$[1].name: Field required"),
        (Even, '{"number":3}', "$: Value error, is odd"),
        (Weather, "It is 3 degrees.", "$: the answer is not JSON: "),
        (Weather, '```json\n{"city":"Oslo"}\n```', "$: the answer is not JSON: "),
        (Weather, "", "$: the answer is not JSON: "),
        (Weather, "[" * 200 + "]" * 200, "$: the answer is not JSON: JSON is nested deeper than 128 levels"),
    ],
)
def test_x9_an_answer_that_does_not_validate(kind: type, text: str, words: str) -> None:
    """X9: anything else is `INVALID_OUTPUT` with the path, and the answer as `.partial`; nothing is repaired."""
    response = answer(text)
    with pytest.raises(limen.LlmError) as caught:
        response.parse(kind)

    assert caught.value.code == "INVALID_OUTPUT"
    assert caught.value.failure.message.startswith(words)
    assert caught.value.partial is response


def test_x9_an_answer_that_was_cut() -> None:
    """X9: where the answer did not stop by itself, the message says how it finished; it is scrubbed and bounded."""
    remember_secret("hunter2-hunter2")

    class Hostile(pydantic.BaseModel):
        number: int

        @pydantic.field_validator("number")
        @classmethod
        def never(cls, value: int) -> int:
            """Refuse."""
            raise ValueError("hunter2-hunter2" + "x" * 5_000)

    with pytest.raises(limen.LlmError, match=r"is not JSON: .*\(the answer finished as max-tokens\)"):
        answer('{"city":', "max-tokens").parse(Weather)
    with pytest.raises(limen.LlmError) as caught:
        answer('{"number":1}').parse(Hostile)

    assert len(caught.value.failure.message) == 1_024
    assert caught.value.failure.message.startswith("$.number: Value error, [redacted]xxx")


def test_x9_a_model_that_raises_anything() -> None:
    """X9: what a model's own code raises, and pydantic does not wrap, is a fault as well."""

    class Broken(pydantic.BaseModel):
        number: int

        @pydantic.field_validator("number")
        @classmethod
        def never(cls, value: int) -> int:
            """Fail."""
            raise KeyError("number")

    with pytest.raises(limen.LlmError, match=r"^INVALID_OUTPUT: \$: 'number'"):
        answer('{"number":1}').parse(Broken)


def test_x9_a_model_that_mentions_itself_has_an_object_at_its_root() -> None:
    """X9: providers want an object at the root, where pydantic has a reference to one."""
    schema = limen.JsonSchema.of(Branch, strict=True).schema
    branch = {
        "title": "Branch",
        "description": "A model that mentions itself.",
        "type": "object",
        "properties": {
            "value": {"type": "integer", "title": "Value"},
            "more": {"type": "array", "title": "More", "items": {"$ref": "#/$defs/Branch"}},
        },
        "required": ["value", "more"],
        "additionalProperties": False,
    }

    assert schema == {**branch, "$defs": {"Branch": branch}}
    assert answer('{"more":[{"value":1}]}').parse(Branch) == Branch(more=[Branch(value=1)])
    with pytest.raises(limen.LlmError, match=r"INVALID_OUTPUT: \$\.more\[0\]\.value: Input should be a valid integer"):
        answer('{"more":[{"value":"x"}]}').parse(Branch)


def test_x9_strict_names_the_type_of_every_enum() -> None:
    """X9: strict modes refuse an `enum` without a type, which msgspec leaves out; without strict nothing is added."""

    class Choice(msgspec.Struct):
        unit: Literal["C", "F"]
        level: Literal[1, 2] | None = None

    def units(strict: bool) -> list[Any]:
        properties: Any = limen.JsonSchema.of(Choice, strict=strict).schema["properties"]
        return [properties["unit"], properties["level"]]

    assert units(strict=True) == [{"enum": ["C", "F"], "type": "string"}, LEVELS]
    assert units(strict=False) == [
        {"enum": ["C", "F"]},
        {"anyOf": [{"enum": [1, 2]}, {"type": "null"}], "default": None},
    ]


LEVELS = {"anyOf": [{"enum": [1, 2], "type": "integer"}, {"type": "null"}]}


def test_x9_a_struct_that_raises_anything() -> None:
    """X9: what a struct's own code raises is a fault as well, with the answer as `.partial`."""

    class Breaking(msgspec.Struct):
        number: int

        def __post_init__(self) -> None:
            """Fail."""
            raise KeyError("number")

    response = answer('{"number":1}')
    with pytest.raises(limen.LlmError, match=r"^INVALID_OUTPUT: \$: 'number'") as caught:
        response.parse(Breaking)
    assert caught.value.partial is response


@dataclass
class Lost:
    """A class of which one annotation leads nowhere."""

    where: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


class Foreign:
    """A class that nobody can describe."""


@pytest.mark.parametrize(
    "kind", [Foreign, dict[str, Foreign], Lost, 3, type("Both", (msgspec.Struct,), {"__annotations__": {"p": Person}})]
)
def test_x9_a_type_without_a_schema(kind: Any) -> None:
    """X9: a type that neither msgspec nor pydantic describes is `INVALID_OPTIONS`, for asking and for reading."""
    for use in (limen.JsonSchema.of, answer("{}").parse):
        with pytest.raises(limen.LlmError, match="has no JSON schema") as caught:
            use(kind)
        assert caught.value.code == "INVALID_OPTIONS"


def test_the_schema_parts_are_attributes() -> None:
    """The parts that turn types into schemas load when they are first named; a misspelt name is an error."""
    assert contract.TypeSchema(Point).read({"x": 1}) == Point(1)
    with pytest.raises(AttributeError, match=r"module 'limen\.contract' has no attribute 'TypeScheme'"):
        contract.TypeScheme  # type: ignore[attr-defined]  # noqa: B018 - the misspelling is the case
