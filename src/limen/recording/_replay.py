"""Replay of recorded answers through the real parser: same bytes, same chunks, no network (C16)."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from limen.contract import (
    CallFacts,
    Finish,
    GenerateOptions,
    IdSeed,
    LlmAdapter,
    LlmError,
    ModelInfo,
    Phase,
    StreamChunk,
    Wire,
    WireReader,
    codes,
    encode,
    loads,
)
from limen.recording._cassette import Cassette, Exchange, RecordedRequest, RecordedResponse, to_text
from limen.recording._match import SHOWN, Difference, differences
from limen.recording._redact import REQUEST_IDS, Redaction

_JSON: "msgspec.json.Decoder[object]" = msgspec.json.Decoder(object)


class TimedChunk(NamedTuple):
    """Chunk with the time at which its last byte had arrived, in milliseconds after the request began."""

    at_ms: float
    chunk: StreamChunk


class Replay:
    """Replay of one exchange: iterate it once for its chunks; a failure that a call would raise is raised (E1).

    `call_facts` is filled during iteration. Delays of the recording are given as `at_ms`, not waited for.
    """

    def __init__(self, exchange: Exchange, wire: Wire, *, id_seed: IdSeed = b"") -> None:
        self.call_facts: CallFacts = CallFacts()
        self._exchange = exchange
        self._wire = wire
        self._seed = id_seed

    def __iter__(self) -> Iterator[StreamChunk]:
        return (timed.chunk for timed in self.timed())

    def timed(self) -> Iterator[TimedChunk]:
        """Iterate the chunks with their times."""
        exchange = self._exchange
        response = exchange.response
        if response is None:
            # The recording does not contain whether the connection was made.
            raise self._broken("headers")
        self.call_facts.request_id = _request_id(response.headers)
        if not 200 <= response.status < 300:
            raise self._refused(response)
        reader = self._wire.reader(
            dialect=exchange.dialect, id_seed=self._seed, content_type=response.headers.get("content-type")
        )
        reader.call_facts.request_id = self.call_facts.request_id
        self.call_facts = reader.call_facts
        for read in response.reads:
            yield from self._timed(reader, read.at_ms, reader.feed(read.raw))
            if reader.done:
                return
        if exchange.failure is not None:
            raise self._broken(_phase(reader))
        yield from self._timed(reader, exchange.ended_ms, reader.eof())

    def _timed(self, reader: WireReader, at_ms: float, chunks: Iterable[StreamChunk]) -> Iterator[TimedChunk]:
        if reader.events and reader.call_facts.first_event_ms is None:
            reader.call_facts.first_event_ms = at_ms
        for chunk in chunks:
            yield TimedChunk(at_ms, _completed(chunk, reader))
        failure = reader.failure
        if failure is not None:
            facts = failure.failure
            request_id = facts.request_id or reader.call_facts.request_id
            raise LlmError.of(replace(facts, phase=facts.phase or _phase(reader), request_id=request_id))

    def _refused(self, response: RecordedResponse) -> LlmError:
        dialect = self._exchange.dialect
        failure = self._wire.classify(response.status, response.headers, response.body, dialect=dialect)
        request_id = failure.request_id or self.call_facts.request_id
        status = failure.status or response.status
        return LlmError.of(replace(failure, phase="headers", status=status, request_id=request_id))

    def _broken(self, phase: Phase) -> LlmError:
        code = self._exchange.failure or codes.STREAM_CLOSED
        return LlmError(
            f"the recorded call ended here with {code}", code, phase=phase, request_id=self.call_facts.request_id
        )


def _phase(reader: WireReader) -> Phase:
    return "mid-stream" if reader.events else "first-event"


def _completed(chunk: StreamChunk, reader: WireReader) -> StreamChunk:
    """Add the facts of the connection to an in-band failure."""
    if not isinstance(chunk, Finish) or chunk.reason.failure is None:
        return chunk
    facts = chunk.reason.failure
    failure = replace(
        facts, phase=facts.phase or _phase(reader), request_id=facts.request_id or reader.call_facts.request_id
    )
    return replace(chunk, reason=replace(chunk.reason, failure=failure))


def _request_id(headers: Mapping[str, str]) -> str | None:
    return next((headers[name].strip() for name in REQUEST_IDS if headers.get(name, "").strip()), None)


class CassetteAdapter(LlmAdapter):
    """Adapter that answers from a cassette, through the real parser.

    - `wires` are the wires of the recorded exchanges; `wire` and `dialect` are the defaults of exchanges without them;
    - a request is built as the wire's adapter would build it and compared with the recorded ones by its JSON; one
      that was recorded several times gets its answers in their order, then the last one again;
    - `models` are facts from the configuration of the recorded route, such as an output limit sent on the wire;
    - `redact` names the fields that were redacted in the recording;
    - a request that was not recorded is `INVALID_OPTIONS`; the message shows the nearest one and the differences.
    """

    def __init__(
        self,
        cassette: Cassette,
        wires: Sequence[Wire],
        *,
        wire: str | None = None,
        dialect: str | None = None,
        models: Sequence[ModelInfo] = (),
        redact: Sequence[str] = (),
    ) -> None:
        self._wires = {known.name: known for known in wires}
        self._models = {model.id: model for model in models}
        self._redaction = Redaction(redact)
        self._exchanges = [_with_default_wire(exchange, wire, dialect) for exchange in cassette.exchanges]
        self._used: set[int] = set()

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Return the stream of one call; its first step raises the failure of an unrecorded request."""
        return _CassetteStream(self, options)

    async def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the given models."""
        return tuple(replace(model, provider=provider) for model in self._models.values())

    async def resolve_model(self, provider: str, model: str, *, signal: object = None) -> ModelInfo:
        """Return the given facts of one exact model."""
        known = self._models.get(model)
        return ModelInfo(provider, model, model) if known is None else replace(known, provider=provider)

    def replay(self, options: GenerateOptions) -> Replay:
        """Find the exchange of a request, and return its replay."""
        nearest: tuple[int, list[Difference]] | None = None
        last: int | None = None
        for index, exchange in enumerate(self._exchanges):
            found = list(self._differences(exchange, options))
            if not found and index not in self._used:
                return self._use(index, options)
            if not found:
                last = index
            elif nearest is None or len(found) < len(nearest[1]):
                nearest = (index, found)
        if last is not None:
            return self._use(last, options)
        raise _unrecorded(self._exchanges, nearest)

    def _use(self, index: int, options: GenerateOptions) -> Replay:
        self._used.add(index)
        exchange = self._exchanges[index]
        return Replay(exchange, self._wire(exchange), id_seed=lambda: encode(options.messages))

    def _wire(self, exchange: Exchange) -> Wire:
        wire = self._wires.get(exchange.wire or "")
        if wire is None:
            known = ", ".join(sorted(self._wires))
            raise LlmError(
                f"an exchange of {exchange.route} was recorded on the wire {exchange.wire!r}; given are {known}",
                codes.UNSUPPORTED,
                phase="resolve",
            )
        return wire

    def _differences(self, exchange: Exchange, options: GenerateOptions) -> Iterator[Difference]:
        written = self._wire(exchange).request(options, dialect=exchange.dialect)
        recorded = exchange.request
        if written.method != recorded.method:
            yield Difference("method", recorded.method, written.method)
        path = self._redaction.path(written.path)
        if not recorded.path.endswith(path):
            yield Difference("path", recorded.path, path)
        yield from differences(_body(recorded), loads(self._redaction.text(to_text(written.body)), _JSON))


class _CassetteStream:
    """Stream of one call: the chunks of its exchange, and the facts of the call."""

    def __init__(self, adapter: CassetteAdapter, options: GenerateOptions) -> None:
        self.call_facts = CallFacts()
        self._adapter = adapter
        self._options = options
        self._chunks = self._read()

    def __aiter__(self) -> "_CassetteStream":
        return self

    async def __anext__(self) -> StreamChunk:
        return await anext(self._chunks)

    async def aclose(self) -> None:
        await self._chunks.aclose()

    async def _read(self) -> AsyncGenerator[StreamChunk, None]:
        replay = self._adapter.replay(self._options)
        signal = self._options.signal
        try:
            for chunk in replay:
                if signal is not None and signal.aborted:
                    raise LlmError("the call was aborted", codes.ABORTED, phase="mid-stream")
                self.call_facts = replay.call_facts
                yield chunk
        finally:
            self.call_facts = replay.call_facts


def _with_default_wire(exchange: Exchange, wire: str | None, dialect: str | None) -> Exchange:
    return exchange if exchange.wire is not None else replace(exchange, wire=wire, dialect=dialect)


def _body(request: RecordedRequest) -> object:
    return request.json if request.text is None else request.text


def _unrecorded(exchanges: Sequence[Exchange], nearest: tuple[int, list[Difference]] | None) -> LlmError:
    words = "the cassette is empty"
    if nearest is not None:
        index, found = nearest
        exchange = exchanges[index]
        more = "" if len(found) <= SHOWN else f"; and {len(found) - SHOWN} more"
        words = (
            f"the nearest is exchange {index} ({exchange.route}, {exchange.request.method} {exchange.request.path}), "
            f"which differs in {'; '.join(str(one) for one in found[:SHOWN])}{more}"
        )
    return LlmError(f"this request was not recorded; {words}", codes.INVALID_OPTIONS, phase="resolve")
