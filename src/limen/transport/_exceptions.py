"""Foreign exceptions to `LlmError`, in one place (E1, E4, E5).

Who is at fault can be read off the class: the address is wrong (`INVALID_CONFIG`), the peer cannot be reached or
broke the connection (`TRANSPORT`), a limit passed (`TIMEOUT`), the peer sent what cannot be decoded
(`MALFORMED_RESPONSE`) or ended the body too early (`STREAM_CLOSED`). What is none of the HTTP client's or the
operating system's exceptions is a bug or the caller's own, and passes unchanged.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, NamedTuple

import aiohttp
from aiohttp import http_exceptions

from limen.contract import LlmError, Phase, codes, foreign_text, safe_cause


class Verdict(NamedTuple):
    """What an exception class means: its code, the phase it proves (`None`: the call's own), and words."""

    code: str
    phase: Phase | None
    says: str


# The first class that fits counts, so the special ones stand first.
VERDICTS: Final[tuple[tuple[type[BaseException], Verdict], ...]] = (
    (aiohttp.ConnectionTimeoutError, Verdict(codes.TIMEOUT, "connect", "no connection within timeouts.connect to")),
    (aiohttp.ServerTimeoutError, Verdict(codes.TIMEOUT, None, "no answer in time from")),
    (aiohttp.InvalidURL, Verdict(codes.INVALID_CONFIG, "resolve", "not a usable address:")),
    (aiohttp.NonHttpUrlClientError, Verdict(codes.INVALID_CONFIG, "resolve", "not an http(s) address:")),
    (aiohttp.ClientConnectorCertificateError, Verdict(codes.TRANSPORT, "connect", "the certificate is not trusted of")),
    (aiohttp.ClientConnectorDNSError, Verdict(codes.TRANSPORT, "connect", "the host name is not known of")),
    (
        aiohttp.ClientProxyConnectionError,
        Verdict(codes.TRANSPORT, "connect", "the proxy cannot be reached on the way to"),
    ),
    (aiohttp.ClientConnectorError, Verdict(codes.TRANSPORT, "connect", "cannot connect to")),
    (aiohttp.ClientHttpProxyError, Verdict(codes.TRANSPORT, "connect", "the proxy refuses to connect to")),
    (
        aiohttp.ServerFingerprintMismatch,
        Verdict(codes.TRANSPORT, "connect", "the certificate is not the pinned one of"),
    ),
    (http_exceptions.ContentEncodingError, Verdict(codes.MALFORMED_RESPONSE, None, "cannot decode the answer of")),
    (aiohttp.ServerDisconnectedError, Verdict(codes.TRANSPORT, None, "the connection was closed before an answer by")),
    (aiohttp.ClientPayloadError, Verdict(codes.STREAM_CLOSED, None, "the body was ended too early by")),
    (aiohttp.ClientResponseError, Verdict(codes.TRANSPORT, None, "not an HTTP answer, from")),
    (http_exceptions.HttpProcessingError, Verdict(codes.TRANSPORT, None, "not valid HTTP, from")),
    (aiohttp.ClientError, Verdict(codes.TRANSPORT, None, "the connection broke to")),
    (ssl.SSLError, Verdict(codes.TRANSPORT, None, "TLS failed with")),
    (asyncio.TimeoutError, Verdict(codes.TIMEOUT, None, "no answer in time from")),
    (OSError, Verdict(codes.TRANSPORT, None, "the connection broke to")),
)


def verdict_of(error: BaseException) -> Verdict | None:
    """Return what an exception means, `None` for one that is not the network's."""
    for kind, verdict in VERDICTS:
        if isinstance(error, kind):
            return verdict
    return None


def translate(error: BaseException, *, phase: Phase, endpoint: str) -> LlmError | None:
    """Return the `LlmError` for a network's exception, its cause made safe (E5); `None` for any other.

    `endpoint` is the address without path, query and user, fit to be shown.
    """
    root = _content_encoding(error) or error
    verdict = verdict_of(root)
    if verdict is None:
        return None
    return failure(verdict, error, phase=phase, endpoint=endpoint)


def failure(verdict: Verdict, error: BaseException, *, phase: Phase, endpoint: str) -> LlmError:
    """Make the error of a verdict, with the exception that led to it as its cause."""
    made = LlmError(f"{verdict.says} {endpoint}: {foreign_text(error)}", verdict.code, phase=verdict.phase or phase)
    made.__cause__ = safe_cause(error)
    return made


def _content_encoding(error: BaseException) -> BaseException | None:
    for link in _causes(error):
        if isinstance(link, http_exceptions.ContentEncodingError):
            return link
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(8):
        if link is None:
            return
        yield link
        link = link.__cause__


class NetworkErrors:
    """A context manager that takes a network's exception and keeps it, translated, in `failure`.

    The caller raises it after the block, so the foreign exception is no `__context__` of it: a request's exception
    knows the request's headers (E5). What is not the network's passes.
    """

    __slots__ = ("_endpoint", "_phase", "failure")

    def __init__(self, phase: Callable[[], Phase], endpoint: str) -> None:
        self._phase = phase
        self._endpoint = endpoint
        self.failure: LlmError | None = None

    def __enter__(self) -> "NetworkErrors":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            return False
        self.failure = translate(error, phase=self._phase(), endpoint=self._endpoint)
        return self.failure is not None
