"""An event for tasks and threads alike: set from any thread, awaited on any loop or waited for without one."""

import asyncio
import threading
import time
from collections.abc import Callable


class ThreadsafeEvent:
    """Event that happens once: `set()` it; `await wait()` and `wait_blocking(timeout)` return when it has happened.

    True once it has happened. The mock provider may run on the test's own loop or in a thread of its own, so its
    events must work for both.
    """

    __slots__ = ("_callbacks", "_happened", "_lock", "at")

    def __init__(self) -> None:
        self.at: float | None = None
        """Time of the event, by `time.monotonic()`."""
        self._happened = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}

    def set(self) -> None:
        """Set the event; more than once is harmless."""
        with self._lock:
            self.at = time.monotonic() if self.at is None else self.at
            self._happened.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    def __bool__(self) -> bool:
        return self._happened.is_set()

    async def wait(self, timeout: float | None = None) -> None:
        """Return when it has happened; raise `TimeoutError` after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            await self._wait()

    def wait_blocking(self, timeout: float | None = None) -> None:
        """Block the thread until it has happened; raise `TimeoutError` after `timeout` seconds."""
        if not self._happened.wait(timeout):
            raise TimeoutError

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()

        def resolve() -> None:
            if not woken.done():
                woken.set_result(None)

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(resolve)

        token = object()
        with self._lock:
            if self._happened.is_set():
                return
            self._callbacks[token] = wake
        try:
            await woken
        finally:
            with self._lock:
                self._callbacks.pop(token, None)
