"""What docs/tools.md says is what the code does: every block runs, and the tables are complete."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from limen.contract import codes
from limen.testing.server import MockProvider, RecordedRequest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def answer(request: RecordedRequest) -> str:
    """Call the tool where one is offered, else say hello."""
    return "tools" if b'"tools"' in request.body else "text"


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MockProvider]:
    """A provider on this machine as the route `deepseek`."""
    monkeypatch.chdir(tmp_path)
    with MockProvider(answer) as running:
        monkeypatch.setenv("DEEPSEEK_API_KEY", "not-a-real-key")
        monkeypatch.setenv("DEEPSEEK_BASE_URL", running.base_url("openai-chat"))
        yield running


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_runs_and_prints_what_it_says(provider: MockProvider, block: str) -> None:
    """Each block is a program that runs to its end and prints what its comments say."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(
            compile(block, "docs/tools.md", "exec"), {"__name__": "__main__"}
        )  # running what the page shows is the test

    for expected in re.findall(r"^ *print\(.*\) +# (.+)$", block, re.MULTILINE):
        assert expected in said.getvalue()


def test_the_tutorial_ends_with_the_sum(provider: MockProvider) -> None:
    """The tutorial's programs do the whole round trip."""
    for block in BLOCKS[1:4]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(block, "docs/tools.md", "exec"), {"__name__": "__main__"})  # as above
        assert "The sum is 42." in said.getvalue()


def test_the_page_names_every_code_of_a_result() -> None:
    """The table of codes has each `TOOL_` code, and the page each code that is raised."""
    tools = [code for code in codes.CODES if "TOOL" in code or code == "INVALID_OUTPUT"]

    assert [code for code in tools if f"`{code}`" not in PAGE] == []


def test_the_comparison_counts_its_lines() -> None:
    """The page says how long the same agent is in two libraries: the lines of the programs that it shows."""
    ours = next(block for block in BLOCKS if "messages=messages):" in block)
    (theirs,) = re.findall(r"^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    lengths = [len([line for line in program.splitlines() if line.strip()]) for program in (ours, theirs)]

    assert f"limen, {lengths[0]} lines" in PAGE
    assert f", {lengths[1]} lines. Its loop" in PAGE
    assert lengths[0] < lengths[1]
