"""X9: a schema is rewritten to what a strict mode demands without loss, or refused with the path."""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

from limen.adapters.kit import StrictFault, strict_fault, strict_schema
from limen.contract import JsonSchema, freeze_object


class Level(enum.Enum):
    """A level."""

    HIGH = "high"


class Inner(msgspec.Struct):
    """An inner struct."""

    level: Level = Level.HIGH
    tags: list[str] = []


class Cat(msgspec.Struct, tag=True):
    """A cat."""

    lives: int


class Dog(msgspec.Struct, tag=True):
    """A dog."""

    name: str


class Outer(msgspec.Struct):
    """An outer struct."""

    inner: Inner
    pet: Cat | Dog
    mode: Literal["a", "b"] = "a"
    more: Inner | None = None
    next: "Outer | None" = None


@pytest.mark.parametrize("subset", ["openai", "deepseek"])
def test_x9_a_type_with_defaults_becomes_strict(subset: str) -> None:
    """X9: nested structs, unions, enums, defaults and recursion all have a strict form."""
    strict = strict_schema(JsonSchema.of(Outer).schema, "P", subset=subset)

    assert strict_fault(strict, "P", subset=subset) is None
    properties: Any = strict["properties"]
    assert strict["required"] == ("inner", "pet", "mode", "more", "next")
    assert properties["pet"] == {"anyOf": ({"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"})}
    definitions: Any = strict["$defs"]
    assert definitions["Inner"]["required"] == ("level", "tags")


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (
            {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}},
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
        ({"properties": {}}, None),
        (
            {"type": "object", "properties": {"default": {"const": 3}}},
            {
                "type": "object",
                "properties": {"default": {"enum": [3], "type": "integer"}},
                "required": ["default"],
                "additionalProperties": False,
            },
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/b", "description": "An a.", "default": 1}},
                "$defs": {"b": {"type": "integer"}},
            },
            {
                "type": "object",
                "properties": {"a": {"anyOf": [{"$ref": "#/$defs/b"}], "description": "An a."}},
                "$defs": {"b": {"type": "integer"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
        (
            {"type": "object", "properties": {"a": {"oneOf": [{"$ref": "#"}], "discriminator": {"propertyName": "t"}}}},
            {
                "type": "object",
                "properties": {"a": {"anyOf": [{"$ref": "#"}]}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_x9_each_rewriting(schema: dict[str, object], strict: dict[str, object] | None) -> None:
    """X9: what the subset cannot say is said in another way, with the same meaning; the source is not touched."""
    frozen = freeze_object(schema)
    if strict is None:
        with pytest.raises(StrictFault, match='is not "object", which the root'):
            strict_schema(frozen, "P", subset="openai")
    else:
        assert strict_schema(frozen, "P", subset="openai") == strict
    assert frozen == freeze_object(schema)


class Person(pydantic.BaseModel):
    """A model with a default, an alternative and a literal."""

    name: str
    age: int | None = None
    role: Literal["a", "b"] = "a"


class Note(TypedDict):
    """A mapping with a key that may be absent."""

    text: str
    level: NotRequired[Level]


@dataclass
class Tree:
    """A class that mentions itself."""

    person: Level | None = None
    more: list["Tree"] = field(default_factory=list)


@pytest.mark.parametrize("kind", [Outer, Person, Note, Tree])
def test_x9_each_kind_of_type_has_a_strict_form(kind: type) -> None:
    """X9: structs, models, mappings and dataclasses are in OpenAI's subset, each `enum` with the type of its values."""
    for made in (JsonSchema.of(kind), JsonSchema.of(kind, strict=True)):
        strict = strict_schema(made.schema, "P", subset="openai")
        assert "'default'" not in str(strict)
        assert all("type" in found for found in enums(strict))
        assert list(enums(strict))


def enums(schema: Any) -> Iterator[Any]:
    """Iterate the schemas with an `enum`, at every depth."""
    if isinstance(schema, Mapping) and "enum" in schema:
        yield schema
    for inner in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, tuple) else ():
        yield from enums(inner)


@pytest.mark.parametrize(
    ("values", "types"),
    [
        (["a", "b"], "string"),
        ([1, 2], "integer"),
        ([1, 2.5], ["integer", "number"]),
        ([True], "boolean"),
        (["a", None], ["string", "null"]),
    ],
)
def test_x9_an_enum_gets_the_type_of_its_values(values: list[object], types: object) -> None:
    """X9: OpenAI refuses an `enum` without a type (400 "schema must have a 'type' key")."""
    strict: Any = strict_schema(freeze_object(closed(a={"enum": values})), "P", subset="openai")

    assert strict["properties"]["a"] == freeze_object({"enum": values, "type": types})


def closed(**properties: object) -> dict[str, object]:
    """A closed object of these properties."""
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object"}, "P lets properties pass that it does not name"),
        (closed(a={"type": "object"}), "P.properties.a lets properties pass that it does not name"),
        (closed(a={**closed(), "additionalProperties": True}), "P.properties.a lets properties pass"),
        (closed(a={}), "P.properties.a lets any value pass"),
        (closed(a=True), "P.properties.a lets any value pass"),
        (closed(a={"type": "array", "items": {}}), "P.properties.a.items lets any value pass"),
        (closed(a={"anyOf": [{"type": "null"}, {}]}), "P.properties.a.anyOf[1] lets any value pass"),
        (closed(a={"oneOf": [{"type": "null"}]}), "P.properties.a.oneOf asks for exactly one"),
        (closed(a={"type": "string", "maxLength": 3}), "P.properties.a.maxLength is not in the subset"),
        (closed(a={"type": "string", "format": "uri"}), "P.properties.a.format 'uri' is not one that strict takes"),
        (closed(a={"allOf": [{"type": "string"}]}), "P.properties.a.allOf is not in the subset"),
        (closed(a={"type": "array"}), "P.properties.a.items is missing"),
        (closed(a={"enum": [[1]]}), "P.properties.a.items is missing"),
        (closed(a={"const": {}}), "P.properties.a lets properties pass that it does not name"),
    ],
)
def test_x9_what_would_be_lost_is_refused(schema: dict[str, object], words: str) -> None:
    """X9: what no strict schema can say is refused with the path of the word that says it."""
    with pytest.raises(StrictFault) as caught:
        strict_schema(freeze_object(schema), "P", subset="openai")

    assert str(caught.value).startswith(words)
