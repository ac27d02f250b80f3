"""The recording tap sees one exchange as it passes."""

from collections.abc import Sequence

import pytest

from limen.contract import WIRE_TAP, Timeouts, codes
from limen.transport import HttpRequest
from transport._byte_server import CHUNKED, LAST, ByteServer, Connection, chunk, sized
from transport._client import drained, failure_of, post, stay, transport


class Tap:
    """Writes down what it sees; breaks where it is told to."""

    def __init__(self, breaks: str = "") -> None:
        self.seen: list[tuple[object, ...]] = []
        self._breaks = breaks

    def _note(self, *what: object) -> None:
        self.seen.append(what)
        if what[0] == self._breaks:
            raise ValueError("the tap is full")

    def started(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """See a request."""
        self._note("started", method, url, list(headers), body)

    def answered(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """See a head."""
        self._note("answered", status, dict(headers).get("content-type"))

    def received(self, data: bytes) -> None:
        """See a read."""
        self._note("received", data)

    def ended(self, code: str | None) -> None:
        """See the end."""
        self._note("ended", code)


async def script(connection: Connection) -> None:
    """Answer by the request's body."""
    received = await connection.request()
    if received.body == b"silent":
        await stay(connection)
    elif received.body == b"refused":
        await connection.send(sized(b"no", status=b"400 Bad"))
    elif received.body == b"cut":
        await connection.send(CHUNKED + chunk(b"one"))
        return
    else:
        await connection.send(CHUNKED + chunk(b"one"))
        await connection.send(chunk(b"[DONE]"))
        if received.body == b"whole":
            await connection.send(LAST)
    await stay(connection)


async def tapped(tap: Tap, body: bytes) -> None:
    token = WIRE_TAP.set(lambda: tap)
    try:
        async with ByteServer(script) as server, transport(Timeouts(first_event=0.5)) as client:
            request = HttpRequest("POST", f"{server.url}/p", [("x-a", "1")], body)
            if body == b"silent":
                await failure_of(client, request)
                return
            answer = await client.open(request)
            if body == b"refused":
                assert await answer.error_body() == b"no"
            elif body == b"released":
                text = b""
                while not text.endswith(b"[DONE]"):
                    text += await answer.read()
                answer.release()
            elif body == b"left":
                await answer.read()
                await answer.close()
            else:
                await drained(answer)
    finally:
        WIRE_TAP.reset(token)


@pytest.mark.parametrize(
    ("body", "answered", "text", "code"),
    [
        (b"whole", ("answered", 200, "text/event-stream"), b"one[DONE]", None),
        (b"released", ("answered", 200, "text/event-stream"), b"one[DONE]", None),
        (b"refused", ("answered", 400, None), b"no", None),
        (b"cut", ("answered", 200, "text/event-stream"), b"one", codes.STREAM_CLOSED),
        (b"left", ("answered", 200, "text/event-stream"), b"one[DONE]", codes.ABORTED),
        (b"silent", None, b"", codes.TIMEOUT),
    ],
)
async def test_a_tap_sees_the_whole_exchange(body: bytes, answered: object, text: bytes, code: str | None) -> None:
    """Request, head, every read and the end, once each and in order, whatever the end is."""
    tap = Tap()
    await tapped(tap, body)
    first, *middle, last = tap.seen
    assert first[0] == "started"
    assert first[1] == "POST"
    assert str(first[2]).endswith("/p")
    assert first[3:] == ([("x-a", "1")], body)
    assert last == ("ended", code)
    if answered is not None:
        assert middle.pop(0) == answered
    reads = [data for kind, data in middle if kind == "received" and isinstance(data, bytes)]
    assert len(reads) == len(middle)
    assert text.startswith(b"".join(reads)) if body == b"left" else b"".join(reads) == text


@pytest.mark.parametrize("breaks", ["started", "answered", "received", "ended"])
async def test_what_a_tap_raises_fails_the_call(breaks: str) -> None:
    """A recording that cannot be kept is no success: the tap's exception reaches the caller."""
    with pytest.raises(ValueError, match="the tap is full"):
        await tapped(Tap(breaks), b"whole")


async def test_without_a_tap_nothing_is_shown() -> None:
    """No tap is the ordinary case."""
    async with ByteServer(script) as server, transport() as client:
        assert await drained(await client.open(post(server.url, b"whole"))) == (b"one[DONE]", None)
