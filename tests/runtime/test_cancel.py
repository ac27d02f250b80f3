"""Q6: aborting, cancelling and leaving close what is open at once, from any thread, and say so once."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress

import pytest

from limen.contract import (
    AbortController,
    AbortError,
    AbortSignal,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    ModelInfo,
    Next,
    StreamChunk,
    codes,
)
from limen.runtime import ModelStream
from runtime._adapters import (
    ANSWER,
    OPEN,
    Batched,
    BatchStream,
    Gate,
    Scripted,
    asking,
    call_failure,
    chunks_of,
    outcome_of,
    serving,
)

ABORTED = Finish(FinishReason("aborted", call_failure("the call was aborted", codes.ABORTED, "mid-stream")))


def silent() -> tuple[Gate, Scripted]:
    """An adapter that says something and then waits for ever, knowing nothing of signals."""
    gate = Gate()
    return gate, Scripted((*OPEN, gate))


async def test_a_signal_aborted_beforehand_asks_nobody() -> None:
    """Q6: a call whose signal is aborted already ends without reaching the adapter."""
    controller = AbortController()
    controller.abort("early")
    adapter = Scripted()

    failure = await outcome_of(serving(adapter).stream(asking(signal=controller.signal)))

    assert failure == call_failure("the call was aborted", codes.ABORTED, "resolve")
    assert adapter.seen == []


async def test_an_abort_ends_a_silent_provider() -> None:
    """Q6: the pending step is ended, the adapter's clean-up has run, and the reading task is not cancelled."""
    gate, adapter = silent()
    controller = AbortController()
    reading = asyncio.create_task(chunks_of(serving(adapter).stream(asking(signal=controller.signal))))
    await gate.reached.wait()

    started = time.monotonic()
    controller.abort("enough")
    controller.abort("again")
    chunks = await reading

    assert time.monotonic() - started < 0.1
    assert chunks == [*OPEN, ABORTED]
    assert (adapter.left, reading.cancelling()) == (1, 0)
    assert controller.signal.reason == "enough"


async def test_an_abort_from_another_thread() -> None:
    """Q6: `abort()` may come from any thread."""
    gate, adapter = silent()
    controller = AbortController()
    reading = asyncio.create_task(chunks_of(serving(adapter).stream(asking(signal=controller.signal))))
    await gate.reached.wait()

    threading.Thread(target=controller.abort).start()

    assert await reading == [*OPEN, ABORTED]


async def test_an_abort_while_nobody_reads_closes_all_the_same() -> None:
    """Q6: the connection goes also while the consumer is busy elsewhere; the next read says why, once."""
    _, adapter = silent()
    controller = AbortController()
    stream = serving(adapter).stream(asking(signal=controller.signal))
    assert await anext(stream) == OPEN[0]

    controller.abort()
    for _ in range(3):
        await asyncio.sleep(0)

    assert adapter.left == 1
    assert [chunk async for chunk in stream] == [ABORTED]


class FailsToClose(LlmAdapter):
    """Fails while it is closed."""

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        try:
            yield OPEN[0]
        finally:
            raise RuntimeError("cannot close")


async def test_a_failing_clean_up_after_an_abort_is_the_abort() -> None:
    """Q6: once aborted, any later failure of the call is `aborted`."""
    for idle in (True, False):
        controller = AbortController()
        stream = serving(FailsToClose()).stream(asking(signal=controller.signal))
        await anext(stream)
        controller.abort()
        if idle:
            await asyncio.sleep(0.01)

        assert [chunk async for chunk in stream] == [ABORTED]


async def test_leaving_waits_for_the_clean_up_that_an_abort_began() -> None:
    """R11, Q6: leaving a stream that is being closed by an abort returns when that is done."""
    closing = Gate()

    class SlowToClose(LlmAdapter):
        async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
            try:
                yield OPEN[0]
            finally:
                await closing()

    controller = AbortController()
    stream = serving(SlowToClose()).stream(asking(signal=controller.signal))
    await anext(stream)
    controller.abort()
    await closing.reached.wait()
    leaving = asyncio.create_task(stream.aclose())
    await asyncio.sleep(0)
    assert not leaving.done()

    closing.opened.set()
    await leaving

    assert (await outcome_of(stream)).code == codes.ABORTED


async def test_an_abort_after_the_end_changes_nothing() -> None:
    """Q6: a stream that has ended watches no longer."""
    controller = AbortController()
    stream = serving(Scripted()).stream(asking(signal=controller.signal))
    chunks = await chunks_of(stream)

    controller.abort()
    await asyncio.sleep(0)

    assert chunks == list(ANSWER)
    assert (await stream.response()).text == "Hello"


async def test_a_signal_does_not_keep_a_dropped_stream() -> None:
    """R11: a long-lived signal holds streams weakly: a dropped one is gone at once, and an abort then is harmless."""
    controller = AbortController()
    stream = serving(Batched(OPEN, ANSWER[2:])).stream(asking(signal=controller.signal))
    await anext(stream)
    ref = weakref.ref(stream)
    gc.disable()
    try:
        with pytest.warns(ResourceWarning):
            del stream
        assert ref() is None
    finally:
        gc.enable()
    controller.abort()
    await asyncio.sleep(0)


async def test_an_abort_ends_the_look_up_of_a_model() -> None:
    """Q6, R3: also before there is a stream: a call that waits for its model's facts ends as aborted."""
    gate = Gate()

    class SlowModels(Scripted):
        async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
            await gate()
            raise AssertionError("never reached")

    controller = AbortController()
    adapter = SlowModels()
    reading = asyncio.create_task(chunks_of(serving(adapter).stream(asking(signal=controller.signal))))
    await gate.reached.wait()
    controller.abort()

    assert await reading == [
        Finish(FinishReason("aborted", call_failure("the call was aborted", codes.ABORTED, "resolve")))
    ]
    assert adapter.seen == []


async def test_resolution_is_cancelled_with_the_callers_own_reason() -> None:
    """H49: `resolve_model` and `prepare_call` raise `AbortError` with the reason, during and before."""
    gate = Gate()
    reason = object()

    class SlowModels(Scripted):
        async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
            await gate()
            raise AssertionError("never reached")

    runtime = serving(SlowModels())
    for begin in (
        lambda signal: runtime.resolve_model("route", "m", signal=signal),
        lambda signal: runtime.prepare_call(asking(signal=signal)),
    ):
        controller = AbortController()
        gate.reached.clear()
        waiting = asyncio.create_task(begin(controller.signal))
        await gate.reached.wait()
        controller.abort(reason)
        with pytest.raises(AbortError) as during:
            await waiting
        with pytest.raises(AbortError) as before:
            await begin(controller.signal)
        assert during.value.reason is before.value.reason is reason
        assert waiting.cancelling() == 0


async def test_a_failing_resolution_after_the_abort_is_the_abort() -> None:
    """Q6: an adapter that answers the abort with an error of its own does not hide the reason."""
    controller = AbortController()

    class Complains(Scripted):
        async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
            controller.abort("mine")
            raise RuntimeError("interrupted, I think")

    with pytest.raises(AbortError) as caught:
        await serving(Complains()).resolve_model("route", "m", signal=controller.signal)

    assert caught.value.reason == "mine"


async def test_cancelling_a_resolution_is_a_cancellation() -> None:
    """Q6: with a signal that nobody aborted, a cancelled look-up raises `CancelledError`."""
    gate = Gate()

    class SlowModels(Scripted):
        async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
            await gate()
            raise AssertionError("never reached")

    waiting = asyncio.create_task(serving(SlowModels()).resolve_model("route", "m", signal=AbortController().signal))
    await gate.reached.wait()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.parametrize("watched", [False, True])
async def test_cancelling_the_reading_task_closes_and_is_not_renamed(watched: bool) -> None:
    """Q6: the adapter's clean-up runs, `CancelledError` comes out, and the stream's outcome is `ABORTED`."""
    gate, adapter = silent()
    stream = serving(adapter).stream(asking(signal=AbortController().signal if watched else None))
    reading = asyncio.create_task(chunks_of(stream))
    await gate.reached.wait()

    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert adapter.left == 1
    # What had arrived was shown; what is left to read is how it ended.
    with pytest.raises(Exception, match="left before its end") as caught:
        await stream.response()
    assert caught.value.partial.text == "Hel"  # type: ignore[attr-defined]  # an LlmError


async def test_cancelling_response_closes_too() -> None:
    """Q6: a call that only `response()` reads ends when that task is cancelled, as under a timeout."""
    gate, adapter = silent()
    stream = serving(adapter).stream(asking())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await stream.response()

    assert gate.reached.is_set()
    assert adapter.left == 1


async def test_cancelled_and_aborted_at_once_is_a_cancellation() -> None:
    """Q6: where the task is cancelled and the signal aborted in one breath, the cancellation is not swallowed."""
    gate, adapter = silent()
    controller = AbortController()
    reading = asyncio.create_task(chunks_of(serving(adapter).stream(asking(signal=controller.signal))))
    await gate.reached.wait()

    controller.abort()
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    assert adapter.left == 1


async def test_a_batch_source_is_closed_when_its_reader_is_cancelled() -> None:
    """Q6: an iterator that is no generator is closed explicitly, once."""
    gate = Gate()
    adapter = Batched(OPEN, (gate,))
    reading = asyncio.create_task(chunks_of(serving(adapter).stream(asking())))
    await gate.reached.wait()

    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert adapter.streams[0].closed == 1


def test_an_abort_whose_loop_is_gone_reaches_nobody() -> None:
    """T2: an abort after the loop was closed finds nobody to wake, and raises nothing."""
    controller = AbortController()

    async def begin() -> ModelStream:
        stream = serving(Batched(OPEN, ANSWER[2:])).stream(asking(signal=controller.signal))
        await anext(stream)
        return stream

    stream = asyncio.run(begin())
    controller.abort()

    with pytest.warns(ResourceWarning):
        del stream


async def test_a_swallowed_cancellation_gives_the_next_chunk_and_then_ends() -> None:
    """Q6: an adapter that goes on after an abort is ended at its next step, and its task stays uncancelled."""
    gate = Gate()

    class Stubborn(LlmAdapter):
        async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
            yield OPEN[0]
            with suppress(asyncio.CancelledError):
                await gate()
            yield OPEN[1]
            await gate()

    controller = AbortController()
    reading = asyncio.create_task(chunks_of(serving(Stubborn()).stream(asking(signal=controller.signal))))
    await gate.reached.wait()
    controller.abort()

    assert await reading == [*OPEN, ABORTED]
    assert reading.cancelling() == 0


async def test_a_cancelled_complete_closes_and_is_not_renamed() -> None:
    """Q6: cancelling `complete()` closes the connection and raises `CancelledError`."""
    gate, adapter = silent()
    collecting = asyncio.create_task(serving(adapter).complete(asking()))
    await gate.reached.wait()

    collecting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await collecting
    assert adapter.left == 1


@pytest.mark.parametrize("method", ["response", "iterate", "complete"])
async def test_a_cancellation_that_an_adapter_swallows_arrives_all_the_same(method: str) -> None:
    """Q6: cancelling the task ends the call with `CancelledError` also where an adapter swallows that."""
    gate = Gate()
    closed: list[str] = []

    class Swallowing(LlmAdapter):
        async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
            try:
                yield OPEN[0]
                with suppress(asyncio.CancelledError):
                    await gate()
                for chunk in ANSWER[1:]:
                    yield chunk
            finally:
                closed.append("closed")

    runtime = serving(Swallowing())
    stream = runtime.stream(asking())
    ways: dict[str, Callable[[], Coroutine[object, object, object]]] = {
        "response": stream.response,
        "iterate": lambda: chunks_of(stream),
        "complete": lambda: runtime.complete(asking()),
    }
    reading = asyncio.create_task(ways[method]())
    await gate.reached.wait()

    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    assert closed == ["closed"]


class NeverCloses(LlmAdapter):
    """Waits for ever, and when it is closed for ever again."""

    def __init__(self) -> None:
        self.reading = Gate()
        self.closing = Gate()

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        try:
            yield OPEN[0]
            await self.reading()
        finally:
            await self.closing()


async def test_an_adapter_that_never_closes_does_not_keep_an_abort_waiting() -> None:
    """Q6, E2: an abort has its outcome also where the adapter's clean-up hangs."""
    for idle in (True, False):
        controller = AbortController()
        adapter = NeverCloses()
        stream = serving(adapter).stream(asking(signal=controller.signal))
        seen = [await anext(stream)]
        reading = asyncio.create_task(chunks_of(stream))
        if not idle:
            await adapter.reading.reached.wait()

        controller.abort()

        async with asyncio.timeout(5):
            assert seen + await reading == [OPEN[0], ABORTED]
        assert adapter.closing.reached.is_set()


class HangingStream(BatchStream):
    """Its clean-up never ends."""

    async def aclose(self) -> None:
        await asyncio.Event().wait()


class Hanging(Batched):
    """Gives such streams."""

    def stream(self, options: GenerateOptions) -> BatchStream:
        return HangingStream(self.batches)


async def test_an_adapter_that_never_closes_does_not_keep_a_cancelled_task() -> None:
    """Q6: cancelling the task ends it also where the adapter's clean-up hangs."""
    gate = Gate()
    reading = asyncio.create_task(chunks_of(serving(Hanging(OPEN, (gate,))).stream(asking())))
    await gate.reached.wait()

    reading.cancel()

    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_interceptors_that_stop_at_an_abort_end_as_aborted() -> None:
    """Q6, R7: once aborted, an interceptor that ends without a finish is the abort, no broken rule."""
    controller = AbortController()

    async def stopping(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        async for chunk in following(options):
            yield chunk
            controller.abort()
            return

    runtime = serving(Scripted())
    runtime.use(stopping)

    assert await chunks_of(runtime.stream(asking(signal=controller.signal))) == [OPEN[0], ABORTED]
