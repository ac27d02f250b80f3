"""Answers that break, byte by byte: what is handed over, what is raised, with which phase."""

import asyncio
import gzip
import ssl
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from limen.contract import AbortController, Limits, LlmError, Timeouts, codes
from limen.transport import TransportOptions
from transport._byte_server import CHUNKED, HEAD, LAST, TO_THE_END, ByteServer, Connection, chunk, sized
from transport._client import drained, facts, opened, post, stay, transport


async def close(connection: Connection) -> None:
    connection.writer.close()


async def reset(connection: Connection) -> None:
    connection.reset()


@dataclass
class Fault:
    """A body and how its connection ends; what must be read, and the failure's code."""

    head: bytes
    body: bytes
    end: Callable[[Connection], Awaitable[None]]
    read: bytes
    code: str | None
    says: str = ""


FAULTS = {
    "chunked, whole": Fault(CHUNKED, chunk(b"hello") + LAST, stay, b"hello", None),
    "chunked, closed before its end": Fault(CHUNKED, chunk(b"hello"), close, b"hello", codes.STREAM_CLOSED),
    "chunked, closed inside a chunk": Fault(CHUNKED, b"9\r\nhell", close, b"hell", codes.STREAM_CLOSED),
    "chunked, reset": Fault(CHUNKED, chunk(b"hello"), reset, b"hello", codes.TRANSPORT, "reset"),
    "chunked, a size that is no number": Fault(
        CHUNKED, chunk(b"hello") + b"zz\r\nxx\r\n", stay, b"hello", codes.TRANSPORT, "invalid transfer encoding"
    ),
    "chunked, data longer than its size": Fault(
        CHUNKED, chunk(b"hello") + b"2\r\nabcdef\r\n", stay, b"helloab", codes.TRANSPORT, "invalid transfer encoding"
    ),
    "sized, whole": Fault(HEAD + b"content-length: 5\r\n\r\n", b"hello", stay, b"hello", None),
    "sized, empty": Fault(HEAD + b"content-length: 0\r\n\r\n", b"", stay, b"", None),
    "sized, closed short": Fault(HEAD + b"content-length: 9\r\n\r\n", b"hello", close, b"hello", codes.STREAM_CLOSED),
    "sized, reset": Fault(HEAD + b"content-length: 9\r\n\r\n", b"hello", reset, b"hello", codes.TRANSPORT, "reset"),
    "to the end, closed": Fault(TO_THE_END, b"hello", close, b"hello", None),
    "to the end, reset": Fault(TO_THE_END, b"hello", reset, b"hello", codes.TRANSPORT, "reset"),
    "gzip that is none": Fault(
        HEAD + b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n",
        chunk(b"hello"),
        stay,
        b"",
        codes.MALFORMED_RESPONSE,
        "gzip",
    ),
}


@pytest.mark.parametrize("slow", [False, True], ids=["reading", "slow"])
@pytest.mark.parametrize("together", [False, True], ids=["apart", "one write"])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_every_byte_is_handed_over_before_the_failure(fault: Fault, together: bool, slow: bool) -> None:
    """What arrived is read, then the failure is raised, whether the consumer waits or comes late (S4, E1, E6)."""
    broken, go = asyncio.Event(), asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.request()
        if together:
            await connection.send(fault.head + fault.body)
        else:
            await connection.send(fault.head)
            await go.wait()
            await connection.send(fault.body)
        if slow and fault.end is not stay:
            # The client's loop takes the bytes in before the connection breaks.
            await asyncio.sleep(0.02)
        await fault.end(connection)
        broken.set()

    async with opened(script) as (answer, _):
        go.set()
        if slow and fault.end is not stay:
            await broken.wait()
        if slow:
            await asyncio.sleep(0.02)
        body, failure = await asyncio.wait_for(drained(answer), 3)
        assert body == fault.read
        assert facts(failure) == (None if fault.code is None else (fault.code, "first-event"))
        assert failure is None or fault.says in str(failure)
        assert not answer.readable
        if failure is not None:
            with pytest.raises(LlmError) as again:
                await answer.read()
            assert again.value is failure
        else:
            assert await answer.read() == b""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when the peer has taken every byte")
async def test_a_slow_consumer_gets_all_of_a_large_body_that_breaks() -> None:
    """More than the buffer holds, read late, then a reset: every byte that arrived comes before the failure (S4)."""
    body = b"".join(b"%07d\n" % number for number in range(400_000))
    broken = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED)
        for at in range(0, len(body), 48_000):
            await connection.send(chunk(body[at : at + 48_000]))
        await connection.delivered()
        connection.reset()
        broken.set()

    async with opened(script) as (answer, _):
        got = bytearray()
        failure = None
        try:
            while data := await answer.read():
                got += data
                if len(got) > 500_000:
                    await asyncio.wait_for(broken.wait(), 5)
        except LlmError as raised:
            failure = raised
        assert bytes(got) == body
        assert facts(failure) == (codes.TRANSPORT, "first-event")


@pytest.mark.parametrize("slow", [False, True], ids=["reading", "slow"])
async def test_a_coding_that_was_not_asked_for_is_undone(slow: bool) -> None:
    """gzip that was not asked for is decoded as it comes, however much comes out of it (Q153)."""
    text = b"".join(b"%07d\n" % number for number in range(700_000))

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(HEAD + b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n")
        await connection.send(chunk(gzip.compress(text, 1)) + LAST)
        await stay(connection)

    async with opened(script) as (answer, _):
        got = bytearray()
        while data := await asyncio.wait_for(answer.read(), 2):
            got += data
            if slow:
                await asyncio.sleep(0.002)
        assert bytes(got) == text


async def test_an_error_body_is_read_within_its_limit() -> None:
    """An error's page of any length is read up to `error_bytes`, and the connection closed (K8, S2)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"e" * 1_000_000, status=b"502 Bad Gateway"))
        await stay(connection)

    async with opened(script, limits=Limits(error_bytes=1000)) as (answer, server):
        assert await answer.error_body() == b"e" * 1000
        await asyncio.wait_for(server.client_gone.wait(), 1)


@pytest.mark.parametrize("end", [close, reset, stay], ids=["closed", "reset", "stalled"])
async def test_an_error_body_that_breaks_is_as_good_as_it_came(end: Callable[[Connection], Awaitable[None]]) -> None:
    """The status is what counts: a broken or stalled error body raises nothing (K8, Q091)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"busy", status=b"503 Busy", announced=99))
        await asyncio.sleep(0.02)
        await end(connection)

    async with opened(script, Timeouts(idle_bytes=0.1)) as (answer, server):
        assert await answer.error_body() == b"busy"
        assert not answer.readable
        if end is stay:
            await asyncio.wait_for(server.client_gone.wait(), 1)


async def test_an_abort_ends_the_reading_of_an_error_body() -> None:
    """Once aborted, any later failure is the abort's, the error body's too (Q6)."""
    controller = AbortController()

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"busy", status=b"503 Busy", announced=99))
        await stay(connection)

    async with opened(script, signal=controller.signal) as (answer, _):
        asyncio.get_running_loop().call_later(0.02, controller.abort)
        with pytest.raises(LlmError) as caught:
            await answer.error_body()
        assert caught.value.code == codes.ABORTED


async def test_the_connection_of_a_refusal_is_closed() -> None:
    """Of twenty answers with errors none leaves its connection to a later call: transformers serve closes after a
    500 without saying so, and the next call failed 20 times of 20 (K8, Q091).
    """

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"slow down", status=b"429 Too Many Requests"))
        await stay(connection)

    async with ByteServer(script) as server, transport() as client:
        for count in range(1, 21):
            answer = await client.open(post(server.url))
            assert await answer.error_body() == b"slow down"
            await asyncio.wait_for(server.client_gone.wait(), 1)
            server.client_gone.clear()
            assert (server.connections, len(server.gone_at)) == (count, count)


async def test_a_whole_body_is_whole_or_an_error() -> None:
    """A body that is read whole is bounded, and one that breaks raises (S2)."""

    async def script(connection: Connection) -> None:
        received = await connection.request()
        await connection.send(sized(b"w" * 100, announced=200 if received.body == b"short" else None))
        if received.body != b"short":
            await stay(connection)

    async with ByteServer(script) as server, transport() as client:
        assert await (await client.open(post(server.url))).whole_body(100) == b"w" * 100
        await client.aclose()
        with pytest.raises(LlmError) as large:
            await (await client.open(post(server.url))).whole_body(99)
        assert facts(large.value) == (codes.MALFORMED_RESPONSE, "mid-stream")
        with pytest.raises(LlmError) as short:
            await (await client.open(post(server.url, b"short"))).whole_body(1000)
        assert facts(short.value) == (codes.STREAM_CLOSED, "first-event")


@pytest.mark.parametrize(
    ("end", "code"), [(close, codes.STREAM_CLOSED), (reset, codes.TRANSPORT)], ids=["closed", "reset"]
)
@pytest.mark.parametrize("size", [5, 900_000])
async def test_over_tls_every_byte_comes_first_too(
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
    end: Callable[[Connection], Awaitable[None]],
    code: str,
    size: int,
) -> None:
    """A TLS connection that breaks under a slow consumer hands over what arrived, then the failure (S4)."""
    broken = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED)
        await connection.send(chunk(b"x" * size))
        await asyncio.sleep(0.1)
        await end(connection)
        broken.set()

    trusting = TransportOptions(ssl=certificate[1])
    async with ByteServer(script, tls=certificate[0]) as server, transport(options=trusting) as client:
        answer = await client.open(post(server.url))
        await broken.wait()
        await asyncio.sleep(0.02)
        body, failure = await asyncio.wait_for(drained(answer), 3)
        assert body == b"x" * size
        assert facts(failure) == (code, "first-event")
