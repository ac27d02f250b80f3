"""Bytes of an answer to typed events: one decode for an ordinary event, a second one for the known oddities."""

import binascii
import re
from functools import partial
from typing import Final, TypeVar, cast

import msgspec

from limen.adapters.kit import (
    Count,
    PromptCounts,
    edited,
    first_count,
    mended,
    read_lenient,
    without_blanks,
    without_lone_halves,
)
from limen.adapters.openai_chat._wire import (
    COUNTS,
    TURN_STATE,
    Delta,
    Event,
    Fault,
    FirstEvent,
    Identifier,
    InputDetails,
    OutputDetails,
    Usage,
    WholeAnswer,
    XGroq,
)
from limen.contract import ImageBlock, loads

T = TypeVar("T")

EVENT: Final = msgspec.json.Decoder(Event)
# Every FirstEvent is an Event; checkers take a decoder's type as invariant.
FIRST_EVENT: Final = cast("msgspec.json.Decoder[Event]", msgspec.json.Decoder(FirstEvent))
_WHOLE: Final = msgspec.json.Decoder(WholeAnswer)
_EVENTS: Final = msgspec.json.Decoder(list[Event])
_FAULT: Final = msgspec.json.Decoder(Fault)

# Where an object was seen in place of a string: content of Cloudflare's JSON mode (recorded 2026-01), arguments by
# Mistral's own type.
_OBJECT_PLACES: Final = tuple(
    ("choices", "*", place, *path)
    for place in ("delta", "message")
    for path in (("content",), ("tool_calls", "*", "function", "arguments"), ("function_call", "arguments"))
)


def _decoder(kind: object) -> msgspec.json.Decoder[object]:
    return msgspec.json.Decoder(kind)


# Fields beside the answer: one that cannot be read is unknown and costs nothing else (C15).
_SIDE_PLACES: Final[tuple[tuple[tuple[str, ...], msgspec.json.Decoder[object]], ...]] = (
    (("id",), _decoder(Identifier)),
    (("model",), _decoder(str | None)),
    *(
        ((*place, name, *inner), _decoder(kind))
        for place in (("usage",), ("x_groq", "usage"), ("choices", "*", "usage"))
        for name, inner, kind in (
            *((name, (), Count) for name in COUNTS),
            *(("prompt_tokens_details", (inner,), Count) for inner in InputDetails.__struct_fields__),
            *(("completion_tokens_details", (inner,), Count) for inner in OutputDetails.__struct_fields__),
            ("prompt_tokens_details", (), InputDetails | None),
            ("completion_tokens_details", (), OutputDetails | None),
        )
    ),
    *((place, _decoder(Usage | None)) for place in (("usage",), ("choices", "*", "usage"))),
    (("x_groq",), _decoder(XGroq | None)),
)
# Fields of the answer that gateways leave empty in the wrong type: an empty value of any kind is absent (W2).
_EMPTY_PLACES: Final = tuple(
    ("choices", "*", *path)
    for place in ("delta", "message")
    for path in ((place,), (place, "tool_calls"), (place, "function_call"), (place, "images"))
)
_INDEX_PLACES: Final = (("choices", "*", "index"), ("choices", "*", "delta", "tool_calls", "*", "index"))
_EMPTY: Final = frozenset({b"{}", b"[]", b'""'})
_INDEX: Final = re.compile(rb'"(\d{1,6})"')

_NO_INPUT: Final = InputDetails()
_NO_OUTPUT: Final = OutputDetails()

_DATA_URL: Final = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def reread(payload: bytes, decoder: "msgspec.json.Decoder[T]", depth: int, notes: list[str] | None = None) -> T:
    """Read a payload that one plain decode could not. Raises one of `kit.UNREADABLE`.

    Read here and nowhere else: bytes that are almost JSON and half surrogate pairs (S5), content and arguments that are
    objects (C8), fields beside the answer and empty fields of a wrong type (C15, W2), payloads with many brackets.
    """
    try:
        return read_lenient(payload, decoder, depth=depth)
    except msgspec.ValidationError:
        return loads(_relaxed(payload, [] if notes is None else notes), decoder, depth=depth)


def _relaxed(payload: bytes, notes: list[str]) -> bytes:
    whole = without_lone_halves(mended(payload)).strip()
    for path in _OBJECT_PLACES:
        whole = edited(whole, path, _object_as_string)
    for path in _EMPTY_PLACES:
        whole = edited(whole, path, lambda raw: b"null" if without_blanks(raw) in _EMPTY else raw)
    for path in _INDEX_PLACES:
        whole = edited(whole, path, lambda raw: _INDEX.sub(rb"\1", raw))
    for path, decoder in _SIDE_PLACES:
        whole = edited(whole, path, partial(_or_unknown, decoder, ".".join(path), notes))
    return whole


def _object_as_string(raw: bytes) -> bytes:
    return msgspec.json.encode(str(without_blanks(raw), "utf-8")) if raw[:1] == b"{" else raw


def _or_unknown(decoder: "msgspec.json.Decoder[object]", path: str, notes: list[str], raw: bytes) -> bytes:
    try:
        decoder.decode(raw)
    except msgspec.DecodeError:
        notes.append(f"{path} could not be read and counts as unknown")
        return b"null"
    return raw


def read_messages(payload: bytes, depth: int) -> list[Delta]:
    """Return the messages of choice 0 of a whole answer. Raises one of `kit.UNREADABLE`."""
    found = reread(payload, _WHOLE, depth).choices or []
    return [item.message for item in found if item is not None and not item.index and item.message is not None]


def read_image(url: str) -> ImageBlock:
    """Return an image of the answer. Raises `ValueError` where its data is no base64."""
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return ImageBlock(url=url)
    return ImageBlock(found[1], binascii.a2b_base64(found[2], strict_mode=True))


def tells_failure(payload: bytes, depth: int) -> bool:
    """Tell whether an event without choices, usage and `error` is a failure. Raises one of `UNREADABLE`."""
    fault = loads(payload, _FAULT, depth=depth)
    return fault.kind == "error" or any((fault.error_type, fault.error_message, fault.errors))


def is_error_list(document: bytes, depth: int) -> bool:
    """Tell whether a JSON array is a list of errors, as Gemini's layer sends them. Raises one of `kit.UNREADABLE`."""
    items = loads(document, _EVENTS, depth=depth)
    return bool(items) and all(item.error for item in items)


class StateItem(msgspec.Struct, gc=False):
    """An item of `reasoning_details` or `thinking_blocks` as far as it is read.

    https://openrouter.ai/docs (read 2026-11-30), NQ301.
    """

    kind: str | None = msgspec.field(default=None, name="type")
    text: str | None = None
    summary: str | None = None
    thinking: str | None = None
    index: int | None = None


# The field that holds an item's text, by its type; `text` for any other.
_TEXT_FIELDS: Final = {"reasoning.summary": "summary", "thinking": "thinking"}


class _Item:
    __slots__ = ("fields", "key", "parts", "place")

    def __init__(self, key: object, place: str, fields: dict[str, object]) -> None:
        self.key = key
        self.place = place
        self.fields = fields
        self.parts: list[str] = []


class StateItems:
    """Items of reasoning that go back unchanged: as received, fragments of one item joined (N4).

    An item goes on where the next one has its type and index and is text; a signature comes in such a fragment of its
    own. Encrypted items are each whole.
    """

    __slots__ = ("_cumulative", "_items")

    def __init__(self, *, cumulative: bool = False) -> None:
        self._cumulative = cumulative
        self._items: list[_Item] = []

    def add(self, value: object, *, whole: bool) -> str:
        """Take one event's list; return the reasoning text in it. Raises `msgspec.ValidationError`.

        In a whole answer every item is whole.
        """
        texts: list[str] = []
        for fields in msgspec.convert(value, list[dict[str, object]]):
            item = msgspec.convert(fields, StateItem)
            place = _TEXT_FIELDS.get(item.kind or "", "text")
            text: str = getattr(item, place) or ""
            texts.append(text)
            key = None if whole or item.kind == "reasoning.encrypted" else (item.kind, item.index)
            last = self._items[-1] if self._items else None
            # A signed thinking block is complete: more thinking begins another one.
            signed = last is not None and last.place == "thinking" and bool(last.fields.get("signature"))
            if last is None or key is None or last.key != key or (signed and text):
                last = _Item(key, place, fields)
                self._items.append(last)
            else:
                last.fields.update({name: value for name, value in fields.items() if value not in (None, "")})
            if self._cumulative and text:
                last.parts.clear()
            last.parts.append(text)
        return "".join(texts)

    def state(self) -> list[dict[str, object]]:
        """Return the items as they are to be sent back."""
        return [
            {**item.fields, item.place: "".join(item.parts)} if any(item.parts) else item.fields for item in self._items
        ]


class TurnState:
    """State of a turn that its gateway asks to have back, by the fields of `TURN_STATE` (N4)."""

    __slots__ = ("_fields", "_thinking")

    def __init__(self) -> None:
        self._fields: dict[str, object] = {}
        self._thinking = StateItems()

    def keep(self, delta: Delta, *, whole: bool) -> None:
        """Take one delta's fields: thinking blocks are joined, objects merged, anything else replaced."""
        for name in TURN_STATE:
            value: object = getattr(delta, name)
            if not value:
                continue
            if name == "thinking_blocks":
                self._thinking.add(value, whole=whole)
                continue
            before = self._fields.get(name)
            self._fields[name] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value

    def fields(self) -> dict[str, object]:
        """Return the fields as they are to be sent back."""
        thinking = self._thinking.state()
        return {**self._fields, "thinking_blocks": thinking} if thinking else self._fields


def counts_of(report: Usage, notes: list[str]) -> PromptCounts:
    """Return the counts of a report, under whatever names its host has for them; doubts go to `notes` (C15)."""
    prompt = report.prompt_tokens_details or _NO_INPUT
    completion = report.completion_tokens_details or _NO_OUTPUT
    return PromptCounts(
        first_count(report.prompt_tokens, report.input_tokens, notes=notes),
        first_count(report.completion_tokens, report.output_tokens, notes=notes),
        first_count(report.total_tokens, notes=notes),
        first_count(
            prompt.cached_tokens,
            report.prompt_cache_hit_tokens,
            report.cached_tokens,
            report.cache_read_input_tokens,
            report.num_cached_tokens,
            notes=notes,
        ),
        first_count(
            prompt.cache_write_tokens,
            prompt.cache_creation_input_tokens,
            report.cache_creation_input_tokens,
            notes=notes,
        ),
        first_count(completion.reasoning_tokens, report.reasoning_tokens, notes=notes),
    )
