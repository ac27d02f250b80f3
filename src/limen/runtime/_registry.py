"""Which adapter owns which route (R1). Readers see one commit whole or not at all, from any thread."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Final, NamedTuple

from limen.contract import LlmAdapter, LlmError, ProviderInfo, RetryPolicy, codes, foreign_text, safe_cause
from limen.runtime._failures import ENDS_THE_PROCESS
from limen.runtime._metadata import check_provider
from limen.runtime._topology import Topology

_DEFAULT_POLICY: Final = RetryPolicy()


class Route(NamedTuple):
    """One route as it was registered: its adapter, and what the adapter said of it then."""

    adapter: LlmAdapter
    info: ProviderInfo
    policy: RetryPolicy
    owner: "Registration"


class Registration:
    """The handle of one `register()`: change its routes with `replace`, give them up with `dispose` or a `with`."""

    def __init__(self, registry: "Registry", adapter: LlmAdapter) -> None:
        self._registry = registry
        self._adapter = adapter
        self.disposed = False

    @property
    def adapter(self) -> LlmAdapter:
        """The adapter that serves the routes."""
        return self._adapter

    @property
    def routes(self) -> tuple[str, ...]:
        """The names that this registration owns now."""
        return tuple(name for name, route in self._registry.routes.items() if route.owner is self)

    def replace(self, routes: Sequence[str]) -> None:
        """Own exactly these routes from now on, in one step; an empty list is allowed (R1).

        Raises as `register()` does, the old routes staying, and `REGISTRATION_DISPOSED` after `dispose()`.
        """
        self._registry.replace(self, routes)

    def dispose(self) -> None:
        """Give all routes up in one step. Running streams go on; a second time is harmless (R1)."""
        self._registry.dispose(self)

    def __enter__(self) -> "Registration":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()


class Registry:
    """The routes, as one immutable mapping that a commit exchanges; writers take turns, readers take nothing."""

    def __init__(self, topology: Topology) -> None:
        self._lock = threading.Lock()
        self._topology = topology
        self.routes: Mapping[str, Route] = MappingProxyType({})

    def find(self, provider: str) -> Route:
        """Return a route, or raise `NO_ADAPTER`."""
        try:
            route = self.routes.get(provider)
        except TypeError:
            route = None
        if route is None:
            known = ", ".join(sorted(self.routes)) or "none"
            raise LlmError(
                f"no adapter is registered for the route {provider!r}; the routes are: {known}",
                codes.NO_ADAPTER,
                phase="resolve",
            )
        return route

    def register(self, routes: Sequence[str], adapter: LlmAdapter) -> Registration:
        """Add routes of one adapter, all or none."""
        return self.swap((), [(routes, adapter)])[0]

    def swap(
        self, old: Sequence[Registration], new: Sequence[tuple[Sequence[str], LlmAdapter]]
    ) -> tuple[Registration, ...]:
        """Dispose of registrations and make others in one commit, all or none."""
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
            self._exchange(old, added)
            for handle in old:
                handle.disposed = True
        self._tell()
        return tuple(handles)

    def replace(self, handle: Registration, routes: Sequence[str]) -> None:
        """Exchange the routes of one registration."""
        added = {} if handle.disposed else _described(handle, routes, allow_empty=True)
        with self._lock:
            if handle.disposed:
                raise LlmError("this registration was disposed; register again", codes.REGISTRATION_DISPOSED)
            self._exchange((handle,), added)
        self._tell()

    def dispose(self, handle: Registration) -> None:
        """Remove the routes of one registration; nothing happens the second time."""
        with self._lock:
            if handle.disposed:
                return
            handle.disposed = True
            self._exchange((handle,), {})
        self._tell()

    def clear(self) -> tuple[Route, ...]:
        """Dispose of every registration in one commit, and return the routes that stood."""
        with self._lock:
            gone = tuple(self.routes.values())
            for route in gone:
                route.owner.disposed = True
            self.routes = MappingProxyType({})
        if gone:
            self._tell()
        return gone

    def _exchange(self, leaving: Sequence[Registration], added: Mapping[str, Route]) -> None:
        kept = {name: route for name, route in self.routes.items() if route.owner not in leaving}
        for name in added:
            if name in kept:
                raise _duplicate(name)
        self.routes = MappingProxyType({**kept, **added})

    def _tell(self) -> None:
        self._topology.tell(tuple(self.routes))


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
    given: Iterable[object] = routes  # pyright: ignore[reportUnknownVariableType] - each is judged below
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
    except BaseException as failure:  # noqa: BLE001 - whatever it raises says the same: it is not usable
        words, cause = foreign_text(failure), safe_cause(failure)
    else:
        return _checked_route(handle, name, info, policy)
    # Out here, so that the foreign exception itself does not become the context of this one (E5).
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
