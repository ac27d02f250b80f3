"""A batch over many machines: Ray Data, an actor pool with one runtime each, the same rows out (B5).

The driver cuts the rows into blocks, which are places in files: a worker reads its own, so files stand where every
worker can read them. A block is one task. Where a worker dies, Ray gives its block to another: its rows are asked
again, and come out once, since a block comes back whole and the driver alone writes results.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TextIO, runtime_checkable

import msgspec

from limen import _compose
from limen.batch._file import Batch, Progress, begin, check_files, count_rows, row_of
from limen.batch._gate import Limits
from limen.batch._lines import numbered_lines
from limen.batch._output import Output, encoded
from limen.batch._row import Row, RowResult, tokens_of
from limen.batch._run import run
from limen.batch._shown import last_line
from limen.contract import LlmError, codes

_RESULT = msgspec.json.Decoder(RowResult)


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Place where a batch runs: the address of a Ray cluster (absent: one on this machine), workers, rows in a block.

    `configuration` is what every worker's runtime is opened with: a file that each can read, or a document; a worker
    takes its keys from its own environment.
    """

    workers: int
    address: str | None = None
    block_rows: int = 256
    configuration: str | Mapping[str, object] | None = None
    app: str | None = None


class Dataset(Protocol):
    """The methods of Ray's `Dataset` that are called."""

    def map_batches(self, function: type, /, **settings: object) -> "Dataset":
        """Have an actor pool take each batch of rows."""
        ...

    def iter_rows(self) -> Iterable[Mapping[str, object]]:
        """Return the rows, as they come."""
        ...


class Data(Protocol):
    """The functions of `ray.data` that are called."""

    def from_items(self, items: Sequence[Mapping[str, object]], /, **settings: object) -> Dataset:
        """Return a data set of these rows."""
        ...


@runtime_checkable
class _Ray(Protocol):
    """The functions of `ray` that are called."""

    def init(self, **settings: object) -> object: ...
    def is_initialized(self) -> bool: ...


@runtime_checkable
class _HasData(Protocol):
    data: Data


def run_on_ray(batch: Batch, cluster: Cluster, *, progress: Progress | None = None) -> Progress:
    """Run a batch of files on Ray; the results, the resuming and the errors are those of `run_file`.

    The limits are shared out among the workers. Results come in the order in which blocks are done, so `ordered` is
    refused. Raises `INVALID_OPTIONS`, also where Ray is not installed.
    """
    progress = progress if progress is not None else Progress()
    if batch.ordered:
        words = "results of many workers have no order; leave ordered out"
        raise LlmError(words, codes.INVALID_OPTIONS, phase="resolve")
    check_files(batch)
    if find_spec("ray") is None:
        raise LlmError("this engine needs Ray: pip install 'limen[ray]'", codes.INVALID_OPTIONS, phase="resolve")
    return gather(_started(cluster), batch, cluster, progress)  # pragma: no cover - run by `make test-ray`


def run_on_ray_shown(batch: Batch, cluster: Cluster, stream: TextIO) -> Progress:
    """Run a batch on Ray, which shows its own progress, and end with one line that says how many rows are done."""
    progress = Progress()
    with last_line(progress, batch, stream):
        return run_on_ray(batch, cluster, progress=progress)


def gather(data: Data, batch: Batch, cluster: Cluster, progress: Progress) -> Progress:
    """Have an engine ask the blocks of rows that are not out, and write what comes back."""
    with Output(batch.out, retry_failed=batch.retry_failed) as output:
        begin(progress, output, count_rows(batch.source))
        try:
            blocks = list(_blocks(batch, output, cluster.block_rows))
            for line in _asked(data, batch, cluster, blocks) if blocks else ():
                result = _RESULT.decode(line)
                # A block that Ray gave to a second worker might come twice; what is out is out.
                if output.write_line(result.line, line, failed=result.failure is not None):
                    progress.count(failed=result.failure is not None, tokens=tokens_of(result.usage))
        finally:
            progress.seconds = progress.elapsed()
        progress.stopped = progress.done < progress.total
    return progress


def _started(cluster: Cluster) -> Data:  # pragma: no cover - run by `make test-ray`, as Ray is in no other environment
    ray: object = import_module("ray")
    import_module("ray.data")
    assert isinstance(ray, _Ray)
    assert isinstance(ray, _HasData)
    if not ray.is_initialized():
        ray.init(address=cluster.address, log_to_driver=False)
    return ray.data


def _blocks(batch: Batch, output: Output, size: int) -> Iterator[dict[str, object]]:
    """Yield blocks of rows that are not out: the file, and the first and the last line of each."""
    first = last = count = 0
    for number, _ in numbered_lines(batch.source):
        if number in output.known:
            continue
        first, last, count = first or number, number, count + 1
        if count == size:
            yield _block(batch, output, first, last)
            first = count = 0
    if count:
        yield _block(batch, output, first, last)


def _block(batch: Batch, output: Output, first: int, last: int) -> dict[str, object]:
    done = [number for number in range(first, last + 1) if number in output.known]
    return {"path": str(batch.source.absolute()), "first": first, "last": last, "done": msgspec.json.encode(done)}


def _asked(data: Data, batch: Batch, cluster: Cluster, blocks: Sequence[Mapping[str, object]]) -> Iterator[bytes]:
    settings: dict[str, object] = {
        "batch_size": 1,
        "concurrency": cluster.workers,
        "fn_constructor_args": (batch, cluster),
        "num_cpus": 1,
    }
    # A block of its own for each item, so that each is a task, and no more than one is lost with a worker.
    items = data.from_items(blocks, override_num_blocks=len(blocks))
    for found in items.map_batches(Worker, **settings).iter_rows():
        line = found["result"]
        assert isinstance(line, bytes)
        yield line


class Worker:
    """Actor of the pool: one runtime, and its share of the limits."""

    def __init__(self, batch: Batch, cluster: Cluster) -> None:
        self._batch = batch
        self._limits: Limits = batch.limits.shared(cluster.workers)
        self._runner = asyncio.Runner()
        self._opened = _compose.open_runtime(cluster.configuration, app=cluster.app)
        self._llm = self._runner.run(self._opened.__aenter__())

    def __call__(self, block: Mapping[str, Sequence[object]]) -> dict[str, list[bytes]]:
        """Ask the rows of one block, and return their results as lines of JSON."""
        path, first, last, done = (block[name][0] for name in ("path", "first", "last", "done"))
        assert isinstance(done, bytes)
        known = frozenset(msgspec.json.decode(done, type=list[int]))
        rows = _rows_of(Path(str(path)), int(str(first)), int(str(last)), known, self._batch.model)
        return {"result": self._runner.run(self._results(rows))}

    def close(self) -> None:
        """Close the runtime; an actor that ends takes its connections with it."""
        self._runner.run(self._opened.__aexit__(None, None, None))
        self._runner.close()

    async def _results(self, rows: Iterable[Row]) -> list[bytes]:
        results = run(self._llm, rows, limits=self._limits, retry=self._batch.retry)
        return [encoded(result) async for result in results]


def _rows_of(path: Path, first: int, last: int, known: frozenset[int], model: str | None) -> Iterator[Row]:
    for number, line in numbered_lines(path):
        if number > last:
            return
        if number >= first and number not in known:
            yield row_of(number, line, model)
