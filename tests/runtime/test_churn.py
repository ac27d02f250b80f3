"""R1, E2: whatever happens to routes, signals and tasks meanwhile, a call has exactly one outcome; nothing leaks."""

import asyncio
import gc
import random
from collections.abc import AsyncIterator

from hypothesis import given, settings
from hypothesis import strategies as st

from limen.contract import (
    STOP,
    AbortController,
    BlockEnd,
    BlockStart,
    Finish,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    ReasoningDelta,
    RetryPolicy,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallDelta,
    codes,
)
from limen.runtime import Fallback, LlmRuntime, Registration, Retry
from runtime._adapters import ANSWER, CALLING, OPEN, USAGE, Batched, Scripted, Step, asking, failed, serving


class Busy(LlmAdapter):
    """Answers in small steps, and counts the streams that are open."""

    opened = 0

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        Busy.opened += 1
        try:
            for chunk in ANSWER:
                await asyncio.sleep(0)
                yield chunk
        finally:
            Busy.opened -= 1

    def retry_policy(self, provider: str) -> RetryPolicy:
        """No waiting."""
        return RetryPolicy(initial_delay_ms=0.01, max_delay_ms=0.01)


async def churn(runtime: LlmRuntime, chance: random.Random, done: asyncio.Event) -> None:
    """Register, replace and dispose until the calls are done."""
    handles: list[Registration] = []
    while not done.is_set():
        names = [f"r{chance.randrange(8)}" for _ in range(chance.randrange(4))]
        try:
            match chance.randrange(3):
                case 0:
                    handles.append(runtime.register(names, Busy()))
                case 1 if handles:
                    chance.choice(handles).replace(names)
                case _ if handles:
                    handles.pop(chance.randrange(len(handles))).dispose()
                case _:
                    pass
        except LlmError as refusal:
            assert refusal.code in (codes.DUPLICATE_ADAPTER, codes.INVALID_ADAPTER)  # noqa: PT017 - either is right
        await asyncio.sleep(0)
    for handle in handles:
        handle.dispose()


async def one_call(runtime: LlmRuntime, number: int) -> str:
    """Make one call in one of the ways in which a call is made; return how it ended."""
    chance = random.Random(number)
    for _ in range(chance.randrange(60)):
        await asyncio.sleep(0)
    controller = AbortController()
    options = asking(f"r{chance.randrange(8)}", signal=controller.signal if number % 2 else None)
    stream = runtime.stream(options)
    way = number % 5
    if way == 0:
        finishes = [chunk async for chunk in stream if isinstance(chunk, Finish)]
        assert len(finishes) == 1
        return finishes[0].reason.kind
    if way == 1:
        asyncio.get_running_loop().call_later(0.0005 * chance.random(), controller.abort)
    if way == 2:
        async with stream:
            await anext(stream)
    if way == 3:
        reading = asyncio.create_task(stream.response())
        await asyncio.sleep(0.0005 * chance.random())
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    try:
        return (await stream.response()).finish.kind
    except LlmError as error:
        assert error.partial is not None  # noqa: PT017 - a failure always has one
        return error.partial.finish.kind


async def test_two_hundred_calls_under_churn() -> None:
    """R1, E2, R11: each ends in one outcome; no task, stream or registration is left."""
    runtime = LlmRuntime()
    runtime.use(Retry())
    runtime.use(Fallback(["r1", "r2"]))
    done = asyncio.Event()
    churning = [asyncio.create_task(churn(runtime, random.Random(seed), done)) for seed in range(3)]

    kinds = await asyncio.gather(*(one_call(runtime, number) for number in range(200)))
    done.set()
    await asyncio.gather(*churning)
    await runtime.aclose()
    await asyncio.sleep(0)
    gc.collect()

    assert len(kinds) == 200
    assert set(kinds) <= {"stop", "aborted", "error"}
    assert {"stop", "aborted"} <= set(kinds)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert Busy.opened == 0
    assert runtime.list_providers() == []


STEPS: st.SearchStrategy[Step] = st.one_of(
    st.sampled_from([*ANSWER, *CALLING, USAGE, failed(codes.SERVER), LlmError("x", codes.TRANSPORT), OSError("gone")]),
    st.builds(BlockStart, st.integers(0, 2), st.sampled_from(["text", "reasoning", "tool-call"])),
    st.builds(TextDelta, st.integers(0, 2), st.sampled_from(["", "a"])),
    st.builds(ReasoningDelta, st.integers(0, 2), st.sampled_from(["", "b"])),
    st.builds(ToolCallDelta, st.integers(0, 2), st.just("c"), st.just("f"), st.just("{")),
    st.builds(BlockEnd, st.integers(0, 2), st.just(TextBlock("a"))),
    st.just(Finish(STOP)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=8), st.booleans(), st.booleans())
def test_every_stream_ends_in_one_finish(script: list[Step], batched: bool, open_first: bool) -> None:
    """E2, R6, R11: whatever an adapter does, iteration raises nothing, ends in one finish, and the response agrees."""
    steps = [*OPEN, *script] if open_first else script

    async def call() -> None:
        adapter = Batched(steps) if batched else Scripted(steps)
        stream = serving(adapter).stream(asking())
        chunks = [chunk async for chunk in stream]
        last = chunks[-1]
        assert isinstance(last, Finish)
        assert not any(isinstance(chunk, Finish) for chunk in chunks[:-1])
        response = await response_of(stream)
        assert response.finish == last.reason
        visible = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
        assert len(response.text) == len(visible)

    async def response_of(stream: object):  # type: ignore[no-untyped-def] # noqa: ANN202
        try:
            return await stream.response()  # type: ignore[attr-defined]  # a ModelStream
        except LlmError as error:
            return error.partial

    asyncio.run(call())
