"""`limen replay`, `limen trace`: calls that were kept in a file, read again without a network."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from limen import _compose
from limen.cli._calls import opened, prompt_text, split_model
from limen.cli._report import UsageProblem, complain_failure
from limen.cli._show import JsonLines, Readable
from limen.contract import Finish, GenerateOptions, LlmError, encode, user
from limen.recording import (
    Cassette,
    Exchange,
    Replay,
    TimedChunk,
    Trace,
    render_html,
    render_text,
    trace_chunks,
    trace_exchange,
)

Wire = Annotated[str | None, typer.Option(help="The wire of exchanges that do not name theirs.")]
Dialect = Annotated[str | None, typer.Option(help="The dialect of exchanges that do not name theirs.")]


def replay(
    file: Annotated[Path, typer.Argument(help="The cassette: a file, or a folder of them.")],
    *,
    wire: Wire = None,
    dialect: Dialect = None,
    as_json: Annotated[bool, typer.Option("--json", help="Each chunk as a line of JSON.")] = False,
) -> None:
    """Read recorded answers again.

    The same bytes through the real parser give the same chunks; no network is used.
    """
    view: JsonLines | Readable = JsonLines() if as_json else Readable()
    code = 0
    for exchange in _exchanges(file, wire, dialect):
        try:
            for chunk in Replay(exchange, _compose.wire_of(exchange.wire or "")):
                view.show(chunk)
                if isinstance(chunk, Finish) and chunk.reason.failure is not None:
                    raise LlmError.of(chunk.reason.failure)
        except LlmError as error:
            view.end()
            code = complain_failure(error.failure)
    raise typer.Exit(code)


def trace(
    source: Annotated[str, typer.Argument(help="The cassette; with --model, the prompt of a live call.")],
    *,
    model: Annotated[str | None, typer.Option("--model", "-m", help="ROUTE/MODEL: trace a live call.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Each timeline as a line of JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page instead.")] = None,
    wire: Wire = None,
    dialect: Dialect = None,
) -> None:
    """Show calls as timelines.

    When the first event came, each block with its deltas, silences, usage and how it ended.
    """
    if model is None:
        found = _exchanges(Path(source), wire, dialect)
        traces = [trace_exchange(exchange, _compose.wire_of(exchange.wire or "")) for exchange in found]
    else:
        traces = [asyncio.run(_live(model, prompt_text(source)))]
    if html is not None:
        _write(html, render_html(traces))
    for one in traces if html is None or as_json else ():
        typer.echo(encode(one).decode() if as_json else "\n".join(render_text(one)))
    failure = traces[0].failure if model is not None else None
    if failure is not None:
        raise typer.Exit(complain_failure(failure))


def _write(file: Path, page: str) -> None:
    problem: str
    try:
        file.write_text(page, encoding="utf-8")
        return
    except OSError as fault:
        problem = f"{file} cannot be written: {fault.strerror or fault}"
    raise UsageProblem(problem)


async def _live(model: str, prompt: str) -> Trace:
    provider, name = split_model(model, None)
    async with opened(provider) as llm:
        begin = time.perf_counter()
        async with llm.stream(GenerateOptions(provider, name, [user(prompt)])) as stream:
            timed = [TimedChunk((time.perf_counter() - begin) * 1000, chunk) async for chunk in stream]
        total = (time.perf_counter() - begin) * 1000
    return trace_chunks(timed, route=provider, model=name, total_ms=total)


def _exchanges(file: Path, wire: str | None, dialect: str | None) -> Iterator[Exchange]:
    for exchange in Cassette.load(file).exchanges:
        if exchange.wire is not None:
            yield exchange
        elif wire is not None:
            yield replace(exchange, wire=wire, dialect=dialect)
        else:
            raise UsageProblem(f"{file} has a call of {exchange.route} that does not name its wire; give --wire")
