"""Rows through a runtime: a constant window of them at a time, each to exactly one result."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import Final, TypeAlias

from limen.batch._call import Routes, RowCall
from limen.batch._gate import Limits
from limen.batch._read import read_row
from limen.batch._row import Row, RowInput, RowResult
from limen.contract import AbortSignal, RetryPolicy, split_target
from limen.runtime import LlmRuntime

Rows: TypeAlias = Iterable[RowInput] | AsyncIterable[RowInput]

WINDOW_FACTOR: Final = 2
"""Rows in memory for each place: those that are asked, and as many that wait for a place or to be taken."""


async def run(
    llm: LlmRuntime,
    rows: Rows,
    *,
    model: str | None = None,
    limits: Limits | None = None,
    ordered: bool = False,
    retry: RetryPolicy | None = None,
    stop: AbortSignal | None = None,
) -> AsyncGenerator[RowResult, None]:
    """Ask every row, and yield exactly one result for each, in the order of completion unless `ordered` (B1).

    A row is a `GenerateOptions`, a `Row`, or a row's JSON as text or mapping; its line is its number from 1 unless it
    is a `Row`. `model` is `ROUTE/MODEL` and wins over a row's own; one that is no such text raises `INVALID_OPTIONS`.
    `limits` hold for each route. `retry` stands in place of the routes' policies. When `stop` is aborted, no further
    row is asked, and those in flight have `limits.grace_s` to finish; the others have no result. No more rows are in
    memory than twice `limits.concurrency`, however many there are and however slowly results are taken; so that is
    also the bound of all routes together.
    """
    if model is not None:
        split_target(model)
    limits = limits or Limits()
    window = _Window(llm, Routes(llm, limits, retry), limits)
    async with aclosing(_numbered(rows, model)) as source:
        try:
            async with aclosing(window.results(source, stop, ordered=ordered)) as results:
                async for result in results:
                    yield result
        finally:
            await window.aclose()


async def _numbered(rows: Rows, model: str | None) -> AsyncGenerator[Row, None]:
    line = 0
    if isinstance(rows, AsyncIterable):
        async for given in rows:
            line += 1
            yield read_row(given, line, model)
    else:
        for given in rows:
            line += 1
            yield read_row(given, line, model)


class _Window:
    """Rows that are begun and not yet taken, never more than its size."""

    def __init__(self, llm: LlmRuntime, routes: Routes, limits: Limits) -> None:
        self._llm = llm
        self._routes = routes
        self._size = limits.concurrency * WINDOW_FACTOR
        self._grace_s = limits.grace_s
        self._calls: dict[int, tuple[RowCall, asyncio.Task[RowResult | None]]] = {}
        self._done: dict[int, RowResult] = {}
        self._order: deque[int] = deque()
        self._news = asyncio.Event()

    async def results(
        self, source: AsyncIterator[Row], stop: AbortSignal | None, *, ordered: bool
    ) -> AsyncGenerator[RowResult, None]:
        """Yield results until the rows are over, or until a stop and its grace are."""
        number = 0
        with self._watching(stop):
            more = True
            while True:
                while more and not self._routes.closing and len(self._calls) + len(self._done) < self._size:
                    row = await anext(source, None)
                    more = row is not None
                    if row is not None:
                        self._begin(number, row)
                        number += 1
                self._news.clear()
                took = False
                for result in self._ready(ordered=ordered and not self._routes.closing):
                    took = True
                    yield result
                if took:
                    continue
                if not self._calls and (not more or self._routes.closing):
                    return
                await self._news.wait()

    def _begin(self, number: int, row: Row) -> None:
        call = RowCall(self._llm, row)
        task = asyncio.create_task(call.outcome(self._routes))
        self._order.append(number)
        self._calls[number] = (call, task)
        # Not in the task itself: one that is cancelled before it began never runs.
        task.add_done_callback(lambda _: self._ended(number))

    def _ended(self, number: int) -> None:
        _, task = self._calls.pop(number)
        result = None if task.cancelled() else task.result()
        if result is not None:
            self._done[number] = result
        self._news.set()

    def _ready(self, *, ordered: bool) -> Iterator[RowResult]:
        """Take the results that may be shown: all, or those before which none is missing."""
        while not ordered and self._done:
            yield self._done.pop(next(iter(self._done)))
        # Numbers that were taken above are no longer awaited.
        while self._order and (self._order[0] in self._done or self._order[0] not in self._calls):
            number = self._order.popleft()
            if number in self._done:
                yield self._done.pop(number)

    @contextmanager
    def _watching(self, stop: AbortSignal | None) -> Generator[None, None, None]:
        if stop is None:
            yield
            return
        loop = asyncio.get_running_loop()
        timers: list[asyncio.TimerHandle] = []

        def halt() -> None:
            self._routes.closing = True
            for call, task in self._calls.values():
                if not call.asking:
                    task.cancel()
            timers.append(loop.call_later(self._grace_s, self._cancel))
            self._news.set()

        def wake() -> None:
            loop.call_soon_threadsafe(halt)

        remove = stop.on_abort(wake)
        try:
            yield
        finally:
            remove()
            for timer in timers:
                timer.cancel()

    def _cancel(self) -> None:
        for _, task in self._calls.values():
            task.cancel()

    async def aclose(self) -> None:
        """End what is still being asked."""
        self._cancel()
        await asyncio.gather(*(task for _, task in self._calls.values()), return_exceptions=True)
