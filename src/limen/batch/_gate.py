"""Limits of one route: how many calls at once, how many a minute, and pauses that a provider asks for (B3)."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from limen.contract import RateLimit, RateLimits

_MINUTE: Final = 60.0
_SLACK_S: Final = 0.05
"""Seconds of lateness that a pace makes up for: timers wake late, and without it a pace would run below its limit."""

_HEADER_HOLD_MAX_S: Final = 60.0
"""Longest wait that headers of a success cause: the reset of a limit of a day is hours away, and may be wrong."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of each route: calls at once, and requests and tokens a minute; absent is no limit of the batch's own.

    `grace_s` are the seconds that calls in flight have to finish after a stop (B4).
    """

    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    grace_s: float = 10.0

    def __post_init__(self) -> None:
        if type(self.concurrency) is not int or self.concurrency < 1:
            raise ValueError(f"concurrency is a whole number from 1, got {self.concurrency!r}")
        for name in ("requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ValueError(f"{name} is a number above 0, got {value!r}")

    def shared(self, parts: int) -> "Limits":
        """Return one part of these limits, of several that together stay within them."""
        return Limits(
            max(1, self.concurrency // parts),
            None if self.requests_per_minute is None else self.requests_per_minute / parts,
            None if self.tokens_per_minute is None else self.tokens_per_minute / parts,
            self.grace_s,
        )


class Pace:
    """Even spacing: what is taken moves the time of the next by its share of a minute (generic cell rate)."""

    __slots__ = ("_per_minute", "_ready")

    def __init__(self, per_minute: float) -> None:
        self._per_minute = per_minute
        self._ready = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until something may be taken."""
        return max(0.0, self._ready - now)

    def take(self, amount: float, now: float) -> None:
        """Take an amount; the next waits until its share of the minute is over."""
        self._ready = max(self._ready, now - _SLACK_S) + amount * _MINUTE / self._per_minute

    def correct(self, difference: float) -> None:
        """Add what was taken too little, or give back what was taken too much."""
        self._ready += difference * _MINUTE / self._per_minute


class RouteGate:
    """Gate that every call of one route passes.

    `await enter(estimate)` waits for a place, for the paces and for the end of a pause; `leave()` gives the place back.
    Callers are served in order. `estimate` is the number of tokens that the call may take, corrected when it ends by
    what its answer reported.
    """

    __slots__ = ("_clock", "_free", "_held_until", "_requests", "_timer", "_tokens", "_waiting")

    def __init__(self, limits: Limits, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._free = limits.concurrency
        self._held_until = 0.0
        self._requests = None if limits.requests_per_minute is None else Pace(limits.requests_per_minute)
        self._tokens = None if limits.tokens_per_minute is None else Pace(limits.tokens_per_minute)
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, estimate: float = 0.0) -> None:
        """Wait until a call may begin."""
        if not self._waiting and self._free and not self._delay():
            self._begin(estimate)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, estimate))
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            # The turn may have come in the moment of the cancelling: then the place is free again.
            if turn.done() and not turn.cancelled():
                self.leave()
            else:
                self._waiting = deque(pair for pair in self._waiting if pair[0] is not turn)
            raise

    def leave(self) -> None:
        """Give the place back, and let the next one in."""
        self._free += 1
        self._serve()

    def used(self, estimate: float, tokens: int | None) -> None:
        """Correct the pace of tokens by what a call reported; what is unknown stays as estimated."""
        if self._tokens is not None and tokens is not None:
            self._tokens.correct(tokens - estimate)

    def hold(self, seconds: float) -> None:
        """Let nobody in for that long; a longer hold stays as it is."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def heed(self, told: RateLimits | None, tokens: float) -> float:
        """Hold the route where an answer's headers say that nothing is left for the next call; returns the seconds."""
        if told is None:
            return 0.0
        wait = min(_HEADER_HOLD_MAX_S, max(refill_s(told.requests, 1.0), refill_s(told.tokens, max(1.0, tokens))))
        if wait:
            self.hold(wait)
        return wait

    def _delay(self) -> float:
        now = self._clock()
        paces = [pace.wait(now) for pace in (self._requests, self._tokens) if pace is not None]
        return max(0.0, self._held_until - now, *paces)

    def _begin(self, estimate: float) -> None:
        now = self._clock()
        self._free -= 1
        if self._requests is not None:
            self._requests.take(1, now)
        if self._tokens is not None:
            self._tokens.take(estimate, now)

    def _serve(self) -> None:
        """Let in whoever may begin, and come again when the next one may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and self._free:
            delay = self._delay()
            if delay:
                self._timer = asyncio.get_running_loop().call_later(delay, self._serve)
                return
            turn, estimate = self._waiting.popleft()
            if not turn.done():
                self._begin(estimate)
                turn.set_result(None)


def refill_s(limit: RateLimit | None, need: float) -> float:
    """Return the seconds until a limit has room for `need` again; 0 where it has, or does not say.

    `reset_ms` is the time until all of the limit is there again, so a part of it is there after that part of the time;
    where the limit itself is unknown, the whole time is waited.
    """
    if limit is None or limit.remaining is None or limit.reset_ms is None or limit.remaining >= need:
        return 0.0
    if limit.limit is None or limit.limit <= limit.remaining:
        return limit.reset_ms / 1000
    share = (need - limit.remaining) / (limit.limit - limit.remaining)
    return min(1.0, share) * limit.reset_ms / 1000
