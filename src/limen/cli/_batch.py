"""`limen batch`: every row of a file, at the pace that the route allows."""

import asyncio
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from limen import _compose
from limen.batch import Batch, Limits, run_shown
from limen.batch.ray import Cluster, run_on_ray_shown
from limen.cli import _settings
from limen.cli._calls import check_route, interrupts
from limen.cli._options import command, with_options
from limen.cli._report import INTERRUPTED, UsageProblem
from limen.contract import AbortController, split_target

_PLACES: Final = (
    click.option(
        "--concurrency", type=click.IntRange(min=1), default=16, show_default=True, metavar="N", help="Calls at once."
    ),
    click.option(
        "--requests-per-minute", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Requests a minute."
    ),
    click.option(
        "--tokens-per-minute", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Tokens a minute."
    ),
)


def _limits(command: Callable[..., object]) -> Callable[..., object]:
    """Add the limits of each route, and pass them on as one `limits`."""

    @functools.wraps(command)
    def called(
        *, concurrency: int, requests_per_minute: float | None, tokens_per_minute: float | None, **others: object
    ) -> object:
        return command(limits=Limits(concurrency, requests_per_minute, tokens_per_minute), **others)

    return with_options(called, _PLACES)


_ENGINES: Final = (
    click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="What makes the calls.",
    ),
    click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Workers of ray; 2 unless given."),
    click.option("--address", metavar="ADDRESS", help="The Ray cluster; unless given, one on this machine."),
)


def _engine(command: Callable[..., object]) -> Callable[..., object]:
    """Add the engine, and pass it on as one `cluster`, which is `None` for this process."""

    @functools.wraps(command)
    def called(*, engine: str, workers: int | None, address: str | None, **others: object) -> object:
        if engine == "ray":
            configuration = _settings.config_file()
            made = Cluster(workers=workers or 2, address=address, configuration=configuration, app=_settings.APP)
            return command(cluster=made, **others)
        if workers is not None or address is not None:
            raise UsageProblem("--workers and --address are of --engine ray")
        return command(cluster=None, **others)

    return with_options(called, _ENGINES)


@command("batch", example="limen batch rows.jsonl --out answers.jsonl -m deepseek/deepseek-v4-flash")
@click.argument("rows", type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The results' file.")
@click.option("--model", "-m", metavar="ROUTE/MODEL", help="The model of every row; unless given, each row's own.")
@_limits
@click.option("--ordered", is_flag=True, help="Results in the order of the rows, not in the order of completion.")
@click.option("--retry-failed", is_flag=True, help="Ask the rows again that are out and failed.")
@_engine
def batch(
    *,
    rows: Path,
    out: Path,
    model: str | None,
    limits: Limits,
    ordered: bool,
    retry_failed: bool,
    cluster: Cluster | None,
) -> int:
    """Ask every row of ROWS, and go on where it was killed.

    A row is a line of JSON, {"id": …, "options": {…}} or a line of OpenAI's batches, and has exactly one line in the
    results, also where it failed. The limits hold for each route. The same command goes on after a kill or Ctrl-C.
    """
    given = Batch(source=rows, out=out, model=model, limits=limits, ordered=ordered, retry_failed=retry_failed)
    if cluster is not None:
        run_on_ray_shown(given, cluster, sys.stderr)
        return 0
    return asyncio.run(_run(given))


async def _run(given: Batch) -> int:
    controller = AbortController()
    async with _compose.open_runtime(_settings.config_file(), app=_settings.APP) as llm:
        names = [info.id for info in llm.list_providers()]
        if given.model is not None or not names:
            check_route("" if given.model is None else split_target(given.model)[0], names)
        with interrupts(controller):
            await run_shown(llm, given, sys.stderr, stop=controller.signal)
    return INTERRUPTED if controller.signal.aborted else 0
