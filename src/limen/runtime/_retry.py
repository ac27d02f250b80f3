"""Retry: repeat an attempt that failed before anything of it was shown (R9)."""

import asyncio
import random
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isawaitable
from typing import Final, NamedTuple, TypeAlias

import msgspec

from limen.contract import (
    AbortError,
    Failure,
    Finish,
    GenerateOptions,
    Next,
    RetryPolicy,
    StreamChunk,
    TokenUsage,
    UsageChunk,
)
from limen.runtime._attempt import Attempt, BatchReader, Source, close_stream, ends, reader
from limen.runtime._cancellation import AbortWatch
from limen.runtime._failures import aborted_failure, finish, of_call, warn
from limen.runtime._interceptors import dispatcher_of

_DOUBLINGS_MAX: Final = 64
"""Doublings after which every delay is above any bound that a policy can have."""


_WITHHELD: Final = (UsageChunk, Finish)
"""Chunks that are no content; a batch that begins with another one is shown at once."""


_UNRETRIED: Final[ContextVar[bool]] = ContextVar("limen_unretried", default=False)


@contextmanager
def unretried() -> Generator[None, None, None]:
    """Let every `Retry` pass the calls of this context on untouched: their maker retries by itself, as a batch does."""
    token = _UNRETRIED.set(True)
    try:
        yield
    finally:
        _UNRETRIED.reset(token)


class Held(NamedTuple):
    """Beginning of an attempt: chunks to show, or a failure, whose finish is withheld with the rest in `chunks`."""

    chunks: list[StreamChunk]
    failure: Failure | None = None
    usage: TokenUsage | None = None


class HeldStream(Source):
    """Buffer of an attempt until it shows content, so that retry and fallback can discard it.

    Only a usage report and a failed finish can be withheld, since neither is content; where the call is collected,
    nothing is shown before the end, and everything can.
    """

    __slots__ = ("_attempt", "_collecting", "_dispatcher", "_following", "_options", "_read", "_shown")

    def __init__(self, options: GenerateOptions, following: Next) -> None:
        super().__init__()
        self._options = options
        self._following = following
        self._dispatcher = dispatcher_of(following)
        self._collecting = self._dispatcher is not None and self._dispatcher.collecting
        self._attempt: AsyncIterator[StreamChunk] | None = None
        self._read: BatchReader | None = None
        self._shown = False

    @abstractmethod
    async def recover(self, held: Held) -> list[StreamChunk]:
        """Return the first chunks to show after an attempt that failed: of it, or of a later one made by `ask()`."""

    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks of the attempt that is shown."""
        if self._shown and self._read is not None:
            return await self._read()
        if self.done:
            return []
        read = self._begin(self._options)
        chunks = await read()
        if self._collecting or not chunks or type(chunks[0]) in _WITHHELD:
            held = await self._hold(chunks, read)
            chunks = held.chunks if held.failure is None else await self.recover(held)
        self._shown = True
        self.delegate = self._attempt if isinstance(self._attempt, Source) else None
        return chunks

    async def ask(self, options: GenerateOptions) -> Held:
        """Begin another attempt, and read until it shows content, fails before it, or ends."""
        await self.give_up()
        read = self._begin(options)
        return await self._hold(await read(), read)

    def _begin(self, options: GenerateOptions) -> BatchReader:
        self._attempt = self._following(options)
        self._read = reader(self._attempt)
        return self._read

    async def _hold(self, batch: list[StreamChunk], read: BatchReader) -> Held:
        chunks = batch
        while ends(batch) is None:
            if not batch or not (self._collecting or _only_usage(chunks)):
                return Held(chunks)
            batch = await read()
            chunks = chunks + batch
        last = ends(chunks)
        if last is None or last.reason.kind != "error" or not (self._collecting or _only_usage(chunks[:-1])):
            return Held(chunks)
        usage = next((chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)), None)
        return Held(chunks, last.reason.failure, usage)

    def reworded(self, held: Held, message: str) -> list[StreamChunk]:
        """Return the chunks of a failed attempt, with another message in their finish."""
        failure = held.failure
        assert failure is not None
        if self._dispatcher is None:
            failure = msgspec.structs.replace(failure, message=message)
        else:
            failure = self._dispatcher.reworded(failure, message)
        return [*held.chunks[:-1], finish(failure)]

    async def aclose(self) -> None:
        """Close the attempt that is being read, for good."""
        self.done = True
        await self.give_up()

    async def give_up(self) -> None:
        """Close the attempt that is being read; another may follow."""
        attempt, self._attempt, self._read = self._attempt, None, None
        await close_stream(attempt)


def _only_usage(chunks: list[StreamChunk]) -> bool:
    return all(type(chunk) is UsageChunk for chunk in chunks)


class RetryWait(msgspec.Struct, frozen=True):
    """Record of one retry, made before its wait: its number from 1, the failure before it, and the wait in ms.

    `usage` is what the failed attempt had reported, and is part of no response.
    """

    provider: str
    model: str
    retry: int
    delay_ms: float
    failure: Failure
    policy: RetryPolicy
    usage: TokenUsage | None = None


WaitListener: TypeAlias = Callable[[RetryWait], Awaitable[object] | None]
"""Function that is called before each wait of a retry, and awaited if it is a coroutine function."""


class Retry:
    """Interceptor that repeats an attempt that failed before anything of it was shown (R9).

    Without a policy, each route's own is used. `normal` repeats the listed codes up to `max_retries` times, `always`
    every failure; the provider's `x-should-retry` decides for `normal`, and its "no" ends both. A delay that the
    provider asks for is used up to `max_provider_delay_ms`; above it `normal` gives up, and the failure's message
    says so, while `always` waits its own delay. An abort ends a wait at once. Each retry is one WARNING line of the
    logger `limen`. `on_retry` is called, and awaited if it is a coroutine function, before each wait; `on_wait` is its
    older name. `sleep` takes seconds, `sample` returns a number from 0 to 1: with both given, tests need no clock.
    """

    def __init__(
        self,
        policy: RetryPolicy | None = None,
        *,
        on_retry: WaitListener | None = None,
        on_wait: WaitListener | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        sample: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._on_retry = on_retry or on_wait
        self._sleep = sleep
        self._sample = sample

    def __call__(self, options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        """Wrap the rest of the chain."""
        if _UNRETRIED.get():
            return following(options)
        return RetryStream(self, options, following)

    def delay(self, policy: RetryPolicy, failure: Failure, retries: int) -> float | None:
        """Return the milliseconds to wait after this failure and `retries` retries before it; `None` to give up."""
        if not _retryable(policy, failure, retries):
            return None
        asked = failure.provider_retry_after_ms
        if asked is not None and asked <= policy.max_provider_delay_ms:
            return asked
        if asked is not None and policy.mode == "normal":
            return None
        spread = 1 + policy.jitter * (2 * self._sample() - 1)
        doubled = policy.initial_delay_ms * 2.0 ** min(retries, _DOUBLINGS_MAX)
        return min(policy.max_delay_ms, doubled * spread)

    def policy_of(self, attempt: object) -> RetryPolicy | None:
        """Return the policy for a failed attempt; `None` if it never reached an adapter, which no retry would mend."""
        if not isinstance(attempt, Attempt):
            return self._policy or RetryPolicy()
        return None if attempt.binding is None else self._policy or attempt.binding.policy

    async def wait(self, record: RetryWait, options: GenerateOptions) -> None:
        """Log the retry, call `on_retry`, and wait; raises `AbortError` when the signal is aborted."""
        route, code = f"{record.provider}/{record.model}", record.failure.code
        warn("%s: retry %s in %.0f ms after %s", route, record.retry, record.delay_ms, code)
        with AbortWatch(options.signal):
            if self._on_retry is not None:
                answer = self._on_retry(record)
                if isawaitable(answer):
                    await answer
            await self._sleep(record.delay_ms / 1000)


def _retryable(policy: RetryPolicy, failure: Failure, retries: int) -> bool:
    if failure.should_retry is False:
        return False
    if policy.mode == "always":
        return True
    return retries < policy.max_retries and (failure.should_retry is True or failure.code in policy.codes)


class RetryStream(HeldStream):
    """Stream of one call under retry: makes attempts until one shows content, succeeds, or is the last."""

    __slots__ = ("_retry",)

    def __init__(self, retry: Retry, options: GenerateOptions, following: Next) -> None:
        super().__init__(options, following)
        self._retry = retry

    async def recover(self, held: Held) -> list[StreamChunk]:
        """Make more attempts until one is to be shown, with a wait before each (R9)."""
        options, retries = self._options, 0
        while (failure := held.failure) is not None:
            policy = self._retry.policy_of(self._attempt)
            if policy is None:
                break
            delay = self._retry.delay(policy, failure, retries)
            if delay is None:
                return self._given_up(held, failure, policy, retries)
            retries += 1
            await self.give_up()
            record = RetryWait(options.provider, options.model, retries, delay, failure, policy, held.usage)
            try:
                await self._retry.wait(record, options)
            except AbortError:
                self.done = True
                return [finish(of_call(aborted_failure(failure.phase), options))]
            held = await self.ask(options)
        return held.chunks

    def _given_up(self, held: Held, failure: Failure, policy: RetryPolicy, retries: int) -> list[StreamChunk]:
        asked = failure.provider_retry_after_ms
        if asked is None or not _retryable(policy, failure, retries):
            return held.chunks
        bound = f"{policy.max_provider_delay_ms / 1000:g} s (max_provider_delay_ms)"
        words = f"not retried: the provider asks for a wait of {asked / 1000:g} s, above the bound of {bound}"
        warn("%s/%s: %s, after %s", self._options.provider, self._options.model, words, failure.code)
        return self.reworded(held, f"{failure.message} ({words})")
