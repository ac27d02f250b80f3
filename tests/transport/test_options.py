"""Transport options: proxies, their passwords, and which hosts go without."""

import base64

import pytest

from limen.contract import LlmError, codes, is_loopback, scrub
from limen.transport import TransportOptions
from transport._byte_server import ByteServer, Connection, sized
from transport._client import drained, facts, failure_of, post, stay, transport

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("host", "no_proxy", "expected"),
    [
        ("api.example", (), PROXY),
        ("api.example", ("example",), None),
        ("API.Example", ("example",), None),
        ("api.example", (".example",), None),
        ("api.example", ("*.example",), None),
        ("api.example", ("ample", ""), PROXY),
        ("example", ("api.example",), PROXY),
        ("api.example", ("*",), None),
        ("localhost", (), None),
        ("127.0.0.1", (), None),
        ("127.3.2.1", (), None),
        ("::1", (), None),
        ("a.localhost", (), None),
    ],
)
def test_which_hosts_go_through_the_proxy(host: str, no_proxy: tuple[str, ...], expected: str | None) -> None:
    """Loopback and the hosts of `no_proxy` go straight (K7)."""
    assert TransportOptions(proxy=PROXY, no_proxy=no_proxy).proxy_for(host) == expected


def test_without_a_proxy_every_host_goes_straight() -> None:
    """No proxy, none for any host; the environment is not looked at (K7)."""
    assert TransportOptions().proxy_for("api.example") is None


@pytest.mark.parametrize("proxy", ["", "proxy:3128", "socks6://proxy:1080", "http://", "http://[::1", "http://a:x"])
def test_a_proxy_that_is_none(proxy: str) -> None:
    """A proxy that cannot be used is refused when it is given."""
    with pytest.raises(LlmError) as caught:
        TransportOptions(proxy=proxy)
    assert facts(caught.value) == (codes.INVALID_CONFIG, "resolve")


def test_a_proxys_password_is_a_secret() -> None:
    """Neither the repr nor any later text shows it (E5)."""
    options = TransportOptions(proxy="http://user:pr0xy-passw0rd@proxy.example:3128")
    assert repr(options) == "TransportOptions(proxy='http://proxy.example:3128', no_proxy=(), ssl=False)"
    assert "pr0xy" not in scrub("failed with pr0xy-passw0rd")


OWN = ("localhost", "LocalHost", "localhost.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1")
FOREIGN = ("10.0.0.1", "a.b", "127.0.0.1.evil.example", "localhost.evil.example", "127.evil", "::2", "")


@pytest.mark.parametrize(("host", "own"), [*((host, True) for host in OWN), *((host, False) for host in FOREIGN)])
def test_loopback(host: str, own: bool) -> None:
    """A key may go in the clear to this machine only (K6)."""
    assert is_loopback(host) is own


async def test_a_request_goes_through_the_proxy() -> None:
    """Plain http goes to the proxy with the whole address and the proxy's own credential (K7, K8)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"from the proxy"))
        await stay(connection)

    async with ByteServer(script) as server:
        proxy = server.url.replace("http://", "http://user:pr0xy-passw0rd@")
        async with transport(options=TransportOptions(proxy=proxy)) as client:
            answer = await client.open(post("http://api.invalid"))
            assert await drained(answer) == (b"from the proxy", None)
        (received,) = server.requests
    assert received.line == "POST http://api.invalid/v1/x HTTP/1.1"
    credential = base64.b64encode(b"user:pr0xy-passw0rd").decode()
    assert received.headers["proxy-authorization"] == f"Basic {credential}"


async def test_a_proxy_that_refuses_a_tunnel() -> None:
    """A proxy that does not let a TLS connection through: TRANSPORT in phase connect, no password shown (E5, E6)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"", status=b"407 Proxy Authentication Required"))
        await stay(connection)

    async with ByteServer(script) as server:
        proxy = server.url.replace("http://", "http://user:pr0xy-passw0rd@")
        async with transport(options=TransportOptions(proxy=proxy)) as client:
            failure = await failure_of(client, post("https://api.invalid"))
    assert facts(failure) == (codes.TRANSPORT, "connect")
    assert "proxy" in str(failure)
    assert "pr0xy" not in f"{failure} {failure.__cause__!r}"


async def test_a_proxy_that_is_not_there() -> None:
    """Nobody listens at the proxy: TRANSPORT in phase connect, which says that it is the proxy (E6)."""
    async with transport(options=TransportOptions(proxy="http://127.0.0.1:1")) as client:
        failure = await failure_of(client, post("http://api.invalid"))
    assert facts(failure) == (codes.TRANSPORT, "connect")
    assert "proxy" in str(failure)
