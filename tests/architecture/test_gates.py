"""A gate that cannot fail is no gate: each one is shown to catch a seeded violation."""

import shutil
import subprocess
import sys
from pathlib import Path

import coverage_gate
import pytest
from _source import ROOT

BIN = Path(sys.executable).parent

# Each import-linter contract with a file and a line that breaks it.
LAYER_VIOLATIONS = {
    "layers": ("contract/_usage.py", "import limen.runtime"),
    "contract-is-closed": ("contract/_usage.py", "import httptools"),
    "only-adapters-touch-transport": ("runtime/_retry.py", "import limen.transport"),
    "httptools-direct": ("adapters/_pump.py", "import httptools"),
    "adapters-independent": ("adapters/anthropic/__init__.py", "import limen.adapters.deepseek"),
    "adapter-anatomy": ("adapters/anthropic/_wire.py", "import limen.adapters.anthropic._adapter"),
    "pure-wire-code": ("adapters/_chat_completions/_translate.py", "import asyncio"),
    "family-anatomy": ("adapters/_chat_completions/_wire.py", "import limen.adapters._chat_completions._codec"),
    "kit-does-not-know-adapters": ("testing/__init__.py", "import limen.adapters.deepseek"),
    "server-is-independent": ("testing/server/__init__.py", "import limen.transport"),
    "pytest-in-plugin": ("config/__init__.py", "import pytest"),
    "private": ("runtime/__init__.py", "import limen.contract._json"),
    "acyclic": ("contract/_usage.py", "import limen.contract._chunks"),
}


def seeded(tmp_path: Path, file: str, line: str) -> Path:
    """A copy of the source with one line added at a file's end."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "importlinter.ini"):
        shutil.copy(ROOT / name, tmp_path / name)
    path = tmp_path / "src" / "limen" / file
    path.write_text(path.read_text(encoding="utf-8") + f"\n\n{line}\n", encoding="utf-8")
    return tmp_path


def gate(where: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a gate in a folder, seeing only that folder's source."""
    env = {"PYTHONPATH": str(where / "src"), "PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(where)}
    return subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("contract", sorted(LAYER_VIOLATIONS))
def test_import_linter_catches(contract: str, tmp_path: Path) -> None:
    """An import against the architecture fails the gate, for every contract of the file."""
    where = seeded(tmp_path, *LAYER_VIOLATIONS[contract])

    answer = gate(where, str(BIN / "lint-imports"), "--no-cache", "--contract", contract, "importlinter.ini")

    assert (answer.returncode, "BROKEN" in answer.stdout) == (1, True), answer.stdout + answer.stderr


@pytest.mark.slow
def test_mypy_catches_a_leaking_type(tmp_path: Path) -> None:
    """A function without types fails mypy strict."""
    where = seeded(tmp_path, "contract/_usage.py", "def leak(value):\n    return value")

    answer = gate(where, str(BIN / "mypy"), "src/limen/contract")

    assert (answer.returncode, "no-untyped-def" in answer.stdout) == (1, True)


@pytest.mark.slow
def test_pyright_catches_a_leaking_type(tmp_path: Path) -> None:
    """A parameter of unknown type fails pyright strict."""
    where = seeded(tmp_path, "contract/_usage.py", "def leak(value):\n    return value")

    answer = gate(where, str(BIN / "pyright"), "--pythonpath", sys.executable, "src/limen/contract")

    assert (answer.returncode, "reportUnknown" in answer.stdout) == (1, True), answer.stdout


def test_ruff_catches_a_swallowed_error(tmp_path: Path) -> None:
    """A blind except fails ruff."""
    where = seeded(tmp_path, "contract/_usage.py", "try:\n    pass\nexcept Exception:\n    pass")

    answer = gate(where, str(BIN / "ruff"), "check", "--no-cache", "src/limen/contract/_usage.py")

    assert (answer.returncode, "BLE001" in answer.stdout) == (1, True)


def test_interrogate_catches_a_test_without_its_rule(tmp_path: Path) -> None:
    """A test without a docstring fails interrogate."""
    (tmp_path / "test_silent.py").write_text('"""Tests."""\n\n\ndef test_silent() -> None:\n    assert True\n')

    answer = gate(
        tmp_path,
        str(BIN / "interrogate"),
        "--config",
        str(ROOT / "pyproject.toml"),
        "--whitelist-regex",
        "^test_.*",
        "test_silent.py",
    )

    assert answer.returncode == 1, answer.stdout + answer.stderr


def test_coverage_gate_catches_one_missed_branch() -> None:
    """A file of the boundary at 99.9 % fails, and one elsewhere at 95 % does not."""
    report = {
        "files": {
            "src/limen/contract/_json.py": {"summary": {"percent_covered": 99.9}},
            "src/limen/adapters/x/_parse.py": {"summary": {"percent_covered": 99.9}},
            "src/limen/cli/_app.py": {"summary": {"percent_covered": 95.0}},
            "src/limen/cli/_output.py": {"summary": {"percent_covered": 94.9}},
        }
    }

    assert coverage_gate.shortfalls(report) == [
        "src/limen/adapters/x/_parse.py: 99.9 % of lines and branches, 100 % required",
        "src/limen/cli/_output.py: 94.9 % of lines and branches, 95 % required",
        "src/limen/contract/_json.py: 99.9 % of lines and branches, 100 % required",
    ]
