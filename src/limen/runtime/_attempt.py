"""Attempt: one guarded call of one adapter, whose every failure is its one `Finish` (R2-R6)."""

import asyncio
import logging
import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from inspect import iscoroutine
from time import perf_counter
from typing import Final, TypeAlias

from limen.contract import (
    Abandonable,
    AbortError,
    AbortSignal,
    Arrived,
    CallFacts,
    ChunkGrammar,
    Failure,
    Finish,
    GenerateOptions,
    GrammarError,
    Phase,
    ReplayDrop,
    StreamChunk,
    checked,
    foreign_text,
)
from limen.runtime._binding import Binding, Gated, bind, gate, unchanged
from limen.runtime._cancellation import Interrupt, in_loop, when_suspended
from limen.runtime._failures import (
    ENDS_THE_PROCESS,
    aborted_failure,
    debug,
    failure_of,
    finish,
    of_call,
    scrubbed,
    violation,
)
from limen.runtime._registry import Registry, Route

LINGER_S: Final = 0.05
"""Seconds that an adapter may take to end after its finish: what S6 gives a body."""

_LOGGER: Final = logging.getLogger("limen")

CLOSE_TIMEOUT_S: Final = 0.5
"""Seconds that an adapter may take to close while a reader waits for the outcome: five times the 100 ms of Q6."""

BatchReader: TypeAlias = Callable[[], Awaitable[list[StreamChunk]]]
"""Function that returns the next chunks of a stream, at least one; an empty list is the end."""


class Source:
    """Stream of chunks in batches; the last batch ends in `Finish`.

    `done` is set when nothing is left to close. `delegate` is set once the source only passes on what another source
    gives, so that its reader can read that one directly. No ABC, whose `isinstance` is a call of Python code.
    """

    __slots__ = ("__weakref__", "_ready", "delegate", "done")

    def __init__(self) -> None:
        # Made by the first single step; most sources are read in batches only.
        self._ready: deque[StreamChunk] | None = None
        self.done: bool = False
        self.delegate: Source | None = None

    @abstractmethod
    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks, at least one; an empty list is the end."""

    def __aiter__(self) -> "Source":
        return self

    async def __anext__(self) -> StreamChunk:
        if self._ready is None:
            self._ready = deque()
        if not self._ready:
            self._ready.extend(await self.next_batch())
            if not self._ready:
                raise StopAsyncIteration
        return self._ready.popleft()


def reader(iterator: AsyncIterator[StreamChunk]) -> BatchReader:
    """Return the function that reads an iterator in batches: its own `next_batch`, or one that reads single chunks."""
    batches: object = getattr(type(iterator), "next_batch", None)
    if callable(batches):
        return iterator.next_batch  # type: ignore[attr-defined, no-any-return] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    step = iterator.__anext__

    async def next_batch() -> list[StreamChunk]:
        try:
            return [await step()]
        except StopAsyncIteration:
            return []

    return next_batch


def ends(batch: list[StreamChunk]) -> Finish | None:
    """Return the terminal chunk of a batch, `None` without one."""
    last = batch[-1] if batch else None
    return last if type(last) is Finish else None


def own_iterator(made: object, maker: str) -> AsyncIterator[StreamChunk]:
    """Return what an adapter or interceptor made, as the iterator it must be; anything else is a `TypeError`."""
    if hasattr(type(made), "__aiter__"):
        return aiter(made)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType] - its chunks are checked one by one
    if iscoroutine(made):
        made.close()
        raise TypeError(f"{maker} is a coroutine; it returns an async iterator, or is one by having a `yield`")
    raise TypeError(f"{maker} returned a {type(made).__name__}, not an async iterator")


async def close_stream(stream: object) -> None:
    """Close a stream that was left early, if it has `aclose()` (R11); raises what that raises."""
    close: Callable[[], Awaitable[object]] | None = getattr(stream, "aclose", None)
    if close is not None:
        await close()


class Attempt(Source):
    """One call of one adapter: at its first read it looks the route up, binds, gates and dispatches; then it guards.

    Every failure is the terminal chunk, and what the adapter raises is never raised on. The adapter's iterator is
    closed once if it is left early, and not at all if it ended or raised. `failure` is the failure that an exception
    became, and `cause` that exception.
    """

    __slots__ = (
        "_aborting",
        "_closable",
        "_grammar",
        "_interrupt",
        "_iterator",
        "_prepared",
        "_read",
        "_registry",
        "_started_at",
        "_unwatch",
        "binding",
        "cause",
        "dispatched",
        "failure",
        "first_event_ms",
        "gated",
        "options",
    )

    def __init__(self, registry: Registry, options: GenerateOptions, prepared: Binding | None) -> None:
        super().__init__()
        self.options: GenerateOptions = options
        self._grammar: ChunkGrammar | None = None
        self.binding: Binding | None = None
        self.cause: BaseException | None = None
        self.failure: Failure | None = None
        self.dispatched: bool = False
        self.first_event_ms: float | None = None
        self.gated: Gated | None = None
        self._registry = registry
        self._prepared = prepared
        self._iterator: AsyncIterator[StreamChunk] | None = None
        self._closable: AsyncIterator[StreamChunk] | None = None
        self._read: BatchReader | None = None
        self._started_at = 0.0
        self._interrupt = Interrupt()
        self._unwatch: Callable[[], None] | None = None
        self._aborting: asyncio.Task[None] | None = None

    # -- facts

    @property
    def facts(self) -> CallFacts | None:
        """Facts that the adapter's stream reports of the call; `None` for a stream that reports none."""
        try:
            facts: object = getattr(self._iterator, "call_facts", None)
        except Exception:  # noqa: BLE001 - a hostile accessor reports nothing
            return None
        return facts if type(facts) is CallFacts else None

    @property
    def phase(self) -> Phase:
        """Phase that the call has reached, for a failure that names none (E6)."""
        if not self.dispatched:
            return "resolve"
        return "first-event" if self.first_event_ms is None else "mid-stream"

    @property
    def grammar(self) -> ChunkGrammar:
        """Guard of the stream, made when it is first needed."""
        if self._grammar is None:
            self._grammar = ChunkGrammar()
        return self._grammar

    def arrived(self) -> Arrived:
        """Return what has arrived so far, from the guard's state."""
        grammar = self.grammar
        return Arrived(grammar.closed, grammar.open_blocks(), grammar.usage, grammar.finish)

    def replay_dropped(self) -> list[ReplayDrop]:
        """Return the replay state that the gate took out or the adapter could not use, by the caller's indexes (R5)."""
        gated, facts = self.gated, self.facts
        if gated is None:
            return []
        return [*gated.dropped, *([] if facts is None else [gated.located(drop) for drop in facts.replay_dropped])]

    # -- reading

    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks, guarded; a failure of any kind is the terminal chunk."""
        if self.done:
            return []
        signal = self.options.signal
        batch: list[StreamChunk] = []
        try:
            if signal is not None:
                if self._unwatch is None:
                    self._watch(signal)
                if signal.aborted:
                    return await self._aborted_batch(signal)
                self._interrupt.enter()
            read = self._read
            if read is None:
                prepared = self._prepared
                route = self._registry.find(self.options.provider) if prepared is None else prepared.route
                read = await self._open(route)
            batch = await read()
            if signal is not None:
                self._interrupt.leave()
            if type(batch) is not list:
                kind, batch = type(batch).__name__, []
                raise GrammarError("C1", f"next_batch() returned a {kind}, not a list of chunks")
            grammar = self._grammar or self.grammar
            grammar.feed_all(batch)
            if self.first_event_ms is None:
                self.first_event_ms = (perf_counter() - self._started_at) * 1000
            if not batch:
                self.done = True
                grammar.eof()
            elif grammar.finish is not None:
                await self._check_end(batch, read)
                failure = grammar.finish.reason.failure
                if failure is not None:
                    batch[-1] = self._finished(grammar.finish, failure)
        except GrammarError as error:
            return await self._violated(batch, error)
        except asyncio.CancelledError:
            if signal is not None and self._interrupt.leave():
                # The adapter has seen the cancellation; its connection is closed before the outcome is shown.
                return await self._aborted_batch(signal)
            await self._leave_quietly()
            raise
        except ENDS_THE_PROCESS:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever an adapter raises is the outcome of the stream (E2)
            self._end()
            return [self._failed(error)]
        finally:
            if signal is not None:
                self._interrupt.leave()
        return batch

    async def _open(self, route: Route) -> BatchReader:
        options, prepared = self.options, self._prepared
        binding = await bind(route, options) if prepared is None else unchanged(prepared, options)
        if self._registry.closed:
            raise self._registry.closed_error()
        self.binding = binding
        gated = self.gated = gate(binding.options, route.adapter, self._registry)
        if _LOGGER.isEnabledFor(logging.DEBUG):
            debug("calling %s/%s", options.provider, options.model)
        self.dispatched = True
        self._started_at = perf_counter()
        # What the runtime adds to checked options, the adapter's own defaults, was checked with the model's facts.
        with checked(gated.options):
            made = binding.dispatch(gated.options)
        self._iterator = self._closable = own_iterator(made, "the adapter's stream()")
        self._read = reader(self._iterator)
        return self._read

    async def _check_end(self, batch: list[StreamChunk], read: BatchReader) -> None:
        """Read past the finish, where nothing may follow (C6); an adapter that does not end is cut off there."""
        more: list[StreamChunk] = []
        try:
            more = await when_suspended(read(), self._linger)
        except asyncio.CancelledError:
            if not self._interrupt.leave():
                raise
            debug("an adapter lingered after its finish and was cut off")
        except Exception as failure:  # noqa: BLE001 - a failure after the end is none (S4)
            debug("an adapter failed after its finish: %s", foreign_text(failure))
        finally:
            self._interrupt.leave()
        if more:
            error = GrammarError("C6", f"{type(more[0]).__name__} after the finish")
            error.position = len(batch)
            raise error
        self._end()

    def _linger(self) -> asyncio.TimerHandle:
        self._interrupt.enter()
        return asyncio.get_running_loop().call_later(LINGER_S, self._interrupt.fire)

    def _finished(self, chunk: Finish, failure: Failure) -> Finish:
        signal = self.options.signal
        if signal is not None and signal.aborted:
            return finish(of_call(aborted_failure(failure.phase or self.phase), self.options))
        clean = scrubbed(of_call(failure, self.options))
        return chunk if clean is failure else finish(clean)

    async def _violated(self, batch: list[StreamChunk], error: GrammarError) -> list[StreamChunk]:
        await self._leave_quietly()
        good = [chunk for chunk in batch[: error.position] if type(chunk) is not Finish]
        self.cause = error
        signal = self.options.signal
        if signal is not None and signal.aborted:
            failure = aborted_failure(self.phase)
        else:
            failure = violation(self.options.provider, error, phase=self.phase)
        self.failure = of_call(failure, self.options)
        return [*good, finish(self.failure)]

    def _failed(self, error: BaseException) -> Finish:
        signal = self.options.signal
        aborted = signal is not None and signal.aborted
        failure = of_call(failure_of(error, phase=self.phase, aborted=aborted), self.options)
        debug("%s/%s failed: %s", self.options.provider, self.options.model, failure.code)
        self.cause, self.failure = error, failure
        return finish(failure)

    # -- the caller's signal (Q6)

    async def _aborted_batch(self, signal: AbortSignal) -> list[StreamChunk]:
        await self._leave_quietly()
        return [self._failed(AbortError(signal.reason))]

    def _watch(self, signal: AbortSignal) -> None:
        # A weak reference: a signal may outlive many streams, and must not keep a dropped one alive.
        ref = weakref.ref(self)

        def aborted() -> None:
            attempt = ref()
            if attempt is not None:
                attempt._aborted()

        self._unwatch = signal.on_abort(in_loop(aborted))

    def _aborted(self) -> None:
        if self._interrupt.waiting:
            self._interrupt.fire()
            asyncio.get_running_loop().call_later(CLOSE_TIMEOUT_S, self._interrupt.insist)
        elif not self.done and self._aborting is None:
            # No task is reading: the connection is closed now, and the next read returns the aborted finish.
            self._aborting = asyncio.get_running_loop().create_task(self._close_quietly())

    # -- the end

    def _end(self) -> None:
        self.done: bool = True
        self._read = self._closable = None
        if self._unwatch is not None:
            self._forget_signal()

    def _forget_signal(self) -> None:
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    async def aclose(self) -> None:
        """Close the adapter's iterator, once, if the attempt has not ended; raises what that raises."""
        if self.done:
            return
        closable, self._closable = self._closable, None
        self._end()
        if self._aborting is not None:
            await asyncio.wait([self._aborting])
        await close_stream(closable)

    def abandon(self) -> None:
        """Give up the connection and the signal's callback from a finalizer, without touching a loop (R11, T2)."""
        self._forget_signal()
        closable: object = self._closable
        with suppress(Exception):
            if isinstance(closable, Abandonable):
                closable.abandon()

    async def _leave_quietly(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.aclose()
        except Exception as failure:  # noqa: BLE001 - the stream has an outcome already
            debug("an adapter failed to close: %s", foreign_text(failure))

    async def _close_quietly(self) -> None:
        closable, self._closable, self._read = self._closable, None, None
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await close_stream(closable)
        except Exception as failure:  # noqa: BLE001 - as above
            debug("an adapter failed to close: %s", foreign_text(failure))
