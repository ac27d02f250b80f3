"""R11: one stream is one call; iterate once, ask for the response as often as you like, leave when you like."""

import asyncio
import gc
import threading
import weakref

import pytest

from limen.contract import (
    CallFacts,
    CallInfo,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmError,
    Message,
    ModelSource,
    RateLimit,
    RateLimits,
    ReplayDrop,
    Response,
    TextBlock,
    TextDelta,
    TokenUsage,
    UsageChunk,
    codes,
)
from limen.runtime import LlmRuntime, ModelStream
from runtime._adapters import (
    ANSWER,
    CALLING,
    OPEN,
    USAGE,
    Batched,
    BatchStream,
    Gate,
    Scripted,
    asking,
    call_failure,
    chunks_of,
    failed,
    outcome_of,
    serving,
)

LEFT = call_failure("the stream was left before its end", codes.ABORTED, "mid-stream")


def steady(response: Response) -> Response:
    """The response without the time that it took."""
    from msgspec.structs import replace

    assert response.info is not None
    assert response.info.first_event_ms is not None
    return replace(response, info=replace(response.info, first_event_ms=None))


HELLO = Response(
    message=Message("assistant", (TextBlock("Hello"),), source=ModelSource("route", "model-1")),
    finish=FinishReason("stop"),
    usage=TokenUsage(input_tokens=3, output_tokens=2),
    text="Hello",
    info=CallInfo("route", "model-1"),
)


@pytest.mark.parametrize("adapter", [Scripted(ANSWER), Batched(ANSWER), Batched(ANSWER[:2], ANSWER[2:])])
async def test_iteration_and_response_agree(adapter: Scripted | Batched) -> None:
    """R11: the response is what iteration showed, whichever way the adapter is read."""
    stream = serving(adapter).stream(asking())

    assert await chunks_of(stream) == list(ANSWER)
    assert steady(await stream.response()) == HELLO


async def test_a_second_iteration_is_refused() -> None:
    """R11: a stream is iterated once."""
    stream = serving(Scripted()).stream(asking())
    await chunks_of(stream)

    with pytest.raises(RuntimeError, match="iterated once"):
        await chunks_of(stream)
    with pytest.raises(RuntimeError, match="iterated once"):
        _ = [piece async for piece in stream.text()]


async def test_one_iteration_may_be_looped_over_in_pieces() -> None:
    """R11: what `aiter()` returned goes on where the last loop left it; that is still one iteration."""
    iterator = aiter(serving(Scripted()).stream(asking()))
    first = await anext(iterator)

    assert [first, *[chunk async for chunk in iterator]] == list(ANSWER)


async def test_response_may_come_before_iteration() -> None:
    """R11: after `response()` alone the stream may still be iterated, once, and shows the same chunks."""
    adapter = Scripted()
    stream = serving(adapter).stream(asking())

    first = await stream.response()

    assert await chunks_of(stream) == list(ANSWER)
    assert await stream.response() is first
    assert len(adapter.seen) == 1


async def test_response_reads_the_rest_in_the_middle_of_an_iteration() -> None:
    """R11: `response()` during iteration takes nothing away from the iterator."""
    stream = serving(Scripted()).stream(asking())
    seen = []

    async for chunk in stream:
        seen.append(chunk)
        if len(seen) == 2:
            assert (await stream.response()).text == "Hello"

    assert seen == list(ANSWER)


async def test_response_and_iteration_run_at_the_same_time() -> None:
    """R11: however many tasks wait, the adapter is read once, and all of them get the same."""
    gate = Gate()
    adapter = Scripted((*OPEN, gate, *ANSWER[2:]))
    stream = serving(adapter).stream(asking())

    iterating = asyncio.create_task(chunks_of(stream))
    asking_too = [asyncio.create_task(stream.response()) for _ in range(3)]
    await gate.reached.wait()
    gate.opened.set()
    responses = await asyncio.gather(*asking_too)

    assert await iterating == list(ANSWER)
    assert all(response is responses[0] for response in responses)
    assert (len(adapter.seen), adapter.closed) == (1, 1)


async def test_a_waiting_response_may_be_cancelled_alone() -> None:
    """R11, Q6: cancelling a task that only waits for another's read does not disturb that read."""
    gate = Gate()
    stream = serving(Scripted((*OPEN, gate, *ANSWER[2:]))).stream(asking())
    iterating = asyncio.create_task(chunks_of(stream))
    await gate.reached.wait()
    waiting = asyncio.create_task(stream.response())
    await asyncio.sleep(0)

    waiting.cancel()
    gate.opened.set()

    assert await iterating == list(ANSWER)
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_the_same_error_each_time() -> None:
    """R11, E2: a failed call's error is one object, with what had arrived in `.partial`."""
    stream = serving(Scripted((*OPEN, failed(codes.SERVER)))).stream(asking())

    with pytest.raises(LlmError) as first:
        await stream.response()
    with pytest.raises(LlmError) as second:
        await stream.response()

    assert first.value is second.value
    assert first.value.partial is not None
    assert first.value.partial.text == "Hel"
    assert first.value.partial.message == Message(
        "assistant", (TextBlock("Hel"),), source=ModelSource("route", "model-1")
    )
    assert await chunks_of(stream) == [*OPEN, failed(codes.SERVER)]


async def test_text_is_the_visible_text() -> None:
    """R11: `text()` gives each piece of visible text, and nothing else."""
    stream = serving(Scripted()).stream(asking())

    assert [piece async for piece in stream.text()] == ["Hel", "lo"]


async def test_text_raises_a_failure_at_its_place() -> None:
    """E2: `text()` has no chunk to end with, so a failure is raised after what came before it."""
    stream = serving(Scripted((*OPEN, failed(codes.SERVER)))).stream(asking())
    pieces: list[str] = []

    async def read() -> None:
        async for piece in stream.text():
            pieces.append(piece)

    with pytest.raises(LlmError) as caught:
        await read()

    assert (pieces, caught.value.code) == (["Hel"], codes.SERVER)


async def test_leaving_text_closes_the_connection() -> None:
    """R11: a `text()` that is left early closes like the stream."""
    adapter = Scripted((*OPEN, Gate()))
    text = serving(adapter).stream(asking()).text()
    assert await anext(text) == "Hel"

    await text.aclose()  # type: ignore[attr-defined]  # an asynchronous generator

    assert adapter.left == 1


async def test_next_batch_gives_all_that_is_there() -> None:
    """R11: a reader to whom steps are dear takes what has arrived at once, in order, to the end."""
    stream = serving(Batched(ANSWER[:3], ANSWER[3:])).stream(asking())

    assert await stream.next_batch() == list(ANSWER[:3])
    assert await stream.next_batch() == list(ANSWER[3:])
    assert await stream.next_batch() == []


async def test_next_batch_hands_over_what_response_read() -> None:
    """R11: chunks that `response()` read ahead are in the next batch."""
    stream = serving(Batched(ANSWER[:3], ANSWER[3:])).stream(asking())
    await stream.response()

    assert await stream.next_batch() == list(ANSWER)


async def test_leaving_closes_the_adapter_once_and_waits_for_it() -> None:
    """R11, H56: leaving an `async with` closes the adapter's stream before it returns, once."""
    adapter = Scripted((*OPEN, Gate()))

    async with serving(adapter).stream(asking()) as stream:
        assert await anext(stream) == OPEN[0]

    assert (adapter.closed, adapter.left) == (1, 1)
    await stream.aclose()
    assert adapter.closed == 1


async def test_a_left_stream_has_an_outcome() -> None:
    """R11: after leaving, iteration ends in an aborted finish and `response()` raises `ABORTED` with `.partial`."""
    stream = serving(Scripted((*OPEN, Gate()))).stream(asking())
    assert [await anext(stream), await anext(stream)] == list(OPEN)
    await stream.aclose()

    assert await outcome_of(stream) == LEFT
    with pytest.raises(LlmError) as caught:
        await stream.response()
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hel"


async def test_leaving_before_the_first_read_asks_nobody() -> None:
    """R11: a stream that is left before it is read makes no call, and is aborted all the same."""
    adapter = Scripted()
    async with serving(adapter).stream(asking()) as stream:
        pass

    assert (await outcome_of(stream)).phase is None
    assert stream.info == CallInfo("route", "model-1", attempts=0)
    assert adapter.seen == []


async def test_leaving_ends_another_tasks_read() -> None:
    """R11: `aclose()` while another task waits for a silent provider ends that read; it sees the aborted finish."""
    gate = Gate()
    adapter = Scripted((*OPEN, gate))
    stream = serving(adapter).stream(asking())
    reading = asyncio.create_task(chunks_of(stream))
    await gate.reached.wait()

    await asyncio.gather(stream.aclose(), stream.aclose())

    assert await reading == [*OPEN, Finish(FinishReason("aborted", LEFT))]
    assert not reading.cancelled()
    assert reading.cancelling() == 0
    assert (adapter.closed, adapter.left) == (1, 1)


class Stubborn(Scripted):
    """Takes the cancellation of its pending step for a wish, and goes on."""

    async def stream(self, options: object):  # type: ignore[no-untyped-def] # noqa: ANN201
        gate = self.scripts[0][0]
        yield OPEN[0]
        try:
            await gate()  # type: ignore[operator]  # a Gate
        except asyncio.CancelledError:
            yield OPEN[1]
            raise


async def test_leaving_an_adapter_that_ignores_its_cancellation() -> None:
    """R11: an adapter that yields instead of ending is closed all the same."""
    gate = Gate()
    stream = serving(Stubborn((gate,))).stream(asking())
    reading = asyncio.create_task(chunks_of(stream))
    await gate.reached.wait()

    await stream.aclose()

    last = (await reading)[-1]
    assert isinstance(last, Finish)
    assert last.reason.kind == "aborted"
    assert reading.cancelling() == 0


async def test_a_failing_clean_up_is_raised_to_who_leaves() -> None:
    """R11, H56: what the adapter's clean-up raises is raised by `aclose()`, and only there."""
    adapter = FailsToClose()
    stream = serving(adapter).stream(asking())
    await anext(stream)

    with pytest.raises(RuntimeError, match="cannot close"):
        await stream.aclose()
    assert (await outcome_of(stream)).code == codes.ABORTED


async def test_a_failing_clean_up_does_not_hide_the_consumers_error() -> None:
    """R11, H55: an exception of the consumer's own leaves the `async with` unchanged."""
    own = ValueError("mine")

    async def consume() -> None:
        async with serving(FailsToClose()).stream(asking()) as stream:
            await anext(stream)
            raise own

    with pytest.raises(ValueError, match="mine") as caught:
        await consume()

    assert caught.value is own


async def test_a_failing_clean_up_leaves_an_async_with() -> None:
    """R11, H56: without an error of the consumer's, the clean-up's own is raised by the `async with`."""
    with pytest.raises(RuntimeError, match="cannot close"):
        async with serving(FailsToClose()).stream(asking()) as stream:
            await anext(stream)


class FailsToClose(Scripted):
    """Raises while it is closed."""

    async def stream(self, options: object):  # type: ignore[no-untyped-def] # noqa: ANN201
        try:
            yield OPEN[0]
        finally:
            raise RuntimeError("cannot close")


class NoClose(Scripted):
    """An iterator without `aclose`."""

    def stream(self, options: object) -> "NoClose":  # type: ignore[override]
        return self

    def __aiter__(self) -> "NoClose":
        return self

    async def __anext__(self) -> object:
        return OPEN[0]


async def test_an_iterator_without_a_close_method_is_fine() -> None:
    """H56: what cannot be closed is just left."""
    async with serving(NoClose()).stream(asking()) as stream:
        await anext(stream)

    assert (await outcome_of(stream)).code == codes.ABORTED


async def test_a_dropped_stream_warns_and_lets_its_connection_go() -> None:
    """R11, T2: dropping an unfinished stream warns and frees what it read from, without waiting for the collector."""
    adapter = Scripted((*OPEN, Gate()))
    stream = serving(adapter).stream(asking())
    await anext(stream)
    ref = weakref.ref(stream)
    gc.disable()
    try:
        with pytest.warns(ResourceWarning, match="a stream of route/model-1 was dropped"):
            del stream
        assert ref() is None
    finally:
        gc.enable()
    # The interpreter closes a dropped asynchronous generator through the loop's own hook.
    for _ in range(3):
        await asyncio.sleep(0)
    assert adapter.left == 1


async def test_a_dropped_stream_warns_once() -> None:
    """R11: what a stream was read from gives its connection up with it, and whoever noticed has warned."""

    class Abandoned(Batched):
        abandoned = 0

        def stream(self, options: GenerateOptions) -> BatchStream:
            made = AbandonedStream(self.batches)
            made.adapter = self
            return made

    class AbandonedStream(BatchStream):
        adapter: Abandoned

        def abandon(self) -> None:
            self.adapter.abandoned += 1
            raise OSError("in a finalizer, nobody hears of it")

    adapter = Abandoned(OPEN)
    stream = serving(adapter).stream(asking())
    await anext(stream)

    with pytest.warns(ResourceWarning) as told:
        del stream

    assert adapter.abandoned == len(told) == 1


async def test_a_finished_or_unread_stream_is_dropped_in_silence() -> None:
    """R11: there is nothing to warn of where nothing is open."""
    runtime = serving(Scripted())
    await runtime.stream(asking()).response()
    runtime.stream(asking())
    gc.collect()


def test_a_stream_belongs_to_one_loop() -> None:
    """T2: a stream that one loop began raises `RuntimeError` in another, also for chunks that are there already."""
    runtime = serving(Batched(ANSWER))

    async def begin() -> ModelStream:
        stream = runtime.stream(asking())
        await anext(stream)
        return stream

    stream = asyncio.run(begin())

    for use in (lambda: anext(stream), stream.response, stream.aclose, stream.next_batch):
        with pytest.raises(RuntimeError, match="belongs to the event loop"):
            asyncio.run(as_coroutine(use))


async def as_coroutine(use: object) -> None:
    """Await what a call returns."""
    await use()  # type: ignore[operator]  # one of the stream's methods


def test_a_stream_belongs_to_one_loop_across_threads() -> None:
    """T2: also where the other loop runs in another thread while the first one runs."""
    runtime = serving(Batched(ANSWER))
    raised: list[BaseException] = []

    async def use(stream: ModelStream) -> None:
        await anext(stream)

    def elsewhere(stream: ModelStream) -> None:
        try:
            asyncio.run(use(stream))
        except RuntimeError as error:
            raised.append(error)

    async def begin() -> None:
        stream = runtime.stream(asking())
        await anext(stream)
        thread = threading.Thread(target=elsewhere, args=(stream,))
        thread.start()
        thread.join()
        await stream.response()

    asyncio.run(begin())

    assert [str(error)[:32] for error in raised] == ["a stream belongs to the event lo"]


def test_reading_without_a_task_says_so() -> None:
    """T2: a stream is read inside an asyncio task; a coroutine that is driven by hand is told."""
    stream = serving(Scripted()).stream(asking())

    async def here() -> None:
        loop = asyncio.get_running_loop()
        try:
            stepping = stream.response()
            loop.call_soon(step, stepping)
            await done
        finally:
            stepping.close()

    def step(coroutine: object) -> None:
        with pytest.raises(RuntimeError, match="inside an asyncio task"):
            coroutine.send(None)  # type: ignore[attr-defined]  # a coroutine
        done.set_result(None)

    loop = asyncio.new_event_loop()
    done = loop.create_future()
    loop.run_until_complete(here())
    loop.close()


class Telling(Batched):
    """Tells facts of its call."""

    def stream(self, options: object):  # type: ignore[no-untyped-def] # noqa: ANN201
        made = super().stream(options)  # type: ignore[arg-type]
        facts = CallFacts()
        facts.response_model, facts.response_id, facts.request_id = "model-1-2026", "resp_1", "req_1"
        facts.provider_reason, facts.stop_sequence, facts.first_event_ms = "end_turn", "###", 12.5
        facts.replay_dropped = [ReplayDrop("another version", 0)]
        made.call_facts = facts
        return made


async def test_info_is_what_the_adapter_tells() -> None:
    """R11: `info` holds the adapter's facts, during the call and in the response; so are its replay drops."""
    stream = serving(Telling(ANSWER)).stream(asking())
    expected = CallInfo(
        "route",
        "model-1",
        response_model="model-1-2026",
        response_id="resp_1",
        request_id="req_1",
        provider_reason="end_turn",
        stop_sequence="###",
        attempts=1,
        first_event_ms=12.5,
    )

    await anext(stream)
    assert stream.info == expected
    response = await stream.response()
    assert response.info == expected
    assert response.replay_dropped == (ReplayDrop("another version", 0),)


class Lying(Scripted):
    """An iterator whose facts cannot be read."""

    def stream(self, options: object) -> "Lying":  # type: ignore[override]
        self.chunks = iter(ANSWER)
        return self

    def __aiter__(self) -> "Lying":
        return self

    async def __anext__(self) -> object:
        for chunk in self.chunks:
            return chunk
        raise StopAsyncIteration

    @property
    def call_facts(self) -> object:
        raise RuntimeError("no facts")


@pytest.mark.parametrize("adapter", [Lying(), Scripted()])
async def test_unreadable_or_absent_facts_are_absent(adapter: Scripted) -> None:
    """E4: facts that are not there, or cannot be read, are unknown; the time is measured here."""
    stream = serving(adapter).stream(asking())

    assert steady(await stream.response()) == HELLO


async def test_complete_collects() -> None:
    """R11: `complete()` is the response of a call that nobody iterates."""
    assert steady(await serving(Scripted()).complete(asking())) == HELLO


async def test_complete_raises_with_partial() -> None:
    """E2: a failure of `complete()` carries what had arrived."""
    with pytest.raises(LlmError) as caught:
        await serving(Scripted((*OPEN, failed(codes.OVERLOADED)))).complete(asking())

    assert caught.value.code == codes.OVERLOADED
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hel"


async def test_tool_calls_that_may_be_executed() -> None:
    """C17: a finish of `tool-calls` gives its calls, and the message that goes into the history."""
    response = await serving(Scripted(CALLING)).complete(asking())

    assert [call.name for call in response.tool_calls] == ["add"]
    assert response.incomplete_tool_calls == ()


async def test_usage_stays_absent() -> None:
    """H71: usage that did not come is absent, not zero."""
    script = tuple(chunk for chunk in ANSWER if not isinstance(chunk, UsageChunk))

    assert (await serving(Scripted(script)).complete(asking())).usage is None


async def test_nothing_needs_reading_to_be_made() -> None:
    """R11: making a stream needs no loop; the first read begins the call."""
    adapter = Scripted()
    stream = await asyncio.to_thread(serving(adapter).stream, asking())

    assert adapter.seen == []
    assert [type(chunk) for chunk in await chunks_of(stream)].count(TextDelta) == 2
    assert USAGE.usage == (await stream.response()).usage


async def test_closing_the_runtime_ends_open_streams_as_aborted() -> None:
    """R1, R11: `aclose()` of the runtime ends every open stream and gives up the routes; adapters are closed."""
    gate = Gate()
    adapter = Closable((*OPEN, gate))
    async with LlmRuntime() as runtime:
        runtime.register(["route", "again"], adapter)
        stream = runtime.stream(asking())
        idle = runtime.stream(asking("again"))
        await anext(idle)
        reading = asyncio.create_task(chunks_of(stream))
        await gate.reached.wait()

    assert (await reading)[-1] == Finish(FinishReason("aborted", LEFT))
    assert (await outcome_of(idle)).code == codes.ABORTED
    assert runtime.list_providers() == []
    assert (adapter.left, adapter.closes) == (2, 1)
    await runtime.aclose()


class Closable(Scripted):
    """Counts how often it is closed itself, and may fail to."""

    closes = 0
    failing = False

    async def aclose(self) -> None:
        self.closes += 1
        if self.failing:
            raise RuntimeError("stays open")


async def test_closing_the_runtime_closes_everything_then_raises() -> None:
    """R1: one adapter's failing clean-up does not keep the others open; it is raised at the end."""
    first, second = Closable(), Closable()
    first.failing = True
    runtime = serving(first, second)

    with pytest.raises(RuntimeError, match="stays open"):
        await runtime.aclose()

    assert (first.closes, second.closes) == (1, 1)


def test_closing_the_runtime_reaches_streams_of_other_loops() -> None:
    """T2: a stream that another loop reads is ended there; one whose loop is gone has nothing left to end."""
    gate_reached = threading.Event()
    adapter = Scripted((*OPEN, Gate()))
    runtime = serving(adapter)
    results: list[list[object]] = []

    async def read() -> None:
        stream = runtime.stream(asking())
        chunks: list[object] = []
        async for chunk in stream:
            chunks.append(chunk)
            gate_reached.set()
        results.append(chunks)

    async def begin() -> ModelStream:
        stream = runtime.stream(asking())
        await anext(stream)
        return stream

    kept = asyncio.run(begin())
    thread = threading.Thread(target=lambda: asyncio.run(read()))
    thread.start()
    gate_reached.wait()
    asyncio.run(runtime.aclose())
    thread.join()

    assert results[0][-1] == Finish(FinishReason("aborted", LEFT))
    with pytest.warns(ResourceWarning):
        del kept


async def test_info_has_the_limits_and_the_notes_of_the_answer() -> None:
    """C15, NQ347: rate limits and notes that the adapter's stream reports are in `info`, without any credential."""
    limits = RateLimits(requests=RateLimit(limit=10, remaining=9, reset_ms=1000))

    class Noting(Batched):
        def stream(self, options: object):  # type: ignore[no-untyped-def] # noqa: ANN202
            made = super().stream(options)  # type: ignore[arg-type]
            made.call_facts.rate_limits = limits
            made.call_facts.notes += ["usage could not be read", "the key sk-canary-0123456789abcdef", 7]  # type: ignore[list-item]
            return made

    response = await serving(Noting(ANSWER)).complete(asking())

    assert response.info is not None
    assert response.info.rate_limits == limits
    assert response.info.notes == ("usage could not be read", "the key [redacted]")


async def test_info_repeats_no_key() -> None:
    """E5: a provider that sends the key back as one of its own words does not get it into `info`."""
    key = "sk-canary-0123456789abcdef"

    class Repeating(Batched):
        def stream(self, options: object):  # type: ignore[no-untyped-def] # noqa: ANN202
            made = super().stream(options)  # type: ignore[arg-type]
            made.call_facts.request_id = f"req-{key}"
            made.call_facts.provider_reason = "stop"
            made.call_facts.response_id = 7  # type: ignore[assignment]  # what a hostile adapter may say
            return made

    stream = serving(Repeating(ANSWER)).stream(asking())
    await stream.response()

    assert key not in repr(stream.info)
    assert (stream.info.provider_reason, stream.info.response_id) == ("stop", None)
