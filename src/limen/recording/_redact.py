"""Redaction of recorded traffic (E5).

Headers are kept by an allow-list of names, values and bodies are scrubbed by `contract.scrub`, query values are
dropped. A body is redacted whole and then cut again at its reads, so that a secret cut in two is found too.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from limen.contract import MASK, scrub

# Headers that are kept: the body's form, limits, ids that a provider's support asks for. Keys, cookies and
# organizations have other names at every provider, hence an allow-list and no deny-list.
REQUEST_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "anthropic-beta", "anthropic-version", "content-type", "openai-beta", "user-agent"}
)
# The ids that a provider's support asks for, in the order in which a call looks for one.
REQUEST_IDS: Final = (
    "x-request-id",
    "request-id",
    "apim-request-id",
    "x-ms-request-id",
    "x-amzn-requestid",
    "x-deepseek-request-id",
    "x-generation-id",
    "inference-id",
    "mistral-correlation-id",
    "x-kong-request-id",
    "x-groq-request-id",
    "x-trace-id",
    "msh-request-id",
    "trace-id",
    "nvcf-reqid",
    "cf-aig-log-id",
    "x-github-request-id",
    "x-vercel-id",
    "traceparent",
    "cf-ray",
)
RESPONSE_HEADERS: Final = frozenset(
    {"content-encoding", "content-type", "retry-after", "retry-after-ms", "x-should-retry", *REQUEST_IDS}
)

# OpenAI's error texts quote the organization: "Rate limit reached for gpt-4o in organization org-AbC123… on tokens".
# An id has a digit, so that "org-structure" stays.
_ORGANIZATION: Final = re.compile(r"\b(?:org|proj|acct)[-_](?=[A-Za-z0-9]*\d)[A-Za-z0-9]{8,}")
FIELDS: Final = ("organization_id", "organizationId", "set-cookie", "cookie", "authorization")


_STRING: Final = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*+"')
# A string, with the colon that makes it a name, or anything else that is a value or ends one.
_TOKEN: Final = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*:)?')
_ESCAPES: Final = re.compile(r"\\+(?:u[0-9a-fA-F]{4}|.)?")
_FRAMED: Final = re.compile(r"((?:data:)?[ \t]*)(.*?)([ \t\r\n]*)", re.DOTALL)
# A provider's error text may quote a tool's arguments: JSON in a string of JSON in a string of JSON.
_DEEPEST: Final = 4
# A half of a surrogate pair from an escape. Those of bytes that are not UTF-8 (`surrogateescape`) are others, and stay.
_LONE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")


class Redaction:
    """Redaction of requests and responses: text with the form of a secret, and every value of the named `fields`."""

    def __init__(self, fields: Sequence[str] = ()) -> None:
        self.fields: tuple[str, ...] = tuple(dict.fromkeys((*FIELDS, *fields)))
        names = "|".join(re.escape(name) for name in self.fields)
        # A field is found as JSON, and as JSON inside a JSON string, where every quote has a backslash.
        self._field = re.compile(rf'(?i)(\\*")(?:{names})\1\s*:\s*')

    def text(self, text: str) -> str:
        """Return a text without secrets; JSON in it, and JSON in its strings, stays JSON."""
        text = self._without_fields(text)
        return text if _is_clean(text) else self._clean(text, 0)

    def reads(self, reads: Sequence[str]) -> list[str]:
        """Return the reads of one body, redacted whole and cut again at or near the same places."""
        whole = "".join(reads)
        cleaned = self.text(whole)
        if cleaned == whole:
            return list(reads)
        cuts: list[int] = []
        length = 0
        for read in reads:
            length += len(read)
            cuts.append(length)
        places = [0, *_moved(whole, cleaned, cuts[:-1]), len(cleaned)]
        return [cleaned[start:end] for start, end in pairwise(places)]

    def path(self, url: str) -> str:
        """Return a URL's path and the names of its query; host, user and password are dropped."""
        parts = urlsplit(url)
        names = [pair.partition("=")[0] for pair in parts.query.split("&") if pair]
        query = "&".join(f"{name}={MASK}" for name in names)
        return self.text(parts.path) + (f"?{query}" if query else "")

    def headers(self, headers: Sequence[tuple[str, str]], allowed: frozenset[str]) -> dict[str, str]:
        """Return the allowed headers, lower-case, several of one name joined."""
        kept: dict[str, str] = {}
        for name, value in headers:
            key = name.lower()
            if key in allowed and key not in self.fields:
                kept[key] = f"{kept[key]}, {self.text(value)}" if key in kept else self.text(value)
        return kept

    def _clean(self, text: str, depth: int) -> str:
        if _is_json(text):
            return self._json(text, depth)
        return "".join(self._line(line, depth) for line in text.splitlines(keepends=True))

    def _line(self, line: str, depth: int) -> str:
        # A stream is lines with a JSON document each.
        framed = _FRAMED.fullmatch(line)
        if framed is not None and _is_json(framed[2]):
            return framed[1] + self._json(framed[2], depth) + framed[3]
        return _ORGANIZATION.sub(MASK, scrub(_STRING.sub(lambda found: self._string(found[0], depth), line)))

    def _json(self, text: str, depth: int) -> str:
        key = ""

        def cleaned(found: re.Match[str]) -> str:
            nonlocal key
            literal = self._string(found[1], depth)
            if found[2]:
                key = found[1]
                return literal + found[2]
            named, key = key, ""
            # A field named like a key holds one: {"api_key": "…"}.
            return f'"{MASK}"' if named and _names_secret(named) else literal

        return _TOKEN.sub(cleaned, text)

    def _string(self, literal: str, depth: int) -> str:
        """Redact the decoded text of a JSON string: as written, a key behind an escape (`\\nsk-…`) begins no word."""
        try:
            said: object = json.loads(literal)
        except ValueError:
            return literal
        words = str(said)
        cleaned = self._clean(words, depth + 1) if depth < _DEEPEST else _ORGANIZATION.sub(MASK, scrub(words))
        return literal if cleaned == words else _quoted(cleaned)

    def _without_fields(self, text: str) -> str:
        parts: list[str] = []
        done = 0
        for found in self._field.finditer(text):
            if found.start() < done:
                continue
            quote = found[1]
            parts += [text[done : found.end()], f"{quote}{MASK}{quote}"]
            done = _value_end(text, found.end(), quote)
        return "".join([*parts, text[done:]])


def _is_clean(text: str) -> bool:
    """Return true if no secret is found in the text, with its escapes replaced by spaces and with them decoded.

    Most traffic is clean, and skips the slow path.
    """
    if "\\u00" in text:
        return False
    plain = text.replace("\\/", "/")
    views = (_ESCAPES.sub(" ", plain), plain.replace('\\"', '"').replace("\\\\", "\\"))
    return all(scrub(view) == view and _ORGANIZATION.search(view) is None for view in views)


def _is_json(text: str) -> bool:
    if text[:1] not in ("{", "[", '"'):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _names_secret(name: str) -> bool:
    pair = f'{name}:"harmless"'
    return scrub(pair) != pair


def _quoted(text: str) -> str:
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _value_end(text: str, start: int, quote: str) -> int:
    """Return the end of the JSON value that begins here; `quote` is a quotation mark as escaped at this depth."""
    depth = 0
    index = start
    while index < len(text):
        if text.startswith(quote, index):
            index = _string_end(text, index + len(quote), quote)
            if depth == 0:
                return index
            continue
        character = text[index]
        if character in "{[":
            depth += 1
        elif character in "}]":
            if depth == 0:
                return index
            depth -= 1
            if depth == 0:
                return index + 1
        elif depth == 0 and character in ", \t\r\n":
            return index
        index += 1
    return index


def _string_end(text: str, start: int, quote: str) -> int:
    # The quotation mark that ends the string has as many backslashes as the one that began it, after any number of
    # escaped backslashes, each of which is twice as many and two.
    own = len(quote) - 1
    index = text.find('"', start)
    while index >= 0:
        before = index
        while before > start and text[before - 1] == "\\":
            before -= 1
        if (index - before) % (2 * (own + 1)) == own:
            return index + 1
        index = text.find('"', index + 1)
    return len(text)


def _moved(whole: str, cleaned: str, cuts: Sequence[int]) -> list[int]:
    """Return the places in the cleaned text of cuts in the original; a cut inside a secret moves behind its mask.

    Text between two masks is unchanged, so it is found again in the original, in order.
    """
    starts: list[int] = []
    kept: list[tuple[int, int]] = []
    place = position = 0
    for part in cleaned.split(MASK):
        place = max(whole.find(part, place), place)
        starts.append(place)
        kept.append((len(part), position))
        place += len(part)
        position += len(part) + len(MASK)
    moved: list[int] = []
    for cut in cuts:
        index = bisect_right(starts, cut) - 1
        length, start = kept[index]
        offset = cut - starts[index]
        behind = start + length + len(MASK)
        moved.append(start + offset if offset <= length else min(behind, len(cleaned)))
    return moved
