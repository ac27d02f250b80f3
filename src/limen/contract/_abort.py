"""Cancellation: a controller that anyone may fire, a signal that everyone may watch.

`abort()` is idempotent and may come from any thread (Q6). Nothing here needs an event loop until
somebody awaits `wait()`.
"""

import threading
from collections.abc import Callable


class AbortError(Exception):
    """The caller's own abort, with the reason that was given to `abort()`.

    Its text never contains the reason: a reason is the caller's object and may be anything.
    """

    def __init__(self, reason: object = None) -> None:
        super().__init__("the call was aborted")
        self.reason: object = reason

    def __reduce__(self) -> tuple[type["AbortError"], tuple[object]]:
        return (type(self), (self.reason,))


class AbortSignal:
    """The watching end: `aborted`, `reason`, `await wait()`, `raise_if_aborted()`.

    A signal is made by `AbortController`; it is compared by identity and is no part of a value's JSON form.
    """

    __slots__ = ("__weakref__", "_aborted", "_callbacks", "_lock", "_reason")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._aborted = False
        self._reason: object = None
        self._callbacks: dict[object, Callable[[], None]] = {}

    @property
    def aborted(self) -> bool:
        """Whether `abort()` was called; never goes back to false."""
        return self._aborted

    @property
    def reason(self) -> object:
        """What was given to the first `abort()`; `None` before it and for an abort without a reason."""
        return self._reason

    def raise_if_aborted(self) -> None:
        """Raise `AbortError` with the reason, if aborted."""
        if self._aborted:
            raise AbortError(self._reason)

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once on abort, in the aborting thread, or now if that has happened.

        Returns a function that takes the callback back; calling it twice is harmless.
        """
        token = object()
        with self._lock:
            waiting = not self._aborted
            if waiting:
                self._callbacks[token] = callback
        if not waiting:
            callback()

        def remove() -> None:
            with self._lock:
                self._callbacks.pop(token, None)

        return remove

    async def wait(self) -> None:
        """Return when aborted; any number of tasks, on any loop, may wait."""
        import asyncio

        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()

        def resolve() -> None:
            if not woken.done():
                woken.set_result(None)

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(resolve)
            except RuntimeError:
                # The waiter's loop was closed: its task is gone, and there is nobody left to wake.
                return

        remove = self.on_abort(wake)
        try:
            await woken
        finally:
            remove()

    def _fire(self, reason: object) -> None:
        with self._lock:
            if self._aborted:
                return
            self._reason = reason
            self._aborted = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        failures: list[Exception] = []
        for callback in callbacks:
            try:
                callback()
            except Exception as failure:  # noqa: BLE001 - one watcher's bug must not keep the others from hearing
                failures.append(failure)
        if failures:
            raise failures[0]


class AbortController:
    """The firing end: hand `signal` to a call, call `abort(reason)` to end it."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: object = None) -> None:
        """End every call that watches the signal. Idempotent; the first reason stays; any thread."""
        self.signal._fire(reason)  # pyright: ignore[reportPrivateUsage] - two ends of one object, in one file
