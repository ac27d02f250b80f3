"""Leaving an answer: abort, cancellation, closing and dropping, seen from the server; loops, processes and leaks."""

import asyncio
import gc
import os
import socket
import ssl
import sys
import threading
import warnings
from collections.abc import Callable

import pytest

from limen.contract import AbortController, Limits, LlmError, Timeouts, codes
from limen.transport import HttpAnswer, Transport, TransportOptions
from transport._byte_server import CHUNKED, LAST, ByteServer, Connection, chunk, sized
from transport._client import QUICK, drained, facts, opened, post, stay, transport

# Q6 asks for 100 ms of a free loop; a shared test machine is granted a little more.
AT_ONCE = 0.25


async def silent(connection: Connection) -> None:
    """Take the request and say nothing."""
    await connection.request()
    await stay(connection)


async def one_chunk(connection: Connection) -> None:
    """Answer with one chunk, then silence."""
    await connection.request()
    await connection.send(CHUNKED + chunk(b"hello"))
    await stay(connection)


async def gone_at_once(server: ByteServer) -> None:
    await asyncio.wait_for(server.client_gone.wait(), AT_ONCE)


async def taken(server: ByteServer) -> None:
    """Wait until the server has read a request."""
    await asyncio.wait_for(server.asked.wait(), 5)


def drop(kept: list[HttpAnswer]) -> None:
    kept.clear()
    gc.collect()


async def test_an_aborted_signal_sends_nothing() -> None:
    """A signal that fired before the call: ABORTED, no connection is made (Q6, H159)."""
    controller = AbortController()
    controller.abort()
    async with ByteServer(silent) as server, transport() as client:
        with pytest.raises(LlmError) as caught:
            await client.open(post(server.url), signal=controller.signal)
        assert facts(caught.value) == (codes.ABORTED, "connect")
        assert server.connections == 0


@pytest.mark.parametrize("from_thread", [False, True], ids=["loop", "thread"])
async def test_abort_while_the_head_is_awaited(from_thread: bool) -> None:
    """Aborting from the loop or any thread closes a silent connection at once; the call is ABORTED (Q6)."""
    controller = AbortController()
    async with ByteServer(silent) as server, transport() as client:
        opening = asyncio.ensure_future(client.open(post(server.url), signal=controller.signal))
        await taken(server)
        fire(controller, from_thread)
        await gone_at_once(server)
        with pytest.raises(LlmError) as caught:
            await opening
        assert facts(caught.value) == (codes.ABORTED, "headers")
        assert not opening.cancelled()


@pytest.mark.skipif(sys.platform != "linux", reason="a full backlog drops connections on Linux only")
async def test_abort_while_connecting() -> None:
    """An abort while the connection is being made ends the call at once, in phase connect (Q6)."""
    controller = AbortController()
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        async with transport() as client:
            url = f"http://127.0.0.1:{full.getsockname()[1]}"
            opening = asyncio.ensure_future(client.open(post(url), signal=controller.signal))
            await asyncio.sleep(0.05)
            controller.abort()
            with pytest.raises(LlmError) as caught:
                await asyncio.wait_for(opening, AT_ONCE)
            assert facts(caught.value) == (codes.ABORTED, "connect")


def fire(controller: AbortController, from_thread: bool) -> None:
    if from_thread:
        thread = threading.Thread(target=controller.abort)
        thread.start()
        thread.join()
    else:
        controller.abort()


@pytest.mark.parametrize("from_thread", [False, True], ids=["loop", "thread"])
async def test_abort_while_a_read_waits(from_thread: bool) -> None:
    """A read that waits on a silent provider ends as ABORTED, the connection at once (Q6)."""
    controller = AbortController()
    async with opened(one_chunk, signal=controller.signal) as (answer, server):
        assert await answer.read() == b"hello"
        reading = asyncio.ensure_future(answer.read())
        await asyncio.sleep(0)
        fire(controller, from_thread)
        await gone_at_once(server)
        with pytest.raises(LlmError) as caught:
            await reading
        assert facts(caught.value) == (codes.ABORTED, "first-event")


async def test_abort_while_nobody_reads() -> None:
    """Nobody waits, the connection closes at once all the same; what arrived is read before ABORTED (Q6, S4)."""
    controller = AbortController()
    async with opened(one_chunk, signal=controller.signal) as (answer, server):
        await asyncio.sleep(0.02)
        controller.abort()
        await gone_at_once(server)
        body, failure = await drained(answer)
        assert (body, facts(failure)) == (b"hello", (codes.ABORTED, "first-event"))


async def test_abort_after_the_end_changes_nothing() -> None:
    """A signal that fires after the answer was read touches neither it nor the connection (Q6)."""
    controller = AbortController()

    async def script(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.send(sized(b"ok"))

    async with ByteServer(script) as server, transport() as client:
        answer = await client.open(post(server.url), signal=controller.signal)
        assert await drained(answer) == (b"ok", None)
        controller.abort()
        await asyncio.sleep(0.01)
        assert await drained(await client.open(post(server.url))) == (b"ok", None)
        assert server.connections == 1


async def read_on(answer: HttpAnswer) -> None:
    await answer.read()
    await answer.read()


async def test_cancelling_a_read_closes_the_connection() -> None:
    """A cancelled task raises CancelledError, unchanged, and its connection is closed at once (Q6, Q086)."""
    async with opened(one_chunk) as (answer, server):
        task = asyncio.ensure_future(read_on(answer))
        await asyncio.sleep(0.02)
        task.cancel()
        await gone_at_once(server)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not answer.readable


async def test_cancelling_a_request_closes_the_connection() -> None:
    """A task cancelled while the head is awaited raises CancelledError and leaves no connection (Q6)."""
    async with ByteServer(silent) as server, transport() as client:
        task = asyncio.ensure_future(client.open(post(server.url)))
        await taken(server)
        task.cancel()
        await gone_at_once(server)
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_cancellation_that_meets_an_abort_is_a_cancellation() -> None:
    """The caller's cancellation is never renamed, even where the call was aborted in the same turn (Q6)."""
    controller = AbortController()
    async with ByteServer(silent) as server, transport() as client:
        task = asyncio.ensure_future(client.open(post(server.url), signal=controller.signal))
        await taken(server)
        controller.abort()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone_at_once(server)


async def test_a_timeout_around_a_read_is_the_callers_own() -> None:
    """`asyncio.timeout` around a read works as ever, and the task is not left cancelled (Q6)."""
    async with opened(one_chunk) as (answer, server):
        await answer.read()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await answer.read()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await gone_at_once(server)


async def test_a_deadline_leaves_the_task_uncancelled() -> None:
    """A limit that interrupts the wait for the head leaves no trace in the caller's task (T1, Q6)."""
    async with ByteServer(silent) as server, transport(Timeouts(first_event=0.02)) as client:
        with pytest.raises(LlmError):
            await client.open(post(server.url))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("body", [b"{}", b"x" * 20_000_000], ids=["small", "unsent"])
async def test_tls_does_not_delay_leaving(certificate: tuple[ssl.SSLContext, ssl.SSLContext], body: bytes) -> None:
    """Over TLS too the socket closes at once: nothing waits for the peer's goodbye or for unsent bytes (Q6)."""
    controller = AbortController()
    trusting = TransportOptions(ssl=certificate[1])
    async with ByteServer(reads_nothing_more, tls=certificate[0]) as server, transport(options=trusting) as client:
        opening = asyncio.ensure_future(client.open(post(server.url, body), signal=controller.signal))
        await asyncio.sleep(0.05)
        assert server.connections == 1
        controller.abort()
        with pytest.raises(LlmError) as caught:
            await asyncio.wait_for(opening, AT_ONCE)
        assert caught.value.code == codes.ABORTED
        await gone_at_once(server)


async def reads_nothing_more(connection: Connection) -> None:
    await connection.reader.readuntil(b"\r\n\r\n")
    await asyncio.sleep(0.06)
    await stay(connection)


async def test_closing_closes_before_it_returns() -> None:
    """`close()` closes the socket before it returns, may be called again, and later reads are ABORTED (R11)."""
    async with opened(one_chunk) as (answer, server):
        assert await answer.read() == b"hello"
        await answer.close()
        await answer.close()
        await gone_at_once(server)
        body, failure = await drained(answer)
        assert body == b""
        assert failure is not None
        assert failure.code == codes.ABORTED


async def test_closing_ends_a_read_of_another_task() -> None:
    """A read that waits in another task ends as ABORTED when the answer is closed (R11)."""
    async with opened(one_chunk) as (answer, _):
        await answer.read()
        reading = asyncio.ensure_future(answer.read())
        await asyncio.sleep(0)
        await answer.close()
        with pytest.raises(LlmError) as caught:
            await reading
        assert caught.value.code == codes.ABORTED


async def test_a_dropped_answer_closes_its_socket_and_warns() -> None:
    """An answer that is merely dropped: ResourceWarning, and the server sees the end at once (R11, T2)."""
    async with ByteServer(one_chunk) as server, transport() as client:
        kept = [await client.open(post(server.url))]
        await kept[0].read()
        with pytest.warns(ResourceWarning, match="dropped"):
            drop(kept)
        await gone_at_once(server)
        # The next call sweeps up what a finalizer could not.
        (await client.open(post(server.url))).drop()


async def test_a_dropped_answer_that_nobody_reads_is_swept_up() -> None:
    """Dropped while its buffer was full and the socket paused: the next call gives the descriptor back (R11)."""
    flooded = asyncio.Event()

    async def flood(connection: Connection) -> None:
        await connection.request()
        connection.writer.write(CHUNKED + chunk(b"x" * 6_000_000))
        flooded.set()
        await stay(connection)

    async with ByteServer(flood) as server, transport() as client:
        kept = [await client.open(post(server.url))]
        await flooded.wait()
        await asyncio.sleep(0.05)
        before = descriptors()
        with pytest.warns(ResourceWarning, match="dropped"):
            drop(kept)
        (await client.open(post(server.url))).drop()
        await asyncio.sleep(0.05)
        assert descriptors() <= before


async def test_an_answer_read_to_its_end_may_be_dropped() -> None:
    """What has ended warns of nothing (R11)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"ok"))
        await stay(connection)

    async with ByteServer(script) as server, transport() as client:
        answer = await client.open(post(server.url))
        assert await drained(answer) == (b"ok", None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            del answer
            gc.collect()


async def test_release_gives_a_connection_back_whose_body_ends_soon() -> None:
    """After the end marker the body may end within 50 ms and the connection is used again (S6)."""

    async def script(connection: Connection) -> None:
        for _ in range(2):
            await connection.request()
            await connection.send(CHUNKED + chunk(b"[DONE]"))
            await asyncio.sleep(0.01)
            await connection.send(LAST)

    async with ByteServer(script) as server, transport() as client:
        for _ in range(2):
            answer = await client.open(post(server.url))
            assert await answer.read() == b"[DONE]"
            answer.release()
            del answer
            await asyncio.sleep(0.04)
        assert server.connections == 1


async def test_release_closes_a_connection_whose_body_does_not_end() -> None:
    """After 50 ms without the end of the body the connection is closed (S6)."""
    async with opened(one_chunk) as (answer, server):
        await answer.read()
        answer.release()
        assert not server.client_gone.is_set()
        await gone_at_once(server)


@pytest.mark.parametrize("end", [lambda c: c.reset(), lambda c: c.writer.close()], ids=["reset", "closed"])
async def test_release_outlives_a_connection_that_breaks(end: Callable[[Connection], None]) -> None:
    """A failure after the end marker is none (S4)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED + chunk(b"[DONE]"))
        await go.wait()
        end(connection)

    go = asyncio.Event()
    async with opened(script) as (answer, _):
        await answer.read()
        answer.release()
        go.set()
        await asyncio.sleep(0.02)


async def test_closing_the_transport_ends_what_is_under_way() -> None:
    """`aclose()` closes every connection; a read that waits ends as ABORTED; a new call may begin (T2)."""
    async with ByteServer(one_chunk) as server, transport() as client:
        answer = await client.open(post(server.url))
        await answer.read()
        reading = asyncio.ensure_future(answer.read())
        await asyncio.sleep(0)
        await client.aclose()
        await client.aclose()
        await gone_at_once(server)
        with pytest.raises(LlmError) as caught:
            await reading
        assert caught.value.code == codes.ABORTED
        again = await client.open(post(server.url))
        assert await again.read() == b"hello"
        await again.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0


async def test_nothing_is_left_behind() -> None:
    """Thirty calls ended in every way leave no descriptor, no task and no timer that runs on (Q091)."""
    async with ByteServer(one_chunk) as server, transport() as client:
        await (await client.open(post(server.url))).close()
        await asyncio.sleep(0.02)
        files, tasks = descriptors(), len(asyncio.all_tasks())
        for turn in range(30):
            answer = await client.open(post(server.url))
            reading = asyncio.ensure_future(read_on(answer))
            await asyncio.sleep(0.002)
            if turn % 2:
                reading.cancel()
            else:
                await answer.close()
            await asyncio.gather(reading, return_exceptions=True)
        await asyncio.sleep(0.05)
        assert descriptors() == files
        assert len(asyncio.all_tasks()) <= tasks


async def test_an_answer_belongs_to_its_loop() -> None:
    """Reading on another loop is RuntimeError, and does the answer no harm (T2)."""
    async with opened(one_chunk) as (answer, _):
        failure = await asyncio.to_thread(read_elsewhere, answer)
        assert isinstance(failure, RuntimeError)
        assert await answer.read() == b"hello"


def read_elsewhere(answer: HttpAnswer) -> BaseException | None:
    try:
        asyncio.run(answer.read())
    except RuntimeError as error:
        return error
    return None


def test_each_loop_has_its_own_connections() -> None:
    """One transport serves one loop after another, and each loop's end closes its connections without noise (T2)."""
    client = Transport(None, QUICK, Limits())
    counts: list[int] = []

    async def turn() -> None:
        async def script(connection: Connection) -> None:
            while True:
                await connection.request()
                await connection.send(sized(b"ok"))

        async with ByteServer(script) as server:
            for _ in range(2):
                assert await drained(await client.open(post(server.url))) == (b"ok", None)
            counts.append(server.connections)

    for _ in range(3):
        asyncio.run(turn())
    gc.collect()
    assert counts == [1, 1, 1]


def test_a_loop_that_was_not_shut_down_in_order() -> None:
    """A loop that was just closed is forgotten by the next call; its sockets' own finalizers close them (T2)."""
    client = Transport(None, QUICK, Limits())

    async def once() -> None:
        async def script(connection: Connection) -> None:
            await connection.request()
            await connection.send(sized(b"ok"))
            await stay(connection)

        async with ByteServer(script) as server:
            assert await drained(await client.open(post(server.url))) == (b"ok", None)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(once())
    loop.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.run(once())
        gc.collect()


def test_a_stream_dropped_after_its_loop_is_quiet_but_for_the_warning() -> None:
    """A finalizer touches no loop: after the loop's end only ResourceWarning is left (Q089, T2)."""
    kept: list[HttpAnswer] = []

    async def once() -> None:
        async with ByteServer(one_chunk) as server:
            answer = await Transport(None, QUICK, Limits()).open(post(server.url))
            await answer.read()
            kept.append(answer)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        asyncio.run(once())
        kept.clear()
        gc.collect()
    assert {warning.category for warning in seen} <= {ResourceWarning}


async def test_a_dropped_transport_warns_and_closes() -> None:
    """An adapter that is dropped without aclose() warns, and its idle connections do not stay open (T2)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"ok"))
        await stay(connection)

    async with ByteServer(script) as server:
        kept = [Transport(None, QUICK, Limits())]
        assert await drained(await kept[0].open(post(server.url))) == (b"ok", None)
        with pytest.warns(ResourceWarning, match="aclose"):
            forget(kept)
        await asyncio.wait_for(server.client_gone.wait(), 1)


def forget(kept: list[Transport]) -> None:
    kept.clear()
    gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
async def test_a_forked_child_opens_its_own_connections() -> None:
    """A child of fork() makes its own connections; the parent's stream and pool live on (T2)."""

    async def script(connection: Connection) -> None:
        while True:
            received = await connection.request()
            if received.body == b"stream":
                await connection.send(CHUNKED + chunk(b"one"))
                await go.wait()
                await connection.send(chunk(b"two") + LAST)
            else:
                await connection.send(sized(b"ok"))

    go = asyncio.Event()
    async with ByteServer(script) as server, transport() as client:
        assert await drained(await client.open(post(server.url))) == (b"ok", None)
        answer = await client.open(post(server.url, b"stream"))
        assert await answer.read() == b"one"
        code = await asyncio.to_thread(in_child, client, server.url)
        assert code == 0
        assert server.connections == 2
        go.set()
        assert await drained(answer) == (b"two", None)


def in_child(client: Transport, url: str) -> int:
    with warnings.catch_warnings():
        # Python 3.12 warns of forking a process with threads; the child runs a loop of its own and leaves.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        asyncio.events._set_running_loop(None)
        code = asyncio.run(ask_once(client, url))
    finally:
        os._exit(code)


async def ask_once(client: Transport, url: str) -> int:
    answer = await client.open(post(url))
    body, failure = await drained(answer)
    return 0 if (body, failure) == (b"ok", None) else 2


async def test_threads_with_loops_of_their_own() -> None:
    """One transport may serve several threads at once, each with its own loop (Q181, Q183)."""

    async def script(connection: Connection) -> None:
        while True:
            received = await connection.request()
            await connection.send(sized(received.body))

    async def many(client: Transport, url: str, name: bytes) -> set[bytes]:
        answers = await asyncio.gather(*[client.open(post(url, name)) for _ in range(20)])
        bodies = {(await drained(answer))[0] for answer in answers}
        await client.aclose()
        return bodies

    async with ByteServer(script) as server, transport() as client:
        results = await asyncio.gather(
            *[asyncio.to_thread(asyncio.run, many(client, server.url, b"thread %d" % number)) for number in range(4)]
        )
    assert results == [{b"thread %d" % number} for number in range(4)]
