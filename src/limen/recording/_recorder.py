"""The recorder: an interceptor that keeps what passes the transport while a call runs."""

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
    """Records every exchange of the calls it wraps: `runtime.use(Recorder("calls.json", wires={…}))`.

    `path` is a `.json` file, or a folder that gets one file for each exchange. `wires` says of each route which wire
    and dialect it speaks, `{"deepseek": ("openai-chat", "deepseek")}`; the traffic itself does not tell. Keys,
    cookies, organizations and bearer tokens are never written; `redact` names further fields whose values are not.

    Each try of a call is an exchange of its own. An exchange is written when its connection ends; what cannot be
    written fails the call. Calls that never reach a connection leave nothing.
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
        """Wrap the rest of the chain; every chunk passes as it is."""
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
        # The transport asks for its tap when it sends, which is in a call's first step; later steps may run in
        # another context, where nothing could be taken back.
        outer = WIRE_TAP.get()

        def make() -> WireTap:
            return Tap(self._keep, options, clock=self._clock, outer=None if outer is None else outer())

        token = WIRE_TAP.set(make)
        try:
            return await anext(stream, None)
        finally:
            WIRE_TAP.reset(token)

    def _keep(self, options: GenerateOptions, seen: "Seen") -> None:
        spoken = self._wires.get(options.provider, (None, None))
        self._writer.add(seen.exchange(options, spoken, self._redaction))


class Seen:
    """What passed of one exchange, as it was."""

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
        self, options: GenerateOptions, spoken: tuple[str | None, str | None], redaction: Redaction
    ) -> Exchange:
        """Return it as it may be kept; `spoken` is the wire and the dialect."""
        wire, dialect = spoken
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
    """Listens to one exchange, and hands it over when it has ended; an outer tap hears everything too."""

    def __init__(
        self,
        keep: Callable[[GenerateOptions, Seen], None],
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
        self._seen = Seen()

    def started(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """A request is about to be sent."""
        self._began = self._clock()
        seen = self._seen
        seen.method, seen.url, seen.headers, seen.body = method, url, list(headers), body
        if self._outer is not None:
            self._outer.started(method, url, headers, body)

    def answered(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """The response's head arrived."""
        self._seen.status = status
        self._seen.answered_ms = self._now()
        self._seen.answer_headers = list(headers)
        if self._outer is not None:
            self._outer.answered(status, headers)

    def received(self, data: bytes) -> None:
        """A read of the body arrived."""
        self._seen.reads.append((self._now(), bytes(data)))
        if self._outer is not None:
            self._outer.received(data)

    def ended(self, code: str | None) -> None:
        """The exchange is over: keep it."""
        self._seen.failure = code
        self._seen.ended_ms = self._now()
        self._keep(self._options, self._seen)
        if self._outer is not None:
            self._outer.ended(code)

    def _now(self) -> float:
        return round((self._clock() - self._began) * 1000, 3)
