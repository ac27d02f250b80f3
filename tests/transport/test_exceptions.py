"""Foreign exceptions to codes: the table is complete, causes are safe, bugs pass."""

import ssl

import aiohttp
import pytest
from aiohttp import client_exceptions, http_exceptions

from limen.contract import ForeignError, LlmError, codes, remember_secret
from limen.transport._exceptions import VERDICTS, NetworkErrors, translate, verdict_of


def kinds(module: object) -> list[type[BaseException]]:
    return [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, BaseException)]


KINDS = sorted({*kinds(client_exceptions), *kinds(http_exceptions)}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_exception_of_the_client_has_a_verdict(kind: type[BaseException]) -> None:
    """Whatever class the HTTP client has, today or after an update, the table knows what it means (E1)."""
    if kind in (client_exceptions.WSMessageTypeError, BaseException, Exception):
        pytest.skip("a misuse of web sockets, which limen has none of")
    made = kind.__new__(kind)
    assert verdict_of(made) is not None


def test_special_classes_come_before_general_ones() -> None:
    """No row of the table is hidden by one above it."""
    order = [kind for kind, _ in VERDICTS]
    for place, kind in enumerate(order):
        assert not any(issubclass(kind, above) for above in order[:place]), kind


@pytest.mark.parametrize(
    ("error", "code", "phase"),
    [
        (ConnectionResetError(104, "reset"), codes.TRANSPORT, "mid-stream"),
        (ssl.SSLError(1, "bad record"), codes.TRANSPORT, "mid-stream"),
        (TimeoutError(), codes.TIMEOUT, "mid-stream"),
        (aiohttp.ServerTimeoutError(), codes.TIMEOUT, "mid-stream"),
        (aiohttp.ConnectionTimeoutError(), codes.TIMEOUT, "connect"),
        (aiohttp.ServerDisconnectedError(), codes.TRANSPORT, "mid-stream"),
        (aiohttp.ClientPayloadError("short"), codes.STREAM_CLOSED, "mid-stream"),
        (aiohttp.InvalidURL("x"), codes.INVALID_CONFIG, "resolve"),
        (http_exceptions.TransferEncodingError("x"), codes.TRANSPORT, "mid-stream"),
        (http_exceptions.ContentEncodingError("x"), codes.MALFORMED_RESPONSE, "mid-stream"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_codes_and_phases(error: Exception, code: str, phase: str) -> None:
    """A class has one code; it keeps the call's phase unless it proves another (E1, E6)."""
    made = translate(error, phase="mid-stream", endpoint="https://host.example")
    assert made is not None
    assert (made.code, made.failure.phase, made.__cause__) == (code, phase, error)
    assert "https://host.example" in str(made)


def test_a_bug_is_not_translated() -> None:
    """What is no network's exception passes unchanged, and is UNKNOWN to the runtime (E4)."""
    bug = ValueError("a bug")
    assert translate(bug, phase="headers", endpoint="e") is None
    with pytest.raises(ValueError, match="a bug") as caught, NetworkErrors(lambda: "headers", "e"):
        raise bug
    assert caught.value is bug


def test_a_failure_is_kept_not_raised() -> None:
    """The block's exception is swallowed and kept, so it is no context of what is raised later (E5)."""
    errors = NetworkErrors(lambda: "headers", "e")
    with errors:
        raise ConnectionResetError("x")
    assert isinstance(errors.failure, LlmError)
    assert errors.failure.__context__ is None
    with errors:
        pass


def test_a_secret_in_a_cause_is_replaced() -> None:
    """A cause whose text holds a key is chained as a stand-in (E5)."""
    remember_secret("sk-limen-cause-0123456789")
    made = translate(OSError("key sk-limen-cause-0123456789 refused"), phase="headers", endpoint="e")
    assert made is not None
    assert isinstance(made.__cause__, ForeignError)
    assert "0123456789" not in f"{made} {made.__cause__!r}"
