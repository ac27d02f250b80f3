"""Facts in an answer's headers beside its body: retry hints (E3), rate limits and request ids."""

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

from limen.contract import RateLimit, RateLimits, codes, scrub

# In the order of preference; collected from the providers' pages and recorded answers, 2026-11.
REQUEST_ID_HEADERS: Final = (
    "x-request-id",
    "request-id",
    "apim-request-id",  # Azure
    "x-ms-request-id",
    "x-amzn-requestid",  # Bedrock
    "x-deepseek-request-id",
    "x-generation-id",  # OpenRouter
    "inference-id",  # Cerebras, Hugging Face
    "mistral-correlation-id",
    "x-kong-request-id",
    "x-groq-request-id",
    "x-trace-id",
    "msh-request-id",  # Moonshot
    "trace-id",  # MiniMax
    "nvcf-reqid",  # NVIDIA
    "cf-aig-log-id",
    "x-github-request-id",
    "x-vercel-id",
    "traceparent",  # Ollama cloud
    "cf-ray",
)

_LONGEST_ID: Final = 256

# A delay past this is no hint but a mistake; it is also what a timer can hold.
_LONGEST_MS: Final = 2_147_483_647


def request_id(headers: Mapping[str, str]) -> str | None:
    """Return the provider's id of the request, from the first header that has one; names are lower-case.

    It ends up in messages and logs, so it is scrubbed (E5) and bounded.
    """
    for name in REQUEST_ID_HEADERS:
        value = headers.get(name, "").strip()
        if value:
            return scrub(value)[:_LONGEST_ID]
    return None


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """Return what `x-should-retry` says, `None` where it says nothing."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())


def retry_after_ms(headers: Mapping[str, str], *, now: float) -> int | None:
    """Return the delay that a failed answer asks for, in milliseconds; positive or `None`, never an exception (E3).

    `retry-after-ms` wins over `Retry-After`, which may be seconds with a fraction, a list of them (the first counts),
    or an HTTP date, measured against `now` (seconds since the epoch).
    """
    delay = _positive_ms(_number(headers.get("retry-after-ms", "")))
    if delay is not None:
        return delay
    text = headers.get("retry-after", "").strip()
    seconds = _number(text)
    if seconds is None:
        seconds = _seconds_until(text, now)
    return None if seconds is None else _positive_ms(seconds * 1000)


def delay_ms(code: str, headers: Mapping[str, str], *, now: float) -> int | None:
    """Return the delay that a failed answer's headers ask for, in milliseconds (E3).

    Without a retry hint, a `RATE_LIMIT` waits for the reset of the limit that the headers say is exhausted [NQ347].
    """
    hint = retry_after_ms(headers, now=now)
    if hint is not None or code != codes.RATE_LIMIT:
        return hint
    found = rate_limits(headers, now=now)
    limits = () if found is None else (found.requests, found.tokens)
    resets = [one.reset_ms for one in limits if one is not None and one.remaining == 0 and one.reset_ms is not None]
    return max(resets, default=None)


# Names of rate-limit headers, with the kind in place of {}: OpenAI and most compatible hosts; Anthropic (2026-11).
_LIMIT_NAMES: Final = (
    ("x-ratelimit-limit-{}", "x-ratelimit-remaining-{}", "x-ratelimit-reset-{}"),
    ("anthropic-ratelimit-{}-limit", "anthropic-ratelimit-{}-remaining", "anthropic-ratelimit-{}-reset"),
)
# OpenRouter, Moonshot, and the IETF draft: one limit, which counts requests.
_PLAIN_NAMES: Final = (
    ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"),
)
_KINDS: Final = (
    tuple(tuple(name.format("requests") for name in names) for names in _LIMIT_NAMES) + _PLAIN_NAMES,
    tuple(tuple(name.format(kind) for name in names) for kind in ("tokens", "input-tokens") for names in _LIMIT_NAMES),
)
# Go durations: 12ms, 1s, 6m0s, 2m59.56s, 1h2m3s.
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNIT_MS: Final = {"ms": 1.0, "s": 1_000.0, "m": 60_000.0, "h": 3_600_000.0}
_EPOCH_S: Final = 1_000_000_000
_EPOCH_MS: Final = 1_000_000_000_000


def rate_limits(headers: Mapping[str, str], *, now: float) -> RateLimits | None:
    """Return the limits that an answer's headers tell, `None` where they tell none; names are lower-case.

    A reset may be a Go duration, seconds, a point of time in epoch seconds or milliseconds, or RFC 3339; `now` is in
    epoch seconds. Part of a limit that cannot be read is unknown.
    """
    if not any("ratelimit" in name for name in headers):
        return None
    requests, tokens = (_limit(headers, names, now) for names in _KINDS)
    return None if requests is None and tokens is None else RateLimits(requests, tokens)


def _limit(headers: Mapping[str, str], names: tuple[tuple[str, ...], ...], now: float) -> RateLimit | None:
    for limit, remaining, reset in names:
        found = RateLimit(
            _whole(headers.get(limit, "")), _whole(headers.get(remaining, "")), _reset_ms(headers.get(reset, ""), now)
        )
        if found != RateLimit():
            return found
    return None


def _whole(text: str) -> int | None:
    number = _number(text)
    return None if number is None else int(number)


def _reset_ms(text: str, now: float) -> int | None:
    text = text.strip()
    number = _number(text)
    if number is not None:
        if number >= _EPOCH_MS:
            return _positive_ms(number - now * 1_000)
        return _positive_ms((number - now if number >= _EPOCH_S else number) * 1_000)
    if text and _DURATION.sub("", text) == "":
        return _positive_ms(sum(float(one) * _UNIT_MS[unit] for one, unit in _DURATION.findall(text)))
    try:
        return _positive_ms((datetime.fromisoformat(text).timestamp() - now) * 1_000)
    except ValueError:
        return None


def _number(text: str) -> float | None:
    first = text.partition(",")[0].strip()
    # float() also reads "nan", "inf" and "1_000"; a header's number is digits and a point.
    if not first or not first.isascii() or first.strip("0123456789.") != "":
        return None
    try:
        return float(first)
    except ValueError:
        return None


def _seconds_until(text: str, now: float) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        # Not a date, or one that no calendar has; a hint that cannot be read is none.
        return None


def _positive_ms(milliseconds: float | None) -> int | None:
    if milliseconds is None or not 0 < milliseconds <= _LONGEST_MS:
        return None
    return max(1, round(milliseconds))
