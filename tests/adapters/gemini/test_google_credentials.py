"""Access tokens of Google: fetched off the call's path, shared by calls, renewed before they end."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from adapters.gemini._generate_wire import asking
from limen.adapters.gemini import GeminiAdapter, GeminiOptions, GoogleCredentials
from limen.contract import LlmError, codes
from limen.testing.server import MockProvider


class Tokens(ThreadingHTTPServer):
    """A token endpoint on loopback: a new token each time, or the failure that is set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked = 0
        self.status = 200
        self.lifetime = 3600
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where tokens are asked for."""
        return f"http://127.0.0.1:{self.server_address[1]}/token"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Tokens)
        self.rfile.read(int(self.headers["content-length"]))
        with server.lock:
            server.asked += 1
            number = server.asked
        good = {"access_token": f"ya29.token-{number}", "expires_in": server.lifetime, "token_type": "Bearer"}
        bad = {"error": "invalid_grant", "error_description": "Account was deleted"}
        body = json.dumps(good if server.status == 200 else bad).encode()
        self.send_response(server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None: ...


@pytest.fixture
def tokens() -> Iterator[Tokens]:
    """A running token endpoint."""
    with Tokens() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def private_key() -> str:
    """A private key of a service account that nobody has."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


@pytest.fixture
def account(tokens: Tokens, private_key: str, tmp_path: Path) -> Path:
    """The file of a service account whose tokens come from loopback."""
    file = tmp_path / "account.json"
    fields = {
        "type": "service_account",
        "project_id": "p-1",
        "private_key_id": "k",
        "private_key": private_key,
        "client_email": "a@p-1.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": tokens.url,
    }
    file.write_text(json.dumps(fields), encoding="utf-8")
    return file


async def test_a_service_account(tokens: Tokens, account: Path) -> None:
    """google-auth's own flow: one token for many calls at once, and for the next."""
    source = GoogleCredentials(str(account))

    found = await asyncio.gather(*(source.api_key() for _ in range(5)))

    assert found == ["ya29.token-1"] * 5
    assert (await source.api_key(), tokens.asked) == ("ya29.token-1", 1)
    assert source.reference == f"the Google credentials in {account}"
    assert repr(source) == f"GoogleCredentials({str(account)!r})"


async def test_default_credentials(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file google-auth finds the application's default credentials."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
    source = GoogleCredentials()

    assert await source.api_key() == "ya29.token-1"
    assert repr(source) == "GoogleCredentials()"
    assert source.reference.startswith("Google's default credentials")


async def test_a_project_at_vertex(tokens: Tokens, account: Path) -> None:
    """A route with a project sends Google's token as bearer, and no key."""
    async with MockProvider("text") as mock:
        options = GeminiOptions(
            project="p-1", location="us-east1", credentials_file=str(account), base_url=mock.base_url("gemini-generate")
        )
        adapter = GeminiAdapter(options)
        chunks = [chunk async for chunk in adapter.stream(asking())]
        await adapter.aclose()
        request = await mock.request(1)

    assert chunks
    assert request.header("authorization") == "Bearer ya29.token-1"
    assert request.header("x-goog-api-key") is None


@pytest.fixture
def refused(tokens: Tokens, account: Path) -> str:
    """An account that Google does not know."""
    tokens.status = 400
    return str(account)


@pytest.fixture
def gone(tmp_path: Path) -> str:
    """A file that is not there."""
    return str(tmp_path / "gone.json")


@pytest.fixture
def unreachable(tokens: Tokens, account: Path) -> str:
    """An account whose tokens come from where nobody listens."""
    account.write_text(account.read_text("utf-8").replace(tokens.url, "http://127.0.0.1:9/token"), "utf-8")
    return str(account)


@pytest.mark.parametrize(
    ("which", "code"),
    [
        ("refused", codes.INVALID_CREDENTIAL),
        ("gone", codes.MISSING_CREDENTIAL),
        ("unreachable", codes.TRANSPORT),
    ],
)
async def test_failures(which: str, code: str, request: pytest.FixtureRequest) -> None:
    """A refusal, a file that is none and a host that is not there have codes of their own, and name the place."""
    file: str = request.getfixturevalue(which)

    with pytest.raises(LlmError) as caught:
        await GoogleCredentials(file).api_key()

    assert caught.value.code == code
    assert caught.value.failure.message.startswith(f"the Google credentials in {file} cannot be used: ")
    assert "PRIVATE KEY" not in str(caught.value)


class FakeToken:
    """Credentials whose refreshes wait, and whose tokens end when the test says."""

    def __init__(self, *lifetimes: float | None) -> None:
        self.lifetimes = list(lifetimes)
        self.token: object = None
        self.expiry: object = None
        self.count = 0
        self.go = threading.Event()
        self.go.set()

    def refresh(self, request: object) -> None:
        """Make the next token."""
        assert callable(request)
        assert self.go.wait(20)
        self.count += 1
        self.token = f"token-{self.count}"
        life = self.lifetimes.pop(0)
        self.expiry = None if life is None else (datetime.now(UTC) + timedelta(seconds=life)).replace(tzinfo=None)


def renewed() -> None:
    """Wait until no token is being renewed."""
    for thread in threading.enumerate():
        if thread.name == "limen-google-token":
            thread.join(20)


async def test_a_token_is_renewed_behind_the_call() -> None:
    """A token that ends in two minutes still serves at once while a thread fetches the next, once."""
    fake = FakeToken(120, 3600)
    source = GoogleCredentials(load=lambda: fake)
    assert await source.api_key() == "token-1"
    fake.go.clear()

    began = time.monotonic()
    assert [await source.api_key(), await source.api_key()] == ["token-1", "token-1"]
    took = time.monotonic() - began
    fake.go.set()
    renewed()

    assert took < 5
    assert (await source.api_key(), fake.count) == ("token-2", 2)


async def test_a_token_near_its_end_is_not_given() -> None:
    """In its last minute a token is replaced before the call; one without an end serves for half an hour."""
    fake = FakeToken(30, None)
    source = GoogleCredentials(load=lambda: fake)

    assert await source.api_key() == "token-1"
    assert await source.api_key() == "token-2"
    assert (await source.api_key(), fake.count) == ("token-2", 2)


async def test_a_renewal_that_fails_costs_nothing_yet() -> None:
    """The token goes on serving; the next call tries again behind it."""
    fake = FakeToken(120)
    source = GoogleCredentials(load=lambda: fake)

    for _ in range(3):
        assert await source.api_key() == "token-1"
        renewed()

    assert fake.count == 3


async def test_no_token_and_no_library() -> None:
    """Credentials that give no token, and a machine without google-auth, say so."""

    class Empty(FakeToken):
        def refresh(self, request: object) -> None:
            self.token = ""

    def missing() -> FakeToken:
        raise ImportError("No module named 'google'")

    for load, code, words in (
        (Empty, codes.INVALID_CREDENTIAL, "gave no token"),
        (missing, codes.MISSING_CREDENTIAL, "install limen[vertex]"),
    ):
        with pytest.raises(LlmError) as caught:
            await GoogleCredentials(load=load).api_key()
        assert caught.value.code == code
        assert words in caught.value.failure.message
