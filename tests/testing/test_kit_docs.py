"""docs/mock-server.md, writing-an-adapter.md and views.md say what is so: programs run, tables are whole."""

import re
import sys
from pathlib import Path

import pytest

from limen.testing.conformance import CHECKS, rules
from limen.testing.server import FAULTS

ROOT = Path(__file__).resolve().parents[2]
ACME = ROOT / "tests" / "thirdparty" / "acme-limen" / "src" / "acme_limen"
PAGES = ("mock-server.md", "writing-an-adapter.md", "views.md")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def programs(name: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def acme(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the page's example importable."""
    path = str(ACME.parent)
    if path not in sys.path:
        monkeypatch.syspath_prepend(path)


@pytest.mark.parametrize("program", [program for name in PAGES for program in programs(name)])
def test_every_program_runs(program: str) -> None:
    """Each block is a whole program that runs to its end."""
    exec(compile(program, "docs", "exec"), {"__name__": "__main__"})  # running what the page shows is the test


def test_every_fault_is_on_the_page() -> None:
    """The table of faults has every fault once, and no other."""
    table = page("mock-server.md").partition("## Faults")[2].partition("Of the server")[0]
    named = re.findall(r"`([a-z0-9-]+)`", table)

    assert sorted(named) == sorted(FAULTS)


def test_the_number_of_basics() -> None:
    """The page counts the basics right."""
    assert sum(check.basic for check in CHECKS.values()) == 9
    assert "nine promises" in page("writing-an-adapter.md")


def test_the_files_of_the_example_exist() -> None:
    """The page names the example's files as they are."""
    names = set(re.findall(r"`(_[a-z]+\.py)`", page("writing-an-adapter.md")))
    there = {path.name for path in ACME.glob("_[a-z]*.py")}

    assert names == there


LAST = {"C": 18, "E": 6, "Q": 9, "R": 11, "K": 8, "S": 6, "T": 2, "W": 10, "N": 4}


def test_every_rule_has_a_check_or_a_reason() -> None:
    """The page accounts for every rule that the kit does not try."""
    table = page("writing-an-adapter.md").partition("rules without a check")[2].partition("## 6")[0]
    excused = re.findall(
        r"\b[A-Z]\d+\b", "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| "))
    )
    every = [f"{letter}{number}" for letter, last in LAST.items() for number in range(1, last + 1)]

    assert sorted([*rules(), *excused]) == sorted(every)
