"""The command's tree, and its one way out."""

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from limen._version import __version__
from limen.cli import _as, _calls, _check, _doctor, _fixture, _mock, _offline, _recorded, _routes, _settings
from limen.cli._report import UsageProblem, exit_code_of

app = typer.Typer(
    name="limen",
    help="Talk to model providers through one contract.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they would print local variables, and a key may be one (E5)
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"limen {__version__}")
        raise typer.Exit


@app.callback()
def _before(
    config: Annotated[
        str | None,
        typer.Option("--config", "-c", help="The configuration; ./limen.toml or the environment unless given."),
    ] = None,
    *,
    _: Annotated[bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version.")] = False,
) -> None:
    if config is not None:
        _settings.use_config(config)


app.command("stream")(_as.with_protocols(_calls.stream))
app.command("routes")(_routes.routes)
app.command("models")(_routes.models)
app.command("doctor")(_doctor.doctor)
app.command("decode")(_offline.decode)
app.command("request")(_offline.request)
app.command("classify")(_offline.classify)
app.command("replay")(_recorded.replay)
app.command("trace")(_recorded.trace)
app.command("mock")(_mock.mock)
app.command("check")(_check.check)
app.add_typer(_fixture.app, name="fixture")


@app.command("record", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _record(
    context: typer.Context,
    *,
    out: Annotated[Path, typer.Option(help="The cassette: a .json file, or a folder that gets a file a call.")],
    redact: Annotated[list[str] | None, typer.Option(help="A further field to leave out; may be repeated.")] = None,
) -> None:
    """Run a command and keep its traffic.

    Such as: limen record --out calls.json -- stream -m ROUTE/MODEL hello. No key is kept.
    """
    if not context.args:
        raise UsageProblem("say what to record: limen record --out FILE -- stream -m ROUTE/MODEL PROMPT")
    with _settings.recording(_settings.Recording(out, tuple(redact or ()))):
        raise typer.Exit(invoke(context.args))


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code; whatever goes wrong is one line on stderr."""
    _settings.use_config(None)
    # A program may be started without them: `limen … >&-`.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the process
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as above
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end a call.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        return invoke(arguments)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the command's outermost frame: all is reported here
        return exit_code_of(error)


def invoke(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code; raises what goes wrong."""
    returned: object = app(list(arguments), prog_name="limen", standalone_mode=False)
    return returned if isinstance(returned, int) else 0
