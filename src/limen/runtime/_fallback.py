"""Another route when one fails before it showed anything."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from limen.contract import GenerateOptions, ModelSource, Next, StreamChunk
from limen.runtime._log import debug
from limen.runtime._withhold import HeldStream


class Fallback:
    """Ask these routes, in order, where the call's own route fails before anything of its answer was shown.

    A route is asked for the same model; `ModelSource(route, model)` asks it for another. None is asked twice, so one
    list serves the calls of all its routes. `response.info.provider` and `message.source` say which route answered;
    the last one's failure is the call's. An abort asks nobody else.
    """

    def __init__(self, routes: Sequence[str | ModelSource]) -> None:
        given: object = routes
        if isinstance(given, str) or not routes:
            raise ValueError("a fallback is a list of at least one route")
        for index, route in enumerate(routes):
            if not _is_route(route):
                raise ValueError(f"routes[{index}] is {route!r}; a fallback is a route's name, or a ModelSource")
        self._routes = tuple(routes)

    def __call__(self, options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        """Wrap the rest of the chain."""
        tries = [options]
        for route in self._routes:
            one = ModelSource(route, options.model) if isinstance(route, str) else route
            other = msgspec.structs.replace(options, provider=one.provider, model=one.model)
            if other not in tries:
                tries.append(other)
        return FallbackStream(tries, following)


def _is_route(route: object) -> bool:
    return isinstance(route, ModelSource) or (isinstance(route, str) and bool(route.strip()))


class FallbackStream(HeldStream):
    """One call with other routes to go to."""

    __slots__ = ("_tries",)

    def __init__(self, tries: Sequence[GenerateOptions], following: Next) -> None:
        super().__init__(following)
        self._tries = tries

    async def choose(self) -> list[StreamChunk]:
        """Ask one route after another until one is to be shown."""
        for options in self._tries[:-1]:
            held = await self.ask(options)
            if held.failure is None:
                return held.chunks
            await self.give_up()
            debug("%s/%s: falling back after %s", options.provider, options.model, held.failure.code)
        return (await self.ask(self._tries[-1])).chunks
