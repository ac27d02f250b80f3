"""Framed payloads of Bedrock Converse to typed values: stream events, or a whole answer.

The name of an event stands in the frame's header `:event-type`; events of other names are passed over, and so are
blocks of kinds unknown here (C15). What this adapter reads, with a type that no variant has, is `MALFORMED_RESPONSE`.
"""

from base64 import b64decode
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from limen.adapters.bedrock._wire import (
    CallStarted,
    Counted,
    Event,
    ImageStarted,
    ItemDelta,
    ItemStarted,
    Malformed,
    Metadata,
    Started,
    Stopped,
    WireAnswer,
    WireBlockDelta,
    WireBlockStart,
    WireImage,
    WireMetadata,
    WireRawBlockDelta,
    WireRawDelta,
    WireStart,
    WireStop,
    WireToolUse,
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
from limen.contract import loads

S = TypeVar("S")

_DELTA: Final = msgspec.json.Decoder(WireBlockDelta)
_RAW_DELTA: Final = msgspec.json.Decoder(WireRawBlockDelta)
_START: Final = msgspec.json.Decoder(WireBlockStart)
_STOP: Final = msgspec.json.Decoder(WireStop)
_METADATA: Final = msgspec.json.Decoder(WireMetadata)
_ANSWER: Final = msgspec.json.Decoder(WireAnswer)
_IMAGE: Final = msgspec.json.Decoder(WireImage)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_STRING: Final = msgspec.json.Decoder(str)
_COUNT: Final = msgspec.json.Decoder(Count)

_QUOTED_BYTES: Final = 1024
_EMPTY: Final = frozenset({b"{}", b"[]", b'""'})
# Fields that may be empty in another form than null (W2).
_EMPTY_PLACES: Final = (
    ("delta",),
    *(("delta", name) for name in ("text", "toolUse", "reasoningContent")),
    ("start",),
    ("start", "toolUse"),
    ("output",),
    ("output", "message"),
    ("output", "message", "content"),
)
_MEDIA: Final = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


def malformed(what: str, data: bytes) -> Malformed:
    """Make the failure of a part of an answer, quoting its first readable words."""
    return Malformed(f"{what}: {readable_words(data[:_QUOTED_BYTES])}")


def ordinary(name: str, payload: bytes, depth: int) -> WireBlockDelta | None:
    """Read an event that is a delta of text, reasoning or arguments and nothing else, as nearly all are.

    Returns `None` for every other event, which `rare` reads. What the fast decoder reads holds no half of a surrogate
    pair (S5), and what is shorter than so many pairs of brackets is not nested too deep (S2).
    """
    if name != "contentBlockDelta" or (len(payload) > 2 * depth and payload.count(b"{") + payload.count(b"[") > depth):
        return None
    try:
        event = _DELTA.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return None
    delta = event.delta
    return None if delta is None or delta.toolResult is not None or delta.image is not None else event


def rare(name: str, payload: bytes, depth: int, notes: list[str]) -> Event | None:
    """Read an event that is not ordinary; one of an unknown kind is `None` (C15). Raises `Malformed`.

    Bad bytes and odd fields beside the answer cost nothing but themselves (S5); such fields leave sentences in `notes`.
    """
    match name:
        case "messageStart":
            return Started()
        case "contentBlockDelta":
            return _delta(payload, depth)
        case "contentBlockStop":
            return WireBlockDelta(_read(payload, _DELTA, depth, name).contentBlockIndex)
        case "contentBlockStart":
            return _start(_read(payload, _START, depth, name), payload)
        case "messageStop":
            stop = _read(payload, _STOP, depth, name)
            return Stopped(stop.stopReason or None, _stop_sequence(stop.additionalModelResponseFields))
        case "metadata":
            return Metadata(counted(_read(payload, _METADATA, depth, name).usage, notes))
        case _:
            return None


def _delta(payload: bytes, depth: int) -> Event | None:
    event = _read(payload, _DELTA, depth, "contentBlockDelta")
    delta = event.delta
    if delta is None:
        return None
    if delta.toolResult is None and delta.image is None:
        return event
    found = _read(payload, _RAW_DELTA, depth, "contentBlockDelta").delta or WireRawDelta()
    source = None if found.image is None else found.image.source
    data = b"" if source is None else base64_bytes(source.bytes or "", payload)
    return ItemDelta(event.contentBlockIndex, tuple(_text(bytes(raw)) for raw in found.toolResult or ()), data)


def _start(event: WireBlockStart, payload: bytes) -> Event | None:
    start, index = event.start or WireStart(), event.contentBlockIndex
    if start.toolUse is not None:
        return call_started(start.toolUse, index, payload)
    if start.toolResult:
        return ItemStarted(index, _text(bytes(start.toolResult)))
    if start.image:
        found = tolerant(bytes(start.image), _IMAGE)
        return ImageStarted(index, media_type(None if found is None else found.format))
    return None


def call_started(call: WireToolUse, index: int | None, payload: bytes) -> CallStarted:
    """Read the start of a call, which has a name."""
    if not call.name:
        raise malformed("a tool call without a name", payload)
    identifier = "" if call.toolUseId is None else str(call.toolUseId)
    return CallStarted(index, identifier, call.name, None if call.type in (None, "", "tool_use") else call.type)


def media_type(form: str | None) -> str:
    """Return the media type of an image's format."""
    return _MEDIA.get((form or "").lower(), f"image/{form}" if form else "image/png")


def base64_bytes(text: str, payload: bytes) -> bytes:
    """Return the bytes of a base64 text; anything else is `Malformed`."""
    try:
        return b64decode(text, validate=True)
    except ValueError as fault:
        raise malformed(f"bytes that are not base64 ({fault})", payload) from None


def arguments(call: WireToolUse, payload: bytes) -> str:
    """Return a whole call's input, white space outside strings removed (C8); none and an empty one are no text.

    A string in place of the object stands as it came.
    """
    text = _text(bytes(call.input))
    if text in ("", "null", "{}", "[]"):
        return ""
    if text.startswith('"'):
        return _read(bytes(call.input), _STRING, 128, "a tool call's input")
    if not text.startswith("{"):
        raise malformed("a tool call whose input is no object", payload)
    return text


def item_text(raw: msgspec.Raw) -> str:
    """Return a block that is kept for replay, as it came but for white space."""
    return _text(bytes(raw))


def counted(raw: msgspec.Raw, notes: list[str]) -> Counted | None:
    """Read the counts, each by itself (C15); `None` where there is none.

    `cacheDetails` splits the writes by their time to live, and stands in where the sum is missing.
    """
    if not raw or bytes(raw) == b"null":
        return None
    found = tolerant(bytes(raw), _MEMBERS)
    if found is None:
        notes.append("usage could not be read and counts as unknown")
        return None

    def count(name: str, members: dict[str, msgspec.Raw] = found) -> int | None:
        if name not in members:
            return None
        try:
            return first_count(_COUNT.decode(members[name]), notes=notes)
        except msgspec.DecodeError:
            notes.append(f"usage.{name} could not be read and counts as unknown")
            return None

    written = count("cacheWriteInputTokens")
    if written is None and "cacheDetails" in found:
        details = [tolerant(bytes(one), _MEMBERS) or {} for one in tolerant(bytes(found["cacheDetails"]), _RAWS) or ()]
        parts = [part for part in (count("inputTokens", one) for one in details) if part is not None]
        written = sum(parts) if parts else None
    usage = Counted(count("inputTokens"), count("outputTokens"), count("cacheReadInputTokens"), written)
    return None if usage == Counted() else usage


def _stop_sequence(raw: msgspec.Raw) -> str | None:
    fields = tolerant(bytes(raw), _MEMBERS) or {}
    return tolerant(bytes(fields["stop_sequence"]), _STRING) or None if "stop_sequence" in fields else None


def read_answer(body: bytes, *, depth: int) -> WireAnswer:
    """Read a whole answer (S3); raises `msgspec.DecodeError` or `TooDeep` where the body is none."""
    return _tolerantly(lambda whole: loads(whole, _ANSWER, depth=depth), body)


def whole_stop(answer: WireAnswer) -> Stopped:
    """Return how a whole answer stopped."""
    return Stopped(answer.stopReason or None, _stop_sequence(answer.additionalModelResponseFields))


def _text(data: bytes) -> str:
    return without_blanks(data).decode("utf-8", "replace")


def _read(data: bytes, decoder: "msgspec.json.Decoder[S]", depth: int, what: str) -> S:
    try:
        return _tolerantly(lambda whole: loads(whole, decoder, depth=depth), data)
    except msgspec.ValidationError as fault:
        raise malformed(f"{what} of another shape ({fault})", data) from None
    except UNREADABLE as fault:
        raise malformed(f"{what} that cannot be read ({fault})", data) from None


def _tolerantly(read: Callable[[bytes], S], payload: bytes) -> S:
    """Return what `read` makes of a payload; where it fails, of the payload mended, and then with odd fields rewritten.

    Where nothing helps, the first failure is raised. A payload that is too deep is not tried again.
    """
    try:
        return read(payload)
    except msgspec.DecodeError as fault:
        first = fault
    try:
        whole = mended(payload)
        try:
            return read(whole)
        except msgspec.DecodeError:
            return read(_rewritten(whole))
    except (msgspec.DecodeError, RecursionError):
        raise first from None


def _rewritten(payload: bytes) -> bytes:
    whole = without_lone_halves(payload).strip()
    for path in _EMPTY_PLACES:
        whole = edited(whole, path, lambda raw: b"null" if without_blanks(raw) in _EMPTY else raw)
    whole = edited(whole, ("contentBlockIndex",), lambda raw: raw.strip(b'"') if raw.strip(b'"').isdigit() else raw)
    whole = edited(whole, ("start", "toolUse", "type"), lambda raw: raw if raw[:1] == b'"' else b"null")
    return edited(whole, ("start", "toolUse", "toolUseId"), lambda raw: raw if raw[:1] in b'"0123456789' else b"null")
