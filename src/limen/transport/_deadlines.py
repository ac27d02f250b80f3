"""The limits of time (T1): what is counted, and one timer per call that is re-armed only when it must be.

Only waiting is counted: each limit has a budget that shrinks while the call waits for the peer, so a consumer may
take as long as it likes between two reads.
"""

import asyncio
from collections.abc import Callable

from limen.contract import LlmError, Phase, Timeouts, codes


class Deadlines:
    """The clock of one call: `wait` before each wait, `resume` after it; `expire` is called with the error, once.

    `sent` says that the request is on its way, `event` that a model event arrived. `silence`, where set, is a limit
    on waiting whose passing calls `expire` with `None`: silence that means the end (S6).
    """

    __slots__ = (
        "_began",
        "_due",
        "_event_left",
        "_expire",
        "_handle",
        "_loop",
        "_sent",
        "_timeouts",
        "_total_left",
        "_why",
        "phase",
        "silence",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, timeouts: Timeouts, expire: Callable[[LlmError | None], None]
    ) -> None:
        self._loop = loop
        self._timeouts = timeouts
        self._expire = expire
        self.phase: Phase = "connect"
        self.silence: float | None = None
        self._sent = False
        self._event_left = timeouts.first_event
        self._total_left = timeouts.total
        self._began = 0.0
        self._due: float | None = None  # None: nobody waits, nothing is counted
        self._why = "total"
        self._handle: asyncio.TimerHandle | None = None
