"""A batch from file to file: durable, resumed, never twice (B2)."""

import asyncio
import fcntl
import io
import os
from collections import Counter
from pathlib import Path

import pytest

from batch._kit import MODEL, echo, opened, question, results, row, shape, write_rows
from limen import AbortController, LlmError, Response, RetryPolicy
from limen.batch import Batch, Limits, Progress, RowResult, run_file, run_shown
from limen.batch._lines import LineSet, numbered_lines
from limen.batch._output import Output, encoded
from limen.batch._shown import bar, duration, last_words, shown, words
from limen.contract import FinishReason
from limen.testing.server import RecordedRequest, Script

ONCE = RetryPolicy(max_retries=0)


def batch(folder: Path, **fields: object) -> Batch:
    """A batch of `in.jsonl` to `out.jsonl`."""
    settings: dict[str, object] = {"source": folder / "in.jsonl", "out": folder / "out.jsonl", "model": MODEL, **fields}
    return Batch(**settings)  # type: ignore[arg-type] # the fields of a batch


async def test_rows_go_in_and_results_come_out(tmp_path: Path) -> None:
    """Each line that is not blank has one result under its line's number, broken ones too, and a BOM is no content."""
    source = write_rows(tmp_path / "in.jsonl", [row("a"), "", "no JSON", row("b")])
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    async with opened() as (llm, _):
        progress = await run_file(llm, batch(tmp_path))
    assert sorted(map(shape, results(tmp_path / "out.jsonl"))) == [
        (1, "a", "re: a"),
        (3, None, "INVALID_OPTIONS"),
        (4, "b", "re: b"),
    ]
    assert (progress.total, progress.done, progress.failed, progress.asked) == (3, 3, 1, 3)
    assert (progress.tokens, progress.stopped) == (38, False)
    assert progress.seconds > 0


async def test_ordered_results(tmp_path: Path) -> None:
    """`ordered` writes the results in the order of the lines."""
    write_rows(tmp_path / "in.jsonl", [row(str(number)) for number in range(30)])
    async with opened() as (llm, _):
        await run_file(llm, batch(tmp_path, ordered=True))
    assert [one.line for one in results(tmp_path / "out.jsonl")] == list(range(1, 31))


async def test_it_goes_on_after_a_half_written_line(tmp_path: Path) -> None:
    """A half-written last line is cut off and its row asked again; rows that are out, failed ones too, are not."""
    write_rows(tmp_path / "in.jsonl", [row("a"), row("fails"), row("c"), row("d")])
    asked = Counter[str]()

    def source(request: RecordedRequest) -> Script | str:
        asked[question(request)] += 1
        return "text+500" if question(request) == "fails" else echo(request)

    out = tmp_path / "out.jsonl"
    async with opened(source) as (llm, _):
        await run_file(llm, batch(tmp_path, retry=ONCE, ordered=True))
        whole = out.read_bytes().splitlines(keepends=True)
        for tail in (whole[2][:-1], whole[2][:30], b'{"li', b""):
            asked.clear()
            out.write_bytes(b"".join(whole[:2]) + tail)
            progress = await run_file(llm, batch(tmp_path, retry=ONCE))
            assert asked == {"c": 1, "d": 1}
            assert (progress.done, progress.failed, progress.asked) == (4, 1, 2)
            assert sorted(one.line for one in results(out)) == [1, 2, 3, 4]


async def test_retry_failed(tmp_path: Path) -> None:
    """With `retry_failed` the failed rows alone are asked again, and each still has one result."""
    write_rows(tmp_path / "in.jsonl", [row("a"), row("b"), row("c")])
    asked, failing = Counter[str](), {"b"}

    def source(request: RecordedRequest) -> Script | str:
        asked[question(request)] += 1
        return "text+500" if question(request) in failing else echo(request)

    async with opened(source) as (llm, _):
        await run_file(llm, batch(tmp_path, retry=ONCE))
        failing.clear()
        progress = await run_file(llm, batch(tmp_path, retry=ONCE, retry_failed=True))
        again = await run_file(llm, batch(tmp_path, retry=ONCE, retry_failed=True))
    assert asked == {"a": 1, "b": 2, "c": 1}
    assert (progress.done, progress.failed, progress.asked, again.asked) == (3, 0, 1, 0)
    found = sorted(map(shape, results(tmp_path / "out.jsonl")))
    assert found == [(1, "a", "re: a"), (2, "b", "re: b"), (3, "c", "re: c")]
    assert sorted(os.listdir(tmp_path)) == ["in.jsonl", "out.jsonl"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"my notes", "line 1 is no row of a batch; name another file"),
        (b"my notes\n", "line 1 is no row of a batch; name another file"),
        (b'{"line":0}\n', "line 1 is no row of a batch; name another file"),
        (b'{"line":1}\n{"line":1}\n', "line 2 has row 1 a second time; name another file"),
        (b'{"line":7}\n', "it has a result for line 7, and the rows end at line 1: it is of another file"),
    ],
)
async def test_somebody_elses_file_is_left_alone(tmp_path: Path, content: bytes, told: str) -> None:
    """A file that holds anything but this batch's results is refused, and not a byte of it is changed."""
    write_rows(tmp_path / "in.jsonl", [row("a")])
    out = tmp_path / "out.jsonl"
    out.write_bytes(content)
    async with opened() as (llm, mock):
        with pytest.raises(LlmError) as caught:
            await run_file(llm, batch(tmp_path))
        assert mock.requests == []
    assert (caught.value.code, caught.value.failure.message) == ("INVALID_OPTIONS", f"{out}: {told}")
    assert out.read_bytes() == content


async def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    """A source that is missing, or no file, or the place of the results, is refused before anything is asked."""
    source = write_rows(tmp_path / "in.jsonl", [row("a")])
    refused: list[tuple[dict[str, object], str]] = [
        ({"source": tmp_path / "none"}, "there is no such file"),
        ({"source": tmp_path}, "it is no regular file"),
        ({"out": source}, "the results would be written into the rows; name another file for them"),
    ]
    async with opened() as (llm, _):
        for fields, told in refused:
            with pytest.raises(LlmError, match=told):
                await run_file(llm, batch(tmp_path, **fields))


def test_one_batch_at_a_time(tmp_path: Path) -> None:
    """A file that another batch is writing is refused, also while failed rows are taken out of it."""
    path = tmp_path / "out.jsonl"
    failed = b'{"line":%d,"failure":{"message":"m","code":"SERVER"}}\n'
    path.write_bytes(b'{"line":1}\n' + failed % 2)
    with Output(path, retry_failed=True) as output:
        assert (len(output.known), output.failed) == (1, 0)
        with pytest.raises(LlmError, match="another batch is writing it"), Output(path):
            pass
        assert output.write_line(2, b'{"line":2}', failed=False)
        assert not output.write_line(2, b'{"line":2}', failed=False)
    path.write_bytes(path.read_bytes() + failed % 3)
    before = path.read_bytes()
    with open(tmp_path / "out.jsonl.retry", "ab") as beside:
        fcntl.flock(beside.fileno(), fcntl.LOCK_EX)
        with pytest.raises(LlmError, match="another batch is writing it"), Output(path, retry_failed=True):
            pass
    assert path.read_bytes() == before


def test_an_answer_that_cannot_be_written() -> None:
    """A result without a JSON form becomes a failed row that says so."""
    answer = Response(None, FinishReason("stop"), replay_state={"v": object()})
    line = encoded(RowResult(3, "a", answer))
    assert line.startswith(b'{"line":3,"id":"a","failure":{"message":"the answer cannot be written: ')


def test_long_lines(tmp_path: Path) -> None:
    """A line that is longer than the limit is told by its number alone, wherever it ends."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"1234567\n" + b"x" * 9 + b"\n" + b"y" * 100 + b"\nz\n" + b"w" * 33)
    assert list(numbered_lines(path, longest=8)) == [(1, b"1234567"), (2, None), (3, None), (4, b"z"), (5, None)]


def test_a_set_of_lines() -> None:
    """A set of lines knows what was added, and how many."""
    lines = LineSet()
    assert [lines.add(number) for number in (3, 3, 1_000_000, 1)] == [True, False, True, True]
    assert [number in lines for number in (1, 2, 3, 1_000_000, 5_000_000)] == [True, False, True, True, False]
    assert (len(lines), lines.last) == (3, 1_000_000)


async def test_a_stop_writes_what_was_in_flight(tmp_path: Path) -> None:
    """After a stop the results in flight are written, the state says so, and the next run asks the rest."""
    write_rows(tmp_path / "in.jsonl", [row(str(number)) for number in range(12)])
    controller, asked = AbortController(), list[str]()

    def source(request: RecordedRequest) -> Script:
        asked.append(question(request))
        if len(asked) == 3:
            controller.abort()
        return echo(request)

    async with opened(source) as (llm, _):
        first = await run_file(llm, batch(tmp_path, limits=Limits(2)), stop=controller.signal)
        assert (first.stopped, first.done, len(results(tmp_path / "out.jsonl"))) == (True, len(asked), len(asked))
        assert len(asked) < 12
        second = await run_file(llm, batch(tmp_path, limits=Limits(2)))
    assert (second.done, second.stopped, sorted(asked, key=int)) == (12, False, [str(number) for number in range(12)])


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


async def test_progress_on_a_terminal_and_elsewhere(tmp_path: Path) -> None:
    """A terminal has a bar that is wiped at the end; any other stream a line now and then; both one last line (B4)."""
    write_rows(tmp_path / "in.jsonl", [row("a"), "broken"])
    async with opened() as (llm, _):
        screen, log = Terminal(), io.StringIO()
        await run_shown(llm, batch(tmp_path), screen)
        await run_shown(llm, batch(tmp_path), log)
    out = tmp_path / "out.jsonl"
    assert screen.getvalue().startswith("\r[")
    assert screen.getvalue().endswith(f"\r\x1b[Klimen: 2 of 2 rows are done, 1 failed, in 0 s: {out}\n")
    assert log.getvalue() == f"limen: 2 of 2 rows are done, 1 failed, in 0 s: {out}\n"


async def test_lines_now_and_then() -> None:
    """Where there is no terminal, a line says at its time how far the batch is."""
    written = asyncio.Event()

    class Log(io.StringIO):
        def flush(self) -> None:
            written.set()

    log = Log()
    async with shown(Progress(total=4, done=1), log, every_s=0.01):
        await asyncio.wait_for(written.wait(), 5)
    assert log.getvalue().startswith("limen: 1 of 4 rows, 0 failed, 0.0 rows/s, 0 tokens\n")


async def test_a_batch_that_cannot_begin_says_nothing_of_rows(tmp_path: Path) -> None:
    """Where the files cannot be used, no last line pretends that something was done."""
    log = io.StringIO()
    async with opened() as (llm, _):
        with pytest.raises(LlmError, match="no such file"):
            await run_shown(llm, batch(tmp_path), log)
    assert log.getvalue() == ""


def test_words_about_progress() -> None:
    """The bar, the facts, the last line and times, in words."""
    progress = Progress(total=40, done=10, failed=2, asked=5, tokens=99, seconds=200, stopped=True)
    assert bar(progress) == "[#####...............]"
    progress.began = 1e-9
    assert words(progress).startswith("10 of 40 rows, 2 failed, ")
    assert words(progress).endswith(" left")
    assert last_words(progress, "o.jsonl") == (
        "limen: 10 of 40 rows are done, 2 failed, in 3 min 20 s: o.jsonl; 30 are left: the same command goes on"
    )
    assert [duration(seconds) for seconds in (41.6, 60, 7500)] == ["42 s", "1 min 0 s", "2 h 5 min"]
