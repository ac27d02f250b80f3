"""Progress of a batch for people: a bar on a terminal, a line now and then elsewhere (B4)."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TextIO

from limen.batch._file import Batch, Progress, run_file
from limen.contract import AbortSignal
from limen.runtime import LlmRuntime

_BAR_EVERY_S: Final = 0.2
_LINE_EVERY_S: Final = 30.0
_WIDTH: Final = 20


@asynccontextmanager
async def shown(progress: Progress, stream: TextIO, *, every_s: float | None = None) -> AsyncGenerator[None, None]:
    """Show a progress on a stream while the block runs: drawn over again on a terminal, else a line every 30 s."""
    terminal = stream.isatty()
    pause = every_s or (_BAR_EVERY_S if terminal else _LINE_EVERY_S)
    task = asyncio.create_task(_show(progress, stream, pause, terminal=terminal))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if terminal:
            # The bar is wiped away; what comes after it begins at the margin.
            stream.write("\r\x1b[K")
            stream.flush()


async def _show(progress: Progress, stream: TextIO, pause: float, *, terminal: bool) -> None:
    while True:
        if terminal:
            stream.write(f"\r{bar(progress)} {words(progress)}\x1b[K")
            stream.flush()
        await asyncio.sleep(pause)
        if not terminal:
            stream.write(f"limen: {words(progress)}\n")
            stream.flush()


def bar(progress: Progress) -> str:
    """Return a bar of fixed width."""
    share = progress.done / progress.total if progress.total else 0.0
    filled = int(share * _WIDTH)
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}]"


def words(progress: Progress) -> str:
    """Return the facts of a progress: done, failed, rate, tokens, time left."""
    seconds = progress.elapsed()
    rate = progress.asked / seconds if seconds > 0 else 0.0
    left = progress.total - progress.done
    facts = [
        f"{progress.done} of {progress.total} rows",
        f"{progress.failed} failed",
        f"{rate:.1f} rows/s",
        f"{progress.tokens} tokens",
        f"{duration(left / rate)} left" if rate and left else "",
    ]
    return ", ".join(filter(None, facts))


def last_words(progress: Progress, out: str) -> str:
    """Return the last line of a batch: how many rows are done, and where they are."""
    tail = f"; {progress.total - progress.done} are left: the same command goes on" if progress.stopped else ""
    return (
        f"limen: {progress.done} of {progress.total} rows are done, {progress.failed} failed, "
        f"in {duration(progress.seconds)}: {out}{tail}"
    )


def duration(seconds: float) -> str:
    """Return a time in words: `42 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


async def run_shown(llm: LlmRuntime, batch: Batch, stream: TextIO, *, stop: AbortSignal | None = None) -> Progress:
    """Run a batch of files, show its progress on a stream, and end with one line that says how many rows are done."""
    progress = Progress()
    with last_line(progress, batch, stream):
        async with shown(progress, stream):
            await run_file(llm, batch, progress=progress, stop=stop)
    return progress


@contextmanager
def last_line(progress: Progress, batch: Batch, stream: TextIO) -> Generator[None, None, None]:
    """End a block with a line that says how many rows are done, however it ended; none where no row was begun."""
    try:
        yield
    finally:
        if progress.began:
            progress.stopped = progress.done < progress.total
            stream.write(last_words(progress, str(batch.out)) + "\n")
            stream.flush()
