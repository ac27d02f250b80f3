"""A tool's output as the content of a result: text as it is, blocks as they are, data as bounded JSON (X5)."""

import dataclasses
import json
import math
import sys
from collections.abc import Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple, Protocol, TypeAlias
from uuid import UUID

import msgspec

from limen.contract import ImageBlock, TextBlock, replace_surrogates

TRUNCATED: Final = "\n[Tool output truncated]"
DEFAULT_MAX_OUTPUT: Final = 32_768
"""Code points of one result, the mark included."""

DEPTH_MAX: Final = 32
"""Levels of nesting that are written; what is deeper is cut at the mark."""

# Values looked at after the cut, for faults: shared parts can make a small value endless to walk.
_NODES_AFTER_CUT: Final = 10_000

# Text and images of one result. A list that is not a plain one may never come to its last.
_BLOCKS_MAX: Final = 1_000

# Keys are sorted before the first is written, and a foreign mapping may never come to its last.
_KEYS_MAX: Final = 100_000

Content: TypeAlias = str | tuple[TextBlock | ImageBlock, ...]


class NotData(ValueError):
    """An output that is no data: a cycle, NaN, bytes, a set, a key that is no string, a foreign object."""


def check_max_output(max_output: object) -> None:
    """Raise `ValueError` unless it is a whole number of code points that the mark fits into."""
    if type(max_output) is not int or max_output <= len(TRUNCATED):
        raise ValueError(f"max_output is a whole number of code points above {len(TRUNCATED)}, got {max_output!r}")


def content_of(output: object, max_output: int) -> Content:
    """Return an output as a result's content of at most `max_output` code points; `NotData` where it is none.

    A string stays as it is; text and image blocks, one or a list of them, stay blocks (the bound is that of their
    text together); anything else becomes JSON with sorted keys, at most 32 levels deep. What is over is cut, and
    `\\n[Tool output truncated]` stands at the end.
    """
    if isinstance(output, str):
        return _cut(str.__str__(output), max_output)
    blocks = _blocks(output)
    if blocks is not None:
        return _cut_blocks(blocks, max_output)
    writer = _Writer(max_output)
    writer.write(output)
    text = replace_surrogates("".join(writer.parts))
    return text[: max_output - len(TRUNCATED)] + TRUNCATED if writer.cut else text


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - len(TRUNCATED)] + TRUNCATED


def _blocks(output: object) -> tuple[TextBlock | ImageBlock, ...] | None:
    if isinstance(output, (TextBlock, ImageBlock)):
        return (output,)
    if not isinstance(output, (list, tuple)) or not output:
        return None
    found: list[TextBlock | ImageBlock] = []
    for item in islice(output, _BLOCKS_MAX + 1):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if not isinstance(item, (TextBlock, ImageBlock)):
            return None
        found.append(item)
    return tuple(found)


def _cut_blocks(blocks: tuple[TextBlock | ImageBlock, ...], limit: int) -> Content:
    for block in blocks:
        _check_block(block)
    length = sum(len(block.text) for block in blocks if isinstance(block, TextBlock))
    if length <= limit and len(blocks) <= _BLOCKS_MAX:
        return blocks
    kept: list[TextBlock | ImageBlock] = []
    left = limit - len(TRUNCATED)
    for block in blocks[: _BLOCKS_MAX - 1]:
        if isinstance(block, TextBlock):
            if len(block.text) >= left:
                return (*kept, TextBlock(block.text[:left] + TRUNCATED))
            left -= len(block.text)
        kept.append(block)
    return (*kept, TextBlock(TRUNCATED))


def _check_block(block: TextBlock | ImageBlock) -> None:
    # A struct's fields are not checked when it is made, and what is no block breaks the next request.
    if isinstance(block, TextBlock):
        text: object = block.text
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotData("a text block whose text is no string")
        return
    fields: tuple[tuple[str, object, type], ...] = (
        ("media_type", block.media_type, str), ("data", block.data, bytes), ("url", block.url, str),
    )  # fmt: skip
    for name, value, kind in fields:
        if value is not None and not isinstance(value, kind):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotData(f"an image block whose {name} is a {type(value).__name__}")


class _Level(NamedTuple):
    """An array or object that is being written: what is left of it, how it ends, and the value it is the JSON of."""

    items: Iterator[tuple[str, object]]
    end: str
    value: object


class _Writer:
    """JSON of one value, written without recursion; past a bound it goes on looking for faults, and writes nothing."""

    def __init__(self, limit: int) -> None:
        self.parts: list[str] = []
        self.cut = False
        self._limit = limit
        self._written = 0
        self._nodes_left = _NODES_AFTER_CUT
        self._levels: list[_Level] = []
        self._path: set[int] = set()

    def write(self, value: object) -> None:
        """Write a whole value; raises `NotData`."""
        self._value(value)
        while self._levels and self._nodes_left > 0:
            level = self._levels[-1]
            pair = next(level.items, None)
            if pair is None:
                self._levels.pop()
                self._path.discard(id(level.value))
                self._text(level.end)
                continue
            before, item = pair
            self._text(before)
            self._value(item)

    def _text(self, text: str) -> None:
        if self.cut:
            return
        self.parts.append(text)
        self._written += len(text)
        self.cut = self._written > self._limit

    def _value(self, value: object) -> None:
        self._nodes_left -= self.cut
        origin, value = value, _plain(value)
        if value is None or isinstance(value, bool):
            self._text("null" if value is None else "true" if value else "false")
        elif isinstance(value, str):
            # Cut before it is escaped, so that the work is bounded by what is written.
            self._text(_quoted(str.__str__(value)[: self._limit + 1]))
        elif isinstance(value, int):
            self._text(int.__repr__(value))
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise NotData(f"{value}, which JSON has no word for")
            self._text(float.__repr__(value))
        else:
            self._container(value, origin)

    def _container(self, value: object, origin: object) -> None:
        if isinstance(value, Mapping):
            begin, end, items = "{", "}", _members(value)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, (list, tuple)):
            begin, end, items = "[", "]", _elements(value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            raise NotData(f"a {type(value).__name__}, which is not data")
        if id(origin) in self._path:
            raise NotData("a value that contains itself")
        if len(self._levels) >= DEPTH_MAX:
            self.cut = True
        self._text(begin)
        self._path.add(id(origin))
        self._levels.append(_Level(items, end, origin))


def _members(value: Mapping[object, object]) -> Iterator[tuple[str, object]]:
    names: list[str] = []
    for key in islice(value, _KEYS_MAX + 1):
        if not isinstance(key, str):
            raise NotData(f"a key that is a {type(key).__name__}, not a string")
        names.append(key)
    if len(names) > _KEYS_MAX:
        raise NotData(f"an object of more than {_KEYS_MAX} keys")
    names.sort()
    for index, name in enumerate(names):
        yield f"{',' if index else ''}{_quoted(str.__str__(name))}:", value[name]


def _elements(value: list[object] | tuple[object, ...]) -> Iterator[tuple[str, object]]:
    for index, item in enumerate(value):
        yield "," if index else "", item


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _plain(value: object) -> object:
    """Return a value of the common data types as JSON data: one level of it, the levels below as they are."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (UUID, Decimal)):
        return str(value)
    if isinstance(value, msgspec.Struct):
        return _struct_data(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return _model_data(value)


def _struct_data(value: msgspec.Struct) -> dict[str, object]:
    """Return a struct's fields under the names that they have in JSON, with the tag that tells it from its siblings."""
    config = value.__struct_config__
    tag: dict[str, object] = {} if config.tag_field is None else {config.tag_field: config.tag}
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    fields = ((encoded, getattr(value, name)) for encoded, name in names)
    return tag | {encoded: field for encoded, field in fields if field is not msgspec.UNSET}


def _model_data(value: object) -> object:
    pydantic = sys.modules.get("pydantic")
    base: type[_Model] | None = None if pydantic is None else pydantic.BaseModel
    return value.model_dump(mode="json") if base is not None and isinstance(value, base) else value


class _Model(Protocol):
    """The part of `pydantic.BaseModel` that is used here."""

    def model_dump(self, *, mode: str) -> object: ...
