"""What import-linter cannot see: where `Any`, `cast`, asyncio and third parties may occur."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from _source import ROOT, SRC, modules, tree

STANDARD = set(sys.stdlib_module_names)

# Which third parties a folder may name; httptools is narrowed further by import-linter.
THIRD_PARTIES = {
    "contract": {"msgspec"},
    "transport": {"msgspec", "httptools", "python_socks"},
    "adapters": {"msgspec", "botocore"},
    "runtime": {"msgspec"},
    "fixture": {"msgspec"},
    "recording": {"msgspec"},
    "tools": {"msgspec", "mcp"},
    "views": {"msgspec"},
    "batch": {"msgspec"},
    "pricing": {"msgspec", "genai_prices"},
    "config": {"msgspec", "keyring"},
    "testing": {"msgspec", "h11", "pytest", "pytest_asyncio"},
    "cli": {"msgspec", "click"},
}


# Files of an adapter, each a layer of the contract `adapter-anatomy`; a job has the same file name in every adapter.
ANATOMY = {
    "__init__",
    "_adapter",
    "_codec",
    "_reader",
    "_request",
    "_translate",
    "_history",
    "_parse",
    "_dialects",
    "_wire",
}
# A further file of one adapter, with its reason.
FURTHER = {
    "gemini/_google": "access tokens of Google, a credential source that awaits a thread",
    "gemini/_models": "the table of model families, which are rows of the models and not of the hosts",
    "gemini/_partial": "streamed arguments by JSON path, a small language of its own",
    "gemini/_replay": "the state of a turn, written by `_translate` and read by `_history`",
    "gemini/_tolerance": "what a plain decode could not read, with a table of the fields beside the answer (C15)",
    "gemini/_usage": "counts of several reports and their sums, too large for `_translate`",
    "openai_chat/_mistral": "parts that one vendor's server has alone, and its order of turns",
    "bedrock/_slots": "the wire has block events of its own, whose state is too large for `_translate`",
    "anthropic/_slots": "the wire has block events of its own, whose state is too large for `_translate`",
    "anthropic/_tolerance": "what a plain decode could not read, with a table of the fields beside the answer (C15)",
    "openai_responses/_slots": "the wire has items of its own, whose state is too large for `_translate`",
    "anthropic/_usage": "counts of several passes and reports, too large for `_translate`",
}


def imported(node: ast.AST) -> set[str]:
    """Top-level names of what a node imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return {node.module.partition(".")[0]}
    return set()


def names(path: Path) -> set[str]:
    """Every identifier that a file uses, in code or in annotations."""
    return {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("folder", sorted(THIRD_PARTIES))
def test_third_parties_by_folder(folder: str) -> None:
    """A layer uses the third parties that the architecture gives it, and no others."""
    found = {
        name
        for path in modules(SRC / folder)
        for node in ast.walk(tree(path))
        for name in imported(node)
        if name not in STANDARD and name != "limen"
    }

    assert found <= THIRD_PARTIES[folder]


def test_every_adapter_has_the_same_files() -> None:
    """A package of `adapters` but the kit holds the files of the anatomy and no others."""
    found = {
        f"{folder.name}/{path.name.removesuffix('.py')}"
        for folder in (SRC / "adapters").iterdir()
        if folder.is_dir() and folder.name not in ("kit", "__pycache__")
        for path in folder.iterdir()
        if path.name != "__pycache__" and path.name.removesuffix(".py") not in ANATOMY
    }

    assert found <= set(FURTHER)


def test_contract_imports_asyncio_only_inside_functions() -> None:
    """`contract` can be imported without an event loop: asyncio is named inside functions alone."""
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules(SRC / "contract")
        for node in tree(path).body
        if "asyncio" in imported(node)
    ]

    assert offenders == []


def test_any_and_cast_live_in_parsers_only() -> None:
    """`Any` and `cast` occur where unknown bytes become typed, in `_parse.py`, and nowhere else."""
    allowed = {SRC / "contract" / "_json.py": {"Any"}}
    offenders = [
        f"{path.relative_to(ROOT)}: {', '.join(sorted(found))}"
        for path in modules(SRC)
        if path.name != "_parse.py" and (found := (names(path) & {"Any", "cast"}) - allowed.get(path, set()))
    ]

    assert offenders == []


def packages() -> list[str]:
    """Every package of the distribution, by its import name."""
    inits = [path.parent.relative_to(SRC.parent) for path in modules(SRC) if path.name == "__init__.py"]
    return [".".join(path.parts) for path in inits]


@pytest.mark.parametrize("name", packages())
def test_all_is_what_is_importable(name: str) -> None:
    """A package's `__all__` is sorted, has no name twice, and every name in it can be imported."""
    package = import_module(name)
    exported: list[str] = list(package.__all__)

    assert len(exported) == len(set(exported))
    assert [member for member in exported if not hasattr(package, member)] == []


@pytest.mark.parametrize("module", ["limen", "limen.contract", "limen.fixture"])
def test_light_imports_stay_light(module: str) -> None:
    """Importing the vocabulary or the fixture protocol loads no HTTP client, TOML reader or command line."""
    heavy = {"httptools", "tomllib", "click", "h11", "pytest"}
    heavy |= set() if module == "limen.fixture" else {"asyncio"}
    code = f"import sys, {module}; print(sorted({heavy!r} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert answer.stdout.strip() == "[]"
