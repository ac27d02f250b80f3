"""Counted calls between a consumer and an adapter: few frames to the look-up of the route, few for a small call."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from types import FrameType

import pytest

from limen.contract import (
    AbortController,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    Message,
    StreamChunk,
    ToolResultBlock,
    check_request,
    checked,
    codes,
)
from limen.runtime import Fallback, ModelStream, Retry
from limen.runtime._registry import Registry
from runtime._adapters import ANSWER, Batched, asking, chunks_of, outcome_of, serving


async def iterate(stream: ModelStream) -> None:
    """Read by `async for`."""
    async for _ in stream:
        pass


async def collect(stream: ModelStream) -> None:
    """Read by `response()`."""
    await stream.response()


@pytest.mark.parametrize("read", [iterate, collect])
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("interceptors", [(), (Retry(),)], ids=["bare", "retry"])
async def test_the_route_is_looked_up_within_three_calls(
    interceptors: tuple[Retry, ...],
    watched: bool,
    read: Callable[[ModelStream], Awaitable[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R1, R9: from a stream's first step to the look-up of its route there are three calls, under retry too."""
    runtime = serving(Batched(ANSWER))
    for interceptor in interceptors:
        runtime.use(interceptor)
    find = Registry.find
    stacks: list[list[str]] = []

    def noted(registry: Registry, provider: str) -> object:
        frame: FrameType | None = sys._getframe()
        names: list[str] = []
        while frame is not None and frame.f_code is not ModelStream._fill.__code__:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        assert frame is not None, "the first step is not on the stack"
        stacks.append(names)
        return find(registry, provider)

    monkeypatch.setattr(Registry, "find", noted)
    await read(runtime.stream(asking(signal=AbortController().signal if watched else None)))

    assert [len(names) <= 3 for names in stacks] == [True], stacks


def python_calls(work: Callable[[], object]) -> int:
    """How many calls of Python functions the work makes."""
    found = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal found
        found += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


# interceptors, calls at most: what was counted (110 and 123 on Python 3.11), with a margin of 10 %. Lower them when a
# change makes the path shorter; before the layers were merged it was 156 and 186.
BOUNDS = [pytest.param((), 121, id="bare"), pytest.param((Retry(),), 135, id="retry")]


@pytest.mark.parametrize(("interceptors", "bound"), BOUNDS)
def test_a_small_call_costs_few_calls(interceptors: tuple[Retry, ...], bound: int) -> None:
    """A call of four batches costs a bounded number of calls from `stream()` to the end of the loop, guard included."""

    async def consume() -> None:
        runtime = serving(Batched(ANSWER[:1], ANSWER[1:3], ANSWER[3:4], ANSWER[4:]))
        for interceptor in interceptors:
            runtime.use(interceptor)
        await chunks_of(runtime.stream(asking()))
        found.append(python_calls(lambda: _drive(runtime.stream(asking()))))

    found: list[int] = []
    asyncio.run(consume())

    assert found[0] <= bound, f"{found[0]} calls"


def _drive(stream: ModelStream) -> None:
    """Read a stream that never waits to its end, in one step inside of the running task."""
    with suppress(StopIteration):
        chunks_of(stream).send(None)


class Checking(LlmAdapter):
    """Checks its request as the adapters for real wires do: in `stream()` itself."""

    def __init__(self) -> None:
        self.seen: list[GenerateOptions] = []

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Check, and answer."""
        check_request(options)
        self.seen.append(options)
        return self._answer()

    async def _answer(self) -> AsyncIterator[StreamChunk]:
        for chunk in ANSWER:
            yield chunk


WRONG = (Message("tool", (ToolResultBlock("call_1", "42"),)),)


async def test_a_bare_adapter_checks_its_request() -> None:
    """N1: without a runtime the adapter's own check refuses a wrong history, also beside another request's mark."""
    with pytest.raises(LlmError) as caught, checked(asking()):
        Checking().stream(asking(messages=WRONG))

    assert caught.value.code == codes.INVALID_OPTIONS


@pytest.mark.parametrize("prepared", [False, True])
async def test_a_request_is_checked_once_a_call(prepared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """N1: the history is walked once a call: the runtime checks it, and the adapter's check returns at once."""
    walked: list[object] = []
    monkeypatch.setattr("limen.contract._history.check_history", walked.append)
    adapter = Checking()
    runtime = serving(adapter)
    options = asking()

    stream = (await runtime.prepare_call(options)).stream() if prepared else runtime.stream(options)

    assert await chunks_of(stream) == list(ANSWER)
    assert (walked, adapter.seen) == ([options.messages], [options])


async def test_the_mark_is_gone_after_the_dispatch() -> None:
    """N1: the mark holds while the adapter's `stream()` runs, and for that very object alone."""
    options, equal = asking(messages=WRONG), asking(messages=WRONG)

    with checked(options):
        check_request(options)
        with pytest.raises(LlmError):
            check_request(equal)
    with pytest.raises(LlmError):
        check_request(options)


async def test_a_wrong_history_never_reaches_the_adapter() -> None:
    """N1: through a runtime a wrong history is the outcome of the call, under retry and fallback too."""
    adapter = Checking()
    runtime = serving(adapter)
    runtime.use(Retry())
    runtime.use(Fallback(["route-2"]))

    assert (await outcome_of(runtime.stream(asking(messages=WRONG)))).code == codes.INVALID_OPTIONS
    assert adapter.seen == []
