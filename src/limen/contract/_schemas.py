"""JSON schemas of Python types, and values of those types from JSON data.

msgspec reads structs, dataclasses, `TypedDict`, enums, unions and their like; a type that mentions a pydantic model
is read by pydantic, which is found through `sys.modules` and never imported here. Used by `JsonSchema.of`,
`Response.parse` and `limen.tools` (X1, X9); loaded when one of them first needs it.
"""

import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Final, Generic, Protocol, TypeGuard, TypeVar, get_args, get_type_hints

import msgspec

from limen.contract._json import FrozenDict, JsonObject, freeze_object

T = TypeVar("T")

_REF: Final = "#/$defs/{name}"
# OpenAI and Anthropic refuse other characters in the name of a schema or tool (400 'string_pattern_mismatch').
_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")


class SchemaFault(ValueError):
    """A type that has no JSON schema, or data that is no value of a type; the text names the path, such as `$.a[0]`."""


class _Adapter(Protocol):
    """The part of `pydantic.TypeAdapter` that is used here."""

    def json_schema(self) -> Mapping[str, object]: ...
    def validate_python(self, value: object) -> object: ...


class TypeSchema(Generic[T]):
    """A type as a JSON schema with closed objects (`document`) and as a reader of JSON data (`read`).

    Raises `SchemaFault` for a type that neither msgspec nor pydantic can describe.
    """

    __slots__ = ("_adapter", "_kind", "document")

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._adapter = _pydantic_adapter(kind)
        try:
            found = _msgspec_schema(kind) if self._adapter is None else _with_root(self._adapter.json_schema())
            document = freeze_object(_described(found, _texts(kind)))
        except Exception as fault:  # noqa: BLE001 - what a foreign type's own hooks raise says why
            raise SchemaFault(f"{type_name(kind)} has no JSON schema: {fault}") from None
        self.document: FrozenDict[object] = document

    def read(self, value: object) -> T:
        """Return JSON data (dicts, lists, strings …) as a value of the type; `SchemaFault` names a fault's path.

        What a type's own code raises beside its refusals (`ValueError` and its like) is raised unchanged (X4).
        """
        if self._adapter is None:
            try:
                return self._converted(value)
            except (msgspec.ValidationError, RecursionError) as fault:
                raise SchemaFault(_msgspec_words(str(fault))) from None
        try:
            made: T = self._adapter.validate_python(value)  # type: ignore[assignment] # an adapter of T makes a T
        except (ValueError, RecursionError) as fault:
            # pydantic's ValidationError is a ValueError.
            raise SchemaFault(_pydantic_words(fault)) from None
        return made

    def _converted(self, value: object) -> T:
        try:
            return msgspec.convert(value, self._kind, str_keys=True)
        except msgspec.ValidationError as fault:
            # 1.0 is an integer to JSON schema (2020-12, 4.2.3), and models write it; to msgspec it is none.
            if "got `float`" not in str(fault):
                raise
            return msgspec.convert(_with_integers(value), self._kind, str_keys=True)


def type_name(kind: object) -> str:
    """Return a type's name in the characters that every wire takes, at most 64 of them."""
    name: object = getattr(kind, "__name__", None)
    return _NOT_A_NAME.sub("_", name if isinstance(name, str) else str(kind)).strip("_")[:64] or "answer"


def record_type(name: str, fields: Mapping[str, object]) -> type[dict[str, object]]:
    """Return a `TypedDict` of these fields; their types say `NotRequired` where a field may be absent.

    pydantic refuses `typing.TypedDict` before Python 3.12 and asks for the one of `typing_extensions`, which it
    brings along; msgspec takes both.
    """
    module = sys.modules.get("typing_extensions", typing)
    make: Callable[[str, dict[str, object]], type[dict[str, object]]] = vars(module)["TypedDict"]
    return make(name, dict(fields))


def all_required(schema: JsonObject) -> FrozenDict[object]:
    """Return a schema whose objects list every property as required and name no default, each `enum` with a type."""
    return freeze_object(_required(schema))


def _required(schema: JsonObject) -> JsonObject:
    found: dict[str, object] = {}
    for word, inner in schema.items():
        if word in ("properties", "$defs") and _is_object(inner):
            found[word] = {name: _required(item) if _is_object(item) else item for name, item in inner.items()}
        elif word in ("anyOf", "oneOf", "allOf", "prefixItems") and _is_array(inner):
            found[word] = [_required(item) if _is_object(item) else item for item in inner]
        elif word in ("items", "additionalProperties") and _is_object(inner):
            found[word] = _required(inner)
        elif word != "default":
            found[word] = inner
    values = found.get("enum")
    if "type" not in found and _is_array(values):
        found["type"] = enum_type(values)
    properties = found.get("properties")
    return {**found, "required": list(properties)} if _is_object(properties) else found


def enum_type(values: Sequence[object]) -> str | tuple[str, ...]:
    """Return the `type` of the values of an `enum`, one or several: msgspec writes none, and strict modes want one."""
    # 400 invalid_json_schema: "schema must have a 'type' key", for {"enum": ["bug", "security"]}
    # (https://github.com/openclaw/clawpatch/issues/60, 2026-05)
    found = tuple(dict.fromkeys(map(_json_type, values)))
    return found[0] if len(found) == 1 else found


def _json_type(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "array" if _is_array(value) else "object"


def _closed(schema: object) -> object:
    """Return a schema in which every object with named properties refuses others, unless it says so itself."""
    if _is_object(schema):
        return _closed_object(schema)
    return [_closed(item) for item in schema] if _is_array(schema) else schema


def _closed_object(schema: JsonObject) -> dict[str, object]:
    inner = {key: _closed(item) for key, item in schema.items()}
    if _is_object(inner.get("properties")) and inner.get("type") == "object":
        inner.setdefault("additionalProperties", False)
    return inner


def _described(schema: JsonObject, texts: Mapping[str, Mapping[str, str]]) -> JsonObject:
    """Return a closed schema with the `Annotated[…, "text"]` descriptions of its objects, found by their titles."""
    root = _closed_object(schema)
    definitions = root.get("$defs")
    for part in (root, *(definitions.values() if _is_object(definitions) else ())):
        properties = part.get("properties") if _is_object(part) else None
        if not _is_object(part) or not _is_object(properties):
            continue
        described = texts.get(str(part.get("title")), {})
        for name, inner in properties.items():
            if name in described and isinstance(inner, dict):
                inner.setdefault("description", described[name])  # pyright: ignore[reportUnknownMemberType]
    return root


def _msgspec_schema(kind: object) -> JsonObject:
    schemas, found = msgspec.json.schema_components((kind,), ref_template=_REF)
    return _with_root({**schemas[0], "$defs": found} if found else schemas[0])


def _with_root(schema: JsonObject) -> JsonObject:
    """Return a schema with an object at its root where it has a reference to one: providers want the object."""
    given = schema.get("$defs")
    definitions = dict(given) if _is_object(given) else {}
    root: JsonObject = {word: value for word, value in schema.items() if word != "$defs"}
    name = str(root.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions and len(root) == 1:
        referred = _mentions(definitions, _REF.format(name=name))
        inlined = definitions[name] if referred else definitions.pop(name)
        assert _is_object(inlined)
        root = inlined
    return {**root, "$defs": definitions} if definitions else root


def _mentions(schema: object, reference: str) -> bool:
    if _is_object(schema):
        return schema.get("$ref") == reference or any(_mentions(item, reference) for item in schema.values())
    return _is_array(schema) and any(_mentions(item, reference) for item in schema)


def _pydantic_adapter(kind: object) -> _Adapter | None:
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not any(_is_model(found) for found in _mentioned(kind, set())):
        return None
    make: Callable[[object], _Adapter] = pydantic.TypeAdapter
    try:
        return make(kind)
    except Exception as fault:  # noqa: BLE001 - pydantic's own errors share no base with a type that it cannot read
        raise SchemaFault(f"{type_name(kind)} has no JSON schema: {fault}") from None


def _is_model(kind: object) -> bool:
    # Models and pydantic's own dataclasses carry it; other classes do not.
    return isinstance(kind, type) and "__pydantic_core_schema__" in vars(kind)


def _mentioned(kind: object, seen: set[int]) -> Iterator[object]:
    """Iterate a type, its arguments and the types of its fields, each once."""
    if id(kind) in seen:
        return
    seen.add(id(kind))
    yield kind
    for inner in (*get_args(kind), *_hints(kind).values()):
        yield from _mentioned(inner, seen)


def _hints(kind: object) -> Mapping[str, object]:
    """Return the types of a class's fields; nothing for what has none, or none that can be resolved."""
    if not isinstance(kind, type) or kind.__module__ == "builtins" or _is_model(kind):
        return {}
    try:
        return get_type_hints(kind, include_extras=True)
    except Exception:  # noqa: BLE001 - a name that cannot be resolved is msgspec's to report, with its own words
        return {}


def _texts(kind: object) -> Mapping[str, Mapping[str, str]]:
    """Return the descriptions that fields have as `Annotated[type, "text"]`, by the name of their class."""
    found: dict[str, Mapping[str, str]] = {}
    for inner in list(_mentioned(kind, set())):
        names = _json_names(inner)
        hints = _hints(inner).items()
        texts = {names.get(name, name): text for name, hint in hints if (text := annotated_text(hint)) is not None}
        if texts:
            found[str(getattr(inner, "__name__", ""))] = texts
    return found


def _json_names(kind: object) -> Mapping[str, str]:
    """Return the names that a struct's fields have in JSON, by the names that they have in Python."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    return {}


def annotated_text(hint: object) -> str | None:
    """Return the first string among the metadata of `Annotated[…]`, also inside `NotRequired[…]` or `Required[…]`."""
    if typing.get_origin(hint) in (typing.NotRequired, typing.Required):
        return annotated_text(get_args(hint)[0])
    if typing.get_origin(hint) is not Annotated:
        return None
    return next((text for text in get_args(hint)[1:] if isinstance(text, str)), None)


def _with_integers(value: object) -> object:
    """Return JSON data with each whole number as an `int`; a type that asks for a float makes one of it."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if _is_object(value):
        return {name: _with_integers(item) for name, item in value.items()}
    return [_with_integers(item) for item in value] if _is_array(value) else value


def _msgspec_words(text: str) -> str:
    """Return msgspec's sentence with the path first: `$.a[0]: Expected …`."""
    sentence, _, path = text.rpartition(" - at `")
    return f"{path.rstrip('`')}: {sentence}" if sentence else f"$: {text}"


def _pydantic_words(fault: Exception) -> str:
    """Return the first of a validation's errors with the path first: `$.a[0]: Input should be …`."""
    errors: object = getattr(fault, "errors", None)
    found: object = errors() if callable(errors) else ()
    first = found[0] if _is_array(found) and found else None
    if not _is_object(first):
        return f"$: {fault}"
    steps = first.get("loc")
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in (steps if _is_array(steps) else ()))
    return f"${path}: {first.get('msg')}"


def _is_object(value: object) -> TypeGuard[JsonObject]:
    return isinstance(value, Mapping)


def _is_array(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, (list, tuple))
