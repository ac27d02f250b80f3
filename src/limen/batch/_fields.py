"""Unknown fields in JSON that a person wrote: refused with their path and the nearest known name (section 1)."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TypeGuard

from msgspec import inspect

from limen.contract import LlmError, codes


def wrong(path: str, words: str) -> LlmError:
    """Make the failure of a row that is wrong by itself; the message begins with the path."""
    return LlmError(f"{path}: {words}", codes.INVALID_OPTIONS, phase="resolve")


def near(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean …?` for the nearest known name, or nothing."""
    found = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Tell whether a value is a JSON object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[Sequence[object]]:
    """Tell whether a value is a JSON array."""
    return isinstance(value, list | tuple)


@cache
def described(kind: type) -> inspect.Type:
    """Return what msgspec knows of a type."""
    return inspect.type_info(kind)


def refuse_unknown(value: object, kind: inspect.Type, path: str) -> None:
    """Raise `INVALID_OPTIONS` for the first field, at any depth, that the type does not have."""
    if is_array(value):
        inner = next((one for one in _arms(kind) if isinstance(one, inspect.CollectionType)), None)
        if inner is not None:
            for index, item in enumerate(value):
                refuse_unknown(item, inner.item_type, f"{path}[{index}]")
    elif is_object(value):
        struct = _struct_for(value, kind)
        if struct is not None:
            _refuse_in(value, struct, path)


def _arms(kind: inspect.Type) -> Sequence[inspect.Type]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _struct_for(value: Mapping[str, object], kind: inspect.Type) -> inspect.StructType | None:
    """Return the struct that an object is meant to be, by its tag; `None` for free JSON."""
    for arm in _arms(kind):
        if isinstance(arm, inspect.StructType) and (arm.tag is None or value.get(arm.tag_field or "") == arm.tag):
            return arm
    return None


def _refuse_in(value: Mapping[str, object], struct: inspect.StructType, path: str) -> None:
    fields = {field.encode_name: field.type for field in struct.fields}
    for name, item in value.items():
        if name == struct.tag_field:
            continue
        if name not in fields:
            raise wrong(f"{path}.{name}", f"there is no such field{near(name, fields)}")
        refuse_unknown(item, fields[name], f"{path}.{name}")
