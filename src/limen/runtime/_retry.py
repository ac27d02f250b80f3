"""Trying again, as the innermost interceptor (R9): policies are data on the route, the counting is here."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import isawaitable
from typing import Final, TypeAlias

import msgspec

from limen.contract import (
    AbortError,
    Failure,
    GenerateOptions,
    Next,
    RetryPolicy,
    StreamChunk,
    TokenUsage,
)
from limen.runtime._attempt import Attempt
from limen.runtime._failures import aborted_failure, finish
from limen.runtime._interrupt import AbortWatch
from limen.runtime._log import debug
from limen.runtime._withhold import Held, HeldStream

_DOUBLINGS_MAX: Final = 64  # past it every delay is over any bound that a policy may have


class RetryWait(msgspec.Struct, frozen=True):
    """What is told before each wait: which try failed (from 1), how, and how long the wait will be.

    `usage` is what the failed attempt had reported, which no response will hold.
    """

    provider: str
    model: str
    retry: int
    delay_ms: float
    failure: Failure
    policy: RetryPolicy
    usage: TokenUsage | None = None


WaitListener: TypeAlias = Callable[[RetryWait], Awaitable[object] | None]


class Retry:
    """Repeat an attempt that failed before anything of it was shown (R9).

    Without a policy, each route's own is used. `normal` repeats the listed codes, unless the provider says whether
    to (`x-should-retry`); it waits as long as the provider asks, and gives up where that is above the bound.
    `always` repeats every failure and waits no longer than its own bound. An abort ends a wait at once. `on_wait`
    is called, and awaited if it is a coroutine, before each wait; `sleep` takes seconds and `sample` returns a
    number from 0 to 1: both are there so that tests need no clock.
    """

    def __init__(
        self,
        policy: RetryPolicy | None = None,
        *,
        on_wait: WaitListener | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        sample: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._on_wait = on_wait
        self._sleep = sleep
        self._sample = sample

    def __call__(self, options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        """Wrap the rest of the chain."""
        return RetryStream(self, options, following)

    def delay(self, policy: RetryPolicy, failure: Failure, retries: int) -> float | None:
        """Return the milliseconds to wait after this failure, `retries` having been made; `None` is to give up."""
        always = policy.mode == "always"
        if not always:
            wanted = failure.code in policy.codes if failure.should_retry is None else failure.should_retry
            if not wanted or retries >= policy.max_retries:
                return None
        asked = failure.provider_retry_after_ms
        if asked is not None and asked <= policy.max_delay_ms:
            return asked
        if asked is not None and not always:
            return None
        spread = 1 + policy.jitter * (2 * self._sample() - 1)
        doubled = policy.initial_delay_ms * 2.0 ** min(retries, _DOUBLINGS_MAX)
        return min(policy.max_delay_ms, doubled * spread)

    def policy_of(self, attempt: object) -> RetryPolicy | None:
        """Return the policy for a failed attempt; `None` where no adapter served it, so no try could."""
        if not isinstance(attempt, Attempt):
            return self._policy or RetryPolicy()
        return None if attempt.binding is None else self._policy or attempt.binding.policy

    async def wait(self, record: RetryWait, options: GenerateOptions) -> None:
        """Tell who wants to know, then wait; raises `AbortError` when the signal is aborted."""
        debug(
            "%s/%s: retry %s in %.0f ms after %s",
            record.provider,
            record.model,
            record.retry,
            record.delay_ms,
            record.failure.code,
        )
        with AbortWatch(options.signal):
            if self._on_wait is not None:
                told = self._on_wait(record)
                if isawaitable(told):
                    await told
            await self._sleep(record.delay_ms / 1000)


class RetryStream(HeldStream):
    """One call under retry: tries until one shows something, succeeds, or is the last."""

    __slots__ = ("_options", "_retry")

    def __init__(self, retry: Retry, options: GenerateOptions, following: Next) -> None:
        super().__init__(following)
        self._retry = retry
        self._options = options

    async def choose(self) -> list[StreamChunk]:
        """Try until a try is to be shown, waiting between (R9)."""
        retries = 0
        while True:
            held = await self.ask(self._options)
            record = self._record(held, retries)
            if record is None:
                return held.chunks
            await self.give_up()
            try:
                await self._retry.wait(record, self._options)
            except AbortError:
                self.done = True
                return [finish(aborted_failure(record.failure.phase))]
            retries += 1

    def _record(self, held: Held, retries: int) -> RetryWait | None:
        policy = self._retry.policy_of(self._trying)
        if held.failure is None or policy is None:
            return None
        delay = self._retry.delay(policy, held.failure, retries)
        if delay is None:
            return None
        options = self._options
        return RetryWait(options.provider, options.model, retries + 1, delay, held.failure, policy, held.usage)
