"""TLS: whom limen trusts, how it is told, and what the faults of certificates say (K6, K8)."""

import asyncio
import datetime
import socket
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
import trustme

from limen.contract import AbortController, LlmError, codes
from limen.transport import TransportOptions
from transport._byte_server import ByteServer, Connection, sized
from transport._client import drained, facts, failure_of, post, stay, transport


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


def served_by(certificate: trustme.LeafCert, *, trusting: trustme.CA | None = None) -> ssl.SSLContext:
    """A server's settings; with `trusting`, it wants a certificate of that authority from its clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    if trusting is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        trusting.configure_trust(context)
    return context


async def serve(connection: Connection) -> None:
    """Answer every request."""
    while True:
        await connection.request()
        await connection.send(sized(b"ok"))


async def test_a_private_authority_is_named_by_options(authority: trustme.CA, ca_file: Path) -> None:
    """`ca_file` adds an authority to the system's; without it the call is TRANSPORT, not to be tried again."""
    async with ByteServer(serve, tls=served_by(authority.issue_cert("127.0.0.1"))) as server:
        async with transport(options=TransportOptions(ca_file=ca_file)) as client:
            assert await drained(await client.open(post(server.url))) == (b"ok", None)
        async with transport() as client:
            failure = await failure_of(client, post(server.url))
    assert (facts(failure), failure.failure.should_retry) == ((codes.TRANSPORT, "connect"), False)
    assert "SSL_CERT_FILE" in str(failure)


async def test_NQ353_a_private_authority_is_named_by_the_environment(
    authority: trustme.CA, ca_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`SSL_CERT_FILE` and `SSL_CERT_DIR` are OpenSSL's own and are honoured (NQ353)."""
    folder = tmp_path / "certificates"
    folder.mkdir()
    context = ssl.create_default_context(cafile=str(ca_file))
    (name,) = {hash_of(certificate) for certificate in context.get_ca_certs(binary_form=True)[-1:]}
    authority.cert_pem.write_to_path(str(folder / f"{name}.0"))
    async with ByteServer(serve, tls=served_by(authority.issue_cert("127.0.0.1"))) as server:
        for variable, value in (("SSL_CERT_FILE", ca_file), ("SSL_CERT_DIR", folder)):
            with monkeypatch.context() as patch:
                patch.setenv(variable, str(value))
                async with transport() as client:
                    assert await drained(await client.open(post(server.url))) == (b"ok", None)


def hash_of(certificate: bytes) -> str:
    """The name of a certificate in a folder of OpenSSL's: the hash of its subject."""
    import shutil
    import subprocess

    command = shutil.which("openssl")
    if command is None:
        pytest.skip("the openssl command, which names the file, is not installed")
    pem = ssl.DER_cert_to_PEM_cert(certificate).encode()
    done = subprocess.run([command, "x509", "-hash", "-noout"], input=pem, capture_output=True, check=True)
    return done.stdout.decode().strip()


async def test_certificate_faults(authority: trustme.CA, ca_file: Path) -> None:
    """Expired, not yet valid, made for another name: each says so, in phase connect, and is not tried again (E3)."""
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    told: list[str] = []
    for certificate in (
        authority.issue_cert("127.0.0.1", not_before=now - 3 * day, not_after=now - day),
        authority.issue_cert("127.0.0.1", not_before=now + day, not_after=now + 3 * day),
        authority.issue_cert("127.0.0.2"),
        authority.issue_cert("another.example"),
    ):
        async with (
            ByteServer(serve, tls=served_by(certificate)) as server,
            transport(options=TransportOptions(ca_file=ca_file)) as client,
        ):
            failure = await failure_of(client, post(server.url))
        assert (facts(failure), failure.failure.should_retry) == ((codes.TRANSPORT, "connect"), False)
        told.append(str(failure))
    assert "has expired" in told[0]
    assert "not valid yet" in told[1]
    assert "for another address" in told[2]
    assert "for another address" in told[3]


async def test_a_client_certificate(authority: trustme.CA, ca_file: Path, tmp_path: Path) -> None:
    """A server that wants a certificate gets the one of the options; without it, TRANSPORT that says so (K8)."""
    files = {name: tmp_path / name for name in ("cert.pem", "key.pem", "both.pem")}
    mine = authority.issue_cert("client@example.org")
    mine.private_key_pem.write_to_path(str(files["key.pem"]))
    mine.private_key_and_cert_chain_pem.write_to_path(str(files["both.pem"]))
    files["cert.pem"].write_bytes(b"".join(blob.bytes() for blob in mine.cert_chain_pems))
    async with ByteServer(serve, tls=served_by(authority.issue_cert("127.0.0.1"), trusting=authority)) as server:
        for given in (
            TransportOptions(ca_file=ca_file, client_cert_file=files["cert.pem"], client_key_file=files["key.pem"]),
            TransportOptions(ca_file=ca_file, client_cert_file=files["both.pem"]),
        ):
            async with transport(options=given) as client:
                assert await drained(await client.open(post(server.url))) == (b"ok", None)


async def test_a_client_certificate_that_is_missing(authority: trustme.CA, ca_file: Path) -> None:
    """The TLS alert of a server that wants a certificate is TRANSPORT, says what is missing, and is not tried again."""
    context = served_by(authority.issue_cert("127.0.0.1"), trusting=authority)

    def refuse(listening: socket.socket) -> None:
        # A blocking server, because asyncio's closes without sending the alert (CPython 3.11 to 3.13).
        accepted, _ = listening.accept()
        twin = accepted.dup()
        with accepted, pytest.raises(ssl.SSLError):
            context.wrap_socket(accepted, server_side=True)
        with twin, suppress(ConnectionError):
            # Without this, a reset could overtake the alert.
            while twin.recv(65536):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.ensure_future(asyncio.to_thread(refuse, listening))
        async with transport(options=TransportOptions(ca_file=ca_file)) as client:
            failure = await failure_of(client, post(f"https://127.0.0.1:{listening.getsockname()[1]}"))
        await serving
    assert (failure.code, failure.failure.should_retry) == (codes.TRANSPORT, False)
    assert "client certificate" in str(failure)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    """A missing or broken file, a key without its certificate, files beside a context: INVALID_CONFIG at once."""
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for wrong in (
        {"ca_file": tmp_path / "absent.pem"},
        {"ca_file": broken},
        {"client_cert_file": broken},
        {"client_key_file": broken},
        {"ca_file": broken, "ssl": ssl.create_default_context()},
    ):
        with pytest.raises(LlmError) as caught:
            TransportOptions(**wrong)
        assert facts(caught.value) == (codes.INVALID_CONFIG, "resolve")


def test_an_encrypted_key_is_not_asked_for_on_the_terminal(tmp_path: Path, authority: trustme.CA) -> None:
    """An encrypted client key is INVALID_CONFIG; no prompt holds the process."""
    from cryptography.hazmat.primitives import serialization as keys

    mine = authority.issue_cert("client@example.org")
    key = keys.load_pem_private_key(mine.private_key_pem.bytes(), None)
    locked = keys.BestAvailableEncryption(b"secret")
    pem = key.private_bytes(keys.Encoding.PEM, keys.PrivateFormat.PKCS8, locked)
    path = tmp_path / "locked.pem"
    path.write_bytes(pem + b"".join(blob.bytes() for blob in mine.cert_chain_pems))
    with pytest.raises(LlmError, match="encrypted") as caught:
        TransportOptions(client_cert_file=path)
    assert caught.value.code == codes.INVALID_CONFIG


@pytest.mark.parametrize("how", ["abort", "cancel"])
async def test_leaving_during_the_handshake(how: str) -> None:
    """A server that never answers the TLS hello is left at once, by abort or cancellation (Q6)."""

    async def mute(connection: Connection) -> None:
        await connection.reader.read(1)
        hello.set()
        await stay(connection)

    hello = asyncio.Event()
    controller = AbortController()
    async with ByteServer(mute) as server, transport() as client:
        url = server.url.replace("http:", "https:")
        opening = asyncio.ensure_future(client.open(post(url), signal=controller.signal))
        await asyncio.wait_for(hello.wait(), 5)
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
