"""Cancel a task's current await from outside, and tell that cancellation from one of somebody else's (Q6)."""

import asyncio
from asyncio import current_task
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType, coroutine
from typing import TypeVar

from limen.contract import AbortError, AbortSignal

T = TypeVar("T")


class Interrupt:
    """Cancellation of one await: `enter()` before it, `leave()` after it; `fire()`, in the task's own loop, ends it.

    Works as `asyncio.timeout` does: the task is cancelled, and the count of its cancellations is taken back where
    the cancellation arrives. `leave()` says whether this interrupt alone ended the await, so that a cancellation by
    somebody else is never swallowed.
    """

    __slots__ = ("_baseline", "_fired", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._baseline = 0
        self._fired = 0

    @property
    def waiting(self) -> bool:
        """Tell whether a task is between `enter()` and `leave()`."""
        return self._task is not None

    def enter(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Note the running task before it awaits; with its loop given, the system is not asked for it."""
        task = current_task(loop)
        if task is None:
            raise RuntimeError("limen's streams run inside an asyncio task")
        self._task = task
        self._baseline = task.cancelling()

    def fire(self) -> None:
        """End the current await; nothing happens without one, or a second time."""
        if not self._fired:
            self.insist()

    def insist(self) -> None:
        """End the current await once more, such as a clean-up that the first cancellation began and that hangs."""
        if self._task is not None:
            self._fired += 1
            self._task.cancel()

    def leave(self, *, strict: bool = False) -> bool:
        """Note that the await is over, and return whether this interrupt alone ended it; once for each `enter()`.

        With `strict`, a cancellation that somebody else asked for and that the awaited code swallowed is raised.
        """
        task, self._task = self._task, None
        if task is None:
            return False
        fired, self._fired = self._fired, 0
        for _ in range(fired):
            task.uncancel()
        if not strict and not fired:
            return False
        others = task.cancelling() > self._baseline
        if strict and others:
            raise asyncio.CancelledError
        return bool(fired) and not others


class AbortWatch:
    """Context manager that ends the await inside it when the signal is aborted, from whichever thread.

    Raises `AbortError` with the caller's own reason, at once where the signal is aborted already. Without a signal it
    does nothing.
    """

    __slots__ = ("_interrupt", "_remove", "_signal")

    def __init__(self, signal: AbortSignal | None) -> None:
        self._signal = signal
        self._interrupt = Interrupt()
        self._remove: Callable[[], None] | None = None

    def __enter__(self) -> None:
        if self._signal is None:
            return
        self._signal.raise_if_aborted()
        self._interrupt.enter()
        self._remove = self._signal.on_abort(in_loop(self._interrupt.fire))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._signal is None or self._remove is None:
            return
        self._remove()
        interrupted = self._interrupt.leave() and kind is asyncio.CancelledError
        failed = kind is not None and issubclass(kind, Exception)
        if interrupted or (failed and self._signal.aborted):
            raise AbortError(self._signal.reason) from None


def in_loop(callback: Callable[[], None]) -> Callable[[], None]:
    """Return a function, callable from any thread, that runs the callback in the loop that is running now."""
    loop = asyncio.get_running_loop()

    def call() -> None:
        try:
            loop.call_soon_threadsafe(callback)
        except RuntimeError:
            # The loop was closed: the task that awaited there is gone.
            return

    return call


@coroutine
def when_suspended(
    awaitable: Awaitable[T], start_timer: Callable[[], asyncio.TimerHandle]
) -> Generator[object, object, T]:
    """Await with a timer that is started only if the awaitable suspends, and cancelled when it is done.

    An awaitable that has its value already, as nearly every read past a finish has, costs no timer.
    """
    steps = awaitable.__await__()
    try:
        wanted: object = next(steps)
    except StopIteration as end:
        value: T = end.value
        return value
    timer = start_timer()
    try:
        while True:
            try:
                yield wanted
            except BaseException as error:  # noqa: BLE001 - a cancellation belongs to what is awaited
                wanted = steps.throw(error)
            else:
                wanted = next(steps)
    except StopIteration as end:
        last: T = end.value
        return last
    finally:
        timer.cancel()
