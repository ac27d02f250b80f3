"""The seams: what limen asks of an adapter, an interceptor, a wire and a tap, and nothing more."""

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
"""What made ids are derived from (C9); a callable is asked only if an id must be made."""

Next: TypeAlias = Callable[[GenerateOptions], AsyncIterator[StreamChunk]]
"""The rest of the chain: call it with options, iterate what it returns."""

Interceptor: TypeAlias = Callable[[GenerateOptions, Next], AsyncIterator[StreamChunk]]
"""A wrapper around streams (R7): may observe, change options, short-circuit; runs before routes are looked up."""


class AdapterCall(NamedTuple):
    """One call bound to what an adapter knew when it was prepared (R3): model facts and the way to dispatch."""

    model: ModelInfo
    stream: Callable[[GenerateOptions], AsyncIterator[StreamChunk]]


class LlmAdapter(ABC):
    """What stands between limen and one provider. Only `stream` is required.

    An adapter makes one attempt per call (Q5), keeps the C-rules, raises `LlmError` for failures of transport and
    protocol and finishes in-band for errors inside a well-formed stream (E1).
    """

    @abstractmethod
    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Return the stream of one call; an `async def` with `yield` is the usual form.

        Where the returned iterator has `aclose()`, it is called once when the stream is left early.
        An iterator that also is `ReportsCall` tells response ids and the like; one that is `BatchSource` is read
        in batches, which is faster and otherwise the same.
        """

    def provider_info(self, provider: str) -> ProviderInfo:
        """Return the route's id and display name; the name is the id unless the adapter knows better."""
        return ProviderInfo(provider, provider)

    def retry_policy(self, provider: str) -> RetryPolicy | None:
        """Return the route's retry policy, read once at registration; `None` is the default policy."""
        return None

    async def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the models that the adapter knows of; advisory (R10)."""
        return ()

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return identity and known facts of one exact model; an unlisted one is answered too (R2, R10)."""
        return ModelInfo(provider, model, model)

    async def prepare_call(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> AdapterCall:
        """Bind model facts and dispatch to one snapshot of what the adapter knows (R3, K2)."""
        return AdapterCall(await self.resolve_model(provider, model, signal=signal), self.stream)

    async def aclose(self) -> None:  # noqa: B027 - optional on purpose: most adapters hold nothing
        """Give back what the adapter holds; called by the runtime that owns it. Idempotent."""


class CallFacts:
    """What an adapter learns about a call beside its chunks; filled while the stream runs, read by the runtime."""

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
    """A stream that tells facts about its call."""

    call_facts: CallFacts


@runtime_checkable
class BatchSource(Protocol):
    """A stream that can hand over all chunks of one network read at once."""

    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks, at least one; an empty list is the end. Raises what iteration would raise."""
        ...


@runtime_checkable
class Abandonable(Protocol):
    """A stream that can give its connection up from a finalizer of its reader, who warns of it (R11)."""

    def abandon(self) -> None:
        """Give up what is open, without a warning, and without touching a loop (T2)."""
        ...


class WireRequest(msgspec.Struct, frozen=True):
    """A request as it would be sent: `path` is what follows the base URL; secrets are masked in `headers`."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class WireReader(Protocol):
    """Bytes to chunks for one answer: `feed` each read, then `eof` once. Pure; never raises for what it reads.

    A failure that an adapter must raise (E1) is kept in `failure` after the chunks that came before it, and the
    reader then returns nothing more (S4). `done` is set once the terminal chunk was returned; `may_end` while a
    finish word was seen on a wire whose end is the end of the body (S6); `events` counts model events, so keep-
    alives can be told from them (T1).
    """

    call_facts: CallFacts
    failure: LlmError | None
    done: bool
    may_end: bool
    events: int

    def feed(self, data: bytes) -> list[StreamChunk]:
        """Take one read; return the chunks it completed."""
        ...

    def eof(self) -> list[StreamChunk]:
        """The body ended cleanly: return the last chunks, or set `failure`."""
        ...


class Wire(Protocol):
    """A wire without its network: what `iter_chunks`, `build_request`, `classify_error` and cassettes need.

    An unknown dialect is `LlmError` `UNSUPPORTED`; see `unknown_dialect`.
    """

    @property
    def name(self) -> str:
        """The wire's name, such as `openai-chat`."""
        ...

    @property
    def dialects(self) -> Sequence[str]:
        """The names of its dialect rows."""
        ...

    @property
    def default_dialect(self) -> str:
        """The row used where none is named."""
        ...

    def reader(
        self,
        *,
        dialect: str | None = None,
        id_seed: "IdSeed" = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
    ) -> WireReader:
        """Make the reader of one answer; `content_type` only serves the words of an error."""
        ...

    def request(self, options: GenerateOptions, *, dialect: str | None = None) -> WireRequest:
        """Serialize a request, or raise what the adapter would raise before any I/O (Q1)."""
        ...

    def classify(self, status: int, headers: Mapping[str, str], body: bytes, *, dialect: str | None = None) -> Failure:
        """Say what a failed answer means (E1, section 3); header names in any case."""
        ...


def unknown_dialect(wire: str, dialect: str, known: Sequence[str]) -> LlmError:
    """Make the refusal of a dialect that a wire does not have."""
    return LlmError(
        f"the wire {wire} has no dialect {dialect!r}; it has {', '.join(sorted(known))}",
        codes.UNSUPPORTED,
        phase="resolve",
    )


class WireTap(Protocol):
    """Sees one exchange as it passes the transport: the recorder's way in. What it raises fails the call.

    `started` gives method, full URL, request headers and body; `answered` the status and response headers;
    `received` each read of the body as it arrived; `ended` closes the exchange, with the failure's code if any.
    """

    def started(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """A request is about to be sent; a tap sees one exchange after another, each begun by this."""
        ...

    def answered(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """The response's head arrived."""
        ...

    def received(self, data: bytes) -> None:
        """A read of the response's body arrived, error bodies included."""
        ...

    def ended(self, code: str | None) -> None:
        """The exchange is over: `None` for a body that ended cleanly or was complete, else a failure's code."""
        ...


WIRE_TAP: Final[ContextVar[Callable[[], WireTap] | None]] = ContextVar("limen_wire_tap", default=None)
"""Makes the tap of one exchange; the transport asks once per request, in the context that makes it."""
