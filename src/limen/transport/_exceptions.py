"""Foreign exceptions to `LlmError`, in one place (E1, E4, E5).

The code tells who is at fault: the address is wrong (`INVALID_CONFIG`), the peer cannot be reached or broke the
connection (`TRANSPORT`), a limit passed (`TIMEOUT`), the peer sent what cannot be decoded (`MALFORMED_RESPONSE`) or
ended the body too early (`STREAM_CLOSED`). What is no exception of the network passes unchanged.
"""

import socket
import ssl
from typing import Final, NamedTuple

import httptools

from limen.contract import LlmError, Phase, codes, foreign_text, safe_cause


class Verdict(NamedTuple):
    """The meaning of an exception: its code, the phase it proves (`None`: the call's own), words for the message, and
    `should_retry`, which is `False` for what a second try cannot mend (E3).
    """

    code: str
    phase: Phase | None
    says: str
    should_retry: bool | None = None


class ProxyRefusedError(Exception):
    """The proxy answers, and does not let the connection through; `temporary` where it may do so later."""

    def __init__(self, says: str, *, temporary: bool = False) -> None:
        super().__init__(says)
        self.temporary = temporary


class ProxyUnreachableError(Exception):
    """The proxy itself cannot be reached."""


CLOSED: Final = Verdict(codes.TRANSPORT, None, "the connection was closed before an answer by")
RESET: Final = Verdict(codes.TRANSPORT, None, "the connection was reset by")
SHORT: Final = Verdict(codes.STREAM_CLOSED, None, "the body was ended too early by")
NO_HTTP: Final = Verdict(codes.TRANSPORT, None, "not valid HTTP, from")
BAD_FRAMING: Final = Verdict(codes.TRANSPORT, None, "invalid transfer encoding from")
UNDECODABLE: Final = Verdict(codes.MALFORMED_RESPONSE, None, "cannot decode the answer of")

_UNTRUSTED: Final = Verdict(
    codes.TRANSPORT,
    "connect",
    "the certificate is not trusted (SSL_CERT_FILE, SSL_CERT_DIR or TransportOptions(ca_file=…) name a private CA) of",
    should_retry=False,
)
# X509_V_ERR_…, of openssl/x509_vfy.h
_OTHER_CERTIFICATE: Final = {
    9: Verdict(codes.TRANSPORT, "connect", "the certificate is not valid yet of", should_retry=False),
    10: Verdict(codes.TRANSPORT, "connect", "the certificate has expired of", should_retry=False),
    62: Verdict(codes.TRANSPORT, "connect", "the certificate is for another name than", should_retry=False),
    64: Verdict(codes.TRANSPORT, "connect", "the certificate is for another address than", should_retry=False),
}
_CLIENT_CERTIFICATE: Final = Verdict(
    codes.TRANSPORT,
    None,
    "no client certificate, or one that is not taken (TransportOptions(client_cert_file=…) names one), says",
    should_retry=False,
)
_UNKNOWN_HOST: Final = Verdict(codes.TRANSPORT, "connect", "the host name is not known of", should_retry=False)
_PROXY_REFUSES: Final = Verdict(codes.TRANSPORT, "connect", "the proxy refuses to connect to", should_retry=False)

# The first class that fits counts, so the special ones stand first.
VERDICTS: Final[tuple[tuple[type[BaseException], Verdict], ...]] = (
    (ProxyRefusedError, _PROXY_REFUSES),
    (ProxyUnreachableError, Verdict(codes.TRANSPORT, "connect", "the proxy cannot be reached on the way to")),
    (httptools.HttpParserError, NO_HTTP),
    (httptools.HttpParserUpgrade, NO_HTTP),
    (ssl.SSLCertVerificationError, _UNTRUSTED),
    (ssl.SSLError, Verdict(codes.TRANSPORT, None, "TLS failed with")),
    (socket.gaierror, Verdict(codes.TRANSPORT, "connect", "the host name cannot be looked up of")),
    (TimeoutError, Verdict(codes.TIMEOUT, None, "no answer in time from")),
    (ConnectionRefusedError, Verdict(codes.TRANSPORT, None, "cannot connect to")),
    (ConnectionError, RESET),
    (OSError, Verdict(codes.TRANSPORT, None, "the connection broke to")),
)


def verdict_of(error: BaseException) -> Verdict | None:
    """Return the meaning of an exception, `None` for one that is not the network's."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _OTHER_CERTIFICATE.get(error.verify_code, _UNTRUSTED)
    if isinstance(error, ssl.SSLError) and "ALERT" in (reason := str(getattr(error, "reason", "") or "")):
        # TLS 1.3 tells it after the handshake: "TLSV13_ALERT_CERTIFICATE_REQUIRED", "TLSV1_ALERT_UNKNOWN_CA".
        if "CERTIFICATE" in reason or "UNKNOWN_CA" in reason:
            return _CLIENT_CERTIFICATE
    elif isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_HOST:
        return _UNKNOWN_HOST
    elif isinstance(error, ProxyRefusedError) and error.temporary:
        return _PROXY_REFUSES._replace(should_retry=None)
    for kind, verdict in VERDICTS:
        if isinstance(error, kind):
            return verdict
    return None


_NO_SUCH_HOST: Final = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


def translate(error: BaseException, *, phase: Phase, endpoint: str) -> LlmError | None:
    """Return the `LlmError` for a network's exception, its cause made safe (E5); `None` for any other.

    `endpoint` is the address without path, query and user, fit to be shown.
    """
    verdict = verdict_of(error)
    return None if verdict is None else failure(verdict, error, phase=phase, endpoint=endpoint)


def failure(verdict: Verdict, error: BaseException | None, *, phase: Phase, endpoint: str) -> LlmError:
    """Make the error of a verdict, with the exception that led to it as its cause."""
    why = "" if error is None else f": {foreign_text(error)}"
    made = LlmError(
        f"{verdict.says} {endpoint}{why}", verdict.code, phase=verdict.phase or phase, should_retry=verdict.should_retry
    )
    made.__cause__ = None if error is None else safe_cause(error)
    return made
