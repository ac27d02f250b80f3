"""The pages on LiteLLM, SDKs and routers say what the code does: every program runs, every route loads."""

import re
import tomllib
from pathlib import Path

import pytest

from limen import _compose
from limen.config import load

DOCS = Path(__file__).resolve().parents[1] / "docs"
EXAMPLES = DOCS.parent / "examples"


def blocks(page: str, language: str) -> list[str]:
    """The page's blocks of one language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["wrap-an-sdk.md", "adapters-litellm.md"])
def test_every_program_runs(page: str) -> None:
    """A page's programs run in their order, as a reader would type them into one session."""
    programs = blocks(page, "python")
    names: dict[str, object] = {"__name__": "__main__"}
    for program in programs:
        exec(compile(program, page, "exec"), names)  # running what the page shows is the test

    assert programs != []


@pytest.mark.parametrize("block", blocks("compatible-routers.md", "toml"))
def test_every_route_loads(block: str) -> None:
    """Each route of the page is one that limen makes an adapter of."""
    config = load(tomllib.loads(block), known=_compose.known_providers)
    (route,) = config.routes

    assert _compose.make_adapter(route, config) is not None


SETTINGS = [
    setting
    for setting in re.findall(
        r"^\|[^|]*\| `([^`]*)`", (DOCS / "compatible-routers.md").read_text(encoding="utf-8"), re.M
    )
    if "…" not in setting
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_is_taken(setting: str) -> None:
    """Each setting that the page names for an accent is one that a route takes."""
    table = f'[routes.router]\nadapter = "openai-chat"\nbase_url = "https://router.example/v1"\n{setting}\n'
    config = load(tomllib.loads(table), known=_compose.known_providers)
    (route,) = config.routes

    assert _compose.make_adapter(route, config) is not None


def test_the_litellm_route_loads() -> None:
    """The route of the LiteLLM page is read, and its options are the adapter's."""
    (block,) = blocks("adapters-litellm.md", "toml")
    config = load(tomllib.loads(block), known=_compose.known_providers)

    assert [(route.name, route.adapter, dict(route.options)) for route in config.routes] == [
        ("sagecloud", "litellm", {"provider": "sagecloud"})
    ]
    assert _compose.codec_of(config.routes[0]) is None


@pytest.mark.parametrize("name", ["openai_sdk_adapter.py", "anthropic_sdk_adapter.py"])
def test_the_examples_stay_small(name: str) -> None:
    """An adapter around an SDK is about a hundred lines: at most 100 of code, beside imports and documentation."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    code = text.partition("\nclass ")[2]
    lines = [
        line for line in code.splitlines() if line.strip() and '"""' not in line and not line.strip().startswith("#")
    ]

    assert len(lines) <= 100
