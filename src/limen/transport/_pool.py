"""The connections of one adapter, by process and running loop (T2)."""

import asyncio
import os
import threading
import warnings
from collections.abc import AsyncGenerator
from typing import Protocol

from limen.contract import LlmError, codes
from limen.transport._connection import Connections


class Severable(Protocol):
    """An exchange as its pool sees it."""

    def kill(self, error: BaseException | None) -> None:
        """Close its connection at once, for a reason."""
        ...


class Pool:
    """The connections of one loop. `live` holds the exchanges under way, `dropped` those nobody holds any more."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self.pid: int = os.getpid()
        self.live: set[Severable] = set()
        self.dropped: list[Severable] = []
        self.connections: Connections = Connections(self.loop)
        self._closer: AsyncGenerator[None, None] | None = None

    async def start(self) -> None:
        """Arrange that a loop which is shut down in order (`asyncio.run`) closes the connections first."""
        self._closer = _closed_with_loop(self.connections)
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
        self.connections.close()
        if self._closer is not None:
            await self._closer.aclose()
            self._closer = None
        # The loop closes an aborted socket in its next turn.
        await asyncio.sleep(0)

    def __del__(self) -> None:
        connections: Connections | None = getattr(self, "connections", None)
        if connections is None or self.pid != os.getpid() or not connections.open or self.loop.is_closed():
            return
        warnings.warn(
            "an adapter's connections were dropped without aclose()", ResourceWarning, source=self, stacklevel=2
        )
        for connection in list(connections.open):
            connection.abandon()


async def _closed_with_loop(connections: Connections) -> AsyncGenerator[None, None]:
    """Close the connections when the loop ends its generators, which is before it closes."""
    try:
        yield
    finally:
        connections.close()
        await asyncio.sleep(0)


class Pools:
    """The pools of one transport, by process and loop; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._pools: list[Pool] = []
        # A parent's pools in a forked child: closing one would unregister the parent's sockets from its selector,
        # which the two processes share. They are kept and never touched.
        self._inherited: list[list[Pool]] = []

    def current(self) -> Pool | None:
        """Return the running loop's pool, if it has one."""
        loop = asyncio.get_running_loop()
        for pool in self._pools:
            if pool.loop is loop and pool.pid == os.getpid():
                return pool
        return None

    async def start(self) -> Pool:
        """Make the running loop's pool."""
        with self._lock:
            self._forget_the_gone()
            pool = Pool()
            self._pools = [*self._pools, pool]
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
        self._pools = [pool for pool in self._pools if not pool.loop.is_closed()]
