"""JSON schemas rewritten to what a provider's strict mode takes: without loss, or refused with the path (X9).

OpenAI (https://platform.openai.com/docs/guides/structured-outputs, 2026-08) wants closed objects whose every property
is required, and knows no defaults; DeepSeek (guides/function_calling, 2025) wants the same of objects. A pure function,
which an adapter calls while it builds a request; what is left to say is said by `strict_fault`.
"""

from typing import Final

from limen.adapters.kit._request import is_json_array, is_json_object
from limen.adapters.kit._schema import strict_fault
from limen.contract import FrozenDict, JsonObject, freeze_object

_NAMED: Final = ("properties", "$defs", "definitions")
# Words that say something about a value and ask nothing of it: left out where a subset does not take them.
_ANNOTATIONS: Final = frozenset(
    {"default", "discriminator", "$schema", "$id", "$comment", "examples", "readOnly", "writeOnly"}
)


class StrictFault(ValueError):
    """A schema that a strict mode cannot take without losing what it says; the text names the path."""


def strict_schema(schema: JsonObject, path: str, *, subset: str) -> FrozenDict[object]:
    """Return a schema in the strict subset `openai` or `deepseek`; `StrictFault` where that would lose something.

    A property that may be absent becomes required (its default is left out: the model says the value instead); an
    object that says nothing of other properties is closed; `const` becomes an `enum` of one, a `oneOf` that names its
    discriminator an `anyOf`, a `$ref` with siblings an `anyOf` of one. Open objects, schemas that let anything pass,
    bounds of length, compositions and unknown formats are refused with their path.
    """
    rewritten = freeze_object(_rewritten(schema, path))
    fault = strict_fault(rewritten, path, subset=subset)
    if fault is not None:
        raise StrictFault(fault)
    return rewritten


def _rewritten(schema: JsonObject, path: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for word, value in schema.items():
        here = f"{path}.{word}"
        if word in _NAMED and is_json_object(value):
            found[word] = {name: _inner(inner, f"{here}.{name}") for name, inner in value.items()}
        elif word == "items":
            found[word] = _inner(value, here)
        elif word in ("anyOf", "oneOf") and is_json_array(value):
            if word == "oneOf" and "discriminator" not in schema:
                raise StrictFault(f"{here} asks for exactly one, which strict cannot say")
            found["anyOf"] = [_inner(inner, f"{here}[{index}]") for index, inner in enumerate(value)]
        elif word == "const":
            found["enum"] = [value]
        elif word not in _ANNOTATIONS:
            found[word] = value
    return _lone_reference(_closed(found, path))


def _inner(schema: object, path: str) -> JsonObject:
    if not is_json_object(schema) or not schema:
        raise StrictFault(f"{path} lets any value pass, which strict cannot say")
    return _rewritten(schema, path)


def _closed(schema: dict[str, object], path: str) -> dict[str, object]:
    properties = schema.get("properties")
    if schema.get("type") != "object" and properties is None:
        return schema
    if schema.get("additionalProperties", False) is not False or not is_json_object(properties):
        raise StrictFault(f"{path} lets properties pass that it does not name, and strict takes closed objects only")
    return {**schema, "required": list(properties), "additionalProperties": False}


def _lone_reference(schema: dict[str, object]) -> dict[str, object]:
    # 400 invalid_json_schema: "$ref cannot have keywords {'description'}"
    if "$ref" not in schema or len(schema) == 1:
        return schema
    siblings = {word: value for word, value in schema.items() if word != "$ref"}
    return {"anyOf": [{"$ref": schema["$ref"]}], **siblings}
