"""A batch from file to file, which goes on where it was killed (B2)."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec

from limen.batch._gate import Limits
from limen.batch._lines import numbered_lines
from limen.batch._output import Output
from limen.batch._read import broken_row, read_row
from limen.batch._row import Row, RowResult, tokens_of
from limen.batch._run import run
from limen.contract import AbortSignal, LlmError, RetryPolicy, codes
from limen.runtime import LlmRuntime

_SYNC_EVERY_S: Final = 1.0
TOO_LONG: Final = "the line is longer than 64 MiB"


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Batch of files: rows of `source` to results in `out`.

    `model` is `ROUTE/MODEL` and wins over a row's own; `limits` hold for each route; `ordered` writes results in the
    order of the lines, else each is written when it is there; `retry_failed` asks the rows again that are out and
    failed; `retry` stands in place of the routes' policies.
    """

    source: Path
    out: Path
    model: str | None = None
    limits: Limits = Limits()
    ordered: bool = False
    retry_failed: bool = False
    retry: RetryPolicy | None = None


class Progress(msgspec.Struct):
    """State of a batch while it runs, and at its end.

    `total` rows are in the file; `done` of them are out, `failed` ones among them; `asked` were asked in this run,
    `tokens` is what they are known to have taken, in and out; `seconds` since the run began; `stopped` whether it was
    ended before its time.
    """

    total: int = 0
    done: int = 0
    failed: int = 0
    asked: int = 0
    tokens: int = 0
    seconds: float = 0.0
    stopped: bool = False
    began: float = 0.0

    def elapsed(self) -> float:
        """Return the seconds since the run began."""
        return monotonic() - self.began if self.began else 0.0

    def count(self, *, failed: bool, tokens: int | None) -> None:
        """Count one row that is out now."""
        self.done += 1
        self.asked += 1
        self.failed += failed
        self.tokens += tokens or 0


async def run_file(
    llm: LlmRuntime, batch: Batch, *, progress: Progress | None = None, stop: AbortSignal | None = None
) -> Progress:
    """Ask every row of a file that is not out yet, write one result for each, and return how it went.

    `progress` is kept up to date meanwhile, for whoever shows it. After `stop` the results of what was in flight are
    written, and the rest is asked by the next run. Raises `INVALID_OPTIONS` for files that cannot be used, and
    `OSError` where one cannot be read or written.
    """
    progress = progress if progress is not None else Progress()
    check_files(batch)
    with Output(batch.out, retry_failed=batch.retry_failed) as output:
        begin(progress, output, count_rows(batch.source))
        synced = monotonic()
        rows = _rows(batch, output)
        results = run(llm, rows, limits=batch.limits, ordered=batch.ordered, retry=batch.retry, stop=stop)
        try:
            async for result in results:
                _write(result, output, progress)
                if monotonic() - synced > _SYNC_EVERY_S:
                    await asyncio.to_thread(output.sync)
                    synced = monotonic()
        finally:
            await results.aclose()
            progress.seconds = progress.elapsed()
        progress.stopped = progress.done < progress.total
    return progress


def check_files(batch: Batch) -> None:
    """Raise `INVALID_OPTIONS` for a source that is no file, or that is the place of the results too."""
    if not batch.source.is_file():
        words = "there is no such file" if not batch.source.exists() else "it is no regular file"
        raise LlmError(f"{batch.source}: {words}", codes.INVALID_OPTIONS, phase="resolve")
    if batch.out.exists() and batch.out.samefile(batch.source):
        words = "the results would be written into the rows; name another file for them"
        raise LlmError(f"{batch.out}: {words}", codes.INVALID_OPTIONS, phase="resolve")


def count_rows(source: Path) -> tuple[int, int]:
    """Return the number of rows in a file, and the number of its last one."""
    count = last = 0
    for number, _ in numbered_lines(source):
        count, last = count + 1, number
    return count, last


def begin(progress: Progress, output: Output, rows: tuple[int, int]) -> None:
    """Set a progress to what is out already; raises `INVALID_OPTIONS` for results of another, longer file."""
    progress.total, last = rows
    if output.known.last > last:
        words = f"it has a result for line {output.known.last}, and the rows end at line {last}: it is of another file"
        raise LlmError(f"{output.path}: {words}", codes.INVALID_OPTIONS, phase="resolve")
    progress.done, progress.failed, progress.began = len(output.known), output.failed, monotonic()


def _rows(batch: Batch, output: Output) -> Iterator[Row]:
    for number, line in numbered_lines(batch.source):
        if number not in output.known:
            yield row_of(number, line, batch.model)


def row_of(number: int, line: bytes | None, model: str | None) -> Row:
    """Return the row of a line; `None` is one that is too long."""
    return broken_row(number, TOO_LONG) if line is None else read_row(line, number, model)


def _write(result: RowResult, output: Output, progress: Progress) -> None:
    output.write(result)
    progress.count(failed=result.failure is not None, tokens=tokens_of(result.usage))
