"""Tolerance for a chunk that could not be read: bytes mended, odd fields beside the answer given up (S5, C15, W2).

Nothing of it costs an ordinary chunk anything: it begins where a plain decode has failed.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import msgspec

from limen.adapters.gemini._wire import WireFeedback, WireUsage
from limen.adapters.kit import Count, edited, mended, without_blanks, without_lone_halves

T = TypeVar("T")

_EMPTY: Final = frozenset({b"{}", b"[]", b'""'})
_COUNTS: Final = tuple(field.encode_name for field in msgspec.structs.fields(WireUsage))


def _decoder(kind: object) -> "msgspec.json.Decoder[object]":
    return msgspec.json.Decoder(kind)


_TEXT: Final = _decoder(str | None)
_NUMBER: Final = _decoder(Count)
# Empty in another type is empty (W2).
_EMPTY_PLACES: Final[Sequence[tuple[str, ...]]] = (
    ("candidates",),
    ("candidates", "*", "content"),
    ("candidates", "*", "content", "parts"),
    ("promptFeedback",),
    ("usageMetadata",),
)
# Fields beside the answer: one that cannot be read is unknown and costs nothing else. Inner ones come first, so that
# one odd count does not cost its neighbours.
_SIDE_PLACES: Final[Sequence[tuple[tuple[str, ...], msgspec.json.Decoder[object]]]] = (
    *((("usageMetadata", name), _NUMBER) for name in _COUNTS),
    (("usageMetadata",), _decoder(WireUsage | None)),
    (("promptFeedback", "blockReasonMessage"), _TEXT),
    (("promptFeedback",), _decoder(WireFeedback | None)),
    (("modelVersion",), _TEXT),
    (("responseId",), _decoder(str | int | None)),
    (("candidates", "*", "finishMessage"), _TEXT),
    (("candidates", "*", "continuationToken"), _TEXT),
    (("candidates", "*", "content", "parts", "*", "thoughtSignature"), _TEXT),
)


def tolerantly(read: Callable[[bytes], T], payload: bytes, notes: list[str]) -> T:
    """Return what `read` makes of a payload; where it fails, of the payload mended, and then with odd fields rewritten.

    A field that is given up leaves a sentence in `notes`. Where nothing helps, the first failure is raised.
    """
    try:
        return read(payload)
    except msgspec.DecodeError as fault:
        first = fault
    doubts: list[str] = []
    try:
        whole = mended(payload)
        try:
            return read(whole)
        except msgspec.DecodeError:
            found = read(_rewritten(whole, doubts))
    except (msgspec.DecodeError, RecursionError):
        raise first from None
    notes += doubts
    return found


def _rewritten(payload: bytes, notes: list[str]) -> bytes:
    whole = without_lone_halves(payload).strip()
    for path in _EMPTY_PLACES:
        whole = edited(whole, path, lambda raw: b"null" if without_blanks(raw) in _EMPTY else raw)
    for path, decoder in _SIDE_PLACES:
        whole = edited(whole, path, partial(_or_unknown, decoder, path, notes))
    return whole


def _or_unknown(decoder: "msgspec.json.Decoder[object]", path: Sequence[str], notes: list[str], raw: bytes) -> bytes:
    try:
        decoder.decode(raw)
    except msgspec.DecodeError:
        notes.append(f"{'.'.join(path)} could not be read and counts as unknown")
        return b"null"
    return raw
