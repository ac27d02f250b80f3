"""Q6: an abort is heard once by everyone, from any thread, with the caller's own reason."""

import asyncio
import pickle
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType

import pytest

from limen.contract import AbortController, AbortError, AbortSignal


def test_a_signal_remembers_its_abort() -> None:
    """Q6: `abort()` is idempotent; the first reason stays."""
    controller = AbortController()
    signal = controller.signal
    assert (signal.aborted, signal.reason) == (False, None)
    signal.raise_if_aborted()

    controller.abort("first")
    controller.abort("second")

    assert (signal.aborted, signal.reason) == (True, "first")
    with pytest.raises(AbortError) as caught:
        signal.raise_if_aborted()
    assert caught.value.reason == "first"


def test_an_abort_error_says_nothing_of_its_reason() -> None:
    """E5: a reason is the caller's object, and may be anything; it pickles with the error."""
    error = AbortError("sk-secret-0123456789abcdef")

    assert str(error) == "the call was aborted"
    assert pickle.loads(pickle.dumps(error)).reason == error.reason


def test_watchers_are_called_once_and_may_be_taken_back() -> None:
    """Q6: each watcher is called once; one that was taken back is not; one that comes late is called at once."""
    controller = AbortController()
    heard: list[str] = []
    controller.signal.on_abort(lambda: heard.append("stays"))
    remove = controller.signal.on_abort(lambda: heard.append("goes"))
    remove()
    remove()

    controller.abort()
    controller.abort()
    controller.signal.on_abort(lambda: heard.append("late"))()

    assert heard == ["stays", "late"]


def test_a_failing_watcher_starves_nobody() -> None:
    """Q6: the others hear of the abort first, then the failure is raised to who aborted."""
    controller = AbortController()
    heard: list[str] = []

    def fail() -> None:
        raise LookupError("first")

    def fail_too() -> None:
        raise LookupError("second")

    controller.signal.on_abort(fail)
    controller.signal.on_abort(fail_too)
    controller.signal.on_abort(lambda: heard.append("heard"))

    with pytest.raises(LookupError, match="first"):
        controller.abort()
    assert heard == ["heard"]


async def test_any_number_of_tasks_may_wait() -> None:
    """Q6: `wait()` returns in every waiting task when another thread aborts, and at once after that."""
    controller = AbortController()
    waiting = [asyncio.create_task(controller.signal.wait()) for _ in range(3)]
    await asyncio.sleep(0)

    threading.Thread(target=controller.abort).start()

    await asyncio.gather(*waiting)
    await controller.signal.wait()


async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    """Q6: who stops waiting is not woken later."""
    controller = AbortController()
    waiting = asyncio.create_task(controller.signal.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    controller.abort()
    await asyncio.sleep(0)


async def test_waking_twice_is_harmless() -> None:
    """Q6: an abort in the moment in which the waiter is cancelled resolves nothing twice."""
    controller = AbortController()
    waiting = asyncio.create_task(controller.signal.wait())
    await asyncio.sleep(0)

    controller.abort()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0)


def test_a_waiter_whose_loop_is_gone_is_forgotten() -> None:
    """T2: aborting after the waiter's loop was closed raises nothing."""
    controller = AbortController()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(controller.signal.wait())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    controller.abort()

    assert not waiting.done()
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]  # the loop it waits on is closed on purpose


class Interrupted:
    """Runs a step as if a signal handler came in before one of its lines; says whether there was such a line."""

    def __init__(self, code: CodeType, handler: Callable[[], None], line: int) -> None:
        self.code = code
        self.handler = handler
        self.line = line
        self.fired = False

    def __call__(self, step: Callable[[], object]) -> bool:
        """Run the step; the handler runs in the same thread, between two lines of the function that is watched."""
        sys.settrace(self._enter)  # type: ignore[arg-type]  # the stub wants Any
        try:
            step()
        finally:
            sys.settrace(None)
        return self.fired

    def _enter(self, frame: FrameType, event: str, argument: object) -> Callable[..., object] | None:
        return self._line if frame.f_code is self.code else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        if event == "line" and not self.fired:
            self.line -= 1
            if self.line < 0:
                self.fired = True
                sys.settrace(None)
                self.handler()
        return self._line


def every_line(run: Callable[[int], bool]) -> int:
    """Run with an interruption before each line in turn, until there is none; in a thread, so that a hang is seen."""
    lines = 0

    def work() -> None:
        nonlocal lines
        while lines < 100 and run(lines):
            lines += 1

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), f"the abort hangs before line {lines}"
    return lines


def test_an_abort_inside_of_on_abort_is_heard_once() -> None:
    """Q6: a signal handler that aborts while its thread adds a watcher neither hangs nor is missed."""
    heard: list[list[int]] = []

    def run(line: int) -> bool:
        controller = AbortController()
        calls: list[int] = []
        heard.append(calls)
        step = Interrupted(AbortSignal.on_abort.__code__, controller.abort, line)
        fired = step(lambda: controller.signal.on_abort(lambda: calls.append(line)))
        controller.abort()
        return fired

    lines = every_line(run)

    assert lines >= 4
    assert heard == [[line] for line in range(lines + 1)]


def test_an_abort_inside_of_an_abort_is_heard_once() -> None:
    """Q6: where a signal handler aborts inside of an abort, each watcher hears once, and the reason never changes."""
    seen: list[tuple[list[str], set[object]]] = []

    def run(line: int) -> bool:
        controller = AbortController()
        calls: list[str] = []
        reasons: set[object] = set()
        seen.append((calls, reasons))
        for name in ("first", "second"):
            controller.signal.on_abort(lambda name=name: calls.append(name))  # type: ignore[misc]  # bound now
            controller.signal.on_abort(lambda: reasons.add(controller.signal.reason))
        step = Interrupted(AbortSignal._fire.__code__, lambda: controller.abort("handler"), line)
        fired = step(lambda: controller.abort("program"))
        reasons.add(controller.signal.reason)
        return fired

    lines = every_line(run)

    assert lines >= 4
    assert [(sorted(calls), len(reasons)) for calls, reasons in seen] == [(["first", "second"], 1)] * (lines + 1)
