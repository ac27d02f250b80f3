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
        stdin=subprocess.DEVNULL,
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


def rules_of_the_contract() -> list[str]:
    """The numbers of the rules that docs/contract.md states, in the page's order."""
    return re.findall(
        r"^\* \*\*([A-Z]\d+)\*\* ", (ROOT / "docs" / "contract.md").read_text(encoding="utf-8"), re.MULTILINE
    )


def cited(folder: Path) -> set[str]:
    """The rule numbers that the files below a folder name, with the letters of docs/contract.md, planned parts too."""
    rule = re.compile(r"\b[CEQRKFSTWNXVBG](?:[1-9]|[123][0-9])\b")
    return {found for path in modules(folder) for found in rule.findall(path.read_text(encoding="utf-8"))}


def test_every_rule_that_the_code_names_stands_in_the_contract() -> None:
    """A rule's number in the source is stated by docs/contract.md."""
    assert cited(SRC) - set(rules_of_the_contract()) == set()


def test_every_rule_stands_in_the_contract_once_and_in_order() -> None:
    """docs/contract.md has no number twice, and the numbers of a letter rise."""
    numbers = rules_of_the_contract()

    assert len(numbers) == len(set(numbers))
    for letter in {number[0] for number in numbers}:
        of_it = [int(number[1:]) for number in numbers if number[0] == letter]
        assert of_it == sorted(of_it)


def test_every_rule_with_a_source_stands_in_the_contract() -> None:
    """docs/contract-sources.md names no rule that docs/contract.md lacks."""
    text = (ROOT / "docs" / "contract-sources.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:[A-Z]\d+(?:, )?)+) \|", text, re.MULTILINE)

    assert len(rows) > 100
    assert {rule for row in rows for rule in row.split(", ")} - set(rules_of_the_contract()) == set()


def test_every_layer_stands_on_the_page_of_the_architecture() -> None:
    """docs/architecture.md has a row for each folder of the source."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = sorted(path.parent.name for path in SRC.glob("*/__init__.py"))

    assert [name for name in folders if f"| `{name}` |" not in text] == []
