"""The subsets of JSON schema that strict tools and strict answers take, checked before they cost anything.

OpenAI: https://platform.openai.com/docs/guides/structured-outputs (2026-08): every object closed, every property
required, arrays with `items`, no composition but `anyOf`. DeepSeek (guides/function_calling, 2025): closed objects,
every property required, and no bounds on lengths. Anthropic (https://platform.claude.com/docs/en/build-with-claude/
structured-outputs, "JSON Schema limitations", and the list of formats in its Python client's `_transform.py` 2.14,
2026-11): closed objects, optional properties, no bounds but `minItems` of 0 or 1, no recursion.
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
_DEFINED: Final = ("$defs", "definitions")
_OPENAI_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_DEEPSEEK_UNSUPPORTED: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
# 400 output_format.schema: For 'integer' type, property 'minimum' is not supported
# (https://github.com/agentjido/req_llm/issues/302, 2025-12)
_ANTHROPIC_UNSUPPORTED: Final = frozenset(
    {
        "oneOf", "not", "if", "then", "else", "patternProperties", "propertyNames", "minProperties", "maxProperties",
        "unevaluatedProperties", "unevaluatedItems", "contains", "minContains", "maxContains", "uniqueItems",
        "prefixItems", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "multipleOf", "maxItems", "dependentRequired", "dependentSchemas",
    }
)  # fmt: skip
_ANTHROPIC_FORMATS: Final = _OPENAI_FORMATS | {"uri"}
_UNSUPPORTED: Final[Mapping[str, frozenset[str]]] = {
    "openai": _OPENAI_UNSUPPORTED,
    "deepseek": _DEEPSEEK_UNSUPPORTED,
    "anthropic": _ANTHROPIC_UNSUPPORTED,
}


def strict_fault(schema: Mapping[str, object], path: str, *, subset: str) -> str | None:
    """Say where a schema leaves `openai`, `deepseek` or `anthropic`, naming the offending path, or return `None`."""
    if not _is_type(schema, "object"):
        return f'{path}.type is not "object", which the root of a strict schema is'
    if subset == "openai" and "anyOf" in schema:
        return f"{path}.anyOf stands at the root of a strict schema"
    if subset == "anthropic" and _refers_to_itself(schema, schema, {}):
        return f"{path} refers to itself, and strict takes no recursion"
    return _fault(schema, path, subset)


def _fault(schema: Mapping[str, object], path: str, subset: str) -> str | None:
    for word in schema:
        if word in _UNSUPPORTED[subset]:
            return f"{path}.{word} is not in the subset of JSON schema that strict takes"
    if _is_type(schema, "object") or "properties" in schema:
        fault = _object_fault(schema, path, all_required=subset != "anthropic")
        if fault is not None:
            return fault
    if subset == "openai":
        fault = _openai_fault(schema, path)
        if fault is not None:
            return fault
    if subset == "anthropic":
        fault = _anthropic_fault(schema, path)
        if fault is not None:
            return fault
    for inner, inner_path in _inner(schema, path):
        fault = _fault(inner, inner_path, subset)
        if fault is not None:
            return fault
    return None


def _object_fault(schema: Mapping[str, object], path: str, *, all_required: bool) -> str | None:
    # 400 invalid_function_parameters: 'additionalProperties' is required to be supplied and to be false. [Q214]
    if schema.get("additionalProperties") is not False:
        return f"{path}.additionalProperties is not false, and strict takes closed objects only"
    properties, required = schema.get("properties"), schema.get("required")
    listed = required if is_json_array(required) else ()
    for name in properties if all_required and is_json_object(properties) else ():
        # 400: 'required' is required … to be an array including every key in properties. Missing 'unit'. [R]
        if name not in listed:
            return f"{path}.properties.{name} is not in {path}.required, and strict takes no optional properties"
    return None


def _openai_fault(schema: Mapping[str, object], path: str) -> str | None:
    if "$ref" in schema and len(schema) > 1:
        return f"{path}.$ref has siblings, which strict does not take"
    if _is_type(schema, "array") and not is_json_object(schema.get("items")):
        return f"{path}.items is missing, and strict takes typed arrays only"
    return _format_fault(schema, path, _OPENAI_FORMATS)


def _anthropic_fault(schema: Mapping[str, object], path: str) -> str | None:
    if "$ref" in schema and len(schema.keys() - {"$defs", "definitions"}) > 1:
        return f"{path}.$ref has siblings, which strict does not take"
    if schema.get("minItems") not in (None, 0, 1):
        return f"{path}.minItems is neither 0 nor 1, and strict takes no other"
    values = schema.get("enum")
    for index, value in enumerate(values if is_json_array(values) else ()):
        if is_json_array(value) or is_json_object(value):
            return f"{path}.enum[{index}] is no text, number, boolean or null, and strict takes no other"
    return _format_fault(schema, path, _ANTHROPIC_FORMATS)


def _format_fault(schema: Mapping[str, object], path: str, formats: frozenset[str]) -> str | None:
    form = schema.get("format")
    if form is not None and form not in formats:
        return f"{path}.format {form!r} is not one that strict takes"
    return None


def _refers_to_itself(schema: object, root: Mapping[str, object], known: dict[str, bool]) -> bool:
    """Tell whether following references from a schema comes back to one; `known` holds those followed, True inside."""
    if is_json_array(schema):
        return any(_refers_to_itself(inner, root, known) for inner in schema)
    if not is_json_object(schema):
        return False
    reference = schema.get("$ref")
    if isinstance(reference, str) and _is_recursive(reference, root, known):
        return True
    return any(_refers_to_itself(inner, root, known) for word, inner in schema.items() if word not in _DEFINED)


def _is_recursive(reference: str, root: Mapping[str, object], known: dict[str, bool]) -> bool:
    if reference == "#" or reference in known:
        return known.get(reference, True)
    known[reference] = True
    found = _refers_to_itself(_target(reference, root), root, known)
    known[reference] = False
    return found


def _target(reference: str, root: Mapping[str, object]) -> object:
    found: object = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if is_json_object(found) else None
    return found


def _inner(schema: Mapping[str, object], path: str) -> Iterator[tuple[Mapping[str, object], str]]:
    for word in ("properties", "$defs", "definitions"):
        named = schema.get(word)
        for name, inner in named.items() if is_json_object(named) else ():
            if is_json_object(inner):
                yield inner, f"{path}.{word}.{name}"
    items = schema.get("items")
    if is_json_object(items):
        yield items, f"{path}.items"
    for word in ("anyOf", "allOf"):
        choices = schema.get(word)
        for index, inner in enumerate(choices if is_json_array(choices) else ()):
            if is_json_object(inner):
                yield inner, f"{path}.{word}[{index}]"


def _is_type(schema: Mapping[str, object], name: str) -> bool:
    kind = schema.get("type")
    return kind == name or (is_json_array(kind) and name in kind)
