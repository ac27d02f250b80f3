"""One attempt at one adapter, guarded: it never raises what the adapter did, and ends in exactly one `Finish`."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from time import perf_counter
from typing import Final

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
    foreign_text,
)
from limen.runtime._failures import ENDS_THE_PROCESS, aborted_failure, failure_of, finish, scrubbed, violation
from limen.runtime._interrupt import Interrupt, in_loop
from limen.runtime._log import debug
from limen.runtime._prepare import Binding, bind, unchanged
from limen.runtime._registry import Registry
from limen.runtime._replay_gate import Gated, gate
from limen.runtime._source import Source, close_stream, own_iterator, reader

_LINGER_S: Final = 0.05
"""How long an adapter may take to end after its finish; the time that S6 gives a body."""

_CLOSING_S: Final = 0.5
"""How long an adapter may take to close where somebody waits for the outcome: five times what Q6 gives it."""


class Attempt(Source):
    """Look the route up, bind, gate, dispatch, guard (R2-R6); in that order, at the first read.

    A failure of any step is the terminal chunk. The adapter's iterator is
    closed once where it is left early, and not at all where it ended or raised. `failure` and `cause` are what the
    runtime made of an exception, and that exception.
    """

    __slots__ = (
        "_aborting",
        "_closable",
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
        "grammar",
        "options",
    )

    def __init__(self, registry: Registry, options: GenerateOptions, prepared: Binding | None) -> None:
        super().__init__()
        self.options = options
        self.grammar = ChunkGrammar()
        self.binding: Binding | None = None
        self.cause: BaseException | None = None
        self.failure: Failure | None = None
        self.dispatched = False
        self.first_event_ms: float | None = None
        self.gated = Gated(options)
        self._registry = registry
        self._prepared = prepared
        self._iterator: AsyncIterator[StreamChunk] | None = None
        self._closable: AsyncIterator[StreamChunk] | None = None
        self._read: Callable[[], Awaitable[list[StreamChunk]]] | None = None
        self._started_at = 0.0
        self._interrupt = Interrupt()
        self._unwatch: Callable[[], None] | None = None
        self._aborting: asyncio.Task[None] | None = None

    # -- what is known of it

    @property
    def facts(self) -> CallFacts | None:
        """What the adapter's stream tells of the call, where it does."""
        try:
            facts: object = getattr(self._iterator, "call_facts", None)
        except Exception:  # noqa: BLE001 - a hostile accessor tells nothing
            return None
        return facts if type(facts) is CallFacts else None

    @property
    def phase(self) -> Phase:
        """How far the call has come, for a failure that does not say so itself (E6)."""
        if not self.dispatched:
            return "resolve"
        return "first-event" if self.first_event_ms is None else "mid-stream"

    def arrived(self) -> Arrived:
        """What has arrived, as the guard has it."""
        grammar = self.grammar
        return Arrived(grammar.closed, grammar.open_blocks(), grammar.usage, grammar.finish)

    def replay_dropped(self) -> list[ReplayDrop]:
        """What the gate took out, and what the adapter could not use, by the caller's message indexes (R5)."""
        facts = self.facts
        reported = [] if facts is None else [self.gated.located(drop) for drop in facts.replay_dropped]
        return [*self.gated.dropped, *reported]

    # -- reading

    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks, guarded; whatever went wrong is the terminal chunk."""
        if self.done:
            return []
        signal = self.options.signal
        batch: list[StreamChunk] = []
        try:
            if signal is None:
                batch = await (self._read or await self._open())()
            else:
                batch = await self._read_watched(signal)
            if type(batch) is not list:
                kind, batch = type(batch).__name__, []
                raise GrammarError("C1", f"next_batch() returned a {kind}, not a list of chunks")
            self.grammar.feed_all(batch)
            if self.first_event_ms is None:
                self.first_event_ms = (perf_counter() - self._started_at) * 1000
            if not batch:
                self.done = True
                self.grammar.eof()
            elif self.grammar.finish is not None:
                await self._check_end(batch)
                batch[-1] = self._finished(self.grammar.finish)
        except GrammarError as error:
            return await self._violated(batch, error)
        except asyncio.CancelledError:
            await self._leave_quietly()
            raise
        except ENDS_THE_PROCESS:
            raise
        except BaseException as error:  # noqa: BLE001 - E2: whatever an adapter raises is the stream's outcome
            self._end()
            return [self._failed(error)]
        return batch

    async def _open(self) -> Callable[[], Awaitable[list[StreamChunk]]]:
        options = self.options
        binding = await bind(self._registry, options) if self._prepared is None else unchanged(self._prepared, options)
        self.binding = binding
        self.gated = gate(binding.options, binding.route.adapter, self._registry)
        debug("calling %s/%s", options.provider, options.model)
        self.dispatched = True
        self._started_at = perf_counter()
        self._iterator = self._closable = own_iterator(binding.dispatch(self.gated.options), "the adapter's stream()")
        self._read = reader(self._iterator)
        return self._read

    async def _check_end(self, batch: list[StreamChunk]) -> None:
        """C6: nothing follows the finish. An adapter that lingers there is cut off; what it does then is no failure."""
        more: list[StreamChunk] = []
        cut = asyncio.get_running_loop().call_later(_LINGER_S, self._interrupt.fire)
        self._interrupt.enter()
        try:
            more = await (self._read or await self._open())()
        except asyncio.CancelledError:
            if not self._interrupt.leave():
                raise
            debug("an adapter lingered after its finish and was cut off")
        except Exception as failure:  # noqa: BLE001 - S4: a failure after the end is none
            debug("an adapter failed after its finish: %s", foreign_text(failure))
        finally:
            cut.cancel()
            self._interrupt.leave()
        if more:
            error = GrammarError("C6", f"{type(more[0]).__name__} after the finish")
            error.position = len(batch)
            raise error
        self._end()

    def _finished(self, chunk: Finish) -> Finish:
        failure = chunk.reason.failure
        if failure is None:
            return chunk
        signal = self.options.signal
        if signal is not None and signal.aborted:
            return finish(aborted_failure(failure.phase or self.phase))
        clean = scrubbed(failure)
        return chunk if clean is failure else finish(clean)

    async def _violated(self, batch: list[StreamChunk], error: GrammarError) -> list[StreamChunk]:
        await self._leave_quietly()
        good = [chunk for chunk in batch[: error.position] if type(chunk) is not Finish]
        self.cause = error
        signal = self.options.signal
        if signal is not None and signal.aborted:
            self.failure = aborted_failure(self.phase)
        else:
            self.failure = violation(self.options.provider, error, phase=self.phase)
        return [*good, finish(self.failure)]

    def _failed(self, error: BaseException) -> Finish:
        signal = self.options.signal
        aborted = signal is not None and signal.aborted
        failure = failure_of(error, phase=self.phase, aborted=aborted)
        debug("%s/%s failed: %s", self.options.provider, self.options.model, failure.code)
        self.cause, self.failure = error, failure
        return finish(failure)

    # -- the caller's signal (Q6)

    async def _read_watched(self, signal: AbortSignal) -> list[StreamChunk]:
        if self._unwatch is None:
            self._watch(signal)
        if signal.aborted:
            await self._leave_quietly()
            raise AbortError(signal.reason)
        self._interrupt.enter()
        interrupted = False
        try:
            return await (self._read or await self._open())()
        except asyncio.CancelledError:
            interrupted = self._interrupt.leave()
            if not interrupted:
                raise
        finally:
            self._interrupt.leave()
        # The adapter was told; what it held is closed before anyone hears of it.
        await self._leave_quietly()
        raise AbortError(signal.reason)

    def _watch(self, signal: AbortSignal) -> None:
        # Weakly: a signal may outlive many streams, and a dropped one must be gone at once.
        ref = weakref.ref(self)

        def aborted() -> None:
            attempt = ref()
            if attempt is not None:
                attempt._aborted()

        self._unwatch = signal.on_abort(in_loop(aborted))

    def _aborted(self) -> None:
        if self._interrupt.waiting:
            self._interrupt.fire()
            asyncio.get_running_loop().call_later(_CLOSING_S, self._interrupt.insist)
        elif not self.done and self._aborting is None:
            # Nobody is reading: the connection is closed all the same, and the next read says why.
            self._aborting = asyncio.get_running_loop().create_task(self._close_quietly())

    # -- the end

    def _end(self) -> None:
        self.done = True
        self._read = self._closable = None
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    async def aclose(self) -> None:
        """Leave early: close the adapter's iterator, once, and raise what that raises."""
        if self.done:
            return
        closable, self._closable = self._closable, None
        self._end()
        if self._aborting is not None:
            await asyncio.wait([self._aborting])
        await close_stream(closable)

    def abandon(self) -> None:
        """Nobody reads on, and who noticed has warned: for a finalizer, so no loop is touched (R11, T2)."""
        closable: object = self._closable
        with suppress(Exception):
            if isinstance(closable, Abandonable):
                closable.abandon()

    async def _leave_quietly(self) -> None:
        try:
            async with asyncio.timeout(_CLOSING_S):
                await self.aclose()
        except Exception as failure:  # noqa: BLE001 - the stream has an outcome already, and this is none
            debug("an adapter failed to close: %s", foreign_text(failure))

    async def _close_quietly(self) -> None:
        closable, self._closable, self._read = self._closable, None, None
        try:
            async with asyncio.timeout(_CLOSING_S):
                await close_stream(closable)
        except Exception as failure:  # noqa: BLE001 - as above
            debug("an adapter failed to close: %s", foreign_text(failure))
