"""The limits of time (T1): what is counted, and one timer per call that is re-armed only when it must be.

Only waiting is counted: each limit has a budget that shrinks while the call waits for the peer, so a consumer may
take as long as it likes between two reads. The `connect` limit is not kept here but by the HTTP client.
"""

import asyncio
from collections.abc import Callable

from limen.contract import LlmError, Phase, Timeouts, codes


class Deadlines:
    """The clock of one call: `wait` before each wait for the peer, `resume` after it.

    `sent`, `answered` and `event` say how far the call has come (E6): the request is on its way, the head is here, a
    model event is. When a limit passes while the call waits, `expire` is called with the failure. Where `silence` is
    set, so long a wait is no failure but the end of the body (S6), and `expire` is called with `None`.
    """

    __slots__ = (
        "_began",
        "_due",
        "_event_left",
        "_expire",
        "_handle",
        "_loop",
        "_timeouts",
        "_total_left",
        "_waiting",
        "phase",
        "sent_at",
        "silence",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, timeouts: Timeouts, expire: Callable[[LlmError | None], None]
    ) -> None:
        self._loop = loop
        self._timeouts = timeouts
        self._expire = expire
        self.phase: Phase = "connect"
        self.sent_at: float | None = None
        self.silence: float | None = None
        self._event_left = timeouts.first_event
        self._total_left = timeouts.total
        self._began = 0.0
        self._waiting = False
        self._due: float | None = None  # when this wait passes a limit; None while nobody waits
        self._handle: asyncio.TimerHandle | None = None

    def sent(self) -> None:
        """The request is on its way: the time to the first model event begins."""
        if self.sent_at is not None:
            return
        self.phase = "headers"
        waiting = self._waiting
        self.resume()
        self.sent_at = self._loop.time()
        if waiting:
            self.wait()

    def answered(self) -> None:
        """The head is here: from now on silence is counted too."""
        self.phase = "first-event"

    def event(self) -> None:
        """A model event arrived: the time to the next one begins."""
        self.phase = "mid-stream"
        self._event_left = self._timeouts.idle_event

    def wait(self) -> None:
        """Begin to count."""
        self._waiting = True
        self._began = began = self._loop.time()
        left = self._left()
        if left is None:
            return
        self._due = due = began + left
        handle = self._handle
        if handle is None:
            self._handle = self._loop.call_at(due, self._tick)
        elif due < handle.when():
            handle.cancel()
            self._handle = self._loop.call_at(due, self._tick)

    def resume(self) -> None:
        """Stop counting; book what was spent."""
        if not self._waiting:
            return
        self._waiting = False
        spent = self._loop.time() - self._began
        self._due = None
        if self.sent_at is not None:
            self._event_left -= spent
        if self._total_left is not None:
            self._total_left -= spent

    def stop(self) -> None:
        """The call is over: count nothing, hold no timer."""
        self._waiting = False
        self._due = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _left(self) -> float | None:
        """Return how long this wait may last."""
        left = self._total_left
        if self.sent_at is None:
            return left
        if left is None or self._event_left < left:
            left = self._event_left
        if self.phase != "headers":
            left = min(left, self._timeouts.idle_bytes)
            if self.silence is not None:
                left = min(left, self.silence)
        return left

    def _tick(self) -> None:
        self._handle = None
        due = self._due
        if due is None:
            return
        if self._loop.time() < due:
            # The wait that armed the timer ended long ago; this one may go on.
            self._handle = self._loop.call_at(due, self._tick)
            return
        limit = due - self._began
        self.resume()
        self._expire(self._verdict(limit))

    def _verdict(self, waited: float) -> LlmError | None:
        """Say which limit a wait of this length has passed."""
        limits = self._timeouts
        if self._total_left is not None and self._total_left <= 0:
            message = f"the call took longer than {limits.total:g} s (timeouts.total), the consumer's own time aside"
        elif self.phase != "headers" and self.silence is not None and waited >= self.silence:
            return None
        elif self._event_left > 0:
            message = f"not a byte arrived for {limits.idle_bytes:g} s (timeouts.idle_bytes)"
        elif self.phase == "mid-stream":
            message = f"no model event arrived for {limits.idle_event:g} s (timeouts.idle_event)"
        else:
            message = f"no model event arrived within {limits.first_event:g} s of the request (timeouts.first_event)"
        return LlmError(message, codes.TIMEOUT, phase=self.phase)
