"""The command in an empty folder, with a provider on this machine to talk to."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli._command import KEY, Done, Run
from limen.cli import run as run_command
from limen.testing.server import MockProvider
from surroundings import without_keys


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command here and now, in an empty folder and without anybody's keys."""
    monkeypatch.chdir(tmp_path)
    without_keys(monkeypatch)
    for name in ("LIMEN_CONFIG", "LIMEN_MODEL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def command(*arguments: str, stdin: bytes | None = None) -> Done:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin or b"")))
        capfd.readouterr()
        code = run_command(arguments)
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return command


@pytest.fixture
def provider() -> Iterator[MockProvider]:
    """A provider on this machine."""
    with MockProvider() as running:
        yield running


@pytest.fixture
def deepseek(run: Run, provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> MockProvider:
    """That provider as the route `deepseek`, by the environment alone."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    monkeypatch.setenv("DEEPSEEK_BASE_URL", provider.base_url("openai-chat"))
    return provider
