"""Checks of leaving: abort, cancellation, early exit, limits of time, loops (Q6, T1, T2)."""

import asyncio
import threading
import time
from typing import Final

from limen.contract import AbortController, LlmAdapter, StreamChunk, Timeouts
from limen.testing.conformance._bench import Bench, first_chunks
from limen.testing.conformance._check import check
from limen.testing.conformance._outcome import STEP_TIMEOUT_S, Broken, Outcome, close, collect
from limen.testing.server import RecordedRequest, Script, Text, Turn

SILENCES: Final = ("stall-before-headers", "stall-before-first-event", "stall-mid-stream", "keep-alives-forever")
CLOSE_WITHIN: Final = 1.0
_LONG: Final = 60.0


async def _silent(
    bench: Bench, silence: str, controller: AbortController
) -> tuple[asyncio.Task[Outcome], RecordedRequest]:
    """Begin a call and wait until the provider has fallen silent in it."""
    bench.mock.use(f"text+{silence}")
    number = len(bench.mock.requests) + 1
    stream = bench.adapter.stream(bench.options(signal=controller.signal))
    call = asyncio.create_task(collect(silence, stream))
    silence_began = asyncio.create_task(_stalled(bench, number))
    done, _ = await asyncio.wait({call, silence_began}, return_when=asyncio.FIRST_COMPLETED)
    if call in done:
        silence_began.cancel()
        raise Broken(f"{silence}: the call ended before the provider fell silent", call.result())
    request = await silence_began
    return call, request


async def _stalled(bench: Bench, number: int) -> RecordedRequest:
    request = await bench.mock.request(number, timeout=STEP_TIMEOUT_S)
    await request.stalled.wait(STEP_TIMEOUT_S)
    return request


@check("Q6", "abort", "The caller's abort reaches the open request, also while the provider is silent", basic=True)
async def _abort(bench: Bench) -> None:
    for silence in SILENCES:
        controller = AbortController()
        call, request = await _silent(bench, silence, controller)
        controller.abort("enough")
        controller.abort("again")
        outcome = await call
        await bench.closed(request, CLOSE_WITHIN, "the call was aborted", outcome)
        outcome.expect_failure("ABORTED")
        outcome.expect(outcome.way != "in-band" or outcome.kind == "aborted", f"the finish is {outcome.kind!r}")


@check("Q6", "abort-from-thread", "abort() may come from any thread")
async def _abort_from_thread(bench: Bench) -> None:
    controller = AbortController()
    call, request = await _silent(bench, "stall-mid-stream", controller)
    thread = threading.Thread(target=controller.abort)
    thread.start()
    outcome = await call
    thread.join()
    await bench.closed(request, CLOSE_WITHIN, "the call was aborted from a thread", outcome)
    outcome.expect_failure("ABORTED")


@check("Q6", "aborted-before", "A signal that was aborted before the call makes no request")
async def _aborted_before(bench: Bench) -> None:
    controller = AbortController()
    controller.abort()
    outcome = await bench.call("text", bench.options(signal=controller.signal), what="aborted before the call")
    outcome.expect(not outcome.requests, "a request was made")
    outcome.expect_failure("ABORTED")


@check("Q6", "cancel", "Cancelling the task closes the connection, and the cancellation is not swallowed")
async def _cancel(bench: Bench) -> None:
    for silence in SILENCES:
        call, request = await _silent(bench, silence, AbortController())
        call.cancel()
        await asyncio.wait({call}, timeout=STEP_TIMEOUT_S)
        nothing = Outcome(silence, (), None, ())
        nothing.expect(call.done(), f"the task was cancelled, and ran on for {STEP_TIMEOUT_S:g} s")
        if not call.cancelled():
            raise Broken(f"{silence}: the task was cancelled, and the call swallowed it", _result(call))
        await bench.closed(request, CLOSE_WITHIN, "the task was cancelled", nothing)


def _result(call: asyncio.Task[Outcome]) -> Outcome | None:
    return call.result() if call.exception() is None else None


@check("Q6", "leave", "Leaving the stream early closes the connection")
async def _leave(bench: Bench) -> None:
    for silence in ("stall-mid-stream", "keep-alives-mid-stream"):
        bench.mock.use(f"text+{silence}")
        number = len(bench.mock.requests) + 1
        stream = bench.adapter.stream(bench.options())
        chunks = await first_chunks(stream, 2)
        await close(stream)
        outcome = Outcome(f"left during {silence}", tuple(chunks), None, ())
        await bench.closed(await bench.mock.request(number), CLOSE_WITHIN, "the stream was left", outcome)


@check("T1", "first-event", "Silence, or keep-alives only, before the first event is TIMEOUT")
async def _first_event(bench: Bench) -> None:
    adapter = bench.make(timeouts=Timeouts(first_event=0.3, idle_bytes=_LONG, idle_event=_LONG))
    for silence in ("stall-before-headers", "stall-before-first-event", "keep-alives-forever"):
        await _times_out(bench, adapter, silence, ("headers", "first-event"))


@check("T1", "idle", "Silence, or keep-alives only, between events is TIMEOUT")
async def _idle(bench: Bench) -> None:
    bytes_ = bench.make(timeouts=Timeouts(first_event=_LONG, idle_bytes=0.3, idle_event=_LONG))
    await _times_out(bench, bytes_, "stall-mid-stream", ("mid-stream",))
    events = bench.make(timeouts=Timeouts(first_event=_LONG, idle_bytes=_LONG, idle_event=0.3))
    await _times_out(bench, events, "keep-alives-mid-stream", ("mid-stream",))


async def _times_out(bench: Bench, adapter: LlmAdapter, silence: str, phases: tuple[str, ...]) -> None:
    started = time.monotonic()
    outcome = await bench.call(f"text+{silence}", adapter=adapter)
    took = time.monotonic() - started
    outcome.expect_failure("TIMEOUT", way="raised", phases=phases)
    outcome.expect(0.2 < took < STEP_TIMEOUT_S - 1, f"a limit of 0.3 s passed after {took:.2f} s")
    await bench.closed(outcome.request, CLOSE_WITHIN, "the call timed out", outcome)


@check("T1", "total", "The limit on a whole call ends it, though events keep coming")
async def _total(bench: Bench) -> None:
    adapter = bench.make(timeouts=Timeouts(total=0.4))
    script = Script([Turn([Text([f"{number} " for number in range(100)])])], delay_ms=50)
    outcome = await bench.call(script, adapter=adapter, what="a slow answer and a limit of 0.4 s in all")
    outcome.expect_failure("TIMEOUT", way="raised", phases=("mid-stream",))
    outcome.expect(outcome.text.startswith("0 1 "), f"the text that arrived is {outcome.text!r}")
    await bench.closed(outcome.request, CLOSE_WITHIN, "the call timed out", outcome)


@check("T1", "consumer-time", "Time that the consumer takes is never counted")
async def _consumer_time(bench: Bench) -> None:
    adapter = bench.make(timeouts=Timeouts(first_event=0.8, idle_bytes=0.8, idle_event=0.8))
    bench.mock.use("text")
    stream = adapter.stream(bench.options())
    chunks = await first_chunks(stream, 1)
    await asyncio.sleep(1)
    outcome = await collect("a consumer who takes a second", stream)
    outcome = outcome._replace(chunks=(*chunks, *outcome.chunks))
    outcome.expect_success("stop")


@check("T2", "other-loop", "The same adapter serves another event loop with connections of its own")
async def _other_loop(bench: Bench) -> None:
    (await bench.outcome("text")).expect_success("stop")
    outcome = await asyncio.to_thread(asyncio.run, bench.call("text", what="a call on another loop"))
    outcome.expect_success("stop")


@check("T2", "stream-of-another-loop", "A stream that is used from another loop raises RuntimeError")
async def _stream_of_another_loop(bench: Bench) -> None:
    bench.mock.use("text+stall-mid-stream")
    stream = bench.adapter.stream(bench.options())
    chunks = await first_chunks(stream, 3)
    elsewhere = await asyncio.to_thread(asyncio.run, collect("a stream of another loop", stream))
    await close(stream)
    outcome = elsewhere._replace(chunks=(*chunks, *elsewhere.chunks))
    outcome.expect(isinstance(outcome.error, RuntimeError), f"ended {outcome.ending()}, expected a RuntimeError")


@check("S6", "reuse", "A connection whose answer has ended is used again")
async def _reuse(bench: Bench) -> None:
    bench.mock.use("text")
    first = len(bench.mock.requests)
    chunks: list[StreamChunk] = []
    for number in (first + 1, first + 2):
        chunks = [chunk async for chunk in bench.adapter.stream(bench.options())]
        await (await bench.mock.request(number)).finished.wait(STEP_TIMEOUT_S)
        # The end of the body is on its way to the client, who has 50 ms for it.
        await asyncio.sleep(0.02)
    outcome = Outcome("two calls, one after the other", tuple(chunks), None, ())
    connections = {request.connection for request in bench.mock.requests[first:]}
    outcome.expect(len(connections) == 1, f"they used {len(connections)} connections")


@check("T2", "aclose", "aclose() gives the connections back, and may be called again")
async def _aclose(bench: Bench) -> None:
    adapter = bench.make()
    bench.mock.use("text")
    number = len(bench.mock.requests) + 1
    chunks = tuple([chunk async for chunk in adapter.stream(bench.options())])
    request = await bench.mock.request(number)
    await request.finished.wait(STEP_TIMEOUT_S)
    outcome = Outcome("a call on an adapter that is then closed", chunks, None, (request,))
    for _ in range(2):
        async with asyncio.timeout(STEP_TIMEOUT_S):
            await adapter.aclose()
    await bench.closed(outcome.request, CLOSE_WITHIN, "the adapter was closed", outcome)


@check("Q6", "many-at-once", "Calls at the same time do not disturb each other")
async def _many_at_once(bench: Bench) -> None:
    bench.mock.use("reasoning-tools+byte-by-byte")
    calls = [collect("one of eight calls at once", bench.adapter.stream(bench.options())) for _ in range(8)]
    outcomes = await asyncio.gather(*calls)
    for outcome in outcomes:
        outcome.expect_success("tool-calls")
        outcome.expect(outcome.chunks == outcomes[0].chunks, "the calls gave different chunks for the same bytes")
