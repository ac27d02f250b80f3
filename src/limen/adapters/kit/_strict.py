"""JSON schemas rewritten to what a provider's strict mode takes: without loss, or refused with the path (X9).

OpenAI (https://platform.openai.com/docs/guides/structured-outputs, 2026-08) wants closed objects whose every property
is required, a type beside every `enum`, and knows no defaults; DeepSeek (guides/function_calling, 2025) wants the same
of objects. Anthropic (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, 2026-11) wants closed
objects alone. A pure function, which an adapter calls while it builds a request; the last word is `strict_fault`'s.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from limen.adapters.kit._request import is_json_array, is_json_object
from limen.adapters.kit._schema import strict_fault
from limen.contract import FrozenDict, JsonObject, freeze_object

NO_ARGUMENTS: Final = freeze_object({"type": "object", "properties": {}})
"""The schema of a tool that has none, for `strict_schema`: a tool without arguments."""

_NAMED: Final = ("properties", "$defs", "definitions")
# Words that say something about a value and ask nothing of it: left out where a subset does not take them.
_ANNOTATIONS: Final = frozenset({"discriminator", "$schema", "$id", "$comment", "examples", "readOnly", "writeOnly"})


class _Subset(NamedTuple):
    """Demands of a strict mode: words that it drops, every property required, `const` as an `enum` with a type."""

    dropped: frozenset[str]
    all_required: bool
    typed_enums: bool


_ALL_REQUIRED: Final = _Subset(_ANNOTATIONS | {"default"}, all_required=True, typed_enums=True)
_SUBSETS: Final[Mapping[str, _Subset]] = {
    "openai": _ALL_REQUIRED,
    "deepseek": _ALL_REQUIRED,
    "anthropic": _Subset(_ANNOTATIONS, all_required=False, typed_enums=False),
}


class StrictFault(ValueError):
    """A schema that a strict mode cannot take without losing what it says; the text names the path."""


def strict_schema(schema: JsonObject, path: str, *, subset: str) -> FrozenDict[object]:
    """Return a schema in the subset `openai`, `deepseek` or `anthropic`; `StrictFault` where that would lose something.

    In all of them an object that says nothing of other properties is closed, a `oneOf` that names its discriminator
    becomes an `anyOf`, a `$ref` with siblings an `anyOf` of one. In `openai` and `deepseek` a property that may be
    absent becomes required (its default is left out: the model says the value instead), and `const` becomes an `enum`
    of one; an `enum` gets the type of its values. Open objects, schemas that let anything pass, bounds and formats that
    the subset does not take are refused with their path.
    """
    rewritten = freeze_object(_Rewriting(_SUBSETS[subset]).rewritten(schema, path))
    fault = strict_fault(rewritten, path, subset=subset)
    if fault is not None:
        raise StrictFault(fault)
    return rewritten


class _Rewriting:
    """Rewriting of one schema to a subset."""

    def __init__(self, subset: _Subset) -> None:
        self._subset = subset

    def rewritten(self, schema: JsonObject, path: str) -> dict[str, object]:
        """Return a schema rewritten, with those inside it."""
        found: dict[str, object] = {}
        for word, value in schema.items():
            here = f"{path}.{word}"
            if word in _NAMED and is_json_object(value):
                found[word] = {name: self._inner(inner, f"{here}.{name}") for name, inner in value.items()}
            elif word == "items":
                found[word] = self._inner(value, here)
            elif word in ("anyOf", "oneOf", "allOf") and is_json_array(value):
                if word == "oneOf" and "discriminator" not in schema:
                    raise StrictFault(f"{here} asks for exactly one, which strict cannot say")
                inner = [self._inner(each, f"{here}[{index}]") for index, each in enumerate(value)]
                found["anyOf" if word == "oneOf" else word] = inner
            elif word == "const" and self._subset.typed_enums:
                found["enum"] = (value,)
            elif word not in self._subset.dropped:
                found[word] = value
        values = found.get("enum")
        if self._subset.typed_enums and "type" not in found and is_json_array(values):
            from limen.contract import enum_type  # loaded with the parts that turn types into schemas

            found["type"] = enum_type(values)
        return _lone_reference(self._closed(found, path))

    def _inner(self, schema: object, path: str) -> JsonObject:
        if not is_json_object(schema) or not schema:
            raise StrictFault(f"{path} lets any value pass, which strict cannot say")
        return self.rewritten(schema, path)

    def _closed(self, schema: dict[str, object], path: str) -> dict[str, object]:
        properties = schema.get("properties")
        if schema.get("type") != "object" and properties is None:
            return schema
        if schema.get("additionalProperties", False) is not False or not is_json_object(properties):
            raise StrictFault(
                f"{path} lets properties pass that it does not name, and strict takes closed objects only"
            )
        required: dict[str, object] = {"required": list(properties)} if self._subset.all_required else {}
        return {**schema, **required, "additionalProperties": False}


def _lone_reference(schema: dict[str, object]) -> dict[str, object]:
    # 400 invalid_json_schema: "$ref cannot have keywords {'description'}"
    siblings = {word: value for word, value in schema.items() if word not in ("$ref", *_NAMED)}
    if "$ref" not in schema or not siblings:
        return schema
    return {"anyOf": [{"$ref": schema["$ref"]}], **{word: schema[word] for word in schema if word != "$ref"}}
