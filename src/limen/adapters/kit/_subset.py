"""JSON schemas rewritten to what Gemini takes: without loss, or refused with the path.

Gemini has two forms for a schema, read 2026-11-30 in https://ai.google.dev/api/caching#Schema and the types of
google-genai 3.6.1: JSON schema with a list of words (`parametersJsonSchema`, `responseJsonSchema`), and a subset of
OpenAPI 3.0 (`parameters`, `responseSchema`), which has patterns and bounds of length, and no references. A pure
function, which an adapter calls while it builds a request.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from limen.adapters.kit._request import is_json_array, is_json_object
from limen.contract import FrozenDict, JsonObject, freeze_object

Form: TypeAlias = Literal["json", "openapi"]
Schema: TypeAlias = dict[str, object]

_COMMON: Final = frozenset(
    {
        "type", "format", "title", "description", "enum", "items", "minItems", "maxItems", "minimum", "maximum",
        "anyOf", "properties", "additionalProperties", "required", "propertyOrdering",
    }
)  # fmt: skip
_JSON: Final = _COMMON | {"$defs", "$ref", "prefixItems"}
_OPENAPI: Final = _COMMON | {
    "nullable", "minLength", "maxLength", "pattern", "minProperties", "maxProperties", "default", "example",
}  # fmt: skip
# Words that say something about a value and ask nothing of it: left out where a form does not take them.
_ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "$comment", "$anchor", "examples", "example", "default", "discriminator", "readOnly",
     "writeOnly", "deprecated"}
)  # fmt: skip
_REFERENCES: Final = ("#/$defs/", "#/definitions/")
_DEPTH: Final = 64


class SubsetFault(ValueError):
    """A schema that Gemini cannot take without losing what it says: `path` of the word, and the `reason`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


def gemini_schema(schema: JsonObject, path: str) -> tuple[Form, FrozenDict[object]]:
    """Return a form that can say the schema, and the schema in it; `SubsetFault` where neither can.

    Without loss: annotations go where a form has no word for them, `const` becomes an `enum` of one, a list of types
    and alternatives that exclude each other become `anyOf`, an `allOf` whose parts have no word in common becomes one
    schema, exclusive bounds of integers become inclusive, an array without `items` takes any. References are replaced
    by what they name where the form knows none.
    """
    written = freeze_object(_rewritten(schema, path, 0))
    fault = _fault(written, path, _JSON)
    if fault is None:
        return "json", written
    definitions = written.get("$defs")
    try:
        plain = _openapi(written, definitions if is_json_object(definitions) else {}, path, ())
    except SubsetFault:
        raise fault from None
    if _fault(plain, path, _OPENAPI) is not None:
        raise fault
    return "openapi", freeze_object(plain)


# -- what both forms need


def _rewritten(schema: JsonObject, path: str, depth: int) -> Schema:
    if depth > _DEPTH:
        raise SubsetFault(path, f"is nested more than {_DEPTH} schemas deep")
    found: Schema = {}
    for word, value in _merged(schema, path).items():
        here = f"{path}.{word}"
        if word in ("properties", "$defs", "definitions") and is_json_object(value):
            inner = {name: _inner(one, f"{here}.{name}", depth) for name, one in value.items()}
            found["$defs" if word == "definitions" else word] = inner
        elif word in ("items", "additionalProperties") and is_json_object(value):
            found[word] = _inner(value, here, depth)
        elif word in ("anyOf", "oneOf", "prefixItems") and is_json_array(value):
            if word == "oneOf" and not _exclude_each_other(value, schema):
                raise SubsetFault(here, "asks for exactly one of alternatives that do not exclude each other")
            found["anyOf" if word == "oneOf" else word] = [
                _inner(one, f"{here}[{index}]", depth) for index, one in enumerate(value)
            ]
        elif word not in _ANNOTATIONS:
            found[word] = value
    return _value(found, path)


def _inner(schema: object, path: str, depth: int) -> Schema:
    if schema is True:
        return {}
    if not is_json_object(schema):
        raise SubsetFault(path, "is no schema")
    return _rewritten(schema, path, depth + 1)


def _merged(schema: JsonObject, path: str) -> JsonObject:
    """Return the schema with its `allOf` in it, where no word has two meanings."""
    parts = schema.get("allOf")
    if not is_json_array(parts):
        return schema
    merged: Schema = {word: value for word, value in schema.items() if word != "allOf"}
    for index, part in enumerate(parts):
        here = f"{path}.allOf[{index}]"
        if not is_json_object(part):
            raise SubsetFault(here, "is no schema")
        for word, value in _merged(part, here).items():
            known = merged.get(word)
            if word not in merged or known == value or word in ("title", "description"):
                merged.setdefault(word, value)
            elif word == "properties" and is_json_object(known) and is_json_object(value) and not known.keys() & value:
                merged[word] = {**known, **value}
            elif word == "required" and is_json_array(known) and is_json_array(value):
                merged[word] = tuple(dict.fromkeys((*known, *value)))
            else:
                raise SubsetFault(f"{here}.{word}", "has another meaning beside it, and the wire knows no allOf")
    return freeze_object(merged)


def _value(schema: Schema, path: str) -> Schema:
    """Rewrite the words of one value: constants, types in a list, exclusive bounds."""
    if "const" in schema:
        constant = schema.pop("const")
        if "enum" in schema:
            raise SubsetFault(f"{path}.const", "stands beside enum")
        if constant is None:
            schema["type"] = "null"
        elif isinstance(constant, bool) or not isinstance(constant, str | int | float):
            raise SubsetFault(f"{path}.const", "is no text and no number, and the wire knows enums of these only")
        else:
            schema["enum"] = [constant]
    schema = _bounds(schema, path)
    schema = _types(schema, path)
    if schema.get("type") == "array" and "items" not in schema and "prefixItems" not in schema:
        # 400 items: missing field (Q082)
        schema["items"] = {}
    if "$ref" in schema:
        return _reference(schema, path)
    return schema


def _bounds(schema: Schema, path: str) -> Schema:
    for word, inclusive, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
        if word not in schema:
            continue
        bound = schema.pop(word)
        whole = isinstance(bound, int) and not isinstance(bound, bool)
        if not whole or schema.get("type") != "integer" or inclusive in schema:
            raise SubsetFault(f"{path}.{word}", "is a bound that the wire knows of integers only, and alone")
        schema[inclusive] = bound + step  # type: ignore[operator]
    return schema


def _types(schema: Schema, path: str) -> Schema:
    kinds = schema.get("type")
    if not is_json_array(kinds):
        return schema
    others = [kind for kind in kinds if kind != "null"]
    if len(others) == 1 and len(kinds) == 1:
        return {**schema, "type": others[0]}
    if len(others) == 1 and "enum" not in schema:
        return schema
    kept = {word: value for word, value in schema.items() if word in ("title", "description", "$defs")}
    if len(kept) + 1 < len(schema) or "anyOf" in schema:
        raise SubsetFault(f"{path}.type", "has several types, and other words beside it")
    return {**kept, "anyOf": [{"type": kind, **({"items": {}} if kind == "array" else {})} for kind in kinds]}


def _reference(schema: Schema, path: str) -> Schema:
    target = schema["$ref"]
    name = target if isinstance(target, str) else ""
    prefix = next((one for one in _REFERENCES if name.startswith(one)), None)
    if prefix is None or "/" in name.removeprefix(prefix):
        raise SubsetFault(f"{path}.$ref", "names no definition of this schema")
    reference: Schema = {"$ref": f"{_REFERENCES[0]}{name.removeprefix(prefix)}"}
    rest = {word: value for word, value in schema.items() if word != "$ref"}
    if not rest:
        return reference
    # "If $ref is set on a sub-schema, no other properties may be set" but those that begin with $.
    if "anyOf" in rest or not rest.keys() <= {"title", "description", "$defs"}:
        raise SubsetFault(f"{path}.$ref", "has other words beside it")
    return {**rest, "anyOf": [reference]}


def _exclude_each_other(choices: Sequence[object], schema: JsonObject) -> bool:
    """Tell whether no value fits two of the alternatives: by type, by a constant, or by a named discriminator."""
    if "discriminator" in schema or len(choices) < 2:
        return True
    parts = [choice for choice in choices if is_json_object(choice)]
    if len(parts) < len(choices):
        return False
    kinds = [part.get("type") for part in parts]
    if all(isinstance(kind, str) for kind in kinds):
        distinct = {"number" if kind == "integer" else kind for kind in kinds}
        if len(distinct) == len(kinds):
            return True
    # What is no object has no such property, and would fit both.
    return set(kinds) == {"object"} and any(
        _differ([_constant(part, name) for part in parts]) for name in _constants(parts[0])
    )


def _constants(schema: JsonObject) -> list[str]:
    """Return the properties that have constants; whether they must be there, `_constant` looks at."""
    properties = schema.get("properties")
    return [name for name in properties if _constant(schema, name)] if is_json_object(properties) else []


def _constant(schema: JsonObject, name: str) -> tuple[object, ...]:
    properties, required = schema.get("properties"), schema.get("required")
    value = properties.get(name) if is_json_object(properties) else None
    if not is_json_object(value) or not is_json_array(required) or name not in required:
        return ()
    values = value.get("enum")
    return (value["const"],) if "const" in value else values if is_json_array(values) else ()


def _differ(sets: Sequence[tuple[object, ...]]) -> bool:
    """Tell whether each alternative has constants and no two share one."""
    if not all(sets):
        return False
    every = [repr(value) for values in sets for value in values]
    return len(every) == len(set(every))


# -- one form


def _fault(schema: JsonObject, path: str, words: frozenset[str]) -> SubsetFault | None:
    """Return the fault of the first word that a form does not know, or `None`."""
    for word, value in schema.items():
        here = f"{path}.{word}"
        if word not in words:
            return SubsetFault(here, "is a word that the wire's schemas do not have")
        for inner, inner_path in _inside(word, value, here):
            fault = _fault(inner, inner_path, words)
            if fault is not None:
                return fault
    values = schema.get("enum")
    kinds = (str,) if words is _OPENAPI else (str, int, float)
    if is_json_array(values) and any(isinstance(one, bool) or not isinstance(one, kinds) for one in values):
        return SubsetFault(f"{path}.enum", "holds a value that the wire takes in no enum")
    return None


def _inside(word: str, value: object, path: str) -> list[tuple[JsonObject, str]]:
    found: list[tuple[object, str]] = []
    if word in ("properties", "$defs") and is_json_object(value):
        found = [(inner, f"{path}.{name}") for name, inner in value.items()]
    elif word in ("items", "additionalProperties"):
        found = [(value, path)]
    elif word in ("anyOf", "prefixItems") and is_json_array(value):
        found = [(inner, f"{path}[{index}]") for index, inner in enumerate(value)]
    return [(inner, where) for inner, where in found if is_json_object(inner)]


def _openapi(schema: JsonObject, named: JsonObject, path: str, entered: tuple[str, ...]) -> JsonObject:
    """Return a rewritten schema in OpenAPI's words: references replaced, null as `nullable`."""
    target = schema.get("$ref")
    if isinstance(target, str):
        name = target.removeprefix(_REFERENCES[0])
        definition = named.get(name)
        if name in entered or len(entered) > _DEPTH or not is_json_object(definition):
            raise SubsetFault(f"{path}.$ref", "refers to itself")
        return _openapi(definition, named, path, (*entered, name))
    found: Schema = {}
    for word, value in schema.items():
        inner = [_openapi(one, named, where, entered) for one, where in _inside(word, value, f"{path}.{word}")]
        if word == "properties" and is_json_object(value):
            found[word] = dict(zip(value, inner, strict=True))
        elif word == "anyOf":
            found[word] = tuple(inner)
        elif word in ("items", "additionalProperties") and inner:
            found[word] = inner[0]
        elif word != "$defs":
            found[word] = value
    return _alternatives(_nullable(found), path)


def _nullable(schema: Schema) -> Schema:
    kinds = schema.get("type")
    if is_json_array(kinds):
        return {**schema, "type": next(kind for kind in kinds if kind != "null"), "nullable": True}
    return schema


def _alternatives(schema: Schema, path: str) -> Schema:
    """Take null out of alternatives, and put what stands beside them into each: the API refuses words there (Q081)."""
    choices = schema.pop("anyOf", None)
    if not is_json_array(choices):
        return schema
    if not schema.keys() <= {"title", "description"}:
        raise SubsetFault(f"{path}.anyOf", "has other words beside it")
    others = [{**schema, **choice} for choice in choices if is_json_object(choice) and choice != {"type": "null"}]
    if not others:
        raise SubsetFault(f"{path}.anyOf", "lets nothing but null pass")
    if len(others) < len(choices):
        others[0]["nullable"] = True
    return others[0] if len(others) == 1 else {"anyOf": tuple(others)}
