"""A key put through every failure path of a configured runtime is never seen (E5)."""

import asyncio
import json
import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import limen
from limen import _compose
from limen.config import load
from limen.testing.server import MockProvider

# Of no provider's shape, so that only what is remembered can hide it.
CANARY = "canary/0a1b+2c3d=4e5f"
PART = "0a1b+2c3d"


SENT = ("Authorization", "X-Api-Key", "X-Gateway-Token", "Cookie", "Ocp-Apim-Subscription-Key")


class Echo(BaseHTTPRequestHandler):
    """A provider that repeats the key wherever it can: body, headers, event, status line."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Refuse, or stream, with the key in it."""
        key = " ".join(self.headers.get(name, "") for name in SENT)
        sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        kind: str = json.loads(sent)["model"] if sent else "401"
        error = {"error": {"message": f"bad key {key}", "code": f"code {key}", "type": f"type {key}"}}
        if kind == "event":
            self._send(200, "text/event-stream", f"data: {json.dumps(error)}\n\n", key)
        elif kind == "wrong-shape":
            self._send(200, "text/event-stream", f'data: {{"choices": "{key}"}}\n\n', key)
        elif kind == "not-json":
            self._send(200, "text/event-stream", f"data: {key}\n\n", key)
        elif kind == "html":
            self._send(200, "text/html", f"<html>{key}</html>", key)
        elif kind == "finish-word":
            body = {"choices": [{"delta": {"content": "x"}, "finish_reason": key}]}
            self._send(200, "text/event-stream", f"data: {json.dumps(body)}\n\ndata: [DONE]\n\n", key)
        else:
            self._send(int(kind), "application/json", json.dumps(error), key)

    do_GET = do_POST  # noqa: N815 - the library's name for it

    def _send(self, status: int, kind: str, body: str, key: str) -> None:
        raw = body.encode()
        self.send_response(status, f"no {key}")
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(raw))), ("X-Request-Id", key)):
            self.send_header(name, value)
        self.send_header("Location", f"https://elsewhere.example/{key}")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name for it
        """Say nothing."""


@pytest.fixture
def echo() -> Iterator[str]:
    """The address of that provider."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def config(address: str) -> dict[str, object]:
    """Two routes with the canary as their key."""
    common = {"base_url": address, "api_key_env": "LIMEN_CANARY"}
    return {
        "routes": {
            "chat": {"adapter": "deepseek", **common},
            "messages": {"adapter": "anthropic-messages", "default_max_tokens": 9, **common},
        }
    }


def told(error: BaseException) -> str:
    """Everything that an exception can say, its chain and its facts included."""
    words = [str(error), repr(error), "".join(traceback.format_exception(error))]
    links: list[BaseException | None] = [error]
    while links:
        link = links.pop()
        if link is not None:
            words += [str(link), repr(link), repr(link.args), repr(getattr(link, "__notes__", ()))]
            links += [link.__cause__, link.__context__]
    if isinstance(error, limen.LlmError):
        words += [repr(error.failure), limen.encode(error.failure).decode(), repr(error.partial)]
        words += [] if error.partial is None else [limen.encode(error.partial).decode()]
    return "\n".join(words)


FAULTS = (
    "finish-word",
    "401",
    "402",
    "403",
    "404",
    "418",
    "429",
    "500",
    "503",
    "302",
    "event",
    "wrong-shape",
    "not-json",
    "html",
)


@pytest.mark.parametrize("route", ["chat", "messages"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_no_failure_shows_the_key(
    echo: str, route: str, fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever a provider repeats of the key, no message, fact, chain, chunk, log or JSON holds it."""
    monkeypatch.setenv("LIMEN_CANARY", CANARY)
    caplog.set_level(logging.DEBUG)
    options = limen.GenerateOptions(route, fault, [limen.user("hello")])
    words: list[str] = []

    async with limen.LlmRuntime(loader=_compose.ConfigLoader(config(echo), None)) as llm:
        await llm.reload()
        async with llm.stream(options) as stream:
            async for chunk in stream:
                words += [repr(chunk), limen.encode(chunk).decode()]
        words += [repr(stream), repr(stream.info), limen.encode(stream.info).decode(), repr(llm)]
        try:
            await stream.response()
        except limen.LlmError as error:
            words.append(told(error))
        try:
            await llm.list_models(route)
        except limen.LlmError as error:
            words.append(told(error))

    assert [line for line in ("\n".join(words) + caplog.text).splitlines() if PART in line] == []


async def test_connections_that_fail(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A refused connection and one through a proxy with a password say neither key nor password."""
    monkeypatch.setenv("LIMEN_CANARY", CANARY)
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:{CANARY.replace('/', '_')}@127.0.0.1:1")
    caplog.set_level(logging.DEBUG)
    words: list[str] = []

    with MockProvider(listen="refuse") as silent:
        for address in (silent.url, "https://far.example/api"):
            async with limen.LlmRuntime(loader=_compose.ConfigLoader(config(address), None)) as llm:
                await llm.reload()
                try:
                    await llm.complete(limen.GenerateOptions("chat", "m", [limen.user("hello")]))
                except limen.LlmError as error:
                    words.append(told(error))

    assert len(words) == 2
    assert PART not in "\n".join(words) + caplog.text


async def test_reprs_of_what_a_configuration_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither routes nor adapters nor their options show a key, also not one that was passed in code."""
    monkeypatch.setenv("LIMEN_CANARY", CANARY)
    monkeypatch.setenv("HTTPS_PROXY", "http://user:canary@proxy.example:1")
    from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions

    loaded = load(config("https://far.example/api"))
    adapters = [_compose.make_adapter(route, loaded) for route in loaded.routes]
    options = DeepSeekOptions(api_key=CANARY)
    made = [loaded, adapters, [vars(adapter) for adapter in adapters], options, DeepSeekAdapter(options)]

    assert "canary" not in repr(made)


@pytest.mark.parametrize("key", [f"{CANARY} with spaces", f"{CANARY}\N{SNOWMAN}", f"{CANARY}\r\nX-Other: 1"])
def test_keys_that_no_header_can_carry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    """A malformed key, from a variable or a file, is named by its reference alone (K3)."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("LIMEN_CANARY", key)
    (tmp_path / "key").write_text(key, encoding="utf-8")
    fields = {"env": {"api_key_env": "LIMEN_CANARY"}, "file": {"api_key_file": str(tmp_path / "key")}}
    routes = {name: {"adapter": "deepseek", **where} for name, where in fields.items()}
    words: list[str] = []

    async def call(route: str) -> None:
        async with limen.open_runtime({"routes": routes}) as llm:
            await llm.complete(limen.GenerateOptions(route, "m", [limen.user("hello")]))

    for route in routes:
        with pytest.raises(limen.LlmError) as caught:
            asyncio.run(call(route))
        assert caught.value.code == "INVALID_CREDENTIAL"
        words.append(told(caught.value))

    assert PART not in "\n".join(words) + caplog.text


SECRETS = {
    "X-Gateway-Token": "gate/7f3a2b",
    "Cookie": "session=cook/8d1e4c; theme=dark",
    "Ocp-Apim-Subscription-Key": "ocp/5a6b7c8d",
}
SECRET_PARTS = ("7f3a2b", "cook/8d1e4c", "5a6b7c8d")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("by", ["configuration", "code"])
async def test_no_failure_shows_another_secret_header(
    echo: str, fault: str, by: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A credential in any other header is scrubbed where a provider repeats it, whoever named the header (E5, K1)."""
    caplog.set_level(logging.DEBUG)
    route: dict[str, object] = {"adapter": "openai-chat", "base_url": echo}
    if by == "configuration":
        for place, value in enumerate(SECRETS.values()):
            monkeypatch.setenv(f"LIMEN_SECRET_{place}", value)
        route["headers_env"] = {name: f"LIMEN_SECRET_{place}" for place, name in enumerate(SECRETS)}
        adapter = _compose.make_adapter(load({"routes": {"chat": route}}).routes[0], load({"routes": {}}))
    else:
        from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions

        adapter = OpenAIChatAdapter(OpenAIChatOptions(base_url=echo, headers=SECRETS))
    words: list[str] = [repr(adapter), repr(vars(adapter))]

    async with limen.LlmRuntime() as llm:
        llm.register(["chat"], adapter)
        async with llm.stream(limen.GenerateOptions("chat", fault, [limen.user("hello")])) as stream:
            words += [repr(chunk) async for chunk in stream]
        try:
            await stream.response()
        except limen.LlmError as error:
            words.append(told(error))
        with pytest.raises(limen.LlmError) as caught:
            await llm.list_models("chat")
        words.append(told(caught.value))

    shown = "\n".join(words) + caplog.text
    assert [part for part in SECRET_PARTS if part in shown] == []


async def test_a_key_with_half_a_surrogate(
    echo: str, monkeypatch: pytest.MonkeyPatch, locals_of: Callable[[BaseException], str]
) -> None:
    """A variable that is no UTF-8 is a key that cannot be sent: named by its place, shown nowhere (K3, E5)."""
    monkeypatch.setenv("LIMEN_CANARY", f"{CANARY}\udc80")
    told_words: list[str] = []
    codes: list[str] = []

    async with limen.LlmRuntime(loader=_compose.ConfigLoader(config(echo), None)) as llm:
        await llm.reload()
        for route in ("chat", "messages"):
            for question in (
                llm.complete(limen.GenerateOptions(route, "401", [limen.user("hello")])),
                llm.list_models(route),
            ):
                with pytest.raises(limen.LlmError) as caught:
                    await question
                codes.append(caught.value.code)
                told_words += [told(caught.value), locals_of(caught.value)]

    assert codes == ["INVALID_CREDENTIAL"] * 4
    assert PART not in "\n".join(told_words)


async def test_a_proxy_with_half_a_surrogate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy's address that is no text is a fault of the configuration, without the password in it (E5, K7)."""
    monkeypatch.setenv("HTTPS_PROXY", "http://user:canary\udc80@proxy.example:1")
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime(config("https://far.example/api")):
            pass

    assert (caught.value.code, "canary" in told(caught.value)) == ("INVALID_CONFIG", False)


@pytest.mark.parametrize("fault", [*FAULTS, "refused", "bad-key", "missing"])
async def test_no_frame_holds_the_key(
    echo: str, fault: str, monkeypatch: pytest.MonkeyPatch, locals_of: Callable[[BaseException], str]
) -> None:
    """No local variable of a frame that a failure passes shows the key, as error trackers would print it (E5)."""
    monkeypatch.setenv("LIMEN_CANARY", CANARY if fault != "bad-key" else f"{CANARY} and spaces")
    monkeypatch.setenv("LIMEN_GATE", "" if fault == "missing" else SECRETS["X-Gateway-Token"])
    with MockProvider(listen="refuse") as silent:
        address = silent.url if fault == "refused" else echo
        route = {"adapter": "openai-chat", "base_url": address, "api_key_env": "LIMEN_CANARY"}
        loaded = load({"routes": {"chat": {**route, "headers_env": {"X-Gateway-Token": "LIMEN_GATE"}}}})
        adapter = _compose.make_adapter(loaded.routes[0], loaded)
        words: list[str] = []
        try:
            async for chunk in adapter.stream(limen.GenerateOptions("chat", fault, [limen.user("hello")])):
                words.append(repr(chunk))
        except limen.LlmError as error:
            words.append(locals_of(error))
        finally:
            await adapter.aclose()

    assert words
    assert [part for part in (PART, "7f3a2b") if part in "\n".join(words)] == []
