"""`LlmRuntime`: routes, calls and their end; and `PreparedCall`, a call that was bound beforehand."""

import asyncio
import concurrent.futures
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, TypeAlias, Unpack, overload

from limen.contract import (
    AbortSignal,
    CallOptions,
    GenerateOptions,
    Interceptor,
    LlmAdapter,
    LlmError,
    ModelInfo,
    Prompt,
    ProviderInfo,
    Response,
    RetryPolicy,
    call_options,
    codes,
    foreign_text,
    safe_cause,
)
from limen.runtime._binding import Binding, bind
from limen.runtime._failures import asked, debug
from limen.runtime._fallback import Fallback
from limen.runtime._interceptors import Chain, Dispatcher
from limen.runtime._metadata import check_catalog, check_model
from limen.runtime._registry import Registration, Registry, TopologyListener
from limen.runtime._retry import Retry
from limen.runtime._stream import ModelStream

Loader: TypeAlias = Callable[[object], Awaitable[Sequence[tuple[Sequence[str], LlmAdapter]]]]
"""Function that reads a configuration (`None` is the one of opening) and returns its routes with their adapters."""

CLOSE_TIMEOUT_S: Final = 2.0
"""Seconds that the clean-up of one stream or adapter may take while others wait for it."""

_TRANSPARENT: Final = (Retry, Fallback)
"""Interceptors that only pass on what an attempt's guard kept, so that nothing is assembled a second time."""


class PreparedCall:
    """Call validated and bound before dispatch: options, model facts, retry policy, one adapter generation (R3).

    It is used once, and served by the adapter that it was prepared with, also if the route has another by now.
    """

    __slots__ = ("_binding", "_make", "_used")

    def __init__(self, binding: Binding, make: Callable[[Binding], ModelStream]) -> None:
        self._binding = binding
        self._make = make
        self._used = False

    @property
    def options(self) -> GenerateOptions:
        """Options with the adapter's defaults in them; the caller's own object if it declares none."""
        return self._binding.options

    @property
    def model(self) -> ModelInfo:
        """Facts that the adapter knows of the model."""
        return self._binding.model

    @property
    def adapter_defaults(self) -> Mapping[str, object]:
        """Defaults of the adapter that entered the options, as `{field: value}` (R4)."""
        return self._binding.defaults

    @property
    def retry_policy(self) -> RetryPolicy:
        """Retry policy of the route when the call was prepared."""
        return self._binding.policy

    def stream(self) -> ModelStream:
        """Return the stream of this call; a second one ends in `INVALID_PREPARED_CALL`, as changed options do."""
        binding = self._binding._replace(spent=True) if self._used else self._binding
        self._used = True
        return self._make(binding)


class LlmRuntime:
    """Registry of adapters by route, and the calls that they serve. An asynchronous context manager.

    The registry may be used from several threads (R1); a stream belongs to the loop that reads it (T2). A runtime
    that is made by hand has no interceptors, so it does not retry; `runtime.use(Retry())` changes that (R9). After
    `aclose()`, or leaving its `async with`, calls fail with `NO_ADAPTER`, "this runtime is closed".
    """

    def __init__(self, *, loader: Loader | None = None, advice: Callable[[str], str] | None = None) -> None:
        self._loader = loader
        self._registry = Registry(advice)
        self._installed: tuple[Interceptor, ...] = ()
        self._chain = Chain()
        self._open_streams: set[weakref.ref[ModelStream]] = set()
        self._loaded: tuple[Registration, ...] = ()
        self._retired: list[LlmAdapter] = []
        self._turns = _Turns()

    # -- routes

    def register(self, routes: Sequence[str], adapter: LlmAdapter) -> Registration:
        """Serve these routes by this adapter from now on; all of them or none (R1).

        The adapter's `provider_info` and `retry_policy` of each route are read once, here. Raises `INVALID_ADAPTER`
        or `DUPLICATE_ADAPTER`, and `RuntimeError` after closing.
        """
        return self._registry.register(routes, adapter)

    def list_providers(self) -> list[ProviderInfo]:
        """Return the id and name of every route, as a new list."""
        return [route.info for route in self._registry.routes.values()]

    def retry_policy(self, provider: str) -> RetryPolicy:
        """Return a route's retry policy, read at registration; raises `NO_ADAPTER` for an unknown route."""
        return self._registry.find(provider).policy

    def on_topology(self, listener: TopologyListener) -> Callable[[], None]:
        """Call `listener` after each commit of routes (R8), and return a function that removes it.

        It is called in the thread that commits, after the registry shows the new state, with the tuple of the route
        names, or without arguments if it takes none. A listener that fails is logged, and changes nothing.
        """
        return self._registry.topology.add(listener)

    # -- models

    async def list_models(self, provider: str) -> list[ModelInfo]:
        """Return the models that the route's adapter knows of; advisory, and asked for at each call (R10).

        Raises `NO_ADAPTER`, `INVALID_CATALOG`, or the adapter's own failure as `LlmError`.
        """
        route = self._registry.find(provider)
        models: object = await asked(lambda: route.adapter.list_models(provider))
        return check_catalog(provider, models)

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return the adapter's answer for one exact model: its identity, and the facts that are known (R10).

        Raises `NO_ADAPTER`, `INVALID_MODEL_INFO`, the adapter's own failure as `LlmError`, or `AbortError` with the
        caller's own reason as soon as the signal is aborted.
        """
        route = self._registry.find(provider)
        info: object = await asked(lambda: route.adapter.resolve_model(provider, model, signal=signal), signal)
        return check_model(provider, model, info)

    # -- calls

    def use(self, interceptor: Interceptor) -> Callable[[], None]:
        """Wrap all later calls in an interceptor, inside of those before it; return a function that removes it (R7).

        `Retry` is always innermost, whenever it is installed, and only the last one installed is in force, so that
        no policy multiplies another (R9).
        """
        self._installed = (*self._installed, interceptor)
        self._chain = _chain(self._installed)
        there = True

        def remove() -> None:
            nonlocal there
            kept = list(self._installed)
            if there:
                # By identity, and one of them: the same interceptor may be installed twice.
                del kept[next(index for index, found in enumerate(kept) if found is interceptor)]
            there, self._installed = False, tuple(kept)
            self._chain = _chain(self._installed)

        return remove

    @overload
    def stream(self, options: GenerateOptions) -> ModelStream: ...
    @overload
    def stream(self, options: str, prompt: Prompt, **fields: Unpack[CallOptions]) -> ModelStream: ...
    def stream(
        self, options: GenerateOptions | str, prompt: Prompt | None = None, **fields: Unpack[CallOptions]
    ) -> ModelStream:
        """Return the stream of one call, which its first read dispatches; every failure is its outcome (E2).

        The call is `GenerateOptions`, or in short `stream("ROUTE/MODEL", "text" or messages, max_tokens=100)` with the
        fields of `GenerateOptions` as keywords. Raises `INVALID_OPTIONS` for a model without its route.
        """
        return self._stream(_given(options, prompt, fields))

    @overload
    async def complete(self, options: GenerateOptions) -> Response: ...
    @overload
    async def complete(self, options: str, prompt: Prompt, **fields: Unpack[CallOptions]) -> Response: ...
    async def complete(
        self, options: GenerateOptions | str, prompt: Prompt | None = None, **fields: Unpack[CallOptions]
    ) -> Response:
        """Make one call and return the whole answer; raises a failure as `LlmError`, with `.partial`.

        The arguments are those of `stream()`. Nothing is shown before the end, so a failure in the middle may be
        retried too (R9).
        """
        async with self._stream(_given(options, prompt, fields), collecting=True) as stream:
            return await stream.response()

    async def prepare_call(self, options: GenerateOptions) -> PreparedCall:
        """Bind a call to the adapter that serves its route now: model facts, defaults, retry policy, dispatch (R3).

        Raises the failures that the call would have before any request: `NO_ADAPTER`, `INVALID_OPTIONS`,
        `UNSUPPORTED_REASONING_EFFORT`, `INVALID_MODEL_INFO`; `AbortError` with the caller's own reason.
        """
        _check(options)
        binding = await asked(lambda: bind(self._registry.find(options.provider), options), options.signal)
        return PreparedCall(binding, lambda used: self._stream(used.options, used))

    def _stream(
        self, options: GenerateOptions, prepared: Binding | None = None, *, collecting: bool = False
    ) -> ModelStream:
        _check(options)
        dispatcher = Dispatcher(self._registry, prepared, collecting=collecting)
        return ModelStream(options, dispatcher, self._chain, self._open_streams)

    # -- configuration and the end

    async def reload(self, config: object = None) -> None:
        """Read the configuration again and exchange the routes that came from it, whole or not at all (K5).

        `None` reads what the runtime was opened with. A configuration that does not validate raises
        `INVALID_CONFIG` and leaves the last good one in force; running calls keep their adapters (K2). Reloads take
        turns, also those of several event loops. Raises `RuntimeError` after closing.
        """
        if self._loader is None:
            raise LlmError(
                "this runtime has no configuration to read: it was made by hand, not by open_runtime()",
                codes.INVALID_CONFIG,
            )
        async with self._turns:
            entries = await self._loader(config)
            before = [handle.adapter for handle in self._loaded]
            if self._registry.closed:
                # Closed while the configuration was read: the adapters that were made for it have no route.
                self._retired += [adapter for _, adapter in entries]
                await self._close_retired()
            self._loaded = self._registry.swap(self._loaded, entries)
            self._retired += before
            await self._close_retired()

    async def _close_retired(self) -> None:
        """Close the adapters that serve no route and no open stream; the others wait for the next reload or the end."""
        serving = {id(route.adapter) for route in self._registry.routes.values()}
        busy = {id(adapter) for stream in self._streams() if (adapter := stream.adapter) is not None}
        retired = {id(adapter): adapter for adapter in self._retired if id(adapter) not in serving}
        self._retired = [adapter for key, adapter in retired.items() if key in busy]
        failures: list[Exception] = []
        for key, adapter in retired.items():
            if key not in busy:
                await _contained(adapter.aclose(), failures)

    def _streams(self) -> list[ModelStream]:
        return [stream for ref in tuple(self._open_streams) if (stream := ref()) is not None]

    async def aclose(self) -> None:
        """Remove all routes, end every open stream as aborted, and close the adapters. Idempotent.

        No adapter is asked anything after it has returned: a call that begins meanwhile fails at once. Raises the
        first failure of a clean-up, when all of them are done. A clean-up that hangs is ended after two seconds, as
        its `TimeoutError`.
        """
        failure = await self._close()
        if failure is not None:
            raise safe_cause(failure)

    async def _close(self) -> Exception | None:
        failures: list[Exception] = []
        # First the routes: what begins from here on finds none, so the streams that are open now are all there are.
        routes = self._registry.close()
        await asyncio.gather(*(_contained(_left(stream), failures) for stream in self._streams()))
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


class _Turns:
    """Lock for coroutines of several event loops, served in order; an `asyncio.Lock` belongs to one loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: concurrent.futures.Future[None] | None = None
        self._mine: concurrent.futures.Future[None] | None = None

    async def __aenter__(self) -> None:
        turn: concurrent.futures.Future[None] = concurrent.futures.Future()
        # Running, so that a waiter that is cancelled cannot cancel it for the others.
        turn.set_running_or_notify_cancel()
        with self._lock:
            before, self._last = self._last, turn
        if before is not None:
            try:
                await asyncio.wrap_future(before)
            except BaseException:
                before.add_done_callback(lambda _: turn.set_result(None))
                raise
        self._mine = turn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._mine is not None
        self._mine.set_result(None)


async def _left(stream: ModelStream) -> None:
    """End a stream; one of another event loop is asked to end there, and not waited for (T2)."""
    if stream.loop is None or stream.loop is asyncio.get_running_loop():
        await stream.aclose()
    elif not stream.loop.is_closed():
        asyncio.run_coroutine_threadsafe(stream.aclose(), stream.loop)


def _chain(installed: Sequence[Interceptor]) -> Chain:
    retries: list[Interceptor] = [one for one in installed if isinstance(one, Retry)]
    ordered = (*(one for one in installed if not isinstance(one, Retry)), *retries[-1:])
    return Chain(ordered, all(type(one) in _TRANSPARENT for one in ordered))


def _given(options: GenerateOptions | str, prompt: Prompt | None, fields: CallOptions) -> GenerateOptions:
    # The long form, as most calls have it, costs no step into another file.
    if not isinstance(options, str) and prompt is None and not fields:
        return options
    return call_options(options, prompt, fields)


def _check(options: object) -> None:
    """Raise `TypeError` for what is no call at all: a mistake in the program, not an outcome."""
    if not isinstance(options, GenerateOptions):
        raise TypeError(f"a call is made of GenerateOptions, not of a {type(options).__name__}")
    signal = options.signal
    if signal is not None and AbortSignal not in type(signal).__mro__:
        raise TypeError(f"the signal of a call is an AbortSignal, not a {type(signal).__name__}")


async def _contained(step: Awaitable[None], failures: list[Exception]) -> None:
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await step
    except Exception as failure:  # noqa: BLE001 - the rest is closed too, then it is raised
        debug("failed to close: %s", foreign_text(failure))
        failures.append(failure)
