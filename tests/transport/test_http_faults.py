"""Answers that break, byte by byte: what is handed over, what is raised, with which phase."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from transport._byte_server import CHUNKED, HEAD, LAST, TO_THE_END, Connection, chunk
from transport._client import drained, facts, opened, stay

from limen.contract import LlmError, codes


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
