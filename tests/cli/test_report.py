"""What ended a command becomes one line and an exit code."""

import pytest
import typer

from cli._command import KEY
from limen.cli._report import complain, exit_code_of
from limen.contract import Failure, LlmError


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (typer.Exit(3), 3, ""),
        (KeyboardInterrupt(), 130, "limen: ABORTED: interrupted\n"),
        (typer.Abort(), 130, "limen: ABORTED: interrupted\n"),
        (
            typer.BadParameter("not so."),
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
