"""Whole conversations over kept connections: cut, repeated, reordered, and ended by the server wherever it likes."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.contract import LlmError, Timeouts, codes
from limen.transport import Transport
from transport._byte_server import CHUNKED, LAST, ByteServer, Connection, chunk, sized
from transport._client import post, transport


def framed(number: int, kind: int) -> bytes:
    """An answer that names its call, framed in one of four ways."""
    body = b"answer %d;" % number
    return [
        sized(body),
        CHUNKED + chunk(body[:4]) + chunk(body[4:]) + LAST,
        b"HTTP/1.1 103 Early\r\n\r\n" + sized(body, more=b"keep-alive: timeout=9\r\n"),
        sized(body, status=b"503 Busy"),
    ][kind]


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[bytes, bool, list[int]]]:
    """For each call: what its server sends, whether it stays, and where the bytes are cut."""
    calls: list[tuple[bytes, bool, list[int]]] = []
    for number in range(draw(st.integers(2, 5))):
        whole = framed(number, draw(st.integers(0, 3)))
        sent = whole
        match draw(st.sampled_from(["whole", "whole", "twice", "surplus", "short", "repeated", "reordered"])):
            case "twice":
                sent = whole + whole
            case "surplus":
                sent = whole + draw(st.sampled_from([b"\r\n", b"HTTP/1.1 ", b"0\r\n\r\n", framed(99, 0), b"\0"]))
            case "short":
                sent = whole[: draw(st.integers(0, len(whole) - 1))]
            case "repeated":
                first, last = sorted(draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
                sent = whole[:last] + whole[first:]
            case "reordered":
                first, middle, last = sorted(draw(st.tuples(*[st.integers(0, len(whole))] * 3)))
                sent = whole[:first] + whole[middle:last] + whole[first:middle] + whole[last:]
            case _:
                pass
        cuts = draw(st.lists(st.integers(0, len(sent)), max_size=4))
        # What begins with a whole answer is complete for the client, and the server need not say that no more comes.
        calls.append((sent, sent.startswith(whole) and draw(st.booleans()), sorted(cuts)))
    return calls


async def told(client: Transport, url: str, number: int) -> tuple[int, bytes, str | None]:
    """Status, body and failure of one call."""
    body = b""
    try:
        answer = await asyncio.wait_for(client.open(post(url, b"%d" % number)), 5)
        status = answer.status
    except LlmError as failure:
        return 0, body, failure.code
    try:
        while data := await asyncio.wait_for(answer.read(), 5):
            body += data
    except LlmError as failure:
        return status, body, failure.code
    return status, body, None


async def both_ways(calls: Sequence[tuple[bytes, bool, list[int]]]) -> None:
    """Hold a conversation over kept connections, and each call of it alone, unsplit; they come to the same."""

    async def script(connection: Connection) -> None:
        with suppress(ConnectionError):
            while True:
                received = await connection.request()
                sent, stays, cuts = calls[int(received.body)]
                if split:
                    for first, last in zip([0, *cuts], [*cuts, len(sent)], strict=True):
                        await connection.send(sent[first:last])
                        await asyncio.sleep(0)
                else:
                    await connection.send(sent)
                if not stays:
                    return

    split = True
    async with ByteServer(script) as server:
        async with transport(Timeouts(first_event=5)) as client:
            together = [await told(client, server.url, number) for number in range(len(calls))]
        split = False
        for number, found in enumerate(together):
            async with transport(Timeouts(first_event=5)) as client:
                assert found == await told(client, server.url, number), (number, calls)
        asked = [int(request.body) for request in server.requests]
    for number in range(len(calls)):
        assert asked.count(number) == 2
        status, body, code = together[number]
        assert code is not None or status
        assert b"answer 99" not in body


@settings(max_examples=60, deadline=None)
@given(conversations())
def test_a_call_gets_what_its_own_server_sent(calls: list[tuple[bytes, bool, list[int]]]) -> None:
    """Over a kept connection each call gets the same as it would get alone, whatever came before it and however the
    bytes were cut: nothing of one answer reaches another call, and no request goes out twice (S6, C16, O1).
    """
    asyncio.run(both_ways(calls))


@pytest.mark.slow
@settings(max_examples=2_000, deadline=None)
@given(conversations())
def test_a_call_gets_what_its_own_server_sent_at_length(calls: list[tuple[bytes, bool, list[int]]]) -> None:
    """The same, many more times."""
    asyncio.run(both_ways(calls))


@dataclass
class Rude:
    """A server that ends its connections in one of the ways of `ways`, each chosen by chance for a connection."""

    ways: Sequence[str]
    chance: random.Random = field(default_factory=lambda: random.Random(22))
    unread: int = 0
    halves: int = 0

    async def __call__(self, connection: Connection) -> None:
        way = self.chance.choice(self.ways)
        if way == "before the request is read":
            self.unread += 1
            return
        for turn in range(2 if way == "after every second answer" else 1):
            received = await connection.request()
            if way == "in the middle of a head":
                self.halves += 1
                await connection.send(b"HTTP/1.1 200 OK\r\ncontent-")
                return
            answer = sized(received.body) if turn else CHUNKED + chunk(received.body) + LAST
            await connection.send(answer)


async def many_calls(rude: Rude, count: int, together: int) -> list[str | None]:
    """So many calls, so many at a time; returns their failures' codes."""
    async with ByteServer(rude) as server, transport() as client:

        async def some(first: int) -> list[tuple[int, str | None]]:
            found: list[tuple[int, str | None]] = []
            for number in range(first, count, together):
                _, body, code = await told(client, server.url, number)
                assert code is not None or body == b"%d" % number
                found.append((number, code))
            return found

        results = [one for part in await asyncio.gather(*map(some, range(together))) for one in part]
        seen = [int(request.body) for request in server.requests]
    # A request that any server has read was not sent again.
    assert len(seen) == len(set(seen))
    failed = {number for number, code in results if code is not None}
    assert {code for _, code in results} <= {None, codes.TRANSPORT}
    # What failed was read by its server, or lay unread in a connection that ended: it may have been seen.
    assert len(failed & set(seen)) == rude.halves
    assert len(failed - set(seen)) <= rude.unread
    return [code for _, code in sorted(results)]


ENDINGS = [
    ["after every answer"],
    ["after every second answer"],
    ["after every answer", "after every second answer"],
    ["in the middle of a head", "after every second answer"],
    ["before the request is read", "in the middle of a head", "after every answer", "after every second answer"],
]


@pytest.mark.parametrize("together", [1, 8])
@pytest.mark.parametrize("ways", ENDINGS, ids=" or ".join)
async def test_calls_to_a_server_that_ends_connections(ways: list[str], together: int) -> None:
    """None fails that could have been sent again; none is sent twice that a server may have seen (S6, Q5, P1)."""
    rude = Rude(ways)
    found = await many_calls(rude, 400, together)
    assert len(found) == 400
    if not {"in the middle of a head", "before the request is read"} & set(ways):
        assert found == [None] * 400


@pytest.mark.slow
@pytest.mark.parametrize("ways", ENDINGS, ids=" or ".join)
async def test_ten_thousand_calls_to_a_server_that_ends_connections(ways: list[str]) -> None:
    """The same with 10,000 calls."""
    found = await many_calls(Rude(ways), 10_000, 4)
    if not {"in the middle of a head", "before the request is read"} & set(ways):
        assert found == [None] * 10_000
