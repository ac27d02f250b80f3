"""`limen fixture run` and `limen fixture check`: fixtures of the offline provider."""

import asyncio

import click

from limen.cli._options import command
from limen.cli._report import FAILED, WRONG_USAGE, UsageProblem, complain
from limen.cli._show import write_bytes
from limen.contract import encode


@click.group("fixture", no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
def fixture() -> None:
    """Play or check a fixture of the offline provider.

    FILE is the fixture, or the bare name of a sample that ships with limen.
    """


@command("run", example="limen fixture run provider-tool-roundtrip.json")
@click.argument("file")
@click.option(
    "--request-id", default="request-1", metavar="ID", help="The id of the request that is answered: request-1."
)
def run(*, file: str, request_id: str) -> int:
    """Print chunks and responses as JSON lines."""
    if not request_id.strip():
        raise UsageProblem("a request's id is not blank")
    return asyncio.run(_run(file, request_id))


async def _run(file: str, request_id: str) -> int:
    from limen.fixture import FixtureProviderError, load_fixture, run_fixture

    try:
        async for value in run_fixture(load_fixture(file), request_id=request_id):
            write_bytes(encode(value) + b"\n")
    except FixtureProviderError as error:
        record = "" if error.record_index is None else f"record {error.record_index}: "
        complain(error.code, f"{record}{error.message}")
        return FAILED
    return 0


@command("check", example="limen fixture check my-fixture.json")
@click.argument("file")
def check(*, file: str) -> int:
    """Say what is wrong, without playing it."""
    from limen.fixture import FixtureProviderError, check_fixture, load_fixture

    try:
        faults = check_fixture(load_fixture(file))
    except FixtureProviderError as error:
        complain(error.code, error.message)
        return WRONG_USAGE
    for path, sentence in faults:
        click.echo(f"{path}: {sentence}")
    if faults:
        complain("PROVIDER_INVALID_FIXTURE", f"{file} has {_counted(len(faults))} says where")
        return FAILED
    click.echo(f"{file}: well-formed")
    return 0


def _counted(faults: int) -> str:
    return "a fault; the line" if faults == 1 else f"{faults} faults; each line"


fixture.add_command(run)
fixture.add_command(check)
