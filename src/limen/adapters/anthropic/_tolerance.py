"""Tolerance for a Messages payload that could not be read: bytes mended, retyped fields made readable (S5, C15, W2).

Nothing of it costs an ordinary event anything: it begins where a plain decode has failed. Seen in the field: NQ324 (a
`NaN` in a field nobody reads), counts as strings, `usage: []`, `input: []` or a string, an `index` in quotes.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import msgspec

from limen.adapters.anthropic._wire import (
    Malformed,
    WireCacheCreation,
    WireIteration,
    WireKind,
    WireOutputDetails,
    WireStopDetails,
    WireUsage,
)
from limen.adapters.kit import Count, edited, mended, tolerant, without_blanks, without_lone_halves

T = TypeVar("T")

_EMPTY: Final = frozenset({b"{}", b"[]", b'""'})
_INDEX: Final = re.compile(rb'"(\d{1,6})"')

_MESSAGES: Final = (("message",), ())
_BLOCKS: Final = (("content_block",), ("message", "content", "*"), ("content", "*"))
_TEXTS: Final = ("text", "thinking", "partial_json", "signature", "name")
# The field that carries the answer, by the kind of a delta or block; every other text in it is beside the answer.
_OWN: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": None,
    "text": "text",
    "thinking": "thinking",
    "tool_use": "name",
}


def _decoder(kind: object) -> "msgspec.json.Decoder[object]":
    return msgspec.json.Decoder(kind)


_KIND: Final = msgspec.json.Decoder(WireKind)
_TEXT: Final = _decoder(str | None)
_COUNT: Final = _decoder(Count)

_EMPTY_PLACES: Final = (
    ("delta",),
    *(("delta", name) for name in ("text", "thinking", "partial_json")),
    *((*place, "content") for place in _MESSAGES),
    *((*place, name) for place in _BLOCKS for name in ("text", "thinking")),
)
# Fields beside the answer: one that cannot be read is unknown and costs nothing else. Inner ones come first, so that
# one odd count does not cost its neighbours.
_SIDE_PLACES: Final[tuple[tuple[tuple[str, ...], "msgspec.json.Decoder[object]"], ...]] = (
    *(((*place, name), _TEXT) for place in _MESSAGES for name in ("id", "model")),
    # A message that begins has no reason to stop yet; that of a whole answer and of message_delta is no side field.
    *((("message", name), _TEXT) for name in ("type", "stop_reason")),
    *(((*place, "id"), _decoder(str | int | None)) for place in _BLOCKS),
    *(((*place, "citations"), _decoder(list[object] | None)) for place in _BLOCKS),
    *(
        ((*place, *path), decoder)
        for place in (("delta",), *_MESSAGES)
        for path, decoder in (
            (("stop_sequence",), _TEXT),
            *((("stop_details", name), _TEXT) for name in WireStopDetails.__struct_fields__),
            (("stop_details",), _decoder(WireStopDetails | None)),
        )
    ),
    *(
        ((*place, "usage", *path), decoder)
        for place in _MESSAGES
        for path, decoder in (
            *(((name,), _COUNT) for name in WireUsage.__struct_fields__ if name.endswith("_tokens")),
            *((("cache_creation", name), _COUNT) for name in WireCacheCreation.__struct_fields__),
            *((("output_tokens_details", name), _COUNT) for name in WireOutputDetails.__struct_fields__),
            (("cache_creation",), _decoder(WireCacheCreation | None)),
            (("output_tokens_details",), _decoder(WireOutputDetails | None)),
            (("iterations",), _decoder(list[WireIteration] | None)),
            ((), _decoder(WireUsage | None)),
        )
    ),
)


def tolerantly(read: Callable[[bytes], T], payload: bytes, notes: list[str]) -> T:
    """Return what `read` makes of a payload; where it fails, of the payload mended, and then with odd fields rewritten.

    A field that is given up leaves a sentence in `notes`. Where nothing helps, the first failure is raised: `Malformed`
    or `msgspec.DecodeError`. A payload that is too deep is not tried again.
    """
    try:
        return read(payload)
    except (msgspec.DecodeError, Malformed) as fault:
        first = fault
    doubts: list[str] = []
    try:
        whole = mended(payload)
        try:
            return read(whole)
        except (msgspec.DecodeError, Malformed):
            found = read(_rewritten(whole, doubts))
    except (msgspec.DecodeError, Malformed, RecursionError):
        raise first from None
    notes += doubts
    return found


def _rewritten(payload: bytes, notes: list[str]) -> bytes:
    whole = without_lone_halves(payload).strip()
    for path in _EMPTY_PLACES:
        whole = edited(whole, path, lambda raw: b"null" if without_blanks(raw) in _EMPTY else raw)
    whole = edited(whole, ("index",), lambda raw: _INDEX.sub(rb"\1", raw))
    whole = edited(whole, ("delta", "partial_json"), _object_as_string)
    for path in (("delta",), *_BLOCKS):
        whole = edited(whole, path, partial(_without_foreign, path, notes))
    for path, decoder in _SIDE_PLACES:
        whole = edited(whole, path, partial(_or_unknown, decoder, path, notes))
    return whole


def _object_as_string(raw: bytes) -> bytes:
    return msgspec.json.encode(without_blanks(raw).decode()) if raw[:1] == b"{" else raw


def _without_foreign(path: Sequence[str], notes: list[str], raw: bytes) -> bytes:
    """Give up unreadable texts that the kind of a delta or block does not have."""
    found = tolerant(raw, _KIND)
    kind = None if found is None else found.type
    if kind is None or kind not in _OWN:
        return raw
    for name in _TEXTS:
        if name != _OWN[kind]:
            raw = edited(raw, (name,), partial(_or_unknown, _TEXT, (*path, name), notes))
    return raw


def _or_unknown(decoder: "msgspec.json.Decoder[object]", path: Sequence[str], notes: list[str], raw: bytes) -> bytes:
    try:
        decoder.decode(raw)
    except msgspec.DecodeError:
        notes.append(f"{'.'.join(path)} could not be read and counts as unknown")
        return b"null"
    return raw
