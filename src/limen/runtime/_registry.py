"""The routes and the adapters that own them (R1), and the listeners that are notified of changes (R8).

Readers see each commit whole or not at all, from any thread.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Final, NamedTuple, TypeAlias

from limen.contract import LlmAdapter, LlmError, ModelInfo, ProviderInfo, RetryPolicy, codes, foreign_text, safe_cause
from limen.runtime._failures import ENDS_THE_PROCESS, debug
from limen.runtime._metadata import check_provider

TopologyListener: TypeAlias = Callable[..., object]
"""Function called after each commit with the tuple of the route names, or without arguments if it takes none."""

CLOSED_TEXT: Final = "this runtime is closed"
_DEFAULT_POLICY: Final = RetryPolicy()


class Route(NamedTuple):
    """One route: its adapter, and the adapter's info and retry policy for it, read at registration."""

    adapter: LlmAdapter
    info: ProviderInfo
    policy: RetryPolicy
    owner: "Registration"


class Registration:
    """Handle of one `register()`: `replace()` exchanges its routes, `dispose()` or leaving a `with` removes them."""

    def __init__(self, registry: "Registry", adapter: LlmAdapter) -> None:
        self._registry = registry
        self._adapter = adapter
        self.disposed = False
        # The model that was validated last.
        self.checked: ModelInfo | None = None

    @property
    def adapter(self) -> LlmAdapter:
        """The adapter that serves the routes."""
        return self._adapter

    @property
    def routes(self) -> tuple[str, ...]:
        """The names that this registration owns now."""
        return tuple(name for name, route in self._registry.routes.items() if route.owner is self)

    def replace(self, routes: Sequence[str]) -> None:
        """Exchange the routes for exactly these, in one step; an empty list is allowed (R1).

        Raises as `register()` does, and then the old routes stay; `REGISTRATION_DISPOSED` after `dispose()`.
        """
        self._registry.replace(self, routes)

    def dispose(self) -> None:
        """Remove all routes in one step; running streams go on. Idempotent (R1)."""
        self._registry.dispose(self)

    def __enter__(self) -> "Registration":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()


class Registry:
    """Routes by name: one immutable mapping that each commit exchanges; writers take a lock, readers none."""

    def __init__(self, advice: Callable[[str], str] | None = None) -> None:
        self._lock = threading.Lock()
        self._advice = advice
        self.topology: Topology = Topology()
        self.closed: bool = False
        self.routes: Mapping[str, Route] = MappingProxyType({})

    def find(self, provider: str) -> Route:
        """Return a route by name; raises `NO_ADAPTER` where there is none, and after `close()`."""
        try:
            route = self.routes.get(provider)
        except TypeError:
            route = None
        if route is None:
            if self.closed:
                raise self.closed_error()
            known = ", ".join(sorted(self.routes)) or "none"
            words = self._advice(provider) if self._advice is not None else ""
            raise LlmError(
                f"no adapter is registered for the route {provider!r}; the routes are: {known}"
                f"{f'; {words}' if words else ''}",
                codes.NO_ADAPTER,
                phase="resolve",
            )
        return route

    def closed_error(self) -> LlmError:
        """Return the failure of a call that begins after `close()`."""
        return LlmError(CLOSED_TEXT, codes.NO_ADAPTER, phase="resolve")

    def register(self, routes: Sequence[str], adapter: LlmAdapter) -> Registration:
        """Add routes of one adapter, all or none."""
        return self.swap((), [(routes, adapter)])[0]

    def swap(
        self, old: Sequence[Registration], new: Sequence[tuple[Sequence[str], LlmAdapter]]
    ) -> tuple[Registration, ...]:
        """Dispose of registrations and make others in one commit, all or none; `RuntimeError` after `close()`."""
        handles: list[Registration] = []
        added: dict[str, Route] = {}
        for routes, adapter in new:
            handle = Registration(self, adapter)
            for name, route in _described(handle, routes, allow_empty=False).items():
                if name in added:
                    raise _duplicate(name)
                added[name] = route
            handles.append(handle)
        with self._lock:
            if self.closed:
                raise RuntimeError(f"{CLOSED_TEXT}; nothing was registered")
            self._exchange(old, added)
            for handle in old:
                handle.disposed = True
        self._notify()
        return tuple(handles)

    def replace(self, handle: Registration, routes: Sequence[str]) -> None:
        """Exchange the routes of one registration."""
        added = {} if handle.disposed else _described(handle, routes, allow_empty=True)
        with self._lock:
            if handle.disposed:
                raise LlmError("this registration was disposed; register again", codes.REGISTRATION_DISPOSED)
            self._exchange((handle,), added)
        self._notify()

    def dispose(self, handle: Registration) -> None:
        """Remove the routes of one registration; nothing happens the second time."""
        with self._lock:
            if handle.disposed:
                return
            handle.disposed = True
            self._exchange((handle,), {})
        self._notify()

    def close(self) -> tuple[Route, ...]:
        """Dispose of every registration in one commit, refuse new ones, and return the routes there were."""
        with self._lock:
            self.closed = True
            gone = tuple(self.routes.values())
            for route in gone:
                route.owner.disposed = True
            self.routes = MappingProxyType({})
        if gone:
            self._notify()
        return gone

    def _exchange(self, leaving: Sequence[Registration], added: Mapping[str, Route]) -> None:
        kept = {name: route for name, route in self.routes.items() if route.owner not in leaving}
        for name in added:
            if name in kept:
                raise _duplicate(name)
        self.routes = MappingProxyType({**kept, **added})

    def _notify(self) -> None:
        self.topology.notify(tuple(self.routes))


class Topology:
    """Listeners of the registry; the failure of one, at once or later, is contained and logged (R8)."""

    def __init__(self) -> None:
        self._listeners: tuple[tuple[TopologyListener, bool], ...] = ()

    def add(self, listener: TopologyListener) -> Callable[[], None]:
        """Add a listener, and return a function that removes it; idempotent."""
        entry = (listener, _takes_names(listener))
        self._listeners = (*self._listeners, entry)

        def remove() -> None:
            self._listeners = tuple(kept for kept in self._listeners if kept is not entry)

        return remove

    def notify(self, names: tuple[str, ...]) -> None:
        """Call every listener, in the order in which they were added."""
        for listener, takes_names in self._listeners:
            try:
                result = listener(names) if takes_names else listener()
                if inspect.iscoroutine(result):
                    _run(result)
            except ENDS_THE_PROCESS:
                raise
            except BaseException as failure:  # noqa: BLE001 - a listener has no veto (R8)
                debug("a topology listener failed: %s", foreign_text(failure))


def _takes_names(listener: TopologyListener) -> bool:
    try:
        inspect.signature(listener).bind(())
    except TypeError:
        return False
    except ValueError:
        # A builtin without a signature is given the names.
        return True
    return True


def _run(coroutine: Coroutine[object, object, object]) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        coroutine.close()
        raise
    task = loop.create_task(_contained(coroutine))
    _running.add(task)
    task.add_done_callback(_running.discard)


async def _contained(coroutine: Coroutine[object, object, object]) -> None:
    try:
        await coroutine
    except (asyncio.CancelledError, *ENDS_THE_PROCESS):
        raise
    except BaseException as failure:  # noqa: BLE001 - as above, for a coroutine (R8)
        debug("a topology listener failed later: %s", foreign_text(failure))


# A loop holds its tasks weakly; a listener's task is held here until it is done.
_running: Final[set[asyncio.Task[None]]] = set()


def _duplicate(name: str) -> LlmError:
    return LlmError(f"the route {name!r} is taken; nothing was registered", codes.DUPLICATE_ADAPTER)


def _described(handle: Registration, routes: Sequence[str], *, allow_empty: bool) -> dict[str, Route]:
    _check_adapter(handle.adapter)
    names = _names(routes)
    if not names and not allow_empty:
        raise LlmError("a registration names at least one route", codes.INVALID_ADAPTER)
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise LlmError(f"the route {repeated!r} is named twice; nothing was registered", codes.DUPLICATE_ADAPTER)
    return {name: _described_route(handle, name) for name in names}


def _check_adapter(adapter: object) -> None:
    if not isinstance(adapter, LlmAdapter):
        raise LlmError(f"a {type(adapter).__name__} is no LlmAdapter; derive from it", codes.INVALID_ADAPTER)


def _names(routes: object) -> list[str]:
    if isinstance(routes, str) or not isinstance(routes, Iterable):
        raise LlmError(f"routes are a list of names, got a {type(routes).__name__}", codes.INVALID_ADAPTER)
    given: Iterable[object] = routes  # pyright: ignore[reportUnknownVariableType] - each name is checked below
    names: list[str] = []
    for index, name in enumerate(given):
        if type(name) is not str or not name.strip():
            raise LlmError(f"routes[{index}] is {name!r}, and a route has a name", codes.INVALID_ADAPTER)
        names.append(name)
    return names


def _described_route(handle: Registration, name: str) -> Route:
    adapter = handle.adapter
    try:
        info: object = adapter.provider_info(name)
        policy: object = adapter.retry_policy(name)
    except ENDS_THE_PROCESS:
        raise
    except BaseException as failure:  # noqa: BLE001 - whatever it raises, the adapter is not usable
        words, cause = foreign_text(failure), safe_cause(failure)
    else:
        return _checked_route(handle, name, info, policy)
    # Raised outside of the `except`, so that the foreign exception does not become its context unscrubbed (E5).
    raise LlmError(f"the adapter of the route {name!r} is not usable: {words}", codes.INVALID_ADAPTER) from cause


def _checked_route(handle: Registration, name: str, info: object, policy: object) -> Route:
    if policy is None:
        policy = _DEFAULT_POLICY
    if type(policy) is not RetryPolicy:
        raise LlmError(
            f"the adapter of the route {name!r} has a retry policy that is a {type(policy).__name__}",
            codes.INVALID_ADAPTER,
        )
    return Route(handle.adapter, check_provider(name, info), policy, handle)
