"""From configuration to a runtime that calls, and the wires without a network."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

import limen
from limen import _compose
from limen._registration import ADAPTERS, spec_of
from limen.config import Config, Route
from limen.contract import LlmAdapter
from limen.recording import Recorder
from limen.testing.server import MockProvider

KEY = "sk-canary-0123456789abcdef"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder without a configuration, with no provider's key in the environment."""
    monkeypatch.chdir(tmp_path)
    for row in _compose.known_providers():
        for name in (*row.key_variables, *row.address_variables):
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
    assert "LIMEN_TEST_KEY (api_key_env of [routes.main])" in caught.value.failure.message
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
        (
            {"adapter": "fixture"},
            "the adapter fixture has no use for api_key_env, api_key_file and api_key_keyring; leave it out",
        ),
        ({"adapter": "fixture", "api_key_env": None}, "the adapter fixture has no use for base_url; leave it out"),
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
    assert caught.value.failure.message.startswith(f"routes.main - {message}")


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
from typing import Literal

import msgspec

import limen
from limen.adapters import AdapterSpec, WireOptions

class EchoOptions(msgspec.Struct, frozen=True, kw_only=True):
    say: str
    times: int = 1
    tone: Literal["plain", "formal"] = "plain"
    parts: tuple[str, ...] = ()

class Echo(limen.LlmAdapter):
    def __init__(self, options):
        self.said = " ".join((options.say,) * options.times + options.parts)

    async def stream(self, options):
        yield limen.BlockStart(0, "text")
        yield limen.TextDelta(0, self.said)
        yield limen.BlockEnd(0, limen.TextBlock(self.said))
        yield limen.Finish(limen.FinishReason("stop"))

class SilentOptions(msgspec.Struct):
    pass

class Silent(limen.LlmAdapter):
    def __init__(self, options):
        pass

    def stream(self, options):
        raise limen.LlmError("there is nothing to say", "UNSUPPORTED")

def broken(options):
    raise RuntimeError("cannot use {KEY}")

ECHO = AdapterSpec(name="echo", adapter=Echo, options=EchoOptions)
SILENT = AdapterSpec(name="silent", adapter=Silent, options=SilentOptions)
WRONG = AdapterSpec(name="wrong", adapter=lambda options: "no adapter", options=SilentOptions)
BROKEN = AdapterSpec(name="broken", adapter=broken, options=SilentOptions)
"""
ENTRY_POINTS = """
[limen.adapters]
echo = acme_limen_adapters:ECHO
silent = acme_limen_adapters:SILENT
wrong = acme_limen_adapters:WRONG
broken = acme_limen_adapters:BROKEN
gone = acme_limen_adapters:missing
function = acme_limen_adapters:broken
misnamed = acme_limen_adapters:ECHO
"""


def install(folder: Path, name: str, points: str) -> None:
    """Leave a distribution's metadata in a folder, as an installer would."""
    information = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (information / "entry_points.txt").write_text(points, encoding="utf-8")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another distribution that brings adapters."""
    install(tmp_path, "acme-limen-adapters", ENTRY_POINTS)
    (tmp_path / "acme_limen_adapters.py").write_text(ACME, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
async def test_an_adapter_of_another_distribution() -> None:
    """An entry point of the group `limen.adapters` is an adapter in configuration like ours, with its own options."""
    config = {
        "routes": {
            "a": {"adapter": "echo", "options": {"say": "hi", "times": 2, "parts": ["there"]}},
            "b": {"adapter": "silent"},
        }
    }

    async with limen.open_runtime(config) as llm:
        response = await llm.complete(hello("a"))
        with pytest.raises(limen.LlmError, match="there is nothing to say"):
            await llm.complete(hello("b"))

    assert response.text == "hi hi there"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        ("wrong", "routes.a - the adapter wrong made a str, which is no LlmAdapter"),
        (
            "gone",
            "routes.a - acme_limen_adapters:missing of acme-limen-adapters 1.0, which the adapter gone names, cannot "
            "be loaded: AttributeError: module 'acme_limen_adapters' has no attribute 'missing'",
        ),
        (
            "function",
            "routes.a - acme_limen_adapters:broken of acme-limen-adapters 1.0, which the adapter function names, is no "
            "limen.adapters.AdapterSpec but a function",
        ),
        (
            "misnamed",
            "routes.a - acme_limen_adapters:ECHO of acme-limen-adapters 1.0, which the adapter misnamed names, is the "
            "spec of an adapter of another name, 'echo'",
        ),
        ("broken", "routes.a - RuntimeError: cannot use [redacted]"),
    ],
)
async def test_an_entry_point_that_does_not_work(adapter: str, message: str) -> None:
    """A third party's adapter that cannot be made is `INVALID_CONFIG`, its own words scrubbed (K5, E5)."""
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime({"routes": {"a": {"adapter": adapter}}}):
            pass

    assert (caught.value.code, caught.value.failure.message) == ("INVALID_CONFIG", message)
    assert caught.value.__context__ is None


@pytest.mark.usefixtures("installed")
async def test_a_setting_that_the_options_type_does_not_have() -> None:
    """A route's own key for which an adapter has no option is refused in the file, not dropped (K5)."""
    table = {"adapter": "silent", "base_url": "https://a.example/v1"}
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime({"routes": {"a": table}}):
            pass

    assert (caught.value.code, caught.value.failure.message) == (
        "INVALID_CONFIG",
        "routes.a - the adapter silent has no use for base_url; leave it out",
    )


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("adapter", "options", "message"),
    [
        ("echo", {}, "routes.a - the adapter echo needs options.say"),
        (
            "echo",
            {"sai": "hi"},
            "routes.a.options.sai - unknown key of the adapter echo; options are say, times, tone, parts; did you mean "
            "say?",
        ),
        ("echo", {"say": "hi", "times": "two"}, "routes.a.options.times - expected int, got str"),
        ("echo", {"say": "hi", "parts": [1]}, "routes.a.options.parts[0] - expected str, got int"),
        ("echo", {"say": "hi", "tone": "rude"}, "routes.a.options.tone - unknown word 'rude'"),
        (
            "deepseek",
            {"base_url": "https://a.example"},
            "routes.a.options.base_url - this is a key of the route itself: write it into [routes.a]",
        ),
        (
            "deepseek",
            {"app": "mine/1"},
            "routes.a.options.app - a route names the application by user_agent, all routes by name in [app]",
        ),
        (
            "deepseek",
            {"keep_alive": 3},
            "routes.a.options.keep_alive - unknown key of the adapter deepseek; there are no options beside the "
            "route's own keys",
        ),
        ("fixture", {"loop": True}, "routes.a.options.loop - unknown key of the adapter fixture; there are no options"),
    ],
)
async def test_an_option_that_does_not_validate(adapter: str, options: dict[str, object], message: str) -> None:
    """Options of a route are checked against the adapter's options type, and refused with their key path (K1, K5)."""
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime({"routes": {"a": {"adapter": adapter, "options": options}}}):
            pass

    assert caught.value.code == "INVALID_CONFIG"
    assert caught.value.failure.message.startswith(message)


@pytest.mark.usefixtures("installed")
async def test_a_name_that_two_distributions_register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that two distributions claim, limen being one, is refused with both; every other name works."""
    points = "[limen.adapters]\necho = elsewhere:SPEC\ndeepseek = elsewhere:SPEC\n"
    install(tmp_path / "other", "other-adapters", points)
    monkeypatch.syspath_prepend(str(tmp_path / "other"))

    messages: list[str] = []
    for adapter in ("echo", "deepseek"):
        with pytest.raises(limen.LlmError) as caught:
            async with limen.open_runtime({"routes": {"a": {"adapter": adapter}}}):
                pass
        assert caught.value.code == "INVALID_CONFIG"
        messages.append(caught.value.failure.message)
    async with limen.open_runtime({"routes": {"a": {"adapter": "openai-chat"}}}) as llm:
        routes = [info.id for info in llm.list_providers()]

    begin = "routes.a - the adapter '{}' is registered by "
    assert messages == [
        begin.format("echo") + "other-adapters 1.0 and acme-limen-adapters 1.0; uninstall all of these but one",
        begin.format("deepseek") + "limen and other-adapters 1.0; uninstall all of these but one",
    ]
    assert routes == ["a"]


WIRES = """
from limen.adapters import AdapterSpec, CodecWire, WireOptions

def spec(name, wire):
    return AdapterSpec(name=name, adapter=lambda options: None, options=WireOptions, wire=wire)

class Row:
    key_variables = ()

FIRST = spec("first", CodecWire("lines", {"plain": Row()}, default_dialect="plain"))
SECOND = spec("second", CodecWire("lines", {"plain": Row()}, default_dialect="plain"))
CHAT = spec("chat", CodecWire("openai-chat", {"plain": Row()}, default_dialect="plain"))
THIRD = spec("third", CodecWire("signs", {"plain": Row()}, default_dialect="plain"))
"""


def test_a_wire_that_two_distributions_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wire's name belongs to one distribution: another's is refused with both, and the rest stays usable."""
    (tmp_path / "lines_wires.py").write_text(WIRES, encoding="utf-8")
    install(tmp_path, "one-wires", "[limen.adapters]\nfirst = lines_wires:FIRST\nchat = lines_wires:CHAT\n")
    install(tmp_path, "two-wires", "[limen.adapters]\nsecond = lines_wires:SECOND\nthird = lines_wires:THIRD\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(limen.LlmError) as caught:
        limen.iter_chunks("lines", b"")

    words = caught.value.failure.message
    assert caught.value.code == "INVALID_CONFIG"
    assert sorted(words.removeprefix("the wire 'lines' is registered by ").partition(";")[0].split(" and ")) == [
        "one-wires 1.0",
        "two-wires 1.0",
    ]
    assert list(limen.wires()) == ["openai-chat", "anthropic-messages", "bedrock-converse", "signs"]
    assert _compose.faults() == {
        "chat": "lines_wires:CHAT of one-wires 1.0, which the adapter chat names, has a wire of its own named "
        "'openai-chat', which is the name of limen's"
    }


def test_each_registration_repeats_its_spec() -> None:
    """A row of `ADAPTERS` names adapter and wire as the spec does, so that neither need be loaded to be found."""
    for own in ADAPTERS:
        spec = spec_of(own.name)
        assert (own.name, own.wire) == (spec.name, None if spec.wire is None else spec.wire.name)


@pytest.mark.parametrize("adapter", ["deepseek", "anthropic-messages"])
def test_a_route_loads_its_own_adapter_alone(adapter: str) -> None:
    """`import limen` loads no adapter, and a route no other one's package."""
    code = (
        "import sys, limen; from limen import _compose; from limen.config import load\n"
        "def loaded(): return sorted({n.split('.')[2] for n in sys.modules if n.startswith('limen.adapters.')})\n"
        "before = loaded()\n"
        f"config = load({{'routes': {{'a': {{'adapter': {adapter!r}}}}}}})\n"
        "_compose.make_adapter(config.routes[0], config)\n"
        "print(before, [name for name in loaded() if name[0] != '_' and name != 'kit'])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    own = ["deepseek", "openai_chat"] if adapter == "deepseek" else ["anthropic"]
    assert answer.stdout.strip() == f"[] {own}"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "base_url cannot be used: it is no http(s) address"),
        ("http://far.example/v1", "base_url is plain http to another machine (http://far.example/v1)"),
        ("https://far.example/v1/chat/completions", "base_url holds a part of the path that openai-chat adds itself"),
    ],
)
async def test_an_address_of_the_environment_that_cannot_be_used(
    provider: MockProvider, monkeypatch: pytest.MonkeyPatch, url: str, message: str
) -> None:
    """A wrong address in the environment is said by its own route when that is called; the others work (K4, K6)."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    monkeypatch.setenv("DEEPSEEK_BASE_URL", provider.base_url("openai-chat"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", url)

    async with limen.open_runtime() as llm:
        routes = sorted(info.id for info in llm.list_providers())
        answer = await llm.complete(hello("deepseek"))
        with pytest.raises(limen.LlmError) as caught:
            await llm.complete(hello("openai"))
        with pytest.raises(limen.LlmError) as listing:
            await llm.list_models("openai")

    assert (routes, answer.text) == (["deepseek", "openai"], "Hello from the mock provider.")
    assert (caught.value.code, listing.value.code) == ("INVALID_CONFIG", "INVALID_CONFIG")
    assert caught.value.failure.message.startswith(f"the environment variable OPENAI_BASE_URL - {message}")


@pytest.mark.parametrize(
    ("adapter", "base_url", "wanted"),
    [
        ("openai-chat", "https://a.example/v1/chat/completions", "https://a.example/v1"),
        ("openai-chat", "https://a.example/v1/chat/completions/", "https://a.example/v1"),
        ("openai-chat", "https://a.example/chat/completions/v2", "https://a.example"),
        ("openai-chat", "https://a.example/v1/v1", "https://a.example/v1"),
        ("anthropic-messages", "https://a.example/anthropic/v1", "https://a.example/anthropic"),
        ("anthropic-messages", "https://a.example/v1/messages", "https://a.example"),
        ("anthropic-messages", "https://a.example/v1/v1/messages", "https://a.example"),
    ],
)
async def test_a_base_url_with_the_wires_own_path(adapter: str, base_url: str, wanted: str) -> None:
    """A base URL that holds what the wire adds itself is refused with the address to write (NQ348)."""
    with pytest.raises(limen.LlmError) as caught:
        async with limen.open_runtime({"routes": {"a": {"adapter": adapter, "base_url": base_url}}}):
            pass

    assert caught.value.code == "INVALID_CONFIG"
    assert caught.value.failure.message.endswith(f": write {wanted} in place of {base_url}")


@pytest.mark.parametrize(
    "base_url", ["https://a.example/v1", "https://v1.example/api/v2/x/v2", "https://a.example/chat"]
)
async def test_a_base_url_that_only_looks_doubled(base_url: str) -> None:
    """An address is refused for the wire's own path alone, not for a word of it."""
    async with limen.open_runtime({"routes": {"a": {"adapter": "openai-chat", "base_url": base_url}}}) as llm:
        assert [info.id for info in llm.list_providers()] == ["a"]


async def test_a_404_names_the_address(provider: MockProvider) -> None:
    """Where nothing is at an address, the failure names it: what is wrong is most often the base URL (NQ348)."""
    wrong = provider.url + "/elsewhere"
    config = {"routes": {"a": {"adapter": "openai-chat", "dialect": "vllm", "base_url": wrong}}}
    provider.use("text+404")

    async with limen.open_runtime(config) as llm:
        with pytest.raises(limen.LlmError) as caught:
            await llm.complete(hello("a", "m"))

    assert caught.value.code == "HTTP_404"
    assert caught.value.failure.message.endswith(f"(asked: {wrong}/chat/completions)")


async def test_NQ352_proxies_of_the_environment_reach_the_adapter(
    provider: MockProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that the environment names is used for a far address only; one that nobody speaks is refused (K7)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", KEY)
    monkeypatch.setenv("HTTP_PROXY", provider.url)
    monkeypatch.setenv("HTTPS_PROXY", "gopher://user:canary@127.0.0.1:1")
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
    assert "canary" not in caught.value.failure.message


def test_known_providers_are_rows_of_the_wires() -> None:
    """Every row with a conventional key or server address is a provider, each key once; a lone adapter is used."""
    rows = {row.route: row for row in _compose.known_providers()}

    assert (rows["deepseek"].adapter, rows["deepseek"].dialect) == ("deepseek", None)
    assert (rows["openai"].adapter, rows["openai"].dialect) == ("openai-chat", "openai")
    assert (rows["anthropic"].adapter, rows["anthropic"].dialect) == ("anthropic-messages", "anthropic")
    assert (rows["sglang"].key_variables, rows["sglang"].address_variables) == ((), ("SGLANG_BASE_URL",))
    assert "generic" not in rows
    keys = [row.key_variables[0] for row in rows.values() if row.key_variables]
    assert len(set(keys)) == len(keys)


def test_the_row_of_a_route() -> None:
    """A route follows its own dialect, else the one that its adapter takes for its address; a fixture follows none."""
    far = "https://a.example/v1"
    routes: tuple[tuple[str, dict[str, str]], ...] = (
        ("deepseek", {}),
        ("openai-chat", {}),
        ("openai-chat", {"base_url": far}),
        ("openai-chat", {"dialect": "groq", "base_url": far}),
        ("fixture", {"path": "a.json"}),
    )

    found = [
        _compose.codec_of(structs.replace(Route(name="a", adapter=name, place=""), **fields)) for name, fields in routes
    ]

    assert [codec and codec.dialect for codec in found] == ["deepseek", "openai", "generic", "groq", None]


@pytest.mark.parametrize("settings", [{"dialect": "klingon"}, {"options": {"a": 1}}, {"path": "a.json"}])
def test_the_row_of_a_route_that_cannot_be(settings: dict[str, object]) -> None:
    """A route that makes no adapter follows no row: `INVALID_CONFIG`, as the adapter says it."""
    route = structs.replace(Route(name="a", adapter="deepseek", place="[routes.a]"), **settings)

    failures: list[str] = []
    for ask in (_compose.codec_of, _compose.credential_of, lambda one: _compose.make_adapter(one, Config())):
        with pytest.raises(limen.LlmError) as caught:
            ask(route)
        assert caught.value.code == "INVALID_CONFIG"
        failures.append(caught.value.failure.message)

    assert len(set(failures)) == 1


def test_the_loop_is_not_needed_to_make_an_adapter(provider: MockProvider) -> None:
    """Adapters are made without a running loop, so a configuration can be checked anywhere."""
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    config = limen.config.load(document(provider))

    assert isinstance(_compose.make_adapter(config.routes[0], config), LlmAdapter)
