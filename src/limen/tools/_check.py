"""JSON schema as far as a tool's arguments are held to it: a check of the schema, and a check of data against it.

Checked: `type`, `enum`, `const`, `required`, `properties`, `additionalProperties`, `items`, `prefixItems`, `anyOf`,
`oneOf`, `allOf`, local `$ref`, and bounds of numbers, lengths and counts. Other words (`pattern`, `format`, `not` …)
are for the model to read; a `validate` function checks what they say.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from limen.contract import JsonObject

_SCHEMAS: Final = frozenset({"items", "additionalProperties"})
_MAPS: Final = frozenset({"properties", "$defs", "definitions"})
_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_TYPES: Final = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})

# Word, the kind of data it bounds, what is measured, and whether the measure keeps the bound.
_BOUNDS: Final[Mapping[str, tuple[str, Callable[[float, float], bool], str]]] = {
    "minimum": ("number", lambda found, bound: found >= bound, "is below the minimum"),
    "maximum": ("number", lambda found, bound: found <= bound, "is above the maximum"),
    "exclusiveMinimum": ("number", lambda found, bound: found > bound, "is not above"),
    "exclusiveMaximum": ("number", lambda found, bound: found < bound, "is not below"),
    "minLength": ("string", lambda found, bound: found >= bound, "is shorter than"),
    "maxLength": ("string", lambda found, bound: found <= bound, "is longer than"),
    "minItems": ("array", lambda found, bound: found >= bound, "has fewer items than"),
    "maxItems": ("array", lambda found, bound: found <= bound, "has more items than"),
}

# Steps of one check. Alternatives of alternatives multiply, and a schema may come from a server that is not trusted.
_STEPS_MAX: Final = 100_000


def schema_fault(schema: JsonObject, path: str = "parameters") -> str | None:
    """Say where a tool's schema is malformed, naming the path, or return `None`; the root is an object's schema."""
    kind = schema.get("type")
    if kind is not None and kind != "object":
        return f"{path}.type is {kind!r}, and a tool's arguments are an object"
    return _words_fault(schema, path)


def _words_fault(schema: JsonObject, path: str) -> str | None:
    for word, value in schema.items():
        fault = _word_fault(word, value, f"{path}.{word}")
        if fault is not None:
            return fault
    return None


def _word_fault(word: str, value: object, path: str) -> str | None:
    if word in _SCHEMAS and _array(value) is None:
        return _schema_fault(value, path)
    if word in _MAPS:
        named = _object(value)
        if named is None:
            return f"{path} is no object of schemas"
        return _first(_schema_fault(inner, f"{path}.{name}") for name, inner in named.items())
    if word in _LISTS or word in _SCHEMAS:
        # `items` was a list of schemas before 2020-12.
        listed = _array(value)
        if listed is None:
            return f"{path} is no list of schemas"
        return _first(_schema_fault(inner, f"{path}[{index}]") for index, inner in enumerate(listed))
    if word == "type" and not all(kind in _TYPES for kind in (_array(value) or (value,))):
        return f"{path} is no type of JSON schema"
    items = _array(value)
    if word == "required" and (items is None or not all(isinstance(name, str) for name in items)):
        return f"{path} is no list of names"
    if word == "enum" and items is None:
        return f"{path} is no list of values"
    if word == "$ref" and not isinstance(value, str):
        return f"{path} is no reference"
    if word in _BOUNDS and (isinstance(value, bool) or not isinstance(value, (int, float))):
        return f"{path} is no number"
    return None


def _schema_fault(schema: object, path: str) -> str | None:
    if isinstance(schema, bool):
        return None
    inner = _object(schema)
    return f"{path} is no schema" if inner is None else _words_fault(inner, path)


def _first(faults: Iterator[str | None]) -> str | None:
    return next((fault for fault in faults if fault is not None), None)


def arguments_fault(value: object, schema: JsonObject) -> str | None:
    """Say where data does not fit the schema, naming the path (`$.cities[0]: …`), or return `None`."""
    try:
        return _Check(schema).fault(value, schema, "$")
    except _TooManySteps:
        return f"$: the schema takes more than {_STEPS_MAX} steps to check"
    except RecursionError:
        # A schema that refers to itself without going into the data, or both nested to the limit.
        return "$: the schema nests too deeply to be checked"


class _TooManySteps(Exception):
    """A check that is given up: alternatives of alternatives multiply."""


class _Check:
    """One check of data: the root for references, and the steps that are left."""

    __slots__ = ("_left", "_root")

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._left = _STEPS_MAX

    def fault(self, value: object, schema: object, path: str) -> str | None:
        """Say where a value does not fit a schema, or return `None`."""
        self._left -= 1
        if self._left < 0:
            raise _TooManySteps
        if isinstance(schema, bool):
            return None if schema else f"{path}: is not allowed"
        words = _object(schema) or {}
        return _own_fault(value, words, path) or self._inner_fault(value, words, path)

    def _inner_fault(self, value: object, words: JsonObject, path: str) -> str | None:
        if "$ref" in words:
            fault = self._referred_fault(value, words, path)
            if fault is not None:
                return fault
        for inner in _array(words.get("allOf")) or ():
            fault = self.fault(value, inner, path)
            if fault is not None:
                return fault
        for word in ("anyOf", "oneOf"):
            fault = self._alternatives_fault(value, words, word, path)
            if fault is not None:
                return fault
        found, items = _object(value), _array(value)
        if found is not None:
            return self._members_fault(found, words, path)
        return None if items is None else self._items_fault(items, words, path)

    def _referred_fault(self, value: object, words: JsonObject, path: str) -> str | None:
        target: object = self._root
        reference = str(words["$ref"])
        for step in reference.removeprefix("#").split("/")[1:]:
            target = (_object(target) or {}).get(step.replace("~1", "/").replace("~0", "~"))
        if not reference.startswith("#") or target is None:
            return f"{path}: the schema refers to {reference}, which it does not have"
        return self.fault(value, target, path)

    def _alternatives_fault(self, value: object, words: JsonObject, word: str, path: str) -> str | None:
        choices = _array(words.get(word))
        if choices is None:
            return None
        faults = [self.fault(value, choice, path) for choice in choices]
        fitting = faults.count(None)
        if fitting == 0:
            # The fault deepest inside is the one of the alternative that was meant.
            nearest = max((fault for fault in faults if fault is not None), key=_depth, default=f"{path}: fits nothing")
            return nearest if _depth(nearest) > _depth(path) else f"{path}: fits none of {len(choices)} alternatives"
        return (
            f"{path}: fits {fitting} alternatives, and exactly one is asked for"
            if word == "oneOf" and fitting > 1
            else None
        )

    def _members_fault(self, value: JsonObject, words: JsonObject, path: str) -> str | None:
        for name in _array(words.get("required")) or ():
            if name not in value:
                return f"{path}.{name}: is required"
        properties = _object(words.get("properties")) or {}
        # Which names a pattern covers is not checked, so they are taken to be covered.
        others = words.get("additionalProperties", True) if "patternProperties" not in words else True
        for name, item in value.items():
            if name not in properties and others is False:
                known = ", ".join(properties) or "none"
                return f"{path}.{name}: is no known property; known: {known}"
            fault = self.fault(item, properties.get(name, others), f"{path}.{name}")
            if fault is not None:
                return fault
        return None

    def _items_fault(self, items: tuple[object, ...], words: JsonObject, path: str) -> str | None:
        rest = words.get("items", True)
        first = _array(words.get("prefixItems")) or _array(rest) or ()
        for index, item in enumerate(items):
            schema = first[index] if index < len(first) else True if _array(rest) is not None else rest
            fault = self.fault(item, schema, f"{path}[{index}]")
            if fault is not None:
                return fault
        return None


def _own_fault(value: object, words: JsonObject, path: str) -> str | None:
    """Say what of a value itself does not fit: its type, its being listed, its bounds."""
    kinds = words.get("type")
    if kinds is not None:
        allowed = _array(kinds) or (kinds,)
        if not any(_is(value, str(kind)) for kind in allowed):
            return f"{path}: expected {' or '.join(str(kind) for kind in allowed)}, got {_kind(value)}"
    listed = _array(words.get("enum"))
    if listed is not None and not any(_same(value, choice) for choice in listed):
        return f"{path}: is none of the {len(listed)} values that are allowed"
    if "const" in words and not _same(value, words["const"]):
        return f"{path}: is not the one value that is allowed"
    for word, (kind, keeps, sentence) in _BOUNDS.items():
        bound = words.get(word)
        if isinstance(bound, (int, float)) and _is(value, kind) and not keeps(_measure(value), bound):
            return f"{path}: {sentence} {bound}"
    return None


def _measure(value: object) -> float:
    if isinstance(value, (int, float)):
        return value
    return len(value) if isinstance(value, (str, list)) else 0  # pyright: ignore[reportUnknownArgumentType]


def _kind(value: object) -> str:
    kinds = ("null", "boolean", "integer", "number", "string", "array")
    return next((kind for kind in kinds if _is(value, kind)), "object")


def _is(value: object, kind: str) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            # 1.0 is an integer to JSON schema (2020-12, 4.2.3), and models write it.
            return _is_number(value) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
        case "number":
            return _is_number(value)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, (list, tuple))
        case _:
            return isinstance(value, Mapping)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _same(left: object, right: object) -> bool:
    """Say whether two pieces of JSON are equal: true is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    items, others = _array(left), _array(right)
    if items is not None and others is not None:
        return len(items) == len(others) and all(map(_same, items, others))
    found, other = _object(left), _object(right)
    if found is not None and other is not None:
        return found.keys() == other.keys() and all(_same(item, other[name]) for name, item in found.items())
    return left == right


def _depth(fault: str) -> int:
    path = fault.partition(": ")[0]
    return path.count(".") + path.count("[")


def _object(value: object) -> JsonObject | None:
    return value if isinstance(value, Mapping) else None  # pyright: ignore[reportUnknownVariableType]


def _array(value: object) -> tuple[object, ...] | None:
    return tuple(value) if isinstance(value, (list, tuple)) else None  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
