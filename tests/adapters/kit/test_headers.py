"""Retry hints (E3) and request ids from headers."""

import pytest

from limen.adapters.kit.errors import (
    classify_answer,
    delay_ms,
    rate_limits,
    request_id,
    retry_after_ms,
    should_retry,
)
from limen.adapters.kit.errors._headers import REQUEST_ID_HEADERS
from limen.contract import RateLimit, RateLimits, codes, remember_secret

# Wed, 21 Oct 2026 07:27:00 GMT
NOW = 1792567620.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after-ms": "1500"}, 1500),
        ({"retry-after-ms": "1500.6", "retry-after": "9"}, 1501),
        ({"retry-after-ms": "0.2"}, 1),
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "1.5"}, 1500),
        ({"retry-after": "0.493"}, 493),
        ({"retry-after": " 30 "}, 30_000),
        ({"retry-after": "30,120"}, 30_000),
        ({"retry-after": "30 , 120"}, 30_000),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 60_000),
        ({"retry-after": "Wednesday, 21-Oct-26 07:28:00 GMT"}, 60_000),
        ({"retry-after": "Wed, 21 Oct 2026 09:28:00 +0200"}, 60_000),
        ({"retry-after": "Wed, 21 Oct 2026 07:26:00 GMT"}, None),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3000),
        ({"retry-after-ms": "0", "retry-after": "3"}, 3000),
        ({"retry-after-ms": "-5"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1_000"}, None),
        ({"retry-after": "1.2.3"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "9999999999"}, None),
        ({"retry-after": "Wed, 99 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_hints(headers: dict[str, str], expected: int | None) -> None:
    """Every form that servers send is read or is no hint; none is an exception (E3, Q040, Q041)."""
    assert retry_after_ms(headers, now=NOW) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("FALSE ", False), ("maybe", None), ("", None), (None, None)]
)
def test_should_retry(value: str | None, expected: bool | None) -> None:
    """`x-should-retry` says yes, no or nothing (E3)."""
    assert should_retry({} if value is None else {"x-should-retry": value}) is expected


def test_request_ids_are_read_in_order() -> None:
    """The first header of the list that has a value is the request's id."""
    headers = {name: f"id-of-{name}" for name in REQUEST_ID_HEADERS}
    for name in REQUEST_ID_HEADERS:
        assert request_id(headers) == f"id-of-{name}"
        headers[name] = "  "
    assert request_id(headers) is None


def test_a_request_id_is_fit_to_be_shown() -> None:
    """An id that repeats the key is scrubbed, and a long one cut (E5)."""
    remember_secret("sk-limen-echoed-0123456789")
    assert request_id({"x-request-id": "for sk-limen-echoed-0123456789"}) == "for [redacted]"
    assert request_id({"x-request-id": "i" * 1000}) == "i" * 256


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"content-type": "text/plain"}, None),
        (
            {
                "x-ratelimit-limit-requests": "60",
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-limit-tokens": "150000",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "2m59.56s",
            },
            RateLimits(RateLimit(60, 59, 1_000), RateLimit(150_000, 0, 179_560)),
        ),
        (
            {
                "anthropic-ratelimit-requests-limit": "50",
                "anthropic-ratelimit-requests-remaining": "49",
                "anthropic-ratelimit-requests-reset": "2026-10-21T07:28:00Z",
                "anthropic-ratelimit-input-tokens-limit": "10000",
            },
            RateLimits(RateLimit(50, 49, 60_000), RateLimit(10_000)),
        ),
        ({"x-ratelimit-reset": "1792567680000"}, RateLimits(RateLimit(reset_ms=60_000))),
        ({"x-ratelimit-reset": "1792567680"}, RateLimits(RateLimit(reset_ms=60_000))),
        ({"ratelimit-remaining": "3", "ratelimit-reset": "7"}, RateLimits(RateLimit(remaining=3, reset_ms=7_000))),
        ({"x-ratelimit-reset-tokens": "6m0s"}, RateLimits(tokens=RateLimit(reset_ms=360_000))),
        ({"x-ratelimit-reset-tokens": "-1", "x-ratelimit-limit-tokens": "many"}, None),
        ({"x-ratelimit-reset-tokens": "0"}, None),
        ({"x-ratelimit-reset-tokens": "soon"}, None),
    ],
)
def test_NQ356_rate_limits(headers: dict[str, str], expected: RateLimits | None) -> None:
    """Limits are read in every form that a host was seen to send; a part that cannot be read is unknown [NQ356]."""
    assert rate_limits(headers, now=NOW) == expected


@pytest.mark.parametrize(
    ("code", "headers", "expected"),
    [
        (codes.RATE_LIMIT, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2m59.56s"}, 179_560),
        (codes.RATE_LIMIT, {"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "2m59.56s"}, None),
        (
            codes.RATE_LIMIT,
            {"retry-after": "2", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2m59.56s"},
            2_000,
        ),
        (codes.SERVER, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2m59.56s"}, None),
        (codes.RATE_LIMIT, {}, None),
    ],
)
def test_delay_of_an_exhausted_limit(code: str, headers: dict[str, str], expected: int | None) -> None:
    """A rate limit without a retry hint waits for the reset of the limit that is exhausted (E3) [NQ347]."""
    assert delay_ms(code, headers, now=NOW) == expected


def test_a_classified_answer_has_the_delay_of_its_exhausted_limit() -> None:
    """The hint reaches the failure of an HTTP answer (E3) [NQ347]."""
    headers = {"X-RateLimit-Remaining-Tokens": "0", "X-RateLimit-Reset-Tokens": "2m59.56s"}
    body = b'{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}'

    failure = classify_answer(429, headers, body, now=NOW)

    assert (failure.code, failure.provider_retry_after_ms) == (codes.RATE_LIMIT, 179_560)
