"""Snippets of docs/adapters-ollama.md run as they are written, but for the server's address."""

import re
import tomllib
from pathlib import Path

import pytest

import limen
from limen import _compose
from limen.adapters.ollama import OllamaAdapter
from limen.config import load
from limen.testing.server import MockProvider

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "adapters-ollama.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The page's blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """The page's program lists the server's models and prints the answer."""
    (program,) = blocks("python")
    with MockProvider("text") as mock:
        exec(compile(program.replace("http://localhost:11434", mock.url), "docs", "exec"), {"__name__": "__main__"})

    first, *_, answer = capsys.readouterr().out.splitlines()
    assert (first, answer) == ("mock-text 32768 ('text', 'image')", "Hello from the mock provider.")


def test_the_configuration() -> None:
    """The page's routes are adapters of this wire, at the addresses that the page names."""
    config = load(tomllib.loads(blocks("toml")[0]))
    made = [_compose.make_adapter(route, config) for route in config.routes]
    addresses = [codec and codec.base_url for codec in map(_compose.codec_of, config.routes)]

    assert [type(adapter) for adapter in made] == [OllamaAdapter, OllamaAdapter]
    assert addresses == ["http://localhost:11434", "https://ollama.com"]


def test_every_dialect_is_listed() -> None:
    """The table names each row of the wire."""
    assert [row for row in limen.wires()["ollama-chat"] if f"| `{row}`" not in PAGE] == []
