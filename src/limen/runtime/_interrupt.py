"""To end what a task awaits, from outside, without a task more and without renaming a cancellation (Q6)."""

import asyncio
from asyncio import current_task
from collections.abc import Callable
from types import TracebackType

from limen.contract import AbortError, AbortSignal


class Interrupt:
    """Around an await: `enter()` before it, `leave()` after it; `fire()`, in the task's own loop, ends it.

    The way of `asyncio.timeout`: the task is cancelled, and where the cancellation arrives it is taken back, unless
    somebody else asked for one too: `leave()` says whether what ended the await was this interrupt alone.
    """

    __slots__ = ("_baseline", "_fired", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._baseline = 0
        self._fired = 0

    @property
    def waiting(self) -> bool:
        """Whether a task is inside."""
        return self._task is not None

    def enter(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """The running task is about to await; who names its loop saves asking the system for it."""
        task = current_task(loop)
        if task is None:
            raise RuntimeError("limen's streams run inside an asyncio task")
        self._task = task
        self._baseline = task.cancelling()

    def fire(self) -> None:
        """End the await that is going on; nothing happens where there is none."""
        if not self._fired:
            self.insist()

    def insist(self) -> None:
        """End the await once more: what it ends may have begun another, such as a clean-up that hangs."""
        if self._task is not None:
            self._fired += 1
            self._task.cancel()

    def raise_if_swallowed(self) -> None:
        """Raise the cancellation that somebody else asked for inside, where it did not come out by itself."""
        task = self._task
        if task is not None and task.cancelling() - self._fired > self._baseline:
            raise asyncio.CancelledError

    def leave(self) -> bool:
        """The await is over; to be called once for each `enter()`, however it ended."""
        task, self._task = self._task, None
        if not self._fired or task is None:
            return False
        for _ in range(self._fired):
            task.uncancel()
        self._fired = 0
        return task.cancelling() <= self._baseline


class AbortWatch:
    """Around an await: ends it when the signal is aborted, from whichever thread; `with AbortWatch(signal): …`.

    Raises `AbortError` with the caller's own reason, also at once where the signal is aborted already.
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
    """Return a function, callable from any thread, that runs the callback in the loop that runs now."""
    loop = asyncio.get_running_loop()

    def call() -> None:
        try:
            loop.call_soon_threadsafe(callback)
        except RuntimeError:
            # The loop was closed: whoever awaited there is gone.
            return

    return call
