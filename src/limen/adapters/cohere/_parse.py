"""Framed payloads of Cohere's chat to typed values: stream events, a whole answer, the list of models.

Source of truth: https://docs.cohere.com/docs/streaming, read 2026-11-30. Nothing is said there of events to come, so
an event of an unknown type passes, as `debug` does (C15). What this adapter reads of a known one, with a type that no
variant has, is `Malformed`. `data.type` decides; the `event:` line stands in where it is missing.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import msgspec

from limen.adapters.cohere._wire import (
    Malformed,
    WireAnswer,
    WireEvent,
    WireKind,
    WireModel,
    WireModels,
    WireTokens,
    WireUsage,
)
from limen.adapters.kit import (
    UNREADABLE,
    Count,
    edited,
    first_count,
    mended,
    readable_words,
    tolerant,
    without_blanks,
    without_lone_halves,
)
from limen.contract import LlmError, ModelInfo, TooDeep, codes, loads

T = TypeVar("T")

_EVENT: Final = msgspec.json.Decoder(WireEvent)
_KIND: Final = msgspec.json.Decoder(WireKind)
_ANSWER: Final = msgspec.json.Decoder(WireAnswer)
_MODELS: Final = msgspec.json.Decoder(WireModels)
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])

_DELTAS: Final = frozenset({"content-delta", "tool-call-delta", "tool-plan-delta"})
_EVENTS: Final = _DELTAS | {
    "message-start", "message-end", "content-start", "content-end", "tool-call-start", "tool-call-end",
    "citation-start", "citation-end",
}  # fmt: skip

# A fault is quoted by its first words; what follows them is not looked at.
_QUOTED_BYTES: Final = 1024

_EMPTY: Final = frozenset({b"{}", b"[]", b'""'})
_INDEX: Final = re.compile(rb'"(\d{1,6})"')


def _decoder(kind: object) -> "msgspec.json.Decoder[object]":
    return msgspec.json.Decoder(kind)


_COUNT: Final = _decoder(Count)
# Fields of the answer that may be empty in a wrong type, which is absence (W2).
_EMPTY_PLACES: Final = tuple(
    (*place, *path)
    for place in (("delta", "message"), ("message",))
    for path in ((), ("content",), ("tool_plan",), ("tool_calls",), ("content", "text"), ("content", "thinking"))
)
# Fields beside the answer, the inner ones first, so that one odd count does not cost its neighbours.
_SIDE_PLACES: Final[tuple[tuple[tuple[str, ...], "msgspec.json.Decoder[object]"], ...]] = (
    (("id",), _decoder(str | int | None)),
    *(
        ((*place, "usage", *path), decoder)
        for place in (("delta",), ())
        for path, decoder in (
            *(((group, name), _COUNT) for group in ("tokens", "billed_units") for name in WireTokens.__struct_fields__),
            *(((group,), _decoder(WireTokens | None)) for group in ("tokens", "billed_units")),
            (("cached_tokens",), _COUNT),
            ((), _decoder(WireUsage | None)),
        )
    ),
)


def ordinary(name: str | None, payload: bytes, depth: int) -> WireEvent | None:
    """Read an event that adds to a part, a call or the plan and does nothing else, as nearly all do.

    Returns `None` for every other event, which `read_event` reads. What the fast decoder reads holds no half of a
    surrogate pair (S5), and what is shorter than so many pairs of brackets is not nested too deep (S2).
    """
    if len(payload) > 2 * depth and payload.count(b"{") + payload.count(b"[") > depth:
        return None
    try:
        event = _EVENT.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return None
    if event.type not in _DELTAS or event.error or event.delta is None or event.delta.error or name == "error":
        return None
    return event


def read_event(name: str | None, payload: bytes, depth: int, notes: list[str]) -> WireEvent | bytes | None:
    """Read an event that is not ordinary; one of an unknown type is `None`, one that tells a failure its JSON (W1).

    Bad bytes and odd fields beside the answer cost nothing but themselves (S5, C15); such fields leave sentences in
    `notes`. Raises `Malformed`.
    """
    if name == "error":
        return payload
    try:
        event = _tolerantly(partial(loads, decoder=_EVENT, depth=depth), payload, notes)
    except TooDeep as fault:
        raise _malformed(f"an event that is nested too deep ({fault})", payload) from None
    except msgspec.DecodeError as fault:
        head = tolerant(mended(payload), _KIND)
        kind = name if head is None or head.type is None else head.type
        if isinstance(fault, msgspec.ValidationError) and kind is not None and kind not in _EVENTS:
            return None
        raise _malformed(f"an event {kind or 'without a type'} that cannot be read ({fault})", payload) from None
    kind = event.type or name
    if event.error or kind == "error" or (kind is None and isinstance(event.message, str) and event.message):
        return payload
    if kind is None:
        raise _malformed("an event without a type", payload)
    event.type = kind
    return event if kind in _EVENTS else None


def read_answer(body: bytes, depth: int, notes: list[str]) -> WireAnswer:
    """Read a whole answer (S3), tolerantly as `read_event` does. Raises one of `kit.UNREADABLE`."""
    return _tolerantly(partial(loads, decoder=_ANSWER, depth=depth), body, notes)


def read_citations(raw: msgspec.Raw) -> tuple[str, ...]:
    """Return citations as they came: one of a stream, or the list of a whole answer; what is neither is none."""
    data = bytes(raw)
    if data[:1] == b"{":
        return (_text(data),)
    return tuple(_text(bytes(item)) for item in tolerant(data, _RAWS) or () if bytes(item)[:1] == b"{")


def _text(data: bytes) -> str:
    return without_blanks(data).decode("utf-8", "replace")


def _tolerantly(read: Callable[[bytes], T], payload: bytes, notes: list[str]) -> T:
    """Return what `read` makes of a payload, mended where it cannot be read, then with odd fields rewritten."""
    try:
        return read(payload)
    except msgspec.DecodeError as fault:
        first = fault
    try:
        whole = without_lone_halves(mended(payload)) if isinstance(first, msgspec.ValidationError) else mended(payload)
        try:
            return read(whole)
        except msgspec.ValidationError:
            doubts: list[str] = []
            found = read(_rewritten(without_lone_halves(whole).strip(), doubts))
    except (msgspec.DecodeError, RecursionError):
        raise first from None
    notes += doubts
    return found


def _rewritten(whole: bytes, notes: list[str]) -> bytes:
    for path in _EMPTY_PLACES:
        whole = edited(whole, path, lambda raw: b"null" if without_blanks(raw) in _EMPTY else raw)
    whole = edited(whole, ("index",), lambda raw: _INDEX.sub(rb"\1", raw))
    for path, decoder in _SIDE_PLACES:
        whole = edited(whole, path, partial(_or_unknown, decoder, ".".join(path), notes))
    return whole


def _or_unknown(decoder: "msgspec.json.Decoder[object]", path: str, notes: list[str], raw: bytes) -> bytes:
    try:
        decoder.decode(raw)
    except msgspec.DecodeError:
        notes.append(f"{path} could not be read and counts as unknown")
        return b"null"
    return raw


def _malformed(what: str, data: bytes) -> Malformed:
    return Malformed(f"{what}: {readable_words(data[:_QUOTED_BYTES])}")


def parse_models(provider: str, body: bytes) -> tuple[ModelInfo, ...]:
    """Read `{"models": [{"name", "context_length", "features", …}]}`; a row without a name is passed over.

    Raises `INVALID_CATALOG` for anything else. Of modalities only that images are taken is said there.
    """
    try:
        models = loads(body, _MODELS).models
    except UNREADABLE as fault:
        what = f"the model list of {provider} cannot be read ({fault}): {readable_words(body[:_QUOTED_BYTES])}"
        raise LlmError(what, codes.INVALID_CATALOG) from None
    return tuple(_model(provider, model.name, model) for model in models if model.name)


def _model(provider: str, name: str, model: WireModel) -> ModelInfo:
    sees = "vision" in (model.features or ())
    window = first_count(model.context_length)
    return ModelInfo(
        provider, name, name, input_modalities=("text", "image") if sees else None, context_window=window or None
    )
