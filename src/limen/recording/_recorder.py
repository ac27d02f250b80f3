"""Recorder: an interceptor that writes the traffic of its calls to a cassette."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import msgspec

from limen._version import __version__
from limen.contract import WIRE_TAP, GenerateOptions, Next, StreamChunk, TooDeep, WireTap, loads
from limen.recording._cassette import CassetteWriter, Exchange, Read, RecordedRequest, RecordedResponse, to_text
from limen.recording._redact import REQUEST_HEADERS, RESPONSE_HEADERS, Redaction

_JSON: "msgspec.json.Decoder[object]" = msgspec.json.Decoder(object)


class Recorder:
    """Recorder of every exchange of the calls that it wraps: `runtime.use(Recorder("calls.json", wires={…}))`.

    `path` is a `.json` file, or a folder that gets one file for each exchange. `wires` maps each route to its wire and
    dialect, `{"deepseek": ("openai-chat", "deepseek")}`, which the traffic does not contain. Keys, cookies,
    organizations and bearer tokens are never written; `redact` names further fields whose values are not written.

    Each attempt of a call is an exchange of its own. An exchange is written when its connection ends; a write that
    fails ends the call with its error. Calls that never reach a connection leave no exchange.
    """

    def __init__(
        self,
        path: "str | os.PathLike[str]",
        *,
        wires: Mapping[str, tuple[str, str | None]] | None = None,
        redact: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = CassetteWriter(path)
        self._wires = dict(wires or {})
        self._redaction = Redaction(redact)
        self._clock = clock

    async def __call__(self, options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        """Wrap the rest of the chain; every chunk passes unchanged."""
        stream = following(options)
        try:
            chunk = await self._first_step(options, stream)
            while chunk is not None:
                yield chunk
                chunk = await anext(stream, None)
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def _first_step(self, options: GenerateOptions, stream: AsyncIterator[StreamChunk]) -> StreamChunk | None:
        # The transport gets its tap when it sends, which is in a call's first step; later steps may run in another
        # context, in which the variable could not be reset.
        outer = WIRE_TAP.get()

        def make() -> WireTap:
            return Tap(self._keep, options, clock=self._clock, outer=None if outer is None else outer())

        token = WIRE_TAP.set(make)
        try:
            return await anext(stream, None)
        finally:
            WIRE_TAP.reset(token)

    def _keep(self, options: GenerateOptions, seen: "ObservedExchange") -> None:
        wire_and_dialect = self._wires.get(options.provider, (None, None))
        self._writer.add(seen.exchange(options, wire_and_dialect, self._redaction))


class ObservedExchange:
    """Traffic of one exchange, before redaction."""

    def __init__(self) -> None:
        self.method = ""
        self.url = ""
        self.headers: list[tuple[str, str]] = []
        self.body = b""
        self.status: int | None = None
        self.answered_ms = 0.0
        self.answer_headers: list[tuple[str, str]] = []
        self.reads: list[tuple[float, bytes]] = []
        self.failure: str | None = None
        self.ended_ms = 0.0

    def exchange(
        self, options: GenerateOptions, wire_and_dialect: tuple[str | None, str | None], redaction: Redaction
    ) -> Exchange:
        """Return the redacted exchange of the given wire and dialect."""
        wire, dialect = wire_and_dialect
        return Exchange(
            limen=__version__,
            route=options.provider,
            model=redaction.text(options.model),
            wire=wire,
            dialect=dialect,
            request=self._request(redaction),
            response=None if self.status is None else self._response(self.status, redaction),
            failure=self.failure,
            ended_ms=self.ended_ms,
        )

    def _request(self, redaction: Redaction) -> RecordedRequest:
        text = redaction.text(to_text(self.body))
        headers = redaction.headers(self.headers, REQUEST_HEADERS)
        path = redaction.path(self.url)
        try:
            return RecordedRequest(self.method, path, headers, json=loads(text, _JSON))
        except (msgspec.DecodeError, TooDeep):
            return RecordedRequest(self.method, path, headers, text=text or None)

    def _response(self, status: int, redaction: Redaction) -> RecordedResponse:
        cleaned = redaction.reads([to_text(data) for _, data in self.reads])
        reads = tuple(Read(at, data) for (at, _), data in zip(self.reads, cleaned, strict=True))
        headers = redaction.headers(self.answer_headers, RESPONSE_HEADERS)
        return RecordedResponse(status, self.answered_ms, headers, reads)


class Tap:
    """Tap of one exchange, which passes it on to `keep` at its end; an outer tap is called too."""

    def __init__(
        self,
        keep: Callable[[GenerateOptions, ObservedExchange], None],
        options: GenerateOptions,
        *,
        clock: Callable[[], float],
        outer: WireTap | None,
    ) -> None:
        self._keep = keep
        self._options = options
        self._clock = clock
        self._outer = outer
        self._began = clock()
        self._seen = ObservedExchange()

    def started(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Begin the exchange: its request is about to be sent."""
        self._began = self._clock()
        seen = self._seen
        seen.method, seen.url, seen.headers, seen.body = method, url, list(headers), body
        if self._outer is not None:
            self._outer.started(method, url, headers, body)

    def answered(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Note the response's status and headers."""
        self._seen.status = status
        self._seen.answered_ms = self._now()
        self._seen.answer_headers = list(headers)
        if self._outer is not None:
            self._outer.answered(status, headers)

    def received(self, data: bytes) -> None:
        """Note one read of the body."""
        self._seen.reads.append((self._now(), bytes(data)))
        if self._outer is not None:
            self._outer.received(data)

    def ended(self, code: str | None) -> None:
        """End the exchange and keep it."""
        self._seen.failure = code
        self._seen.ended_ms = self._now()
        self._keep(self._options, self._seen)
        if self._outer is not None:
            self._outer.ended(code)

    def _now(self) -> float:
        return round((self._clock() - self._began) * 1000, 3)
