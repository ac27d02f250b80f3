"""Fallback: ask another route where one fails before anything of its answer was shown (R9)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import Final, TypeAlias

import msgspec

from limen.contract import (
    RETRYABLE,
    AbortError,
    Code,
    Failure,
    GenerateOptions,
    ModelSource,
    Next,
    StreamChunk,
    TokenUsage,
    codes,
)
from limen.runtime._cancellation import AbortWatch
from limen.runtime._failures import aborted_failure, finish, of_call, warn
from limen.runtime._retry import Held, HeldStream

Target: TypeAlias = str | ModelSource | tuple[str, str]
"""Route to fall back to: `"route"` with the call's own model, or `"route/model"`, `ModelSource`, `(route, model)`."""

FALLBACK_CODES: Final = (
    *RETRYABLE,
    codes.QUOTA,
    codes.AUTH,
    codes.MODEL_NOT_FOUND,
    codes.MISSING_CREDENTIAL,
    codes.NO_ADAPTER,
)
"""Codes of failures after which `Fallback` asks the next target, unless it is given others."""


class FallbackStep(msgspec.Struct, frozen=True):
    """Record of one step: the route and model that failed, their failure, and the target that is asked next.

    `usage` is what the failed attempt had reported, and is part of no response.
    """

    provider: str
    model: str
    failure: Failure
    target: ModelSource
    usage: TokenUsage | None = None


StepListener: TypeAlias = Callable[[FallbackStep], Awaitable[object] | None]
"""Function that is called before each step of a fallback, and awaited if it is a coroutine function."""


class Fallback:
    """Interceptor that asks these targets, in order, where the call's own route fails before it showed anything (R9).

    A target names its model, `"route/model"`; one without a model is asked for the call's. No route and model is
    asked twice, so one list serves the calls of all its routes. Only a failure with one of `codes` is passed over:
    by default the codes that are retried, `QUOTA`, `AUTH`, `MODEL_NOT_FOUND`, `MISSING_CREDENTIAL` and `NO_ADAPTER`;
    `ABORTED`, `CONTENT_FILTER` and `INVALID_…` never are. Each step is one WARNING line of the logger `limen`, and
    `on_fallback` is called, and awaited if it is a coroutine function, with its `FallbackStep`. `response.info` and
    `message.source` name the route that answered. Where every target fails, the failure is the last one's, and its
    message names every attempt, the first one first. A prepared call is bound to one adapter, so it does not fall back.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        *,
        codes: Sequence[Code] = FALLBACK_CODES,
        on_fallback: StepListener | None = None,
    ) -> None:
        given: object = targets
        if isinstance(given, str) or not targets:
            raise ValueError("a fallback is a list of at least one route")
        self._targets = tuple(_target(index, target) for index, target in enumerate(targets))
        self._on_fallback = on_fallback
        self.codes: frozenset[Code] = frozenset(codes)
        for code in self.codes:
            if _never(code):
                raise ValueError(f"a fallback after {code} would repeat a request that is wrong, refused or aborted")

    def __call__(self, options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        """Wrap the rest of the chain."""
        return FallbackStream(self, options, following)

    def targets(self, options: GenerateOptions) -> list[ModelSource]:
        """Return the call's own route and model, and the targets in order, none of them twice."""
        own = ModelSource(options.provider, options.model)
        resolved = (ModelSource(route, model or options.model) for route, model in self._targets)
        return list(dict.fromkeys((own, *resolved)))

    async def step(self, step: FallbackStep, options: GenerateOptions) -> None:
        """Log the step and call `on_fallback`; raises `AbortError` when the signal is aborted."""
        failed, target = f"{step.provider}/{step.model}", f"{step.target.provider}/{step.target.model}"
        warn("%s: falling back to %s after %s", failed, target, step.failure.code)
        with AbortWatch(options.signal):
            if self._on_fallback is not None:
                answer = self._on_fallback(step)
                if isawaitable(answer):
                    await answer


def _target(index: int, target: object) -> tuple[str, str | None]:
    route: object = None
    model: object = None
    if isinstance(target, ModelSource):
        route, model = target.provider, target.model
    elif isinstance(target, str):
        # A model may hold slashes, "openrouter/meta-llama/llama-4"; a route that holds one is given as a pair.
        route, slash, rest = target.partition("/")
        model = rest if slash else None
    else:
        match target:
            case (str(), str()):
                route, model = target
            case _:
                pass
    if type(route) is str and route.strip() and (model is None or (type(model) is str and model.strip())):
        return route, model
    words = "a fallback is a route's name, 'route/model', a pair of them, or a ModelSource"
    raise ValueError(f"routes[{index}] is {target!r}; {words}")


def _never(code: str) -> bool:
    return code in (codes.ABORTED, codes.CONTENT_FILTER) or code.startswith("INVALID_")


class FallbackStream(HeldStream):
    """Stream of one call with other targets to ask."""

    __slots__ = ("_fallback",)

    def __init__(self, fallback: Fallback, options: GenerateOptions, following: Next) -> None:
        super().__init__(options, following)
        self._fallback = fallback

    async def recover(self, held: Held) -> list[StreamChunk]:
        """Ask one target after another until one is to be shown (R9)."""
        options = self._options
        if self._dispatcher is not None and self._dispatcher.prepared is not None:
            return held.chunks
        failures: list[str] = []
        for target in self._fallback.targets(options)[1:]:
            failure = held.failure
            if failure is None or failure.code not in self._fallback.codes:
                break
            failures.append(_line(options, failure))
            await self.give_up()
            step = FallbackStep(options.provider, options.model, failure, target, held.usage)
            try:
                await self._fallback.step(step, self._options)
            except AbortError:
                self.done = True
                return [finish(of_call(aborted_failure(failure.phase), options))]
            options = msgspec.structs.replace(self._options, provider=target.provider, model=target.model)
            held = await self.ask(options)
        return self._last(held, options, failures)

    def _last(self, held: Held, options: GenerateOptions, failures: list[str]) -> list[StreamChunk]:
        if held.failure is None or not failures:
            return held.chunks
        every = [*failures, _line(options, held.failure)]
        return self.reworded(held, f"{len(every)} routes failed. {'; '.join(every)}")


def _line(options: GenerateOptions, failure: Failure) -> str:
    return f"{options.provider}/{options.model}: {failure.code}: {failure.message}"
