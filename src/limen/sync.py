"""The same calls without async: a loop in a thread of its own, one per runtime.

Any thread may call; a stream is read by one thread at a time, and `close()` from another one ends that read with its
terminal chunk. Ctrl-C while the main thread waits aborts the call that it waits for.
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
from typing import Final, Self, TypeVar

from limen import _compose, runtime
from limen.config import Source
from limen.contract import (
    AbortSignal,
    CallInfo,
    Finish,
    GenerateOptions,
    Interceptor,
    LlmAdapter,
    LlmError,
    ModelInfo,
    ProviderInfo,
    Response,
    StreamChunk,
    TextDelta,
    codes,
)

__all__ = ["LlmRuntime", "ModelStream", "PreparedCall", "open_runtime"]

T = TypeVar("T")

# Windows does not interrupt a wait for Ctrl-C, so there the wait comes up for air.
_POLL_S: Final = 0.1 if sys.platform == "win32" else None


def open_runtime(path: Source = None, *, app: str | None = None) -> "LlmRuntime":
    """Open a runtime as `limen.open_runtime` does; use it in a `with`, or call `close()`."""
    return LlmRuntime(lambda: _compose.open_runtime(path, app=app))


class LlmRuntime:
    """A runtime and the thread that runs it; made by `open_runtime`, or bare for adapters registered by hand."""

    def __init__(self, make: "Callable[[], AbstractAsyncContextManager[runtime.LlmRuntime]] | None" = None) -> None:
        self._thread = _LoopThread(make or _bare)

    # -- calls

    def stream(self, options: GenerateOptions) -> "ModelStream":
        """Begin a call: iterate the result, or ask for its `response()`; use it in a `with` to leave early."""
        return ModelStream(self._thread, lambda: self._thread.runtime.stream(options))

    def complete(self, options: GenerateOptions) -> Response:
        """Return the collected answer, under the retry policy; raises `LlmError` with `.partial` on failure."""
        return self._thread.call(lambda: self._thread.runtime.complete(options))

    def prepare_call(self, options: GenerateOptions) -> "PreparedCall":
        """Bind a call to one adapter generation (R3)."""
        return PreparedCall(self._thread, self._thread.call(lambda: self._thread.runtime.prepare_call(options)))

    # -- routes and models

    def list_providers(self) -> Sequence[ProviderInfo]:
        """Return the registered routes."""
        return self._thread.runtime.list_providers()

    def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the models that a route knows of (R10)."""
        return self._thread.call(lambda: self._thread.runtime.list_models(provider))

    def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return what a route knows of one exact model (R10)."""
        return self._thread.call(lambda: self._thread.runtime.resolve_model(provider, model, signal=signal))

    def register(self, routes: Sequence[str], adapter: LlmAdapter) -> runtime.Registration:
        """Register an adapter; it runs on the runtime's own thread."""
        return self._thread.runtime.register(routes, adapter)

    def use(self, interceptor: Interceptor) -> Callable[[], None]:
        """Wrap all later calls, on the runtime's own thread; what is returned takes the interceptor back (R7)."""
        return self._thread.runtime.use(interceptor)

    def on_topology(self, listener: runtime.TopologyListener) -> Callable[[], None]:
        """Tell `listener` after each commit of routes, in the thread that commits (R8)."""
        return self._thread.runtime.on_topology(listener)

    def reload(self, config: object = None) -> None:
        """Read the configuration again, whole or not at all (K5)."""
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
    """A call bound to one adapter generation, used once (R3)."""

    def __init__(self, thread: "_LoopThread", prepared: runtime.PreparedCall) -> None:
        self._thread = thread
        self._prepared = prepared

    @property
    def options(self) -> GenerateOptions:
        """The options with the adapter's defaults in them (R4)."""
        return self._prepared.options

    @property
    def model(self) -> ModelInfo:
        """What the adapter knows of the model."""
        return self._prepared.model

    @property
    def adapter_defaults(self) -> Mapping[str, object]:
        """Which defaults the adapter put into the options."""
        return self._prepared.adapter_defaults

    def stream(self) -> "ModelStream":
        """Begin the call."""
        return ModelStream(self._thread, self._prepared.stream)


class ModelStream:
    """One call: iterate it once, or ask for its `response()`; leaving the `with` closes the connection."""

    def __init__(self, thread: "_LoopThread", make: "Callable[[], runtime.ModelStream]") -> None:
        self._thread = thread
        self._iterated = False
        # Between the first read and the end there is a connection to give back.
        self._open = False
        self._stream = thread.call(_awaited(make))

    def __iter__(self) -> Iterator[StreamChunk]:
        if self._iterated:
            raise RuntimeError("a stream is iterated once; its chunks are gone, and stream.response() is not")
        self._iterated = True
        return self._chunks()

    def _chunks(self) -> Iterator[StreamChunk]:
        while batch := self._read(self._stream.next_batch):
            self._open = not isinstance(batch[-1], Finish)
            yield from batch
        self._open = False

    def text(self) -> Iterator[str]:
        """Iterate the visible text only; a failure is raised as `LlmError` at its place (E2)."""
        try:
            for chunk in self:
                if isinstance(chunk, TextDelta):
                    yield chunk.text
            self.response()
        finally:
            self.close()

    def response(self) -> Response:
        """Read what is left and return the whole answer; raises `LlmError` with `.partial` on failure."""
        try:
            return self._read(self._stream.response)
        finally:
            self._open = False

    @property
    def info(self) -> CallInfo:
        """What is known of the call so far; complete when the stream has ended."""
        return self._stream.info

    def close(self) -> None:
        """End the call and close its connection; a thread that is reading it gets the terminal chunk. Idempotent."""
        self._open = False
        if self._thread.running:
            self._thread.call(self._stream.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # `_open` is missing where the stream could not be made.
        if getattr(self, "_open", False):
            warnings.warn(
                "a stream was dropped before its end; close() it, or use `with`", ResourceWarning, stacklevel=2
            )
            # The connection belongs to the loop's thread, and is given back there.
            self._thread.send(self._stream.aclose)

    def _read(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        self._open = True
        return self._thread.call(work)


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
    """A loop in a thread of its own, and the runtime that lives on it."""

    def __init__(self, make: "Callable[[], AbstractAsyncContextManager[runtime.LlmRuntime]]") -> None:
        self._make = make
        self._pid = os.getpid()
        self._opened: concurrent.futures.Future[runtime.LlmRuntime] = concurrent.futures.Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leave: asyncio.Event | None = None
        self._failure: BaseException | None = None
        self._sent: set[asyncio.Future[object]] = set()
        # A daemon: a program that ends without close() must not hang.
        self._thread = threading.Thread(target=self._run, name="limen-sync", daemon=True)
        self._thread.start()
        try:
            self.runtime = _result(self._opened)
        except BaseException:
            self.close()
            raise

    @property
    def running(self) -> bool:
        """Whether calls can be made."""
        return self._thread.is_alive() and os.getpid() == self._pid

    def call(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        """Run a coroutine on the loop and wait for it; what interrupts the wait cancels it."""
        if os.getpid() != self._pid:
            raise RuntimeError("this runtime was opened in another process; open one here")
        if threading.current_thread() is self._thread:
            raise RuntimeError("limen.sync was called on its own loop; use the async calls there")
        if self._loop is None or not self._thread.is_alive():
            raise RuntimeError("this runtime is closed")
        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return _result(future)
        except concurrent.futures.CancelledError:
            raise LlmError("the runtime was closed during the call", codes.ABORTED) from None

    def send(self, work: Callable[[], Coroutine[object, object, object]]) -> None:
        """Run a coroutine on the loop some time; nobody hears of its end."""
        if self._loop is not None and self.running:
            with suppress(RuntimeError):  # the loop was closed meanwhile, and all connections with it
                self._loop.call_soon_threadsafe(lambda: self._keep(work()))

    def _keep(self, work: Coroutine[object, object, object]) -> None:
        task = asyncio.ensure_future(work)
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)

    def stop(self) -> None:
        """Ask the thread to end; safe in any thread and at any time."""
        leave = self._leave
        if self._loop is not None and leave is not None:
            with suppress(RuntimeError):  # the loop is closed: the thread has ended already
                self._loop.call_soon_threadsafe(leave.set)

    def close(self) -> None:
        """Close the runtime and wait for the thread's end; raises what its closing raised."""
        if not self.running:
            return
        self.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as failure:  # noqa: BLE001 - handed over to the thread that opens, or that closes
            if self._opened.done():
                self._failure = failure
            else:
                self._opened.set_exception(failure)

    async def _live(self) -> None:
        self._leave = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        async with self._make() as opened:
            self._opened.set_result(opened)
            await self._leave.wait()


def _result(future: "concurrent.futures.Future[T]") -> T:
    """Wait so that Ctrl-C gets through; what interrupts the wait cancels the work (Q6)."""
    try:
        while not concurrent.futures.wait((future,), _POLL_S).done:
            pass
    except BaseException:
        future.cancel()
        raise
    return future.result()
