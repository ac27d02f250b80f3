"""The end of a runtime, and what outlives a call: nothing is asked after closing, and nothing is left behind."""

import asyncio
import threading
import traceback
from collections.abc import AsyncIterator, Sequence

import pytest

from limen.contract import (
    AbortController,
    CallInfo,
    Failure,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    Next,
    StreamChunk,
    codes,
)
from limen.runtime import Fallback, LlmRuntime, Retry
from runtime._adapters import (
    ANSWER,
    OPEN,
    Batched,
    Gate,
    Scripted,
    asking,
    call_failure,
    chunks_of,
    outcome_of,
    serving,
)

CLOSED = call_failure("this runtime is closed", codes.NO_ADAPTER, "resolve")


class Closable(Scripted):
    """Counts how often it is closed, and waits in it where it is given a gate."""

    closes = 0
    gate: Gate | None = None

    async def aclose(self) -> None:
        """Count, and wait."""
        self.closes += 1
        if self.gate is not None:
            await self.gate()


async def test_a_closed_runtime_says_that_it_is_closed() -> None:
    """K7: after closing, every call says so, also one that was made or prepared before, and no adapter is asked."""
    adapter = Scripted()
    runtime = serving(adapter)
    made, prepared = runtime.stream(asking()), await runtime.prepare_call(asking())
    runtime.use(Retry())
    runtime.use(Fallback(["route-2"]))
    await runtime.aclose()

    for stream in (made, prepared.stream(), runtime.stream(asking())):
        assert await outcome_of(stream) == CLOSED
        assert stream.info == CallInfo("route", "model-1", attempts=0)
    failures: list[Failure] = []
    for question in (runtime.prepare_call(asking()), runtime.list_models("route"), runtime.complete(asking())):
        with pytest.raises(LlmError) as caught:
            await question
        failures.append(caught.value.failure)
    # Only a call has a route and a model.
    bare = Failure(CLOSED.message, CLOSED.code, CLOSED.phase)
    assert failures == [bare, bare, CLOSED]
    assert adapter.seen == []


async def test_a_closed_runtime_takes_no_adapter() -> None:
    """R1: registering with a closed runtime is a mistake in the program, since nothing would ever be asked."""
    runtime = LlmRuntime()
    await runtime.aclose()

    with pytest.raises(RuntimeError, match="this runtime is closed"):
        runtime.register(["route"], Scripted())


async def test_no_interceptor_runs_in_a_closed_runtime() -> None:
    """R7, R11: a call that begins after closing ends at once, and no interceptor sees it."""
    seen: list[GenerateOptions] = []

    async def observe(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        seen.append(options)
        async for chunk in following(options):
            yield chunk

    runtime = serving(Scripted())
    runtime.use(observe)
    await runtime.aclose()

    assert await chunks_of(runtime.stream(asking())) == [Finish(FinishReason("error", CLOSED))]
    assert seen == []


async def test_a_call_begun_while_the_runtime_closes_asks_nobody() -> None:
    """R11: while `aclose()` waits for a clean-up, a call that begins fails at once, and nothing goes on afterwards."""
    adapter = Closable(ANSWER)
    gate = adapter.gate = Gate()
    runtime = serving(adapter)
    closing = asyncio.create_task(runtime.aclose())
    await gate.reached.wait()

    assert await outcome_of(runtime.stream(asking())) == CLOSED
    gate.opened.set()
    await closing

    assert (adapter.seen, adapter.closes) == ([], 1)


class Binding(Closable):
    """Waits before it binds a call."""

    def __init__(self) -> None:
        super().__init__()
        self.binding = Gate()

    async def prepare_call(self, provider: str, model: str, **facts: object):  # type: ignore[no-untyped-def] # noqa: ANN201
        """Wait, then bind."""
        await self.binding()
        return await super().prepare_call(provider, model)


async def test_a_call_being_bound_while_the_runtime_closes_is_not_dispatched() -> None:
    """R11: a prepared call whose adapter answers after closing is bound, and its stream says that it is closed."""
    adapter = Binding()
    runtime = serving(adapter)
    preparing = asyncio.create_task(runtime.prepare_call(asking()))
    await adapter.binding.reached.wait()
    await runtime.aclose()
    adapter.binding.opened.set()

    assert await outcome_of((await preparing).stream()) == CLOSED
    assert adapter.seen == []


class Slow:
    """A loader that waits inside of its first reading."""

    def __init__(self, adapter: LlmAdapter) -> None:
        self.adapter = adapter
        self.reading = threading.Event()
        self.go_on = threading.Event()
        self.running = 0
        self.most = 0

    async def __call__(self, config: object) -> Sequence[tuple[Sequence[str], LlmAdapter]]:
        """Read."""
        self.running += 1
        self.most = max(self.most, self.running)
        self.reading.set()
        await asyncio.to_thread(self.go_on.wait)
        self.running -= 1
        return [([str(config)], self.adapter)]


def test_reloads_of_two_loops_take_turns() -> None:
    """K5, T2: reloading from two event loops at once works, one after the other, and the later one stands."""
    loader = Slow(Scripted())
    runtime = LlmRuntime(loader=loader)
    failures: list[BaseException] = []

    async def reload(config: str) -> None:
        async with asyncio.timeout(20):
            await runtime.reload(config)

    def run(config: str) -> None:
        try:
            asyncio.run(reload(config))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(config,), daemon=True) for config in ("first", "second", "third")]
    threads[0].start()
    loader.reading.wait(20)
    for thread in threads[1:]:
        thread.start()
    loader.go_on.set()
    for thread in threads:
        thread.join(30)

    assert (failures, loader.most) == ([], 1)
    assert [info.id for info in runtime.list_providers()] in (["second"], ["third"])


async def test_a_reload_that_waits_may_be_cancelled() -> None:
    """K5, Q6: a reload that is cancelled while it waits for its turn lets the one after it have its turn in order."""
    loader = Slow(Scripted())
    runtime = LlmRuntime(loader=loader)
    first, second, third = (asyncio.create_task(runtime.reload(config)) for config in ("first", "second", "third"))
    await asyncio.to_thread(loader.reading.wait)

    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    loader.go_on.set()
    await asyncio.gather(first, third)

    assert (loader.most, [info.id for info in runtime.list_providers()]) == (1, ["third"])


async def test_closing_while_a_reload_reads() -> None:
    """K5, R11: where the runtime is closed meanwhile, the adapters that the reload made are closed, and it says so."""
    adapter = Closable()
    loader = Slow(adapter)
    runtime = LlmRuntime(loader=loader)
    reloading = asyncio.create_task(runtime.reload("first"))
    await asyncio.to_thread(loader.reading.wait)
    await runtime.aclose()
    loader.go_on.set()

    with pytest.raises(RuntimeError, match="this runtime is closed"):
        await reloading
    assert (adapter.closes, runtime.list_providers()) == (1, [])


async def test_the_same_error_keeps_its_length() -> None:
    """R11, E2: `response()` raises one error again and again, and its traceback does not grow."""
    stream = serving(Scripted((LlmError("no", codes.AUTH),))).stream(asking())
    lengths: list[int] = []

    for _ in range(5):
        with pytest.raises(LlmError) as caught:
            await stream.response()
        lengths.append(len(traceback.extract_tb(caught.value.__traceback__)))

    assert lengths[1:] == lengths[1:2] * 4


async def test_an_interceptors_own_error_keeps_its_traceback() -> None:
    """E2, R7: an interceptor's exception is raised with the place where it came from, each time, and does not grow."""

    async def fail(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        async for chunk in following(options):
            yield chunk
            raise LookupError("mine")

    runtime = serving(Scripted())
    runtime.use(fail)
    stream = runtime.stream(asking())
    places: list[list[str]] = []

    for _ in range(5):
        with pytest.raises(LookupError) as caught:
            await stream.response()
        places.append([frame.name for frame in traceback.extract_tb(caught.value.__traceback__)])

    assert places[1:] == places[1:2] * 4
    assert places[1][-1] == "fail"


@pytest.mark.parametrize("batched", [False, True])
async def test_a_dropped_stream_leaves_nothing_on_its_signal(batched: bool) -> None:
    """R11: a signal may outlive many calls; one whose stream is dropped takes its callback back."""
    controller = AbortController()
    adapter = Batched(OPEN, (Gate(),)) if batched else Scripted((*OPEN, Gate()))
    runtime = serving(adapter)
    stream = runtime.stream(asking(signal=controller.signal))
    await anext(stream)

    with pytest.warns(ResourceWarning):
        del stream

    assert controller.signal._callbacks == {}


async def test_ended_streams_leave_nothing_on_their_signal() -> None:
    """R11: calls that ended, failed or were left have taken their callbacks back."""
    controller = AbortController()
    runtime = serving(Scripted(ANSWER, (LlmError("no", codes.AUTH),), (*OPEN, Gate())))
    signal = controller.signal

    await chunks_of(runtime.stream(asking(signal=signal)))
    await outcome_of(runtime.stream(asking(signal=signal)))
    async with runtime.stream(asking(signal=signal)) as stream:
        await anext(stream)

    assert signal._callbacks == {}
