"""Answers framed so that two readers may disagree, one by one: refused, or read in the one safe way."""

import asyncio
from contextlib import suppress

import pytest

from limen.contract import LlmError, codes
from transport._byte_server import CHUNKED, HEAD, LAST, ByteServer, Connection, chunk, sized
from transport._client import drained, facts, post, stay, transport

OK = b"HTTP/1.1 200 OK\r\n"
ONE = b"2\r\nok\r\n"

REFUSED_HEADS = {
    "two equal lengths": OK + b"content-length: 2\r\ncontent-length: 2\r\n\r\nok",
    "two unequal lengths": OK + b"content-length: 2\r\ncontent-length: 4\r\n\r\nokok",
    "a list of lengths": OK + b"content-length: 2, 2\r\n\r\nok",
    "a length with a sign": OK + b"content-length: +2\r\n\r\nok",
    "a negative length": OK + b"content-length: -2\r\n\r\nok",
    "an empty length": OK + b"content-length:\r\n\r\nok",
    "a length that no number holds": OK + b"content-length: 99999999999999999999999\r\n\r\nok",
    "length, then chunked": OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n" + ONE + LAST,
    "chunked, then length": OK + b"transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n" + ONE + LAST,
    "a coding before chunked": OK + b"transfer-encoding: gzip, chunked\r\n\r\n" + ONE + LAST,
    "chunked twice": OK + b"transfer-encoding: chunked, chunked\r\n\r\n" + ONE + LAST,
    "chunked in two lines": OK + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n" + ONE + LAST,
    "almost chunked": OK + b"transfer-encoding: xchunked\r\n\r\n" + ONE + LAST,
    "chunked with a parameter": OK + b"transfer-encoding: chunked;q=1\r\n\r\n" + ONE + LAST,
    "bare LF after the status": b"HTTP/1.1 200 OK\ncontent-length: 2\r\n\r\nok",
    "bare LF after a field": OK + b"a: b\ncontent-length: 2\r\n\r\nok",
    "bare CR in a value": OK + b"a: b\rcontent-length: 2\r\n\r\nok",
    "a folded field": OK + b"a: b\r\n c\r\ncontent-length: 2\r\n\r\nok",
    "NUL in a value": OK + b"a: b\0c\r\ncontent-length: 2\r\n\r\nok",
    "a blank before the colon": OK + b"content-length : 2\r\n\r\nok",
    "a blank in a name": OK + b"content length: 2\r\n\r\nok",
    "no name": OK + b": 2\r\n\r\nok",
    "no colon": OK + b"content-length\r\n\r\nok",
    "a name outside ASCII": OK + "länge: 2\r\n\r\nok".encode(),
    "another version": b"HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    "no version": b"200 OK\r\ncontent-length: 2\r\n\r\nok",
    "another protocol": b"ICY 200 OK\r\n\r\nok",
    "a status of two digits": b"HTTP/1.1 99 No\r\n\r\n",
    "a status of four digits": b"HTTP/1.1 2000 No\r\n\r\n",
    "switching protocols": b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nok",
    "an interim answer with a body": b"HTTP/1.1 103 Early\r\ncontent-length: 2\r\n\r\nok" + sized(b"no"),
    "an interim answer in chunks": b"HTTP/1.1 100 Go\r\ntransfer-encoding: chunked\r\n\r\n" + ONE + LAST + sized(b"no"),
    "a field larger than the limit": OK + b"a: " + b"x" * 300_000 + b"\r\ncontent-length: 2\r\n\r\nok",
    "many fields larger than the limit": OK + b"a: xxxxxxxx\r\n" * 30_000 + b"content-length: 2\r\n\r\nok",
    "interim answers without end": b"HTTP/1.1 103 Early\r\na: xxxxxxxx\r\n\r\n" * 10_000 + sized(b"no"),
}

REFUSED_BODIES = {
    "bare LF after a size": b"2\nok\r\n",
    "bare LF after data": b"2\r\nok\n",
    "a size with a prefix": b"0x2\r\nok\r\n",
    "a blank after a size": b"2 \r\nok\r\n",
    "a negative size": b"-2\r\nok\r\n",
    "a size that no number holds": b"fffffffffffffffff\r\nok\r\n",
    "no size": b"\r\nok\r\n",
    "data longer than its size": b"2\r\nokok\r\n",
    "a length among the trailers": b"2\r\nok\r\n0\r\ncontent-length: 5\r\n\r\n",
}

READ = {
    "text outside ASCII in a value": (OK + b"a: caf\xe9\r\ncontent-length: 2\r\n\r\nok", {"a": "café"}),
    "UTF-8 in a value": (OK + "a: café\r\ncontent-length: 2\r\n\r\nok".encode(), {"a": "café"}),
    "a tab in a value": (OK + b"a: b\tc\r\ncontent-length: 2\r\n\r\nok", {"a": "b\tc"}),
    "no reason": (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", {}),
    "identity": (OK + b"transfer-encoding: identity\r\nconnection: close\r\n\r\nok", {}),
    "extensions and trailers": (CHUNKED + b'2;a="b;c"\r\nok\r\n0;d\r\nx-t: 1\r\n\r\n', {}),
    "sizes in capitals with zeros": (CHUNKED + b"000A\r\nokokokokok\r\n0\r\n\r\n", {}),
    "an upgrade that is offered": (OK + b"upgrade: h2\r\nconnection: upgrade\r\ncontent-length: 2\r\n\r\nok", {}),
    "many interim answers": (b"HTTP/1.1 102 Wait\r\n\r\n" * 50 + OK + b"content-length: 2\r\n\r\nok", {}),
    "a continue that nobody waits for": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"content-length: 2\r\n\r\nok", {}),
    "a head of 200 KiB": (OK + b"a: " + b"x" * 200_000 + b"\r\ncontent-length: 2\r\n\r\nok", {"a": "x" * 200_000}),
    "2,000 fields": (OK + b"a: xxxxxxxx\r\n" * 2_000 + b"content-length: 2\r\n\r\nok", {}),
}


async def answered(answer: bytes, cut: int) -> tuple[dict[str, str], bytes, LlmError | None]:
    """An answer of a server that writes so many bytes at a time: its headers, body and failure."""

    async def script(connection: Connection) -> None:
        await connection.request()
        with suppress(ConnectionError):
            for at in range(0, len(answer), cut):
                await connection.send(answer[at : at + cut])
                await asyncio.sleep(0)
        if b"identity" in answer:
            return
        await stay(connection)

    async with ByteServer(script) as server, transport() as client:
        try:
            got = await asyncio.wait_for(client.open(post(server.url)), 5)
        except LlmError as failure:
            await asyncio.wait_for(server.client_gone.wait(), 1)
            return {}, b"", failure
        body, failed = await asyncio.wait_for(drained(got), 5)
        return dict(got.headers), body, failed


@pytest.mark.parametrize("cut", [1_000_000, 7], ids=["one write", "cut"])
@pytest.mark.parametrize("answer", REFUSED_HEADS.values(), ids=REFUSED_HEADS.keys())
async def test_heads_that_are_refused(answer: bytes, cut: int) -> None:
    """A head that can be read in two ways, or is none, is TRANSPORT with its reason; the connection is closed."""
    if cut < len(answer) // 20_000:
        cut = 4096
    _, body, failure = await answered(answer, cut)
    assert (body, facts(failure)) == (b"", (codes.TRANSPORT, "headers"))
    assert "not valid HTTP" in str(failure)
    assert str(failure).rpartition(": ")[2]


@pytest.mark.parametrize("cut", [1_000_000, 1], ids=["one write", "cut"])
@pytest.mark.parametrize("tail", REFUSED_BODIES.values(), ids=REFUSED_BODIES.keys())
async def test_bodies_that_are_refused(tail: bytes, cut: int) -> None:
    """What came before a broken chunk is delivered, then TRANSPORT is raised with its reason (S4)."""
    _, body, failure = await answered(CHUNKED + chunk(b"before") + tail, cut)
    assert body.startswith(b"before")
    assert body in (b"before", b"beforeok", b"beforeo")
    assert facts(failure) == (codes.TRANSPORT, "first-event")
    assert "invalid transfer encoding" in str(failure)


@pytest.mark.parametrize("cut", [1_000_000, 3], ids=["one write", "cut"])
@pytest.mark.parametrize(("answer", "headers"), READ.values(), ids=READ.keys())
async def test_what_is_read_all_the_same(answer: bytes, headers: dict[str, str], cut: int) -> None:
    """Old, odd and long heads that mean one thing are read (C16)."""
    if cut < len(answer) // 20_000:
        cut = 4096
    got, body, failure = await answered(answer, cut)
    assert failure is None
    assert set(body.decode()) == {"o", "k"}
    assert {name: got[name] for name in headers} == headers


async def test_a_refusal_comes_while_the_request_is_written() -> None:
    """A server that refuses a large request from its head on is heard, though the rest is never taken (S4, E1)."""

    async def script(connection: Connection) -> None:
        await connection.reader.readuntil(b"\r\n\r\n")
        await connection.send(sized(b"too large", status=b"413 Content Too Large", more=b"connection: close\r\n"))

    async with ByteServer(script) as server, transport() as client:
        for _ in range(20):
            answer = await client.open(post(server.url, b"x" * 8_000_000))
            assert answer.status == 413
            assert await answer.error_body() == b"too large"


async def test_an_answer_that_comes_while_the_request_is_written_is_read() -> None:
    """An early answer is an answer; its connection, on which part of the request is missing, is closed (S6)."""

    async def script(connection: Connection) -> None:
        await connection.reader.readuntil(b"\r\n\r\n")
        await connection.send(HEAD + b"content-length: 5\r\n\r\nearly")
        await asyncio.wait_for(connection.gone(), 5)

    async with ByteServer(script) as server, transport() as client:
        answer = await client.open(post(server.url, b"x" * 30_000_000))
        assert await drained(answer) == (b"early", None)
        await asyncio.wait_for(server.client_gone.wait(), 5)
        assert server.connections == 1
