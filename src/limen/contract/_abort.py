"""Cancellation: a controller that aborts, and its signal, which calls watch.

`abort()` is idempotent and may come from any thread, and from a signal handler (Q6). There is no lock, since a signal
handler runs inside of whatever the thread was doing, also while that thread holds the lock: every step is one
operation of a dict, which no thread and no handler can interrupt. No event loop is needed before `wait()` is awaited.
"""

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

    __slots__ = ("__weakref__", "_abort", "_callbacks")

    def __init__(self) -> None:
        # Empty, or the token and the reason of the abort that came first, under the key True.
        self._abort: dict[bool, tuple[object, object]] = {}
        self._callbacks: dict[object, Callable[[], None]] = {}

    @property
    def aborted(self) -> bool:
        """True once `abort()` was called; never false again."""
        return bool(self._abort)

    @property
    def reason(self) -> object:
        """Argument of the first `abort()`; `None` before it and for an abort without a reason."""
        return self._abort[True][1] if self._abort else None

    def raise_if_aborted(self) -> None:
        """Raise `AbortError` with the reason, if aborted."""
        if self._abort:
            raise AbortError(self.reason)

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once on abort, in the aborting thread, or now if that has happened.

        Returns a function that removes the callback; calling it twice is harmless.
        """
        token = object()
        self._callbacks[token] = callback
        # Added before the look at the abort: one that comes in between takes the callback out, so that it runs once.
        if self._abort and self._callbacks.pop(token, None) is not None:
            callback()

        def remove() -> None:
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
        token = object()
        if self._abort.setdefault(True, (token, reason))[0] is not token:
            return
        failures: list[Exception] = []
        for kept in list(self._callbacks):
            try:
                self._callbacks.pop(kept, _removed)()
            except Exception as failure:  # noqa: BLE001 - one callback's bug must not keep the others from being called
                failures.append(failure)
        if failures:
            raise failures[0]


def _removed() -> None:
    """Do nothing, in place of a callback that was removed meanwhile."""


class AbortController:
    """Aborting side of a cancellation: give `signal` to a call, and call `abort(reason)` to end it."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal: AbortSignal = AbortSignal()

    def abort(self, reason: object = None) -> None:
        """End every call that watches the signal. Idempotent; the first reason stays; any thread."""
        self.signal._fire(reason)  # pyright: ignore[reportPrivateUsage] - two ends of one object, in one file
