"""From an error's bytes to the facts in it, whatever shape they have.

The shapes, in the order in which they are looked for: `{"error": {…}}` (OpenAI, DeepSeek, Anthropic, llama.cpp and
most others), `[{"error": …}]` (Gemini), `{"error": "text"}` with or without `code` (LM Studio, Hugging Face, xAI,
Ollama), flat `{"message", "type", "code"}` (Mistral, SGLang, Cohere, Bedrock), `{"detail": "…" or [{"loc", "msg"}]}`
(FastAPI servers), `{"status", "title", "detail"}` (NVIDIA), `{"errors": [{"code", "message"}]}` (Cloudflare),
`{"base_resp": {…}}` (MiniMax), `{"error_type", "error_message"}`; else HTML, plain text, or nothing.
Every field is optional and may have any type; what has a wrong one is as good as absent.
"""

import html
import json
import re
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from limen.contract import TooDeep, dumps, loads

BodyKind: TypeAlias = Literal["json", "html", "text", "empty"]

S = TypeVar("S", bound=msgspec.Struct)

# How far wrapped errors are followed: a router's error holds an upstream's, which may hold another.
_MAX_NESTING: Final = 8
# FastAPI lists every fault of a long request; the first few say enough.
_MAX_ITEMS: Final = 8
# A message is for people and is judged by patterns; a page of echoed input serves neither.
MAX_TEXT: Final = 2_000


class ErrorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of an error body; texts are verbatim and not yet scrubbed.

    `message` is the best sentence for people, `codes` every code, type and status word from the outside in,
    `provider_code` the one to show, `named_status` an HTTP status that the body itself names, `text` all there is to
    judge by. `reset_at_ms` is a point of time (epoch) and `retry_after_ms` a delay that the body names. `too_deep`
    marks JSON past the depth limit (S2), which has no message.
    """

    kind: BodyKind
    message: str = ""
    codes: tuple[str, ...] = ()
    provider_code: str | None = None
    named_status: int | None = None
    text: str = ""
    retry_after_ms: float | None = None
    reset_at_ms: float | None = None
    request_id: str | None = None
    too_deep: bool = False


class _Wire(msgspec.Struct):
    """Any error object, outer or inner; see the module's list of shapes."""

    error: object = None
    errors: object = None
    message: object = None
    msg: object = None
    detail: object = None
    title: object = None
    error_code: object = None
    code: object = None
    type: object = None
    status: object = None
    reason: object = None
    status_code: object = None
    http_status_code: object = None
    status_msg: object = None
    error_type: object = None
    error_message: object = None
    base_resp: object = None
    innererror: object = None
    metadata: object = None
    details: object = None
    request_id: object = None
    id: object = None
    loc: object = None
    retryDelay: object = None  # noqa: N815 - google.rpc.RetryInfo's own spelling
    retry_after: object = None
    violations: object = None
    quotaId: object = None  # noqa: N815 - google.rpc.QuotaFailure's own spelling


class _Metadata(msgspec.Struct):
    """OpenRouter's `metadata`: whose error it is, and the upstream's own words (page of 2026-10)."""

    raw: object = None
    provider_name: object = None
    reasons: object = None
    limit_source: object = None
    error_type: object = None
    headers: object = None
    retry_after_seconds: object = None


class _Headers(msgspec.Struct):
    """The rate headers that OpenRouter puts into a body; the reset is epoch milliseconds."""

    reset: object = msgspec.field(default=None, name="X-RateLimit-Reset")


_JSON: Final = msgspec.json.Decoder(object)
_STANDARD: Final = json.JSONDecoder()
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


def read_error(body: bytes) -> ErrorFacts:
    """Read an error's body or an in-stream error payload; never raises."""
    text = body.decode("utf-8", "replace").strip()
    if not text:
        return ErrorFacts(kind="empty")
    try:
        value = _json(text)
    except TooDeep:
        return ErrorFacts(kind="text", text=_one_line(text)[:MAX_TEXT], too_deep=True)
    if _is_container(value):
        reader = _Reader()
        reader.read(value, 0)
        return reader.facts()
    if text[:1] == "<":
        title = _page_title(text)
        return ErrorFacts(kind="html", message=title, text=title)
    words = _one_line(value if isinstance(value, str) else text)[:MAX_TEXT]
    return ErrorFacts(kind="text" if words else "empty", message=words, text=words)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _json(text: str) -> object:
    """Return the value of a text that is JSON, `None` of another; raises `TooDeep`."""
    try:
        value = loads(text.encode("utf-8", "surrogatepass"), _JSON)
        # Lone halves of surrogate pairs may stand in any text and in any name; from here on they are U+FFFD (S5).
        return _JSON.decode(dumps(value)) if _HALF.search(text) else value
    except msgspec.DecodeError:
        return None


def _json_inside(text: str) -> object:
    """Return the first JSON object within a sentence, `None` where none is complete.

    LiteLLM says: litellm.BadRequestError: XException - {"error":{"message":"…","code":"…"}}. Received Model Group=y
    """
    start = text.find('{"')
    if start < 0:
        return None
    try:
        value: object = _STANDARD.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
    return value


def _is_container(value: object) -> bool:
    return isinstance(value, (dict, list))


def _page_title(page: str) -> str:
    # <html><head><title>502 Bad Gateway</title></head></html>: the one readable sentence of a proxy's page.
    found = re.search(r"<(title|h1)[^>]*>([^<]{1,200})<", page, re.IGNORECASE)
    return " ".join(html.unescape(found[2]).split()) if found else ""


def _as(value: object, kind: type[S]) -> S | None:
    # Every field of these structs takes anything, so an object of any content fits.
    return msgspec.convert(value, kind) if isinstance(value, dict) else None


def _items(value: object) -> tuple[object, ...]:
    return msgspec.convert(value, tuple[object, ...]) if isinstance(value, (list, tuple)) else ()


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None


def _is_status(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 300 <= value <= 599


def _status(value: object) -> int | None:
    """A number that is an HTTP status, also as a string of its digits: Azure's `"code": "429"` [R]."""
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and _is_status(value) else None


class _Reader:
    """Collects facts while it walks from the outer error to what it wraps."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._evidence: list[str] = []
        self._owner: str | None = None
        self._words: list[str] = []
        self._types: list[str] = []
        self._numbers: list[str] = []
        self._status: int | None = None
        self._delay_ms: float | None = None
        self._reset_at_ms: float | None = None
        self._request_id: str | None = None

    def read(self, value: object, depth: int) -> None:
        """Take one value where an error may be: an object, a list of them, JSON in a string, or a sentence."""
        if depth > _MAX_NESTING:
            return
        if isinstance(value, str):
            self._string(value, depth)
            return
        for item in _items(value)[:_MAX_ITEMS]:
            self.read(item, depth + 1)
        wire = _as(value, _Wire)
        if wire is not None:
            self._object(wire, depth)

    def _string(self, value: str, depth: int) -> None:
        # OpenRouter's metadata.raw and some proxies' error strings hold the upstream's JSON as text.
        try:
            inner = _json(value) if value.lstrip()[:1] in ("{", "[") else None
        except TooDeep:
            inner = None
        if inner is not None:
            self.read(inner, depth + 1)
            return
        sentence = _one_line(value)
        if sentence and sentence not in self._sentences:
            self._sentences.append(sentence)
            self._codes_inside(value, depth)

    def _codes_inside(self, sentence: str, depth: int) -> None:
        """Take the codes of an upstream's error that a gateway put into its own sentence, which says the rest."""
        wire = _as(_json_inside(sentence), _Wire)
        if wire is None or not _is_container(wire.error):
            return
        reader = _Reader()
        reader.read(wire.error, depth + 1)
        self._words += reader._words
        self._types += reader._types

    def _object(self, wire: _Wire, depth: int) -> None:
        self._codes(wire)
        self._hints(wire)
        place = _place(wire.loc)
        if place is not None and isinstance(wire.msg, str):
            self._string(f"{place}: {wire.msg}", depth)
        else:
            for part in (wire.message, wire.msg, wire.status_msg, wire.error_message, wire.title, wire.detail):
                self.read(part, depth + 1)
        for inner in (wire.error, wire.errors, wire.base_resp, wire.innererror):
            self.read(inner, depth + 1)
        own = _as(wire.details, _Wire)
        if own is not None:
            self._word(own.error_code, self._words)
        for detail in _items(wire.details):
            # google.rpc details: codes, delays and quota names; their texts repeat the message or name internals.
            inner_wire = _as(detail, _Wire)
            if inner_wire is not None:
                self._codes(inner_wire)
                self._hints(inner_wire)
                for violation in _items(inner_wire.violations):
                    quota = _as(violation, _Wire)
                    if quota is not None and isinstance(quota.quotaId, str):
                        self._evidence.append(quota.quotaId)
        metadata = _as(wire.metadata, _Metadata)
        if metadata is not None:
            self._metadata(metadata, depth)

    def _codes(self, wire: _Wire) -> None:
        for word in (wire.code, wire.status_code, wire.reason):
            self._word(word, self._words)
        # Beside an error of its own, a type is the envelope's: {"type": "message_delta", "error": {…}}.
        for word in (None if isinstance(wire.error, dict) else wire.type, wire.error_type, wire.status):
            self._word(word, self._types)
        for number in (wire.http_status_code, wire.status_code, wire.status, wire.code):
            if self._status is None:
                self._status = _status(number)

    def _word(self, word: object, into: list[str]) -> None:
        if isinstance(word, str) and word.strip() and word != "error":
            # {"type": "error", "error": {…}} only says that this is one; a number that is an HTTP status, LiteLLM's
            # "code": "400" too, tells less than a type beside it.
            (into if _status(word) is None else self._numbers).append(word)
        elif isinstance(word, int) and not isinstance(word, bool):
            (self._numbers if _is_status(word) else into).append(str(word))

    def _hints(self, wire: _Wire) -> None:
        if isinstance(wire.request_id, str) and wire.request_id.strip() and self._request_id is None:
            self._request_id = wire.request_id
        delay = wire.retryDelay
        # google.rpc.RetryInfo says: retryDelay "48.939935699s"
        seconds = _number(delay[:-1]) if isinstance(delay, str) and delay.endswith("s") else _number(wire.retry_after)
        if seconds is not None and self._delay_ms is None:
            self._delay_ms = seconds * 1_000

    def _metadata(self, metadata: _Metadata, depth: int) -> None:
        for word in (metadata.limit_source, metadata.error_type):
            self._word(word, self._words)
        if _items(metadata.reasons):
            # 403 of OpenRouter's moderation: metadata {"reasons": ["violence"], "flagged_input": "…"}
            self._words.append("metadata.reasons")
        if isinstance(metadata.provider_name, str) and metadata.provider_name.strip() and self._owner is None:
            self._owner = metadata.provider_name
        headers = _as(metadata.headers, _Headers)
        if headers is not None:
            self._reset_at_ms = _number(headers.reset)
        seconds = _number(metadata.retry_after_seconds)
        if seconds is not None and self._delay_ms is None:
            self._delay_ms = seconds * 1_000
        self.read(metadata.raw, depth + 1)

    def facts(self) -> ErrorFacts:
        """Return the facts that were found."""
        message = ": ".join(self._sentences)
        if self._owner is not None and message:
            message = f"{message} (upstream: {self._owner})" if len(self._sentences) == 1 else self._with_owner()
        codes = (*self._words, *self._types, *self._numbers)
        return ErrorFacts(
            kind="json",
            message=message[:MAX_TEXT],
            codes=codes,
            provider_code=codes[0] if codes else None,
            named_status=self._status,
            # Quotes of JSON inside a sentence are escaped; the patterns know the message as its sender wrote it.
            text=" \n".join((*self._sentences, *self._evidence)).replace('\\"', '"')[: 2 * MAX_TEXT],
            retry_after_ms=self._delay_ms,
            reset_at_ms=self._reset_at_ms,
            request_id=self._request_id,
        )

    def _with_owner(self) -> str:
        first, *rest = self._sentences
        return f"{first} ({self._owner}): {': '.join(rest)}"


def _place(loc: object) -> str | None:
    # FastAPI says loc ["body", "messages", 0], msg "Input should be a valid string", type "string_type"
    parts = [str(part) for part in _items(loc) if isinstance(part, (str, int))]
    return ".".join(parts) if parts else None
