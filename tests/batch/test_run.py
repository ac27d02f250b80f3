"""Rows through a runtime: one result for each, at the pace of the route (B1, B3)."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest

import limen
from batch._kit import MODEL, echo, opened, question, row, shape
from limen import AbortController, GenerateOptions, LlmError, RetryPolicy, StreamChunk, TokenUsage, user
from limen.batch import Limits, RowInput, RowResult, run
from limen.batch._row import added, tokens_of
from limen.contract import Next
from limen.testing.server import RecordedRequest, Script

QUICK = RetryPolicy(initial_delay_ms=1, max_delay_ms=2, max_retries=2)
LIMITED = "text+429-fraction"


async def all_of(results: AsyncIterator[RowResult]) -> list[RowResult]:
    """Every result, in its order."""
    return [result async for result in results]


async def test_one_result_for_each_row() -> None:
    """Each row has one result; a broken one is a failed row, and a row of an unknown route too."""
    rows: list[RowInput] = [
        row("a"),
        "no JSON",
        GenerateOptions("m", "x", [user("b")]),
        GenerateOptions("none", "x", [user("c")]),
    ]
    async with opened() as (llm, mock):
        found = await all_of(run(llm, rows[:3], model=MODEL))
        elsewhere = await all_of(run(llm, rows[3:]))
    assert sorted(map(shape, found)) == [(1, "a", "re: a"), (2, None, "INVALID_OPTIONS"), (3, None, "re: b")]
    assert [shape(one) for one in elsewhere] == [(1, None, "NO_ADAPTER")]
    assert [json.loads(request.body)["model"] for request in mock.requests] == ["some-model"] * 2
    first = next(one for one in found if one.line == 1)
    assert (first.usage, first.attempts) == (TokenUsage(12, 7), 1)
    assert first.response is not None
    assert first.duration_ms > 0
    assert [(one.attempts, one.duration_ms, one.usage) for one in elsewhere] == [(0, 0, None)]


async def test_rows_may_come_asynchronously_and_results_in_order() -> None:
    """Rows may be an asynchronous iterable; `ordered` results come in the order of the rows."""
    first, second = asyncio.Event(), list[str]()

    async def rows() -> AsyncIterator[RowInput]:
        for number in range(40):
            yield row(str(number))

    async def interceptor(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        text = str(options.messages[0].content[0])
        if "'0'" in text:
            await first.wait()
        second.append(text)
        first.set()
        async for chunk in following(options):
            yield chunk

    async with opened() as (llm, _):
        llm.use(interceptor)
        found = await all_of(run(llm, rows(), model=MODEL, ordered=True, limits=Limits(4)))
    assert [shape(one) for one in found] == [(n + 1, str(n), f"re: {n}") for n in range(40)]
    assert "'0'" not in second[0]


async def test_a_model_that_is_none() -> None:
    """A model that is not ROUTE/MODEL is a mistake of the call, not of every row."""
    async with opened() as (llm, _):
        with pytest.raises(LlmError, match="ROUTE/MODEL"):
            await all_of(run(llm, [row("a")], model="m"))


async def test_failures_are_retried_by_the_policy_and_counted() -> None:
    """A row is retried by its route's policy, and not by the runtime's own retry too; requests add up."""
    asked = Counter[str]()

    def source(request: RecordedRequest) -> Script | str:
        text = question(request)
        asked[text] += 1
        if text == "never" or (text == "twice" and asked[text] < 2):
            return "text+500"
        return echo(request)

    async with opened(source) as (llm, _):
        found = await all_of(run(llm, [row("twice"), row("never")], model=MODEL, retry=QUICK))
    ends = {one.id: (shape(one)[2], one.attempts) for one in found}
    assert ends == {"twice": ("re: twice", 2), "never": ("SERVER", 3)}
    assert asked == {"twice": 2, "never": 3}


async def test_the_routes_own_policy() -> None:
    """Without a policy of the batch's own, the route's holds."""
    async with opened("text+500", retry={"max_retries": 1, "initial_delay_ms": 1}) as (llm, mock):
        (found,) = await all_of(run(llm, [row("a")], model=MODEL))
        assert len(mock.requests) == 2
    assert (shape(found)[2], found.attempts) == ("SERVER", 2)


async def test_a_rate_limit_pauses_the_route_for_all_and_costs_no_retry(caplog: pytest.LogCaptureFixture) -> None:
    """A delay that the provider asks for holds back every row of the route, and takes none of a row's retries."""
    times, loop = list[float](), asyncio.get_running_loop()
    limited = {"a": 2}

    def source(request: RecordedRequest) -> Script | str:
        times.append(loop.time())
        if limited.get(question(request), 0):
            limited[question(request)] -= 1
            return LIMITED
        return echo(request)

    once = RetryPolicy(max_retries=1, initial_delay_ms=1)
    async with opened(source) as (llm, _):
        found = await all_of(run(llm, [row("a"), row("b")], model=MODEL, limits=Limits(1), retry=once))
    assert sorted(map(shape, found)) == [(1, "a", "re: a"), (2, "b", "re: b")]
    assert {one.id: one.attempts for one in found} == {"a": 3, "b": 1}
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert sum(gap > 1.4 for gap in gaps) == 2
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert said == ["m: the batch pauses this route for 1.5 s after RATE_LIMIT"] * 2


async def test_a_rate_limit_that_forbids_retrying() -> None:
    """`x-should-retry: false` ends the row."""
    async with opened("text+429-no-retry") as (llm, _):
        (found,) = await all_of(run(llm, [row("a")], model=MODEL, retry=QUICK))
    assert (shape(found)[2], found.attempts) == ("RATE_LIMIT", 1)


async def test_concurrency_and_a_constant_window() -> None:
    """No more calls than places are in flight, and rows are read no further than twice that."""
    read, inside, most = 0, 0, 0

    def rows() -> object:
        nonlocal read
        for number in range(50):
            read += 1
            yield row(str(number))

    async def interceptor(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        async for chunk in following(options):
            yield chunk
        inside -= 1

    async with opened() as (llm, _):
        llm.use(interceptor)
        results = run(llm, rows(), model=MODEL, limits=Limits(3))  # type: ignore[arg-type] # a generator of rows
        done = 0
        async for _result in results:
            done += 1
            assert read - done <= 6
    assert (done, most) == (50, 3)


async def test_requests_per_minute() -> None:
    """Calls begin no faster than the limit a minute allows."""
    times, loop = list[float](), asyncio.get_running_loop()

    def source(request: RecordedRequest) -> Script:
        times.append(loop.time())
        return echo(request)

    async with opened(source) as (llm, _):
        limits = Limits(requests_per_minute=1200)
        await all_of(run(llm, [row(str(number)) for number in range(8)], model=MODEL, limits=limits))
    assert times[-1] - times[0] >= 0.25


async def test_tokens_per_minute() -> None:
    """Calls begin no faster than the tokens of those before them allow, as they were reported."""
    times, loop = list[float](), asyncio.get_running_loop()

    def source(request: RecordedRequest) -> Script:
        times.append(loop.time())
        return echo(request)

    async with opened(source) as (llm, _):
        # 19 tokens a call, so 20 calls a second.
        limits = Limits(tokens_per_minute=19 * 1200)
        rows = [row(str(number), maxTokens=7) for number in range(8)]
        await all_of(run(llm, rows, model=MODEL, limits=limits))
    assert times[-1] - times[0] >= 0.25


async def test_leaving_early_ends_what_is_in_flight() -> None:
    """A consumer that leaves closes the calls in flight before it goes on."""
    async with opened("text+stall-mid-stream") as (llm, mock):
        results = run(llm, [row("a"), "broken", row("b")], model=MODEL)
        async for result in results:
            assert shape(result) == (2, None, "INVALID_OPTIONS")
            await mock.request(2)
            break
        await results.aclose()
        assert [task for task in asyncio.all_tasks() if "outcome" in repr(task)] == []


async def test_a_stop_lets_what_is_in_flight_finish() -> None:
    """After a stop nothing begins, calls in flight finish, and rows that wait have no result."""
    controller, release = AbortController(), asyncio.Event()

    async def interceptor(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        controller.abort()
        await release.wait()
        async for chunk in following(options):
            yield chunk

    async with opened() as (llm, mock):
        llm.use(interceptor)
        asyncio.get_running_loop().call_later(0.05, release.set)
        rows = [row(str(number)) for number in range(9)]
        found = await all_of(run(llm, rows, model=MODEL, limits=Limits(2), stop=controller.signal, ordered=True))
        assert len(mock.requests) == 2
    assert sorted(map(shape, found)) == [(1, "0", "re: 0"), (2, "1", "re: 1")]


async def test_the_grace_of_a_stop_ends() -> None:
    """A call that has not finished by the end of the grace has no result, and neither has one to be tried again."""
    controller = AbortController()

    asked = list[str]()

    def source(request: RecordedRequest) -> str:
        asked.append(question(request))
        if len(asked) == 2:
            controller.abort()
        return "text+stall-mid-stream" if question(request) == "slow" else "text+500"

    async with opened(source) as (llm, _):
        limits = Limits(grace_s=0.2)
        patient = RetryPolicy(initial_delay_ms=10_000, max_delay_ms=10_000)
        rows = [row("slow"), row("failing")]
        found = await all_of(run(llm, rows, model=MODEL, limits=limits, stop=controller.signal, retry=patient))
    assert found == []


async def test_an_interceptors_own_exception_fails_its_row() -> None:
    """An exception of an interceptor is the failure of its row, scrubbed, and stops no other."""

    async def interceptor(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        if "'bad'" in str(options.messages):
            raise KeyError("mine")
        async for chunk in following(options):
            yield chunk

    async with opened() as (llm, _):
        llm.use(interceptor)
        found = await all_of(run(llm, [row("bad"), row("b")], model=MODEL, retry=QUICK))
    assert sorted(map(shape, found)) == [(1, "bad", "UNKNOWN"), (2, "b", "re: b")]


async def test_other_calls_keep_their_retries() -> None:
    """While a batch runs, the runtime's own retry still serves everybody else."""
    async with opened(["text+500", "text", "text+500", "text"], retry={"initial_delay_ms": 1}) as (llm, mock):
        async for _result in run(llm, [row("a")], model=MODEL):
            assert (await llm.complete(MODEL, "b")).text
            assert len(mock.requests) == 4


def test_usages_add_up() -> None:
    """A count that neither attempt knows stays unknown, and is not zero."""
    assert added(None, TokenUsage(1)) == TokenUsage(1)
    assert added(TokenUsage(1, None, 2), TokenUsage(4, None, None, 8)) == TokenUsage(5, None, 2, 8)
    assert [tokens_of(one) for one in (None, TokenUsage(), TokenUsage(1, 2, 3, 4, 1))] == [None, None, 10]
    assert limen.batch.run is run
