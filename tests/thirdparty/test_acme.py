"""An adapter of another distribution, on a wire of its own: found by its entry point, judged by the kit."""

import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from acme_limen.conformance import WIRE, make

import limen
from limen.contract import Finish, LlmError, user
from limen.testing.conformance import Endpoint, WireDescription
from limen.testing.server import MockProvider

DISTRIBUTION = Path(__file__).parent / "acme-limen"


@pytest.mark.limen_adapter(make, wire=WIRE)
def test_contract(conformance_rule: Callable[[], None]) -> None:
    """Every rule that an adapter can keep is kept by one that limen does not know."""
    conformance_rule()


def test_it_is_known_by_its_entry_point_alone() -> None:
    """The distribution's metadata names the adapter, and nothing in limen does."""
    (point,) = (point for point in entry_points(group="limen.adapters") if point.name == "acme")
    sources = "".join(path.read_text(encoding="utf-8") for path in (Path(limen.__file__).parent).rglob("*.py"))

    written = tomllib.loads((DISTRIBUTION / "pyproject.toml").read_text(encoding="utf-8"))
    assert written["project"]["entry-points"]["limen.adapters"] == {"acme": point.value} == {"acme": "acme_limen:SPEC"}
    assert "acme" not in sources.lower()


async def test_a_route_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A route that names the entry point calls through it, with the key that the route names."""
    monkeypatch.setenv("SOME_KEY", "acme-key-0123456789")
    async with MockProvider("tools", wires=(WIRE,)) as mock:
        config = tmp_path / "limen.toml"
        config.write_text(
            f'[routes.work]\nadapter = "acme"\nbase_url = "{mock.base_url("acme-lines")}"\napi_key_env = "SOME_KEY"\n',
            encoding="utf-8",
        )
        async with limen.open_runtime(config) as llm:
            response = await llm.complete(limen.GenerateOptions("work", "acme-1", [user("What is 20 + 22?")]))

    assert [(call.name, call.arguments) for call in response.tool_calls] == [("add", '{"left":20,"right":22}')]
    assert mock.requests[0].header("x-acme-key") == "acme-key-0123456789"


async def test_every_key_of_the_route_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key of a route, and its own option, holds for an adapter of another distribution too (R9)."""
    monkeypatch.setenv("SOME_KEY", "acme-key-0123456789")
    async with MockProvider("text+500", wires=(WIRE,)) as mock:
        config = tmp_path / "limen.toml"
        config.write_text(
            f'[routes.work]\nadapter = "acme"\nbase_url = "{mock.base_url("acme-lines")}"\ndefault_max_tokens = 77\n'
            'headers = { x-team = "blue" }\nretry = { max_retries = 1, initial_delay_ms = 1 }\nuser_agent = "app/1"\n'
            'api_key_env = "SOME_KEY"\noptions = { tone = "formal" }\n',
            encoding="utf-8",
        )
        async with limen.open_runtime(config) as llm:
            with pytest.raises(LlmError) as caught:
                await llm.complete(limen.GenerateOptions("work", "acme-1", [user("Hello")]))

    told = [
        (one.header("x-team"), one.header("user-agent"), one.header("x-acme-tone"), one.at("limit"))
        for one in mock.requests
    ]
    assert caught.value.code == "SERVER"
    assert told == [("blue", f"app/1 limen/{limen.__version__}", "formal", 77)] * 2


async def test_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's proxy is used by an adapter of another distribution as by limen's own (K7)."""
    monkeypatch.setenv("SOME_KEY", "acme-key-0123456789")
    table = {
        "adapter": "acme",
        "base_url": "http://far.example/v3",
        "api_key_env": "SOME_KEY",
        "allow_plain_http": True,
    }
    async with MockProvider("text", wires=(WIRE,)) as mock:
        monkeypatch.setenv("HTTP_PROXY", mock.url)
        async with limen.open_runtime({"routes": {"work": table}}) as llm:
            await llm.complete(limen.GenerateOptions("work", "acme-1", [user("Hello")]))

    assert [request.path for request in mock.requests] == ["http://far.example/v3/generate"]


async def test_a_key_that_it_cannot_use_is_refused(tmp_path: Path) -> None:
    """A key or value that the adapter does not have is INVALID_CONFIG with its path."""
    config = tmp_path / "limen.toml"
    messages: list[str] = []
    for line in ('path = "a.json"', 'dialect = "blue"', 'options = { tone = "loud" }', 'options = { ton = "plain" }'):
        config.write_text(f'[routes.work]\nadapter = "acme"\n{line}\n', encoding="utf-8")
        with pytest.raises(LlmError) as caught:
            async with limen.open_runtime(config):
                pass
        assert caught.value.code == "INVALID_CONFIG"
        messages.append(caught.value.failure.message.removeprefix(f"{config}: "))

    assert messages == [
        "routes.work - the adapter acme has no use for path; leave it out",
        "routes.work - the wire acme-lines has no dialect 'blue'; it has acme",
        "routes.work.options.tone - unknown word 'loud'",
        "routes.work.options.ton - unknown key of the adapter acme; options are tone; did you mean tone?",
    ]


async def test_an_unknown_adapter_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    """A name that no entry point has is INVALID_CONFIG, and the message lists Acme's."""
    config = tmp_path / "limen.toml"
    config.write_text('[routes.work]\nadapter = "nobody"\n', encoding="utf-8")

    with pytest.raises(LlmError, match="acme") as caught:
        async with limen.open_runtime(config):
            pass
    assert caught.value.code == "INVALID_CONFIG"


async def test_a_conversation_with_seals() -> None:
    """A thought that Acme sealed goes back under its seal."""
    assert isinstance(WIRE, WireDescription)
    async with MockProvider("reasoning-tools", wires=(WIRE,)) as mock, limen.LlmRuntime() as llm:
        llm.register(["acme"], make(Endpoint(base_url=mock.base_url("acme-lines"))))
        first = await llm.complete(limen.GenerateOptions("acme", "m", [user("What is 20 + 22?")]))
        assert first.message is not None
        history = [user("What is 20 + 22?"), first.message, limen.tool_result("call_add_1", "42")]
        chunks = [chunk async for chunk in llm.stream(limen.GenerateOptions("acme", "m", history))]

    assert isinstance(chunks[-1], Finish)
    assert mock.requests[1].at("turns", 1) == {"who": "model", "think": "I need the add tool.", "seal": "c2lnbmF0dXJl"}
