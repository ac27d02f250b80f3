"""README and docs are true: their commands are run, and their links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from _source import ROOT, SRC, modules

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)[^)]*\)")


def blocks(page: Path, language: str) -> list[str]:
    """The fenced code of one language on a page."""
    return [code for found, code in FENCED.findall(page.read_text(encoding="utf-8")) if found == language]


def commands(page: Path) -> list[str]:
    """The shell commands on a page, without their comments."""
    lines = [line.partition("  #")[0].strip() for code in blocks(page, "sh") for line in code.splitlines()]
    return [line for line in lines if line]


def test_readme_has_two_commands_of_set_up_and_both_are_what_ci_runs() -> None:
    """The README's set-up is `make demo` and `make test`, and CI runs both."""
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    assert commands(ROOT / "README.md")[:2] == ["make demo", "make test"]
    assert [command in steps for command in commands(ROOT / "README.md")[:2]] == [True, True]


def test_readme_command_for_the_real_service_reaches_for_a_key() -> None:
    """The README's third command is a real one: without a key it says which, and exits 2 or 1 without a traceback."""
    command = commands(ROOT / "README.md")[2].removeprefix(".venv/bin/limen ")
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    words = ["-m", "deepseek/deepseek-v4-flash", "What is 20 + 22?"]
    assert command == f'stream {words[0]} {words[1]} "{words[2]}"'

    answer = subprocess.run(
        [sys.executable, "-m", "limen", "stream", *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
    )

    assert answer.returncode in (1, 2)
    assert "DEEPSEEK_API_KEY" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_readme_fixture_example_runs() -> None:
    """The README's offline example runs as it stands, and loads the shipped sample."""
    code = next(code for code in blocks(ROOT / "README.md", "python") if "fixture" in code)
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert "call-add-001" in answer.stdout


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that exists."""
    targets = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]

    assert [link for link in targets if not (page.parent / link).exists()] == []


def test_every_rule_that_the_code_names_is_on_the_page_of_rules() -> None:
    """A rule's number in the source has its line in docs/rules.md."""
    rule = re.compile(r"\b[CEQRKFSTWN](?:[1-9]|[123][0-9])\b")
    named = {found for path in modules(SRC) for found in rule.findall(path.read_text(encoding="utf-8"))}
    listed = set(
        re.findall(r"^\| ([A-Z]\d+) \|", (ROOT / "docs" / "rules.md").read_text(encoding="utf-8"), re.MULTILINE)
    )

    assert named - listed == set()
