"""Bytes of an answer to typed events: one decode for an ordinary event, a second one for the known oddities."""

import binascii
import re
from collections.abc import Sequence
from typing import Final, TypeVar, cast

import msgspec

from limen.adapters._chat_completions._wire import Delta, Event, Fault, FirstEvent, WholeAnswer
from limen.contract import ImageBlock, TooDeep, loads, scrub

T = TypeVar("T")

EVENT: Final = msgspec.json.Decoder(Event)
# Every FirstEvent is an Event; checkers take a decoder's type as invariant.
FIRST_EVENT: Final = cast("msgspec.json.Decoder[Event]", msgspec.json.Decoder(FirstEvent))
_WHOLE: Final = msgspec.json.Decoder(WholeAnswer)
_EVENTS: Final = msgspec.json.Decoder(list[Event])
_FAULT: Final = msgspec.json.Decoder(Fault)
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

# What reading may raise: no JSON, JSON of another shape (a subclass of the first), nesting past the limit.
UNREADABLE: Final = (msgspec.DecodeError, TooDeep)

# Where an object was seen in place of a string: content of Cloudflare's JSON mode (recorded 2026-01), arguments by
# Mistral's own type.
_OBJECT_PLACES: Final = tuple(
    ("choices", "*", place, *path)
    for place in ("delta", "message")
    for path in (("content",), ("tool_calls", "*", "function", "arguments"), ("function_call", "arguments"))
)

_DATA_URL: Final = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)

_STRING: Final = rb'"(?:[^"\\]|\\.)*+"'
_BLANKS: Final = re.compile(rb"(" + _STRING + rb")|[ \t\r\n]+", re.DOTALL)
_ESCAPES: Final = re.compile(rb"(?i:\\u(d[89ab]..\\ud[c-f]..)|\\u(d[89a-f]..))|\\.", re.DOTALL)
_BRACKETS: Final = re.compile(_STRING + rb'|"|[{}\[\]]', re.DOTALL)


class Familiar:
    """Knows, without counting brackets, that most events of a stream are not nested too deep (S2).

    Events of a stream begin alike, up to the last bracket that opens. What follows that beginning holds at least two
    bytes for each level below it, so where little enough follows, nothing is too deep. Nothing is familiar until
    `wanted`, so that the reader sees the first events whole.
    """

    __slots__ = ("_limit", "beginning", "longest", "wanted")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.wanted = False
        self.beginning = b""
        self.longest = -1

    def look(self, payload: bytes) -> bool:
        """Whether an event has no more brackets than the limit; if so, what begins like it is familiar from now on."""
        count = payload.count(b"{") + payload.count(b"[")
        if count > self._limit:
            return False
        if self.wanted:
            self.beginning = payload[: max(payload.rfind(b"{"), payload.rfind(b"[")) + 1]
            self.longest = len(self.beginning) + 2 * (self._limit - count)
        return True


def reread(payload: bytes, decoder: "msgspec.json.Decoder[T]", depth: int) -> T:
    """Read what one plain decode could not. Raises one of `UNREADABLE`.

    Three things are read here and nowhere else: strings that hold half a surrogate pair (S5), content and arguments
    that are objects (C8), and payloads with many brackets.
    """
    try:
        return loads(payload, decoder, depth=depth)
    except msgspec.ValidationError:
        whole = _ESCAPES.sub(_without_half, payload)
        for path in _OBJECT_PLACES:
            whole = _with_string(whole.strip(), path)
        return loads(whole, decoder, depth=depth)


def read_messages(payload: bytes, depth: int) -> list[Delta]:
    """Return what choice 0 of a whole answer says. Raises one of `UNREADABLE`."""
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
    """Whether a JSON array is a list of errors, as Gemini's layer sends them. Raises one of `UNREADABLE`."""
    items = loads(document, _EVENTS, depth=depth)
    return bool(items) and all(item.error for item in items)


def first_document(body: bytes) -> tuple[bytes, bool]:
    """Return the JSON document that a body begins with, and whether it ends in the body; brackets decide."""
    depth = 0
    for match in _BRACKETS.finditer(body):
        sign = match.group()
        if sign == b'"':
            break  # a string that does not end
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
            if depth <= 0:
                return body[: match.end()], True
    return body, False


_TAGS: Final = re.compile(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>")
_WORDS_MAX: Final = 160


def readable_words(body: bytes) -> str:
    """Return the first words of something that is no answer, for an error's text: no tags, no secrets."""
    text = _TAGS.sub(" ", body.decode("utf-8", "replace"))
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    words = scrub(words)
    return words if len(words) <= _WORDS_MAX else words[:_WORDS_MAX] + "…"


def _without_half(match: "re.Match[bytes]") -> bytes:
    return b"\\ufffd" if match.group(2) else match.group()


def _with_string(raw: bytes, path: Sequence[str]) -> bytes:
    """Rewrite JSON so that an object at that path is a string of its bytes; anything unexpected stays as it is."""
    if not path:
        return msgspec.json.encode(str(_BLANKS.sub(rb"\1", raw), "utf-8")) if raw[:1] == b"{" else raw
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
