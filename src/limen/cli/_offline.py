"""`limen decode`, `limen request`, `limen classify`: the wire without the network."""

import asyncio
from collections.abc import Sequence

import click
import msgspec

from limen import _compose
from limen.cli._call_options import split_model
from limen.cli._options import command, dialect_option, json_option, route_option, wire_option
from limen.cli._prompt import json_or_file, read_file
from limen.cli._report import UsageProblem
from limen.cli._routes import loaded
from limen.cli._show import JsonLines, Readable, write_bytes
from limen.config import Config, Route
from limen.contract import (
    MASK,
    WIRE_TAP,
    Finish,
    GenerateOptions,
    LlmError,
    StaticCredential,
    WireRequest,
    codes,
    decode_options,
    encode,
    scrub,
)
from limen.runtime import LlmRuntime


@command("decode", example="limen decode --wire openai-chat body.txt")
@click.argument("file")
@wire_option
@dialect_option
@json_option
def decode(*, file: str, wire: str, dialect: str | None, as_json: bool) -> None:
    """Read a raw answer, in FILE or for - from stdin, as the adapter would."""
    view: JsonLines | Readable = JsonLines() if as_json else Readable()
    body = read_file(file)
    seen = 0
    try:
        for chunk in _compose.iter_chunks(wire, body, dialect=dialect):
            view.show(chunk)
            seen += 1
    except LlmError as error:
        likely = None if seen or error.code == codes.UNSUPPORTED else _likely_wire(body, wire)
        if likely is None:
            raise
        raise UsageProblem(f"{error.code}: the body is none of {wire}; it reads as {likely}: --wire {likely}") from None
    finally:
        view.end()


def _likely_wire(body: bytes, wire: str) -> str | None:
    """Return another wire that reads the body to its end, where there is one."""
    for name in _compose.wire_names():
        if name == wire:
            continue
        try:
            *_, last = _compose.iter_chunks(name, body)
        except (LlmError, ValueError):
            continue
        if isinstance(last, Finish) and last.reason.failure is None:
            return name
    return None


@command("request", example="limen request -m work/some-model --json '{\"messages\":[]}'")
@click.option("--json", "options", required=True, metavar="JSON|FILE", help="The request, a file with it, or -.")
@click.option("--model", "-m", required=True, metavar="ROUTE/MODEL", help="The model; with --route its id alone.")
@route_option
def request(*, options: str, model: str, route: str | None) -> None:
    """Show what would be sent; nothing is sent.

    The request is JSON as `limen.encode` writes it, without provider and model. Secrets are masked.
    """
    provider, name = split_model(model, route)
    config = loaded()
    found = next((one for one in config.routes if one.name == provider), None)
    if found is None:
        raise UsageProblem(f"there is no route {provider!r}; `limen routes` lists those there are")
    codec = _compose.codec_of(found)
    if codec is None:
        raise UsageProblem(f"the adapter {found.adapter} of {provider!r} sends nothing over HTTP that could be shown")
    if codec.requires_key or _compose.credential_of(found) is not None:
        found = msgspec.structs.replace(found, credential=StaticCredential(MASK))
    shown = asyncio.run(_about_to_send(found, config, _options(options, provider, name)))
    click.echo(f"{shown.method} {scrub(shown.path)}")
    for header, value in shown.headers.items():
        click.echo(f"{header}: {scrub(value)}")
    click.echo("")
    write_bytes(msgspec.json.format(shown.body, indent=2) + b"\n")


class _Held:
    """Takes what is about to be sent, and stops it there."""

    def __init__(self) -> None:
        self.request: WireRequest | None = None

    def started(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        # The transport asks for no coding, whatever the adapter says (K8).
        shown = {**{name.lower(): value for name, value in headers}, "accept-encoding": "identity"}
        self.request = WireRequest(method, url, shown, body)
        raise LlmError("held back, to be shown", codes.ABORTED)

    def answered(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Do nothing: no request was sent, so none is answered."""

    def received(self, data: bytes) -> None:
        """Do nothing: no request was sent, so none is answered."""

    def ended(self, code: str | None) -> None:
        """Do nothing: no request was sent, so none is answered."""


async def _about_to_send(route: Route, config: Config, options: GenerateOptions) -> WireRequest:
    """Return what a call of this route would send: the route's own adapter makes it, as for a call."""
    held = _Held()
    token = WIRE_TAP.set(lambda: held)
    try:
        async with LlmRuntime() as llm:
            llm.register([route.name], _compose.make_adapter(route, config))
            await llm.stream(options).response()
    except LlmError:
        if held.request is None:
            raise
    finally:
        WIRE_TAP.reset(token)
    assert held.request is not None, "a call without a request"
    return held.request


@command("classify", example="limen classify --wire openai-chat --status 429 --header 'retry-after: 3' body.json")
@click.argument("file")
@wire_option
@click.option("--status", required=True, type=click.IntRange(100, 599), metavar="N", help="The answer's HTTP status.")
@dialect_option
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="A header of the answer; may be repeated.")
def classify(*, file: str, wire: str, status: int, dialect: str | None, header: Sequence[str]) -> None:
    """Say what a failed answer means, as JSON: its body is in FILE, or for - on stdin."""
    headers: dict[str, str] = {}
    for line in header:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UsageProblem(f"a header is written 'name: value'; got {line!r}")
        headers[name.strip()] = value.strip()
    failure = _compose.classify_error(wire, status, headers, read_file(file), dialect=dialect)
    click.echo(encode(failure).decode())


def _options(source: str, provider: str, model: str) -> GenerateOptions:
    raw = json_or_file(source)
    problem: str
    try:
        fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        fields["provider"], fields["model"] = msgspec.Raw(encode(provider)), msgspec.Raw(encode(model))
        fields.setdefault("messages", msgspec.Raw(b"[]"))
        return decode_options(msgspec.json.encode(fields))
    except msgspec.DecodeError as fault:
        problem = f"the request is not a JSON object: {fault}"
    except LlmError as fault:
        problem = fault.failure.message
    raise UsageProblem(problem)
