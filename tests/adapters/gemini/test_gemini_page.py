"""What docs/adapters-gemini.md shows is what the code does: its file makes its routes, its program runs."""

import re
import tomllib
from pathlib import Path

import pytest

import limen
from limen import _compose
from limen.adapters.gemini import WIRE
from limen.adapters.gemini._dialects import FINISH_WORDS
from limen.adapters.gemini._models import family_of
from limen.config import load
from limen.testing.server import MockProvider

PAGE = (Path(__file__).parents[3] / "docs" / "adapters-gemini.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The page's block of one language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_documented_file_makes_its_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each route of the page makes an adapter; the one with a project goes to its own address."""
    config = load(tomllib.loads(block("toml")))

    assert [route.name for route in config.routes] == ["gemini", "vertex"]
    assert all(isinstance(_compose.make_adapter(route, config), limen.LlmAdapter) for route in config.routes)
    codec = _compose.codec_of(config.routes[1])
    assert codec is not None
    assert str(codec.base_url).startswith("https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/my-project/")


def test_the_documented_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program says what the model says, with a key of the environment."""
    monkeypatch.chdir(tmp_path)
    with MockProvider("text") as mock:
        monkeypatch.setenv("GEMINI_API_KEY", "not-a-real-key")
        monkeypatch.setenv("GEMINI_BASE_URL", mock.base_url("gemini-generate"))
        exec(compile(block("python"), "docs", "exec"), {"__name__": "__main__"})  # running what the page shows

    assert capsys.readouterr().out == "Hello from the mock provider.\n"


def test_every_row_and_word_is_documented() -> None:
    """Each dialect, each finish reason of the wire's own and each effort stands on the page."""
    words = [word.upper() for word in FINISH_WORDS if not word.startswith("image_")]

    assert [name for name in (*WIRE.dialects, *words) if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize(
    ("models", "efforts"),
    re.findall(r"^\| ((?:2|3|4|gemma)[^|]*) \| ([^|]*) \|$", PAGE.partition("Efforts are those")[2], re.MULTILINE),
)
def test_the_documented_efforts(models: str, efforts: str) -> None:
    """The table of efforts is the families' own."""
    expected = tuple(re.findall(r"`([a-z]+)`", efforts))
    for name in models.split(", "):
        model = name if name.startswith("gemma") else f"gemini-{name}"
        known = {"gemini-1.x": "gemini-1.5-pro", "gemma up to 3": "gemma-3-27b"}.get(model, model)
        assert family_of(known).efforts == expected, known
