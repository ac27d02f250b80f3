"""One TCP or TLS connection as an asyncio protocol, the idle connections of one loop, and the heads of requests.

A connection serves one exchange after another. Bytes that arrive while none owns it close it: nobody gets an answer
that he did not ask for (S6). It ends by `release` (idle again), `abort` (closed at once, nothing is flushed) or
`abandon` (the socket is shut down without touching the loop, for finalizers).
"""

import asyncio
import select
import socket
import struct
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

from limen._version import __version__
from limen.contract import LlmError, codes

# Seconds for which a connection may stay idle where the server names no time of its own.
IDLE_S: Final = 60.0
# The most idle connections of one adapter on one loop; there is no limit of open ones (K8).
IDLE_MAX: Final = 512

# Servers that close a connection right after an answer, without saying so, do it within moments (llama.cpp; measured
# 0.1 to 1 ms). Until a server has let its connections be used again so many times in a row, one that has just become
# idle is given this long to be closed; else a quick next request would cross the close and be lost (P1 of 2026-11).
_SETTLE_S: Final = 0.01
_TRUSTED: Final = 16

_TCP_CLOSE: Final = 7  # `tcpi_state` of a connection that is over; include/net/tcp_states.h
_BYTES_ACKED: Final = struct.Struct("=120xQ")  # `tcpi_bytes_acked`; include/uapi/linux/tcp.h, since Linux 4.1

_BODILY: Final = frozenset({"POST", "PUT", "PATCH"})
# Added where the request has none of its own; streams ask for `identity` (K8).
_DEFAULTS: Final = (
    ("accept", "accept: */*"),
    ("accept-encoding", "accept-encoding: identity"),
    ("user-agent", f"user-agent: limen/{__version__}"),
)


class State(Enum):
    """Progress of a connection with its exchange."""

    IDLE = "idle"
    SENDING = "sending"  # part of the request is not yet with the kernel
    HEAD = "head"
    BODY = "body"
    CLOSED = "closed"


_IDLE, _SENDING, _HEAD, _CLOSED = State.IDLE, State.SENDING, State.HEAD, State.CLOSED


class Owner(Protocol):
    """An exchange, as its connection sees it."""

    def feed(self, data: bytes) -> None:
        """Take a read."""
        ...

    def lost(self, error: Exception | None, *, accepted: bool) -> None:
        """The connection is gone, in order or by an error; `accepted`: the server may have seen the request."""
        ...


class Connection(asyncio.Protocol):
    """One connection; `key` says to where. `unsent` is true while part of a request waits to be written."""

    __slots__ = (
        "_acked",
        "_error",
        "_home",
        "_look",
        "_refused",
        "_tls",
        "_written",
        "expires",
        "key",
        "owner",
        "released",
        "state",
        "transport",
        "unsent",
    )

    transport: asyncio.Transport

    def __init__(self, home: "Connections", key: Hashable) -> None:
        self.key: Hashable = key
        self.state: State = _IDLE
        self.owner: Owner | None = None
        self.unsent: bool = False
        self._refused = False
        self._error: Exception | None = None
        self.expires: float = 0.0
        self.released: float = 0.0
        self._home = home
        self._acked: int | None = None
        self._written = 0
        self._tls = False
        self._look: Callable[[], bool] | None = None

    # -- called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; with TLS, the handshake is over."""
        # uvloop's transports are no asyncio.Transport by their class.
        self.transport = transport  # type: ignore[assignment] # pyright: ignore[reportAttributeAccessIssue] - see above
        # asyncio's TLS transport pauses at `size >= high`, so 0 would pause it for good (CPython 3.11 to 3.13).
        self.transport.set_write_buffer_limits(high=1, low=0)
        self._tls = transport.get_extra_info("sslcontext") is not None
        self._home.open.add(self)

    def data_received(self, data: bytes) -> None:
        """Hand a read to the exchange; without one, close."""
        if self.owner is None:
            self.abort()
        else:
            self.owner.feed(data)

    def eof_received(self) -> bool:
        """Close: the peer will send no more, and what of the request is unsent is of no use."""
        owner = self.owner
        if owner is not None and self.state is not _CLOSED:
            accepted = self._may_be_accepted()
            self.abort()
            owner.lost(None, accepted=accepted)
        elif self.state is _IDLE:
            self._home.left_by_server(self)
        self.abort()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the exchange, unless it closed the connection itself."""
        if self.state is _CLOSED:
            return
        owner = self.owner
        if owner is not None and exc is not None:
            self._rescue(owner)
        self._gone()
        if owner is None:
            self._error = exc
        else:
            owner.lost(exc, accepted=not self._refused)

    def pause_writing(self) -> None:
        """The kernel takes no more for now."""
        self.unsent = True
        if self.state is _HEAD:
            self.state = _SENDING

    def resume_writing(self) -> None:
        """The request is with the kernel."""
        self.unsent = False
        if self.state is _SENDING:
            self.state = _HEAD

    # -- called by an exchange

    def send(self, owner: Owner, head: bytes, body: bytes) -> None:
        """Write a request for this exchange."""
        if self.state is _CLOSED:
            # It was lost between its making and now.
            owner.lost(self._error, accepted=False)
            return
        if self._tls and self.expires:
            self._acked = self._tcp_info()[1]
        elif self.expires:
            # The SYN counts as one.
            self._acked = self._written + 1
        self._written += len(head) + len(body)
        self.owner = owner
        self.state = _HEAD
        self.transport.write(head + body if len(body) < 65536 else head)
        if self.transport.is_closing():
            # It was lost before, or asyncio tried at once and the kernel refused; connection_lost() comes with the
            # reason in the loop's next turn.
            self._refused = True
        elif len(body) >= 65536:
            self.transport.write(body)

    def release(self, idle: float) -> None:
        """Go back to the idle ones for so many seconds."""
        self.owner = None
        self.state = _IDLE
        self._home.put(self, idle)

    def abort(self) -> None:
        """Close at once: neither unsent bytes nor a TLS peer's goodbye are waited for. Idempotent."""
        if self.state is _CLOSED:
            return
        self._gone()
        try:
            self.transport.abort()
        except AttributeError:  # pragma: no cover - one patch release does so
            # CPython 3.11.2's TLS transport forgets its protocol at a second close(), and that is what it aborts.
            self.abandon()

    def abandon(self) -> None:
        """Shut the socket down, touching no loop, which then sees the end of it: for finalizers (T2, R11)."""
        with suppress(OSError, ValueError), self._twin() as twin:
            twin.shutdown(socket.SHUT_RDWR)

    def _gone(self) -> None:
        self._home.forget(self)
        self.state = _CLOSED
        self.owner = None

    # -- what the kernel knows

    def _rescue(self, owner: Owner) -> None:
        """Read what the kernel still holds when writing failed: a server that refuses a large request (413, 429)
        answers, and closes without reading on; asyncio gives the socket up at the failed write (S4).
        """
        if self._tls:
            return
        with suppress(OSError, ValueError), self._twin() as twin:
            while self.owner is owner and (data := twin.recv(65536)):
                owner.feed(data)

    def fresh(self) -> bool:
        """Say whether an idle connection can be used: neither closed by the peer nor with a byte to read.

        The loop may not have come to read that yet, so the socket itself is asked.
        """
        if self._look is None:
            self._look = _look_at(self.transport.get_extra_info("socket").fileno())
        return self._look()

    def _may_be_accepted(self) -> bool:
        """Say whether the server may have seen the request that was written last.

        It cannot have where its FIN came first and its kernel then answered the request by a reset, acknowledging no
        byte of it: the FIN of an idle connection and a request crossed.
        """
        state, acked = self._tcp_info()
        return self._acked is None or state != _TCP_CLOSE or acked != self._acked

    def _tcp_info(self) -> tuple[int, int | None]:
        """Return the kernel's state of the connection, and how many bytes the peer has acknowledged, if it tells."""
        if not hasattr(socket, "TCP_INFO"):  # pragma: no cover - Linux has it; elsewhere the kernel does not tell
            return 0, None
        with suppress(OSError, ValueError), self._twin() as twin:
            info = twin.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED.size)
            if len(info) == _BYTES_ACKED.size:
                acked: int = _BYTES_ACKED.unpack(info)[0]
                return info[0], acked
        return 0, None

    def _twin(self) -> socket.socket:
        """Return a socket of its own for the same connection: uvloop's socket object has neither options nor reads."""
        raw: socket.socket = self.transport.get_extra_info("socket")
        return socket.fromfd(raw.fileno(), raw.family, raw.type)


def _look_at(fd: int) -> Callable[[], bool]:
    """Return a function that says whether nothing can be read from a socket, its end included."""
    if not hasattr(select, "poll"):  # pragma: no cover - Windows has select alone
        return lambda: not select.select([fd], [], [], 0)[0]
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return lambda: not poll.poll(0)


class Connections:
    """The open connections of one loop, and the idle ones among them by their key, the latest used first.

    Holds no exchange, and is held by its connections, so it outlives a pool that is dropped.
    """

    __slots__ = ("_idle", "_loop", "_timer", "_trust", "count", "open")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.open: set[Connection] = set()
        self.count: int = 0
        self._idle: dict[Hashable, list[Connection]] = {}
        self._trust: dict[Hashable, int] = {}
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def take(self, key: Hashable) -> Connection | None:
        """Return an idle connection that was looked at, closing those that cannot be used."""
        idle = self._idle.get(key)
        while idle:
            connection = idle.pop()
            self.count -= 1
            if self._loop.time() >= connection.expires:
                connection.abort()
            elif connection.fresh():
                return connection
            else:
                self._trust[key] = 0
                connection.abort()
        return None

    def unsettled(self, connection: Connection) -> bool:
        """Say whether a connection that was taken may be about to be closed by a server that is not known yet."""
        return self._trust.get(connection.key, 0) < _TRUSTED and self._loop.time() - connection.released < _SETTLE_S

    async def settle(self, connection: Connection) -> Connection | None:
        """Wait until a connection has been idle for 10 ms; return it, or another one where it was closed."""
        try:
            # Turns are counted, not time: a loop that was held up may not have come to read the close.
            for _ in range(10):
                if connection.state is _IDLE:
                    await asyncio.sleep(_SETTLE_S / 10)
        except BaseException:
            connection.abort()
            raise
        if connection.state is _IDLE and connection.fresh():
            return connection
        connection.abort()
        return self.take(connection.key)

    def put(self, connection: Connection, idle: float) -> None:
        """Keep a connection for so many seconds, or close it where enough are kept."""
        connection.released = self._loop.time()
        if connection.expires:
            self._trust[connection.key] = self._trust.get(connection.key, 0) + 1
        connection.expires = connection.released + idle
        if self.count >= IDLE_MAX or idle <= 0:
            connection.abort()
            return
        self.count += 1
        self._idle.setdefault(connection.key, []).append(connection)
        if self._timer is None:
            self._timer = self._loop.call_later(IDLE_S, self._sweep)

    def left_by_server(self, connection: Connection) -> None:
        """A server has closed an idle connection: soon after an answer, it may do so again."""
        if self._loop.time() - connection.released < 1:
            self._trust[connection.key] = 0

    def forget(self, connection: Connection) -> None:
        """A connection is closed."""
        self.open.discard(connection)
        if connection.state is _IDLE and connection in (idle := self._idle.get(connection.key, [])):
            idle.remove(connection)
            self.count -= 1

    def close(self) -> None:
        """Close every connection."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for connection in list(self.open):
            connection.abort()

    def _sweep(self) -> None:
        self._timer = None
        now = self._loop.time()
        for connection in [each for idle in self._idle.values() for each in idle if each.expires <= now]:
            connection.abort()
        self._idle = {key: idle for key, idle in self._idle.items() if idle}
        if self.count:
            self._timer = self._loop.call_later(IDLE_S, self._sweep)


class HttpRequest(NamedTuple):
    """One request, complete with its credentials; the repr shows none of them."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def __repr__(self) -> str:
        return f"HttpRequest({self.method}, {len(self.headers)} headers, {len(self.body)} bytes)"


class Target(NamedTuple):
    """The address of a request; `endpoint` leaves out path, query and user, so it is fit to be shown."""

    tls: bool
    host: str
    port: int
    authority: str
    path: str
    endpoint: str


@lru_cache(maxsize=256)
def target_of(url: str) -> Target:
    """Return where a URL leads. Raises `LlmError` `INVALID_CONFIG` for one that nothing can be sent to."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        if host and not host.isascii():
            host = host.encode("idna").decode()
    except ValueError:
        parts, host, port = None, None, None
    # urlsplit() leaves out line ends and tabs without a word.
    if parts is None or parts.scheme not in ("http", "https") or not host or any(c <= " " for c in url):
        raise LlmError("a request's address is an http(s) URL with a host", codes.INVALID_CONFIG, phase="resolve")
    tls = parts.scheme == "https"
    shown = f"[{host}]" if ":" in host else host
    authority = f"{shown}:{port}" if port else shown
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    path = path if path.isascii() else quote(path, safe="%/:=&?~#+!$,;'@()*[]")
    return Target(tls, host, port or (443 if tls else 80), authority, path, f"{parts.scheme}://{authority}")


def head_of(request: HttpRequest, target: Target, *, absolute: bool, proxy_credential: str | None) -> bytes:
    """Return the head of a request; `absolute` puts the whole address into its first line, for a proxy.

    Raises `LlmError` `INVALID_CONFIG` for a header that is not one line of text.
    """
    lines = [f"{request.method} {f'http://{target.authority}' if absolute else ''}{target.path} HTTP/1.1"]
    lines.append(f"host: {target.authority}")
    given = {name.lower() for name, _ in request.headers}
    lines += [f"{name}: {value}" for name, value in request.headers]
    lines += [line for name, line in _DEFAULTS if name not in given]
    if request.body or request.method in _BODILY:
        lines.append(f"content-length: {len(request.body)}")
    if proxy_credential is not None:
        lines.append(f"proxy-authorization: {proxy_credential}")
    text = "\r\n".join(lines)
    breaks = len(lines) - 1
    if text.count("\n") == breaks and text.count("\r") == breaks and "\0" not in text:
        try:
            return f"{text}\r\n\r\n".encode()
        except UnicodeEncodeError:
            # Raised below, outside this handler: the exception holds the header's whole text (E5).
            pass
    raise LlmError("a header of the request is not one line of Unicode text", codes.INVALID_CONFIG, phase="resolve")
