"""Bytes of an answer to typed events: one decode for an ordinary event, a second one for the known oddities."""

import binascii
import re
from collections.abc import Sequence
from typing import Final, TypeVar, cast

import msgspec

from limen.adapters.kit import PromptCounts, first_count, without_blanks, without_lone_halves
from limen.adapters.openai_chat._wire import (
    Delta,
    Event,
    Fault,
    FirstEvent,
    InputDetails,
    OutputDetails,
    Usage,
    WholeAnswer,
)
from limen.contract import ImageBlock, loads

T = TypeVar("T")

EVENT: Final = msgspec.json.Decoder(Event)
# Every FirstEvent is an Event; checkers take a decoder's type as invariant.
FIRST_EVENT: Final = cast("msgspec.json.Decoder[Event]", msgspec.json.Decoder(FirstEvent))
_WHOLE: Final = msgspec.json.Decoder(WholeAnswer)
_EVENTS: Final = msgspec.json.Decoder(list[Event])
_FAULT: Final = msgspec.json.Decoder(Fault)
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

# Where an object was seen in place of a string: content of Cloudflare's JSON mode (recorded 2026-01), arguments by
# Mistral's own type.
_OBJECT_PLACES: Final = tuple(
    ("choices", "*", place, *path)
    for place in ("delta", "message")
    for path in (("content",), ("tool_calls", "*", "function", "arguments"), ("function_call", "arguments"))
)

_NO_INPUT: Final = InputDetails()
_NO_OUTPUT: Final = OutputDetails()

_DATA_URL: Final = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def reread(payload: bytes, decoder: "msgspec.json.Decoder[T]", depth: int) -> T:
    """Read a payload that one plain decode could not. Raises one of `kit.UNREADABLE`.

    Three things are read here and nowhere else: strings that hold half a surrogate pair (S5), content and arguments
    that are objects (C8), and payloads with many brackets.
    """
    try:
        return loads(payload, decoder, depth=depth)
    except msgspec.ValidationError:
        whole = without_lone_halves(payload)
        for path in _OBJECT_PLACES:
            whole = _with_string(whole.strip(), path)
        return loads(whole, decoder, depth=depth)


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
    """Whether an event without choices, usage and `error` tells a failure all the same. Raises one of `UNREADABLE`."""
    fault = loads(payload, _FAULT, depth=depth)
    return fault.kind == "error" or any((fault.error_type, fault.error_message, fault.errors))


def is_error_list(document: bytes, depth: int) -> bool:
    """Whether a JSON array is a list of errors, as Gemini's layer sends them. Raises one of `kit.UNREADABLE`."""
    items = loads(document, _EVENTS, depth=depth)
    return bool(items) and all(item.error for item in items)


def _with_string(raw: bytes, path: Sequence[str]) -> bytes:
    """Rewrite JSON so that an object at that path is a string of its bytes; anything unexpected stays as it is."""
    if not path:
        return msgspec.json.encode(str(without_blanks(raw), "utf-8")) if raw[:1] == b"{" else raw
    if path[0] == "*":
        if raw[:1] != b"[":
            return raw
        return msgspec.json.encode([msgspec.Raw(_with_string(bytes(item), path[1:])) for item in _ITEMS.decode(raw)])
    if raw[:1] != b"{":
        return raw
    members = _MEMBERS.decode(raw)
    if path[0] in members:
        members[path[0]] = msgspec.Raw(_with_string(bytes(members[path[0]]), path[1:]))
    return msgspec.json.encode(members)


class Detail(msgspec.Struct, gc=False):
    """An item of `reasoning_details` as far as it is read; https://openrouter.ai/docs (read 2026-11-30)."""

    kind: str | None = msgspec.field(default=None, name="type")
    text: str | None = None
    summary: str | None = None
    index: int | None = None


class _Item:
    __slots__ = ("fields", "key", "parts", "place")

    def __init__(self, key: object, place: str, fields: dict[str, object]) -> None:
        self.key = key
        self.place = place
        self.fields = fields
        self.parts: list[str] = []


class Details:
    """The items of `reasoning_details`, kept for the replay: as received, fragments of one item joined.

    An item goes on where the next one has its type and index and is text or summary; a signature comes in such a
    fragment of its own. Encrypted items are each whole.
    """

    __slots__ = ("_cumulative", "_items")

    def __init__(self, *, cumulative: bool) -> None:
        self._cumulative = cumulative
        self._items: list[_Item] = []

    def add(self, value: object, *, whole: bool) -> str:
        """Take one event's list; return the reasoning text in it. Raises `msgspec.ValidationError`.

        In a whole answer every item is whole.
        """
        texts: list[str] = []
        for fields in msgspec.convert(value, list[dict[str, object]]):
            detail = msgspec.convert(fields, Detail)
            place = "summary" if detail.kind == "reasoning.summary" else "text"
            text = (detail.summary if place == "summary" else detail.text) or ""
            texts.append(text)
            key = None if whole or detail.kind == "reasoning.encrypted" else (detail.kind, detail.index)
            last = self._items[-1] if self._items else None
            if last is None or key is None or last.key != key:
                last = _Item(key, place, fields)
                self._items.append(last)
            else:
                last.fields.update({name: value for name, value in fields.items() if value is not None})
            if self._cumulative and text:
                last.parts.clear()
            last.parts.append(text)
        return "".join(texts)

    def state(self) -> list[dict[str, object]]:
        """Return the items as they are to be sent back."""
        return [
            {**item.fields, item.place: "".join(item.parts)} if any(item.parts) else item.fields for item in self._items
        ]


def counts_of(report: Usage) -> PromptCounts:
    """Return the counts of a report, under whatever names its host has for them."""
    prompt = report.prompt_tokens_details or _NO_INPUT
    completion = report.completion_tokens_details or _NO_OUTPUT
    return PromptCounts(
        first_count(report.prompt_tokens),
        first_count(report.completion_tokens),
        first_count(report.total_tokens),
        first_count(
            prompt.cached_tokens,
            report.prompt_cache_hit_tokens,
            report.cached_tokens,
            report.cache_read_input_tokens,
            report.num_cached_tokens,
        ),
        first_count(prompt.cache_write_tokens, prompt.cache_creation_input_tokens, report.cache_creation_input_tokens),
        first_count(completion.reasoning_tokens, report.reasoning_tokens),
    )
