"""JSON schemas in Gemini's two forms: rewritten where nothing is lost, refused with the path elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.adapters.kit import SubsetFault, gemini_schema
from limen.contract import freeze_object

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def form(schema: dict[str, object]) -> tuple[str, object]:
    """The form and the schema in it, as plain data compares."""
    return gemini_schema(freeze_object(schema), "schema")


def json_form(schema: dict[str, object]) -> object:
    """The schema in the form of JSON schema."""
    kind, found = form(schema)
    assert kind == "json"
    return found


def openapi(schema: dict[str, object]) -> object:
    """The schema in the form of OpenAPI."""
    kind, found = form(schema)
    assert kind == "openapi"
    return found


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": STRING}, "required": ["a"], "additionalProperties": False},
        {"type": "object", "additionalProperties": INTEGER, "propertyOrdering": ["a"]},
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3},
        {"type": "array", "prefixItems": [STRING, INTEGER]},
        {"type": ["integer", "null"], "minimum": 0, "maximum": 5, "title": "T", "description": "D"},
        {"enum": ["a", 1]},
        {"anyOf": [STRING, {"type": "null"}], "description": "x"},
        {"$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}}, "$ref": "#/$defs/N"},
    ],
)
def test_what_the_wire_knows_stays_as_it_is(schema: dict[str, object]) -> None:
    """A schema of words that the form of JSON schema has is sent unchanged."""
    if "$ref" in schema:
        # A reference with definitions beside it keeps them.
        schema = {"$defs": schema["$defs"], "anyOf": [{"$ref": "#/$defs/N"}]}
    assert json_form(schema) == freeze_object(schema)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$schema": "s", "$id": "i", "$comment": "c", "examples": [1], "default": 3, **INTEGER}, INTEGER),
        ({"const": "a"}, {"enum": ["a"]}),
        ({"const": 1.5}, {"enum": [1.5]}),
        ({"const": None}, {"type": "null"}),
        ({**INTEGER, "exclusiveMinimum": 0, "exclusiveMaximum": 9}, {**INTEGER, "minimum": 1, "maximum": 8}),
        ({"type": ["string"]}, STRING),
        ({"type": ["string", "integer"], "title": "t"}, {"title": "t", "anyOf": [STRING, INTEGER]}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"]}),
        ({"type": ["array", "string"]}, {"anyOf": [{"type": "array", "items": {}}, STRING]}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": True}),
        ({"properties": {"a": True}}, {"properties": {"a": {}}}),
        ({"oneOf": [STRING, INTEGER]}, {"anyOf": [STRING, INTEGER]}),
        ({"oneOf": [STRING]}, {"anyOf": [STRING]}),
        ({"allOf": [{"type": "object"}, {"properties": {"a": {}}}]}, {"type": "object", "properties": {"a": {}}}),
        (
            {
                "title": "mine",
                "required": ["a"],
                "properties": {"a": STRING},
                "allOf": [{"title": "other", "properties": {"b": INTEGER}, "required": ["b", "a"]}],
            },
            {"title": "mine", "required": ["a", "b"], "properties": {"a": STRING, "b": INTEGER}},
        ),
        ({"allOf": [{"allOf": [STRING]}, STRING]}, STRING),
        (
            {"definitions": {"A": STRING}, "properties": {"x": {"$ref": "#/definitions/A", "description": "d"}}},
            {"$defs": {"A": STRING}, "properties": {"x": {"description": "d", "anyOf": [{"$ref": "#/$defs/A"}]}}},
        ),
    ],
)  # fmt: skip
def test_what_is_said_in_other_words(schema: dict[str, object], expected: dict[str, object]) -> None:
    """What the form has no word for is said by words that it has; annotations go."""
    assert json_form(schema) == freeze_object(expected)


def kind_of(name: str, **more: object) -> dict[str, object]:
    return {"type": "object", "properties": {"kind": {"const": name}, **more}, "required": ["kind"]}


def test_alternatives_that_exclude_each_other() -> None:
    """`oneOf` is `anyOf` where a constant, a set of constants or a discriminator tells the alternatives apart."""
    cats = {"type": "object", "properties": {"kind": {"enum": ["lion", "cat"]}}, "required": ["kind"]}

    schemas: list[dict[str, object]] = [
        {"oneOf": [kind_of("a"), kind_of("b")]},
        {"oneOf": [kind_of("dog"), cats]},
        {"oneOf": [{"type": "object"}, {"type": "object"}], "discriminator": {"propertyName": "kind"}},
    ]
    for schema in schemas:
        found = json_form(schema)
        assert isinstance(found, dict)
        assert "anyOf" in found


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"not": STRING}, "schema.not"),
        ({"properties": {"a": {"if": STRING}}}, "schema.properties.a.if"),
        ({"$defs": {"A": {"contains": {}}}, "items": {"$ref": "#/$defs/A"}}, "schema.$defs.A.contains"),
        ({"items": {"uniqueItems": True}}, "schema.items.uniqueItems"),
        ({"anyOf": [STRING, {"patternProperties": {}}]}, "schema.anyOf[1].patternProperties"),
        ({"oneOf": [kind_of("a"), kind_of("a")]}, "schema.oneOf"),
        ({"oneOf": [INTEGER, {"type": "number"}]}, "schema.oneOf"),
        ({"oneOf": [STRING, True]}, "schema.oneOf"),
        (
            {"oneOf": [{"type": "object"}, {"type": "object", "properties": {"a": 1}, "required": ["a"]}]},
            "schema.oneOf",
        ),
        ({"oneOf": [{"properties": {"a": {}}, "required": ["a"]}, kind_of("a")]}, "schema.oneOf"),
        ({"oneOf": [kind_of("a"), {"type": "object"}]}, "schema.oneOf"),
        ({"oneOf": [{**kind_of("a"), "required": []}, kind_of("b")]}, "schema.oneOf"),
        ({"oneOf": [{**kind_of("a"), "type": "string"}, {**kind_of("b"), "type": "string"}]}, "schema.oneOf"),
        ({"const": True}, "schema.const"),
        ({"const": [1]}, "schema.const"),
        ({"const": "a", "enum": ["a"]}, "schema.const"),
        ({"enum": [True]}, "schema.enum"),
        ({"type": "number", "exclusiveMinimum": 0}, "schema.exclusiveMinimum"),
        ({**INTEGER, "exclusiveMaximum": 1.5}, "schema.exclusiveMaximum"),
        ({**INTEGER, "exclusiveMinimum": 0, "minimum": 0}, "schema.exclusiveMinimum"),
        ({"type": ["string", "integer"], "maximum": 3}, "schema.type"),
        ({"type": ["string", "null"], "enum": ["a", "b"]}, "schema.type"),
        ({"allOf": [{"minimum": 1}, {"minimum": 2}]}, "schema.allOf[1].minimum"),
        ({"allOf": [{"properties": {"a": STRING}}, {"properties": {"a": INTEGER}}]}, "schema.allOf[1].properties"),
        ({"allOf": [True]}, "schema.allOf[0]"),
        ({"$ref": "https://x.example/schema"}, "schema.$ref"),
        ({"$ref": "#/$defs/a/b"}, "schema.$ref"),
        ({"$ref": 7}, "schema.$ref"),
        ({"$ref": "#/$defs/A", "minimum": 1}, "schema.$ref"),
        ({"properties": {"a": False}}, "schema.properties.a"),
        ({"anyOf": [7]}, "schema.anyOf[0]"),
        # The words of the other form do not help where it lacks another.
        ({"minLength": 1, "enum": [1]}, "schema.minLength"),
        ({"properties": {"a": {"minLength": 1}}, "prefixItems": [STRING]}, "schema.properties.a.minLength"),
        ({"properties": {"a": {"anyOf": [STRING, INTEGER], "minProperties": 1}}}, "schema.properties.a.minProperties"),
        ({"properties": {"a": {"minLength": 1}, "b": {"anyOf": [{"type": "null"}]}}}, "schema.properties.a.minLength"),
        ({"pattern": "x", "properties": {"a": {"$ref": "#/$defs/Gone"}}}, "schema.pattern"),
    ],
)
def test_what_cannot_be_said(schema: dict[str, object], path: str) -> None:
    """A constraint that neither form can say is refused, naming its path."""
    with pytest.raises(SubsetFault) as caught:
        form(schema)

    assert caught.value.path == path
    assert str(caught.value) == f"{path} {caught.value.reason}"


def test_bounds_of_length_and_patterns_are_openapi() -> None:
    """Words of OpenAPI alone choose its form: references are replaced, null is `nullable`, no word beside `anyOf`."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "pattern": "^a"},
            "note": {"type": ["string", "null"], "maxLength": 9},
            "maybe": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}], "description": "d"},
            "either": {"anyOf": [STRING, {"$ref": "#/$defs/Size"}, {"type": "null"}]},
            "many": {"type": "array", "items": {"$ref": "#/$defs/Size"}},
            "any": {"type": "array"},
        },
        "additionalProperties": False,
        "$defs": {"Size": {"type": "object", "properties": {"w": {"type": "integer"}}}},
    }
    size = {"type": "object", "properties": {"w": INTEGER}}

    assert openapi(schema) == freeze_object(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "pattern": "^a"},
                "note": {"type": "string", "nullable": True, "maxLength": 9},
                "maybe": {"description": "d", **size, "nullable": True},
                "either": {"anyOf": [{"type": "string", "nullable": True}, size]},
                "many": {"type": "array", "items": size},
                "any": {"type": "array", "items": {}},
            },
            "additionalProperties": False,
        }
    )


def test_references_that_lead_to_themselves_have_no_openapi() -> None:
    """A schema that refers to itself is sent as JSON schema, or refused where a word of it is not that form's."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    schema: dict[str, object] = {"$defs": {"Node": node}, "properties": {"root": {"$ref": "#/$defs/Node"}}}

    assert form(schema)[0] == "json"
    with pytest.raises(SubsetFault) as caught:
        form({**schema, "minProperties": 1})
    assert caught.value.path == "schema.minProperties"


def test_depth_is_bounded() -> None:
    """A schema of more than 64 levels is refused and not followed."""
    schema: dict[str, object] = {"type": "string"}
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    assert form(schema)[0] == "json"
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SubsetFault):
        form(schema)


SCHEMAS = st.recursive(
    st.sampled_from([{}, STRING, INTEGER, {"type": "null"}, {"const": "a"}, {"type": "string", "maxLength": 2}, True]),
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda a, b: {"type": "object", "properties": {"a": a, "b": b}, "required": ["a"]}, inner, inner),
        st.builds(lambda *some: {"anyOf": list(some)}, inner, inner),
        st.builds(lambda *some: {"oneOf": list(some)}, inner, inner),
        st.builds(lambda *some: {"allOf": list(some)}, inner, inner),
    ),
    max_leaves=6,
)


@given(SCHEMAS.filter(lambda one: one is not True))
def test_rewriting_is_stable(schema: dict[str, object]) -> None:
    """A schema is refused, or becomes one that is rewritten to itself where it is JSON schema."""
    try:
        kind, found = form(schema)
    except SubsetFault:
        return
    if kind == "json":
        assert isinstance(found, dict)
        assert gemini_schema(freeze_object(found), "schema") == ("json", found)
