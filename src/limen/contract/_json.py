"""JSON: immutable containers, and the only encoder and decoder of untrusted bytes.

`freeze` makes data immutable (dict to `FrozenDict`, list to `FrozenList`). `loads` reads untrusted bytes within a
depth limit (S2) and accepts the lone surrogate escapes that JSON allows (S5).

Pyright does not know the members of an `object` narrowed to a list or a mapping; the lines that it reports are
marked, and only pass such a member on as an `object`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")
V = TypeVar("V")

JsonObject: TypeAlias = Mapping[str, object]

MAX_DEPTH: Final = 128


class FrozenDict(dict[str, V]):
    """Immutable, hashable dict, equal to a plain dict of the same content."""

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this mapping is immutable")

    if not TYPE_CHECKING:  # pragma: no branch
        # Type checkers see dict's own methods; at run time each one raises.
        __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override] # dict has no hash because it is mutable; this is not
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type["FrozenDict[V]"], tuple[dict[str, V]]]:
        return (FrozenDict, (dict(self),))

    def __copy__(self) -> "FrozenDict[V]":
        return self

    def __deepcopy__(self, memo: object) -> "FrozenDict[V]":
        return self


class FrozenList(tuple[object, ...]):
    """Immutable JSON array: a tuple that is equal to a plain list of the same content too."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            return super().__eq__(tuple(other))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple[object, ...].__hash__


def freeze(value: object, depth: int = 0) -> object:
    """Return a deeply immutable copy of JSON-like data; immutable data is returned as it is.

    Raises `ValueError` past 128 levels (a cycle too) and for a key that is no string.
    """
    if isinstance(value, FrozenDict):
        return value  # pyright: ignore[reportUnknownVariableType] - its values were frozen when it was made
    if isinstance(value, (list, tuple)):
        _check_depth(depth)
        return FrozenList([freeze(item, depth + 1) for item in value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, Mapping):
        return freeze_object(value, depth)  # pyright: ignore[reportUnknownArgumentType]
    return value


def freeze_object(value: Mapping[Any, object], depth: int = 0) -> "FrozenDict[object]":
    """Return a mapping as a deeply immutable one; see `freeze`."""
    if isinstance(value, FrozenDict):
        return value
    _check_depth(depth)
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"a JSON object's keys are strings, got {type(key).__name__}")
    return FrozenDict({key: freeze(item, depth + 1) for key, item in value.items()})


def _check_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise ValueError(f"the value is nested more than {MAX_DEPTH} levels deep")


def json_fault(value: object, path: str = "$") -> str | None:
    """Return the place and kind of data that is not JSON (a NaN, an infinity, a foreign object), or `None` (Q8)."""
    if value is None or isinstance(value, (str, bool, int)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{path} is {value}, which JSON has no word for"
    for key, item in _items(value, path):
        fault = json_fault(item, key)
        if fault is not None:
            return fault
    if isinstance(value, (Mapping, list, tuple)):
        return None
    return f"{path} is a {type(value).__name__}, which is not JSON"


def _items(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield f"{path}.{key}", item
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield f"{path}[{index}]", item


def replace_surrogates(text: str) -> str:
    """Return the text with each lone surrogate as U+FFFD, so that it can be UTF-8 (Q8)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def dumps(value: object) -> bytes:
    """Return JSON bytes for a wire body; lone surrogates become U+FFFD (Q8)."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # msgspec refuses lone surrogates; here they are replaced before it encodes. Raw JSON is passed through.
        plain: object = msgspec.to_builtins(value, builtin_types=(msgspec.Raw,))
        return msgspec.json.encode(_replaced(plain))


def _replaced(value: object) -> object:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, Mapping):
        return {replace_surrogates(str(key)): _replaced(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return [_replaced(item) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value


def dumps_lossless(value: object) -> bytes:
    """Return JSON bytes that read back equal: a lone surrogate is written as its escape."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        import json

        return json.dumps(msgspec.to_builtins(value), ensure_ascii=True, separators=(",", ":")).encode()


class TooDeep(ValueError):
    """JSON document nested deeper than the limit (S2)."""


def loads(data: bytes | str, decoder: "msgspec.json.Decoder[T]", *, depth: int = MAX_DEPTH) -> T:
    """Read untrusted JSON into the decoder's type.

    Raises `msgspec.DecodeError` (not JSON), `msgspec.ValidationError` (JSON of another shape; a subclass of the
    first) or `TooDeep`. A payload with at most `depth` brackets needs no scan (S2); a string with lone surrogate
    escapes, which the fast decoder refuses, is read by the standard one (S5).
    """
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if len(raw) > depth and raw.count(b"{") + raw.count(b"[") > depth:
        check_depth(raw, depth)
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"\\u" not in raw:
            raise
        return _loads_slowly(raw, decoder)
    except RecursionError:
        raise TooDeep(f"JSON is nested deeper than {depth} levels") from None


def _loads_slowly(raw: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    import json

    try:
        plain: object = json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise msgspec.DecodeError("the text is not JSON") from None
    try:
        found: T = msgspec.convert(plain, type=decoder.type, strict=decoder.strict, dec_hook=decoder.dec_hook)
    except UnicodeEncodeError:
        # msgspec cannot look up a key that is no UTF-8; no field has such a name.
        found = msgspec.convert(_replaced(plain), type=decoder.type, strict=decoder.strict, dec_hook=decoder.dec_hook)
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Kept as text, which `re` compiles once, at first use: few documents have that many brackets.
_STRINGS: Final = rb'(?s)"(?:[^"\\]|\\.)*+"'
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"{}[]")


def check_depth(raw: bytes, limit: int) -> None:
    """Raise `TooDeep` if brackets outside strings nest deeper than the limit; linear in the input."""
    depth = 0
    for byte in re.sub(_STRINGS, b"", raw).translate(None, _NO_BRACKETS):
        if byte in (0x7B, 0x5B):
            depth += 1
            if depth > limit:
                raise TooDeep(f"JSON is nested deeper than {limit} levels")
        else:
            depth -= 1
