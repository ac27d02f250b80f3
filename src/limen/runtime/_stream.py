"""The stream of one call, as its consumer has it (R11, E2)."""

import asyncio
import warnings
import weakref
from asyncio import get_running_loop
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from threading import get_ident
from types import TracebackType

from limen.contract import (
    CallInfo,
    Finish,
    GenerateOptions,
    Interceptor,
    LlmAdapter,
    LlmError,
    Response,
    StreamChunk,
    TextDelta,
    foreign_text,
    safe_cause,
)
from limen.runtime._answer import call_info, collect
from limen.runtime._begin import begin
from limen.runtime._chain import Dispatcher, Outer
from limen.runtime._failures import ENDS_THE_PROCESS, LEFT_TEXT, aborted_failure, finish
from limen.runtime._interrupt import Interrupt
from limen.runtime._log import debug
from limen.runtime._source import Source, close_stream


class ModelStream:
    """One call: iterate it once, await `response()` as often as you like, leave it by `async with` or `aclose()`.

    Iteration always ends with one `Finish` and raises no operational failure (E2); `response()` reads what is left
    and raises a failure as `LlmError` with `.partial`. What an interceptor raises is raised unchanged. The first
    read dispatches. Reading belongs to one event loop; cancelling the task that reads ends the stream (Q6). A
    stream that is dropped unfinished gives its connection up and warns (`ResourceWarning`).
    """

    __slots__ = (
        "__weakref__",
        "_busy",
        "_collecting",
        "_dispatcher",
        "_ended",
        "_error",
        "_interceptors",
        "_interrupt",
        "_iterated",
        "_loop",
        "_open_streams",
        "_options",
        "_outcome",
        "_outer",
        "_ready",
        "_source",
        "_waiting",
    )

    def __init__(
        self,
        options: GenerateOptions,
        dispatcher: Dispatcher,
        interceptors: Sequence[Interceptor],
        open_streams: "weakref.WeakSet[ModelStream]",
    ) -> None:
        self._options = options
        self._dispatcher = dispatcher
        self._interceptors = interceptors
        self._open_streams = open_streams
        self._collecting = dispatcher.collecting
        self._ready: deque[StreamChunk] = deque()
        self._source: Source | None = None
        self._outer: Outer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interrupt = Interrupt()
        self._busy = False
        self._waiting: list[asyncio.Future[None]] = []
        self._iterated = False
        self._ended: Finish | None = None
        self._error: BaseException | None = None
        self._outcome: Response | LlmError | None = None

    # -- reading

    def __aiter__(self) -> "_Chunks":
        if self._iterated:
            raise RuntimeError("a stream is iterated once; its chunks are gone, and `await stream.response()` is not")
        self._iterated = True
        return _Chunks(self, self._ready)

    async def __anext__(self) -> StreamChunk:
        self._bind_loop()
        ready = self._ready
        while not ready:
            if self._ended is not None:
                raise StopAsyncIteration
            if self._error is not None:
                raise self._error
            await self._fill()
        return ready.popleft()

    async def next_batch(self) -> list[StreamChunk]:
        """Return all chunks that are there, having waited for one; an empty list is the end.

        The same chunks as by iteration, for a reader to whom each step is dear, such as one in another thread.
        """
        self._bind_loop()
        if not self._ready:
            try:
                self._ready.appendleft(await self.__anext__())
            except StopAsyncIteration:
                return []
        batch = list(self._ready)
        self._ready.clear()
        return batch

    async def response(self) -> Response:
        """Read what is left, and return the whole answer; the same object, or error, each time (R11)."""
        self._bind_loop()
        while self._ended is None:
            if self._error is not None:
                raise self._error
            await self._fill()
        if self._outcome is None:
            self._outcome = collect(self._options, self._dispatcher, self._outer, self._ended)
        if isinstance(self._outcome, LlmError):
            raise self._outcome
        return self._outcome

    async def text(self) -> AsyncIterator[str]:
        """Iterate the visible text; a failure is raised as `LlmError` at its place (E2)."""
        try:
            async for chunk in self:
                if type(chunk) is TextDelta:
                    yield chunk.text
            await self.response()
        finally:
            await self.aclose()

    @property
    def info(self) -> CallInfo:
        """What is known of the call so far; complete when the stream has ended."""
        return call_info(self._options, self._dispatcher)

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop that the stream belongs to; `None` before the first read."""
        return self._loop

    @property
    def adapter(self) -> LlmAdapter | None:
        """The adapter that serves the call; `None` before one was asked."""
        attempt = self._dispatcher.attempt
        return None if attempt is None or attempt.binding is None else attempt.binding.route.adapter

    async def _fill(self) -> None:
        """Read once more, or wait while another task does. What a step costs here, it costs for every read."""
        if self._busy:
            await self._wait()
            return
        self._busy = True
        interrupt = self._interrupt
        try:
            interrupt.enter(self._loop)
            source = self._source or self._start()
            batch = await source.next_batch()
            if self._outer is None:
                # Of interceptors nothing can be said: until 3.13 a TaskGroup whose child failed leaves a count behind.
                interrupt.raise_if_swallowed()
            left = interrupt.leave()
            if not self._collecting:
                self._ready.extend(batch)
            last = batch[-1]
            if left or type(last) is Finish:
                await self._conclude(last)
            elif source.through is not None:
                self._source = source.through
        except asyncio.CancelledError:
            left = interrupt.leave()
            self._end_as_left()
            await self._shut()
            if not left:
                raise
        except ENDS_THE_PROCESS:
            raise
        except BaseException as error:  # noqa: BLE001 - an interceptor's own: raised unchanged to whoever asks (R7)
            interrupt.leave()
            self._error = error
            await self._shut()
        finally:
            self._busy = False
            if self._waiting:
                self._wake()

    async def _conclude(self, last: StreamChunk) -> None:
        if isinstance(last, Finish):
            self._ended = last
        else:
            # The adapter took an interrupt for a wish and gave more; this is where it ends all the same.
            self._end_as_left()
        await self._shut()

    def _start(self) -> Source:
        self._open_streams.add(self)
        self._source, self._outer = begin(self._options, self._interceptors, self._dispatcher)
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
        """Leave: close the connection, and return when that is done; `response()` then raises `ABORTED` (R11).

        May be called at any time, any number of times, also while another task reads: that one sees the stream end
        as aborted. Raises what an adapter's or interceptor's clean-up raises.
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
            return await self._shut()
        finally:
            self._busy = False
            self._wake()

    def _end_as_left(self) -> None:
        attempt = self._dispatcher.attempt
        self._ended = finish(aborted_failure(None if attempt is None else attempt.phase, LEFT_TEXT))
        if not self._collecting:
            self._ready.append(self._ended)

    async def _shut(self) -> Exception | None:
        """Close every stream of the chain that is still open; return the first failure of those that fail."""
        first: Exception | None = None
        opened = self._dispatcher.opened
        while opened:
            iterator = opened.pop(0)
            try:
                await close_stream(iterator)
            except Exception as failure:  # noqa: BLE001 - the others are closed too, then it is raised
                debug("failed to close a stream: %s", foreign_text(failure))
                first = first or failure
        self._open_streams.discard(self)
        return first

    def __del__(self) -> None:
        if self._source is None or self._ended is not None or self._error is not None:
            return
        # The chain's streams know each other; without this they would wait for the cycle collector. What closes
        # their sockets is their own finalizers: this one touches no loop (T2).
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
    """The one iteration of a stream: what `aiter(stream)` returns can be looped over in several pieces.

    What was read already is handed out here, since a call more for each chunk would be the dearest part of a step.
    """

    __slots__ = ("_loop_runs", "_pop", "_ready", "_stream", "_thread")

    def __init__(self, stream: ModelStream, ready: deque[StreamChunk]) -> None:
        self._stream = stream
        self._ready = ready
        self._pop = ready.popleft
        self._thread = 0
        self._loop_runs: Callable[[], bool] = bool

    def __aiter__(self) -> "_Chunks":
        return self

    async def __anext__(self) -> StreamChunk:
        # The cheap form of "in the loop that this stream belongs to"; asking for the running loop is a system call.
        if self._ready and get_ident() == self._thread and self._loop_runs():
            return self._pop()
        chunk = await self._stream.__anext__()
        loop = self._stream.loop
        if self._thread == 0 and loop is not None:
            self._thread, self._loop_runs = get_ident(), loop.is_running
        return chunk
