"""X9 over random schemas: what a strict mode is given asks for no less than what the caller gave."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limen.adapters.kit import StrictFault, strict_fault, strict_schema
from limen.contract import freeze_object
from limen.tools._check import arguments_fault

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"])
LEAVES = st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda kind: {"type": kind})
REFERENCES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{"$ref": "#/$defs/d"}, {"$ref": "#/$defs/d", "description": "A d."}]
)
WORDS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    LEAVES,
    REFERENCES,
    st.lists(SCALARS, min_size=1, max_size=3).map(lambda values: {"enum": values}),
    SCALARS.map(lambda value: {"const": value}),
    st.integers(0, 3).map(lambda value: {"type": "integer", "default": value, "title": "N"}),
    st.sampled_from([{}, {"type": "string", "maxLength": 1}, {"type": "integer", "minimum": 1}, {"type": "object"}]),
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with properties of these schemas, of which some are required, closed or silent about others."""
    return st.builds(
        lambda properties, count, closing: {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:count],
            **closing,
        },
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.integers(0, 3),
        st.sampled_from([{}, {"additionalProperties": False}]),
    )


def wider(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Return schemas that hold others."""
    several = st.lists(inner, min_size=1, max_size=2)
    return (
        objects(inner)
        | inner.map(lambda item: {"type": "array", "items": item})
        | several.map(lambda choices: {"anyOf": choices})
        | several.map(lambda choices: {"oneOf": list(map(tagged, range(2), choices)), "discriminator": {"on": "t"}})
    )


def tagged(number: int, schema: dict[str, Any]) -> dict[str, Any]:
    """Return one of several objects that a tag tells apart."""
    properties = {"t": {"const": number}, "value": schema}
    return {"type": "object", "properties": properties, "required": ["t"]}


SCHEMAS = st.builds(
    lambda schema, definition: {**schema, "$defs": {"d": definition}},
    objects(st.recursive(WORDS, wider, max_leaves=6)),
    LEAVES,
)


def value_of(schema: Mapping[str, Any], root: Mapping[str, Any], draw: st.DataObject) -> object:
    """Draw a value that a strict schema allows."""
    if "$ref" in schema:
        return value_of(root["$defs"]["d"], root, draw)
    if "anyOf" in schema:
        return value_of(draw.draw(st.sampled_from(schema["anyOf"])), root, draw)
    for word in ("enum", "const"):
        if word in schema:
            return draw.draw(st.sampled_from(schema[word])) if word == "enum" else schema[word]
    match schema["type"]:
        case "object":
            given_names = [
                name for name in schema["properties"] if name in schema["required"] or draw.draw(st.booleans())
            ]
            return {name: value_of(schema["properties"][name], root, draw) for name in given_names}
        case "array":
            return [value_of(schema["items"], root, draw) for _ in range(draw.draw(st.integers(0, 2)))]
        case kind:
            kinds: dict[str, st.SearchStrategy[object]] = {
                "string": st.sampled_from(["", "abc"]),
                "integer": st.integers(schema.get("minimum", -9), 9),
                "number": st.floats(-9, 9),
                "boolean": st.booleans(),
                "null": st.none(),
            }
            return draw.draw(kinds[kind])


@pytest.mark.parametrize("subset", ["openai", "deepseek", "anthropic"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=SCHEMAS, draw=st.data())
def test_x9_a_strict_answer_fits_what_was_asked(subset: str, schema: dict[str, Any], draw: st.DataObject) -> None:
    """X9: a rewritten schema has no fault, is its own rewriting, and allows only what the given one allows."""
    asked = freeze_object(schema)
    try:
        strict: Any = strict_schema(asked, "P", subset=subset)
    except StrictFault:
        return

    assert strict_fault(strict, "P", subset=subset) is None
    assert strict_schema(strict, "P", subset=subset) == strict
    assert arguments_fault(value_of(strict, strict, draw), asked) is None
