"""What an answer's headers say beside its body: retry hints (E3) and request ids."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from limen.contract import scrub

# In the order of preference; collected from the providers' pages and recorded answers, 2026-11.
REQUEST_ID_HEADERS: Final = (
    "x-request-id",
    "request-id",
    "apim-request-id",  # Azure
    "x-ms-request-id",
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
