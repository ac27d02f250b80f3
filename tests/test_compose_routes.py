"""Settings of a route over real connections: secret headers, query, errors, certificates, proxy; and no file at all."""

import os
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

import limen
from limen import _compose
from limen.testing.server import MockProvider
from surroundings import without_keys
from transport._byte_server import CHUNKED, LAST, ByteServer, Connection, chunk, sized

DONE = b"data: [DONE]\n\n"
HI = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder, with nobody's keys in the environment."""
    monkeypatch.chdir(tmp_path)
    without_keys(monkeypatch)


def hello(route: str = "main") -> limen.GenerateOptions:
    """A small request."""
    return limen.GenerateOptions(route, "m", [limen.user("hello")])


def document(url: str, **fields: object) -> dict[str, object]:
    """A configuration with one route of chat completions at an address."""
    return {"routes": {"main": {"adapter": "openai-chat", "base_url": url, **fields}}}


async def answer(connection: Connection) -> None:
    """Answer every request with a small stream."""
    while True:
        await connection.request()
        await connection.send(CHUNKED + chunk(HI + STOP + DONE) + LAST)


async def refusal(config: dict[str, object], route: str = "main") -> limen.Failure:
    """The failure of one call without retries."""
    async with limen.LlmRuntime(loader=_compose.ConfigLoader(config, None)) as llm:
        await llm.reload()
        with pytest.raises(limen.LlmError) as caught:
            await llm.complete(hello(route))
    return caught.value.failure


async def test_secret_headers_are_asked_for_at_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers of a variable and of a file go with every request, rotated ones with the next (K1, K2)."""
    monkeypatch.setenv("GATEWAY_KEY", "Bearer first/0123")
    (tmp_path / "cookie").write_text("session=abc/0123\n", encoding="utf-8")
    async with ByteServer(answer) as server:
        config = document(
            server.url, headers_env={"X-Gateway-Key": "GATEWAY_KEY"}, headers_file={"Cookie": str(tmp_path / "cookie")}
        )
        async with limen.open_runtime(config) as llm:
            await llm.complete(hello())
            monkeypatch.setenv("GATEWAY_KEY", "second/0123")
            await llm.complete(hello())
        sent = [(one.headers["x-gateway-key"], one.headers["cookie"]) for one in server.requests]

    assert sent == [("Bearer first/0123", "session=abc/0123"), ("second/0123", "session=abc/0123")]


async def test_a_secret_header_without_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing value is `MISSING_CREDENTIAL` that names header and place; an unfit one names the place (K1, K3)."""
    config = document("http://127.0.0.1:1", headers_env={"X-Gateway-Key": "GATEWAY_KEY"})
    place = "the environment variable GATEWAY_KEY (headers_env of [routes.main] for the header X-Gateway-Key)"
    missing = await refusal(config)
    monkeypatch.setenv("GATEWAY_KEY", "schl\u00fcssel/0123")
    unfit = await refusal(config)

    assert (missing.code, missing.message) == (
        "MISSING_CREDENTIAL",
        f"the route main has no value for the header X-Gateway-Key: {place} holds none. Put one there",
    )
    assert (unfit.code, unfit.message) == (
        "INVALID_CREDENTIAL",
        f"the header's value from {place} cannot be sent: it is one line of printable ASCII; set it again",
    )


async def test_NQ350_the_query_goes_with_every_request() -> None:
    """A route's query stands behind the path of calls and of the list of models, encoded (NQ350)."""

    async def azure(connection: Connection) -> None:
        received = await connection.request()
        if received.line.startswith("GET"):
            await connection.send(sized(b'{"data":[]}'))
        else:
            await connection.send(CHUNKED + chunk(HI + STOP + DONE) + LAST)

    async with ByteServer(azure) as server:
        config = document(f"{server.url}/openai/deployments/d", query={"api-version": "2024-10-21", "a b": "\u00fc&c"})
        async with limen.open_runtime(config) as llm:
            await llm.complete(hello())
            await llm.list_models("main")
        lines = [received.line for received in server.requests]

    query = "api-version=2024-10-21&a%20b=%C3%BC%26c"
    assert lines == [
        f"POST /openai/deployments/d/chat/completions?{query} HTTP/1.1",
        f"GET /openai/deployments/d/models?{query} HTTP/1.1",
    ]


async def test_own_sentences_of_errors() -> None:
    """A route's own sentences decide before all that is known, in a refusal and in a stream (E3)."""
    body = b'{"error":{"message":"Cost centre 7 is closed","code":"invalid_api_key"}}'

    async def refuse(connection: Connection) -> None:
        await connection.request()
        if server.connections == 1:
            await connection.send(sized(body, status=b"401 Unauthorized"))
        else:
            await connection.send(CHUNKED + chunk(b"data: " + body + b"\n\n") + LAST)

    async with ByteServer(refuse) as server:
        config = document(server.url, errors=[{"match": "cost centre .* is closed", "code": "QUOTA"}])
        found = [await refusal(config), await refusal(config)]

    assert [(one.code, one.status) for one in found] == [("QUOTA", 401), ("QUOTA", None)]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"match": "x", "code": "QUOTE"}, "routes.main.errors[1].code - is 'QUOTE'; it is one of AUTH, QUOTA"),
        ({"match": "x", "code": "ABORTED"}, "routes.main.errors[1].code - is 'ABORTED'; it is one of AUTH, QUOTA"),
        ({"match": "x(", "code": "QUOTA"}, "routes.main.errors[1].match - is no regular expression: "),
        ({"match": "x*", "code": "QUOTA"}, "routes.main.errors[1].match - is 'x*', which every text has"),
    ],
)
async def test_own_sentences_that_cannot_be(entry: dict[str, str], words: str) -> None:
    """A sentence that does not compile, and a code that no answer can have, are named by their key path (E3, K5)."""
    config = document("http://127.0.0.1:1", errors=[{"match": "fine", "code": "AUTH"}, entry])
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime(config):
            pass

    assert (caught.value.code, caught.value.failure.message[: len(words)]) == ("INVALID_CONFIG", words)


async def test_a_finish_reason_is_required_where_the_route_says_so() -> None:
    """Without a finish reason the end marker is a stop on a generic row, and cut off with `require_finish` (W6)."""

    async def cut(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED + chunk(HI + DONE) + LAST)

    async with ByteServer(cut) as server:
        async with limen.open_runtime(document(server.url)) as llm:
            text = (await llm.complete(hello())).text
        failure = await refusal(document(server.url, require_finish=True))

    assert (text, failure.code) == ("hi", "STREAM_CLOSED")


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"key_header": "bearer", "api_key_env": "ENTRA_KEY"}, "Bearer entra/0123"),
        ({"key_header": "X-Own", "api_key_env": "ENTRA_KEY"}, None),
        ({"headers_env": {"Authorization": "ENTRA_HEADER"}}, "Bearer entra/4567"),
    ],
)
async def test_azure_takes_a_token_of_entra(
    fields: dict[str, object], sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bearer header, or the key in another header, satisfies a row whose own header is `api-key` (K4)."""
    monkeypatch.setenv("ENTRA_KEY", "entra/0123")
    monkeypatch.setenv("ENTRA_HEADER", "Bearer entra/4567")
    async with ByteServer(answer) as server:
        async with limen.open_runtime(document(server.url, dialect="azure", **fields)) as llm:
            await llm.complete(hello())
        (received,) = server.requests

    assert (received.headers.get("authorization"), "api-key" in received.headers) == (sent, False)
    assert received.headers.get("x-own") == (None if sent else "entra/0123")


@pytest.mark.parametrize("header", ["a b", "Host", "User-Agent"])
async def test_a_header_that_carries_no_key(header: str) -> None:
    """`key_header` is the name of a header that a key may stand in (K1)."""
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime(document("http://127.0.0.1:1", key_header=header)):
            pass

    assert caught.value.failure.message == (
        f"routes.main - key_header is bearer or the name of a header that may carry a key, got {header!r}"
    )


@pytest.mark.parametrize(
    "fields", [{"headers_env": {"X-A": "A"}}, {"require_finish": True}, {"ca_file": "ca.pem"}, {"query": {"a": "b"}}]
)
async def test_an_adapter_without_connections_has_no_use_for_them(fields: dict[str, object]) -> None:
    """A setting that the adapter does not have is refused, never dropped (K1)."""
    config = {"routes": {"main": {"adapter": "fixture", "path": "provider-tool-roundtrip.json", **fields}}}
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime(config):
            pass

    assert caught.value.code == "INVALID_CONFIG"
    assert "has no use for" in caught.value.failure.message


# -- certificates and proxy


def certificate(folder: Path, name: str) -> tuple[str, str]:
    """Make a self-signed certificate for this machine, and return the files of certificate and key."""
    files = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
    wanted = f"-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN={name}"
    extra = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files[1], "-out", files[0]]
    subprocess.run(["openssl", "req", "-x509", *wanted.split(), *extra], check=True, capture_output=True)
    return files


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """A folder with certificates of a server and a client, each with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by the openssl command")
    for name in ("server", "client"):
        certificate(tmp_path, name)
    return tmp_path


async def test_own_authority_and_client_certificate(certificates: Path) -> None:
    """`ca_file` makes a private server trusted; the client's certificate is shown to a server that asks (K1, K8)."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates / "client.pem"))
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    trusting: dict[str, object] = {"ca_file": str(certificates / "server.pem")}
    showing = {
        "client_cert_file": str(certificates / "client.pem"),
        "client_key_file": str(certificates / "client.key"),
    }
    async with ByteServer(answer, tls=context) as server:
        found = [(await refusal(document(server.url, **fields))).code for fields in ({}, trusting)]
        async with limen.open_runtime(document(server.url, **trusting, **showing)) as llm:
            text = (await llm.complete(hello())).text

    assert (found, text) == (["TRANSPORT", "TRANSPORT"], "hi")


async def test_an_exchanged_certificate_is_read_by_reload(certificates: Path) -> None:
    """`reload()` makes the adapter anew when a certificate's file has changed, and only then (K5)."""
    config = document("https://127.0.0.1:1", ca_file=str(certificates / "server.pem"))
    loader = _compose.ConfigLoader(config, None)
    made = [(await loader())[0][1] for _ in range(2)]
    certificate(certificates, "server")
    os.utime(certificates / "server.pem", ns=(1, 1))
    made.append((await loader())[0][1])

    assert [made[0] is made[1], made[1] is made[2]] == [True, False]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"ca_file": "none.pem"}, "routes.main.ca_file - "),
        ({"ca_file": "text"}, "routes.main.ca_file - "),
        ({"client_cert_file": "text"}, "routes.main.client_cert_file - "),
        ({"client_cert_file": "text", "client_key_file": "none.pem"}, "routes.main.client_cert_file - "),
    ],
)
async def test_certificates_that_cannot_be_used(tmp_path: Path, fields: dict[str, str], words: str) -> None:
    """A file that is missing or no certificate is `INVALID_CONFIG` with its key path, without its content (K5, E5)."""
    (tmp_path / "text").write_text("hush", encoding="utf-8")
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime(document("https://127.0.0.1:1", **fields)):
            pass

    message = caught.value.failure.message
    words += "ca_file, client_cert_file or client_key_file cannot be used: "
    assert (caught.value.code, message[: len(words)], "hush" in message) == ("INVALID_CONFIG", words, False)


async def test_a_route_has_a_proxy_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A route's `proxy` comes before the environment's and before `NO_PROXY` (K1, K7)."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "far.example")
    with MockProvider() as provider:
        config = document("http://far.example/v1", proxy=provider.url)
        async with limen.open_runtime(config) as llm:
            await llm.complete(limen.GenerateOptions("main", "mock-text", [limen.user("hello")]))
        paths = [request.path for request in provider.requests]

    assert paths == ["http://far.example/v1/chat/completions"]


# -- without a file


async def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that needs no key is a route by its address alone, and is sent none (K4, K6)."""
    async with ByteServer(answer) as server:
        for name in ("OLLAMA_BASE_URL", "SGLANG_BASE_URL", "LLAMACPP_BASE_URL"):
            monkeypatch.setenv(name, server.url)
        async with limen.open_runtime() as llm:
            routes = [info.id for info in llm.list_providers()]
            await llm.complete(hello("sglang"))
        (received,) = server.requests

    assert sorted(routes) == ["llamacpp", "ollama", "sglang"]
    assert "authorization" not in received.headers


@pytest.mark.parametrize(
    ("key", "route", "words"),
    [
        (None, "deepseek", "set DEEPSEEK_API_KEY, or write [routes.deepseek] into limen.toml"),
        (None, "sglang", "set SGLANG_BASE_URL to the server's address, or write [routes.sglang] into limen.toml"),
        (
            "AZURE_API_KEY",
            "azure",
            "AZURE_API_KEY is set, and the address is missing: set AZURE_BASE_URL too, or write [routes.azure] into "
            "limen.toml",
        ),
    ],
)
async def test_the_first_error_says_what_to_set(
    key: str | None, route: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call for a route that nothing configures names the variables that would do (K4)."""
    if key is not None:
        monkeypatch.setenv(key, "azure/0123")
    async with limen.open_runtime() as llm:
        with pytest.raises(limen.LlmError) as caught:
            await llm.complete(hello(route))
        with pytest.raises(limen.LlmError) as unknown:
            await llm.complete(hello("my-own"))

    no_route = f"no adapter is registered for the route {route!r}; the routes are: none"
    assert caught.value.failure.message == f"{no_route}; {words}"
    assert "; set one of " in unknown.value.failure.message
    assert "DEEPSEEK_API_KEY" in unknown.value.failure.message


async def test_a_missing_route_of_a_file(tmp_path: Path) -> None:
    """With a file the remedy is the file, and a document made in code names none (K4)."""
    (tmp_path / "limen.toml").write_text("", encoding="utf-8")
    words: list[str] = []
    empty: dict[str, object] = {"routes": {}}
    for source in (None, empty):
        async with limen.open_runtime(source) as llm:
            with pytest.raises(limen.LlmError) as caught:
                await llm.complete(hello())
            words.append(caught.value.failure.message.partition("routes are: ")[2])

    assert words == ["none; write [routes.main] into limen.toml", "none"]
