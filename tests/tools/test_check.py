"""X3: the part of JSON schema that arguments are held to, word by word."""

from typing import Any

import pytest

from limen.contract import freeze_object
from limen.tools._check import arguments_fault, schema_fault

INTEGER: dict[str, object] = {"type": "integer"}
TREE: dict[str, Any] = {"$ref": "#", "properties": {"x": INTEGER}}
NODE: dict[str, Any] = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}},
}


def nested(levels: int) -> dict[str, object]:
    """Data that is this many levels deep."""
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"next": value}
    return value


def wide(levels: int) -> dict[str, Any]:
    """A schema of which each level has eight alternatives: nothing fits, and all of them would be tried."""
    definitions: dict[str, Any] = {"0": {"const": "nothing"}}
    for level in range(levels):
        definitions[str(level + 1)] = {"anyOf": [{"$ref": f"#/$defs/{level}"}] * 8}
    return {"$ref": f"#/$defs/{levels}", "$defs": definitions}


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({}, {"a": [1, None]}, None),
        ({"type": "object"}, {}, None),
        (INTEGER, 1.0, None),
        (INTEGER, 1.5, "$: expected integer, got number"),
        (INTEGER, True, "$: expected integer, got boolean"),
        ({"type": "number"}, 1, None),
        ({"type": "boolean"}, 0, "$: expected boolean, got integer"),
        ({"type": "null"}, None, None),
        ({"type": "string"}, None, "$: expected string, got null"),
        ({"type": ["string", "null"]}, [], "$: expected string or null, got array"),
        ({"type": "array"}, {}, "$: expected array, got object"),
        ({"enum": [1, "x", None]}, None, None),
        ({"enum": [1]}, True, "$: is none of the 1 values that are allowed"),
        ({"enum": [0, False]}, False, None),
        ({"enum": [[1, {"a": 2}]]}, [1.0, {"a": 2}], None),
        ({"enum": [[1], {"a": 1}]}, [2], "$: is none of the 2 values that are allowed"),
        ({"enum": [{"a": 1}]}, {"b": 1}, "$: is none of the 1 values that are allowed"),
        ({"const": 3}, 3, None),
        ({"const": None}, 3, "$: is not the one value that is allowed"),
        ({"minimum": 3}, 2, "$: is below the minimum 3"),
        ({"maximum": 3}, 3, None),
        ({"exclusiveMinimum": 3}, 3, "$: is not above 3"),
        ({"exclusiveMaximum": 3}, 3, "$: is not below 3"),
        ({"minimum": 3}, "no number", None),
        ({"minLength": 3}, "ab", "$: is shorter than 3"),
        ({"maxLength": 1}, "ab", "$: is longer than 1"),
        ({"minItems": 1}, [], "$: has fewer items than 1"),
        ({"maxItems": 1}, [1, 2], "$: has more items than 1"),
        ({"required": ["a"]}, {"b": 1}, "$.a: is required"),
        ({"required": ["a"]}, [], None),
        ({"properties": {"a": INTEGER}}, {"a": 1, "b": "x"}, None),
        ({"properties": {"a": INTEGER}}, {"a": "x"}, "$.a: expected integer, got string"),
        ({"properties": {"a": False}}, {"a": 1}, "$.a: is not allowed"),
        ({"additionalProperties": False}, {"a": 1}, "$.a: is no known property; known: none"),
        ({"additionalProperties": INTEGER}, {"a": "x"}, "$.a: expected integer, got string"),
        ({"additionalProperties": False, "patternProperties": {"^a": INTEGER}}, {"a": 1}, None),
        ({"items": INTEGER}, [1, "x"], "$[1]: expected integer, got string"),
        ({"items": [INTEGER]}, ["x"], "$[0]: expected integer, got string"),
        ({"items": [INTEGER]}, [1, "x"], None),
        ({"prefixItems": [INTEGER], "items": False}, [1, 2], "$[1]: is not allowed"),
        ({"anyOf": [INTEGER, {"type": "null"}]}, None, None),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "x", "$: fits none of 2 alternatives"),
        ({"anyOf": [INTEGER, {"properties": {"a": INTEGER}}]}, {"a": "x"}, "$.a: expected integer, got string"),
        ({"anyOf": []}, 1, "$: fits none of 0 alternatives"),
        ({"oneOf": [INTEGER, {"type": "number"}]}, 1, "$: fits 2 alternatives, and exactly one is asked for"),
        ({"oneOf": [INTEGER, {"type": "string"}]}, 1, None),
        ({"allOf": [INTEGER, {"minimum": 3}]}, 2, "$: is below the minimum 3"),
        ({"allOf": [INTEGER, True]}, 2, None),
        ({"$ref": "#/$defs/a", "$defs": {"a": INTEGER}}, "x", "$: expected integer, got string"),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": INTEGER}}, 3, None),
        ({"$ref": "#/$defs/b"}, "x", "$: the schema refers to #/$defs/b, which it does not have"),
        (
            {"$ref": "https://example.test/s"},
            1,
            "$: the schema refers to https://example.test/s, which it does not have",
        ),
        (NODE, nested(100), None),
        (NODE, {"next": {"next": {"other": 1}}}, "$.next.next.other: is no known property; known: next"),
        (TREE, {"x": 1}, "$: the schema nests too deeply to be checked"),
        (wide(10), 1, "$: the schema takes more than 100000 steps to check"),
        ({"pattern": "^b", "format": "uuid", "not": {}}, "a", None),
    ],
)
def test_x3_each_word_of_a_schema(schema: dict[str, object], value: object, fault: str | None) -> None:
    """X3: what a schema's word asks for is held, the fault names its path, and no schema makes the check endless."""
    frozen = freeze_object(schema)

    assert schema_fault({"properties": {"x": frozen}}) is None
    assert arguments_fault(value, frozen) == fault
