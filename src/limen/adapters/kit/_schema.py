"""The subsets of JSON schema that strict tools and strict answers take, checked before they cost anything.

OpenAI: https://platform.openai.com/docs/guides/structured-outputs (2026-08): every object closed, every property
required, arrays with `items`, no composition but `anyOf`. DeepSeek (guides/function_calling, 2025): closed objects,
every property required, and no bounds on lengths.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from limen.adapters.kit._request import is_json_array, is_json_object

_OPENAI_UNSUPPORTED: Final = frozenset(
    {
        "oneOf", "allOf", "not", "if", "then", "else", "default", "patternProperties", "propertyNames",
        "minProperties", "maxProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "minContains",
        "maxContains", "uniqueItems", "minLength", "maxLength", "dependentRequired", "dependentSchemas",
    }
)  # fmt: skip
_OPENAI_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_DEEPSEEK_UNSUPPORTED: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems"})


def strict_fault(schema: Mapping[str, object], path: str, *, subset: str) -> str | None:
    """Say where a schema leaves the subset `openai` or `deepseek`, naming the offending path, or return `None`."""
    if not _is_type(schema, "object"):
        return f'{path}.type is not "object", which the root of a strict schema is'
    if subset == "openai" and "anyOf" in schema:
        return f"{path}.anyOf stands at the root of a strict schema"
    return _fault(schema, path, subset)


def _fault(schema: Mapping[str, object], path: str, subset: str) -> str | None:
    unsupported = _OPENAI_UNSUPPORTED if subset == "openai" else _DEEPSEEK_UNSUPPORTED
    for word in schema:
        if word in unsupported:
            return f"{path}.{word} is not in the subset of JSON schema that strict takes"
    if _is_type(schema, "object") or "properties" in schema:
        fault = _object_fault(schema, path)
        if fault is not None:
            return fault
    if subset == "openai":
        fault = _openai_fault(schema, path)
        if fault is not None:
            return fault
    for inner, inner_path in _inner(schema, path):
        fault = _fault(inner, inner_path, subset)
        if fault is not None:
            return fault
    return None


def _object_fault(schema: Mapping[str, object], path: str) -> str | None:
    # 400 invalid_function_parameters: 'additionalProperties' is required to be supplied and to be false. [Q214]
    if schema.get("additionalProperties") is not False:
        return f"{path}.additionalProperties is not false, and strict takes closed objects only"
    properties, required = schema.get("properties"), schema.get("required")
    listed = required if is_json_array(required) else ()
    for name in properties if is_json_object(properties) else ():
        # 400: 'required' is required … to be an array including every key in properties. Missing 'unit'. [R]
        if name not in listed:
            return f"{path}.properties.{name} is not in {path}.required, and strict takes no optional properties"
    return None


def _openai_fault(schema: Mapping[str, object], path: str) -> str | None:
    if "$ref" in schema and len(schema) > 1:
        return f"{path}.$ref has siblings, which strict does not take"
    if _is_type(schema, "array") and not is_json_object(schema.get("items")):
        return f"{path}.items is missing, and strict takes typed arrays only"
    form = schema.get("format")
    if form is not None and form not in _OPENAI_FORMATS:
        return f"{path}.format {form!r} is not one that strict takes"
    return None


def _inner(schema: Mapping[str, object], path: str) -> Iterator[tuple[Mapping[str, object], str]]:
    for word in ("properties", "$defs", "definitions"):
        named = schema.get(word)
        for name, inner in named.items() if is_json_object(named) else ():
            if is_json_object(inner):
                yield inner, f"{path}.{word}.{name}"
    items = schema.get("items")
    if is_json_object(items):
        yield items, f"{path}.items"
    choices = schema.get("anyOf")
    for index, inner in enumerate(choices if is_json_array(choices) else ()):
        if is_json_object(inner):
            yield inner, f"{path}.anyOf[{index}]"


def _is_type(schema: Mapping[str, object], name: str) -> bool:
    kind = schema.get("type")
    return kind == name or (is_json_array(kind) and name in kind)
