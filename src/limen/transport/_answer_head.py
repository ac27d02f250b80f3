"""The head of an answer: whether it may be taken, how its body is framed, how long its connection may be kept.

llhttp refuses what two readers may read in two ways (two lengths, a length beside chunks, folded fields, bare CR or
LF); refused here is what it lets through.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import httptools

from limen.transport._connection import IDLE_S

# Bytes of an answer's head, interim answers included: policies and cookies of gateways are long.
HEAD_MAX: Final = 256 * 1024
# Taken off the idle time that a server's `Keep-Alive` promises, for the way there.
_MARGIN_S: Final = 1.0


class Head(NamedTuple):
    """`framed` says that the message tells its own end, `keep` for how many seconds its connection may be idle."""

    status: int
    headers: dict[str, str]
    framed: bool
    keep: float


def head_of(parser: httptools.HttpResponseParser, fields: Sequence[tuple[bytes, bytes]], size: int) -> Head:
    """Return the head that a parser has read, an interim one too. Raises `ValueError` for one that is refused."""
    status = parser.get_status_code()
    headers: dict[str, str] = {}
    for raw, value in fields:
        name = raw.decode("latin-1").lower()
        text = text_of(value)
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    if size > HEAD_MAX:
        raise ValueError(f"the head is larger than {HEAD_MAX} bytes")
    if parser.get_http_version() not in ("1.1", "1.0"):
        raise ValueError(f"HTTP/{parser.get_http_version()} was not asked for")
    coding = headers.get("transfer-encoding", "").lower()
    if coding not in ("", "chunked", "identity"):
        raise ValueError(f"the transfer coding {coding[:80]!r} was not asked for")
    if status == 101 or (status < 200 and (coding or "content-length" in headers)):
        raise ValueError(f"an interim answer ({status}) that was not asked for, or has a body")
    framed = "content-length" in headers or coding == "chunked" or status in (204, 304)
    # An error answer's connection is not used again: servers close it, some without saying so (K8).
    kept = status < 300 and parser.should_keep_alive()
    return Head(status, headers, framed, _idle_time(headers.get("keep-alive", "")) if kept else 0.0)


def text_of(value: bytes) -> str:
    """Return a field's value as text: UTF-8, else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _idle_time(promised: str) -> float:
    """Return for how many seconds a connection is kept: what `Keep-Alive: timeout=…` says, less a margin."""
    for part in promised.lower().split(","):
        name, _, seconds = part.partition("=")
        if name.strip() == "timeout" and seconds.strip().isdecimal() and len(seconds) < 10:
            return min(int(seconds) - _MARGIN_S, IDLE_S)
    return IDLE_S
