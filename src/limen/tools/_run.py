"""Calls executed side by side, one result each; nothing is left running (X3, X6, X7)."""

import asyncio
import contextvars
import inspect
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from limen.contract import AbortSignal, ToolCallBlock, ToolResultBlock, codes
from limen.tools._errors import error_words, failed
from limen.tools._output import DEFAULT_MAX_OUTPUT, NotData, check_max_output, content_of
from limen.tools._prepare import Ready, check_calls, is_raised, prepare
from limen.tools._registry import ToolRegistry
from limen.tools._tool import ToolContext, is_async

CANCEL_TIMEOUT_S: Final = 5.0
"""Seconds for which a tool that ignores its cancellation is waited for (X6)."""

# The loop holds its tasks weakly; a task that nobody holds can be collected while it runs.
_left_running: set[asyncio.Task["_Outcome"]] = set()


class _Outcome(NamedTuple):
    """The end of an execution: a value, or what was raised. Never an exception of a task.

    A `KeyboardInterrupt` or `SystemExit` that a task raises goes through the event loop and ends it.
    """

    value: object = None
    error: BaseException | None = None


async def run_tool_calls(
    calls: Sequence[ToolCallBlock],
    registry: ToolRegistry,
    *,
    signal: AbortSignal | None = None,
    concurrency: int = 8,
    max_output: int = DEFAULT_MAX_OUTPUT,
) -> list[ToolResultBlock]:
    """Execute tool calls, at most `concurrency` at a time, and return one result per call in the order of the calls.

    Every failure of a call is a result that the model can read; raised are `ToolContractError` `INVALID_TOOL_CALL`
    (before any execution), `AbortError` when the signal is aborted, and what a tool raises to stop the run:
    `NonRecoverableToolError`, `AbortError`, `KeyboardInterrupt`, `CancelledError` (X4). Whenever it raises, the tools
    that still run are cancelled first. `max_output` is the bound of a result's text in code points (X5).
    """
    return await execute_calls(calls, registry, Limits(signal or AbortSignal(), concurrency, max_output))


class Limits(NamedTuple):
    """Limits of a run: the signal that ends it, tools at a time, code points of a result, names that are offered."""

    signal: AbortSignal
    concurrency: int = 8
    max_output: int = DEFAULT_MAX_OUTPUT
    offered: frozenset[str] | None = None

    def check(self) -> None:
        """Raise `ValueError` for a concurrency or a bound of output that is none."""
        if type(self.concurrency) is not int or self.concurrency < 1:
            raise ValueError(f"concurrency is a whole number of at least 1, got {self.concurrency!r}")
        check_max_output(self.max_output)


async def execute_calls(
    calls: Sequence[ToolCallBlock], registry: ToolRegistry, limits: Limits
) -> list[ToolResultBlock]:
    """Execute tool calls; see `run_tool_calls`."""
    limits.check()
    return await _Run(check_calls(calls), registry, limits).results()


class _Execution:
    """A tool that runs: the call it serves, its task, and when it has to be over (seconds of the loop's clock)."""

    __slots__ = ("call", "deadline", "index", "task", "timed_out", "tool")

    def __init__(self, index: int, call: ToolCallBlock, ready: Ready, signal: AbortSignal) -> None:
        loop = asyncio.get_running_loop()
        context = ToolContext(signal, call.id, call.name)
        self.index = index
        self.call = call
        self.tool = ready.tool
        self.timed_out = False
        self.deadline = None if self.tool.timeout is None else loop.time() + self.tool.timeout
        self.task = loop.create_task(_execute(ready, context), name=f"limen tool {call.name}")

    def cancel(self, now: float) -> None:
        """Ask the tool to stop, and give it a last deadline."""
        self.deadline = now + CANCEL_TIMEOUT_S
        self.task.cancel()


class _Run:
    """Executions of one list of calls. Prepared in order; an execution ends in a result, or ends the run."""

    def __init__(self, calls: tuple[ToolCallBlock, ...], registry: ToolRegistry, limits: Limits) -> None:
        self._calls = calls
        self._registry = registry
        self._limits = limits
        self._signal = limits.signal
        self._loop = asyncio.get_running_loop()
        self._aborted = self._loop.create_future()
        self._running: dict[asyncio.Task[_Outcome], _Execution] = {}
        self._results: dict[int, ToolResultBlock] = {}
        self._stuck: list[str] = []

    async def results(self) -> list[ToolResultBlock]:
        """Run all calls."""
        remove = self._signal.on_abort(self._notify)
        try:
            for index, call in enumerate(self._calls):
                await self._start(index, call)
            await self._wait_below(1)
            self._signal.raise_if_aborted()
        except BaseException:
            await self._stop()
            raise
        finally:
            remove()
            self._warn()
        return [self._results[index] for index in range(len(self._calls))]

    def _notify(self) -> None:
        def resolve() -> None:
            if not self._aborted.done():
                self._aborted.set_result(None)

        with suppress(RuntimeError):  # the loop is closed: nothing of the run is left
            self._loop.call_soon_threadsafe(resolve)

    async def _start(self, index: int, call: ToolCallBlock) -> None:
        # Validated when it may begin, not before: what a validator looked at may change while other tools run.
        found, waited = self._registry.get(call.name), False
        while not waited:
            parallel = (found is None or found.parallel) and all(each.tool.parallel for each in self._running.values())
            await self._wait_below(self._limits.concurrency if parallel else 1)
            # Another tool may have taken the name meanwhile, one that runs alone.
            found, before = self._registry.get(call.name), found
            waited = found is before
        prepared = prepare(call, self._registry, self._signal, self._limits.offered)
        if isinstance(prepared, ToolResultBlock):
            self._results[index] = prepared
            return
        self._signal.raise_if_aborted()
        execution = _Execution(index, call, prepared, self._signal)
        self._running[execution.task] = execution

    async def _wait_below(self, count: int) -> None:
        """Wait until fewer executions than `count` run."""
        while len(self._running) >= count:
            self._signal.raise_if_aborted()
            deadlines = [running.deadline for running in self._running.values() if running.deadline is not None]
            timeout = None if not deadlines else max(0.0, min(deadlines) - self._loop.time())
            await asyncio.wait({*self._running, self._aborted}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            self._signal.raise_if_aborted()
            for execution in list(self._running.values()):
                self._look_at(execution)

    def _look_at(self, execution: _Execution) -> None:
        if execution.task.done():
            del self._running[execution.task]
            self._results[execution.index] = self._result(execution)
            return
        now = self._loop.time()
        if execution.deadline is None or now < execution.deadline:
            return
        if not execution.timed_out:
            execution.timed_out = True
            execution.cancel(now)
        else:
            self._leave(execution)
            self._results[execution.index] = _timed_out(execution)

    def _result(self, execution: _Execution) -> ToolResultBlock:
        call, (value, error) = execution.call, execution.task.result()
        if error is not None and is_raised(error):
            raise error
        if execution.timed_out:
            return _timed_out(execution)
        if error is not None:
            if issubclass(type(error), asyncio.CancelledError):
                raise error
            return failed(call, codes.TOOL_EXECUTION_FAILED, error_words(error))
        self._signal.raise_if_aborted()
        return _written(call, value, self._limits.max_output)

    async def _stop(self) -> None:
        """Cancel what runs, and wait for it; a cancellation of our own meanwhile shortens nothing and is raised."""
        cancelled: asyncio.CancelledError | None = None
        now = self._loop.time()
        for execution in self._running.values():
            execution.cancel(now)
        while self._running:
            left = now + CANCEL_TIMEOUT_S - self._loop.time()
            try:
                done, _ = await asyncio.wait(self._running, timeout=max(0.0, left))
            except asyncio.CancelledError as error:
                cancelled = error
                done = {task for task in self._running if task.done()}
            for task in done:
                del self._running[task]
            if left <= 0:
                for execution in list(self._running.values()):
                    self._leave(execution)
        if cancelled is not None:
            raise cancelled

    def _leave(self, execution: _Execution) -> None:
        del self._running[execution.task]
        self._stuck.append(execution.call.name)
        _left_running.add(execution.task)
        execution.task.add_done_callback(_left_running.discard)

    def _warn(self) -> None:
        if self._stuck:
            names = ", ".join(self._stuck)
            words = f"tools that ignored their cancellation for {CANCEL_TIMEOUT_S:g} s are still running: {names}"
            warnings.warn(words, ResourceWarning, stacklevel=2)


def _timed_out(execution: _Execution) -> ToolResultBlock:
    assert execution.tool.timeout is not None
    words = f"{execution.tool.name} did not answer within {execution.tool.timeout:g} s"
    return failed(execution.call, codes.TOOL_TIMED_OUT, words)


def _written(call: ToolCallBlock, value: object, max_output: int) -> ToolResultBlock:
    try:
        return ToolResultBlock(call.id, content_of(value, max_output))
    except NotData as fault:
        words = f"the output holds {fault}"
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise
    except BaseException as error:  # noqa: BLE001 - a foreign value may raise anything while it is read
        words = f"the output cannot be read: {error_words(error)}"
    if inspect.iscoroutine(value):
        value.close()
    return failed(call, codes.TOOL_OUTPUT_SERIALIZATION_FAILED, words)


async def _execute(ready: Ready, context: ToolContext) -> _Outcome:
    execute = ready.tool.execute
    try:
        if not is_async(execute):
            outcome = await _in_thread(lambda: execute(ready.arguments, context))
            # A plain function may return a coroutine, such as a lambda around an async one.
            return _Outcome(await outcome.value) if inspect.isawaitable(outcome.value) else outcome
        made = execute(ready.arguments, context)
        assert inspect.isawaitable(made)
        return _Outcome(await made)
    except BaseException as error:  # noqa: BLE001 - carried to the run, which knows what is raised
        return _Outcome(error=error)


async def _in_thread(function: Callable[[], object]) -> _Outcome:
    """Run a function in a thread of its own, which a cancellation does not wait for.

    A daemon thread, so that one which never returns keeps neither `asyncio.run` nor the process from ending; the
    threads of an executor would.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(outcome: _Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    def run() -> None:
        try:
            outcome = _Outcome(context.run(function))
        except BaseException as error:  # noqa: BLE001 - carried to the loop's thread
            outcome = _Outcome(error=error)
        with suppress(RuntimeError):  # the loop was closed: nobody waits
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=run, name="limen tool", daemon=True).start()
    return await future


def has_left_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Say whether a tool that ignored its cancellation still runs on a loop."""
    return any(task.get_loop() is loop for task in _left_running)
