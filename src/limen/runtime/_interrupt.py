"""To end what a task awaits, from outside, without a task more and without renaming a cancellation (Q6)."""

import asyncio
from collections.abc import Callable
from types import TracebackType

from limen.contract import AbortError, AbortSignal


class Interrupt:
    """Around an await: `with interrupt: await …`; `fire()` ends it, and `ended` says afterwards that it did.

    The way of `asyncio.timeout`: the task is cancelled, and the cancellation is taken back where it arrives, unless
    somebody else asked for one too. `fire()` is for the task's own loop.
    """

    __slots__ = ("_baseline", "_cancelled", "_task", "ended")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._baseline = 0
        self._cancelled = False
        self.ended = False

    @property
    def waiting(self) -> bool:
        """Whether a task is inside."""
        return self._task is not None

    def fire(self) -> None:
        """End the await that is going on; nothing happens where there is none."""
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("limen's streams run inside an asyncio task")
        self._task = task
        self._baseline = task.cancelling()
        self.ended = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        task, self._task = self._task, None
        if not self._cancelled or task is None:
            return False
        self._cancelled = False
        alone = task.uncancel() <= self._baseline
        self.ended = alone and kind is asyncio.CancelledError
        return self.ended


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
        self._interrupt.__enter__()
        self._remove = self._signal.on_abort(in_loop(self._interrupt.fire))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._signal is None or self._remove is None:
            return
        self._remove()
        self._interrupt.__exit__(kind, error, trace)
        failed = kind is not None and issubclass(kind, Exception)
        if self._interrupt.ended or (failed and self._signal.aborted):
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
