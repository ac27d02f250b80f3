"""X9 on Anthropic's wire: strict tools and answers have closed objects, or are refused with the path."""

from typing import Any

import msgspec
import pytest

from adapters.anthropic._messages_wire import asking, body_of, failure_of
from limen.adapters.kit import StrictFault, strict_fault, strict_schema
from limen.contract import JsonSchema, ToolSpec, codes, freeze_object, user

GIVEN = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "a": {"type": "integer", "default": 3},
        "b": {"oneOf": [{"$ref": "#/$defs/c"}], "discriminator": {"propertyName": "t"}},
        "c": {"$ref": "#/$defs/c", "description": "A c."},
        "e": {"const": "x"},
        "f": {"allOf": [{"type": "string", "format": "uri"}]},
    },
    "required": ["b"],
    "$defs": {"c": {"type": "object", "properties": {"d": {"type": "array", "items": {"type": "string"}}}}},
}
STRICT = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "default": 3},
        "b": {"anyOf": [{"$ref": "#/$defs/c"}]},
        "c": {"anyOf": [{"$ref": "#/$defs/c"}], "description": "A c."},
        "e": {"const": "x"},
        "f": {"allOf": [{"type": "string", "format": "uri"}]},
    },
    "required": ["b"],
    "$defs": {
        "c": {
            "type": "object",
            "properties": {"d": {"type": "array", "items": {"type": "string"}}},
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}


class Leaf(msgspec.Struct):
    """A leaf."""

    value: int = 0


class Tree(msgspec.Struct):
    """A tree whose parts mention one type twice, which is no recursion."""

    left: Leaf
    right: Leaf | None = None


class Chain(msgspec.Struct):
    """A type that mentions itself."""

    next: "Chain | None" = None


@pytest.mark.parametrize("dialect", ["anthropic", "vertex", "azure"])
def test_x9_strict_tools_and_answers_are_closed(dialect: str) -> None:
    """X9: objects are closed, optional properties stay optional; the answer's schema always, a tool's where asked."""
    tools = [ToolSpec("f", None, GIVEN, strict=True), ToolSpec("g", None, GIVEN), ToolSpec("h", strict=True)]
    found: Any = body_of(asking(user("q"), tools=tools, response_format=JsonSchema("n", GIVEN)), dialect=dialect)

    assert found["tools"] == [
        {"name": "f", "input_schema": STRICT, "strict": True},
        {"name": "g", "input_schema": GIVEN},
        {
            "name": "h",
            "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
            "strict": True,
        },
    ]
    assert found["output_config"]["format"] == {"type": "json_schema", "schema": STRICT}


def test_x9_other_hosts_get_the_schema_as_it_is() -> None:
    """X9: where no page says what a host's strict mode takes, nothing is rewritten."""
    options = asking(user("q"), tools=[ToolSpec("f", None, GIVEN, strict=True)], response_format=JsonSchema("n", GIVEN))
    found: Any = body_of(options, dialect="openrouter")

    assert found["tools"] == [{"name": "f", "input_schema": GIVEN, "strict": True}]
    assert found["output_config"]["format"]["schema"] == GIVEN


def closed(**properties: object) -> dict[str, Any]:
    """A closed object of these properties."""
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object"}, " lets properties pass that it does not name, and strict takes closed objects only"),
        (closed(a={"type": "integer", "minimum": 1}), ".properties.a.minimum is not in the subset of JSON schema"),
        (closed(a={"allOf": [{"maxLength": 1}]}), ".properties.a.allOf[0].maxLength is not in the subset"),
        (closed(a={"type": "array", "minItems": 2}), ".properties.a.minItems is neither 0 nor 1"),
        (closed(a={"enum": ["x", {}]}), ".properties.a.enum[1] is no text, number, boolean or null"),
        (closed(a={"type": "string", "format": "regex"}), ".properties.a.format 'regex' is not one"),
        (closed(a={"$ref": "#"}), " refers to itself, and strict takes no recursion"),
        (JsonSchema.of(Chain).schema, " refers to itself, and strict takes no recursion"),
    ],
)
def test_x9_what_would_be_lost_is_refused(schema: dict[str, Any], words: str) -> None:
    """X9: what this wire's strict mode cannot say is refused before any I/O, with the path."""
    tool = failure_of(lambda: body_of(asking(user("q"), tools=[ToolSpec("f", None, schema, strict=True)])))
    answer = failure_of(lambda: body_of(asking(user("q"), response_format=JsonSchema("n", schema))))

    assert (tool.code, answer.code) == (codes.UNSUPPORTED, codes.UNSUPPORTED)
    assert f"tools[0].strict cannot be sent to p/claude-x (dialect anthropic): tools[0].parameters{words}" in str(
        tool.failure.message
    )
    assert f"response_format.schema{words}" in str(answer.failure.message)


def test_x9_a_type_that_is_mentioned_twice_is_no_recursion() -> None:
    """X9: references are followed once each, so that a schema of many is checked in the time of its length."""
    assert body_of(asking(user("q"), response_format=JsonSchema.of(Tree)))["output_config"]
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    deep = {**closed(a={"$ref": "#/$defs/d0"}), "$defs": {**definitions, "d60": {"type": "null"}}}

    assert strict_schema(freeze_object(deep), "P", subset="anthropic")["additionalProperties"] is False
    loop = {**closed(), "additionalProperties": False, "$defs": {"a": {"$ref": "#/$defs/a", "title": "x"}}}
    assert strict_fault(freeze_object(loop), "P", subset="anthropic") == (
        "P.$defs.a.$ref has siblings, which strict does not take"
    )
    with pytest.raises(StrictFault, match="refers to itself"):
        strict_schema(freeze_object({**loop, "properties": {"a": {"$ref": "#/$defs/a"}}}), "P", subset="anthropic")
