"""What docs/calling.md and docs/configuring.md say is what the code does: every block runs."""

import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import limen
from limen import _compose
from limen.cli import run
from limen.config import load
from limen.config._schema import ModelTable, RouteTable
from limen.contract import RetryPolicy
from limen.testing.server import MockProvider, RecordedRequest
from surroundings import with_routes

DOCS = Path(__file__).resolve().parents[1] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """The page's blocks of one language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def answer(request: RecordedRequest) -> str:
    """Call the tool where one is offered, else say hello."""
    return "tools" if b'"tools"' in request.body else "text"


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MockProvider]:
    """A provider on this machine, as three routes of an otherwise empty environment."""
    monkeypatch.chdir(tmp_path)
    with MockProvider(answer) as running:
        with_routes(monkeypatch, running)
        yield running


@pytest.mark.parametrize(
    "block",
    [code for page in ("calling.md", "configuring.md", "batches.md", "pricing.md") for code in blocks(page, "python")],
)
def test_every_program_runs(provider: MockProvider, block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each block is a whole program that runs to its end."""
    exec(compile(block, "docs", "exec"), {"__name__": "__main__"})  # running what the page shows is the test

    capsys.readouterr()


@pytest.mark.parametrize("page", ["index", "testing", "recording", "mock-server", "views", "tools"])
def test_every_program_of_a_page_runs_in_its_order(
    provider: MockProvider, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each block is a whole program; it may read the files that the blocks before it wrote."""
    for block in blocks(f"{page}.md", "python"):
        exec(compile(block, page, "exec"), {"__name__": "__main__"})  # running what the page shows is the test

    capsys.readouterr()


def test_the_tools_loop_ends_with_the_sum(provider: MockProvider, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's loop over tool calls does the whole round trip."""
    (loop,) = (block for block in blocks("calling.md", "python") if "limen.tool_result" in block)

    exec(compile(loop, "docs", "exec"), {"__name__": "__main__"})  # running what the page shows is the test

    assert capsys.readouterr().out == "The sum is 42.\n"
    assert len(provider.requests) == 2


@pytest.mark.parametrize("page", ["calling.md", "configuring.md", "command.md"])
def test_every_command_runs(provider: MockProvider, page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each line of a shell block is a command that succeeds."""
    (tmp_path / "other.toml").write_text("[routes.demo]\nadapter = 'deepseek'\n", encoding="utf-8")
    (tmp_path / "prompt").write_text("Say hello.\n", encoding="utf-8")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "schema.json").write_text('{"type":"object","properties":{}}', encoding="utf-8")
    for line in "".join(blocks(page, "sh")).splitlines():
        command, _, _ = line.rpartition("| ")[2].partition("   #")
        words = shlex.split(command)
        assert words[0] == "limen"
        with (tmp_path / "prompt").open(encoding="utf-8") as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            assert run(words[1:]) == 0


def test_the_documented_file_makes_its_routes(provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's `limen.toml` validates, and each route of it makes an adapter."""
    config = load(tomllib.loads(blocks("configuring.md", "toml")[0]))

    assert [route.name for route in config.routes] == ["deepseek", "work", "claude", "here", "gateway", "demo"]
    assert all(isinstance(_compose.make_adapter(route, config), limen.LlmAdapter) for route in config.routes)


def test_every_key_of_a_route_is_documented() -> None:
    """The table names each key that a route, a model and a retry policy may have."""
    text = (DOCS / "configuring.md").read_text(encoding="utf-8")
    keys = [*RouteTable.__struct_fields__, *ModelTable.__struct_fields__, *RetryPolicy.__struct_fields__]

    assert [key for key in keys if f"`{key}`" not in text] == []


def test_the_documented_message(tmp_path: Path) -> None:
    """The message that the page shows is the one that a misspelt key gets."""
    shown = blocks("configuring.md", "text")[0].strip()
    file = tmp_path / "limen.toml"
    file.write_text("\n\n\n\n[routes.work]\nadapter = 'deepseek'\ntimeout = { connect = 3 }\n", encoding="utf-8")
    with pytest.raises(limen.LlmError) as caught:
        load(file)

    begin, end = shown.split("…")
    said = caught.value.failure.message.removeprefix(f"{tmp_path}{os.sep}")
    assert said.startswith(begin)
    assert said.endswith(end)
