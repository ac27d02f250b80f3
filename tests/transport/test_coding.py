"""Codings that nobody asked for: undone as they come, within bounds, or named (K8, Q153)."""

import gzip
import zlib

import pytest

from limen.contract import codes
from limen.transport._coding import inflater
from transport._byte_server import CHUNKED, HEAD, LAST, Connection, chunk, sized
from transport._client import drained, facts, opened, stay

TEXT = b"".join(b"%07d\n" % number for number in range(20_000))


def raw_deflate(data: bytes) -> bytes:
    """Deflate without the zlib frame, as some servers send it."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize("cut", [1, 1000, 1_000_000])
@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("X-GZIP", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:77_000]) + gzip.compress(TEXT[77_000:])),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
    ],
)
def test_codings_are_undone(coding: str, packed: bytes, cut: int) -> None:
    """gzip, with several members too, and deflate, framed or raw, however they are cut."""
    undo = inflater(coding)
    assert undo is not None
    text = b""
    for at in range(0, len(packed), cut):
        text += undo.decode(packed[at : at + cut])
        while undo.pending:
            text += undo.decode(b"")
    assert (text, undo.whole) == (TEXT, True)


def test_a_bomb_is_undone_in_pieces() -> None:
    """What a few kilobytes of input make is handed over 64 KiB at a time."""
    undo = inflater("gzip")
    assert undo is not None
    sizes = [len(undo.decode(gzip.compress(bytes(10_000_000))))]
    while undo.pending:
        sizes.append(len(undo.decode(b"")))
    assert (max(sizes), sum(sizes)) == (65536, 10_000_000)


def test_no_coding_and_unknown_ones() -> None:
    """`identity` is none; any other is told by a LookupError."""
    assert inflater("") is inflater(" Identity ") is None
    for coding in ("br", "zstd", "gzip, gzip"):
        with pytest.raises(LookupError, match=coding):
            inflater(coding)


async def test_a_coding_that_is_cut_short_is_no_whole_answer() -> None:
    """A gzip body whose framing ends and whose coding does not is STREAM_CLOSED, after what came (E6, S4)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(HEAD + b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n")
        await connection.send(chunk(gzip.compress(b"hello")[:-8]) + LAST)
        await stay(connection)

    async with opened(script) as (answer, _):
        body, failure = await drained(answer)
        assert (body, facts(failure)) == (b"hello", (codes.STREAM_CLOSED, "first-event"))


async def test_the_page_of_a_refusal_may_be_unreadable() -> None:
    """Of a refusal the status counts: a coding that is unknown costs its page and nothing else (E1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"\x1b\x01", status=b"401 No", more=b"content-encoding: br\r\n"))
        await stay(connection)

    async with opened(script) as (answer, _):
        assert (answer.status, await answer.error_body()) == (401, b"\x1b\x01")


async def test_a_status_without_a_body() -> None:
    """A status that has no body ends with its head, whatever length it announces."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n")
        await stay(connection)

    async with opened(script) as (answer, server):
        assert await drained(answer) == (b"", None)
        assert len(server.requests) == 1


async def test_a_trailer_is_no_header() -> None:
    """Fields after the body are left out; they cannot change what the head said."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED + chunk(b"ok") + b"0\r\ncontent-type: text/html\r\n\r\n")
        await stay(connection)

    async with opened(script) as (answer, _):
        assert await drained(answer) == (b"ok", None)
        assert answer.headers["content-type"] == "text/event-stream"
