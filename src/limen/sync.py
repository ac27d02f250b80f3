"""Calls without async: each runtime runs an event loop in a thread of its own.

Any thread may call; a stream is read by one thread at a time, and `close()` from another one ends that read with its
terminal chunk. Ctrl-C while the main thread waits for a call cancels that call.
"""

import asyncio
import concurrent.futures
import os
import sys
import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from types import TracebackType
from typing import Final, Self, TypeVar, Unpack, overload

from limen import _compose, runtime
from limen.config import Source
from limen.contract import (
    AbortSignal,
    CallInfo,
    CallOptions,
    Failure,
    Finish,
    FinishReason,
    GenerateOptions,
    Interceptor,
    LlmAdapter,
    LlmError,
    ModelInfo,
    Prompt,
    ProviderInfo,
    Response,
    StreamChunk,
    TextDelta,
    call_options,
    codes,
)

__all__ = ["LlmRuntime", "ModelStream", "PreparedCall", "open_runtime"]

T = TypeVar("T")

# Seconds after which a wait looks for Ctrl-C: Windows does not interrupt a wait for it, and elsewhere a signal that
# arrives just as a wait begins is not noticed by it.
POLL_S: Final = 0.1 if sys.platform == "win32" else 0.5


def open_runtime(path: Source = None, *, app: str | None = None) -> "LlmRuntime":
    """Open a runtime from configuration, as `limen.open_runtime` does; use it in a `with`, or call `close()`."""
    return LlmRuntime(lambda: _compose.open_runtime(path, app=app))


class LlmRuntime:
    """Runtime in a thread of its own: made by `open_runtime`, or without routes, for adapters registered by hand."""

    def __init__(self, make: "Callable[[], AbstractAsyncContextManager[runtime.LlmRuntime]] | None" = None) -> None:
        self._thread = _LoopThread(make or _bare)

    # -- calls

    @overload
    def stream(self, options: GenerateOptions) -> "ModelStream": ...
    @overload
    def stream(self, options: str, prompt: Prompt, **fields: Unpack[CallOptions]) -> "ModelStream": ...
    def stream(
        self, options: GenerateOptions | str, prompt: Prompt | None = None, **fields: Unpack[CallOptions]
    ) -> "ModelStream":
        """Return the stream of one call: iterate it, or ask for its `response()`; a `with` closes it early.

        The call is `GenerateOptions`, or in short `stream("ROUTE/MODEL", "text" or messages, max_tokens=100)`.
        """
        asked = call_options(options, prompt, fields)
        return ModelStream(self._thread, lambda: self._thread.runtime.stream(asked))

    @overload
    def complete(self, options: GenerateOptions) -> Response: ...
    @overload
    def complete(self, options: str, prompt: Prompt, **fields: Unpack[CallOptions]) -> Response: ...
    def complete(
        self, options: GenerateOptions | str, prompt: Prompt | None = None, **fields: Unpack[CallOptions]
    ) -> Response:
        """Make one call and return the whole answer; raises a failure as `LlmError`, with `.partial`.

        The arguments are those of `stream()`.
        """
        asked = call_options(options, prompt, fields)
        return self._thread.call(lambda: self._thread.runtime.complete(asked))

    def prepare_call(self, options: GenerateOptions) -> "PreparedCall":
        """Bind a call to the adapter that serves its route now (R3)."""
        return PreparedCall(self._thread, self._thread.call(lambda: self._thread.runtime.prepare_call(options)))

    # -- routes and models

    def list_providers(self) -> Sequence[ProviderInfo]:
        """Return the id and name of every route."""
        return self._thread.runtime.list_providers()

    def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the models that the route's adapter knows of; advisory (R10)."""
        return self._thread.call(lambda: self._thread.runtime.list_models(provider))

    def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return the adapter's answer for one exact model (R10)."""
        return self._thread.call(lambda: self._thread.runtime.resolve_model(provider, model, signal=signal))

    def register(self, routes: Sequence[str], adapter: LlmAdapter) -> runtime.Registration:
        """Serve these routes by this adapter, which runs on the runtime's own thread (R1)."""
        return self._thread.runtime.register(routes, adapter)

    def use(self, interceptor: Interceptor) -> Callable[[], None]:
        """Wrap all later calls in an interceptor, which runs on the runtime's own thread; return its removal (R7)."""
        return self._thread.runtime.use(interceptor)

    def on_topology(self, listener: runtime.TopologyListener) -> Callable[[], None]:
        """Call `listener` after each commit of routes, in the thread that commits; return its removal (R8)."""
        return self._thread.runtime.on_topology(listener)

    def reload(self, config: object = None) -> None:
        """Read the configuration again and exchange its routes, whole or not at all (K5)."""
        self._thread.call(lambda: self._thread.runtime.reload(config))

    # -- the end

    def close(self) -> None:
        """End open streams as aborted, close the adapters and the thread. Idempotent."""
        self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # `_thread` is missing where opening failed.
        thread: _LoopThread | None = getattr(self, "_thread", None)
        if thread is not None and thread.running:
            warnings.warn("a limen.sync.LlmRuntime was dropped without close()", ResourceWarning, stacklevel=2)
            thread.stop()


class PreparedCall:
    """Call validated and bound to one adapter generation; used once (R3)."""

    def __init__(self, thread: "_LoopThread", prepared: runtime.PreparedCall) -> None:
        self._thread = thread
        self._prepared = prepared

    @property
    def options(self) -> GenerateOptions:
        """Options with the adapter's defaults in them (R4)."""
        return self._prepared.options

    @property
    def model(self) -> ModelInfo:
        """Facts that the adapter knows of the model."""
        return self._prepared.model

    @property
    def adapter_defaults(self) -> Mapping[str, object]:
        """Defaults of the adapter that entered the options, as `{field: value}` (R4)."""
        return self._prepared.adapter_defaults

    def stream(self) -> "ModelStream":
        """Return the stream of this call; a second one ends in `INVALID_PREPARED_CALL`."""
        return ModelStream(self._thread, self._prepared.stream)


class ModelStream:
    """Stream of one call: iterate it once, or ask for its `response()`; leaving its `with` closes the connection."""

    def __init__(self, thread: "_LoopThread", make: "Callable[[], runtime.ModelStream]") -> None:
        self._thread = thread
        self._iterated = False
        # Set between the first read and the end, while there may be a connection to close.
        self._open = False
        self._outcome: Response | LlmError | None = None
        self._stream = thread.call(_awaited(make))

    def __iter__(self) -> Iterator[StreamChunk]:
        if self._iterated:
            raise RuntimeError("a stream is iterated once; its chunks are gone, and stream.response() is not")
        self._iterated = True
        return self._chunks()

    def _chunks(self) -> Iterator[StreamChunk]:
        ended = False
        while not ended:
            try:
                batch = self._read(self._step)
            except RuntimeClosed as closed:
                batch = [Finish(FinishReason("aborted", Failure(str(closed), codes.ABORTED)))]
            ended = not batch or isinstance(batch[-1], Finish)
            self._open = not ended
            yield from batch

    def text(self) -> Iterator[str]:
        """Iterate the visible text only; raises a failure as `LlmError` at its place (E2)."""
        try:
            for chunk in self:
                if isinstance(chunk, TextDelta):
                    yield chunk.text
            self.response()
        finally:
            self.close()

    def started(self) -> None:
        """Wait for the first event of the answer; raises a failure that came before it as `LlmError`."""
        self._read(self._stream.started)

    def response(self) -> Response:
        """Read what is left and return the whole answer; raises a failure as `LlmError`, with `.partial`.

        After the stream has ended it also works when the runtime is closed.
        """
        if self._outcome is None:
            try:
                self._read(self._settle)
            except RuntimeClosed as closed:
                self._outcome = LlmError(str(closed), codes.ABORTED)
            finally:
                self._open = False
        if isinstance(self._outcome, Response):
            return self._outcome
        assert self._outcome is not None
        # Without the traceback of the last raise, which this one would lengthen.
        raise self._outcome.with_traceback(None)

    @property
    def info(self) -> CallInfo:
        """Facts about the call so far; complete when the stream has ended."""
        return self._stream.info

    def close(self) -> None:
        """End the call and close its connection; a thread that is reading it gets the terminal chunk. Idempotent."""
        self._open = False
        if self._thread.running:
            self._thread.call(self._leave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # `_open` is missing where the stream could not be made.
        if getattr(self, "_open", False):
            words = "a stream was dropped before its end; close() it, or use `with`"
            warnings.warn(words, ResourceWarning, stacklevel=2)
            # The connection belongs to the loop's thread, and is closed there.
            self._thread.send(self._stream.aclose)

    def _read(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        self._open = True
        return self._thread.call(work)

    # -- on the loop

    async def _step(self) -> list[StreamChunk]:
        batch = await self._stream.next_batch()
        if batch and isinstance(batch[-1], Finish):
            await self._settle()
        return batch

    async def _settle(self) -> None:
        try:
            self._outcome = await self._stream.response()
        except LlmError as error:
            self._outcome = error

    async def _leave(self) -> None:
        await self._stream.aclose()
        with suppress(Exception):  # an interceptor's own failure is raised by response(), not by close()
            await self._settle()


class RuntimeClosed(RuntimeError):
    """Error of a call on a runtime that was closed."""

    def __init__(self) -> None:
        super().__init__("this runtime is closed")


def _awaited(make: Callable[[], T]) -> Callable[[], Coroutine[object, object, T]]:
    # A stream is made on the loop that it will be read on (T2).
    async def made() -> T:
        return make()

    return made


@asynccontextmanager
async def _bare() -> AsyncGenerator[runtime.LlmRuntime, None]:
    async with runtime.LlmRuntime() as opened:
        yield opened


class _LoopThread:
    """Thread that runs an event loop and the runtime on it."""

    def __init__(self, make: "Callable[[], AbstractAsyncContextManager[runtime.LlmRuntime]]") -> None:
        self._make = make
        self._pid = os.getpid()
        self._opened: concurrent.futures.Future[runtime.LlmRuntime] = concurrent.futures.Future()
        # Re-entrant, because a finalizer may send while this thread is sending.
        self._lock = threading.RLock()
        # Set while work is accepted, under the lock, so that nothing is sent to a loop that will not run it.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leave = asyncio.Event()
        self._leaving = False
        self._failure: BaseException | None = None
        self._tasks: set[asyncio.Future[object]] = set()
        # A daemon: a program that ends without close() must not hang.
        self._thread = threading.Thread(target=self._run, name="limen-sync", daemon=True)
        self._opened.set_running_or_notify_cancel()
        self._thread.start()
        try:
            _wait(self._opened)
            self.runtime: runtime.LlmRuntime = self._opened.result()
        except BaseException:
            # Not opened, or Ctrl-C while opening: the thread ends as soon as it can.
            self.stop()
            self._thread.join()
            raise

    @property
    def running(self) -> bool:
        """Tell whether the loop accepts calls, in this process."""
        return self._loop is not None and os.getpid() == self._pid

    def call(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        """Run a coroutine on the loop and return its result; what interrupts the wait, as Ctrl-C, cancels it (Q6)."""
        if os.getpid() != self._pid:
            raise RuntimeError("this runtime was opened in another process; open one here")
        if threading.current_thread() is self._thread:
            raise RuntimeError("limen.sync was called on its own loop; use the async calls there")
        # Made before the work begins, so that Ctrl-C at any moment has a future to cancel.
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        try:
            self._send(lambda: self._begin(work, future))
            _wait(future)
        except BaseException:
            future.cancel()
            raise
        if future.cancelled():
            raise RuntimeClosed
        return future.result()

    def send(self, work: Callable[[], Coroutine[object, object, object]]) -> None:
        """Run a coroutine on the loop without waiting for it; its result is dropped."""
        with suppress(RuntimeClosed):  # its connections were closed with it
            self._send(lambda: self._keep(asyncio.ensure_future(work())))

    def _send(self, begin: Callable[[], None]) -> None:
        with self._lock:
            if self._loop is None:
                raise RuntimeClosed
            self._loop.call_soon_threadsafe(begin)

    def _begin(self, work: Callable[[], Coroutine[object, object, T]], future: "concurrent.futures.Future[T]") -> None:
        if future.cancelled():
            return
        task = asyncio.ensure_future(work())
        loop = asyncio.get_running_loop()

        def interrupted(asked: "concurrent.futures.Future[T]") -> None:
            if asked.cancelled():
                with suppress(RuntimeError):  # the loop has closed, and the task has ended
                    loop.call_soon_threadsafe(task.cancel)

        future.add_done_callback(interrupted)
        task.add_done_callback(lambda done: _hand_over(done, future))

    def _keep(self, task: "asyncio.Future[object]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Ask the thread to end, without waiting for it; from any thread, at any time."""
        self._leaving = True
        with suppress(RuntimeClosed):
            self._send(self._leave.set)

    def close(self) -> None:
        """Close the runtime and wait for the end of the thread; raises what closing raised."""
        if os.getpid() != self._pid or not self._thread.is_alive():
            return
        self.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as failure:  # noqa: BLE001 - raised in the thread that opens, or that closes
            if self._opened.done():
                self._failure = failure
            else:
                self._opened.set_exception(failure)

    async def _live(self) -> None:
        async with self._make() as opened:
            self._loop = asyncio.get_running_loop()
            self._opened.set_result(opened)
            # A `stop()` from here on finds the loop; an earlier one has set `_leaving`.
            if not self._leaving:
                await self._leave.wait()
            with self._lock:
                self._loop = None
            # Work that was sent at the last moment begins now, and is ended with everything else that runs.
            await asyncio.sleep(0)


def _wait(future: "concurrent.futures.Future[T]") -> None:
    """Wait for the future, in pieces, so that Ctrl-C interrupts the wait."""
    while not concurrent.futures.wait((future,), POLL_S).done:
        pass


def _hand_over(done: "asyncio.Future[T]", future: "concurrent.futures.Future[T]") -> None:
    if done.cancelled():
        future.cancel()
    error = None if done.cancelled() else done.exception()
    if not future.set_running_or_notify_cancel():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())
