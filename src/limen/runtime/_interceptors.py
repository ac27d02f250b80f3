"""Chain of interceptors around the attempts of a call (R7)."""

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

import msgspec

from limen.contract import (
    Assembler,
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    GenerateOptions,
    Interceptor,
    Next,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
    codes,
)
from limen.runtime._attempt import Attempt, Source, own_iterator, reader
from limen.runtime._binding import Binding
from limen.runtime._failures import aborted_failure, finish, of_call
from limen.runtime._registry import Registry

_CHUNKS: Final = frozenset({BlockStart, TextDelta, ReasoningDelta, ToolCallDelta, BlockEnd, UsageChunk, Finish})


class Dispatcher:
    """Last `next` of a call's chain, and the state of the call: each call of it makes one attempt at an adapter.

    `collecting` is set where nothing is shown before the end, as in `complete()` (R9). `opened` holds every stream of
    the chain in the order of opening, so that each can be closed: an interceptor's `async for` does not close what it
    reads when the interceptor is left early. `prepared` is the binding of a prepared call.
    """

    __slots__ = ("_before", "attempt", "collecting", "opened", "prepared", "registry")

    def __init__(self, registry: Registry, prepared: Binding | None, *, collecting: bool) -> None:
        self.registry: Registry = registry
        self.prepared: Binding | None = prepared
        self.collecting: bool = collecting
        self.opened: list[AsyncIterator[StreamChunk]] = []
        self.attempt: Attempt | None = None
        self._before = 0

    def __call__(self, options: GenerateOptions) -> Attempt:
        """Make the next attempt; its first read begins it."""
        if self.attempt is not None:
            self._before = self.attempts
        attempt = self.attempt = Attempt(self.registry, options, self.prepared)
        self.keep(attempt)
        return attempt

    @property
    def attempts(self) -> int:
        """Number of requests made so far."""
        attempt = self.attempt
        return self._before + (attempt is not None and attempt.dispatched)

    def keep(self, iterator: AsyncIterator[StreamChunk]) -> None:
        """Remember a stream until the call ends; sources that have ended are forgotten."""
        if len(self.opened) > 1:
            self.opened[:] = [kept for kept in self.opened if not (isinstance(kept, Source) and kept.done)]
        self.opened.append(iterator)

    def reworded(self, failure: Failure, message: str) -> Failure:
        """Return the failure with another message; its exception stays the cause of the call's error."""
        changed = msgspec.structs.replace(failure, message=message)
        if self.attempt is not None and self.attempt.failure is failure:
            self.attempt.failure = changed
        return changed


class Link:
    """A `next` that runs one interceptor around the following `next`."""

    __slots__ = ("_following", "_interceptor", "dispatcher")

    def __init__(self, interceptor: Interceptor, following: "Dispatcher | Link", dispatcher: Dispatcher) -> None:
        self._interceptor = interceptor
        self._following: Next = following
        self.dispatcher = dispatcher

    def __call__(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Run the interceptor on these options."""
        iterator = own_iterator(self._interceptor(options, self._following), "an interceptor")
        self.dispatcher.keep(iterator)
        return iterator


def dispatcher_of(following: object) -> Dispatcher | None:
    """Return the dispatcher at the end of a `next`; `None` for one that a program made itself."""
    if isinstance(following, Link):
        return following.dispatcher
    return following if isinstance(following, Dispatcher) else None


class Chain(NamedTuple):
    """Interceptors of a call, the first outermost; `transparent` if they only pass on what an attempt's guard kept."""

    interceptors: tuple[Interceptor, ...] = ()
    transparent: bool = True

    def start(self, options: GenerateOptions, dispatcher: Dispatcher) -> "tuple[Source, Outer | None]":
        """Return the source of the call, and the assembling wrapper if any interceptor is user-defined (R7)."""
        following: Dispatcher | Link = dispatcher
        for interceptor in reversed(self.interceptors):
            following = Link(interceptor, following, dispatcher)
        iterator = following(options)
        if self.transparent and isinstance(iterator, Source):
            return iterator, None
        outer = Outer(iterator, options)
        return outer, outer


class Outer(Source):
    """Stream that user-defined interceptors give: assembled, not guarded, since its content is theirs (R7).

    What they raise is raised unchanged (E2). It is read to its end before the finish is shown, so that what they do
    after the finish is done by then. A stream without a finish, or with chunks after it, is `PROTOCOL_VIOLATION`, or
    `ABORTED` if the signal was aborted before (Q6).
    """

    __slots__ = ("_options", "_read", "assembler")

    def __init__(self, iterator: AsyncIterator[StreamChunk], options: GenerateOptions) -> None:
        super().__init__()
        self._read = reader(iterator)
        self._options = options
        self.assembler = Assembler()

    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks, as the interceptors gave them."""
        batch = await self._read()
        if not batch:
            return self._finished("ended without a finish")
        for index, chunk in enumerate(batch):
            if type(chunk) not in _CHUNKS:
                raise TypeError(f"an interceptor yielded a {type(chunk).__name__}, which is no chunk")
            self.assembler.feed(chunk)
            if type(chunk) is Finish:
                return await self._last(batch[:index], chunk, batch[index + 1 :])
        return batch

    async def _last(self, before: list[StreamChunk], last: Finish, more: list[StreamChunk]) -> list[StreamChunk]:
        while not more and (following := await self._read()):
            more = following
        if more:
            return [*before, *self._finished(f"sent a {type(more[0]).__name__} after the finish")]
        kind, failure = last.reason.kind, last.reason.failure
        if (kind in ("error", "aborted")) != (failure is not None):
            lacks = "lacks" if failure is None else "has"
            return [*before, *self._finished(f"has a finish of kind {kind} that {lacks} a failure")]
        self.done = True
        if failure is not None and failure.provider is None:
            # An interceptor's own finish names no call yet.
            last = finish(of_call(failure, self._options))
        return [*before, last]

    def _finished(self, fault: str) -> list[StreamChunk]:
        self.done = True
        failure = Failure(f"C6: the interceptors' stream {fault}", codes.PROTOCOL_VIOLATION, "mid-stream")
        signal = self._options.signal
        if signal is not None and signal.aborted:
            failure = aborted_failure("mid-stream")
        chunk = finish(of_call(failure, self._options))
        self.assembler.feed(chunk)
        return [chunk]
