"""`ModelStream`: the stream of one call, for its consumer (R11, E2)."""

import asyncio
import warnings
import weakref
from asyncio import get_running_loop
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from threading import get_ident
from time import perf_counter
from types import TracebackType

from limen.contract import (
    CallInfo,
    Finish,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    Response,
    StreamChunk,
    TextDelta,
    UsageChunk,
    foreign_text,
    safe_cause,
)
from limen.runtime._attempt import Source, close_stream
from limen.runtime._cancellation import Interrupt
from limen.runtime._failures import ENDS_THE_PROCESS, LEFT_TEXT, aborted_failure, debug, finish, of_call
from limen.runtime._interceptors import Chain, Dispatcher, Outer
from limen.runtime._log import log_call
from limen.runtime._outcome import call_info, collect


class ModelStream:
    """Stream of one call: iterate it once, await `response()` any number of times, leave it by `async with`.

    Iteration always ends with one `Finish` and raises no operational failure (E2); `response()` reads what is left
    and raises a failure as `LlmError` with `.partial`. What an interceptor raises is raised unchanged. The first
    read dispatches the call. A stream is read on one event loop; cancelling the task that reads ends it (Q6). One
    that is dropped unfinished gives its connection up and warns (`ResourceWarning`).
    """

    __slots__ = (
        "__weakref__",
        "_began",
        "_busy",
        "_chain",
        "_collecting",
        "_dispatcher",
        "_ended",
        "_error",
        "_interrupt",
        "_iterated",
        "_loop",
        "_open_streams",
        "_options",
        "_outcome",
        "_outer",
        "_ready",
        "_ref",
        "_source",
        "_trace",
        "_waiting",
    )

    def __init__(
        self,
        options: GenerateOptions,
        dispatcher: Dispatcher,
        chain: Chain,
        open_streams: "set[weakref.ref[ModelStream]]",
    ) -> None:
        self._options = options
        self._dispatcher = dispatcher
        self._chain = chain
        self._open_streams = open_streams
        self._ref: weakref.ref[ModelStream] | None = None
        self._collecting = dispatcher.collecting
        self._ready: deque[StreamChunk] = deque()
        self._source: Source | None = None
        self._outer: Outer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interrupt = Interrupt()
        self._began = 0.0
        self._busy = False
        self._waiting: list[asyncio.Future[None]] = []
        self._iterated = False
        self._ended: Finish | None = None
        # An interceptor's own exception, and the traceback that it came with: each raise begins at that one again.
        self._error: BaseException | None = None
        self._trace: TracebackType | None = None
        self._outcome: Response | LlmError | None = None

    # -- reading

    def __aiter__(self) -> "_Chunks":
        if self._iterated:
            raise RuntimeError("a stream is iterated once; its chunks are gone, and `await stream.response()` is not")
        self._iterated = True
        return _Chunks(self._ready, self._fill, self._bind_loop)

    async def __anext__(self) -> StreamChunk:
        self._bind_loop()
        ready = self._ready
        while not ready:
            await self._fill()
        return ready.popleft()

    async def next_batch(self) -> list[StreamChunk]:
        """Return all chunks that have arrived, waiting for one if there is none; an empty list is the end.

        The same chunks as by iteration. For use from another thread, where one hop per chunk is costly.
        """
        self._bind_loop()
        try:
            while not self._ready:
                await self._fill()
        except StopAsyncIteration:
            return []
        batch = list(self._ready)
        self._ready.clear()
        return batch

    async def started(self) -> None:
        """Wait for the first event of the answer; raises a failure that came before it as `LlmError`.

        A web endpoint can so choose its status before it begins to stream. Nothing is consumed: the first chunk is
        iterated afterwards. Retries are over when this returns (R9). A failure after the first event is the stream's,
        and a stream that is being iterated has started.
        """
        self._bind_loop()
        if self._iterated:
            return
        while self._ended is None and all(type(chunk) is UsageChunk for chunk in self._ready):
            await self._fill()
        shown = any(type(chunk) not in (UsageChunk, Finish) for chunk in self._ready)
        if self._ended is not None and self._ended.reason.failure is not None and not shown:
            await self.response()

    async def response(self) -> Response:
        """Read what is left, and return the whole answer; the same object, or error, each time (R11)."""
        self._bind_loop()
        while self._ended is None:
            await self._fill()
        if self._outcome is None:
            self._outcome = collect(self._options, self._dispatcher, self._outer, self._ended)
        if isinstance(self._outcome, LlmError):
            # Without the traceback of the last raise, which this one would lengthen.
            raise self._outcome.with_traceback(None)
        return self._outcome

    async def text(self) -> AsyncIterator[str]:
        """Iterate the visible text only; raises a failure as `LlmError` at its place (E2)."""
        try:
            async for chunk in self:
                if type(chunk) is TextDelta:
                    yield chunk.text
            await self.response()
        finally:
            await self.aclose()

    @property
    def info(self) -> CallInfo:
        """Facts about the call so far; complete when the stream has ended."""
        return call_info(self._options, self._dispatcher)

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """Event loop that the stream belongs to; `None` before the first read."""
        return self._loop

    @property
    def adapter(self) -> LlmAdapter | None:
        """Adapter that serves the call; `None` before one was asked."""
        attempt = self._dispatcher.attempt
        return None if attempt is None or attempt.binding is None else attempt.binding.route.adapter

    async def _fill(self) -> None:
        """Read one batch, or wait while another task reads; raises `StopAsyncIteration` after the end.

        Every call and every batch passes through here, so each call of a function that is saved here counts.
        """
        loop = get_running_loop()
        if loop is not self._loop:
            self._bind_loop()
        if self._ended is not None:
            raise StopAsyncIteration
        if self._error is not None:
            raise self._error.with_traceback(self._trace)
        if self._busy:
            await self._wait()
            return
        self._busy = True
        interrupt = self._interrupt
        try:
            interrupt.enter(loop)
            source = self._source or self._start()
            batch = await source.next_batch()
            # Not strict around interceptors: until 3.13 a TaskGroup whose child failed leaves a count behind.
            left = interrupt.leave(strict=self._outer is None)
            if not self._collecting:
                self._ready.extend(batch)
            last = batch[-1]
            if left or type(last) is Finish:
                await self._conclude(last)
            elif source.delegate is not None:
                self._source = source.delegate
        except asyncio.CancelledError:
            left = interrupt.leave()
            self._end_as_left()
            await self._close_chain()
            if not left:
                raise
        except ENDS_THE_PROCESS:
            raise
        except BaseException as error:  # noqa: BLE001 - an interceptor's own: raised unchanged to its reader (R7)
            interrupt.leave()
            self._error, self._trace = error, error.__traceback__
            await self._close_chain()
        finally:
            self._busy = False
            if self._waiting:
                self._wake()

    async def _conclude(self, last: StreamChunk) -> None:
        if not isinstance(last, Finish):
            # The adapter swallowed our cancellation and returned chunks; the stream ends here all the same.
            self._end_as_left()
        else:
            self._ended = last
            log_call(self._options, self._dispatcher, self._outer, last, began=self._began)
            if self._outer is None:
                # An attempt that gave its finish has closed itself, and retry and fallback hold nothing else.
                self._dispatcher.opened.clear()
                self._forget()
                return
        await self._close_chain()

    def _start(self) -> Source:
        self._began = perf_counter()
        self._ref = weakref.ref(self)
        self._open_streams.add(self._ref)
        # In a closed runtime no interceptor runs: the attempt's look-up says that it is closed.
        chain = Chain() if self._dispatcher.registry.closed else self._chain
        self._source, self._outer = chain.start(self._options, self._dispatcher)
        return self._source

    def _bind_loop(self) -> None:
        loop = get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("a stream belongs to the event loop that first read it, and this is another (T2)")

    async def _wait(self) -> None:
        turn: asyncio.Future[None] = get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    # -- the end

    async def aclose(self) -> None:
        """Close the connection, and return when that is done; `response()` then raises `ABORTED` (R11).

        Idempotent, at any time, also while another task reads, which then sees the stream end as aborted. Raises what
        an adapter's or interceptor's clean-up raises.
        """
        failure = await self._leave()
        if failure is not None:
            raise safe_cause(failure)

    async def __aenter__(self) -> "ModelStream":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failure = await self._leave()
        if failure is not None and error is None:
            raise safe_cause(failure)

    async def _leave(self) -> Exception | None:
        self._bind_loop()
        while self._busy:
            self._interrupt.fire()
            await self._wait()
        if self._ended is not None or self._error is not None:
            return None
        self._busy = True
        try:
            self._end_as_left()
            return await self._close_chain()
        finally:
            self._busy = False
            self._wake()

    def _end_as_left(self) -> None:
        attempt = self._dispatcher.attempt
        options = self._options if attempt is None else attempt.options
        left = aborted_failure(None if attempt is None else attempt.phase, LEFT_TEXT)
        self._ended = finish(of_call(left, options))
        if self._source is not None:
            log_call(self._options, self._dispatcher, self._outer, self._ended, began=self._began)
        if not self._collecting:
            self._ready.append(self._ended)

    async def _close_chain(self) -> Exception | None:
        """Close every stream of the chain that is still open, and return the first failure of doing so."""
        first: Exception | None = None
        opened = self._dispatcher.opened
        while opened:
            iterator = opened.pop(0)
            try:
                await close_stream(iterator)
            except Exception as failure:  # noqa: BLE001 - the others are closed too, then it is raised
                debug("failed to close a stream: %s", foreign_text(failure))
                first = first or failure
        self._forget()
        return first

    def _forget(self) -> None:
        if self._ref is not None:
            self._open_streams.discard(self._ref)

    def __del__(self) -> None:
        if self._source is None or self._ended is not None or self._error is not None:
            return
        # The chain's streams refer to each other; without this they would wait for the cycle collector. Their own
        # finalizers close their sockets: this one touches no loop (T2).
        self._forget()
        self._dispatcher.opened.clear()
        if self._dispatcher.attempt is not None:
            self._dispatcher.attempt.abandon()
        warnings.warn(
            f"a stream of {self._options.provider}/{self._options.model} was dropped before its end; "
            "use `async with` or `await stream.aclose()`",
            ResourceWarning,
            stacklevel=2,
        )


class _Chunks:
    """Iterator of a stream, which can be looped over in several pieces.

    Chunks that have arrived are handed out here: one more call for each chunk would be the costliest part of a step.
    """

    __slots__ = ("_bind_loop", "_fill", "_loop_runs", "_pop", "_ready", "_thread")

    def __init__(
        self, ready: deque[StreamChunk], fill: Callable[[], Awaitable[None]], bind_loop: Callable[[], None]
    ) -> None:
        self._ready = ready
        self._pop = ready.popleft
        self._fill = fill
        self._bind_loop = bind_loop
        self._thread = 0
        self._loop_runs: Callable[[], bool] = bool

    def __aiter__(self) -> "_Chunks":
        return self

    async def __anext__(self) -> StreamChunk:
        ready = self._ready
        # The cheap form of "in the loop that this stream belongs to"; asking for the running loop is a system call.
        if ready and get_ident() == self._thread and self._loop_runs():
            return self._pop()
        if ready:
            self._bind_loop()
        while not ready:
            await self._fill()
        if self._thread == 0:
            self._thread, self._loop_runs = get_ident(), get_running_loop().is_running
        return self._pop()
