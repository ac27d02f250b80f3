"""Interceptors around the dispatch (R7), and how each is closed when a stream is left early."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from limen.contract import (
    AbortSignal,
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
from limen.runtime._attempt import Attempt
from limen.runtime._failures import aborted_failure, finish
from limen.runtime._prepare import Binding
from limen.runtime._registry import Registry
from limen.runtime._source import Source, own_iterator, reader

_CHUNKS: Final = frozenset({BlockStart, TextDelta, ReasoningDelta, ToolCallDelta, BlockEnd, UsageChunk, Finish})


class Hop:
    """A `next` of ours. `collecting` says that nothing is shown before the end, as in `complete()` (R9).

    `opened` holds, in the order of opening, every stream of the chain, so that each can be closed: `async for` in an
    interceptor does not close what it reads when it is left early itself.
    """

    __slots__ = ("collecting", "opened")

    def __init__(self, opened: list[AsyncIterator[StreamChunk]], *, collecting: bool) -> None:
        self.opened = opened
        self.collecting = collecting

    def keep(self, iterator: AsyncIterator[StreamChunk]) -> None:
        """Remember a stream until the end; those of ours that ended are forgotten."""
        if len(self.opened) > 1:
            self.opened[:] = [kept for kept in self.opened if not (isinstance(kept, Source) and kept.done)]
        self.opened.append(iterator)


class Dispatcher(Hop):
    """The end of the chain: each call of it is one attempt at an adapter."""

    __slots__ = ("_before", "_prepared", "_registry", "attempt")

    def __init__(self, registry: Registry, prepared: Binding | None, *, collecting: bool) -> None:
        super().__init__([], collecting=collecting)
        self._registry = registry
        self._prepared = prepared
        self._before = 0
        self.attempt: Attempt | None = None

    def __call__(self, options: GenerateOptions) -> Attempt:
        """Make the next attempt; it begins when it is first read."""
        self._before = self.attempts
        self.attempt = Attempt(self._registry, options, self._prepared)
        self.keep(self.attempt)
        return self.attempt

    @property
    def attempts(self) -> int:
        """How many requests were made."""
        attempt = self.attempt
        return self._before + (attempt is not None and attempt.dispatched)


class Link(Hop):
    """One interceptor, and what it wraps."""

    __slots__ = ("_interceptor", "_next")

    def __init__(self, interceptor: Interceptor, following: "Dispatcher | Link") -> None:
        super().__init__(following.opened, collecting=following.collecting)
        self._interceptor = interceptor
        self._next: Next = following

    def __call__(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Run the interceptor on these options."""
        iterator = own_iterator(self._interceptor(options, self._next), "an interceptor")
        self.keep(iterator)
        return iterator


def chain(interceptors: Sequence[Interceptor], dispatcher: Dispatcher) -> "Dispatcher | Link":
    """Put interceptors around the dispatch, the first of them outermost."""
    hop: Dispatcher | Link = dispatcher
    for interceptor in reversed(interceptors):
        hop = Link(interceptor, hop)
    return hop


class Outer(Source):
    """What comes out of interceptors: theirs to answer for, so it is assembled, not guarded (R7).

    What they raise is raised unchanged (E2). Their stream is read to its end before the finish is shown, so that
    what they do after it is done, and one that has no finish, or chunks after it, is `PROTOCOL_VIOLATION`, or the
    abort of `signal` where that came before (Q6).
    """

    __slots__ = ("_read", "_signal", "assembler")

    def __init__(self, iterator: AsyncIterator[StreamChunk], signal: AbortSignal | None) -> None:
        super().__init__()
        self._read = reader(iterator)
        self._signal = signal
        self.assembler = Assembler()

    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks as the interceptors gave them."""
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
        return [*before, last]

    def _finished(self, fault: str) -> list[StreamChunk]:
        self.done = True
        failure = Failure(f"C6: the interceptors' stream {fault}", codes.PROTOCOL_VIOLATION, "mid-stream")
        if self._signal is not None and self._signal.aborted:
            failure = aborted_failure("mid-stream")
        chunk = finish(failure)
        self.assembler.feed(chunk)
        return [chunk]
