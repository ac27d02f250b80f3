"""Strict schemas are checked before they cost anything, and the refusal names the offending path (Q214)."""

from typing import Any

import pytest

from chat_requests import SCHEMA, body_of, refusal
from limen.adapters.kit import strict_fault
from limen.contract import JsonSchema, ToolSpec, codes, freeze_object


def closed(**properties: Any) -> dict[str, Any]:
    """Return a closed object whose every property is required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


GOOD = closed(
    a={"type": "string", "enum": ["x"]},
    b={"type": "array", "items": closed(c={"type": ["integer", "null"]})},
    d={"anyOf": [{"type": "string", "format": "date-time"}, {"$ref": "#/$defs/e"}]},
) | {"$defs": {"e": closed(f={"type": "number"})}}

FAULTS = [
    ({"type": "array"}, 'type is not "object", which the root of a strict schema is'),
    ({**closed(), "anyOf": []}, "anyOf stands at the root of a strict schema"),
    (
        {"type": "object", "properties": {}, "required": []},
        "additionalProperties is not false, and strict takes closed objects only",
    ),
    (
        {"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False},
        "properties.a is not in P.required, and strict takes no optional properties",
    ),
    (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        "properties.a is not in P.required, and strict takes no optional properties",
    ),
    (
        closed(a={"properties": {}}),
        "properties.a.additionalProperties is not false, and strict takes closed objects only",
    ),
    (closed(a={"oneOf": []}), "properties.a.oneOf is not in the subset of JSON schema that strict takes"),
    (closed(a={"default": "x"}), "properties.a.default is not in the subset of JSON schema that strict takes"),
    (closed(a={"$ref": "#", "title": "x"}), "properties.a.$ref has siblings, which strict does not take"),
    (closed(a={"type": "array"}), "properties.a.items is missing, and strict takes typed arrays only"),
    (closed(a={"type": "string", "format": "uri"}), "properties.a.format 'uri' is not one that strict takes"),
    (
        closed(a={"anyOf": [{"type": "string"}, {"type": "array", "items": {"not": {}}}]}),
        "properties.a.anyOf[1].items.not is not in the subset of JSON schema that strict takes",
    ),
    (
        {**closed(), "$defs": {"e": {"type": "object"}}},
        "$defs.e.additionalProperties is not false, and strict takes closed objects only",
    ),
]


def test_a_schema_inside_the_subset_has_no_fault() -> None:
    """References, unions, enums and nested closed objects are in OpenAI's subset; booleans for schemas are passed."""
    booleans = closed(a=True, b={"anyOf": [True]})
    assert [strict_fault(freeze_object(schema), "P", subset="openai") for schema in (GOOD, booleans)] == [None, None]


@pytest.mark.parametrize(("schema", "fault"), FAULTS)
def test_Q214_the_offending_node_is_named(schema: dict[str, Any], fault: str) -> None:
    """What is outside the subset has a fault, with the path inside the schema."""
    assert strict_fault(freeze_object(schema), "P", subset="openai") == f"P.{fault}"


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array"}, '.type is not "object", which the root of a strict schema is'),
        ({**closed(), "anyOf": []}, ".anyOf stands at the root of a strict schema"),
        (closed(a={"type": "array"}), ".properties.a.items is missing, and strict takes typed arrays only"),
        (closed(a={"not": {}}), ".properties.a.not is not in the subset of JSON schema that strict takes"),
        (closed(a={"oneOf": []}), ".properties.a.oneOf asks for exactly one, which strict cannot say"),
        (closed(a={}), ".properties.a lets any value pass, which strict cannot say"),
        (
            {**closed(), "$defs": {"e": {"type": "object"}}},
            ".$defs.e lets properties pass that it does not name, and strict takes closed objects only",
        ),
    ],
)
def test_Q214_what_cannot_be_rewritten_is_refused(schema: dict[str, Any], fault: str) -> None:
    """X9: what strict cannot say is refused before I/O, with the path inside the tool's parameters."""
    error = refusal("openai", tools=[ToolSpec("ok"), ToolSpec("f", None, schema, strict=True)])
    assert (error.code, error.failure.message) == (
        codes.UNSUPPORTED,
        f"tools[1].strict cannot be sent to route/m (dialect openai): tools[1].parameters{fault}",
    )


@pytest.mark.parametrize("dialect", ["openai", "azure", "deepseek-beta"])
def test_x9_a_strict_tool_is_rewritten(dialect: str) -> None:
    """X9: open objects are closed and properties with a default become required; without strict nothing is changed."""
    given = {"type": "object", "properties": {"a": {"type": "integer", "default": 3}, "b": {"enum": ["x", None]}}}
    strict = closed(a={"type": "integer"}, b={"enum": ["x", None], "type": ["string", "null"]})
    asked = ToolSpec("f", None, given, strict=True)

    assert body_of(dialect, tools=[asked])["tools"][0]["function"] == {
        "name": "f",
        "parameters": strict,
        "strict": True,
    }
    assert body_of(dialect, tools=[ToolSpec("f", None, given)])["tools"][0]["function"]["parameters"] == given


@pytest.mark.parametrize("dialect", ["openai", "azure"])
def test_x9_a_strict_answer_is_rewritten(dialect: str) -> None:
    """X9: the schema of an answer is rewritten alike, and only where strict is asked for."""
    given = {"type": "object", "properties": {"a": {"const": True}}}
    strict = {"name": "n", "schema": closed(a={"enum": [True], "type": "boolean"}), "strict": True}

    asked = body_of(dialect, response_format=JsonSchema("n", given, strict=True))["response_format"]
    unasked = body_of(dialect, response_format=JsonSchema("n", given))["response_format"]
    assert (asked["json_schema"], unasked["json_schema"]) == (strict, {"name": "n", "schema": given})


def test_strict_is_never_set_unasked_and_then_nothing_is_checked() -> None:
    """Without strict any schema passes, and the key is absent."""
    found = body_of("openai", tools=[ToolSpec("f", None, {"type": "array", "oneOf": []})])["tools"][0]["function"]
    assert found == {"name": "f", "parameters": {"type": "array", "oneOf": []}}


def test_x9_a_strict_tool_without_parameters_has_none() -> None:
    """Absent parameters are a tool without arguments, which strict says as a closed object without properties."""
    found = body_of("openai", tools=[ToolSpec("f", strict=True)])["tools"][0]["function"]
    assert found == {"name": "f", "strict": True, "parameters": closed()}


def test_a_strict_answer_is_checked_too() -> None:
    """The schema of `response_format` is held to the same subset."""
    error = refusal("azure", response_format=JsonSchema("a", {"type": "object"}, strict=True))
    assert "response_format.strict cannot be sent" in error.failure.message
    assert "response_format.schema lets properties pass that it does not name" in error.failure.message


def test_unchecked_rows_pass_it_on() -> None:
    """Where the subset is not known, strict goes out as asked."""
    found = body_of("groq", tools=[ToolSpec("f", None, {"type": "object"}, strict=True)])
    assert found["tools"][0]["function"]["strict"] is True


class TestDeepSeek:
    """Strict lives on DeepSeek's /beta address: all functions or none, its own subset."""

    def test_the_ordinary_address_refuses_it(self) -> None:
        """The main address does not hold a model to a schema."""
        assert "tools[0].strict" in str(refusal("deepseek", tools=[ToolSpec("f", None, SCHEMA, strict=True)]))

    def test_all_or_none(self) -> None:
        """A mixture is refused, one kind is served."""
        strict, plain = ToolSpec("f", None, SCHEMA, strict=True), ToolSpec("g", None, SCHEMA)
        assert str(refusal("deepseek-beta", tools=[strict, plain])).endswith("for all of the tools or for none")
        assert len(body_of("deepseek-beta", tools=[strict])["tools"]) == 1

    @pytest.mark.parametrize("word", ["minLength", "maxLength", "minItems", "maxItems"])
    def test_its_subset(self, word: str) -> None:
        """Bounds on lengths are outside; what only OpenAI refuses is inside."""
        bounded = closed(a={"type": "array", word: 1})
        error = refusal("deepseek-beta", tools=[ToolSpec("f", None, bounded, strict=True)])
        assert f"tools[0].parameters.properties.a.{word} is not in the subset" in error.failure.message
        assert strict_fault(freeze_object({**closed(), "anyOf": []}), "P", subset="deepseek") is None
