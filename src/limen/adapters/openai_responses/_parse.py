"""Framed payloads of OpenAI Responses to typed values: stream events, and a whole answer.

Source of truth: https://platform.openai.com/docs/api-reference/responses-streaming, read 2026-11-30, whose list of
events grows by dozens a year: an event of an unknown type is passed over (C15), and an item of an unknown type is kept
as it came. What this adapter reads, with a type that no variant has, is `MALFORMED_RESPONSE`. `data.type` decides;
the `event:` line stands in where it is missing.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from limen.adapters.kit import (
    UNREADABLE,
    Count,
    PromptCounts,
    first_count,
    first_document,
    mended,
    readable_words,
    tolerant,
    without_blanks,
    without_lone_halves,
)
from limen.adapters.openai_responses._wire import (
    DeltaSeen,
    Event,
    Item,
    ItemKind,
    ItemSeen,
    Malformed,
    Piece,
    PieceKind,
    PieceSeen,
    Place,
    ResponseSeen,
    StreamFailed,
    WireDelta,
    WireEvent,
    WireItem,
    WireItemEvent,
    WireItemKind,
    WireKind,
    WirePart,
    WirePlace,
    WireResponse,
    WireResponseEvent,
    WireWhole,
)
from limen.contract import loads, replace_surrogates

S = TypeVar("S")

_DELTA: Final = msgspec.json.Decoder(WireDelta)
_EVENT: Final = msgspec.json.Decoder(WireEvent)
_KIND: Final = msgspec.json.Decoder(WireKind)
_WHOLE: Final = msgspec.json.Decoder(WireWhole)
_PART: Final = msgspec.json.Decoder(WirePart)
_ITEM: Final = msgspec.json.Decoder(WireItem)
_ITEM_KIND: Final = msgspec.json.Decoder(WireItemKind)
_ITEM_EVENT: Final = msgspec.json.Decoder(WireItemEvent)
_RESPONSE: Final = msgspec.json.Decoder(WireResponse)
_RESPONSE_EVENT: Final = msgspec.json.Decoder(WireResponseEvent)
_STRING: Final = msgspec.json.Decoder(str)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_COUNT: Final[msgspec.json.Decoder[Count]] = msgspec.json.Decoder(Count)

# Deltas of text and what they are a part of; `response.` stands before each.
DELTAS: Final[dict[str | None, PieceKind]] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "summary",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}
_ENDS: Final[dict[str | None, PieceKind]] = {
    f"{(name or '').removesuffix('delta')}done": kind for name, kind in DELTAS.items()
}
_PARTS: Final = frozenset(
    {f"response.{part}.{step}" for part in ("content_part", "reasoning_summary_part") for step in ("added", "done")}
)
_ITEMS: Final = frozenset({"response.output_item.added", "response.output_item.done"})
_RESPONSES: Final[dict[str | None, str]] = {
    "response.created": "",
    "response.queued": "",
    "response.in_progress": "",
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
_ENDINGS: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})
_UNFINISHED: Final = frozenset({"queued", "in_progress"})

_PIECES: Final[dict[str | None, PieceKind]] = {
    "output_text": "text",
    "text": "text",
    "refusal": "refusal",
    "reasoning_text": "reasoning",
    "summary_text": "summary",
}
_KINDS: Final[dict[str | None, ItemKind]] = {
    "message": "message",
    "reasoning": "reasoning",
    "function_call": "call",
    "custom_tool_call": "custom",
}
# A fault is quoted by its first words; what follows them is not looked at.
_QUOTED_BYTES: Final = 1024


def malformed(what: str, data: bytes) -> Malformed:
    """Make the failure of a part of an answer, quoting its first readable words."""
    return Malformed(f"{what}: {readable_words(data[:_QUOTED_BYTES])}")


def ordinary(payload: bytes, depth: int) -> WireDelta | None:
    """Read an event that is a delta of text, reasoning or arguments and nothing else, as nearly all are.

    Returns `None` for every other event, which `rare` reads. What the fast decoder reads holds no half of a surrogate
    pair (S5), and what is shorter than so many pairs of brackets is not nested too deep (S2).
    """
    if len(payload) > 2 * depth and payload.count(b"{") + payload.count(b"[") > depth:
        return None
    try:
        return _DELTA.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return None


def rare(name: str | None, payload: bytes, depth: int, notes: list[str]) -> Event | StreamFailed | None:
    """Read an event that is not ordinary; one of an unknown kind is `None` (C15). Raises `Malformed`.

    Bad bytes cost nothing but themselves (S5); odd fields beside the answer leave sentences in `notes`.
    """
    return _tolerantly(lambda whole: _event(name, whole, depth, notes), payload)


def _tolerantly(read: Callable[[bytes], S], payload: bytes) -> S:
    """Return what `read` makes of a payload; where it fails, of the payload mended, else raise the first failure."""
    try:
        return read(payload)
    except (msgspec.DecodeError, Malformed):
        whole = mended(payload)
        if whole == payload:
            raise
        return read(whole)


def _event(name: str | None, payload: bytes, depth: int, notes: list[str]) -> Event | StreamFailed | None:
    try:
        head = loads(payload, _KIND, depth=depth)
    except UNREADABLE as fault:
        return _unread(name, payload, fault)
    kind = head.type or name
    if head.error or kind == "error" or name == "error":
        return StreamFailed(payload)
    if kind in DELTAS:
        return _delta(payload, kind, DELTAS[kind])
    if kind in _ENDS:
        return _whole(_read(payload, _WHOLE, kind), _ENDS[kind])
    if kind in _PARTS:
        return _part_event(kind or "", _read(payload, _WHOLE, kind))
    if kind in _ITEMS:
        event = _read(payload, _ITEM_EVENT, kind)
        return ItemSeen(_place(event), read_item(event.item), done=kind == "response.output_item.done")
    if kind in _RESPONSES:
        response = _read(payload, _RESPONSE_EVENT, kind).response or WireResponse()
        return _response(response, _RESPONSES[kind], notes)
    # Work of the provider's own tools, annotations, keep-alives, and whatever comes to be.
    return None


def _unread(name: str | None, payload: bytes, fault: Exception) -> StreamFailed | None:
    """Judge an event that cannot be read: an error, another wire's end marker, or nothing that is allowed (W1)."""
    if name == "error":
        return StreamFailed(payload)
    # OpenRouter and other gateways add it behind the terminal event.
    if payload.strip() == b"[DONE]":
        return None
    raise malformed(f"an unreadable event ({fault})", payload)


def _delta(payload: bytes, name: str | None, kind: PieceKind) -> DeltaSeen:
    try:
        event = loads(payload, _EVENT)
    except msgspec.ValidationError as fault:
        raise malformed(f"{name} of another shape ({fault})", payload) from None
    part = event.summary_index if kind == "summary" else event.content_index
    return DeltaSeen(Place(event.output_index, name_of(event.item_id), part or 0), Piece(kind, event.delta or ""))


def _place(event: WirePlace, *, summary: bool = False) -> Place:
    part = event.summary_index if summary else event.content_index
    return Place(event.output_index, name_of(event.item_id), part or 0)


def _whole(event: WireWhole, kind: PieceKind) -> PieceSeen:
    texts = {"refusal": event.refusal, "arguments": event.arguments, "input": event.input}
    text = texts.get(kind, event.text)
    return PieceSeen(_place(event, summary=kind == "summary"), Piece(kind, text or ""), done=True)


def _part_event(name: str, event: WireWhole) -> PieceSeen | None:
    piece = _piece(event.part) if event.part else None
    if piece is None:
        return None
    done = name.endswith("done")
    return PieceSeen(_place(event, summary=piece.kind == "summary"), piece, done=done, closes=done)


def _piece(raw: msgspec.Raw) -> Piece | None:
    """Read a part of an item; one of a kind that makes no block is `None`."""
    data = bytes(raw)
    head = tolerant(data, _ITEM_KIND)
    kind = None if head is None else _PIECES.get(head.type)
    if kind is None:
        return None
    part = _read(data, _PART, "a part")
    return Piece(kind, (part.refusal if kind == "refusal" else part.text) or "")


def _pieces(parts: Sequence[msgspec.Raw] | None) -> tuple[Piece | None, ...]:
    return tuple(_piece(part) for part in parts or ())


def read_item(raw: msgspec.Raw) -> Item:
    """Read one item of the output; of a kind that makes no block, all of it is kept as it came (C14)."""
    data = bytes(raw)
    head = tolerant(data, _ITEM_KIND)
    if head is None or not head.type:
        raise malformed("an item without a type", data)
    kind = _KINDS.get(head.type, "work")
    if kind == "work":
        return Item(kind, head.type, name_of(head.id), raw=_text(data))
    item = _read(data, _ITEM, f"a {head.type}")
    return Item(
        kind,
        head.type,
        name_of(item.id),
        name_of(item.call_id),
        item.name or "",
        (item.input or "") if kind == "custom" else _arguments(item.arguments, data),
        _pieces(item.content),
        _pieces(item.summary),
        _text(data),
        item.status not in ("incomplete", "in_progress"),
    )


def name_of(value: object) -> str:
    """Return an id, empty where there is none; one that is a number becomes its digits (W4)."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return replace_surrogates(str(value))


def _arguments(raw: msgspec.Raw, item: bytes) -> str:
    """Return arguments as they came; some servers send the object itself, whose bytes become the string (C8)."""
    data = bytes(raw)
    if data in (b"", b"null"):
        return ""
    if data.startswith(b'"'):
        return _read(data, _STRING, "arguments")
    text = _text(without_blanks(data))
    if not text.startswith("{"):
        raise malformed("a tool call whose arguments are neither text nor an object", item)
    return text


# -- responses


def read_answer(body: bytes, *, depth: int, notes: list[str]) -> tuple[WireResponse, ResponseSeen | None]:
    """Read a whole answer (S3), tolerantly as `rare` does; the second is `None` where the body holds no response.

    Raises `msgspec.DecodeError` or `TooDeep` where the body is none, `Malformed` for an item that cannot be read.
    """
    return _tolerantly(lambda whole: _answer(whole, depth, notes), body)


def _answer(body: bytes, depth: int, notes: list[str]) -> tuple[WireResponse, ResponseSeen | None]:
    try:
        response = loads(body, _RESPONSE, depth=depth)
    except msgspec.DecodeError:
        if b"\\u" not in body:
            raise
        response = loads(without_lone_halves(body), _RESPONSE, depth=depth)
    if response.object != "response" and response.output is None:
        return response, None
    status = response.status or "completed"
    return response, _response(response, "" if status in _UNFINISHED else status, notes)


def _response(response: WireResponse, ending: str, notes: list[str]) -> ResponseSeen:
    if ending and response.status in _ENDINGS:
        # Gateways were seen to end with `response.completed` whatever the status says.
        ending = response.status
    return ResponseSeen(
        _side(response.id, "the response's id", notes),
        _side(response.model, "the response's model", notes),
        ending,
        _reason(response.incomplete_details, notes),
        error_of(response),
        tuple(read_item(item) for item in response.output or ()) if ending else (),
        b"" if _is_null(response.usage) else bytes(response.usage),
    )


def error_of(response: WireResponse) -> bytes:
    """Return what a response says of its failure, empty where it says nothing."""
    return b"" if _is_null(response.error) else bytes(response.error)


def _reason(raw: msgspec.Raw, notes: list[str]) -> str:
    members = {} if _is_null(raw) else tolerant(bytes(raw), _MEMBERS)
    if members is None:
        notes.append("incomplete_details could not be read and counts as unknown")
        return ""
    return _side(members.get("reason", msgspec.Raw(b"")), "incomplete_details.reason", notes)


def _side(raw: msgspec.Raw, name: str, notes: list[str]) -> str:
    """Return a text beside the answer; one that cannot be read is unknown and leaves a sentence (C15)."""
    if _is_null(raw):
        return ""
    found = tolerant(bytes(raw), _STRING)
    if found is None:
        notes.append(f"{name} could not be read and counts as unknown")
        return ""
    return replace_surrogates(found)


def counts(raw: bytes, notes: list[str]) -> PromptCounts | None:
    """Read `usage`; a count that cannot be read is unknown, costs no other one, and leaves a sentence (C15)."""
    usage = tolerant(raw, _MEMBERS) if raw else {}
    if usage is None:
        notes.append("usage could not be read and counts as unknown")
        return None
    inside = {name: _members(usage, name, notes) for name in ("input_tokens_details", "output_tokens_details")}
    input_details, output_details = inside.values()
    return PromptCounts(
        prompt=_count(usage, "input_tokens", notes),
        completion=_count(usage, "output_tokens", notes),
        total=_count(usage, "total_tokens", notes),
        cached=_count(input_details, "cached_tokens", notes),
        written=_count(input_details, "cache_write_tokens", notes),
        reasoning=_count(output_details, "reasoning_tokens", notes),
    )


def _members(usage: dict[str, msgspec.Raw], name: str, notes: list[str]) -> dict[str, msgspec.Raw]:
    raw = usage.get(name)
    if raw is None or _is_null(raw):
        return {}
    found = tolerant(bytes(raw), _MEMBERS)
    if found is None:
        notes.append(f"usage.{name} could not be read and counts as unknown")
    return found or {}


def _count(members: dict[str, msgspec.Raw], name: str, notes: list[str]) -> int | None:
    raw = members.get(name)
    if raw is None or _is_null(raw):
        return None
    try:
        return first_count(_COUNT.decode(bytes(raw)), notes=notes)
    except msgspec.DecodeError:
        notes.append(f"usage.{name} could not be read and counts as unknown")
        return None


def leading_error(body: bytes) -> bytes | None:
    """Return the JSON document that a body begins with if it tells an error, whatever follows it (S1)."""
    document = first_document(body)[0]
    found = tolerant(document, _KIND)
    return document if found is not None and (found.error or found.type == "error") else None


# -- bytes


def _is_null(raw: msgspec.Raw) -> bool:
    return bytes(raw) in (b"", b"null")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        raise malformed(f"bytes that are not UTF-8 ({fault.reason})", data) from None


def _read(data: bytes, decoder: "msgspec.json.Decoder[S]", what: str | None) -> S:
    """Read a part of an event whose depth was checked; lone halves of surrogate pairs become U+FFFD (S5)."""
    try:
        try:
            return decoder.decode(data)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return decoder.decode(without_lone_halves(data))
    except (msgspec.DecodeError, RecursionError) as fault:
        raise malformed(f"{what} of another shape ({fault})", data) from None
