"""R9: retry is the innermost interceptor; policies are data on the route; waits are reported, and end at an abort."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

import pytest

from limen.contract import (
    AbortController,
    Failure,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmError,
    RetryPolicy,
    StreamChunk,
    TokenUsage,
    codes,
)
from limen.runtime import LlmRuntime, Retry, RetryWait
from runtime._adapters import (
    ANSWER,
    OPEN,
    USAGE,
    Batched,
    Gate,
    Scripted,
    Step,
    asking,
    call_failure,
    chunks_of,
    failed,
    outcome_of,
    serving,
)

RESET = LlmError("connection reset", codes.TRANSPORT)
# The same failure in a call that had reached its first event, and in one that had gone further.
RESET_EARLY = call_failure("connection reset", codes.TRANSPORT, "first-event")
RESET_LATER = call_failure("connection reset", codes.TRANSPORT, "mid-stream")


class Clock:
    """Waits without time: notes each wait in milliseconds, and what was told before it."""

    def __init__(self, *samples: float) -> None:
        self.samples = list(samples)
        self.waits: list[float] = []
        self.told: list[RetryWait] = []

    async def sleep(self, seconds: float) -> None:
        """Note the wait; what is told comes before it."""
        self.waits.append(round(seconds * 1000, 6))
        assert len(self.told) in (0, len(self.waits))

    def sample(self) -> float:
        """The next sample; the middle without one."""
        return self.samples.pop(0) if self.samples else 0.5

    def retry(self, policy: RetryPolicy | None = None) -> Retry:
        """A retry that waits by this clock."""
        return Retry(policy, on_wait=self.told.append, sleep=self.sleep, sample=self.sample)


def retrying(adapter: Scripted | Batched, clock: Clock, policy: RetryPolicy | None = None) -> LlmRuntime:
    """A runtime with that adapter and retry."""
    runtime = serving(adapter)
    runtime.use(clock.retry(policy))
    return runtime


async def test_a_bare_runtime_does_not_retry() -> None:
    """R9, Q5: without the interceptor a call is one attempt."""
    adapter = Scripted((RESET,), ANSWER)

    assert (await outcome_of(serving(adapter).stream(asking()))).code == codes.TRANSPORT
    assert len(adapter.seen) == 1


async def test_one_retry_counts() -> None:
    """R9: the last retry installed takes the place of the one before, and leaves it again; none multiplies another."""
    adapter = Scripted(*[(RESET,)] * 5)
    runtime = retrying(adapter, Clock(), RetryPolicy(max_retries=1))
    take_back = runtime.use(Clock().retry(RetryPolicy(max_retries=2)))

    assert (await outcome_of(runtime.stream(asking()))).code == codes.TRANSPORT
    assert len(adapter.seen) == 3

    take_back()
    assert (await outcome_of(runtime.stream(asking()))).code == codes.TRANSPORT
    assert len(adapter.seen) == 5


@pytest.mark.parametrize("code", RetryPolicy().codes)
@pytest.mark.parametrize("in_band", [True, False])
async def test_the_listed_codes_are_retried(code: str, in_band: bool) -> None:
    """R9, H281: a failure before anything was shown, raised or in-band, begins again with the same options."""
    clock = Clock()
    adapter = Scripted((failed(code) if in_band else LlmError("x", code),), ANSWER)
    options = asking()
    stream = retrying(adapter, clock).stream(options)

    assert await chunks_of(stream) == list(ANSWER)
    assert adapter.seen == [options, options]
    assert stream.info.attempts == 2
    assert clock.waits == [500]


@pytest.mark.parametrize(
    "code", [codes.AUTH, codes.QUOTA, codes.INVALID_REQUEST, codes.UNKNOWN, codes.PROTOCOL_VIOLATION]
)
async def test_other_codes_are_not(code: str) -> None:
    """R9, H285: what another try cannot mend is the outcome at once, and nothing waits."""
    clock = Clock()
    adapter = Scripted((LlmError("x", code),), ANSWER)

    assert (await outcome_of(retrying(adapter, clock).stream(asking()))).code == code
    assert (len(adapter.seen), clock.waits) == (1, [])


async def test_a_route_that_nobody_serves_is_not_retried() -> None:
    """R9, H285: where no adapter was asked, no other try could be served, whatever the policy."""
    clock = Clock()
    runtime = retrying(Scripted(), clock, RetryPolicy(mode="always"))

    assert (await outcome_of(runtime.stream(asking("nowhere")))).code == codes.NO_ADAPTER
    assert clock.waits == []


async def test_delays_double_up_to_their_bound() -> None:
    """R9: 500 ms doubling to 10 s; after the last retry the last failure is the outcome, unchanged."""
    clock = Clock()
    policy = RetryPolicy(max_retries=6)
    stream = retrying(Scripted((RESET,)), clock, policy).stream(asking())

    assert await outcome_of(stream) == RESET_EARLY
    assert clock.waits == [500, 1000, 2000, 4000, 8000, 10_000]
    assert stream.info.attempts == 7
    with pytest.raises(LlmError) as caught:
        await stream.response()
    assert caught.value.partial is not None
    assert caught.value.partial.info == stream.info


async def test_jitter_spreads_delays() -> None:
    """R9, H283: ten per cent down and up, by the sample."""
    clock = Clock(0, 1)
    await outcome_of(retrying(Scripted((RESET,)), clock, RetryPolicy(max_retries=2)).stream(asking()))

    assert clock.waits == [450, 1100]


async def test_always_goes_on_within_its_bound() -> None:
    """R9, H288: `always` repeats every failure without end; jitter never exceeds the bound."""
    clock = Clock(1, 1, 1, 1)
    policy = RetryPolicy(mode="always", max_retries=0, initial_delay_ms=1, max_delay_ms=4)
    script: Sequence[Sequence[Step]] = [(LlmError("x", codes.AUTH),)] * 4
    adapter = Scripted(*script, ANSWER)

    assert await chunks_of(retrying(adapter, clock, policy).stream(asking())) == list(ANSWER)
    assert clock.waits == [1.1, 2.2, 4, 4]


async def test_a_long_row_of_failures_does_not_overflow() -> None:
    """R9: the doubling stops counting where every bound is passed."""
    assert Retry(sample=lambda: 0.5).delay(RetryPolicy(mode="always"), Failure("x", "X"), 5000) == 10_000


@pytest.mark.parametrize(
    ("mode", "asked", "waits"),
    [("normal", 2000, [2000]), ("normal", 60_000, [60_000]), ("normal", 60_001, []), ("always", 60_001, [500])],
)
async def test_the_providers_delay(mode: str, asked: int, waits: list[float]) -> None:
    """R9, H284: used as it is under the bound; above it `normal` gives up and `always` waits as long as it would."""
    clock = Clock()
    error = LlmError("slow down", codes.RATE_LIMIT, provider_retry_after_ms=asked)
    policy = RetryPolicy(mode=mode)  # type: ignore[arg-type]  # one of the two

    await chunks_of(retrying(Scripted((error,), ANSWER), clock, policy).stream(asking()))

    assert clock.waits == waits


@pytest.mark.parametrize(
    ("mode", "code", "should_retry", "attempts"),
    [
        ("normal", codes.SERVER, False, 1),
        ("normal", codes.INVALID_REQUEST, True, 2),
        ("always", codes.INVALID_REQUEST, None, 2),
        ("always", codes.SERVER, False, 1),
    ],
)
async def test_the_provider_may_say_whether(mode: str, code: str, should_retry: bool | None, attempts: int) -> None:
    """E3, R9: `x-should-retry` decides in `normal`, and its no ends `always` too."""
    error = LlmError("x", code, should_retry=should_retry)
    adapter = Scripted((error,), ANSWER)

    await chunks_of(retrying(adapter, Clock(), RetryPolicy(mode=mode)).stream(asking()))  # type: ignore[arg-type]  # one of the two

    assert len(adapter.seen) == attempts


async def test_the_routes_own_policy_is_used() -> None:
    """R9, H286: without a policy of its own, retry goes by the route's as it was registered."""
    clock = Clock()
    adapter = Scripted((RESET,), policy=RetryPolicy(max_retries=1, initial_delay_ms=7))

    await outcome_of(retrying(adapter, clock).stream(asking()))

    assert clock.waits == [7]


async def test_a_prepared_call_keeps_its_policy() -> None:
    """R3, R9: a call prepared under one policy is retried by it, at the adapter that it was prepared with."""
    clock = Clock()
    old = Scripted((RESET,), ANSWER, policy=RetryPolicy(initial_delay_ms=7))
    runtime = LlmRuntime()
    runtime.use(clock.retry())
    with runtime.register(["route"], old):
        call = await runtime.prepare_call(asking())
        assert call.retry_policy == RetryPolicy(initial_delay_ms=7)
    runtime.register(["route"], Scripted(policy=RetryPolicy(max_retries=0)))

    assert await chunks_of(call.stream()) == list(ANSWER)
    assert (clock.waits, len(old.seen)) == ([7], 2)


async def test_what_was_shown_is_not_begun_again() -> None:
    """R9: once a chunk was shown, a failure is the outcome of `stream()`."""
    clock = Clock()
    adapter = Scripted((*OPEN, RESET), ANSWER)
    stream = retrying(adapter, clock).stream(asking())

    assert await chunks_of(stream) == [*OPEN, Finish(FinishReason("error", RESET_LATER))]
    assert (clock.waits, stream.info.attempts) == ([], 1)


async def test_a_failure_in_one_batch_with_content_is_shown() -> None:
    """R9: content and failure that arrive together are still content that was there."""
    clock = Clock()
    adapter = Batched((*OPEN, failed(codes.SERVER)))

    assert len(await chunks_of(retrying(adapter, clock).stream(asking()))) == 3
    assert clock.waits == []


@pytest.mark.parametrize("adapter", [Scripted((USAGE, failed(codes.EMPTY_RESPONSE)), ANSWER), None])
async def test_usage_before_a_failure_is_withheld_with_it(adapter: Scripted | None) -> None:
    """R9, C12: an empty answer reports usage before it fails; it is retried, and who is told learns the usage."""
    clock = Clock()
    if adapter is None:
        batched = Batched((USAGE, failed(codes.EMPTY_RESPONSE)))
        runtime = retrying(batched, clock, RetryPolicy(max_retries=1))
        assert await chunks_of(runtime.stream(asking())) == [USAGE, failed(codes.EMPTY_RESPONSE)]
    else:
        assert await chunks_of(retrying(adapter, clock).stream(asking())) == list(ANSWER)

    assert [record.usage for record in clock.told] == [TokenUsage(input_tokens=3, output_tokens=2)]


async def test_complete_retries_to_the_end() -> None:
    """R9: `complete()` shows nothing, so a failure in the middle begins again, and its partial output is gone."""
    clock = Clock()
    adapter = Scripted((*OPEN, RESET), (*OPEN, failed(codes.OVERLOADED)), ANSWER)

    response = await retrying(adapter, clock).complete(asking())

    assert response.text == "Hello"
    assert response.info is not None
    assert response.info.attempts == 3
    assert clock.waits == [500, 1000]


async def test_complete_gives_up_with_what_had_arrived() -> None:
    """R9, E2: the last failure's partial is the last attempt's."""
    runtime = retrying(Scripted((*OPEN, RESET)), Clock(), RetryPolicy(max_retries=1))

    with pytest.raises(LlmError) as caught:
        await runtime.complete(asking())

    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hel"


async def test_who_is_told_is_told_before_the_wait() -> None:
    """R9, H280: the record of a wait is there, and awaited, before the wait begins."""
    order: list[str] = []

    async def told(record: RetryWait) -> None:
        await asyncio.sleep(0)
        order.append(f"told of {record.retry} in {record.delay_ms:.0f} ms")

    async def sleep(seconds: float) -> None:
        order.append("waits")

    runtime = serving(Scripted((RESET,), ANSWER))
    runtime.use(Retry(on_wait=told, sleep=sleep, sample=lambda: 0.5))
    await runtime.complete(asking())

    assert order == ["told of 1 in 500 ms", "waits"]


async def test_the_record_says_it_all() -> None:
    """R9: who, which retry, how long, why, by which policy."""
    clock = Clock()
    await retrying(Scripted((RESET,), ANSWER), clock).complete(asking())

    assert clock.told == [RetryWait("route", "model-1", 1, 500, RESET_EARLY, RetryPolicy())]


async def test_a_listener_that_fails_is_the_callers_own_error() -> None:
    """E2: what the hook raises is raised unchanged, like an interceptor's."""

    def fail(record: RetryWait) -> None:
        raise LookupError("disk full")

    runtime = serving(Scripted((RESET,), ANSWER))
    runtime.use(Retry(on_wait=fail))

    with pytest.raises(LookupError, match="disk full"):
        await runtime.complete(asking())


async def test_the_real_clock_is_asyncios() -> None:
    """R9: without a clock given, waits are real and delays vary."""
    adapter = Scripted((RESET,), ANSWER, policy=RetryPolicy(initial_delay_ms=1, max_delay_ms=1))
    runtime = serving(adapter)
    runtime.use(Retry())

    assert (await runtime.complete(asking())).text == "Hello"


async def waiting_call(
    controller: AbortController | None,
) -> tuple[asyncio.Task[list[StreamChunk]], Scripted, LlmRuntime]:
    """A call that waits for its second try, for ever."""
    gate = Gate()

    async def sleep(seconds: float) -> None:
        await gate()

    adapter = Scripted((RESET,), ANSWER)
    runtime = serving(adapter)
    runtime.use(Retry(sleep=sleep))
    signal = None if controller is None else controller.signal
    reading = asyncio.create_task(chunks_of(runtime.stream(asking(signal=signal))))
    await gate.reached.wait()
    return reading, adapter, runtime


async def test_an_abort_ends_the_wait_at_once() -> None:
    """R9, Q6: no further request is made, and the outcome is the abort."""
    controller = AbortController()
    reading, adapter, _ = await waiting_call(controller)

    controller.abort()

    assert await reading == [
        Finish(FinishReason("aborted", call_failure("the call was aborted", codes.ABORTED, "first-event")))
    ]
    assert len(adapter.seen) == 1


async def test_a_cancelled_wait_is_a_cancellation() -> None:
    """Q6: cancelling the task that waits is not renamed."""
    reading, adapter, _ = await waiting_call(None)

    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    assert len(adapter.seen) == 1


async def test_closing_the_runtime_ends_a_wait() -> None:
    """R11: a stream that waits for its next try is an open one."""
    reading, adapter, runtime = await waiting_call(None)

    await runtime.aclose()

    (last,) = await reading
    assert isinstance(last, Finish)
    assert last.reason.kind == "aborted"
    assert len(adapter.seen) == 1


async def test_an_aborted_call_is_not_retried() -> None:
    """R9: an abort is no failure that another try could mend, even under `always`."""
    controller = AbortController()

    async def abort() -> None:
        controller.abort()

    adapter = Scripted((abort, RESET), ANSWER)
    runtime = retrying(adapter, Clock(), RetryPolicy(mode="always"))

    failure = await outcome_of(runtime.stream(asking(signal=controller.signal)))

    assert (failure.code, len(adapter.seen)) == (codes.ABORTED, 1)


async def test_retry_is_innermost_whenever_it_comes() -> None:
    """R9: other interceptors see one stream, however many attempts it took."""
    seen: list[StreamChunk] = []

    async def observe(options: GenerateOptions, following: object) -> AsyncIterator[StreamChunk]:
        async for chunk in following(options):  # type: ignore[operator]  # the next of the chain
            seen.append(chunk)
            yield chunk

    runtime = serving(Scripted((RESET,), (RESET,), ANSWER))
    runtime.use(Clock().retry())
    runtime.use(observe)

    stream = runtime.stream(asking())

    assert await chunks_of(stream) == seen == list(ANSWER)
    assert stream.info.attempts == 3


async def test_leaving_a_retried_stream_closes_its_attempt() -> None:
    """R11: what is read through retry is closed like any other."""
    adapter = Scripted((RESET,), (*OPEN, Gate()))
    runtime = retrying(adapter, Clock())

    async with runtime.stream(asking()) as stream:
        await anext(stream)

    assert (adapter.left, len(adapter.seen)) == (1, 2)


async def test_retry_works_around_any_next() -> None:
    """R7, R9: as an interceptor it wraps whatever gives chunks, by its own or the default policy."""
    clock = Clock()
    tries: list[GenerateOptions] = []

    async def following(options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        tries.append(options)
        if len(tries) == 1:
            yield failed(codes.SERVER)
        else:
            for chunk in ANSWER:
                yield chunk

    stream = clock.retry()(asking(), following)

    assert [chunk async for chunk in stream] == list(ANSWER)
    assert (len(tries), clock.waits) == (2, [500])
    await stream.aclose()  # type: ignore[attr-defined]  # a source
    assert [chunk async for chunk in stream] == []


async def test_retry_around_a_next_without_a_finish() -> None:
    """R7: a chain that ends without a finish is passed on as it is."""

    async def following(options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        no_chunks: tuple[StreamChunk, ...] = ()
        for chunk in no_chunks:
            yield chunk

    assert [chunk async for chunk in Clock().retry()(asking(), following)] == []


async def test_retries_are_logged_without_bodies(caplog: pytest.LogCaptureFixture) -> None:
    """R9, E5: each retry is one WARNING line, the rest is DEBUG, and no line holds anything that was said."""
    with caplog.at_level(logging.DEBUG, "limen"):
        await retrying(Scripted((RESET,), ANSWER), Clock()).complete(asking())

    steps = [record for record in caplog.records if record.levelno != logging.INFO]  # the call's own line is that
    assert [(record.levelname, record.getMessage()) for record in steps] == [
        ("DEBUG", "calling route/model-1"),
        ("DEBUG", "route/model-1 failed: TRANSPORT"),
        ("WARNING", "route/model-1: retry 1 in 500 ms after TRANSPORT"),
        ("DEBUG", "calling route/model-1"),
    ]


@pytest.mark.parametrize("name", ["on_retry", "on_wait"])
async def test_on_retry_hears_of_each_retry(name: str) -> None:
    """R9: `on_retry`, or `on_wait`, its older name, gets the record of each retry."""
    clock = Clock()
    heard: list[RetryWait] = []
    runtime = serving(Scripted((RESET,), (RESET,), ANSWER))
    runtime.use(Retry(sleep=clock.sleep, sample=clock.sample, **{name: heard.append}))  # type: ignore[arg-type]  # by name

    await runtime.complete(asking())

    assert [(record.retry, record.delay_ms) for record in heard] == [(1, 500), (2, 1000)]


async def test_a_delay_above_the_bound_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """R9: where the provider asks for more than `max_provider_delay_ms`, the failure and a log line say so."""
    error = LlmError("slow down", codes.RATE_LIMIT, provider_retry_after_ms=90_000)
    stream = retrying(Scripted((error,), ANSWER), Clock()).stream(asking())
    why = "not retried: the provider asks for a wait of 90 s, above the bound of 60 s (max_provider_delay_ms)"

    failure = await outcome_of(stream)

    assert failure == call_failure(
        f"slow down ({why})", codes.RATE_LIMIT, phase="first-event", provider_retry_after_ms=90_000
    )
    assert [record.getMessage() for record in caplog.records] == [f"route/model-1: {why}, after RATE_LIMIT"]


async def test_the_cause_stays_where_the_message_is_extended() -> None:
    """R9, E2: a foreign exception is the cause of an error whose message says why it was not retried."""
    original = OSError("gone")
    error = LlmError("slow down", codes.RATE_LIMIT, provider_retry_after_ms=90_000)
    error.__cause__ = original

    with pytest.raises(LlmError) as caught:
        await retrying(Scripted((error,)), Clock()).complete(asking())

    assert caught.value.__cause__ is original


async def test_a_last_failure_with_a_delay_stays_as_it_is() -> None:
    """R9: where the retries are used up, the provider's delay is no reason, and nothing is added to the message."""
    error = LlmError("slow down", codes.RATE_LIMIT, provider_retry_after_ms=90_000)
    stream = retrying(Scripted((error,)), Clock(), RetryPolicy(max_retries=0)).stream(asking())

    assert (await outcome_of(stream)).message == "slow down"


async def test_giving_up_around_any_next() -> None:
    """R7, R9: the message is extended also where the chain is the program's own."""

    async def following(options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        yield failed(codes.RATE_LIMIT, provider_retry_after_ms=90_000)

    (last,) = [chunk async for chunk in Clock().retry()(asking(), following)]

    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    assert last.reason.failure.message.startswith("it failed (not retried: ")
