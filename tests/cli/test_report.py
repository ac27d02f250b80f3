"""What ended a command becomes one line and an exit code."""

import os
import sys
from types import ModuleType

import click
import pytest

import limen
from cli._command import KEY
from limen.__main__ import main
from limen.cli._report import complain, exit_code_of
from limen.contract import Failure, LlmError


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (click.exceptions.Exit(3), 3, ""),
        (KeyboardInterrupt(), 130, "limen: ABORTED: interrupted\n"),
        (click.Abort(), 130, "limen: ABORTED: interrupted\n"),
        (
            click.BadParameter("not so."),
            2,
            "limen: INVALID_OPTIONS: Invalid value: not so; `limen --help` lists",
        ),
        (LlmError("no", "UNSUPPORTED"), 2, "limen: UNSUPPORTED: no\n"),
        (LlmError("no", "CONTENT_FILTER"), 1, "limen: CONTENT_FILTER: no\n"),
        (
            LlmError.of(Failure("no", "AUTH", status=401, provider_code="bad_key", request_id="r1")),
            1,
            "limen: AUTH: no (HTTP 401, bad_key, request r1); check the key and what it may do; `limen doctor` says",
        ),
        (
            ZeroDivisionError(f"by {KEY}"),
            1,
            "limen: UNKNOWN: ZeroDivisionError: by [redacted] (no place is known)",
        ),
    ],
)
def test_every_end_has_a_line_and_a_code(
    capfd: pytest.CaptureFixture[str], error: BaseException, code: int, line: str
) -> None:
    """1 is a failure of the call, 2 wrong usage, 130 Ctrl-C; the line has the facts and what to do, and no key (E5)."""
    assert exit_code_of(error) == code
    out, err = capfd.readouterr()
    assert (out, err[: len(line)]) == ("", line)
    assert err.count("\n") == (1 if line else 0)


def test_the_place_of_a_bug_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    """A foreign exception is told with file and line, so that it can be reported without a traceback."""
    try:
        _ = 1 / 0
    except ZeroDivisionError as error:
        exit_code_of(error)

    assert f"({__file__}:" in capfd.readouterr().err


def test_one_line_whatever_the_words(capfd: pytest.CaptureFixture[str]) -> None:
    """A provider's message may have lines, controls and no end; what is printed is one short line."""
    complain("SERVER", "a\n\tb\x1b[31m" + "c" * 5000)

    err = capfd.readouterr().err
    assert err.startswith("limen: SERVER: a b [31mccc")
    assert (err.count("\n"), len(err)) == (1, 1000 + len("limen: …\n"))


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (BrokenPipeError(32, "Broken pipe"), ""),
        (
            OSError(28, "No space left on device"),
            "limen: UNKNOWN: what the command says cannot be written: No space left on device\n",
        ),
    ],
    ids=["a reader that has gone", "a full disk"],
)
def test_output_that_cannot_be_written(
    error: OSError, line: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that has gone is told nothing, a full disk is one line; the last flush goes nowhere."""
    moved: list[int] = []
    monkeypatch.setattr(os, "dup2", lambda _source, target: moved.append(target))

    assert exit_code_of(error) == 1
    assert (capfd.readouterr().err, moved) == (line, [sys.stdout.fileno()])


def test_the_command_is_limen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`limen` runs the command with its arguments and exits with its code."""
    monkeypatch.setattr(sys, "argv", ["limen", "--version"])

    with pytest.raises(SystemExit) as done:
        main()
    assert (done.value.code, capsys.readouterr().out.strip()) == (0, f"limen {limen.__version__}")


def test_the_command_without_its_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without click the command says how to install it, in one line, and exits 2."""
    monkeypatch.setattr("limen.__main__.find_spec", lambda _name: None)

    with pytest.raises(SystemExit) as done:
        main()
    assert (done.value.code, capsys.readouterr().err) == (
        2,
        "limen: the command needs click: pip install 'limen[cli]'\n",
    )


def test_ctrl_c_while_the_command_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the first moments is one line and exit code 130, like later (J7)."""

    class Loading(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "limen.cli", Loading("limen.cli"))

    with pytest.raises(SystemExit) as done:
        main()
    assert (done.value.code, capsys.readouterr().err) == (130, "limen: ABORTED: interrupted\n")
