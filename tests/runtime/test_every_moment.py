"""Q6, R11: a call may be cancelled, aborted or left at any moment; each time it ends once, closed, and says how."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from limen.contract import (
    AbortController,
    AbortSignal,
    Finish,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    ModelInfo,
    Next,
    RetryPolicy,
    StreamChunk,
    codes,
)
from limen.runtime import Fallback, LlmRuntime, Retry
from runtime._adapters import ANSWER, asking, chunks_of

MOMENTS = 40


async def turns(count: int) -> None:
    """Let the loop go round."""
    for _ in range(count):
        await asyncio.sleep(0)


class Slow(LlmAdapter):
    """Takes a turn of the loop for everything: facts, each chunk, closing. Fails the first time, if told to."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.opened = 0
        self.closed = 0

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        await turns(2)
        return ModelInfo(provider, model, model)

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        self.opened += 1
        try:
            await turns(1)
            if self.fails and self.opened == 1:
                raise LlmError("reset", codes.TRANSPORT)
            for chunk in ANSWER:
                await turns(1)
                yield chunk
            await turns(1)
        finally:
            try:
                await turns(2)
            finally:
                self.closed += 1

    def retry_policy(self, provider: str) -> RetryPolicy:
        """Little waiting."""
        return RetryPolicy(initial_delay_ms=0.01, max_delay_ms=0.01)


async def slowly(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
    """An interceptor that takes a turn around each chunk, and two when it ends."""
    try:
        async for chunk in following(options):
            await turns(1)
            yield chunk
            await turns(1)
    finally:
        await turns(2)


def runtime_of(adapter: LlmAdapter, setup: str) -> LlmRuntime:
    """Bare, with our own interceptors, or with a foreign one around them."""
    runtime = LlmRuntime()
    runtime.register(["route", "other"], adapter)
    if setup != "bare":
        runtime.use(Retry())
        runtime.use(Fallback(["other"]))
    if setup == "foreign":
        runtime.use(slowly)
    return runtime


async def settled(adapter: Slow) -> None:
    """Everything that was opened is closed, and nothing else runs."""
    assert adapter.closed == adapter.opened
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("setup", ["bare", "ours", "foreign"])
@pytest.mark.parametrize("moment", range(MOMENTS))
async def test_cancelled_at_any_moment(setup: str, moment: int) -> None:
    """Q6: cancelling ends in `CancelledError` or came too late; what was open is closed; the outcome is `ABORTED`."""
    adapter = Slow(fails=setup != "bare")
    stream = runtime_of(adapter, setup).stream(asking())
    reading = asyncio.create_task(chunks_of(stream))
    await turns(moment)

    in_time = reading.cancel()
    done = await asyncio.gather(reading, return_exceptions=True)

    assert isinstance(done[0], asyncio.CancelledError) == in_time
    await settled(adapter)
    if moment == 0:
        # The task never began; the stream is unread, and can still be left.
        await stream.aclose()
    if in_time:
        with pytest.raises(LlmError) as caught:
            await stream.response()
        assert caught.value.code == codes.ABORTED
    else:
        assert (await stream.response()).text == "Hello"


@pytest.mark.parametrize("setup", ["bare", "ours", "foreign"])
@pytest.mark.parametrize("moment", range(MOMENTS))
async def test_left_at_any_moment(setup: str, moment: int) -> None:
    """R11: `aclose()` from another task returns when all is closed; the reader sees one finish, uncancelled."""
    adapter = Slow(fails=setup != "bare")
    stream = runtime_of(adapter, setup).stream(asking())
    reading = asyncio.create_task(chunks_of(stream))
    await turns(moment)

    await stream.aclose()

    assert adapter.closed == adapter.opened
    chunks = await reading
    assert [type(chunk) for chunk in chunks].count(Finish) == 1
    assert reading.cancelling() == 0
    last = chunks[-1]
    assert isinstance(last, Finish)
    assert last.reason.kind in ("stop", "aborted")
    await settled(adapter)


@pytest.mark.parametrize("setup", ["bare", "ours", "foreign"])
@pytest.mark.parametrize("moment", range(MOMENTS))
async def test_aborted_at_any_moment(setup: str, moment: int) -> None:
    """Q6: an abort ends the call as aborted or came too late; the reader sees one finish, uncancelled."""
    adapter = Slow(fails=setup != "bare")
    controller = AbortController()
    stream = runtime_of(adapter, setup).stream(asking(signal=controller.signal))
    reading = asyncio.create_task(chunks_of(stream))
    await turns(moment)

    controller.abort()
    chunks = await reading

    last = chunks[-1]
    assert isinstance(last, Finish)
    assert [type(chunk) for chunk in chunks].count(Finish) == 1
    assert last.reason.kind in ("stop", "aborted")
    assert reading.cancelling() == 0
    await turns(3)
    await settled(adapter)


@pytest.mark.parametrize("setup", ["bare", "ours", "foreign"])
async def test_the_moments_reach_to_the_end(setup: str) -> None:
    """Q6: the last of the moments above is after the end of the call, so they cover all of it."""
    adapter = Slow(fails=setup != "bare")
    reading = asyncio.create_task(chunks_of(runtime_of(adapter, setup).stream(asking())))
    await turns(MOMENTS - 1)
    if setup != "bare":
        # The wait between two tries is time, not turns.
        await reading

    assert reading.done()
