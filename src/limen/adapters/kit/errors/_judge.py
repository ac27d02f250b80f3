"""The order of judgement for a failed answer and for an error inside a stream (E3)."""

import re
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

import msgspec

from limen.adapters.kit.errors import _sentences as sentences
from limen.adapters.kit.errors import _tables as tables
from limen.adapters.kit.errors._body import ErrorFacts, read_error
from limen.adapters.kit.errors._headers import delay_ms, request_id, retry_after_ms, should_retry
from limen.contract import MAX_DEPTH, Failure, Phase, codes, http_code, replace_surrogates, scrub

_MAX_MESSAGE: Final = 1_000
_MAX_WORD: Final = 200

_WHICH_ADDRESS: Final = "; is base_url what stands before the wire's path?"
# FastAPI: Not Found; Go: 404 page not found; llama.cpp: File Not Found; Azure: Resource not found [R] [NQ348].
_BARE_404: Final = re.compile(r"(?:404[: ] ?)?(?:(?:page|file|resource|route|path) )?not found[.:]?", re.IGNORECASE)


class ErrorRow(msgspec.Struct, frozen=True):
    """One exception that a dialect makes: where all of its conditions hold, the failure has this code.

    `status` and `words` (codes, types and status words of the provider, lower-case) are empty where anything will
    do; `sentence` is searched for in the messages; `hint` asks for a retry delay to be there or not.
    """

    code: str
    status: frozenset[int] = frozenset()
    words: frozenset[str] = frozenset()
    sentence: re.Pattern[str] | None = None
    hint: bool | None = None

    def matches(self, facts: ErrorFacts, status: int | None, *, hinted: bool) -> bool:
        """Tell whether this row speaks of that error."""
        return (
            (not self.status or status in self.status)
            and (not self.words or not self.words.isdisjoint(_lower(facts)))
            and (self.sentence is None or self.sentence.search(facts.text) is not None)
            and (self.hint is None or self.hint == hinted)
        )


class ErrorRules(msgspec.Struct, frozen=True):
    """Error rules of one dialect: rows, first match wins, before every shared table.

    `delays` are patterns that find a delay such as "in 6m0.5s" in a message, for providers that name it nowhere else
    (E3).
    """

    rows: tuple[ErrorRow, ...] = ()
    delays: tuple[re.Pattern[str], ...] = ()


NO_RULES: Final = ErrorRules()

OWN_CODES: Final = (
    codes.AUTH,
    codes.QUOTA,
    codes.RATE_LIMIT,
    codes.CONTEXT_WINDOW_EXCEEDED,
    codes.INVALID_REQUEST,
    codes.MODEL_NOT_FOUND,
    codes.CONTENT_FILTER,
    codes.OVERLOADED,
    codes.SERVER,
    codes.TIMEOUT,
)
"""Codes that a provider's answer can have (E3), so that a route's own sentences may name them."""


def own_rules(own: Iterable[tuple[str, str]], rules: ErrorRules = NO_RULES) -> ErrorRules:
    """Return rules whose first rows are a route's own sentences, each a pattern and the code that it means.

    A pattern is a regular expression, compared without case with the messages of an error; the first that is found
    decides, before every row of `rules`. Raises `ValueError` that names the entry, as in `errors[0].match`, for a
    pattern that does not compile or that every text has, and for a code that no provider's answer can have.
    """
    return ErrorRules(tuple(_own_row(index, *entry) for index, entry in enumerate(own)) + rules.rows, rules.delays)


def _own_row(index: int, pattern: str, code: str) -> ErrorRow:
    where = f"errors[{index}]"
    if code not in OWN_CODES:
        raise ValueError(f"{where}.code is {code!r}; it is one of {', '.join(OWN_CODES)}")
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as fault:
        raise ValueError(f"{where}.match is no regular expression: {fault}") from None
    if compiled.search("") is not None:
        raise ValueError(f"{where}.match is {pattern!r}, which every text has; name some of the message's words")
    return ErrorRow(code, sentence=compiled)


def classify_answer(
    status: int, headers: Mapping[str, str], body: bytes, *, rules: ErrorRules = NO_RULES, now: float | None = None
) -> Failure:
    """Say what a failed HTTP answer means (E1, E3); header names in any case, `now` in epoch seconds.

    The message is the body's own, scrubbed and bounded, or a sentence that names the status.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    facts = read_error(body)
    moment = time.time() if now is None else now
    delay = retry_after_ms(lower, now=moment)
    if delay is None:
        delay = _body_delay_ms(facts, rules, moment)
    if status < 300:
        code = _event_code(facts, rules, delay)
    else:
        code = judge(facts, status, rules=rules, hinted=delay is not None)
    code = code or codes.SERVER
    if delay is None:
        delay = delay_ms(code, lower, now=moment)
    return Failure(
        message=_message(facts, status, lower),
        code=code,
        phase="headers",
        # A proxy may answer 999; a failure's facts hold statuses of HTTP only.
        status=status if 100 <= status <= 599 else None,
        provider_code=_word(facts.provider_code),
        provider_retry_after_ms=delay,
        request_id=request_id(lower) or _word(facts.request_id),
        should_retry=should_retry(lower),
    )


def classify_event(
    payload: bytes, *, rules: ErrorRules = NO_RULES, phase: Phase = "mid-stream", now: float | None = None
) -> Failure:
    """Say what an error inside a well-formed stream means: in-band, `SERVER` where nothing says better (E1, W1).

    `payload` is the event's data: the whole chunk, the error object alone, or text. A number in it that is an HTTP
    status is judged as one, but `Failure.status` stays absent: this answer's status was 200. JSON past the depth limit
    is `MALFORMED_RESPONSE` (S2).
    """
    facts = read_error(payload)
    delay = _body_delay_ms(facts, rules, time.time() if now is None else now)
    return Failure(
        message=_message(facts, None, {}),
        code=_event_code(facts, rules, delay) or codes.SERVER,
        phase=phase,
        provider_code=_word(facts.provider_code),
        provider_retry_after_ms=delay,
        request_id=_word(facts.request_id),
    )


def _event_code(facts: ErrorFacts, rules: ErrorRules, delay: int | None) -> str | None:
    """Return the code of an error that came under HTTP 200."""
    if facts.too_deep:
        return codes.MALFORMED_RESPONSE
    return judge(facts, _named_status(facts), rules=rules, hinted=delay is not None)


def judge(facts: ErrorFacts, status: int | None, *, rules: ErrorRules = NO_RULES, hinted: bool = False) -> str | None:
    """Return the stable code, or `None` where nothing is known, not even a status (E3).

    The order: the dialect's rows, AUTH by the provider's code, QUOTA, CONTEXT_WINDOW_EXCEEDED, CONTENT_FILTER,
    MODEL_NOT_FOUND, and the status, of which a 5xx may still be the request's fault.
    """
    for row in rules.rows:
        if row.matches(facts, status, hinted=hinted):
            return row.code
    words = frozenset(_lower(facts))
    throttled = _says(facts, sentences.THROTTLING)
    if words & tables.AUTH_CODES:
        return codes.AUTH
    if _is_quota(facts, words, hinted=hinted):
        return codes.QUOTA
    if words & tables.CONTEXT_CODES or (not throttled and _is_overflow(facts, status)):
        return codes.CONTEXT_WINDOW_EXCEEDED
    if words & tables.FILTER_CODES or _says(facts, sentences.FILTERED):
        return codes.CONTENT_FILTER
    if words & tables.MODEL_CODES or _says(facts, sentences.UNKNOWN_MODEL):
        return codes.MODEL_NOT_FOUND
    if status is None and throttled:
        return codes.RATE_LIMIT
    if (status is None or status >= 500) and _says(facts, sentences.WRONG_REQUEST):
        return codes.INVALID_REQUEST
    if status == 429 and words & tables.OVERLOAD_CODES:
        return codes.OVERLOADED
    return status_code(status, overloaded=bool(words & tables.OVERLOAD_CODES) or _says(facts, sentences.OVERLOADED))


def _named_status(facts: ErrorFacts) -> int | None:
    """Return the status that an error under HTTP 200 amounts to: a number in it, else what its type word stands for."""
    if facts.named_status is not None:
        return facts.named_status
    return next((tables.TYPE_STATUS[word] for word in _lower(facts) if word in tables.TYPE_STATUS), None)


def status_code(status: int | None, *, overloaded: bool = False) -> str | None:
    """Return the code for a status alone, `None` for none; `overloaded` where the body speaks of overload."""
    if overloaded and status in (None, 503):
        return codes.OVERLOADED
    if status is None:
        return None
    return tables.STATUS_CODES.get(status) or (codes.SERVER if status >= 500 else http_code(status))


def _is_overflow(facts: ErrorFacts, status: int | None) -> bool:
    return _says(facts, sentences.CONTEXT) or (status == 400 and _says(facts, sentences.WEAK_CONTEXT))


def _is_quota(facts: ErrorFacts, words: frozenset[str], *, hinted: bool) -> bool:
    if words & tables.QUOTA_CODES or _says(facts, sentences.HARD_QUOTA):
        return True
    if not _says(facts, sentences.SOFT_QUOTA):
        return False
    # Without a word for what is exhausted, a delay or "per minute" makes it throttling.
    return not hinted and not _says(facts, sentences.PER_MINUTE)


@cache
def _compiled(table: sentences.Sentences) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{sentence})" for sentence in table), re.IGNORECASE)


def _says(facts: ErrorFacts, table: sentences.Sentences) -> bool:
    return _compiled(table).search(facts.text) is not None


def _lower(facts: ErrorFacts) -> tuple[str, ...]:
    return tuple(word.lower() for word in facts.codes)


_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}

# A delay past this is no hint but a mistake; it is also what a timer can hold.
_LONGEST_MS: Final = 2_147_483_647


def _body_delay_ms(facts: ErrorFacts, rules: ErrorRules, now: float) -> int | None:
    found = facts.retry_after_ms
    if found is None and facts.reset_at_ms is not None:
        found = facts.reset_at_ms - now * 1_000
    for pattern in rules.delays:
        hit = None if found is not None else pattern.search(facts.text)
        if hit is not None:
            found = _duration_ms(hit[0])
    return round(found) if found is not None and 0.5 < found <= _LONGEST_MS else None


def _duration_ms(text: str) -> float | None:
    # "6m0s", "2m59.56s", "12ms", "20 seconds": the pieces add up.
    pieces = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s)", text)
    return sum(float(number) * _UNIT_MS[unit] for number, unit in pieces) if pieces else None


def _word(word: str | None) -> str | None:
    cleaned = scrub(replace_surrogates(word.strip()))[:_MAX_WORD] if word is not None else ""
    return cleaned or None


def _message(facts: ErrorFacts, status: int | None, headers: Mapping[str, str]) -> str:
    if facts.message and facts.kind != "html":
        text = scrub(replace_surrogates(facts.message))
        if status == 404 and _BARE_404.fullmatch(text):
            text += _WHICH_ADDRESS
        return text if len(text) <= _MAX_MESSAGE else f"{text[: _MAX_MESSAGE - 1]}…"
    if status is None:
        said = "the stream carried an error without a message"
    else:
        said = f"the provider answered HTTP {status} without a message"
    if facts.too_deep:
        said += f", but with JSON nested more than {MAX_DEPTH} levels deep"
    if facts.kind == "html":
        media = headers.get("content-type", "text/html").partition(";")[0].strip()[:_MAX_WORD]
        said += f", but with a page ({scrub(media)})" + (f": {scrub(facts.message)}" if facts.message else "")
    if facts.provider_code is not None:
        said += f"; its code is {_word(facts.provider_code)}"
    if status is not None and 300 <= status < 400:
        # K6: a redirect would carry the key along.
        target = _word(headers.get("location")) or "nowhere"
        said += f"; it redirects to {target}, and redirects are not followed: set base_url to where the API is"
    elif status == 404:
        said += _WHICH_ADDRESS
    return said
