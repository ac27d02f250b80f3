"""New connections: to the server itself, or through a proxy, with TLS where the address asks for it.

Runs as a task of its own, which an abort or a limit cancels; whatever it opened by then is closed at once (Q6).
"""

import asyncio
import socket
import ssl
from base64 import b64encode
from typing import Final
from urllib.parse import unquote, urlsplit

import httptools

from limen.transport._connection import Connection, Target
from limen.transport._exceptions import ProxyRefusedError, ProxyUnreachableError
from limen.transport._options import TransportOptions

# Seconds until the next address of a host is tried beside the one before (RFC 8305, 5).
_HAPPY_EYEBALLS_S: Final = 0.25
# Bytes of a proxy's answer to CONNECT, its page of refusal aside.
_DIALOGUE_MAX: Final = 64 * 1024
# Refusals of a proxy that pass: it cannot reach the host now, or is busy.
_TEMPORARY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
# asyncio's own limit of a handshake; `timeouts.connect` covers it.
_HANDSHAKE_S: Final = 3600.0


async def connect(connection: Connection, target: Target, proxy: str | None, options: TransportOptions) -> Connection:
    """Open the connection and return it. Raises what the network raises, and `Proxy…Error` for a proxy's faults."""
    context = options.context() if target.tls else None
    if proxy is None:
        await _open(connection, target.host, target.port, context)
    elif proxy.startswith("socks"):
        raw = await _through_socks(proxy, target)
        try:
            await _open(connection, target.host, target.port, context, raw)
        except BaseException:
            raw.close()
            raise
    else:
        await _through_http(connection, target, proxy, options)
    return connection


def credential_of(proxy: str) -> str | None:
    """Return the value of `Proxy-Authorization` for the user in a proxy's address."""
    parts = urlsplit(proxy)
    if parts.username is None:
        return None
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(user.encode()).decode()}"


async def _open(
    protocol: asyncio.Protocol, host: str, port: int, context: ssl.SSLContext | None, raw: socket.socket | None = None
) -> None:
    loop = asyncio.get_running_loop()
    name = host if context is not None else None
    limit = _HANDSHAKE_S if context is not None else None
    if raw is not None:
        await loop.create_connection(
            lambda: protocol, sock=raw, ssl=context, server_hostname=name, ssl_handshake_timeout=limit
        )
    elif isinstance(loop, asyncio.BaseEventLoop) and not _is_address(host):
        await loop.create_connection(
            lambda: protocol,
            host,
            port,
            ssl=context,
            ssl_handshake_timeout=limit,
            happy_eyeballs_delay=_HAPPY_EYEBALLS_S,
        )
    else:
        # uvloop takes no delay: it tries one address after the other.
        await loop.create_connection(lambda: protocol, host, port, ssl=context, ssl_handshake_timeout=limit)


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdecimal()


async def _through_http(connection: Connection, target: Target, proxy: str, options: TransportOptions) -> None:
    parts = urlsplit(proxy)
    over_tls = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if over_tls else 80)
    dialogue = _Dialogue()
    first = dialogue if target.tls else connection
    try:
        await _open(first, host, port, options.context() if over_tls else None)
    except ssl.SSLError:
        raise
    except OSError as error:
        raise ProxyUnreachableError(str(error)) from error
    if not target.tls:
        return
    try:
        await dialogue.ask(f"{target.host if ':' not in target.host else f'[{target.host}]'}:{target.port}", proxy)
        upgraded = await asyncio.get_running_loop().start_tls(
            dialogue.transport,
            connection,
            options.context(),
            server_hostname=target.host,
            ssl_handshake_timeout=_HANDSHAKE_S,
        )
    except BaseException:
        dialogue.transport.abort()
        raise
    if upgraded is None:
        raise ConnectionResetError("the proxy closed the connection during the TLS handshake")
    connection.connection_made(upgraded)


class _Dialogue(asyncio.Protocol):
    """The exchange with a proxy before TLS begins: one CONNECT, one head of an answer."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._size = 0
        self._status = 0
        self._surplus = False

    async def ask(self, authority: str, proxy: str) -> None:
        """Ask for a way through; return once it is open."""
        credential = credential_of(proxy)
        lines = [f"CONNECT {authority} HTTP/1.1", f"host: {authority}"]
        lines += [] if credential is None else [f"proxy-authorization: {credential}"]
        self.transport.write("\r\n".join([*lines, "", ""]).encode())
        await self._answered

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no asyncio.Transport by their class.
        self.transport = transport  # type: ignore[assignment] # pyright: ignore[reportAttributeAccessIssue] - see above

    def data_received(self, data: bytes) -> None:
        self._size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._end(error)
        if self._size > _DIALOGUE_MAX:
            self._end(ProxyRefusedError("its answer has a head without an end"))
        if self._status // 100 == 2 and (self._surplus or not data.endswith(b"\r\n\r\n")):
            # A TLS server waits for its client: these bytes are nobody's.
            self._end(ProxyRefusedError("its answer goes on after its head"))
        elif self._status // 100 == 2:
            self._end(None)
        elif self._status:
            temporary = self._status in _TEMPORARY
            self._end(ProxyRefusedError(f"it answers CONNECT with status {self._status}", temporary=temporary))

    def on_headers_complete(self) -> None:
        """The head of an answer ends; of interim answers more follows."""
        status = self._parser.get_status_code()
        self._status = status if status >= 200 else 0

    def on_body(self, _: bytes) -> None:
        """Bytes after the head."""
        self._surplus = True

    def eof_received(self) -> None:
        self._end(ProxyUnreachableError("it closed the connection without an answer"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(ProxyUnreachableError(str(exc or "it closed the connection without an answer")))

    def _end(self, error: Exception | None) -> None:
        if self._answered.done():
            return
        if error is None:
            self._answered.set_result(None)
        else:
            self._answered.set_exception(error)


async def _through_socks(proxy: str, target: Target) -> socket.socket:
    """Return a socket that a SOCKS proxy joined with the target; with `socks5h` and `socks4a` it looks the host up."""
    from python_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError
    from python_socks.async_.asyncio import Proxy

    far = proxy.startswith(("socks5h", "socks4a"))
    url = proxy.replace("socks5h:", "socks5:", 1).replace("socks4a:", "socks4:", 1)
    try:
        return await Proxy.from_url(url, rdns=far).connect(target.host, target.port, timeout=_HANDSHAKE_S)
    except (ProxyConnectionError, ProxyTimeoutError) as error:
        raise ProxyUnreachableError(str(error)) from error
    except ProxyError as error:
        raise ProxyRefusedError(str(error)) from error
