"""Conversion of plain data to typed values, with faults in a configuration's words."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from limen.config._errors import Fault, KeyPath
from limen.config._schema import TABLES, RouteSettings, RouteTable

T = TypeVar("T")

# In the order in which one writes them.
_ROUTE_KEYS: Final = tuple(dict.fromkeys(("adapter", *RouteSettings.__struct_fields__, *RouteTable.__struct_fields__)))

# Fields that take one of a few words, for the message about another one.
_WORDS: Final[Mapping[str, str]] = {"mode": "; it is normal or always", "input": "; it lists text and image"}


def known_keys(path: KeyPath) -> Sequence[str]:
    """Return the keys that a table of `limen.toml` may have."""
    names = [step for step in path if isinstance(step, str)]
    return TABLES[names[-1]].__struct_fields__ if names[-1] in TABLES else _ROUTE_KEYS


def convert(value: object, kind: type[T], path: KeyPath, known: Callable[[KeyPath], Sequence[str]] = known_keys) -> T:
    """Return a value as `kind`, or raise `Fault` with the key path; `known` lists a table's keys for messages."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        words = str(error)
    raise _fault(words, path, known)


def near(name: str, known: Sequence[str]) -> str:
    """Return words that name the nearest known key, or nothing where none is near."""
    found = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {found[0]}?" if found else ""


def _fault(words: str, path: KeyPath, known: Callable[[KeyPath], Sequence[str]]) -> Fault:
    """Restate msgspec's "Expected `float`, got `str` - at `$.timeouts.connect`" with the whole key path."""
    message, _, place = words.partition(" - at `$")
    # A key of a free table is not named: `$.headers[...]`.
    steps = re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", place.replace("[...]", ""))
    where: KeyPath = (*path, *(int(index) if index else name for name, index in steps))
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message, re.DOTALL)
    if unknown is not None:
        keys = known(where)
        listed = f"; known here: {', '.join(keys)}{near(unknown[1], keys)}" if keys else ""
        return Fault(f"unknown key{listed}", (*where, unknown[1]))
    missing = re.fullmatch(r"Object missing required field `(.*)`", message)
    if missing is not None:
        return Fault(f"{missing[1]} is missing", where)
    words = message.replace("`", "").replace("Expected", "expected").replace("Invalid enum value", "unknown word")
    names = [step for step in where if isinstance(step, str)]
    return Fault(words + _WORDS.get(names[-1] if names else "", ""), where)
