"""`limen decode`, `limen request`, `limen classify`: the wire without the network."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from limen import _compose
from limen.cli._calls import Model, Route, split_model, stdin_bytes
from limen.cli._report import UsageProblem
from limen.cli._routes import loaded
from limen.cli._show import JsonLines, Readable
from limen.config import Config
from limen.config import Route as Configured
from limen.contract import (
    MASK,
    WIRE_TAP,
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

Wire = Annotated[str, typer.Option(help="The wire, such as openai-chat.")]
Dialect = Annotated[str | None, typer.Option(help="The wire's dialect; its own default unless given.")]
File = Annotated[str, typer.Argument(help="The file with the body; - reads stdin.")]


def decode(
    file: File,
    *,
    wire: Wire,
    dialect: Dialect = None,
    as_json: Annotated[bool, typer.Option("--json", help="Each chunk as a line of JSON.")] = False,
) -> None:
    """Read a raw answer as the adapter would."""
    view: JsonLines | Readable = JsonLines() if as_json else Readable()
    try:
        for chunk in _compose.iter_chunks(wire, read(file), dialect=dialect):
            view.show(chunk)
    finally:
        view.end()


def request(
    options: Annotated[str, typer.Option("--json", help="The request as JSON, a file with it, or - for stdin.")],
    *,
    model: Model,
    route: Route = None,
) -> None:
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
    typer.echo(f"{shown.method} {scrub(shown.path)}")
    for header, value in shown.headers.items():
        typer.echo(f"{header}: {scrub(value)}")
    typer.echo("")
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(shown.body, indent=2) + b"\n")
    sys.stdout.buffer.flush()


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


async def _about_to_send(route: Configured, config: Config, options: GenerateOptions) -> WireRequest:
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


def classify(
    file: File,
    *,
    wire: Wire,
    status: Annotated[int, typer.Option(min=100, max=599, help="The answer's HTTP status.")],
    dialect: Dialect = None,
    header: Annotated[
        list[str] | None, typer.Option(help="A header of the answer, name: value; may be repeated.")
    ] = None,
) -> None:
    """Say what a failed answer means, as JSON."""
    pairs = [line.partition(":") for line in header or ()]
    headers = {name.strip(): value.strip() for name, _, value in pairs}
    failure = _compose.classify_error(wire, status, headers, read(file), dialect=dialect)
    typer.echo(encode(failure).decode())


def read(file: str) -> bytes:
    """Return a file's content, or stdin's for `-`."""
    if file == "-":
        return stdin_bytes()
    problem: str
    try:
        return Path(file).read_bytes()
    except OSError as fault:
        problem = f"{file}: {fault.strerror or fault}"
    raise UsageProblem(problem)


def _options(source: str, provider: str, model: str) -> GenerateOptions:
    raw = source.encode() if source.lstrip().startswith("{") else read(source)
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
