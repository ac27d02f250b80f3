"""What a kept connection may bring: bytes that nobody asked for, and a peer that has gone."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from limen.contract import AbortController, LlmError, Timeouts, codes
from transport._byte_server import CHUNKED, LAST, TO_THE_END, ByteServer, Connection, chunk, sized
from transport._client import drained, facts, failure_of, post, stay, transport

SURPLUS = {
    "a second answer": sized(b"somebody else's"),
    "an idle 408": sized(b"", status=b"408 Request Timeout"),
    "one byte": b"H",
    "an empty line": b"\r\n",
    "an interim answer": b"HTTP/1.1 103 Early Hints\r\n\r\n",
}


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something holds, for five seconds at most."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - a state of the transport, which sets no event
            await asyncio.sleep(0)


@pytest.mark.parametrize("together", [True, False], ids=["one write", "later"])
@pytest.mark.parametrize("surplus", SURPLUS.values(), ids=SURPLUS.keys())
@pytest.mark.parametrize("answer", [sized(b"first"), CHUNKED + chunk(b"first") + LAST], ids=["sized", "chunked"])
async def test_what_nobody_asked_for_closes_the_connection(answer: bytes, surplus: bytes, together: bool) -> None:
    """Bytes after the end of an answer, or while no call owns the connection, close it; the next call gets its own
    answer on a new one (S6, O1).
    """
    sent = asyncio.Event()

    async def script(connection: Connection) -> None:
        received = await connection.request()
        if received.body == b"first":
            await connection.send(answer + surplus if together else answer)
            if not together:
                await go.wait()
                await connection.send(surplus)
            sent.set()
        else:
            await connection.send(sized(b"second"))
        await stay(connection)

    go = asyncio.Event()
    async with ByteServer(script) as server, transport() as client:
        assert await drained(await client.open(post(server.url, b"first"))) == (b"first", None)
        go.set()
        await sent.wait()
        await asyncio.wait_for(server.client_gone.wait(), 1)
        assert await drained(await client.open(post(server.url, b"second"))) == (b"second", None)
        assert server.connections == 2


async def test_a_surplus_that_the_loop_has_not_read_yet_is_seen_too() -> None:
    """Bytes in the kernel's buffer of an idle connection are found before it is used (S6, O1)."""

    async def script(connection: Connection) -> None:
        received = await connection.request()
        await connection.send(sized(received.body))
        if received.body == b"first":
            await connection.send(sized(b"somebody else's"))
            await connection.delivered()
            sent.set()
        await stay(connection)

    sent = asyncio.Event()
    async with ByteServer(script) as server, transport() as client:
        assert await drained(await client.open(post(server.url, b"first"))) == (b"first", None)
        await sent.wait()
        assert await drained(await client.open(post(server.url, b"second"))) == (b"second", None)


async def hang_up(connection: Connection) -> None:
    connection.writer.close()


async def reset(connection: Connection) -> None:
    connection.reset()


@pytest.mark.parametrize("end", [hang_up, reset], ids=["closed", "reset"])
async def test_a_connection_that_its_peer_has_closed_is_not_used(end: Callable[[Connection], Awaitable[None]]) -> None:
    """Calls back to back against a server that ends its connection after each answer all succeed (S6, P1)."""

    async def script(connection: Connection) -> None:
        received = await connection.request()
        await connection.send(sized(received.body))
        await connection.delivered()
        await end(connection)

    async with ByteServer(script) as server, transport() as client:
        for number in range(200):
            body = b"%d" % number
            assert await drained(await client.open(post(server.url, body))) == (body, None)
        assert [request.body for request in server.requests] == [b"%d" % number for number in range(200)]


@pytest.mark.parametrize("after", [0, 0.001])
async def test_a_server_that_closes_a_moment_after_each_answer(after: float) -> None:
    """A server that says nothing of it and closes 1 ms after its answer loses no call that comes at once: llama.cpp
    does so, and 79 to 101 of 300 calls failed (S6, P1).
    """

    async def script(connection: Connection) -> None:
        received = await connection.request()
        await connection.send(sized(received.body))
        await asyncio.sleep(after)

    async with ByteServer(script) as server, transport() as client:
        for number in range(100):
            body = b"%d" % number
            assert await drained(await client.open(post(server.url, body))) == (body, None)
        assert server.connections == 100


async def test_a_server_that_keeps_its_connections_is_trusted() -> None:
    """Trust grows by one with each call over a kept connection, and one close right after an answer takes it (P1)."""

    async def script(connection: Connection) -> None:
        for _ in range(20):
            received = await connection.request()
            await connection.send(sized(received.body))

    async with ByteServer(script) as server, transport() as client:
        pool = client._pools.current() or await client._pools.start()
        for number in range(1, 42):
            assert await drained(await client.open(post(server.url, b"x"))) == (b"x", None)
            assert sum(pool.connections._trust.values()) == (number - 1) % 20
            if number % 20 == 0:
                await until(lambda: not pool.connections.open)
                assert sum(pool.connections._trust.values()) == 0
        assert server.connections == 3


async def test_a_body_to_the_end_of_the_connection_is_not_followed_by_another() -> None:
    """Without a length, the connection's end is the body's end, and the next call opens a new one (S6)."""

    async def script(connection: Connection) -> None:
        received = await connection.request()
        await connection.send(TO_THE_END + received.body)

    async with ByteServer(script) as server, transport() as client:
        for number in range(5):
            body = b"%d" % number
            assert await drained(await client.open(post(server.url, body))) == (body, None)
        assert server.connections == 5


@pytest.mark.parametrize(
    ("head", "again"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok", False),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nkeep-alive: timeout=5, max=100\r\n\r\nok", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nkeep-alive: timeout=1\r\n\r\nok", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok", True),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0;c\r\nx-t: v\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nupgrade: h2c\r\n\r\nok", True),
    ],
)
async def test_when_a_connection_is_kept(head: bytes, again: bool) -> None:
    """HTTP/1.0, `Connection`, a short `Keep-Alive`, chunk extensions and trailers: kept, or not, as they say (S6)."""

    async def script(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.send(head)

    async with ByteServer(script) as server, transport() as client:
        for _ in range(3):
            assert await drained(await client.open(post(server.url))) == (b"ok", None)
        assert server.connections == (1 if again else 3)


async def test_idle_time_passes() -> None:
    """A connection is kept for no longer than its server promised, less a second (S6)."""

    async def script(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.send(sized(b"ok", more=b"keep-alive: timeout=2\r\n"))

    async with ByteServer(script) as server, transport() as client:
        assert await drained(await client.open(post(server.url))) == (b"ok", None)
        loop = asyncio.get_running_loop()
        before = loop.time
        loop.time = lambda: before() + 1.1  # type: ignore[method-assign] # the clock goes on without a wait
        try:
            assert await drained(await client.open(post(server.url))) == (b"ok", None)
        finally:
            loop.time = before  # type: ignore[method-assign]
        assert server.connections == 2


async def test_a_request_that_no_server_can_have_seen_goes_out_once_more() -> None:
    """The end of an idle connection and a request cross: its peer had closed before and acknowledged no byte, so the
    request goes out again on a new connection, and the call is served (S6, Q5).
    """
    first = asyncio.Event()

    async def script(connection: Connection) -> None:
        received = await connection.request()
        await connection.send(sized(received.body))
        if not first.is_set():
            first.set()
            await closed.wait()
            connection.writer.close()
            await connection.writer.wait_closed()
            gone.set()

    closed, gone = asyncio.Event(), asyncio.Event()
    async with ByteServer(script) as server, transport() as client:
        assert await drained(await client.open(post(server.url, b"first"))) == (b"first", None)
        pool = client._pools.current()
        assert pool is not None
        (kept,) = pool.connections.open
        # The peer's close comes after the look at the socket, and before the request.
        kept.transport.pause_reading()
        kept._look = lambda: True
        closed.set()
        await asyncio.wait_for(gone.wait(), 5)
        opening = asyncio.ensure_future(client.open(post(server.url, b"second")))
        await until(lambda: kept.owner is not None)
        kept.transport.resume_reading()
        assert await drained(await opening) == (b"second", None)
        assert [request.body for request in server.requests] == [b"first", b"second"]
        assert server.connections == 2


async def test_a_request_that_a_server_may_have_seen_goes_out_once() -> None:
    """A server that reads the request and ends the connection is not asked again: TRANSPORT, and one request (Q5)."""

    async def script(connection: Connection) -> None:
        received = await connection.request()
        if received.body == b"first":
            await connection.send(sized(b"first"))
            await connection.request()
        connection.writer.close()

    async with ByteServer(script) as server, transport() as client:
        assert await drained(await client.open(post(server.url, b"first"))) == (b"first", None)
        failure = await failure_of(client, post(server.url, b"second"))
        assert facts(failure) == (codes.TRANSPORT, "headers")
        assert [request.body for request in server.requests] == [b"first", b"second"]


async def test_a_server_that_never_takes_a_connection_is_asked_twice_at_most() -> None:
    """Connections that end before a request is read give TRANSPORT, and no endless loop of new ones (S6)."""

    async def script(connection: Connection) -> None:
        connection.reset()

    async with ByteServer(script) as server, transport(Timeouts(first_event=2)) as client:
        failure = await failure_of(client, post(server.url))
        assert failure.code == codes.TRANSPORT
        assert 1 <= server.connections <= 2


async def test_idle_connections_are_capped_and_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of idle connections the next is closed; those whose time has passed are closed unasked (S6)."""
    monkeypatch.setattr("limen.transport._connection.IDLE_MAX", 3)

    async def script(connection: Connection) -> None:
        await connection.request()
        started.append(1)
        if len(started) == 5:
            go.set()
        await go.wait()
        await connection.send(sized(b"ok"))
        await stay(connection)

    go, started = asyncio.Event(), list[int]()
    async with ByteServer(script) as server, transport() as client:
        answers = await asyncio.gather(*[client.open(post(server.url)) for _ in range(5)])
        for answer in answers:
            assert await drained(answer) == (b"ok", None)
        pool = client._pools.current()
        assert pool is not None
        kept = pool.connections
        assert (kept.count, len(kept.open)) == (3, 3)
        kept._sweep()
        assert kept.count == 3
        for connection in kept.open:
            connection.expires = 0
        kept._sweep()
        assert (kept.count, len(kept.open)) == (0, 0)
        await until(lambda: len(server.gone_at) == 5)


async def test_leaving_while_a_kept_connection_settles() -> None:
    """A call that is cancelled or aborted in the 10 ms before an idle connection is used again sends nothing (Q6)."""

    async def script(connection: Connection) -> None:
        while True:
            received = await connection.request()
            await connection.send(sized(received.body))

    async with ByteServer(script) as server, transport() as client:
        for how in ("cancel", "abort"):
            controller = AbortController()
            assert await drained(await client.open(post(server.url))) == (b"{}", None)
            opening = asyncio.ensure_future(client.open(post(server.url, b"left"), signal=controller.signal))
            await asyncio.sleep(0)
            if how == "cancel":
                opening.cancel()
            else:
                controller.abort()
            with pytest.raises((asyncio.CancelledError, LlmError)):
                await opening
        assert [request.body for request in server.requests] == [b"{}", b"{}"]
