"""Secret headers, connections, query and own errors of a route, as configuration (K1, E3)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from limen.config import EnvironmentKey, FileKey, load
from limen.contract import CredentialSource, ErrorMatch, LlmError

FULL = """
[routes.work]
adapter = "openai-chat"
key_header = "bearer"
headers_env = { X-Gateway-Key = "GATEWAY_KEY" }
headers_file = { Cookie = "secrets/cookie" }
query = { api-version = "2024-10-21" }
errors = [{ match = "cost centre .* is closed", code = "QUOTA" }]
require_finish = true
proxy = "http://proxy.example:3128"
ca_file = "ca.pem"
client_cert_file = "/certs/client.pem"
client_key_file = "/certs/client.key"
"""
LITERAL = "hush-hush-0123"


def fault(text: str, folder: Path) -> str:
    """The message for a file with one route of this text."""
    file = folder / "limen.toml"
    file.write_text(f"[routes.a]\nadapter = 'x'\n{text}\n", encoding="utf-8")
    with pytest.raises(LlmError) as caught:
        load(file)
    assert caught.value.code == "INVALID_CONFIG"
    return caught.value.failure.message.removeprefix(f"{file}:")


def test_every_key_of_a_route_is_read(tmp_path: Path) -> None:
    """Secret headers become sources that name their place, and files are relative to the configuration's (K1)."""
    (tmp_path / "limen.toml").write_text(FULL, encoding="utf-8")

    (route,) = load(tmp_path / "limen.toml").routes

    sources: dict[str, CredentialSource] = {
        "X-Gateway-Key": EnvironmentKey(("GATEWAY_KEY",), "headers_env of [routes.work] for the header X-Gateway-Key"),
        "Cookie": FileKey(tmp_path / "secrets/cookie", "headers_file of [routes.work] for the header Cookie"),
    }
    assert dict(route.secret_headers) == sources
    assert (route.key_header, route.query, route.require_finish) == ("bearer", {"api-version": "2024-10-21"}, True)
    assert route.errors == (ErrorMatch("cost centre .* is closed", "QUOTA"),)
    assert (route.proxy, route.ca_file) == ("http://proxy.example:3128", str(tmp_path / "ca.pem"))
    assert (route.client_cert_file, route.client_key_file) == ("/certs/client.pem", "/certs/client.key")
    assert hash(route) == hash(load(tmp_path / "limen.toml").routes[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("headers_env = { 'a b' = 'X' }", "3: routes.a.headers_env.'a b' - this is no header's name"),
        (
            "headers_env = { X-A = 'no name' }",
            "3: routes.a.headers_env.X-A - this is the name of an environment",
        ),
        ("headers_env = { X-A = 3 }", "3: routes.a.headers_env - expected str, got int"),
        ("headers_file = { X-A = ' ' }", "3: routes.a.headers_file.X-A - this is the path of a file, and it is empty"),
        (
            "headers_env = { X-A = 'A' }\nheaders_file = { x-a = 'a' }",
            "4: routes.a.headers_file.x-a - the header stands in headers_env too; keep one of them",
        ),
        (
            "headers = { x-a = '1' }\nheaders_env = { X-A = 'A' }",
            "4: routes.a.headers_env.X-A - the header stands in headers too; keep one of them",
        ),
        ("query = { a = 3 }", "3: routes.a.query - expected str, got int"),
        ('query = { a = "x\\ny" }', "3: routes.a.query.a - a query has names and values of one line each"),
        ("errors = [{ match = 'x' }]", "3: routes.a.errors[0] - code is missing"),
        (
            "errors = [{ match = 'x', cod = 'QUOTA' }]",
            "3: routes.a.errors[0].cod - unknown key; known here: match",
        ),
        ("require_finish = 'yes'", "3: routes.a.require_finish - expected bool, got str"),
        ("proxy = 'proxy.example:3128'", "3: routes.a.proxy - a proxy is an address such as http://proxy.example"),
        ("proxy = 'ftp://proxy.example'", "3: routes.a.proxy - a proxy is an address such as http://proxy.example"),
        ("proxy = 'http://me@proxy.example'", "3: routes.a.proxy - a proxy is an address such as http://proxy.example"),
        ("ca_file = ''", "3: routes.a.ca_file - this is the path of a file, and it is empty"),
        ("client_key_file = 'k.pem'", "3: routes.a.client_key_file - a client's key needs its certificate"),
        (
            "base_url = 'http://far.example'\nheaders_env = { X-A = 'A' }",
            "3: routes.a.base_url - the key would travel unencrypted over plain http",
        ),
    ],
)
def test_wrong_values_are_named_by_their_key(tmp_path: Path, text: str, words: str) -> None:
    """A value that cannot be used is `INVALID_CONFIG` with line and key path (K1, K5, K6)."""
    assert fault(text, tmp_path).startswith(words)


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        (f"headers = {{ X-Gateway-Key = '{LITERAL}' }}", "3: routes.a.headers.X-Gateway-Key - ", "headers_env = {"),
        (f"headers = {{ Cookie = '{LITERAL}' }}", "3: routes.a.headers.Cookie - ", "headers_env = {"),
        (
            f"headers = {{ Ocp-Apim-Subscription-Key = '{LITERAL}' }}",
            "3: routes.a.headers.Ocp-Apim-Subscription-Key - ",
            "headers_env = {",
        ),
        (f"proxy = 'http://me:{LITERAL}@proxy.example'", "3: routes.a.proxy - ", "HTTPS_PROXY"),
        (f"query = {{ api_key = '{LITERAL}' }}", "3: routes.a.query.api_key - ", "api_key_env"),
    ],
)
def test_a_literal_secret_is_refused_and_not_echoed(tmp_path: Path, text: str, place: str, remedy: str) -> None:
    """A secret in the file is an error that says where it belongs, without any part of it (K1, E5)."""
    message = fault(text, tmp_path)

    assert message.startswith(place)
    assert remedy in message
    assert LITERAL not in message


@pytest.mark.parametrize("text", ["headers = { X-Request-Class = 'a' }", "options = { cache_key = 'a' }"])
def test_harmless_names_are_no_secrets(tmp_path: Path, text: str) -> None:
    """Names that end in `key` are secret in headers only, and other headers stay as they are (K1)."""
    file = tmp_path / "limen.toml"
    file.write_text(f"[routes.a]\nadapter = 'x'\n{text}\n", encoding="utf-8")

    assert [route.name for route in load(file).routes] == ["a"]


def test_no_frame_of_the_error_holds_the_file(tmp_path: Path, locals_of: Callable[[BaseException], str]) -> None:
    """A traceback that prints local variables shows no key that somebody wrote into the file (E5)."""
    file = tmp_path / "limen.toml"
    file.write_text(f"[routes.a]\nadapter = 'x'\napi_key = '{LITERAL}'\n", encoding="utf-8")
    with pytest.raises(LlmError) as caught:
        load(file)

    assert LITERAL not in locals_of(caught.value)
