"""The environment as a configuration: routes from keys that are set, proxies read once (K7)."""

from pathlib import Path

import pytest

from limen.config import EnvironmentKey, KnownProvider, Route, load
from limen.config._environment import Proxies, proxies_from, routes_from  # the seam that takes an environment as data
from limen.contract import LlmError

KNOWN = (
    KnownProvider("deepseek", "deepseek", None, ("DEEPSEEK_API_KEY",), "https://deepseek.example"),
    KnownProvider("openai", "openai-chat", "openai", ("OPENAI_API_KEY", "OPENAI_KEY"), "https://openai.example/v1"),
    KnownProvider("studio", "openai-chat", "studio", ("LM_API_TOKEN",), None),
    KnownProvider("azure", "openai-chat", "azure", ("AZURE_OPENAI_API_KEY",), None),
    KnownProvider("deepseek", "anthropic-messages", "deepseek", ("DEEPSEEK_API_KEY",), "https://deepseek.example/a"),
)


def test_a_route_for_each_provider_whose_key_is_set() -> None:
    """A key that is set makes a route of its provider; the first row of a name wins; no address, no route."""
    environ = {"DEEPSEEK_API_KEY": "k", "OPENAI_KEY": "k", "OPENAI_API_KEY": " ", "AZURE_OPENAI_API_KEY": "k"}

    routes = routes_from(KNOWN, app="my-app/1", environ=environ)

    assert routes == (
        Route(
            name="deepseek",
            adapter="deepseek",
            place="the environment",
            credential=EnvironmentKey(("DEEPSEEK_API_KEY",)),
            app="my-app/1",
            implied=True,
        ),
        Route(
            name="openai",
            adapter="openai-chat",
            place="the environment",
            dialect="openai",
            credential=EnvironmentKey(("OPENAI_API_KEY", "OPENAI_KEY")),
            app="my-app/1",
            implied=True,
        ),
    )


def test_a_base_url_beside_the_key_moves_the_route() -> None:
    """`X_BASE_URL` beside `X_API_KEY` is the route's address, and gives one to a provider that has none."""
    environ = {
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": "http://localhost:9/v1",
        "AZURE_OPENAI_API_KEY": "k",
        "AZURE_OPENAI_BASE_URL": "https://mine.example",
        "LM_API_TOKEN": "k",
        "LM_BASE_URL": "http://localhost:1234/v1",
    }

    routes = routes_from(KNOWN, app=None, environ=environ)

    assert [(route.name, route.base_url, route.place) for route in routes] == [
        ("openai", "http://localhost:9/v1", "the environment variable OPENAI_BASE_URL"),
        ("studio", "http://localhost:1234/v1", "the environment variable LM_BASE_URL"),
        ("azure", "https://mine.example", "the environment variable AZURE_OPENAI_BASE_URL"),
    ]


@pytest.mark.parametrize("url", ["nonsense", "http://far.example"])
def test_an_address_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """A wrong address in the environment is kept for its own route, so that the others still load (K4)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "canary")

    routes = load(None, known=lambda: KNOWN).routes

    assert [(route.name, route.base_url, route.implied) for route in routes] == [
        ("deepseek", None, True),
        ("openai", url, True),
    ]


def test_an_application_name_that_no_header_can_carry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`open_runtime(app=…)` is checked like the file's `app.name` (Q7)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.toml").write_text("", encoding="utf-8")

    sources: tuple[object, ...] = (None, {}, "empty.toml")
    for source in sources:
        with pytest.raises(LlmError, match="an application is named like"):
            load(source, app="a\r\nb")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Proxies()),
        ({"HTTPS_PROXY": "http://p:1"}, Proxies(https="http://p:1")),
        ({"https_proxy": "http://p:1", "HTTPS_PROXY": "http://q:1"}, Proxies(https="http://p:1")),
        ({"HTTP_PROXY": "p:1"}, Proxies(http="http://p:1")),
        ({"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, Proxies()),
        ({"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, Proxies(http="http://p:1")),
        ({"ALL_PROXY": "http://p:1"}, Proxies("http://p:1", "http://p:1")),
        ({"ALL_PROXY": "http://p:1", "HTTPS_PROXY": "http://q:1"}, Proxies("http://p:1", "http://q:1")),
        ({"NO_PROXY": "a.example, .b.example,,"}, Proxies(no_proxy=("a.example", ".b.example"))),
        ({"HTTPS_PROXY": " "}, Proxies()),
    ],
)
def test_proxies_of_the_environment(environ: dict[str, str], expected: Proxies) -> None:
    """HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, lower case first; HTTP_PROXY is no header's in CGI (K7)."""
    assert proxies_from(environ) == expected


def test_the_proxy_of_an_address() -> None:
    """The address's scheme chooses the proxy, and this machine is never reached through one."""
    proxies = Proxies("http://p:1", "http://q:1")

    found = [
        proxies.of(url)
        for url in ("http://a/", "https://a/", "http://127.0.0.1:1/", "https://localhost/", "http://localhost.:1/")
    ]

    assert found == ["http://p:1", "http://q:1", None, None, None]


def test_a_proxy_of_another_kind() -> None:
    """A proxy of an unknown kind is refused in words that help, and without the password in it."""
    proxies = Proxies(https="ftp://user:canary@p:1")

    with pytest.raises(LlmError) as caught:
        proxies.of("https://a/")

    assert caught.value.code == "INVALID_CONFIG"
    assert "set HTTPS_PROXY to one" in str(caught.value)
    assert "canary" not in f"{caught.value} {proxies!r}"
    assert repr(proxies) == "Proxies(https=…)"
