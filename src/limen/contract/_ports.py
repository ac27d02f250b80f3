"""Interfaces of adapters, interceptors, wires and taps."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

from limen.contract import _codes as codes
from limen.contract._abort import AbortSignal
from limen.contract._chunks import StreamChunk
from limen.contract._errors import LlmError
from limen.contract._failure import Failure
from limen.contract._limits import Limits
from limen.contract._models import ModelInfo, ProviderInfo
from limen.contract._options import GenerateOptions
from limen.contract._response import RateLimits, ReplayDrop
from limen.contract._retry_policy import RetryPolicy

IdSeed: TypeAlias = bytes | Callable[[], bytes]
"""Seed of made ids (C9); a callable is called only if an id must be made."""

Next: TypeAlias = Callable[[GenerateOptions], AsyncIterator[StreamChunk]]
"""Rest of the interceptor chain: called with options, it returns the stream to iterate."""

Interceptor: TypeAlias = Callable[[GenerateOptions, Next], AsyncIterator[StreamChunk]]
"""Wrapper around streams: may observe, change options, or short-circuit; runs before route look-up (R7)."""


class AdapterCall(NamedTuple):
    """Call bound to one snapshot of an adapter: model facts, and the function that dispatches (R3)."""

    model: ModelInfo
    stream: Callable[[GenerateOptions], AsyncIterator[StreamChunk]]


class LlmAdapter(ABC):
    """Adapter of one provider. Only `stream` is required.

    An adapter makes one attempt per call (Q5), keeps the C-rules, raises `LlmError` for failures of transport and
    protocol and finishes in-band for errors inside a well-formed stream (E1).
    """

    @abstractmethod
    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Return the stream of one call; an `async def` with `yield` is the usual form.

        If the returned iterator has `aclose()`, it is called once when the stream is left early. An iterator that
        is also a `ReportsCall` gives response ids and other facts; one that is a `BatchSource` is read in batches,
        which is faster and otherwise the same.
        """

    def provider_info(self, provider: str) -> ProviderInfo:
        """Return the route's id and display name; the name is the id unless the adapter knows better."""
        return ProviderInfo(provider, provider)

    def retry_policy(self, provider: str) -> RetryPolicy | None:
        """Return the route's retry policy, read once at registration; `None` is the default policy."""
        return None

    async def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the known models of a route; the list is advisory (R10)."""
        return ()

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return identity and known facts of one exact model, also of an unlisted one (R2, R10)."""
        return ModelInfo(provider, model, model)

    async def prepare_call(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> AdapterCall:
        """Bind model facts and dispatch to one snapshot of the adapter's configuration (R3, K2)."""
        return AdapterCall(await self.resolve_model(provider, model, signal=signal), self.stream)

    async def aclose(self) -> None:  # noqa: B027 - optional on purpose: most adapters hold nothing
        """Release connections and other resources; called by the runtime that owns the adapter. Idempotent."""


class CallFacts:
    """Facts about a call beside its chunks; the adapter fills them while the stream runs, the runtime reads them."""

    __slots__ = (
        "first_event_ms",
        "notes",
        "provider_reason",
        "rate_limits",
        "replay_dropped",
        "request_id",
        "response_id",
        "response_model",
        "stop_sequence",
    )

    def __init__(self) -> None:
        self.response_model: str | None = None
        self.response_id: str | None = None
        self.request_id: str | None = None
        self.provider_reason: str | None = None
        self.stop_sequence: str | None = None
        self.first_event_ms: float | None = None
        self.replay_dropped: list[ReplayDrop] = []
        self.rate_limits: RateLimits | None = None
        self.notes: list[str] = []


@runtime_checkable
class ReportsCall(Protocol):
    """Stream that reports facts about its call."""

    call_facts: CallFacts


@runtime_checkable
class BatchSource(Protocol):
    """Stream that can return all chunks of one network read at once."""

    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks; an empty list is the end. Raises the same errors as iteration."""
        ...


@runtime_checkable
class Abandonable(Protocol):
    """Stream whose connection can be closed by the finalizer of its reader, which emits the warning (R11)."""

    def abandon(self) -> None:
        """Close the connection without a warning and without touching an event loop (T2)."""
        ...


class WireRequest(msgspec.Struct, frozen=True):
    """Request as it would be sent: `path` follows the base URL; secrets are masked in `headers`."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class WireReader(Protocol):
    """Reader of one answer, bytes to chunks: `feed` each read, then `eof` once. Pure; never raises for its input.

    A failure that an adapter must raise (E1) is kept in `failure`, after the chunks before it were returned; the
    reader then returns nothing more (S4). `done` is true once the terminal chunk was returned; `may_end` once a
    finish word was seen on a wire whose end is the end of the body (S6); `events` counts model events, which
    distinguishes them from keep-alives (T1).
    """

    call_facts: CallFacts
    failure: LlmError | None
    done: bool
    may_end: bool
    events: int

    def feed(self, data: bytes) -> list[StreamChunk]:
        """Add one read; return the chunks that it completed."""
        ...

    def eof(self) -> list[StreamChunk]:
        """End the body cleanly: return the last chunks, or set `failure`."""
        ...


class Wire(Protocol):
    """Wire without its network, as `iter_chunks`, `build_request`, `classify_error` and cassettes use it.

    An unknown dialect is `LlmError` `UNSUPPORTED`; see `unknown_dialect`.
    """

    @property
    def name(self) -> str:
        """Name of the wire, such as `openai-chat`."""
        ...

    @property
    def dialects(self) -> Sequence[str]:
        """Names of its dialect rows."""
        ...

    @property
    def default_dialect(self) -> str:
        """Name of the row that is used if none is given."""
        ...

    def reader(
        self,
        *,
        dialect: str | None = None,
        id_seed: "IdSeed" = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
    ) -> WireReader:
        """Make the reader of one answer; `content_type` is used in error messages only."""
        ...

    def request(self, options: GenerateOptions, *, dialect: str | None = None) -> WireRequest:
        """Serialize a request, or raise the adapter's refusal of it, before any I/O (Q1)."""
        ...

    def classify(self, status: int, headers: Mapping[str, str], body: bytes, *, dialect: str | None = None) -> Failure:
        """Classify a failed answer (E1, section 3); header names in any case."""
        ...


def unknown_dialect(wire: str, dialect: str, known: Sequence[str]) -> LlmError:
    """Make the `UNSUPPORTED` error for a dialect that a wire does not have."""
    return LlmError(
        f"the wire {wire} has no dialect {dialect!r}; it has {', '.join(sorted(known))}",
        codes.UNSUPPORTED,
        phase="resolve",
    )


class WireTap(Protocol):
    """Observer of one exchange in the transport, used by the recorder. An exception that it raises fails the call.

    `started` gives method, full URL, request headers and body; `answered` the status and response headers;
    `received` each read of the body as it arrived; `ended` closes the exchange, with the failure's code if any.
    """

    def started(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Begin an exchange: its request is about to be sent. A tap sees one exchange after another."""
        ...

    def answered(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Note the response's status and headers."""
        ...

    def received(self, data: bytes) -> None:
        """Note one read of the response's body, error bodies included."""
        ...

    def ended(self, code: str | None) -> None:
        """End the exchange: `None` for a body that ended cleanly or was complete, else the failure's code."""
        ...


WIRE_TAP: Final[ContextVar[Callable[[], WireTap] | None]] = ContextVar("limen_wire_tap", default=None)
"""Factory of taps; the transport calls it once per request, in the context that sends it."""
