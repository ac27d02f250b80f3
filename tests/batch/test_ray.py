"""Both sides of the engine Ray without Ray; `make test-ray` runs it on a cluster (B5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from batch._kit import MODEL, configuration, echo, results, row, shape, write_rows
from limen import LlmError
from limen.batch import Batch, Limits, Progress
from limen.batch.ray import Cluster, Worker, gather, run_on_ray
from limen.testing.server import MockProvider


class Here:
    """An engine of one worker in this process, with Ray's shape; it brings the first block twice."""

    def __init__(self) -> None:
        self.items: list[Mapping[str, object]] = []
        self.settings: dict[str, object] = {}

    def from_items(self, items: Sequence[Mapping[str, object]], /, **settings: object) -> "Here":
        """Take the blocks."""
        self.items, self.settings = [*items, items[0]], settings
        return self

    def map_batches(self, function: type, /, **settings: object) -> "Here":
        """Take what a worker is."""
        self.settings |= settings
        return self

    def iter_rows(self) -> Iterable[Mapping[str, object]]:
        """Have the blocks asked."""
        return self._rows()

    def _rows(self) -> Iterator[Mapping[str, object]]:
        given = self.settings["fn_constructor_args"]
        assert isinstance(given, tuple)
        worker = Worker(*given)
        for block in self.items:
            for line in worker({name: [value] for name, value in block.items()})["result"]:
                yield {"result": line}
        worker.close()


def test_blocks_go_out_and_each_row_comes_back_once(tmp_path: Path) -> None:
    """Rows that are not out go out in blocks, and a block that comes twice is written once."""
    source = write_rows(tmp_path / "in.jsonl", [row("a"), "broken", "", row("d"), row("e"), row("f")])
    out = tmp_path / "out.jsonl"
    out.write_bytes(b'{"line":4,"id":"d","failure":{"message":"m","code":"SERVER"}}\n')
    engine = Here()
    with MockProvider(echo) as mock:
        cluster = Cluster(workers=2, block_rows=2, configuration=configuration(mock))
        batch = Batch(source=source, out=out, model=MODEL, limits=Limits(4))
        progress = gather(engine, batch, cluster, Progress())
        again = gather(engine, batch, cluster, Progress())
    assert [(block["first"], block["last"], block["done"]) for block in engine.items] == [
        (1, 2, b"[]"),
        (5, 6, b"[]"),
        (1, 2, b"[]"),
    ]
    assert engine.settings["override_num_blocks"] == 2
    assert engine.settings["concurrency"] == 2
    assert sorted(map(shape, results(out))) == [
        (1, "a", "re: a"),
        (2, None, "INVALID_OPTIONS"),
        (4, "d", "SERVER"),
        (5, "e", "re: e"),
        (6, "f", "re: f"),
    ]
    assert (progress.total, progress.done, progress.failed, progress.asked, progress.stopped) == (5, 5, 2, 4, False)
    assert (again.done, again.asked) == (5, 0)


def test_a_last_block_that_is_not_full(tmp_path: Path) -> None:
    """The last block holds what is left, and a block leaves out the lines inside of it that are done."""
    source = write_rows(tmp_path / "in.jsonl", [row("a"), row("b"), row("c")])
    out = tmp_path / "out.jsonl"
    out.write_bytes(b'{"line":2}\n')
    engine = Here()
    with MockProvider(echo) as mock:
        cluster = Cluster(workers=1, configuration=configuration(mock))
        gather(engine, Batch(source=source, out=out, model=MODEL), cluster, Progress())
        assert len(mock.requests) == 4
    assert [(block["first"], block["last"], block["done"]) for block in engine.items] == [(1, 3, b"[2]")] * 2
    assert sorted(one.line for one in results(out)) == [1, 2, 3]


def test_what_cannot_run_on_ray(tmp_path: Path) -> None:
    """An order is refused, and where Ray is not installed the failure says what installs it."""
    source = write_rows(tmp_path / "in.jsonl", [row("a")])
    batch = Batch(source=source, out=tmp_path / "out.jsonl", ordered=True)
    with pytest.raises(LlmError, match="have no order"):
        run_on_ray(batch, Cluster(workers=1))
    if find_spec("ray") is None:
        with pytest.raises(LlmError, match=r"pip install 'limen\[ray\]'"):
            run_on_ray(Batch(source=source, out=tmp_path / "out.jsonl"), Cluster(workers=1))
