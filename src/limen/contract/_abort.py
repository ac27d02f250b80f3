"""Cancellation: a controller that aborts, and its signal, which calls watch.

`abort()` is idempotent and may come from any thread (Q6). An event loop is needed only by `wait()`.
"""

import threading
from collections.abc import Callable


class AbortError(Exception):
    """Cancellation by the caller, with the `reason` that was given to `abort()`.

    Its text never contains the reason, which is an object of the caller's and may hold a secret.
    """

    def __init__(self, reason: object = None) -> None:
        super().__init__("the call was aborted")
        self.reason: object = reason

    def __reduce__(self) -> tuple[type["AbortError"], tuple[object]]:
        return (type(self), (self.reason,))


class AbortSignal:
    """Watched side of a cancellation: `aborted`, `reason`, `await wait()`, `raise_if_aborted()`.

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
        """True once `abort()` was called; never false again."""
        return self._aborted

    @property
    def reason(self) -> object:
        """Argument of the first `abort()`; `None` before it and for an abort without a reason."""
        return self._reason

    def raise_if_aborted(self) -> None:
        """Raise `AbortError` with the reason, if aborted."""
        if self._aborted:
            raise AbortError(self._reason)

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once on abort, in the aborting thread, or now if that has happened.

        Returns a function that removes the callback; calling it twice is harmless.
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
                # The waiter's loop was closed, and its task with it: there is nothing left to wake.
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
            except Exception as failure:  # noqa: BLE001 - one callback's bug must not keep the others from being called
                failures.append(failure)
        if failures:
            raise failures[0]


class AbortController:
    """Aborting side of a cancellation: give `signal` to a call, and call `abort(reason)` to end it."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: object = None) -> None:
        """End every call that watches the signal. Idempotent; the first reason stays; any thread."""
        self.signal._fire(reason)  # pyright: ignore[reportPrivateUsage] - two ends of one object, in one file
