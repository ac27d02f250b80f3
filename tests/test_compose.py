"""From configuration to a runtime that calls, and the wires without a network."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import limen
from limen import _compose
from limen.config import Route
from limen.contract import LlmAdapter
from limen.recording import Recorder
from limen.testing.server import MockProvider

KEY = "sk-canary-0123456789abcdef"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder without a configuration, with no provider's key in the environment."""
    monkeypatch.chdir(tmp_path)
    for row in _compose.known_providers():
        for name in row.key_variables:
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def provider() -> Iterator[MockProvider]:
    """A provider on this machine."""
    with MockProvider() as running:
        yield running


def document(provider: MockProvider, **fields: object) -> dict[str, object]:
    """A configuration with one route to the provider."""
    route = {"adapter": "deepseek", "base_url": provider.base_url("openai-chat"), "api_key_env": "LIMEN_TEST_KEY"}
    return {"routes": {"main": {**route, **fields}}}


def hello(route: str = "main", model: str = "mock-text") -> limen.GenerateOptions:
    """A small request."""
    return limen.GenerateOptions(route, model, [limen.user("hello")])


async def test_a_configured_route_calls(provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """`open_runtime` makes the file's routes; a call has the key, the headers and the application's name (K2, Q7)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
    config = document(provider, headers={"X-Title": "limen"}, user_agent="tests/1")

    async with limen.open_runtime(config) as llm:
        response = await llm.complete(hello())

    request = provider.requests[0]
    assert response.text == "Hello from the mock provider."
    assert request.header("authorization") == f"Bearer {KEY}"
    assert request.header("x-title") == "limen"
    assert request.header("user-agent") == f"tests/1 limen/{limen.__version__}"


async def test_without_a_file_the_environment_makes_the_routes(
    provider: MockProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each provider whose conventional key is set is a route, once, under its own name (K7)."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    monkeypatch.setenv("DEEPSEEK_BASE_URL", provider.base_url("openai-chat"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    async with limen.open_runtime(app="tests/1") as llm:
        routes = sorted(info.id for info in llm.list_providers())
        response = await llm.complete(hello("deepseek"))

    assert routes == ["anthropic", "deepseek", "openai"]
    assert response.text == "Hello from the mock provider."


async def test_an_open_runtime_retries(provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """`open_runtime` installs the route's retry policy for `stream()` and `complete()` (R9)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
    provider.use(["text+500", "text", "text+500", "text"])
    retry = {"initial_delay_ms": 1, "max_delay_ms": 1}

    async with limen.open_runtime(document(provider, retry=retry)) as llm:
        response = await llm.complete(hello(model="m"))
        async with llm.stream(hello(model="m")) as stream:
            chunks = [chunk async for chunk in stream]

    assert response.info is not None
    assert (response.info.attempts, stream.info.attempts) == (2, 2)
    assert isinstance(chunks[-1], limen.Finish)
    assert len(provider.requests) == 4


async def test_a_key_is_asked_for_at_every_call(provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """A route without its key is there and says what is missing; once the key is set the next call has it (K4, K7)."""
    async with limen.open_runtime(document(provider)) as llm:
        with pytest.raises(limen.LlmError) as caught:
            await llm.complete(hello())
        monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
        response = await llm.complete(hello())

    assert caught.value.code == "MISSING_CREDENTIAL"
    assert "LIMEN_TEST_KEY (api_key_env of [routes.main])" in str(caught.value)
    assert response.text == "Hello from the mock provider."


async def test_reload_is_all_or_nothing(
    provider: MockProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken file leaves the last good configuration in force, whole; a good one takes over in one step (K5)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
    file = tmp_path / "some.toml"
    good = f"""
[routes.{{}}]
adapter = "deepseek"
base_url = "{provider.base_url("openai-chat")}"
api_key_env = "LIMEN_TEST_KEY"
"""
    file.write_text(good.format("one"), encoding="utf-8")
    topology: list[tuple[str, ...]] = []

    async with limen.open_runtime("some.toml") as llm:
        llm.on_topology(topology.append)
        monkeypatch.chdir("/")  # the file is remembered, wherever the program stands
        faults: list[str] = []
        for text in (good.format("two") + "timeout = 3\n", good.format("two") + 'path = "x"\n', "["):
            file.write_text(text, encoding="utf-8")
            with pytest.raises(limen.LlmError) as caught:
                await llm.reload()
            faults.append(caught.value.code)
            assert (await llm.complete(hello("one"))).text == "Hello from the mock provider."
        file.write_text(good.format("two"), encoding="utf-8")
        await llm.reload()

        assert faults == ["INVALID_CONFIG"] * 3
        assert [info.id for info in llm.list_providers()] == ["two"]
        assert topology == [("two",)]


async def test_a_call_in_flight_keeps_its_snapshot(provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reload does not touch a stream that runs: it ends as it began (K2)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)

    async with limen.open_runtime(document(provider)) as llm, llm.stream(hello(model="mock-long")) as stream:
        first = await anext(aiter(stream))
        await llm.reload({"routes": {}})
        response = await stream.response()

        assert isinstance(first, limen.BlockStart)
        assert response.finish.kind == "stop"
        assert llm.list_providers() == []


async def test_an_unchanged_route_keeps_its_adapter(provider: MockProvider) -> None:
    """A route that a reload does not change keeps its adapter, so that replay state stays its own (R5)."""
    loader = _compose.ConfigLoader(document(provider), None)
    before = await loader()
    same = await loader(document(provider))
    other = await loader(document(provider, default_max_tokens=7))

    assert same[0][1] is before[0][1]
    assert other[0][1] is not before[0][1]


async def test_reload_takes_paths_and_documents_only(provider: MockProvider) -> None:
    """Anything else is no configuration, and changes nothing (K5)."""
    async with limen.open_runtime(document(provider)) as llm:
        with pytest.raises(limen.LlmError, match="a configuration is a path or a mapping, not a int"):
            await llm.reload(3)

        assert [info.id for info in llm.list_providers()] == ["main"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"adapter": "depseek"}, "there is no adapter 'depseek'; there are openai-chat, deepseek, anthropic-messages"),
        ({"dialect": "none-such"}, "the wire openai-chat has no dialect 'none-such'"),
        ({"path": "x"}, "the adapter deepseek has no use for path; leave it out"),
        ({"options": {"a": 1}}, "the adapter deepseek has no use for options; leave it out"),
        ({"adapter": "fixture"}, "the adapter fixture has no use for base_url; leave it out"),
    ],
)
async def test_a_route_that_makes_no_adapter(provider: MockProvider, fields: dict[str, object], message: str) -> None:
    """A route whose adapter cannot be made is `INVALID_CONFIG`, naming the route and what to do (K5)."""
    if fields.get("dialect"):
        fields = {"adapter": "openai-chat", **fields}
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime(document(provider, **fields)):
            pass

    assert caught.value.code == "INVALID_CONFIG"
    assert str(caught.value).startswith(f"routes.main - {message}")


async def test_a_fixture_is_a_route(tmp_path: Path) -> None:
    """`adapter = "fixture"` serves a fixture, a sample by its bare name (F30); the path must be there."""
    config = {"routes": {"demo": {"adapter": "fixture", "path": "provider-tool-roundtrip.json"}}}

    async with limen.open_runtime(config) as llm:
        response = await llm.complete(hello("demo"))
    assert [call.name for call in response.tool_calls] == ["add"]

    for fields, words in (({}, "the adapter fixture needs path"), ({"path": str(tmp_path / "none.json")}, "none.json")):
        with pytest.raises(limen.LlmError, match=words):
            async with limen.open_runtime({"routes": {"demo": {"adapter": "fixture", **fields}}}):
                pass


async def test_a_cassette_is_a_route(provider: MockProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`adapter = "cassette"` answers from recorded traffic, through the real parser and without a network (C16)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
    file = tmp_path / "calls.json"
    async with limen.open_runtime(document(provider)) as llm:
        llm.use(Recorder(file, wires={"main": ("openai-chat", "deepseek")}))
        live = await llm.complete(hello())
    asked = len(provider.requests)

    async with limen.open_runtime({"routes": {"main": {"adapter": "cassette", "path": str(file)}}}) as llm:
        replayed = await llm.complete(hello())
        with pytest.raises(limen.LlmError) as caught:
            await llm.complete(hello(model="another"))

    assert (replayed.text, replayed.usage, replayed.finish) == (live.text, live.usage, live.finish)
    assert caught.value.code == "INVALID_OPTIONS"
    assert (asked, len(provider.requests)) == (1, 1)
    assert KEY not in file.read_text(encoding="utf-8")


ACME = f"""
import limen

class Echo(limen.LlmAdapter):
    def __init__(self, route):
        self.said = route.options["say"]

    async def stream(self, options):
        yield limen.BlockStart(0, "text")
        yield limen.TextDelta(0, self.said)
        yield limen.BlockEnd(0, limen.TextBlock(self.said))
        yield limen.Finish(limen.FinishReason("stop"))

class Silent(limen.LlmAdapter):
    def stream(self, options):
        raise limen.LlmError("there is nothing to say", "UNSUPPORTED")

def no_adapter():
    return "no adapter"

def broken(route):
    raise RuntimeError(f"{{route.name}} cannot use {KEY}")
"""
ENTRY_POINTS = """
[limen.adapters]
echo = acme_limen_adapters:Echo
silent = acme_limen_adapters:Silent
wrong = acme_limen_adapters:no_adapter
broken = acme_limen_adapters:broken
gone = acme_limen_adapters:missing
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another distribution that brings adapters, as an installer would leave it."""
    information = tmp_path / "acme_limen_adapters-1.0.dist-info"
    information.mkdir()
    (tmp_path / "acme_limen_adapters.py").write_text(ACME, encoding="utf-8")
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-limen-adapters\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
async def test_an_adapter_of_another_distribution() -> None:
    """An entry point of the group `limen.adapters` is an adapter in configuration like ours; it gets its route."""
    config = {"routes": {"a": {"adapter": "echo", "options": {"say": "hi"}}, "b": {"adapter": "silent"}}}

    async with limen.open_runtime(config) as llm:
        response = await llm.complete(hello("a"))
        with pytest.raises(limen.LlmError, match="there is nothing to say"):
            await llm.complete(hello("b"))

    assert response.text == "hi"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        ("wrong", "routes.a - the entry point acme_limen_adapters:no_adapter made a str, not an LlmAdapter"),
        ("gone", "routes.a - AttributeError: module 'acme_limen_adapters' has no attribute 'missing'"),
        ("broken", "routes.a - RuntimeError: a cannot use [redacted]"),
    ],
)
async def test_an_entry_point_that_does_not_work(adapter: str, message: str) -> None:
    """A third party's adapter that cannot be made is `INVALID_CONFIG`, its own words scrubbed (K5, E5)."""
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime({"routes": {"a": {"adapter": adapter}}}):
            pass

    assert (caught.value.code, str(caught.value)) == ("INVALID_CONFIG", message)
    assert caught.value.__context__ is None


@pytest.mark.usefixtures("installed")
async def test_an_entry_point_that_takes_no_route_takes_no_settings() -> None:
    """What a third party's adapter is never told is refused in the file, not dropped (K5)."""
    table = {"adapter": "silent", "base_url": "https://a.example/v1", "api_key_env": "LIMEN_TEST_KEY"}
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime({"routes": {"a": table}}):
            pass

    assert (caught.value.code, str(caught.value)) == (
        "INVALID_CONFIG",
        "routes.a - the adapter silent has no use for base_url; leave it out",
    )


def test_a_route_does_not_show_the_password_of_its_proxy() -> None:
    """A proxy's address may hold a password, and no repr shows one (E5)."""
    route = Route(name="a", adapter="echo", place="[routes.a]", proxy="http://user:canary@proxy.example:1")

    assert repr(route).startswith("Route(name='a', adapter='echo', place='[routes.a]', dialect=None, ")
    assert "canary" not in repr(route)


async def test_proxies_of_the_environment_reach_the_adapter(
    provider: MockProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that the environment names is used for a far address and not for this machine (K7)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
    monkeypatch.setenv("HTTP_PROXY", provider.url)
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:canary@127.0.0.1:1")
    far = document(provider, base_url="http://far.example/v1", allow_plain_http=True)

    async with limen.open_runtime(document(provider)) as llm:
        near = await llm.complete(hello())
    async with limen.open_runtime(far) as llm:
        await llm.complete(hello())
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime(document(provider, base_url="https://far.example/v1")):
            pass

    assert near.text == "Hello from the mock provider."
    assert [request.path for request in provider.requests] == [
        "/v1/chat/completions",
        "http://far.example/v1/chat/completions",
    ]
    assert caught.value.code == "INVALID_CONFIG"
    assert "canary" not in str(caught.value)


def test_known_providers_are_rows_of_the_wires() -> None:
    """Every row with a conventional key is a provider, each key once; the adapter for one provider alone is used."""
    rows = {row.route: row for row in _compose.known_providers()}

    assert (rows["deepseek"].adapter, rows["deepseek"].dialect) == ("deepseek", None)
    assert (rows["openai"].adapter, rows["openai"].dialect) == ("openai-chat", "openai")
    assert (rows["anthropic"].adapter, rows["anthropic"].dialect) == ("anthropic-messages", "anthropic")
    keys = [row.key_variables[0] for row in rows.values()]
    assert len(set(keys)) == len(keys)


def test_the_row_of_a_route() -> None:
    """A route follows its own dialect, its adapter's, or the wire's default; a fixture follows none."""
    routes = (("deepseek", None), ("openai-chat", None), ("openai-chat", "groq"), ("fixture", None))

    found = [_compose.codec_of(Route(name="a", adapter=name, place="", dialect=row)) for name, row in routes]

    assert [codec and codec.dialect for codec in found] == ["deepseek", "generic", "groq", None]


def test_the_loop_is_not_needed_to_make_an_adapter(provider: MockProvider) -> None:
    """Adapters are made without a running loop, so a configuration can be checked anywhere."""
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    config = limen.config.load(document(provider))

    assert isinstance(_compose.make_adapter(config.routes[0], config), LlmAdapter)
