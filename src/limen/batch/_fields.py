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


class Shape:
    """Fields that JSON of a type may have, at every depth: made once for a type, so that each row costs a look-up.

    `fields` are of an object, `tags` the objects that a union chooses from by `tag_field`, `item` is of an array. What
    has none of them is free, such as a schema.
    """

    __slots__ = ("fields", "item", "tag_field", "tags")

    def __init__(self) -> None:
        self.fields: dict[str, Shape | None] = {}
        self.tags: dict[str, Shape] = {}
        self.tag_field = ""
        self.item: Shape | None = None


@cache
def shape_of(kind: type) -> Shape | None:
    """Return the shape of a type."""
    return _shape(inspect.type_info(kind))


def _shape(kind: inspect.Type) -> Shape | None:
    made, known = Shape(), False
    for arm in kind.types if isinstance(kind, inspect.UnionType) else (kind,):
        if isinstance(arm, inspect.CollectionType):
            made.item, known = _shape(arm.item_type), True
        elif isinstance(arm, inspect.StructType):
            inner, known = made, True
            if arm.tag_field is not None:
                inner = made.tags[str(arm.tag)] = Shape()
                inner.fields[arm.tag_field], made.tag_field = None, arm.tag_field
            inner.fields |= {field.encode_name: _shape(field.type) for field in arm.fields}
    return made if known else None


def refuse_unknown(value: object, shape: Shape | None, path: str) -> None:
    """Raise `INVALID_OPTIONS` for the first field, at any depth, that the shape does not have."""
    if shape is None:
        return
    if is_array(value):
        if shape.item is not None:
            for index, item in enumerate(value):
                refuse_unknown(item, shape.item, f"{path}[{index}]")
    elif is_object(value):
        fields = shape.fields
        if shape.tags:
            chosen = shape.tags.get(str(value.get(shape.tag_field)))
            if chosen is None:
                return  # the decoder refuses an unknown tag in its own words
            fields = chosen.fields
        for name, item in value.items():
            if name not in fields:
                raise wrong(f"{path}.{name}", f"there is no such field{near(name, fields)}")
            inner = fields[name]
            if inner is not None:
                refuse_unknown(item, inner, f"{path}.{name}")
