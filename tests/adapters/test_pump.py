"""The pump over real sockets: order, phases, limits, and who closes what."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from adapters._toy_wire import BROKEN, BUSY, DONE, FINISH_WORD, ToyCodec, chunks, said
from limen.adapters._pump import WireCall, WireStream
from limen.contract import (
    AbortController,
    AbortSignal,
    BatchSource,
    BlockStart,
    Failure,
    Finish,
    FinishReason,
    Limits,
    LlmError,
    ReplayDrop,
    ReportsCall,
    StreamChunk,
    TextDelta,
    Timeouts,
    WireReader,
    codes,
)
from limen.transport import HttpAnswer, Transport
from transport._byte_server import CHUNKED, LAST, TO_THE_END, ByteServer, Connection, Script, chunk, sized
from transport._client import post, stay


@asynccontextmanager
async def streaming(
    script: Script,
    *,
    timeouts: Timeouts | None = None,
    signal: AbortSignal | None = None,
    limits: Limits | None = None,
    silence: float = 0.05,
    body: bytes = b"{}",
) -> AsyncIterator[tuple[WireStream, ByteServer]]:
    """The stream of one call to a scripted server."""
    transport = Transport(None, timeouts or Timeouts(first_event=5), Limits())
    codec = ToyCodec()

    async def begin(dropped: list[ReplayDrop]) -> HttpAnswer:
        return await transport.open(post(server.url, body), signal=signal)

    async with ByteServer(script) as server:
        call = WireCall(begin, codec_reader(codec, limits), codec.classify, lambda: 0.0, signal, silence)
        stream = WireStream(call)
        try:
            yield stream, server
        finally:
            await stream.aclose()
            await transport.aclose()


def codec_reader(codec: ToyCodec, limits: Limits | None) -> Callable[[str | None], WireReader]:
    return lambda content_type: codec.reader(limits=limits, content_type=content_type)


async def collected(stream: WireStream) -> tuple[list[StreamChunk], LlmError | None]:
    """Iterate to the end: the chunks, and the failure if one was raised."""
    found: list[StreamChunk] = []
    try:
        async for piece in stream:
            found.append(piece)
    except LlmError as failure:
        return found, failure
    return found, None


def facts(failure: LlmError | None) -> tuple[str, str | None] | None:
    return None if failure is None else (failure.code, failure.failure.phase)


def answering(*writes: bytes, head: bytes = CHUNKED, then: Script = stay, pause: float = 0.0) -> Script:
    """A script that answers each write as a chunk, then goes on."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(head)
        for data in writes:
            await connection.send(chunk(data) if head == CHUNKED else data)
            if pause:
                await asyncio.sleep(pause)
        await then(connection)

    return script


async def end(connection: Connection) -> None:
    await connection.send(LAST)
    await stay(connection)


async def cut(connection: Connection) -> None:
    connection.writer.close()


async def reset(connection: Connection) -> None:
    await asyncio.sleep(0.02)
    connection.reset()


async def test_an_answer_is_delivered_whole() -> None:
    """Chunks come in order, then the end, and the end stays the end; the stream is what the ports ask for (C16)."""
    async with streaming(answering(said("a"), said("b"), DONE, then=end)) as (stream, _):
        assert isinstance(stream, BatchSource)
        assert isinstance(stream, ReportsCall)
        assert await collected(stream) == (chunks("a", "b"), None)
        assert await collected(stream) == ([], None)
        assert await stream.next_batch() == []


async def test_batches_hold_what_one_read_gave() -> None:
    """`next_batch` gives the chunks of a read, also those that iteration left over."""
    script = answering(said("a") + said("b"), b": ping\n\n", said("c") + DONE, pause=0.02)
    async with streaming(script) as (stream, _):
        assert await anext(stream) == BlockStart(0, "text")
        assert await stream.next_batch() == [TextDelta(0, "a"), TextDelta(0, "b")]
        assert await stream.next_batch() == [TextDelta(0, "c"), *chunks("a", "b", "c")[4:]]
        assert await stream.next_batch() == []


async def test_the_end_marker_is_the_end() -> None:
    """After the end marker the result is there at once, though the body never ends; then the connection goes (S6)."""
    async with streaming(answering(said("a"), DONE)) as (stream, server):
        found = await asyncio.wait_for(collected(stream), 1)
        assert found == (chunks("a"), None)
        await asyncio.wait_for(server.client_gone.wait(), 0.5)


async def test_a_connection_whose_body_ends_soon_serves_again() -> None:
    """The end of the body within 50 ms of the marker gives the connection back (S6)."""

    async def script(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.send(CHUNKED + chunk(said("a") + DONE))
            await asyncio.sleep(0.01)
            await connection.send(LAST)

    transport = Transport(None, Timeouts(), Limits())
    codec = ToyCodec()
    async with ByteServer(script) as server:
        for _ in range(3):
            call = WireCall(
                lambda _dropped: transport.open(post(server.url)),
                codec_reader(codec, None),
                codec.classify,
                lambda: 0.0,
            )
            stream = WireStream(call)
            assert await collected(stream) == (chunks("a"), None)
            # Closing what is complete is no leaving: the body's end may still be on its way.
            await stream.aclose()
            await asyncio.sleep(0.03)
        assert server.connections == 1
        await transport.aclose()


@pytest.mark.parametrize(
    ("then", "head", "code"),
    [(cut, CHUNKED, codes.STREAM_CLOSED), (end, CHUNKED, codes.STREAM_CLOSED), (reset, CHUNKED, codes.TRANSPORT)],
    ids=["cut", "clean end", "reset"],
)
@pytest.mark.parametrize("slow", [False, True], ids=["reading", "slow"])
async def test_chunks_come_before_the_failure(then: Script, head: bytes, code: str, slow: bool) -> None:
    """Everything that arrived is delivered, then the failure is raised, once (S4, E1, E6)."""
    async with streaming(answering(said("a"), said("b"), head=head, then=then)) as (stream, _):
        first = await anext(stream)
        if slow:
            await asyncio.sleep(0.08)
        rest, failure = await collected(stream)
        assert [first, *rest] == chunks("a", "b")[:3]
        assert facts(failure) == (code, "mid-stream")
        assert await collected(stream) == ([], None)


@pytest.mark.parametrize("then", [cut, end, reset], ids=["cut", "clean end", "reset"])
async def test_keep_alives_alone_are_no_answer(then: Script) -> None:
    """A body of keep-alives, or none, is a failure in phase first-event (E6, Q048)."""
    async with streaming(answering(b": ping\n\n", then=then)) as (stream, _):
        found, failure = await collected(stream)
        assert found == []
        assert facts(failure) == (codes.TRANSPORT if then is reset else codes.STREAM_CLOSED, "first-event")


async def test_a_failure_after_the_end_marker_is_none() -> None:
    """A connection that breaks after the end marker does not matter (S4)."""
    async with streaming(answering(said("a") + DONE, then=reset)) as (stream, _):
        assert await collected(stream) == (chunks("a"), None)
        await asyncio.sleep(0.05)


async def test_what_the_reader_refuses_is_raised_after_its_chunks() -> None:
    """A reader's failure keeps the order, gets phase and request id, and closes the connection (S4, E6)."""

    async def framed(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED[:-2] + b"x-request-id: req-1\r\n\r\n" + chunk(said("a") + BROKEN + said("b")))
        await stay(connection)

    async with streaming(framed) as (stream, server):
        found, failure = await collected(stream)
        assert found == chunks("a")[:2]
        assert failure is not None
        assert failure.failure == Failure("not JSON", codes.MALFORMED_RESPONSE, phase="mid-stream", request_id="req-1")
        await asyncio.wait_for(server.client_gone.wait(), 0.5)


async def test_an_event_over_the_limit() -> None:
    """Past `event_bytes` the stream fails, after what came before (S2, S4)."""
    async with streaming(answering(said("a") + b"data: " + b"x" * 500), limits=Limits(event_bytes=100)) as (stream, _):
        found, failure = await collected(stream)
        assert found == chunks("a")[:2]
        assert facts(failure) == (codes.MALFORMED_RESPONSE, "mid-stream")


async def test_an_error_in_the_stream_is_in_band() -> None:
    """An error event is a finish, not an exception; it gets the phase and the request's id (E1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED[:-2] + b"x-request-id: req-1\r\n\r\n" + chunk(BUSY))
        await stay(connection)

    async with streaming(script) as (stream, _):
        failure = Failure("busy", codes.OVERLOADED, phase="mid-stream", request_id="req-1")
        assert await collected(stream) == ([Finish(FinishReason("error", failure))], None)


async def test_a_body_that_is_the_end_may_end_in_silence() -> None:
    """After a finish word the end of the body completes, and so does silence; not after more content (S6)."""
    async with streaming(answering(said("a"), FINISH_WORD)) as (stream, server):
        assert await asyncio.wait_for(collected(stream), 1) == (chunks("a"), None)
        await asyncio.wait_for(server.client_gone.wait(), 0.5)
    async with streaming(answering(said("a"), FINISH_WORD, head=TO_THE_END, then=cut)) as (stream, _):
        assert await collected(stream) == (chunks("a"), None)
    late = answering(FINISH_WORD, said("a"), pause=0.01)
    async with streaming(late, timeouts=Timeouts(idle_event=0.15)) as (stream, _):
        found, failure = await collected(stream)
        assert found == chunks("a")[:2]
        assert facts(failure) == (codes.TIMEOUT, "mid-stream")


async def test_a_reader_that_says_nothing_at_the_end() -> None:
    """An end that the reader calls neither whole nor broken is STREAM_CLOSED all the same (E6)."""
    async with streaming(answering(said("forgets"), then=end)) as (stream, _):
        _, failure = await collected(stream)
        assert facts(failure) == (codes.STREAM_CLOSED, "mid-stream")


async def test_limits_follow_the_readers_events() -> None:
    """`first_event` until the first model event, then `idle_event`; keep-alives re-arm neither (T1, E6)."""

    async def keep_alive(connection: Connection) -> None:
        while True:
            await connection.send(chunk(b": ping\n\n"))
            await asyncio.sleep(0.01)

    async with streaming(answering(then=keep_alive), timeouts=Timeouts(first_event=0.08)) as (stream, _):
        assert facts((await collected(stream))[1]) == (codes.TIMEOUT, "first-event")
    script = answering(said("a"), then=keep_alive)
    async with streaming(script, timeouts=Timeouts(first_event=5, idle_event=0.08)) as (stream, _):
        found, failure = await collected(stream)
        assert found == chunks("a")[:2]
        assert facts(failure) == (codes.TIMEOUT, "mid-stream")


async def test_a_refusal_is_judged_with_its_headers() -> None:
    """Status >= 300 is classified by the wire, completed by what every provider's headers say, and raised (E1, E3)."""
    more = b"retry-after: 1.5\r\nx-request-id: req-2\r\nx-should-retry: false\r\nx-code: slow\r\n"

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"slow down", status=b"429 Too Many", more=more))
        await stay(connection)

    async with streaming(script) as (stream, _):
        found, failure = await collected(stream)
        assert found == []
        assert failure is not None
        assert failure.failure == Failure(
            "429: slow down",
            codes.RATE_LIMIT,
            phase="headers",
            status=429,
            provider_code="slow",
            provider_retry_after_ms=1500,
            request_id="req-2",
            should_retry=False,
        )
        assert failure.__cause__ is None
        assert stream.call_facts.request_id == "req-2"


@pytest.mark.parametrize("status", [b"302 Found", b"304 Not Modified", b"418 Teapot", b"500 Oops"])
async def test_every_status_that_is_no_success_is_a_refusal(status: bytes) -> None:
    """A redirect is an answer like any other that is none (K6, E1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"", status=status))
        await stay(connection)

    async with streaming(script) as (stream, _):
        _, failure = await collected(stream)
        assert facts(failure) == (f"HTTP_{status[:3].decode()}", "headers")


async def test_nothing_is_sent_before_the_first_step() -> None:
    """A stream that nobody iterates opens no connection, and may be closed (R11)."""
    async with streaming(answering()) as (stream, server):
        await stream.aclose()
        assert await collected(stream) == ([], None)
        assert server.connections == 0


async def test_a_connection_that_cannot_be_made() -> None:
    """The transport's failure is raised by the first step, phase and cause kept (E1, E6)."""
    async with streaming(answering()) as (_, server):
        transport = Transport(None, Timeouts(), Limits())
        codec = ToyCodec()
        call = WireCall(
            lambda _dropped: transport.open(post("http://127.0.0.1:1")),
            codec_reader(codec, None),
            codec.classify,
            lambda: 0,
        )
        _, failure = await collected(WireStream(call))
        assert facts(failure) == (codes.TRANSPORT, "connect")
        assert failure is not None
        assert isinstance(failure.__cause__, OSError)
        assert server.connections == 0


async def test_abort_ends_the_stream_as_aborted() -> None:
    """An abort while the provider is silent ends the stream as ABORTED and the connection at once (Q6)."""
    controller = AbortController()
    async with streaming(answering(said("a")), signal=controller.signal) as (stream, server):
        assert await anext(stream) == BlockStart(0, "text")
        assert await anext(stream) == TextDelta(0, "a")
        asyncio.get_running_loop().call_later(0.01, controller.abort)
        found, failure = await collected(stream)
        assert (found, facts(failure)) == ([], (codes.ABORTED, "mid-stream"))
        await asyncio.wait_for(server.client_gone.wait(), 0.25)


async def test_once_aborted_any_failure_is_the_aborts() -> None:
    """A failure found in what arrived before the abort is the abort's cause, not the call's code (Q6, H162)."""
    controller = AbortController()
    sent = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED + chunk(said("a")))
        await go.wait()
        await connection.send(chunk(BROKEN))
        sent.set()
        await stay(connection)

    go = asyncio.Event()
    async with streaming(script, signal=controller.signal) as (stream, _):
        assert await stream.next_batch() == chunks("a")[:2]
        go.set()
        await sent.wait()
        await asyncio.sleep(0.02)
        controller.abort()
        found, failure = await collected(stream)
        assert (found, facts(failure)) == ([], (codes.ABORTED, "mid-stream"))
        assert failure is not None
        assert isinstance(failure.__cause__, LlmError)
        assert failure.__cause__.code == codes.MALFORMED_RESPONSE


async def test_a_refusal_after_an_abort_is_the_aborts() -> None:
    """A refused call that was aborted meanwhile is aborted; the refusal is the cause (Q6)."""
    controller = AbortController()

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"busy", status=b"503 Busy", announced=9))
        controller.abort()
        await stay(connection)

    async with streaming(script, signal=controller.signal) as (stream, _):
        _, failure = await collected(stream)
        assert facts(failure) is not None
        assert failure is not None
        assert failure.code == codes.ABORTED


async def test_cancellation_passes_and_closes() -> None:
    """A cancelled consumer raises CancelledError, the server sees the end, the stream is at its end (Q6)."""
    async with streaming(answering(said("a"))) as (stream, server):
        task = asyncio.ensure_future(collected(stream))
        await asyncio.sleep(0.03)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.client_gone.wait(), 0.25)
        assert await collected(stream) == ([], None)


async def test_cancellation_before_the_head_passes_too() -> None:
    """A consumer cancelled while the head is awaited: CancelledError, and the stream is at its end (Q6)."""
    async with streaming(stay_silent) as (stream, server):
        task = asyncio.ensure_future(collected(stream))
        await asyncio.wait_for(server.asked.wait(), 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.client_gone.wait(), 0.25)
        assert await collected(stream) == ([], None)


async def stay_silent(connection: Connection) -> None:
    await connection.request()
    await stay(connection)


async def test_leaving_closes_before_it_returns() -> None:
    """`aclose()` closes the connection, drops what was not read, and ends the stream (R11, Q6)."""
    async with streaming(answering(said("a") + said("b"))) as (stream, server):
        assert await anext(stream) == BlockStart(0, "text")
        await stream.aclose()
        await stream.aclose()
        await asyncio.wait_for(server.client_gone.wait(), 0.25)
        assert await collected(stream) == ([], None)


async def test_leaving_while_another_task_reads() -> None:
    """A read under way in another task ends as ABORTED (R11)."""
    async with streaming(answering(said("a"))) as (stream, _):
        reading = asyncio.ensure_future(collected(stream))
        await asyncio.sleep(0.03)
        await stream.aclose()
        found, failure = await reading
        assert found == chunks("a")[:2]
        assert failure is not None
        assert failure.code == codes.ABORTED


async def test_leaving_while_the_request_is_on_its_way() -> None:
    """A stream that is closed before its head arrived closes the connection when it does (R11)."""
    go = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.request()
        await go.wait()
        await connection.send(CHUNKED + chunk(said("a")))
        await stay(connection)

    async with streaming(script) as (stream, server):
        reading = asyncio.ensure_future(collected(stream))
        await asyncio.wait_for(server.asked.wait(), 2)
        await stream.aclose()
        go.set()
        assert await reading == ([], None)
        await asyncio.wait_for(server.client_gone.wait(), 0.25)


async def test_a_dropped_stream_closes_its_socket_and_warns() -> None:
    """A stream that is merely dropped gives a ResourceWarning and leaves no connection (R11)."""
    async with streaming(answering(said("a"))) as (stream, server):
        transport = Transport(None, Timeouts(), Limits())
        codec = ToyCodec()
        reader = codec_reader(codec, None)
        kept = [WireStream(WireCall(lambda _f: transport.open(post(server.url)), reader, codec.classify, lambda: 0.0))]
        assert await anext(kept[0]) == BlockStart(0, "text")
        with pytest.warns(ResourceWarning, match="dropped"):
            forget(kept)
        await asyncio.wait_for(server.client_gone.wait(), 0.25)
        await transport.aclose()
        assert await anext(stream) == BlockStart(0, "text")


async def test_an_abandoned_stream_closes_its_socket_in_silence() -> None:
    """A stream whose reader has warned already gives its connection up without a second warning (R11)."""
    async with streaming(answering(said("a"))) as (stream, server):
        stream.abandon()
        transport = Transport(None, Timeouts(), Limits())
        codec = ToyCodec()
        reader = codec_reader(codec, None)
        kept = [WireStream(WireCall(lambda _f: transport.open(post(server.url)), reader, codec.classify, lambda: 0.0))]
        assert await anext(kept[0]) == BlockStart(0, "text")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            kept[0].abandon()
            kept[0].abandon()
            forget(kept)
        await asyncio.wait_for(server.client_gone.wait(), 0.25)
        await transport.aclose()
    assert told == []


def forget(kept: list[WireStream]) -> None:
    kept.clear()
    gc.collect()


async def test_another_loop_is_refused() -> None:
    """A stream is used on the loop that began it; elsewhere it is RuntimeError, and it goes on here (T2)."""
    async with streaming(answering(said("a"), DONE, pause=0.05)) as (stream, _):
        assert await stream.next_batch() == chunks("a")[:2]

        def elsewhere() -> BaseException | None:
            try:
                asyncio.run(take(stream))
            except RuntimeError as error:
                return error
            return None

        assert isinstance(await asyncio.to_thread(elsewhere), RuntimeError)
        assert await collected(stream) == (chunks("a")[2:], None)


async def take(stream: WireStream) -> None:
    await stream.next_batch()


async def test_the_time_to_the_first_event_is_told() -> None:
    """`first_event_ms` is the time from the request to the first model event, keep-alives not counted."""
    script = answering(b": ping\n\n", said("a"), DONE, pause=0.03, then=end)
    async with streaming(script) as (stream, _):
        await collected(stream)
        waited = stream.call_facts.first_event_ms
        assert waited is not None
        assert 25 < waited < 2000
