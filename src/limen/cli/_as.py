"""`limen stream --as`: the answer as the events of another protocol, byte for byte on stdout."""

import functools
import inspect
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Annotated, Final

import typer

from limen.cli._report import UsageProblem
from limen.contract import GenerateOptions, StreamChunk

_ASKED: Final[ContextVar[str | None]] = ContextVar("limen_cli_as", default=None)
_OPTION: Final = inspect.Parameter(
    "protocol",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None, typer.Option("--as", help="The answer as the events of pi, of ui (web chat), or of a wire.")
    ],
)


class EventWriter:
    """Writer of an answer's chunks as another protocol's events."""

    def __init__(self, feed: Callable[[StreamChunk], Sequence[bytes]], eof: Callable[[], Sequence[bytes]]) -> None:
        self._feed = feed
        self._eof = eof

    def show(self, chunk: StreamChunk) -> None:
        """Write the events of one chunk."""
        _write(self._feed(chunk))

    def end(self) -> None:
        """Write what ends the events."""
        _write(self._eof())


def with_protocols(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes `--as` beside its own options; inside it, `asked_for` tells what was asked for."""

    @functools.wraps(command)
    def run(*, protocol: str | None, **given: object) -> None:
        token = _ASKED.set(protocol)
        try:
            command(**given)
        finally:
            _ASKED.reset(token)

    signature = inspect.signature(command)
    parameters = [*signature.parameters.values(), _OPTION]
    # Typer reads both, and passes every value by its name.
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    vars(run)["__signature__"] = signature.replace(parameters=parameters)
    return run


def asked_for(options: GenerateOptions, *, as_json: bool) -> EventWriter | None:
    """Return the writer that `--as` asks for, or `None`; an unknown name, or `--json` beside it, is wrong usage.

    `pi` is a line of JSON per event; `ui` and the wires are the body that an HTTP client would read.
    """
    protocol = _ASKED.get()
    if protocol is None:
        return None
    if as_json:
        raise UsageProblem("--json and --as each say how the answer is written; give one of them")
    return _writer(protocol, options)


def _writer(protocol: str, options: GenerateOptions) -> EventWriter:
    # Loaded only where it is asked for: the command starts without it.
    from limen.views import ENCODERS, EncoderOptions, encoder, pi, ui_messages

    if protocol == "pi":
        events = pi.View(provider=options.provider, model=options.model, timestamp=int(time.time() * 1000))
        return EventWriter(
            lambda chunk: [event.to_json() + b"\n" for event in events.feed(chunk)],
            lambda: [event.to_json() + b"\n" for event in events.eof()],
        )
    if protocol == "ui":
        parts = ui_messages.View(message_id=f"msg_{secrets.token_hex(12)}")
        return EventWriter(
            lambda chunk: [part.sse() for part in parts.feed(chunk)],
            lambda: [*(part.sse() for part in parts.eof()), ui_messages.DONE],
        )
    if protocol in ENCODERS:
        facts = EncoderOptions(created=int(time.time()))
        wire = encoder(protocol, model=options.model, id=f"limen-{secrets.token_hex(12)}", options=facts)
        return EventWriter(wire.feed, wire.eof)
    raise UsageProblem(f"--as takes {', '.join(('pi', 'ui', *ENCODERS))}; got {protocol!r}")


def _write(events: Sequence[bytes]) -> None:
    if events:
        sys.stdout.buffer.write(b"".join(events))
        sys.stdout.buffer.flush()
