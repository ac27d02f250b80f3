"""X6, X7: calls run side by side and in order, an abort ends them all, and nothing is left running."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

import limen
from limen.contract import ToolResultBlock
from limen.tools import (
    Invalid,
    NonRecoverableToolError,
    Tool,
    ToolContext,
    ToolRegistry,
    Valid,
    _run,
    run_tool_calls,
)
from tools._scripted import call, error_of


class Gate:
    """A tool that says when it began, waits until it is opened, and keeps how it ended."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.began: dict[str, asyncio.Event] = {}
        self.opened: dict[str, asyncio.Event] = {}
        self.over: dict[str, asyncio.Event] = {}
        self.ended: list[str] = []
        self.running: set[str] = set()
        self.most = 0

    def event(self, events: dict[str, asyncio.Event], name: str) -> asyncio.Event:
        """The event of a call."""
        return events.setdefault(name, asyncio.Event())

    async def execute(self, arguments: object, context: ToolContext) -> str:
        """Wait for the gate."""
        name = context.call_id
        self.running.add(name)
        self.most = max(self.most, len(self.running))
        self.event(self.began, name).set()
        try:
            await self.event(self.opened, name).wait()
        except asyncio.CancelledError:
            self.ended.append(f"{name} cancelled")
            raise
        else:
            self.ended.append(name)
        finally:
            self.running.discard(name)
            self.event(self.over, name).set()
        return name

    def tool(self, name: str = "gate", **fields: Any) -> Tool:
        """The gate as a tool."""
        return Tool(name, "Wait.", {}, self.execute, **{**self.fields, **fields})

    async def has_begun(self, *names: str) -> None:
        """Wait until these calls run."""
        for name in names:
            await asyncio.wait_for(self.event(self.began, name).wait(), 10)

    async def has_ended(self, name: str) -> None:
        """Wait until this call is over."""
        await asyncio.wait_for(self.event(self.over, name).wait(), 10)

    def open(self, *names: str) -> None:
        """Let these calls go on."""
        for name in names:
            self.event(self.opened, name).set()


def calls(*ids: str, name: str = "gate") -> list[limen.ToolCallBlock]:
    """Calls of the gate."""
    return [call(name, id=each) for each in ids]


async def test_x7_results_come_in_the_order_of_the_calls() -> None:
    """X7: one result per call in the order of the calls, whichever tool ends first."""
    gate = Gate()
    run = asyncio.create_task(run_tool_calls(calls("a", "b", "c"), ToolRegistry([gate.tool()])))
    await gate.has_begun("a", "b", "c")
    for name in ("c", "a", "b"):
        gate.open(name)
        await gate.has_ended(name)

    assert await run == [ToolResultBlock(name, name) for name in ("a", "b", "c")]
    assert gate.ended == ["c", "a", "b"]


async def test_x7_no_call_no_result() -> None:
    """X7: without calls there are no results."""
    assert await run_tool_calls([], ToolRegistry()) == []


async def test_x7_concurrency_is_the_most_that_runs_at_once() -> None:
    """X7: at most `concurrency` tools run at a time, and each end lets the next begin."""
    gate = Gate()
    run = asyncio.create_task(run_tool_calls(calls("a", "b", "c", "d"), ToolRegistry([gate.tool()]), concurrency=2))
    await gate.has_begun("a", "b")
    gate.open("b")
    await gate.has_begun("c")
    gate.open("a", "c", "d")
    await run

    assert gate.most == 2
    assert "d" in gate.began


@pytest.mark.parametrize("concurrency", [0, -1, True, 2.0, None])
async def test_x7_a_concurrency_that_is_none(concurrency: Any) -> None:
    """X7: a concurrency that is no whole number of at least one is a `ValueError`."""
    with pytest.raises(ValueError, match="concurrency is a whole number of at least 1"):
        await run_tool_calls([], ToolRegistry(), concurrency=concurrency)


async def test_x7_a_tool_that_is_not_parallel_runs_alone() -> None:
    """X7: a tool with `parallel=False` begins when all before it have ended, and nothing begins beside it."""
    gate = Gate()
    alone = gate.tool("alone", parallel=False)
    registry = ToolRegistry([gate.tool(), alone])
    batch = [*calls("a"), *calls("b", name="alone"), *calls("c"), *calls("d")]
    run = asyncio.create_task(run_tool_calls(batch, registry))
    await gate.has_begun("a")
    assert list(gate.began) == ["a"]
    gate.open("a")
    await gate.has_begun("b")
    assert gate.running == {"b"}
    gate.open("b")
    await gate.has_begun("c", "d")
    assert gate.running == {"c", "d"}
    gate.open("c", "d")

    assert [result.content for result in await run] == ["a", "b", "c", "d"]


async def test_x3_arguments_are_validated_when_the_tool_may_begin() -> None:
    """X3, X7: a call that waits for its turn is validated after the ones before it, so it sees their effects."""
    written: list[str] = []

    async def write(arguments: object, context: ToolContext) -> None:
        written.append(context.call_id)

    def validate(arguments: object) -> Valid | Invalid:
        return Invalid("there is a file") if written else Valid(arguments)

    registry = ToolRegistry([Tool("write", "Write.", {}, write, validate, parallel=False)])
    first, second = await run_tool_calls([call("write", id="a"), call("write", id="b")], registry)

    assert (first.is_error, error_of(second), written) == (
        False,
        ("TOOL_ARGUMENTS_INVALID", "there is a file"),
        ["a"],
    )


async def test_x6_an_abort_cancels_what_runs() -> None:
    """X6: an abort, from any thread, cancels the pending tools and raises `AbortError` with the reason."""
    gate = Gate()
    controller = limen.AbortController()
    registry = ToolRegistry([gate.tool()])
    run = asyncio.create_task(run_tool_calls(calls("a", "b", "c"), registry, signal=controller.signal, concurrency=2))
    await gate.has_begun("a", "b")
    threading.Thread(target=controller.abort, args=("enough",)).start()
    with pytest.raises(limen.AbortError) as caught:
        await run

    assert caught.value.reason == "enough"
    assert sorted(gate.ended) == ["a cancelled", "b cancelled"]
    assert (gate.running, "c" in gate.began) == (set(), False)


async def test_x6_the_signal_is_looked_at_before_each_step() -> None:
    """X6: nothing begins after an abort: no validation, no execution, no output, not even of an unknown call."""
    effects: list[str] = []
    controller = limen.AbortController()

    async def execute(arguments: object, context: ToolContext) -> str:
        effects.append("executed")
        controller.abort()
        return "done"

    registry = ToolRegistry([Tool("do", "Do.", {}, execute)])
    with pytest.raises(limen.AbortError):
        await run_tool_calls([call("do"), call("do")], registry, signal=controller.signal, concurrency=1)
    assert effects == ["executed"]

    for name in ("do", "unknown"):
        with pytest.raises(limen.AbortError):
            await run_tool_calls([call(name)], registry, signal=controller.signal)
    assert effects == ["executed"]


async def test_x6_an_abort_within_a_validator() -> None:
    """X6: a validator during which the signal is aborted has no execution after it."""
    controller = limen.AbortController()
    effects: list[str] = []

    def validate(arguments: object) -> object:
        controller.abort()
        return Valid(arguments)

    async def execute(arguments: object, context: ToolContext) -> None:
        effects.append("executed")

    registry = ToolRegistry([Tool("do", "Do.", {}, execute, validate)])  # type: ignore[arg-type]
    with pytest.raises(limen.AbortError):
        await run_tool_calls([call("do")], registry, signal=controller.signal)

    assert effects == []


async def test_x6_cancelling_the_caller_cancels_the_tools() -> None:
    """X6: cancelling the task that waits cancels the tools first, and `CancelledError` is not swallowed."""
    gate = Gate()
    run = asyncio.create_task(run_tool_calls(calls("a", "b"), ToolRegistry([gate.tool()])))
    await gate.has_begun("a", "b")
    run.cancel("by the caller")
    with pytest.raises(asyncio.CancelledError):
        await run

    assert sorted(gate.ended) == ["a cancelled", "b cancelled"]


async def test_x6_what_stops_the_run_cancels_the_others() -> None:
    """X4, X6: a tool that stops the run leaves none of the others running."""
    gate = Gate()

    async def stop(arguments: object, context: ToolContext) -> None:
        await gate.has_begun("a", "b")
        raise NonRecoverableToolError("disk on fire")

    registry = ToolRegistry([gate.tool(), Tool("stop", "Stop.", {}, stop)])
    with pytest.raises(NonRecoverableToolError, match="disk on fire"):
        await run_tool_calls([*calls("a", "b"), call("stop", id="c")], registry)

    assert sorted(gate.ended) == ["a cancelled", "b cancelled"]


class Stubborn:
    """A tool that ignores its cancellations until it is released."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.ignored = asyncio.Event()
        self.release = asyncio.Event()
        self.ended = asyncio.Event()

    async def execute(self, arguments: object, context: ToolContext) -> str:
        """Hang."""
        self.began.set()
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.ignored.set()
        self.ended.set()
        return "late"

    def registry(self, **fields: Any) -> ToolRegistry:
        """A registry of this tool."""
        return ToolRegistry([Tool("stubborn", "Hang.", {}, self.execute, **fields)])

    async def let_go(self) -> None:
        """End it, and wait until nothing is left."""
        left = set(_run._left_running)
        self.release.set()
        await asyncio.wait(left, timeout=10)
        assert not _run.has_left_running(asyncio.get_running_loop())


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait 20 ms, not 5 s, for a tool that ignores its cancellation."""
    monkeypatch.setattr(_run, "CANCEL_TIMEOUT_S", 0.02)


def aborted(run: "asyncio.Task[Any]", controller: limen.AbortController) -> type[BaseException]:
    """End the run by the signal."""
    controller.abort()
    return limen.AbortError


def cancelled(run: "asyncio.Task[Any]", controller: limen.AbortController) -> type[BaseException]:
    """End the run by cancelling it."""
    run.cancel()
    return asyncio.CancelledError


@pytest.mark.usefixtures("short_patience")
@pytest.mark.parametrize("end", [aborted, cancelled])
async def test_x6_a_tool_that_ignores_its_cancellation_is_named(
    end: Callable[["asyncio.Task[Any]", limen.AbortController], type[BaseException]],
) -> None:
    """X6: a tool that ignores its cancellation is waited for, then named in a `ResourceWarning`."""
    stubborn, controller = Stubborn(), limen.AbortController()
    run = asyncio.create_task(run_tool_calls([call("stubborn")], stubborn.registry(), signal=controller.signal))
    await stubborn.began.wait()
    expected = end(run, controller)
    with (
        pytest.warns(ResourceWarning, match="ignored their cancellation for 0.02 s are still running: stubborn"),
        pytest.raises(expected),
    ):
        await run
    assert _run.has_left_running(asyncio.get_running_loop())

    await stubborn.let_go()


async def test_x6_a_second_cancellation_shortens_nothing() -> None:
    """X6: cancelled again while its tools end, the run still waits for them, and raises `CancelledError`."""
    stubborn, controller = Stubborn(), limen.AbortController()
    run = asyncio.create_task(run_tool_calls([call("stubborn")], stubborn.registry(), signal=controller.signal))
    await stubborn.began.wait()
    controller.abort()
    await asyncio.wait_for(stubborn.ignored.wait(), 10)
    run.cancel()
    stubborn.release.set()
    with pytest.raises(asyncio.CancelledError):
        await run

    assert stubborn.ended.is_set()


async def test_x3_a_tool_that_takes_too_long_is_a_result() -> None:
    """X3: a tool past its timeout is cancelled and is `TOOL_TIMED_OUT`; the others are not touched."""
    slow, quick = Gate(timeout=0.02), Gate()
    registry = ToolRegistry([slow.tool("slow"), quick.tool("quick")])
    run = asyncio.create_task(run_tool_calls([call("slow", id="a"), call("quick", id="b")], registry))
    await quick.has_begun("b")
    await slow.has_ended("a")
    quick.open("b")
    first, second = await run

    assert error_of(first) == ("TOOL_TIMED_OUT", "slow did not answer within 0.02 s")
    assert second == ToolResultBlock("b", "b")


@pytest.mark.usefixtures("short_patience")
async def test_x3_a_tool_that_ignores_its_timeout_is_left() -> None:
    """X3, X6: one that ignores the cancellation of its timeout too is `TOOL_TIMED_OUT`, and named in a warning."""
    stubborn = Stubborn()
    with pytest.warns(ResourceWarning, match="still running: stubborn"):
        (result,) = await run_tool_calls([call("stubborn")], stubborn.registry(timeout=0.02))

    assert error_of(result)[0] == "TOOL_TIMED_OUT"
    await stubborn.let_go()


async def test_x4_a_timeout_hides_no_stop() -> None:
    """X4: what stops the run does so also where a timeout made the tool say it."""

    async def execute(arguments: object, context: ToolContext) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise NonRecoverableToolError("half written") from None

    registry = ToolRegistry([Tool("do", "Do.", {}, execute, timeout=0.01)])
    with pytest.raises(NonRecoverableToolError, match="half written"):
        await run_tool_calls([call("do")], registry)


class Blocking:
    """A plain function that holds its thread until it is released."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.release = threading.Event()
        self.ended = threading.Event()

    def execute(self, arguments: object, context: ToolContext) -> str:
        """Hold the thread."""
        self.began.set()
        self.release.wait(10)
        self.ended.set()
        return threading.current_thread().name

    async def has_begun(self) -> None:
        """Wait until the thread runs."""
        await asyncio.to_thread(self.began.wait, 10)


async def test_x6_a_plain_function_runs_in_a_thread() -> None:
    """X6: a plain function runs in a thread of its own, with the caller's context variables, beside the loop."""
    variable = contextvars.ContextVar[str]("variable")
    variable.set("the caller's")

    def execute(arguments: object, context: ToolContext) -> list[object]:
        return [variable.get(), threading.current_thread().daemon, threading.current_thread().name]

    (result,) = await run_tool_calls([call("do")], ToolRegistry([Tool("do", "Do.", {}, execute)]))

    assert result.content == '["the caller\'s",true,"limen tool"]'


@pytest.mark.parametrize("end", ["abort", "timeout"])
async def test_x6_a_thread_is_not_waited_for(end: str) -> None:
    """X6: an abort and a timeout return at once although a plain function still holds its thread."""
    blocking, controller = Blocking(), limen.AbortController()
    timeout = 0.01 if end == "timeout" else None
    registry = ToolRegistry([Tool("do", "Do.", {}, blocking.execute, timeout=timeout)])
    run = asyncio.create_task(run_tool_calls([call("do")], registry, signal=controller.signal))
    await blocking.has_begun()
    if end == "abort":
        controller.abort()
        with pytest.raises(limen.AbortError):
            await run
    else:
        assert error_of((await run)[0])[0] == "TOOL_TIMED_OUT"
    assert not blocking.ended.is_set()

    blocking.release.set()
    await asyncio.to_thread(blocking.ended.wait, 10)


def test_x6_a_thread_that_never_returns_keeps_no_loop_open() -> None:
    """X6: `asyncio.run` ends after an abort although the thread does not; its late answer disturbs nobody."""
    blocking = Blocking()

    async def main() -> None:
        controller = limen.AbortController()
        registry = ToolRegistry([Tool("do", "Do.", {}, blocking.execute)])
        run = asyncio.create_task(run_tool_calls([call("do")], registry, signal=controller.signal))
        await blocking.has_begun()
        controller.abort()
        with pytest.raises(limen.AbortError):
            await run
        # A second abort, when nobody listens any more, is harmless.
        controller.abort()

    asyncio.run(main())
    (thread,) = [found for found in threading.enumerate() if found.name == "limen tool"]
    blocking.release.set()
    thread.join(10)

    assert blocking.ended.is_set()


async def test_x6_an_abort_after_the_end_of_the_loop() -> None:
    """X6: a signal that outlives the loop of a run may be aborted in peace."""
    controller = limen.AbortController()
    run = _run._Run((), ToolRegistry(), _run.Limits(controller.signal))
    loop = asyncio.new_event_loop()
    loop.close()
    run._loop = loop

    run._notify()

    assert not run._aborted.done()


async def test_x6_twice_aborted_is_aborted_once() -> None:
    """X6: a run that was told of its abort twice ends as if told once."""
    run = _run._Run((), ToolRegistry(), _run.Limits(limen.AbortController().signal))
    run._notify()
    run._notify()

    await run._aborted
    await asyncio.get_running_loop().run_in_executor(None, bool)  # the second notice has been taken, too
