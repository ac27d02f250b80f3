"""`limen stream --as`: the answer as the events of another protocol, byte for byte on stdout."""

import secrets
import time
from collections.abc import Callable, Sequence

from limen.cli._report import UsageProblem
from limen.cli._show import write_bytes
from limen.contract import GenerateOptions, StreamChunk


class EventWriter:
    """Writer of an answer's chunks as another protocol's events."""

    def __init__(self, feed: Callable[[StreamChunk], Sequence[bytes]], eof: Callable[[], Sequence[bytes]]) -> None:
        self._feed = feed
        self._eof = eof

    def show(self, chunk: StreamChunk) -> None:
        """Write the events of one chunk."""
        write_bytes(b"".join(self._feed(chunk)))

    def end(self) -> None:
        """Write what ends the events."""
        write_bytes(b"".join(self._eof()))


def event_writer(protocol: str, options: GenerateOptions) -> EventWriter:
    """Return the writer of a protocol; an unknown name is wrong usage.

    `pi` is a line of JSON per event; `ui` and the wires are the body that an HTTP client would read.
    """
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
