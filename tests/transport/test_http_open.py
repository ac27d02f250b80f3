"""Requests on their way out: what is sent, what cannot be reached, and what an answer's head may be."""

import asyncio
import socket
import ssl
import sys

import pytest

from limen.contract import Timeouts, codes, remember_secret
from limen.transport import HttpRequest, TransportOptions
from transport._byte_server import CHUNKED, ByteServer, Connection, Script, sized
from transport._client import drained, facts, failure_of, opened, post, stay, transport


async def serve_sized(connection: Connection) -> None:
    while True:
        await connection.request()
        await connection.send(sized(b"ok"))


async def test_a_request_goes_out_as_it_was_made() -> None:
    """Method, path, headers and body are the caller's; `identity` is asked for; nothing else is added (K8, Q2)."""
    async with ByteServer(serve_sized) as server, transport() as client:
        request = HttpRequest("POST", f"{server.url}/v1/a%2Fb:c?x=1", [("x-a", "1"), ("content-type", "a/b")], b"body")
        answer = await client.open(request)
        assert await drained(answer) == (b"ok", None)
        (received,) = server.requests
        assert received.line == "POST /v1/a%2Fb:c?x=1 HTTP/1.1"
        assert received.body == b"body"
        del received.headers["user-agent"]
        assert received.headers == {
            "host": server.url.removeprefix("http://"),
            "x-a": "1",
            "content-type": "a/b",
            "accept": "*/*",
            "accept-encoding": "identity",
            "content-length": "4",
        }
        assert repr(request) == "HttpRequest(POST, 2 headers, 4 bytes)"


async def test_a_large_body_goes_out_without_a_warning() -> None:
    """A request of several megabytes, images for instance, is an ordinary request."""
    body = b"x" * 3_000_000
    async with ByteServer(serve_sized) as server, transport() as client:
        answer = await client.open(post(server.url, body))
        assert await drained(answer) == (b"ok", None)
        assert server.requests[0].body == body


async def test_the_head_of_an_answer() -> None:
    """Status and headers are given with lower-case names, repeated ones joined (E3)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(
            sized(b"", status=b"201 Fine", more=b"X-A: 1\r\nx-a: 2\r\nX-B: " + b"b" * 20_000 + b"\r\n")
        )
        await stay(connection)

    async with opened(script) as (answer, _):
        assert answer.status == 201
        assert answer.headers == {"content-length": "0", "x-a": "1, 2", "x-b": "b" * 20_000}


async def test_what_a_server_says_before_its_answer() -> None:
    """An early hint is no answer; the one after it is (E1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + sized(b"ok"))
        await stay(connection)

    async with opened(script) as (answer, _):
        assert answer.status == 200
        assert await drained(answer) == (b"ok", None)


@pytest.mark.parametrize("status", [b"301 Moved", b"307 Moved", b"404 No", b"503 Busy"])
async def test_redirects_and_refusals_are_answers(status: bytes) -> None:
    """Redirects are not followed; any status is an answer, whose body is read whole (K6, E1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(
            sized(b"why", status=status, more=b"location: http://127.0.0.1:1/\r\nset-cookie: a=b\r\n")
        )
        await stay(connection)

    async with opened(script) as (answer, server):
        assert answer.status == int(status[:3])
        assert await answer.error_body() == b"why"
        assert len(server.requests) == 1


async def test_cookies_are_not_kept() -> None:
    """No cookie that an answer sets comes back with a later request (K8)."""

    async def script(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.send(sized(b"ok", more=b"set-cookie: a=b; path=/\r\n"))

    async with ByteServer(script) as server, transport() as client:
        for _ in range(2):
            assert await drained(await client.open(post(server.url))) == (b"ok", None)
        assert [received.headers.get("cookie") for received in server.requests] == [None, None]


async def test_a_connection_is_used_again() -> None:
    """An answer that was read to its end leaves its connection to the next request (T2)."""
    async with ByteServer(serve_sized) as server, transport() as client:
        for _ in range(5):
            assert await drained(await client.open(post(server.url))) == (b"ok", None)
        assert (server.connections, len(server.requests)) == (1, 5)


async def test_there_is_no_limit_of_connections() -> None:
    """Two hundred answers are open at once, none waits for another (K8)."""
    async with ByteServer(hold_open) as server, transport() as client:
        answers = await asyncio.wait_for(asyncio.gather(*[client.open(post(server.url)) for _ in range(200)]), 10)
        assert server.connections == 200
        for answer in answers:
            await answer.close()


async def hold_open(connection: Connection) -> None:
    await connection.request()
    await connection.send(CHUNKED)
    await stay(connection)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_a_refused_connection() -> None:
    """Nobody listens: TRANSPORT in phase connect, naming the address and keeping the cause (E6)."""
    port = free_port()
    async with transport() as client:
        failure = await failure_of(client, post(f"http://127.0.0.1:{port}"))
    assert facts(failure) == (codes.TRANSPORT, "connect")
    assert f"http://127.0.0.1:{port}" in str(failure)
    assert isinstance(failure.__cause__, OSError)


async def test_an_unknown_host() -> None:
    """A name that does not resolve: TRANSPORT in phase connect (E6)."""
    async with transport() as client:
        failure = await failure_of(client, post("http://nowhere.invalid"))
    assert facts(failure) == (codes.TRANSPORT, "connect")
    assert "http://nowhere.invalid" in str(failure)


@pytest.mark.parametrize("url", ["ftp://a/b", "http://", "/v1", "http://[::1", "http://a:99999/"])
async def test_an_address_that_is_none(url: str) -> None:
    """An address that nothing can be sent to is the configuration's fault (INVALID_CONFIG)."""
    async with transport() as client:
        failure = await failure_of(client, HttpRequest("POST", url, [], b""))
    assert facts(failure) == (codes.INVALID_CONFIG, "resolve")


async def close_at_once(connection: Connection) -> None:
    await connection.request()
    connection.writer.close()


async def reset_at_once(connection: Connection) -> None:
    await connection.request()
    connection.reset()


async def no_http(connection: Connection) -> None:
    await connection.request()
    await connection.send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    await stay(connection)


@pytest.mark.parametrize("script", [close_at_once, reset_at_once, no_http])
async def test_a_connection_that_gives_no_answer(script: Script) -> None:
    """Closed, reset or answered in no HTTP before the head: TRANSPORT in phase headers (E6)."""
    async with ByteServer(script) as server, transport() as client:
        failure = await failure_of(client, post(server.url))
    assert facts(failure) == (codes.TRANSPORT, "headers")
    assert server.url in str(failure)


async def test_a_coding_that_cannot_be_decoded_is_named() -> None:
    """A coding that was not asked for and is not known: MALFORMED_RESPONSE naming it (Q153)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"hello", more=b"content-encoding: br\r\n"))
        await stay(connection)

    async with ByteServer(script) as server, transport() as client:
        failure = await failure_of(client, post(server.url))
    assert facts(failure) == (codes.MALFORMED_RESPONSE, "headers")
    assert "br" in str(failure)


@pytest.mark.parametrize("value", ["a\r\nx-b: c", "a\nb", "a\rb", "a\0b", "sk-\udc80-secret"])
async def test_a_header_that_is_not_one_line(value: str) -> None:
    """A header that would begin another one, or cannot be encoded, is refused before anything is sent, and not shown
    (INVALID_CONFIG, E5).
    """
    async with ByteServer(serve_sized) as server, transport() as client:
        failure = await failure_of(client, HttpRequest("POST", f"{server.url}/x", [("x-a", value)], b"{}"))
        assert (facts(failure), server.connections) == ((codes.INVALID_CONFIG, "resolve"), 0)
    assert failure.__cause__ is failure.__context__ is None
    assert "secret" not in f"{failure!r}"


async def test_an_address_in_another_script() -> None:
    """A path outside ASCII is sent in percent form; a host in its ASCII form, with its port where it has one."""
    async with ByteServer(serve_sized) as server, transport() as client:
        request = HttpRequest("GET", f"{server.url}/café?q=é", [], b"")
        assert await drained(await client.open(request)) == (b"ok", None)
        (received,) = server.requests
    assert received.line == "GET /caf%C3%A9?q=%C3%A9 HTTP/1.1"
    assert "content-length" not in received.headers
    async with transport() as client:
        failure = await failure_of(client, post("http://bücher.invalid:81"))
    assert "http://xn--bcher-kva.invalid:81" in str(failure)


async def test_an_unknown_host_is_not_tried_again() -> None:
    """A name that does not exist is nothing that a second try can mend (E3)."""
    async with transport() as client:
        failure = await failure_of(client, post("http://nowhere.invalid"))
    if "Temporary failure" not in str(failure):
        assert failure.failure.should_retry is False


async def test_a_key_never_shows_in_an_exception() -> None:
    """What the client raises knows the request's headers; no link of the chain shows the key (E5)."""
    key = "sk-limen-test-0123456789abcdef"
    remember_secret(key)
    async with ByteServer(no_http) as server, transport() as client:
        headers = [("authorization", f"Bearer {key}")]
        failure = await failure_of(client, HttpRequest("POST", f"{server.url}/x?key={key}", headers, b"{}"))
    seen, link = "", failure
    chain: list[BaseException | None] = [link]
    while chain:
        found = chain.pop()
        if found is not None:
            seen += str(found) + repr(found) + repr(found.args)
            chain += [found.__cause__, found.__context__]
    assert key not in seen
    assert failure.__context__ is None


async def test_a_silent_server_meets_the_first_event_limit() -> None:
    """No head within `first_event` of the request: TIMEOUT in phase headers, and the connection is closed (T1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await stay(connection)

    async with ByteServer(script) as server, transport(Timeouts(first_event=0.1)) as client:
        failure = await failure_of(client, post(server.url))
        assert facts(failure) == (codes.TIMEOUT, "headers")
        assert "timeouts.first_event" in str(failure)
        await asyncio.wait_for(server.client_gone.wait(), 1)


async def test_a_server_that_takes_no_request_meets_the_first_event_limit() -> None:
    """A body that nobody reads is bounded too, and does not hold the socket open (T1, Q6)."""

    async def script(connection: Connection) -> None:
        await release.wait()
        await stay(connection)

    release = asyncio.Event()
    async with ByteServer(script) as server, transport(Timeouts(first_event=0.2)) as client:
        failure = await failure_of(client, post(server.url, b"x" * 30_000_000))
        assert facts(failure) == (codes.TIMEOUT, "headers")
        release.set()
        await asyncio.wait_for(server.client_gone.wait(), 1)


async def test_the_total_limit_covers_the_connection_too() -> None:
    """`total` counts from the start of the call (T1)."""

    async def script(connection: Connection) -> None:
        await stay(connection)

    async with ByteServer(script) as server, transport(Timeouts(total=0.1)) as client:
        failure = await failure_of(client, post(server.url))
        assert failure.code == codes.TIMEOUT
        assert "timeouts.total" in str(failure)


@pytest.mark.skipif(sys.platform != "linux", reason="a full backlog drops connections on Linux only")
async def test_a_host_that_does_not_accept_meets_the_connect_limit() -> None:
    """No connection within `connect`: TIMEOUT in phase connect (T1, E6)."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port: int = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        async with transport(Timeouts(connect=0.2)) as client:
            failure = await failure_of(client, post(f"http://127.0.0.1:{port}"))
        for filler in fillers:
            filler.close()
    assert facts(failure) == (codes.TIMEOUT, "connect")
    assert "timeouts.connect" in str(failure)


async def test_tls_is_verified(certificate: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    """A certificate that nobody vouches for: TRANSPORT in phase connect; with its CA it is fine (K6, K8)."""
    server_context, client_context = certificate
    async with ByteServer(serve_sized, tls=server_context) as server:
        async with transport() as client:
            failure = await failure_of(client, post(server.url))
            assert facts(failure) == (codes.TRANSPORT, "connect")
            assert "certificate" in str(failure)
        async with transport(options=TransportOptions(ssl=client_context)) as client:
            assert await drained(await client.open(post(server.url))) == (b"ok", None)


async def test_a_port_that_speaks_no_tls() -> None:
    """https to a plain port: TRANSPORT in phase connect (E6)."""

    async def script(connection: Connection) -> None:
        await connection.reader.read(1)
        await connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await stay(connection)

    async with ByteServer(script) as server, transport() as client:
        failure = await failure_of(client, post(server.url.replace("http", "https")))
    assert facts(failure) == (codes.TRANSPORT, "connect")
