"""R7: interceptors wrap a stream in order, see immutable options, and answer for what they do themselves."""

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from limen.contract import (
    STOP,
    BlockEnd,
    BlockStart,
    CallInfo,
    Failure,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmError,
    Message,
    ModelSource,
    Next,
    StreamChunk,
    TextBlock,
    TextDelta,
    codes,
    tool_result,
)
from limen.runtime import LlmRuntime
from runtime._adapters import (
    ANSWER,
    OPEN,
    Batched,
    Gate,
    Scripted,
    asking,
    call_failure,
    chunks_of,
    failed,
    outcome_of,
    serving,
)

Chunks = AsyncIterator[StreamChunk]


def passing(log: list[str], name: str) -> Callable[[GenerateOptions, Next], Chunks]:
    """An interceptor that passes everything on and notes when it begins and ends."""

    async def interceptor(options: GenerateOptions, following: Next) -> Chunks:
        log.append(f"{name} begins")
        try:
            async for chunk in following(options):
                yield chunk
            log.append(f"{name} ends")
        finally:
            log.append(f"{name} is closed")

    return interceptor


def using(runtime: LlmRuntime, *interceptors: Callable[[GenerateOptions, Next], Chunks]) -> LlmRuntime:
    """The runtime with these interceptors."""
    for interceptor in interceptors:
        runtime.use(interceptor)
    return runtime


async def test_the_first_is_the_outermost() -> None:
    """R7: the order of `use()` is the order from the outside in, and each runs to its end before the finish shows."""
    log: list[str] = []
    runtime = using(serving(Scripted()), passing(log, "outer"), passing(log, "inner"))
    stream = runtime.stream(asking())
    seen = []

    async for chunk in stream:
        seen.append(chunk)
        if isinstance(chunk, Finish):
            log.append("the finish shows")

    assert seen == list(ANSWER)
    assert log == [
        "outer begins",
        "inner begins",
        "inner ends",
        "inner is closed",
        "outer ends",
        "outer is closed",
        "the finish shows",
    ]


async def test_one_that_is_taken_back_wraps_nothing() -> None:
    """R7: the function that `use()` returns removes its interceptor from later calls."""
    log: list[str] = []
    runtime = serving(Scripted())
    remove = runtime.use(passing(log, "gone"))

    remove()
    remove()
    await runtime.complete(asking())

    assert log == []


async def test_chunks_may_be_changed() -> None:
    """R7, H15: what an interceptor yields is what the consumer and the response see."""

    async def shout(options: GenerateOptions, following: Next) -> Chunks:
        async for chunk in following(options):
            if isinstance(chunk, TextDelta):
                yield TextDelta(chunk.index, chunk.text.upper())
            elif isinstance(chunk, BlockEnd):
                yield BlockEnd(chunk.index, TextBlock("HELLO"))
            else:
                yield chunk

    runtime = using(serving(Scripted()), shout)

    assert [piece async for piece in runtime.stream(asking()).text()] == ["HEL", "LO"]
    response = await runtime.complete(asking())
    assert response.text == "HELLO"
    assert response.message == Message("assistant", (TextBlock("HELLO"),), source=ModelSource("route", "model-1"))


async def test_look_up_happens_after_the_last_of_them() -> None:
    """R7, H16: an interceptor may send a call to another route, and the answer says which one answered."""
    first, second = Scripted(), Scripted()

    async def elsewhere(options: GenerateOptions, following: Next) -> Chunks:
        async for chunk in following(msgspec.structs.replace(options, provider="route-2", model="model-2")):
            yield chunk

    response = await using(serving(first, second), elsewhere).complete(asking("nowhere"))

    assert (len(first.seen), len(second.seen)) == (0, 1)
    assert response.info is not None
    assert (response.info.provider, response.info.model) == ("route-2", "model-2")
    assert response.message is not None
    assert response.message.source == ModelSource("route-2", "model-2")


async def test_the_history_check_judges_what_was_passed_on() -> None:
    """R7, N1: an interceptor may repair a history, or break one; the check sees what it passed."""

    async def without_results(options: GenerateOptions, following: Next) -> Chunks:
        async for chunk in following(msgspec.structs.replace(options, messages=options.messages[:1])):
            yield chunk

    broken = asking(messages=[asking().messages[0], tool_result("x", "orphan")])

    assert (await using(serving(Scripted()), without_results).complete(broken)).text == "Hello"
    failure = await outcome_of(serving(Scripted()).stream(broken))
    assert failure.code == codes.INVALID_OPTIONS
    assert "messages[1]" in failure.message


async def test_one_may_short_circuit() -> None:
    """R7: an interceptor may answer by itself; no request is made, and the response is assembled from its chunks."""
    adapter = Scripted()

    async def answer(options: GenerateOptions, following: Next) -> Chunks:
        yield TextDelta(0, "cached")
        yield Finish(STOP)

    response = await using(serving(adapter), answer).complete(asking())

    assert adapter.seen == []
    assert response.text == "cached"
    assert response.info == CallInfo("route", "model-1", attempts=0)


async def test_an_interceptor_may_only_observe() -> None:
    """R7: a plain function that returns what `next` gives is an interceptor too."""
    seen: list[str] = []

    def observe(options: GenerateOptions, following: Next) -> Chunks:
        seen.append(options.provider)
        return following(options)

    assert await chunks_of(using(serving(Scripted()), observe).stream(asking())) == list(ANSWER)
    assert seen == ["route"]


async def test_options_are_immutable() -> None:
    """R7: an interceptor cannot change the options that others see."""

    async def meddle(options: GenerateOptions, following: Next) -> Chunks:
        options.model = "other"  # type: ignore[misc]  # on purpose
        yield Finish(STOP)

    with pytest.raises(AttributeError, match="immutable"):
        await using(serving(Scripted()), meddle).complete(asking())


class Base(BaseException):
    """Derives from no `Exception`, and ends no process."""


@pytest.mark.parametrize("own", [LookupError("mine"), Base("mine")])
async def test_an_interceptors_own_error_is_raised_unchanged(own: BaseException) -> None:
    """E2, H55: what an interceptor raises is no outcome: iteration and `response()` raise the same object."""
    adapter = Scripted((*OPEN, Gate()))

    async def fail(options: GenerateOptions, following: Next) -> Chunks:
        async for chunk in following(options):
            yield chunk
            raise own

    stream = using(serving(adapter), fail).stream(asking())
    seen: list[StreamChunk] = []

    async def iterate() -> None:
        async for chunk in stream:
            seen.append(chunk)

    with pytest.raises(type(own)) as iterating:
        await iterate()
    with pytest.raises(type(own)) as asking_:
        await stream.response()

    assert iterating.value is asking_.value is own
    assert seen == [OPEN[0]]
    assert adapter.left == 1
    await stream.aclose()


async def test_an_error_before_the_first_chunk() -> None:
    """E2: an interceptor that fails when it is called fails the read, unchanged."""

    def fail(options: GenerateOptions, following: Next) -> Chunks:
        raise LookupError("at once")

    with pytest.raises(LookupError, match="at once"):
        await anext(using(serving(Scripted()), fail).stream(asking()))


async def test_an_error_after_the_finish() -> None:
    """E2: what an interceptor does after its last chunk is still its own."""

    async def fail(options: GenerateOptions, following: Next) -> Chunks:
        async for chunk in following(options):
            yield chunk
        raise LookupError("after")

    stream = using(serving(Scripted()), fail).stream(asking())
    with pytest.raises(LookupError, match="after"):
        await chunks_of(stream)


async def a_coroutine(options: GenerateOptions, following: Next) -> None:
    """What an `async def` without a `yield` is."""


@pytest.mark.parametrize(
    ("interceptor", "words"),
    [
        (a_coroutine, "an interceptor is a coroutine"),
        (lambda options, following: None, "an interceptor returned a NoneType, not an async iterator"),
    ],
)
async def test_what_is_no_interceptor_says_so(interceptor: object, words: str) -> None:
    """R7: a function that returns no stream is a bug with a clear message."""
    with pytest.raises(TypeError, match=words):
        await using(serving(Scripted()), interceptor).complete(asking())  # type: ignore[arg-type]  # on purpose


async def test_only_chunks_come_out() -> None:
    """H77: something that is no chunk is diagnosed as the interceptor's bug."""

    async def babble(options: GenerateOptions, following: Next) -> Chunks:
        yield "text"  # type: ignore[misc]  # on purpose

    with pytest.raises(TypeError, match="an interceptor yielded a str, which is no chunk"):
        await using(serving(Scripted()), babble).complete(asking())


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ((), "C6: the interceptors' stream ended without a finish"),
        (OPEN, "C6: the interceptors' stream ended without a finish"),
        ((Finish(STOP), OPEN[0]), "C6: the interceptors' stream sent a BlockStart after the finish"),
        (
            (Finish(FinishReason("error")),),
            "C6: the interceptors' stream has a finish of kind error that lacks a failure",
        ),
        (
            (Finish(FinishReason("stop", Failure("x", codes.SERVER))),),
            "C6: the interceptors' stream has a finish of kind stop that has a failure",
        ),
    ],
)
async def test_a_stream_always_ends_in_one_finish(chunks: tuple[StreamChunk, ...], words: str) -> None:
    """C6, E2: interceptors that lose or repeat the finish do not reach the consumer."""

    async def wrong(options: GenerateOptions, following: Next) -> Chunks:
        for chunk in chunks:
            yield chunk

    stream = using(serving(Scripted()), wrong).stream(asking())

    failure = await outcome_of(stream)
    assert failure == call_failure(words, codes.PROTOCOL_VIOLATION, "mid-stream")
    assert [chunk async for chunk in Rest(stream)] == []


class Rest:
    """What is left of a stream that was iterated."""

    def __init__(self, stream: AsyncIterator[StreamChunk]) -> None:
        self.stream = stream

    def __aiter__(self) -> "Rest":
        return self

    async def __anext__(self) -> StreamChunk:
        return await self.stream.__anext__()


async def test_the_guard_stands_inside() -> None:
    """R6, R7: a violation reaches interceptors as a finish; what they send themselves is not guarded."""
    seen: list[StreamChunk] = []

    async def observe(options: GenerateOptions, following: Next) -> Chunks:
        async for chunk in following(options):
            seen.append(chunk)
            yield chunk

    stream = using(serving(Scripted((OPEN[1],))), observe).stream(asking())

    assert (await outcome_of(stream)).code == codes.PROTOCOL_VIOLATION
    assert len(seen) == 1


async def test_leaving_closes_every_stream_of_the_chain() -> None:
    """R11: leaving early runs each interceptor's clean-up and the adapter's, before it returns."""
    log: list[str] = []
    adapter = Scripted((*OPEN, Gate()))
    runtime = using(serving(adapter), passing(log, "outer"), passing(log, "inner"))

    async with runtime.stream(asking()) as stream:
        await anext(stream)

    assert log == ["outer begins", "inner begins", "outer is closed", "inner is closed"]
    assert adapter.left == 1


async def test_an_attempt_that_an_interceptor_left_is_closed() -> None:
    """R11: an interceptor that answers before its `next` has ended does not leak that call."""
    adapter = Scripted((*OPEN, Gate()))

    async def impatient(options: GenerateOptions, following: Next) -> Chunks:
        async for _ in following(options):
            break
        yield Finish(STOP)

    await using(serving(adapter), impatient).complete(asking())

    assert adapter.left == 1


async def test_a_failing_clean_up_of_an_interceptor_at_the_end_is_contained() -> None:
    """R11: at the end of a call there is an outcome, and closing what was left open is none."""

    class Stays:
        """Fails to close."""

        def __init__(self, chunks: Chunks) -> None:
            self.chunks = chunks

        def __aiter__(self) -> "Stays":
            return self

        async def __anext__(self) -> StreamChunk:
            return await anext(self.chunks)

        async def aclose(self) -> None:
            raise RuntimeError("stays open")

    runtime = using(serving(Scripted()), lambda options, following: Stays(following(options)))

    assert (await runtime.complete(asking())).text == "Hello"
    with pytest.raises(RuntimeError, match="stays open"):
        async with runtime.stream(asking()) as stream:
            await anext(stream)


async def test_an_interceptor_may_ask_again() -> None:
    """R7: each call of `next` is an attempt; the last one is the one that the response tells of."""
    adapter = Scripted((failed(codes.SERVER),), (failed(codes.SERVER),), ANSWER)

    async def again(options: GenerateOptions, following: Next) -> Chunks:
        while True:
            chunks = [chunk async for chunk in following(options)]
            if chunks[-1] == ANSWER[-1]:
                break
        for chunk in chunks:
            yield chunk

    response = await using(serving(adapter), again).complete(asking())

    assert response.info is not None
    assert (response.text, response.info.attempts, len(adapter.seen)) == ("Hello", 3, 3)


async def test_attempts_may_run_side_by_side() -> None:
    """R7: an interceptor may race attempts; those that lose are closed."""
    slow, fast = Scripted((*OPEN, Gate())), Scripted()

    async def race(options: GenerateOptions, following: Next) -> Chunks:
        async def collect(provider: str) -> list[StreamChunk]:
            return [chunk async for chunk in following(msgspec.structs.replace(options, provider=provider))]

        tasks = [asyncio.create_task(collect(provider)) for provider in ("route", "route-2")]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for chunk in done.pop().result():
            yield chunk

    response = await using(serving(slow, fast), race).complete(asking())

    assert response.text == "Hello"
    assert (slow.left, fast.closed) == (1, 1)


async def test_cancelling_inside_an_interceptor_closes_the_attempt() -> None:
    """Q6: a cancellation that arrives in an interceptor's own await closes what it had opened."""
    adapter = Scripted((*OPEN, Gate()))
    gate = Gate()

    async def pausing(options: GenerateOptions, following: Next) -> Chunks:
        async for chunk in following(options):
            await gate()
            yield chunk

    reading = asyncio.create_task(chunks_of(using(serving(adapter), pausing).stream(asking())))
    await gate.reached.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert adapter.left == 1


async def test_leaving_while_an_interceptor_waits() -> None:
    """R11: `aclose()` from another task ends an interceptor's own await as well."""
    gate = Gate()

    async def pausing(options: GenerateOptions, following: Next) -> Chunks:
        await gate()
        yield Finish(STOP)

    stream = using(serving(Scripted()), pausing).stream(asking())
    reading = asyncio.create_task(chunks_of(stream))
    await gate.reached.wait()

    await stream.aclose()

    assert [type(chunk) for chunk in await reading] == [Finish]
    with pytest.raises(LlmError) as caught:
        await stream.response()
    assert caught.value.code == codes.ABORTED
    assert isinstance(BlockStart(0, "text"), BlockStart)


async def test_batches_are_iterated_chunk_by_chunk() -> None:
    """R7: an interceptor sees single chunks also of an adapter that is read in batches."""
    log: list[str] = []
    runtime = using(serving(Batched(ANSWER[:3], ANSWER[3:])), passing(log, "only"))

    assert await chunks_of(runtime.stream(asking())) == list(ANSWER)


async def test_a_chain_that_cannot_be_closed_is_left() -> None:
    """H56: an interceptor's stream without a close method is just left; what it read is closed."""

    class Bare:
        """Only steps."""

        def __init__(self, chunks: Chunks) -> None:
            self.chunks = chunks

        def __aiter__(self) -> "Bare":
            return self

        async def __anext__(self) -> StreamChunk:
            return await anext(self.chunks)

    adapter = Scripted((*OPEN, Gate()))
    async with using(serving(adapter), lambda options, following: Bare(following(options))).stream(asking()) as stream:
        await anext(stream)

    assert adapter.left == 1


async def test_an_interceptor_that_asked_nobody_is_dropped_with_its_stream() -> None:
    """R7, R11: a stream that never reached an adapter warns as any other when it is dropped."""

    async def answer(options: GenerateOptions, following: Next) -> Chunks:
        for chunk in ANSWER:
            yield chunk

    stream = using(serving(Scripted()), answer).stream(asking())
    assert await anext(stream) == ANSWER[0]

    with pytest.warns(ResourceWarning, match="a stream of route/model-1 was dropped"):
        del stream


async def test_an_interceptor_that_is_installed_twice_is_taken_back_once_at_a_time() -> None:
    """R7: each `use()` is taken back by what it returned, which may be called twice."""
    seen: list[str] = []

    async def watch(options: GenerateOptions, following: Next) -> Chunks:
        seen.append(options.provider)
        async for chunk in following(options):
            yield chunk

    runtime = serving(Scripted())
    first, second = runtime.use(watch), runtime.use(watch)
    first()
    first()
    await runtime.complete(asking())
    assert seen == ["route"]

    second()
    await runtime.complete(asking())
    assert seen == ["route"]


async def test_an_interceptor_may_run_tasks_that_fail() -> None:
    """Q6, R7: what a `TaskGroup` of an interceptor cancels within itself is no cancellation of the call."""

    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError("a side task")

    async def grouping(options: GenerateOptions, following: Next) -> Chunks:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                group.create_task(asyncio.Event().wait())
        except* LookupError:
            pass
        async for chunk in following(options):
            yield chunk

    assert await chunks_of(using(serving(Scripted()), grouping).stream(asking())) == list(ANSWER)


async def test_an_interceptors_own_failure_names_the_call() -> None:
    """A failure that an interceptor makes itself gets the route and the model of the call (E3)."""

    async def refuses(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        yield Finish(FinishReason("error", Failure("not today", codes.SERVER)))

    async with LlmRuntime() as llm:
        llm.register(["route"], Scripted(ANSWER))
        llm.use(refuses)
        with pytest.raises(LlmError) as caught:
            await llm.complete(asking())

    assert (caught.value.failure.provider, caught.value.failure.model) == (asking().provider, asking().model)
