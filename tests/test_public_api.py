"""The public names: what `limen` exports, when it loads what, and at which price."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import limen
import limen.adapters


def run(code: str, *arguments: str, cache: Path | None = None) -> str:
    """Run a piece of Python in an interpreter of its own; return what it printed."""
    environment = {"PATH": "", "PYTHONPYCACHEPREFIX": str(cache)} if cache else {"PATH": ""}
    done = subprocess.run(
        [sys.executable, *arguments, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_every_exported_name_can_be_imported() -> None:
    """`__all__` is what `limen` has, `dir()` lists it, and nothing in it is a module."""
    found = {name: getattr(limen, name) for name in limen.__all__}

    assert sorted(set(limen.__all__)) == limen.__all__
    assert set(limen.__all__) <= set(dir(limen))
    assert [name for name, value in found.items() if type(value) is type(limen)] == []


def test_submodules_are_attributes() -> None:
    """Every public layer is reached as an attribute, without an import of its own."""
    names = ["adapters", "config", "contract", "fixture", "recording", "runtime", "sync", "testing", "transport"]
    code = f"import limen; print([getattr(limen, name).__name__ for name in {names!r}])"

    assert run(code) == f"{[f'limen.{name}' for name in names]!r}\n"
    assert set(names) <= set(dir(limen))


def test_adapters_are_attributes() -> None:
    """An adapter's package loads when it is first named."""
    code = """
import sys, limen
before = "limen.adapters.deepseek" in sys.modules
print(before, limen.adapters.deepseek.DeepSeekAdapter.__name__, limen.adapters.anthropic.AnthropicOptions.__name__)
"""

    assert run(code) == "False DeepSeekAdapter AnthropicOptions\n"
    assert set(limen.adapters.__all__) <= set(dir(limen.adapters))
    assert limen.adapters.WireOptions.__name__ == "WireOptions"


def test_an_adapter_is_loaded_when_it_is_named() -> None:
    """The name of an adapter's package gives the package, loaded or not."""
    assert vars(limen.adapters)["__getattr__"]("deepseek") is importlib.import_module("limen.adapters.deepseek")


def test_a_name_that_is_not_there() -> None:
    """A misspelt name is an `AttributeError` that names it, as for any module."""
    with pytest.raises(AttributeError, match="module 'limen' has no attribute 'Runtime'"):
        limen.Runtime  # type: ignore[attr-defined]  # noqa: B018 - the misspelling is the case
    with pytest.raises(AttributeError, match="has no attribute 'gemeni'; it has"):
        limen.adapters.gemeni  # type: ignore[attr-defined]  # noqa: B018 - as above


@pytest.mark.parametrize("statement", ["import limen", "from limen import GenerateOptions, LlmAdapter, user"])
def test_import_loads_little(statement: str) -> None:
    """`import limen` loads msgspec and the contract, and neither asyncio, httptools, tomllib nor typer."""
    code = f"{statement}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded: set[str] = set(json.loads(run(code)))

    assert loaded & {"asyncio", "httptools", "tomllib", "typer", "rich", "h11", "pytest"} == set()
    assert {name for name in loaded if name.startswith("limen.")} == {
        "limen._version",
        *(name for name in loaded if name.startswith("limen.contract")),
    }


def test_the_fixture_protocol_needs_no_http_client() -> None:
    """`import limen.fixture` loads no HTTP client (F18)."""
    assert run("import limen.fixture, sys; print('httptools' in sys.modules)") == "False\n"


def test_the_package_loads_values_alone() -> None:
    """`import limen` loads the values of the vocabulary; rules, ports and decoders load when one is first named."""
    code = "import sys, limen; print(*sorted(name for name in sys.modules if name.startswith('limen.contract._')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    late = {"_address", "_assembler", "_credentials", "_encoding", "_grammar", "_history", "_ports", "_request"}
    assert {name.rpartition(".")[2] for name in loaded.stdout.split()} & late == set()


def test_an_unknown_name_of_the_contract() -> None:
    """A misspelt name is an AttributeError, and every public name can be had."""
    import limen.contract

    with pytest.raises(AttributeError, match="has no attribute 'LlmAdaptor'"):
        _ = limen.contract.LlmAdaptor  # type: ignore[attr-defined]
    assert set(limen.contract.__all__) <= set(dir(limen.contract))
    assert all(getattr(limen.contract, name) is not None for name in limen.contract.__all__)
