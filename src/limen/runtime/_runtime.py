"""The runtime: adapters come and go while calls run, and every call ends in one outcome."""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final, TypeAlias

from limen.contract import (
    AbortSignal,
    GenerateOptions,
    Interceptor,
    LlmAdapter,
    LlmError,
    ModelInfo,
    ProviderInfo,
    Response,
    RetryPolicy,
    codes,
    foreign_text,
    safe_cause,
)
from limen.runtime._chain import Dispatcher
from limen.runtime._failures import asked
from limen.runtime._log import debug
from limen.runtime._metadata import check_catalog, check_model
from limen.runtime._prepare import Binding, bind
from limen.runtime._prepared import PreparedCall
from limen.runtime._registry import Registration, Registry
from limen.runtime._retry import Retry
from limen.runtime._stream import ModelStream
from limen.runtime._topology import Topology, TopologyListener

Loader: TypeAlias = Callable[[object], Awaitable[Sequence[tuple[Sequence[str], LlmAdapter]]]]
"""Reads a configuration (`None`: the one of the beginning) and returns routes with their adapters, or raises."""


_PATIENCE_S: Final = 2.0
"""How long one clean-up may take where others wait for it."""


class LlmRuntime:
    """Routes to adapters, and calls to routes. An asynchronous context manager; usable without one.

    The registry may be used from several threads (R1); a stream belongs to the loop that reads it (T2). A runtime
    that is made by hand has no interceptors, so it does not retry; `runtime.use(Retry())` changes that (R9).
    """

    def __init__(self, *, loader: Loader | None = None) -> None:
        self._loader = loader
        self._topology = Topology()
        self._registry = Registry(self._topology)
        self._installed: tuple[Interceptor, ...] = ()
        self._interceptors: tuple[Interceptor, ...] = ()
        self._open_streams: weakref.WeakSet[ModelStream] = weakref.WeakSet()
        self._loaded: tuple[Registration, ...] = ()
        self._retired: list[LlmAdapter] = []
        self._reloading: asyncio.Lock | None = None

    # -- routes

    def register(self, routes: Sequence[str], adapter: LlmAdapter) -> Registration:
        """Serve these routes by this adapter from now on; all of them or none (R1).

        What the adapter says of each route (`provider_info`, `retry_policy`) is read once, here. Raises
        `INVALID_ADAPTER` or `DUPLICATE_ADAPTER`.
        """
        return self._registry.register(routes, adapter)

    def list_providers(self) -> list[ProviderInfo]:
        """Return every route's id and name, as a list of the caller's own."""
        return [route.info for route in self._registry.routes.values()]

    def retry_policy(self, provider: str) -> RetryPolicy:
        """Return a route's retry policy as it was registered; `NO_ADAPTER` for a route that is not there."""
        return self._registry.find(provider).policy

    def on_topology(self, listener: TopologyListener) -> Callable[[], None]:
        """Tell `listener` after each commit of routes (R8); what is returned takes it back.

        It is called in the thread that commits, when the registry shows the new state, with the tuple of the route
        names, or with nothing if it takes nothing. One that fails is logged and harms nobody.
        """
        return self._topology.add(listener)

    # -- models

    async def list_models(self, provider: str) -> list[ModelInfo]:
        """Return the models that the route's adapter knows of: advice, read anew each time (R10).

        Raises `NO_ADAPTER`, `INVALID_CATALOG`, or the adapter's own failure as `LlmError`.
        """
        route = self._registry.find(provider)
        models: object = await asked(lambda: route.adapter.list_models(provider))
        return check_catalog(provider, models)

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return the adapter's answer for one exact model: identity, and facts that it knows (R10).

        Raises `NO_ADAPTER`, `INVALID_MODEL_INFO`, the adapter's own failure as `LlmError`, or `AbortError` with the
        caller's own reason as soon as the signal is aborted.
        """
        route = self._registry.find(provider)
        info: object = await asked(lambda: route.adapter.resolve_model(provider, model, signal=signal), signal)
        return check_model(provider, model, info)

    # -- calls

    def use(self, interceptor: Interceptor) -> Callable[[], None]:
        """Wrap all later calls in an interceptor, inside of those before it; what is returned takes it back (R7).

        `Retry` always goes innermost, whenever it is installed, and there is one: the last takes the place of those
        before it until it is taken back, so that no policy multiplies another (R9).
        """
        self._installed = (*self._installed, interceptor)
        self._interceptors = _chain(self._installed)
        there = True

        def remove() -> None:
            nonlocal there
            kept = list(self._installed)
            if there:
                # By identity, and one of them: the same interceptor may be installed twice.
                del kept[next(index for index, found in enumerate(kept) if found is interceptor)]
            there, self._installed = False, tuple(kept)
            self._interceptors = _chain(self._installed)

        return remove

    def stream(self, options: GenerateOptions) -> ModelStream:
        """Make the stream of one call; the first read dispatches it. Every failure is its outcome (E2)."""
        return self._stream(options, None, collecting=False)

    async def complete(self, options: GenerateOptions) -> Response:
        """Make one call and return the whole answer; a failure is `LlmError` with what had arrived in `.partial`.

        Nothing is shown before the end, so a retry may follow also on a failure in the middle (R9).
        """
        async with self._stream(options, None, collecting=True) as stream:
            return await stream.response()

    async def prepare_call(self, options: GenerateOptions) -> PreparedCall:
        """Bind a call to the adapter that serves its route now: model facts, defaults, retry policy, dispatch (R3).

        Raises what would be the outcome of the call before any request: `NO_ADAPTER`, `INVALID_OPTIONS`,
        `UNSUPPORTED_REASONING_EFFORT`, `INVALID_MODEL_INFO`; `AbortError` with the caller's own reason.
        """
        _check(options)
        binding = await asked(lambda: bind(self._registry, options), options.signal)
        return PreparedCall(binding, lambda used: self._stream(binding.options, used, collecting=False))

    def _stream(self, options: GenerateOptions, prepared: Binding | None, *, collecting: bool) -> ModelStream:
        _check(options)
        dispatcher = Dispatcher(self._registry, prepared, collecting=collecting)
        return ModelStream(options, dispatcher, self._interceptors, self._open_streams)

    # -- configuration and the end

    async def reload(self, config: object = None) -> None:
        """Read the configuration again and exchange the routes it made, whole or not at all (K5).

        `None` reads what the runtime was opened with. A configuration that does not validate raises
        `INVALID_CONFIG` and leaves the last good one in force; calls that run keep what they began with (K2).
        """
        if self._loader is None:
            raise LlmError(
                "this runtime has no configuration to read: it was made by hand, not by open_runtime()",
                codes.INVALID_CONFIG,
            )
        self._reloading = self._reloading or asyncio.Lock()
        async with self._reloading:
            entries = await self._loader(config)
            before = [handle.adapter for handle in self._loaded]
            self._loaded = self._registry.swap(self._loaded, entries)
            self._retired += before
            await self._close_retired()

    async def _close_retired(self) -> None:
        """Close what serves no route and no open stream now; the others wait for the next reload, or for the end."""
        serving = {id(route.adapter) for route in self._registry.routes.values()}
        busy = {id(adapter) for stream in tuple(self._open_streams) if (adapter := stream.adapter) is not None}
        retired = {id(adapter): adapter for adapter in self._retired if id(adapter) not in serving}
        self._retired = [adapter for key, adapter in retired.items() if key in busy]
        failures: list[Exception] = []
        for key, adapter in retired.items():
            if key not in busy:
                await _contained(adapter.aclose(), failures)

    async def aclose(self) -> None:
        """End every open stream as aborted, give up all routes, and close the adapters that served them.

        Raises the first failure of a clean-up, when all of them are done. One that hangs is ended after two seconds,
        so that it keeps nobody else from closing; that is its `TimeoutError`.
        """
        failure = await self._close()
        if failure is not None:
            raise safe_cause(failure)

    async def _close(self) -> Exception | None:
        failures: list[Exception] = []
        await asyncio.gather(*(_contained(_left(stream), failures) for stream in tuple(self._open_streams)))
        routes = self._registry.clear()
        adapters = {id(adapter): adapter for adapter in (*(route.adapter for route in routes), *self._retired)}
        self._retired.clear()
        for adapter in adapters.values():
            await _contained(adapter.aclose(), failures)
        return failures[0] if failures else None

    async def __aenter__(self) -> "LlmRuntime":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failure = await self._close()
        if failure is not None and error is None:
            raise safe_cause(failure)


async def _left(stream: ModelStream) -> None:
    """End a stream; where it belongs to another loop, that one is asked, not waited for (T2)."""
    if stream.loop is None or stream.loop is asyncio.get_running_loop():
        await stream.aclose()
    elif not stream.loop.is_closed():
        asyncio.run_coroutine_threadsafe(stream.aclose(), stream.loop)


def _chain(installed: Sequence[Interceptor]) -> tuple[Interceptor, ...]:
    retries = [one for one in installed if isinstance(one, Retry)]
    return (*(one for one in installed if not isinstance(one, Retry)), *retries[-1:])


def _check(options: object) -> None:
    """What cannot even be read as a call is a mistake in the program, not an outcome."""
    if not isinstance(options, GenerateOptions):
        raise TypeError(f"a call is made of GenerateOptions, not of a {type(options).__name__}")
    if not _watches(options.signal):
        raise TypeError(f"the signal of a call is an AbortSignal, not a {type(options.signal).__name__}")


def _watches(signal: object) -> bool:
    return signal is None or isinstance(signal, AbortSignal)


async def _contained(step: Awaitable[None], failures: list[Exception]) -> None:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await step
    except Exception as failure:  # noqa: BLE001 - what comes after is closed too, then it is raised
        debug("failed to close: %s", foreign_text(failure))
        failures.append(failure)
