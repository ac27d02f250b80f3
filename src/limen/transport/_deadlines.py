"""The limits of time (T1) of one call, and the one timer that is re-armed only when it must be.

Waiting for the peer is counted, and reading what holds no model event; the consumer's own time is not. So each limit
has a budget that shrinks. The `connect` limit is kept where connections are made.

A timer that is armed comes too early rather than too late: the consumer's time moves the limits away from it. When it
fires it looks whether a limit has passed, and is armed again if none has.
"""

import asyncio
from collections.abc import Callable
from time import monotonic

from limen.contract import LlmError, Phase, Timeouts, codes


class Deadlines:
    """The clock of one call: `wait` before each wait for the peer, `resume` after it.

    `sent`, `answered` and `event` say how far the call has come (E6). When a limit passes during a wait, `expire` is
    called with the failure; where `end_on_silence` was set, that long without a model event is no failure but the end
    of the body (S6): `expire` gets `None`.
    """

    __slots__ = (
        "_armed",
        "_began",
        "_event_left",
        "_expire",
        "_handed",
        "_handle",
        "_loop",
        "_silence",
        "_silence_left",
        "_timeouts",
        "_total_left",
        "_waiting",
        "phase",
        "sent_at",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, timeouts: Timeouts, expire: Callable[[LlmError | None], None]
    ) -> None:
        self._loop = loop
        self._timeouts = timeouts
        self._expire = expire
        self.phase: Phase = "connect"
        self.sent_at: float | None = None
        self._silence: float | None = None
        self._silence_left = 0.0
        self._event_left = timeouts.first_event
        self._total_left = timeouts.total
        self._began = 0.0
        self._handed = 0.0  # when bytes were handed over last
        self._waiting = False
        self._armed = False  # whether the timer comes soon enough for every limit
        self._handle: asyncio.TimerHandle | None = None

    def sent(self) -> None:
        """The request is on its way: the time to the first model event begins."""
        if self.sent_at is not None:
            return
        self.phase = "headers"
        waiting = self._waiting
        self.resume()
        self.sent_at = monotonic()
        self._armed = False
        if waiting:
            self.wait()

    def answered(self) -> None:
        """The head is here: from now on silence is counted too."""
        self.phase = "first-event"

    def event(self) -> None:
        """A model event arrived: the time to the next one begins."""
        self.phase = "mid-stream"
        limit = self._timeouts.idle_event
        if limit < self._event_left:
            self._armed = False
        self._event_left = limit
        if self._silence is not None:
            self._silence_left = self._silence

    def end_on_silence(self, seconds: float | None) -> None:
        """From now on so long without a model event is the end of the body; `None` takes that back."""
        if seconds != self._silence:
            self._silence = seconds
            self._silence_left = seconds or 0.0
            self._armed = False

    def wait(self) -> None:
        """Begin to count."""
        self._began = monotonic()
        self._waiting = True
        if not self._armed:
            self._arm(self._left(soonest=True))

    def resume(self) -> None:
        """Stop counting; book what was spent."""
        if not self._waiting:
            return
        self._waiting = False
        now = self._handed = monotonic()
        self._book(now - self._began)

    def handed_over(self) -> None:
        """Bytes are handed to the reader now; until it says what they held, nothing is counted."""
        self._handed = monotonic()

    def unproductive(self) -> bool:
        """The bytes handed over last held no model event: count the time since. Says whether a limit has passed."""
        now = monotonic()
        self._book(now - self._handed)
        self._handed = now
        return (
            self._event_left <= 0
            or (self._total_left is not None and self._total_left <= 0)
            or (self._silence is not None and self._silence_left <= 0)
        )

    def stop(self) -> None:
        """The call is over: count nothing, hold no timer."""
        self._waiting = False
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def verdict(self) -> LlmError | None:
        """Say which limit has passed."""
        limits = self._timeouts
        if self._total_left is not None and self._total_left <= 0:
            message = f"the call took longer than {limits.total:g} s (timeouts.total), the consumer's own time aside"
        elif self.phase != "headers" and self._silence is not None and self._silence_left <= 0:
            return None
        elif self._event_left > 0:
            message = f"not a byte arrived for {limits.idle_bytes:g} s (timeouts.idle_bytes)"
        elif self.phase == "mid-stream":
            message = f"no model event arrived for {limits.idle_event:g} s (timeouts.idle_event)"
        else:
            message = f"no model event arrived within {limits.first_event:g} s of the request (timeouts.first_event)"
        return LlmError(message, codes.TIMEOUT, phase=self.phase)

    def _book(self, spent: float) -> None:
        if self.sent_at is not None:
            self._event_left -= spent
        if self._total_left is not None:
            self._total_left -= spent
        self._silence_left -= spent

    def _left(self, *, soonest: bool = False) -> float | None:
        """Return how long the wait that began last may take in all, `None` for ever; `soonest` is a lower bound of
        it that holds when the head has arrived too.
        """
        left = self._total_left
        if self.sent_at is None:
            return left
        if left is None or self._event_left < left:
            left = self._event_left
        if soonest or self.phase != "headers":
            left = min(left, self._timeouts.idle_bytes)
            if self._silence is not None:
                left = min(left, self._silence_left)
        return left

    def _arm(self, left: float | None) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if left is not None:
            self._handle = self._loop.call_later(self._began + left - monotonic(), self._tick)
        self._armed = True

    def _tick(self) -> None:
        self._handle = None
        self._armed = False
        if not self._waiting:
            return
        limit = self._left()
        if limit is not None and monotonic() - self._began < limit:
            # The wait that armed the timer ended long ago, or the head is awaited; this wait may go on.
            self._arm(limit)
            self._armed = self.phase != "headers"
            return
        self.resume()
        self._expire(self.verdict())
