"""Foreign exceptions to codes: the table is complete, causes are safe, bugs pass."""

import socket
import ssl

import httptools
import pytest
from httptools.parser import errors

from limen.contract import ForeignError, codes, remember_secret
from limen.transport._exceptions import (
    VERDICTS,
    ProxyRefusedError,
    ProxyUnreachableError,
    translate,
    verdict_of,
)

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", [*KINDS, OSError, ssl.SSLError], ids=lambda kind: kind.__name__)
def test_every_exception_of_the_parser_and_the_system_has_a_verdict(kind: type[BaseException]) -> None:
    """Whatever class the parser or a socket raises, today or after an update, the table knows its meaning (E1)."""
    assert verdict_of(kind.__new__(kind)) is not None


def test_special_classes_come_before_general_ones() -> None:
    """No row of the table is hidden by one above it."""
    order = [kind for kind, _ in VERDICTS]
    for place, kind in enumerate(order):
        assert not any(issubclass(kind, above) for above in order[:place]), kind


def untrusted(code: int) -> ssl.SSLCertVerificationError:
    """A certificate fault as OpenSSL tells it."""
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code = code
    return error


def alert(reason: str) -> ssl.SSLError:
    """An alert of the TLS peer."""
    error = ssl.SSLError(1, f"[SSL: {reason}] alert")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "code", "phase", "should_retry"),
    [
        (ConnectionResetError(104, "reset"), codes.TRANSPORT, "mid-stream", None),
        (ssl.SSLError(1, "bad record"), codes.TRANSPORT, "mid-stream", None),
        (TimeoutError(), codes.TIMEOUT, "mid-stream", None),
        (httptools.HttpParserError("x"), codes.TRANSPORT, "mid-stream", None),
        (ProxyUnreachableError("x"), codes.TRANSPORT, "connect", None),
        (ProxyRefusedError("x"), codes.TRANSPORT, "connect", False),
        (ProxyRefusedError("x", temporary=True), codes.TRANSPORT, "connect", None),
        (socket.gaierror(socket.EAI_NONAME, "x"), codes.TRANSPORT, "connect", False),
        (socket.gaierror(socket.EAI_AGAIN, "x"), codes.TRANSPORT, "connect", None),
        (untrusted(20), codes.TRANSPORT, "connect", False),
        (untrusted(10), codes.TRANSPORT, "connect", False),
        (untrusted(62), codes.TRANSPORT, "connect", False),
        (alert("TLSV13_ALERT_CERTIFICATE_REQUIRED"), codes.TRANSPORT, "mid-stream", False),
        (alert("TLSV1_ALERT_INTERNAL_ERROR"), codes.TRANSPORT, "mid-stream", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_codes_and_phases(error: Exception, code: str, phase: str, should_retry: bool | None) -> None:
    """A class has one code; it keeps the call's phase unless it proves another, and says where a second try is
    of no use (E1, E3, E6).
    """
    made = translate(error, phase="mid-stream", endpoint="https://host.example")
    assert made is not None
    failure = made.failure
    assert (made.code, failure.phase, failure.should_retry, made.__cause__) == (code, phase, should_retry, error)
    assert "https://host.example" in str(made)


def test_certificate_faults_are_told_apart() -> None:
    """Untrusted, expired, not yet valid and made for another name: four sentences; the first says what to do (K8)."""
    told = {code: str(translate(untrusted(code), phase="connect", endpoint="e")) for code in (20, 10, 9, 62)}
    assert len(set(told.values())) == 4
    assert "SSL_CERT_FILE" in told[20]


def test_a_bug_is_not_translated() -> None:
    """What is no network's exception passes unchanged, and is UNKNOWN to the runtime (E4)."""
    assert translate(ValueError("a bug"), phase="headers", endpoint="e") is None


def test_a_secret_in_a_cause_is_replaced() -> None:
    """A cause whose text holds a key is chained as a stand-in (E5)."""
    remember_secret("sk-limen-cause-0123456789")
    made = translate(OSError("key sk-limen-cause-0123456789 refused"), phase="headers", endpoint="e")
    assert made is not None
    assert isinstance(made.__cause__, ForeignError)
    assert "0123456789" not in f"{made} {made.__cause__!r}"
