"""Ways through proxies: CONNECT and absolute form, TLS through and to them, SOCKS, and their refusals (K7, K8)."""

import asyncio
import base64
import ssl
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import trustme

from limen.contract import AbortController, LlmError, codes
from limen.transport import TransportOptions
from transport._byte_server import ByteServer, Connection, Script, sized
from transport._client import drained, facts, failure_of, post, stay, transport

PASSWORD = "pr0xy-passw0rd"


async def serve(connection: Connection) -> None:
    """Answer every request."""
    while True:
        await connection.request()
        await connection.send(sized(b"ok"))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction until its end."""
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def join(connection: Connection, port: int) -> None:
    """Join a client with a server of this machine, whatever name it asked for."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await asyncio.gather(pump(connection.reader, writer), pump(reader, connection.writer))
    finally:
        writer.transport.abort()


def http_proxy(port: int) -> Script:
    """A proxy that lets CONNECT through to one port."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 200 Connection established\r\nx-proxy: 1\r\n\r\n")
        await join(connection, port)

    return script


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """A certificate authority of the tests' own."""
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> Path:
    """The authority's certificate as a file."""
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


def served_by(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """A server's settings with a certificate for these names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_tls_goes_through_a_tunnel(authority: trustme.CA, ca_file: Path, scheme: str) -> None:
    """An https address goes through CONNECT, with the proxy's credential and none of the request's; the certificate is
    the server's own; the connection is used again. The way to the proxy may be TLS itself.
    """
    to_proxy = served_by(authority, "127.0.0.1") if scheme == "https" else None
    async with ByteServer(serve, tls=served_by(authority, "api.invalid")) as server:
        async with ByteServer(http_proxy(server.port), tls=to_proxy) as proxy:
            url = proxy.url.replace("://", f"://user:{PASSWORD}@")
            async with transport(options=TransportOptions(proxy=url, ca_file=ca_file)) as client:
                for _ in range(3):
                    assert await drained(await client.open(post("https://api.invalid"))) == (b"ok", None)
            (asked,) = proxy.requests
        assert (server.connections, len(server.requests)) == (1, 3)
        assert server.requests[0].line == "POST /v1/x HTTP/1.1"
        assert "proxy-authorization" not in server.requests[0].headers
    assert asked.line == "CONNECT api.invalid:443 HTTP/1.1"
    assert asked.headers == {
        "host": "api.invalid:443",
        "proxy-authorization": "Basic " + base64.b64encode(f"user:{PASSWORD}".encode()).decode(),
    }


async def test_the_certificate_behind_a_tunnel_is_verified(authority: trustme.CA, ca_file: Path) -> None:
    """A proxy that joins another server than the one asked for is found out: TRANSPORT, for another name (K6)."""
    async with (
        ByteServer(serve, tls=served_by(authority, "other.example")) as server,
        ByteServer(http_proxy(server.port)) as proxy,
        transport(options=TransportOptions(proxy=proxy.url, ca_file=ca_file)) as client,
    ):
        failure = await failure_of(client, post("https://api.invalid"))
    assert (facts(failure), failure.failure.should_retry) == ((codes.TRANSPORT, "connect"), False)
    assert "another name" in str(failure)


@pytest.mark.parametrize(
    ("answer", "says", "should_retry"),
    [
        (sized(b"", status=b"407 Proxy Authentication Required"), "status 407", False),
        (sized(b"no", status=b"403 Forbidden"), "status 403", False),
        (sized(b"", status=b"502 Bad Gateway"), "status 502", None),
        (sized(b"", status=b"301 Moved", more=b"location: http://a/\r\n"), "status 301", False),
        (b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "goes on after its head", False),
        (b"HTTP/1.1 200 OK\r\nx: " + b"a" * 100_000, "without an end", False),
        (b"SSH-2.0-OpenSSH\r\n", "not valid HTTP", None),
        (b"", "without an answer", None),
    ],
)
async def test_what_a_proxy_may_answer(answer: bytes, says: str, should_retry: bool | None) -> None:
    """A refusal is not tried again, a proxy that is busy or broken may be; never is a password shown (E3, E5, E6)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(answer)
        if answer:
            await stay(connection)

    async with ByteServer(script) as server:
        proxy = server.url.replace("http://", f"http://user:{PASSWORD}@")
        async with transport(options=TransportOptions(proxy=proxy)) as client:
            failure = await failure_of(client, post("https://api.invalid"))
    assert (facts(failure), failure.failure.should_retry) == ((codes.TRANSPORT, "connect"), should_retry)
    assert says in str(failure)
    assert "pr0xy" not in f"{failure} {failure.__cause__!r}"


async def test_an_interim_answer_of_a_proxy() -> None:
    """100 Continue before the proxy's answer is passed over."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        await asyncio.sleep(0.01)
        await connection.send(sized(b"", status=b"403 Forbidden"))
        await stay(connection)

    async with ByteServer(script) as server, transport(options=TransportOptions(proxy=server.url)) as client:
        assert "status 403" in str(await failure_of(client, post("https://api.invalid")))


@pytest.mark.parametrize("how", ["abort", "cancel"])
async def test_leaving_during_the_dialogue(how: str) -> None:
    """A proxy that never answers is left at once, by abort or cancellation (Q6)."""

    async def mute(connection: Connection) -> None:
        await connection.request()
        await stay(connection)

    controller = AbortController()
    async with ByteServer(mute) as server, transport(options=TransportOptions(proxy=server.url)) as client:
        opening = asyncio.ensure_future(client.open(post("https://api.invalid"), signal=controller.signal))
        await asyncio.wait_for(server.asked.wait(), 5)
        if how == "abort":
            controller.abort()
        else:
            opening.cancel()
        await asyncio.wait_for(server.client_gone.wait(), 0.25)
        if how == "abort":
            with pytest.raises(LlmError) as caught:
                await opening
            assert facts(caught.value) == (codes.ABORTED, "connect")
        else:
            with pytest.raises(asyncio.CancelledError):
                await opening


async def test_hosts_of_no_proxy_go_straight() -> None:
    """A host of `no_proxy` is reached without the proxy, which sees no connection (K7)."""
    async with ByteServer(serve) as server, ByteServer(stay) as proxy:
        options = TransportOptions(proxy=proxy.url, no_proxy=["127.0.0.0/8"])
        async with transport(options=options) as client:
            assert await drained(await client.open(post(server.url))) == (b"ok", None)
        assert proxy.connections == 0


@pytest.mark.parametrize(
    ("host", "no_proxy", "straight"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("2001:db8::1", "2001:db8::/32", True),
        ("api.example", "10.0.0.0/8", False),
        ("10.1.2.3", "10.0.0.0/99", False),
        ("api.example.", "api.example", True),
    ],
)
def test_networks_of_no_proxy(host: str, no_proxy: str, straight: bool) -> None:
    """`no_proxy` takes networks, as curl does; what is none matches nothing."""
    options = TransportOptions(proxy="http://proxy.example:3128", no_proxy=[no_proxy])
    assert (options.proxy_for(host) is None) is straight


def socks5(port: int, *, reply: int = 0, seen: list[bytes]) -> Script:
    """A SOCKS 5 proxy (RFC 1928, 1929) that wants a password and joins one port."""

    async def script(connection: Connection) -> None:
        reader = connection.reader
        _, count = await reader.readexactly(2)
        assert 2 in await reader.readexactly(count)
        await connection.send(b"\x05\x02")
        user = await reader.readexactly((await reader.readexactly(2))[1])
        password = await reader.readexactly((await reader.readexactly(1))[0])
        seen.extend((user, password))
        await connection.send(b"\x01\x00")
        *_, kind = await reader.readexactly(4)
        assert kind == 3, "a name is asked for"
        seen.append(await reader.readexactly((await reader.readexactly(1))[0]))
        await reader.readexactly(2)
        await connection.send(bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        if not reply:
            await join(connection, port)

    return script


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
async def test_a_socks_proxy(authority: trustme.CA, ca_file: Path, tls: bool) -> None:
    """A SOCKS proxy looks the host up and joins it, with its password; TLS goes through it."""
    pytest.importorskip("python_socks")
    seen: list[bytes] = []
    context = served_by(authority, "api.invalid") if tls else None
    async with ByteServer(serve, tls=context) as server, ByteServer(socks5(server.port, seen=seen)) as proxy:
        url = f"socks5h://user:{PASSWORD}@127.0.0.1:{proxy.port}"
        async with transport(options=TransportOptions(proxy=url, ca_file=ca_file)) as client:
            for _ in range(2):
                address = "https://api.invalid" if tls else "http://api.invalid"
                assert await drained(await client.open(post(address))) == (b"ok", None)
        assert server.connections == 1
        assert server.requests[0].line == "POST /v1/x HTTP/1.1"
    assert seen == [b"user", PASSWORD.encode(), b"api.invalid"]


async def test_a_socks_proxy_that_refuses() -> None:
    """A SOCKS proxy that does not allow the host, or is not there: TRANSPORT in phase connect (E3, E6)."""
    pytest.importorskip("python_socks")
    async with ByteServer(socks5(0, reply=2, seen=[])) as proxy:
        options = TransportOptions(proxy=f"socks5h://user:{PASSWORD}@127.0.0.1:{proxy.port}")
        async with transport(options=options) as client:
            refused = await failure_of(client, post("http://api.invalid"))
    async with transport(options=TransportOptions(proxy="socks5h://127.0.0.1:1")) as client:
        absent = await failure_of(client, post("http://api.invalid"))
    assert [facts(failure) for failure in (refused, absent)] == [(codes.TRANSPORT, "connect")] * 2
    assert [failure.failure.should_retry for failure in (refused, absent)] == [False, None]
    assert "proxy" in f"{refused} {absent}"


def test_a_socks_proxy_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without python-socks, INVALID_CONFIG names the extra to install."""
    monkeypatch.setitem(sys.modules, "python_socks", None)
    with pytest.raises(LlmError, match=r"limen\[socks\]") as caught:
        TransportOptions(proxy="socks5h://proxy.example:1080")
    assert facts(caught.value) == (codes.INVALID_CONFIG, "resolve")
