"""One row's call: attempts under the route's policy, behind its gate."""

import asyncio
import logging
from time import perf_counter
from typing import Final

import msgspec

from limen.batch._gate import Limits, RouteGate
from limen.batch._row import Row, RowResult, added, tokens_of
from limen.contract import (
    Failure,
    GenerateOptions,
    LlmError,
    Response,
    RetryPolicy,
    TokenUsage,
    codes,
    encode,
    foreign_text,
    scrub,
)
from limen.runtime import LlmRuntime, Retry, unretried

_LOGGER: Final = logging.getLogger("limen")
_BYTES_PER_TOKEN: Final = 4
_WEIGHT: Final = 0.1
"""Weight of the newest row in the mean of tokens a row, which is the estimate for the next."""

_PAUSE_WORDS_S: Final = 1.0
"""Pauses from this length on are a line of the log."""


class Route:
    """Facts of one route in a run: its gate, its policy, and what a row took so far."""

    def __init__(self, name: str, limits: Limits, policy: RetryPolicy) -> None:
        self.name = name
        self.gate = RouteGate(limits, clock=asyncio.get_running_loop().time)
        self.policy = policy
        self._paced = limits.tokens_per_minute is not None
        self._mean: float | None = None

    def estimate(self, options: GenerateOptions) -> float:
        """Return the tokens that a call may take: the mean so far, at first a guess from its size and its limit."""
        if self._mean is not None or not self._paced:
            return self._mean or 0.0
        return len(encode(options)) / _BYTES_PER_TOKEN + (options.max_tokens or 0)

    def report(self, estimate: float, tokens: int | None) -> None:
        """Learn what a call took."""
        self.gate.used(estimate, tokens)
        if tokens is not None:
            self._mean = tokens if self._mean is None else self._mean + _WEIGHT * (tokens - self._mean)

    def pause(self, seconds: float, why: str) -> None:
        """Hold the route for all rows."""
        self.gate.hold(seconds)
        if seconds >= _PAUSE_WORDS_S:
            _LOGGER.warning("%s", scrub(f"{self.name}: the batch pauses this route for {seconds:.1f} s after {why}"))


class Routes:
    """Routes of a run, each made when a row first asks for it."""

    def __init__(self, llm: LlmRuntime, limits: Limits, retry: RetryPolicy | None) -> None:
        self._llm = llm
        self._limits = limits
        self._retry = retry
        self._known: dict[str, Route] = {}
        self.closing = False
        """Set by a stop: no attempt begins any more."""

    def of(self, provider: str) -> Route:
        """Return a route; raises `NO_ADAPTER` where the runtime has none of that name."""
        route = self._known.get(provider)
        if route is None:
            policy = self._retry or self._llm.retry_policy(provider)
            route = self._known[provider] = Route(provider, self._limits, policy)
        return route


class RowCall:
    """Call of one row, to its outcome.

    A `RATE_LIMIT` with a delay holds the route for all rows and is no retry of the row's; every other failure is
    retried as the policy says, its wait outside of the gate. `asking` is set while an attempt is in flight.
    """

    def __init__(self, llm: LlmRuntime, row: Row) -> None:
        self._llm = llm
        self._row = row
        self.asking = False
        self._attempts = 0
        self._usage: TokenUsage | None = None
        self._began = 0.0

    async def outcome(self, routes: Routes) -> RowResult | None:
        """Make the attempts; returns the outcome, `None` if a stop came before it, and raises cancellation alone."""
        options = self._row.options
        if options is None:
            return self._result(self._row.failure)
        try:
            with unretried():
                return await self._ask(options, routes)
        except LlmError as error:
            return self._result(error.failure)
        except Exception as error:  # noqa: BLE001 - an interceptor's own exception fails its row, and stops no other (B1)
            return self._result(Failure(foreign_text(error), codes.UNKNOWN))

    async def _ask(self, options: GenerateOptions, routes: Routes) -> RowResult | None:
        route = routes.of(options.provider)
        retry, retries = Retry(route.policy), 0
        while not routes.closing:
            answer = await self._attempt(options, route)
            if isinstance(answer, Response):
                return self._result(answer)
            asked = answer.provider_retry_after_ms
            if answer.code == codes.RATE_LIMIT and asked is not None and answer.should_retry is not False:
                route.pause(asked / 1000, answer.code)
                continue
            delay = retry.delay(route.policy, answer, retries)
            if delay is None:
                return self._result(answer)
            retries += 1
            await asyncio.sleep(delay / 1000)
        return None

    async def _attempt(self, options: GenerateOptions, route: Route) -> Response | Failure:
        estimate = route.estimate(options)
        await route.gate.enter(estimate)
        self._began = self._began or perf_counter()
        self.asking = True
        try:
            response = await self._llm.complete(options)
        except LlmError as error:
            self._count(error.partial)
            route.report(estimate, tokens_of(error.partial.usage if error.partial is not None else None))
            return error.failure
        else:
            self._count(response)
            tokens = tokens_of(response.usage)
            route.report(estimate, tokens)
            if response.info is not None:
                route.gate.heed(response.info.rate_limits, tokens or estimate)
            return response
        finally:
            self.asking = False
            route.gate.leave()

    def _count(self, answer: Response | None) -> None:
        if answer is not None:
            self._usage = added(self._usage, answer.usage)
            self._attempts += 0 if answer.info is None else answer.info.attempts

    def _result(self, end: Response | Failure | None) -> RowResult:
        took = (perf_counter() - self._began) * 1000 if self._began else 0.0
        made = RowResult(self._row.line, self._row.id, None, None, self._usage, self._attempts, round(took, 3))
        if isinstance(end, Response):
            return msgspec.structs.replace(made, response=end)
        return msgspec.structs.replace(made, failure=end)
