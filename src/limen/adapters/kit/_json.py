"""JSON of a provider's body: reading with tolerance, telling a cut document from a wrong one, keeping bytes as text.

All of it is for the slow path: an ordinary event costs one decode and none of these functions.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from limen.contract import TooDeep, loads, scrub

T = TypeVar("T")

# Failures of reading JSON: no JSON, JSON of another shape (a subclass of the first), nesting past the limit.
UNREADABLE: Final = (msgspec.DecodeError, TooDeep)

_STRING: Final = rb'"(?:[^"\\]|\\.)*+"'
_STRING_OR_BLANKS: Final = re.compile(rb"(" + _STRING + rb")|[ \t\r\n]+", re.DOTALL)
_BRACKETS: Final = re.compile(_STRING + rb'|"|[{}\[\]]', re.DOTALL)
# An escape; group 1 is a whole surrogate pair, group 2 a lone half.
_ESCAPES: Final = re.compile(rb"(?i:\\u(d[89ab]..\\ud[c-f]..)|\\u(d[89a-f]..))|\\.", re.DOTALL)

# Beginnings of words and numbers that a cut may leave at the end of a document.
_LITERALS: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_NUMBER_PIECE: Final = re.compile(r"-|\.|[eE][+-]?")
_ESCAPE_PIECE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,4})?\Z")

_TAGS: Final = re.compile(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>")
_WORDS_MAX: Final = 160
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAW_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_STRING_OR_NO_NUMBER: Final = re.compile(rb"(" + _STRING + rb")|-?(?:NaN|Infinity)", re.DOTALL)
_CONTROLS: Final = re.compile(rb"[\x00-\x1f]")


class DepthCheck:
    """A test, mostly free of counting brackets, that an event is not nested deeper than a limit (S2).

    Events of a stream begin alike, up to the last bracket that opens. The rest of an event holds at least two bytes
    for each further level, so an event that has the known beginning and is short enough is not too deep. Until
    `enabled` is set no beginning is learnt, so that a reader sees its first events one by one.
    """

    __slots__ = ("_limit", "beginning", "enabled", "longest")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.enabled: bool = False
        self.beginning: bytes = b""
        self.longest: int = -1

    def is_shallow(self, payload: bytes) -> bool:
        """Count an event's brackets; return whether the limit holds, and learn the event's beginning if it does."""
        count = payload.count(b"{") + payload.count(b"[")
        if count > self._limit:
            return False
        if self.enabled:
            self.beginning = payload[: max(payload.rfind(b"{"), payload.rfind(b"[")) + 1]
            self.longest = len(self.beginning) + 2 * (self._limit - count)
        return True


def read_lenient(payload: bytes, decoder: "msgspec.json.Decoder[T]", *, depth: int) -> T:
    """Read a provider's JSON; one bad byte never costs the answer (S5). Raises one of `UNREADABLE`.

    The fast decoder reads what is JSON, the standard one strings with half surrogate pairs; `mended` bytes are the
    last attempt.
    """
    try:
        return loads(payload, decoder, depth=depth)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        whole = mended(payload)
        if whole == payload:
            raise
        return loads(whole, decoder, depth=depth)


def mended(payload: bytes) -> bytes:
    """Make JSON of almost-JSON, byte by byte the same otherwise (S5).

    Raw control characters inside strings stand for themselves, `NaN` and `Infinity` are null, invalid UTF-8 is U+FFFD.
    """
    text = payload.decode("utf-8", "replace").encode()
    return _STRING_OR_NO_NUMBER.sub(_mended_token, text)


def _mended_token(token: "re.Match[bytes]") -> bytes:
    if token[1] is None:
        return b"null"
    return _CONTROLS.sub(lambda sign: rb"\u%04x" % ord(sign[0]), token[1]) if _CONTROLS.search(token[1]) else token[1]


def edited(raw: bytes, path: Sequence[str], edit: "Callable[[bytes], bytes]") -> bytes:
    """Rewrite the values at a path of JSON (`*`: every item of an array); a path that leads nowhere changes nothing.

    Every other value keeps its bytes. Raises `msgspec.DecodeError` for what is no JSON.
    """
    if not path:
        return edit(raw)
    step, rest = path[0], path[1:]
    if step == "*":
        if raw[:1] != b"[":
            return raw
        return msgspec.json.encode([msgspec.Raw(edited(bytes(item), rest, edit)) for item in _RAW_ITEMS.decode(raw)])
    if raw[:1] != b"{":
        return raw
    members = _OBJECT.decode(raw)
    if step not in members:
        return raw
    members[step] = msgspec.Raw(edited(bytes(members[step]), rest, edit))
    return msgspec.json.encode(members)


def tolerant(data: bytes, decoder: "msgspec.json.Decoder[T]") -> T | None:
    """Read JSON, or return `None` where it cannot be read; only for facts that nothing depends on."""
    try:
        return loads(data, decoder)
    except UNREADABLE:
        return None


def without_lone_halves(data: bytes) -> bytes:
    """Replace the escapes of lone surrogate halves, which the fast decoder refuses, by U+FFFD (S5)."""
    return _ESCAPES.sub(lambda escape: rb"\ufffd" if escape[2] else escape[0], data)


def without_blanks(data: bytes) -> bytes:
    """Remove the white space outside strings; nothing else of the JSON is touched (C8)."""
    return _STRING_OR_BLANKS.sub(rb"\1", data)


def is_object(text: str) -> bool:
    """Tell whether a text is one JSON object, not nested deeper than the limit; its values are checked, not read."""
    if not text.lstrip(" \t\r\n").startswith("{"):
        return False
    try:
        loads(text, _OBJECT)
    except TooDeep:
        return False
    except msgspec.DecodeError:
        # Lone halves of surrogate pairs are JSON too, and raw members cannot hold them (S5).
        return (
            "\\u" in text and tolerant(without_lone_halves(text.encode("utf-8", "surrogatepass")), _OBJECT) is not None
        )
    return True


def first_document(body: bytes) -> tuple[bytes, bool]:
    """Return the JSON document that a body begins with, and whether it ends within the body; brackets decide."""
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


def is_cut_short(body: bytes) -> bool:
    """Tell whether a body is the beginning of a JSON document whose rest did not arrive, not wrong JSON (S3)."""
    text = body.decode("utf-8", "ignore")
    try:
        json.loads(text, strict=False)
    except json.JSONDecodeError as fault:
        rest = text[fault.pos :].strip(" \t\r\n")
        return (
            not rest
            or fault.msg.startswith("Unterminated string")
            or any(word.startswith(rest) for word in _LITERALS)
            or _NUMBER_PIECE.fullmatch(rest) is not None
            or (fault.msg.startswith("Invalid \\") and _ESCAPE_PIECE.search(text, max(0, fault.pos - 2)) is not None)
        )
    except (ValueError, RecursionError):
        return False
    return False


def readable_words(body: bytes) -> str:
    """Return the first words of a body that is no answer, for an error's message: one line, no tags, no secrets."""
    text = _TAGS.sub(" ", body.decode("utf-8", "replace"))
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    words = scrub(words)
    return words if len(words) <= _WORDS_MAX else words[:_WORDS_MAX] + "…"
