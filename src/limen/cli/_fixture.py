"""`limen fixture run` and `limen fixture check`: fixtures of the offline provider."""

import asyncio
import sys
from typing import Annotated

import typer

from limen.cli._report import FAILED, WRONG_USAGE, UsageProblem, complain
from limen.contract import encode

app = typer.Typer(help="Play or check a fixture of the offline provider.", no_args_is_help=True)

File = Annotated[str, typer.Argument(help="The fixture, or the bare name of a sample that ships with limen.")]


@app.command("run")
def run(
    file: File,
    *,
    request_id: Annotated[str, typer.Option(help="The id of the request that is answered.")] = "request-1",
) -> None:
    """Print chunks and responses as JSON lines."""
    if not request_id.strip():
        raise UsageProblem("a request's id is not blank")
    raise typer.Exit(asyncio.run(_run(file, request_id)))


async def _run(file: str, request_id: str) -> int:
    from limen.fixture import FixtureProviderError, load_fixture, run_fixture

    try:
        async for value in run_fixture(load_fixture(file), request_id=request_id):
            sys.stdout.buffer.write(encode(value) + b"\n")
            sys.stdout.buffer.flush()
    except FixtureProviderError as error:
        record = "" if error.record_index is None else f"record {error.record_index}: "
        complain(error.code, f"{record}{error.message}")
        return FAILED
    return 0


@app.command("check")
def check(file: File) -> None:
    """Say what is wrong, without playing it."""
    from limen.fixture import FixtureProviderError, check_fixture, load_fixture

    try:
        faults = check_fixture(load_fixture(file))
    except FixtureProviderError as error:
        complain(error.code, error.message)
        raise typer.Exit(WRONG_USAGE) from None
    for path, sentence in faults:
        typer.echo(f"{path}: {sentence}")
    if faults:
        complain("PROVIDER_INVALID_FIXTURE", f"{file} has {_counted(len(faults))} says where")
        raise typer.Exit(FAILED)
    typer.echo(f"{file}: well-formed")


def _counted(faults: int) -> str:
    return "a fault; the line" if faults == 1 else f"{faults} faults; each line"
