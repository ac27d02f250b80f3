"""Connections of one adapter in one process on one loop (T2), and the HTTP client's parts that make them."""

import asyncio
import os
import threading
import warnings
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

import aiohttp
from aiohttp.client_proto import ResponseHandler

from limen.contract import LlmError, Timeouts, codes
from limen.transport._options import TransportOptions

# The most that a slow consumer leaves in memory is twice this; past it, reading pauses and the kernel holds the rest.
READ_BUFFER: Final = 1024 * 1024

# Providers behind gateways send long policies and cookies; what is read from an answer's head is bounded by this.
_HEADER_BYTES: Final = 64 * 1024


class Severable(Protocol):
    """An exchange as its pool sees it."""

    def kill(self, error: LlmError | None) -> None:
        """Close its connection at once, for a reason."""
        ...


class _Handler(ResponseHandler):
    """aiohttp's protocol with two habits changed, both seen in 3.14, 2026-11.

    A head is fed to the parser before its body, though both came in one read: else the parser drops the head, and
    the body's good part with it, when the same read holds a broken chunk (S4). And nothing is resumed that was not
    paused: the reader asks for it after every HTTP chunk, which cost a fifth of all time spent on a stream.
    """

    def resume_reading(self, *args: bool, **kwargs: bool) -> None:
        if self._reading_paused:
            super().resume_reading(*args, **kwargs)

    def data_received(self, data: bytes) -> None:
        payload = self._payload
        if payload is None or payload.is_eof():
            end = data.find(b"\r\n\r\n") + 4
            if 4 <= end < len(data):
                super().data_received(data[:end])
                data = data[end:]
        super().data_received(data)


class _Connector(aiohttp.TCPConnector):
    """No limit of connections (K8), our handler, and a way to be dropped with a loop that is gone."""

    def __init__(self) -> None:
        super().__init__(limit=0)  # pyright: ignore[reportUnknownMemberType] - a tuple in aiohttp's signature is open
        handler: type[ResponseHandler] = _Handler
        self._factory = partial(handler, loop=self._loop)

    def discard(self) -> None:
        """Forget connections of a loop that is closed; nothing is scheduled."""
        with suppress(RuntimeError):
            self._close()

    def __del__(self, _warnings: object = None) -> None:
        """Touch no loop (T2): the pool warns, and the loop closes what is left by way of `_closed_with_loop`."""


class Pool:
    """The client session of one loop. `live` holds the exchanges that are under way, `dropped` those nobody holds."""

    def __init__(self, options: TransportOptions, timeouts: Timeouts) -> None:
        self.loop = asyncio.get_running_loop()
        self.pid = os.getpid()
        self.live: set[Severable] = set()
        self.dropped: list[Severable] = []
        self.timeout = aiohttp.ClientTimeout(
            total=None, connect=timeouts.connect, sock_read=None, sock_connect=None, ceil_threshold=float("inf")
        )
        self._connector: _Connector | None = None
        self._closer: AsyncGenerator[None, None] | None = None
        if options.session is not None:
            self.session = options.session
        else:
            self._connector = _Connector()
            self.session = aiohttp.ClientSession(
                connector=self._connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self.timeout,
                trust_env=False,
                read_bufsize=READ_BUFFER,
                max_line_size=_HEADER_BYTES,
                max_field_size=_HEADER_BYTES,
            )

    async def start(self) -> None:
        """Arrange that a loop which is shut down in order (`asyncio.run`) closes the connections first."""
        if self._connector is not None:
            self._closer = _closed_with_loop(self._connector)
            await anext(self._closer)

    def sweep(self) -> None:
        """Close what was dropped by its consumer; a finalizer could only shut the sockets down (T2, R11)."""
        while self.dropped:
            self.dropped.pop().kill(None)

    async def aclose(self) -> None:
        """Close every connection, calls under way included."""
        self.sweep()
        gone = LlmError("the adapter was closed while the call was under way", codes.ABORTED)
        for exchange in list(self.live):
            exchange.kill(gone)
        if self._connector is not None:
            self.session.detach()
            await self._connector.close(abort_ssl=True)
        if self._closer is not None:
            await self._closer.aclose()
            self._closer = None

    def discard(self) -> None:
        """Forget a pool whose loop is closed."""
        if self._connector is not None:
            self.session.detach()
            self._connector.discard()

    def __del__(self) -> None:
        connector: _Connector | None = getattr(self, "_connector", None)
        if connector is None or connector.closed or self.pid != os.getpid():
            return
        # aiohttp's session would call its loop from its own finalizer.
        self.session.detach()
        warnings.warn(
            "an adapter's connections were dropped without aclose()", ResourceWarning, source=self, stacklevel=2
        )


async def _closed_with_loop(connector: _Connector) -> AsyncGenerator[None, None]:
    """Close the connector when the loop ends its generators, which is before it closes."""
    try:
        yield
    finally:
        await connector.close(abort_ssl=True)


class Pools:
    """The pools of one transport, by process and loop; safe to use from several threads."""

    def __init__(self, options: TransportOptions, timeouts: Timeouts) -> None:
        self._options = options
        self._timeouts = timeouts
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._pools: list[Pool] = []
        # A parent's pools in a forked child: closing one would unregister the parent's sockets from its selector,
        # which the two processes share. They are kept and never touched.
        self._inherited: list[list[Pool]] = []

    async def current(self) -> Pool:
        """Return the running loop's pool; the first call makes it."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._forget_the_gone()
            for pool in self._pools:
                if pool.loop is loop:
                    return pool
            pool = Pool(self._options, self._timeouts)
            self._pools.append(pool)
        await pool.start()
        return pool

    async def aclose(self) -> None:
        """Close the running loop's pool."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._forget_the_gone()
            mine = [pool for pool in self._pools if pool.loop is loop]
            self._pools = [pool for pool in self._pools if pool.loop is not loop]
        for pool in mine:
            await pool.aclose()

    def _forget_the_gone(self) -> None:
        if self._pid != os.getpid():
            self._inherited.append(self._pools)
            self._pools = []
            self._pid = os.getpid()
        if any(pool.loop.is_closed() for pool in self._pools):
            for pool in self._pools:
                if pool.loop.is_closed():
                    pool.discard()
            self._pools = [pool for pool in self._pools if not pool.loop.is_closed()]
