"""`limen mock`: provider on this machine that answers what a script says, and misbehaves on command."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING

import click

from limen import _compose
from limen.cli._options import command
from limen.cli._report import UsageProblem, complain
from limen.cli._show import columns, harmless
from limen.contract import codes, foreign_text

if TYPE_CHECKING:
    from limen.testing.server import MockProvider, RecordedRequest, Source
    from limen.testing.wires import WireDescription


@command("mock", example="limen mock --scenario text --port 8080")
@click.option("--scenario", metavar="NAME", help="A built-in script, such as tools, text or slow.")
@click.option("--script", type=click.Path(path_type=Path), metavar="FILE", help="A script of your own, as JSON.")
@click.option("--fault", multiple=True, metavar="NAME", help="Misbehave like this; may be repeated.")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="The address to listen on: 127.0.0.1.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), metavar="N", help="The port; 0 takes a free one.")
@click.option("--listen", default="http", metavar="HOW", help="The port's manners: http, refuse, tls or plain-on-tls.")
@click.option("--list", "names", is_flag=True, help="List the built-in scripts and faults.")
def mock(
    *,
    scenario: str | None,
    script: Path | None,
    fault: Sequence[str],
    host: str,
    port: int,
    listen: str,
    names: bool,
) -> None:
    """Serve a mock provider until Ctrl-C."""
    try:
        from limen.testing.server import FAULTS, SCENARIOS, NoCertificate, serve
    except ImportError:
        raise UsageProblem("the mock provider needs h11: pip install 'limen[mock]'") from None
    if names:
        click.echo(f"scripts: {', '.join(SCENARIOS)}\nfaults:")
        columns([(f"  {name}", known.summary) for name, known in FAULTS.items()])
        return
    if scenario is not None and script is not None:
        raise UsageProblem("--scenario and --script are both given; one of them says what is answered")
    source = scenario if script is None else _read(script)
    # A script that is given answers whatever model is asked for; else the model's name chooses one.
    model = "mock-text" if source is None else "any-model"
    problem: str
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(
                serve(
                    source,
                    host=host,
                    port=port,
                    faults=fault,
                    listen=listen,
                    wires=_other_wires(),
                    ready=lambda running: _announce(running, model if listen == "http" else None),
                )
            )
        return
    except (ValueError, NoCertificate, ModuleNotFoundError) as wrong:
        problem = str(wrong)
    except OSError as taken:
        problem = f"cannot listen on {host}:{port}: {taken.strerror or taken}"
    raise UsageProblem(problem)


def _other_wires() -> "list[WireDescription]":
    """Return the descriptions that other distributions give of their wires; one that cannot be loaded is left out."""
    from limen.testing.wires import WIRES, WireDescription

    found: list[WireDescription] = []
    for wire, place in _compose.descriptions().items():
        if wire in WIRES:
            continue
        described = EntryPoint(wire, place, "limen.wires")
        problem: str
        try:
            value: object = described.load()
        except Exception as error:  # noqa: BLE001 - importing another distribution may raise anything
            problem = f"{type(error).__name__}: {foreign_text(error)}"
        else:
            if isinstance(value, WireDescription):
                found.append(value)
                continue
            problem = f"it is a {type(value).__name__}"
        complain(codes.INVALID_CONFIG, f"the wire {wire} is not served: its description {place} is unusable: {problem}")
    return found


def _read(file: Path) -> "Source":
    from limen.testing.server import decode_script

    problem: str
    try:
        return decode_script(file.read_bytes())
    except OSError as fault:
        problem = f"{file}: {fault.strerror or fault}"
    except ValueError as fault:
        problem = f"{file} is no script: {fault}"
    raise UsageProblem(problem)


def _announce(running: "MockProvider", model: str | None) -> None:
    click.echo(f"listening on {running.url}")
    for line in () if model is None else _hints(running, model):
        click.echo(f"  {line}")
    click.echo("Ctrl-C ends it")
    running.on_request = _log


def _hints(running: "MockProvider", model: str) -> Iterator[str]:
    """Return a command line for each wire that a provider of the environment speaks; each works as it is."""
    hinted: set[str] = set()
    for provider in _compose.known_providers():
        spoken = _compose.spec_of(provider.adapter).wire
        wire = "" if spoken is None else spoken.name
        if wire in hinted or wire not in running.wires or not provider.key_variables:
            continue
        hinted.add(wire)
        key, address = provider.key_variables[0], provider.address_variables[0]
        yield f"{key}=mock {address}={running.base_url(wire)} limen stream -m {provider.route}/{model} hello"


def _log(request: "RecordedRequest") -> None:
    words = harmless(f"{request.method} {request.path}")
    print(f"{words} · {request.wire or 'no wire'}", file=sys.stderr, flush=True)
