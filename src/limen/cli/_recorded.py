"""`limen replay`, `limen trace`: calls that were kept in a file, read again without a network."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from limen import _compose
from limen.cli import _settings
from limen.cli._call_options import split_model
from limen.cli._calls import opened
from limen.cli._options import command, json_option
from limen.cli._prompt import prompt_text
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

_wire_option = click.option("--wire", metavar="WIRE", help="The wire of exchanges that do not name theirs.")
_dialect_option = click.option("--dialect", metavar="ROW", help="The dialect of exchanges that do not name theirs.")


@command("record", example="limen record --out calls.json -- stream -m ROUTE/MODEL hello", passes_on=True)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The cassette: a .json file, or a folder that gets a file a call.",
)
@click.option("--redact", multiple=True, metavar="FIELD", help="A further field to leave out; may be repeated.")
@click.pass_context
def record(context: click.Context, *, out: Path, redact: Sequence[str]) -> int:
    """Run a command and keep its traffic. No key is kept."""
    from limen.cli._app import invoke  # the tree of commands, which has this one

    if not context.args:
        raise UsageProblem("say what to record: limen record --out FILE -- stream -m ROUTE/MODEL PROMPT")
    with _settings.recording(_settings.Recording(out, tuple(redact))):
        return invoke(context.args)


@command("replay", example="limen replay calls.json")
@click.argument("file", type=click.Path(path_type=Path))
@_wire_option
@_dialect_option
@json_option
def replay(*, file: Path, wire: str | None, dialect: str | None, as_json: bool) -> int:
    """Read recorded answers again; FILE is the cassette, or a folder of them.

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
    return code


@command("trace", example="limen trace calls.json --html calls.html")
@click.argument("source", metavar="FILE|PROMPT")
@click.option("--model", "-m", metavar="ROUTE/MODEL", help="Trace a live call.")
@json_option
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write one self-contained page instead.")
@_wire_option
@_dialect_option
def trace(
    *, source: str, model: str | None, as_json: bool, html: Path | None, wire: str | None, dialect: str | None
) -> int:
    """Show calls as timelines: those of a cassette, or with --model that of a live call with this prompt.

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
        click.echo(encode(one).decode() if as_json else "\n".join(render_text(one)))
    failure = traces[0].failure if model is not None else None
    return 0 if failure is None else complain_failure(failure)


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
        try:
            info = (await stream.response()).info
        except LlmError as error:
            info = None if error.partial is None else error.partial.info
    return trace_chunks(timed, route=provider, model=name, total_ms=total, info=info, request=prompt)


def _exchanges(file: Path, wire: str | None, dialect: str | None) -> Iterator[Exchange]:
    for exchange in Cassette.load(file).exchanges:
        if exchange.wire is not None:
            yield exchange
        elif wire is not None:
            yield replace(exchange, wire=wire, dialect=dialect)
        else:
            raise UsageProblem(f"{file} has a call of {exchange.route} that does not name its wire; give --wire")
