"""A long batch whose process is killed three times, against a provider that throttles and resets (B2, B3)."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from batch._kit import question, results, row, write_rows
from limen.testing.server import Answer, MockProvider, RecordedRequest, Script, Text, Turn

ROWS = 10_000
KILLED_AT = (2_500, 5_500, 8_500)
GROWTH_MAX_KB = 16 * 1024


class Throttling(MockProvider):
    """A provider whose 429 asks for 5 ms in place of seconds, so that the test waits for little."""

    def _record(self, request: RecordedRequest) -> Answer:
        answer = super()._record(request)
        return answer.with_header("retry-after-ms", "5") if answer.status == 429 else answer


class Source:
    """Every fifth request is throttled, every fiftieth reset before or in its answer; the others are echoed."""

    def __init__(self) -> None:
        self.count = 0
        self.throttled = 0

    def __call__(self, request: RecordedRequest) -> Script | str:
        self.count += 1
        if self.count % 5 == 0:
            self.throttled += 1
            return "text+429-ms"
        if self.count % 50 == 7:
            return "text+reset-before-headers" if self.count % 100 == 7 else "text+reset-mid-stream"
        return Script([Turn([Text([f"re: {question(request)}"])])])


def resident_kb(process: int) -> int:
    """The memory of a process, in KiB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError("a process without VmRSS")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_killed_three_times_every_row_comes_out_once(tmp_path: Path) -> None:
    """10,000 rows under throttling, resets and three kills end as 10,000 results, none twice, in flat memory."""
    write_rows(tmp_path / "in.jsonl", (row(f"q{number}") for number in range(ROWS)))
    out, source = tmp_path / "out.jsonl", Source()
    with Throttling(source) as mock:
        (tmp_path / "limen.toml").write_text(
            f'[routes.m]\nadapter = "openai-chat"\ndialect = "generic"\nbase_url = "{mock.base_url("openai-chat")}"\n'
            "retry = { initial_delay_ms = 5, max_delay_ms = 50, max_retries = 8 }\n"
        )
        command = [sys.executable, "-m", "limen", "batch", "in.jsonl", "--out", "out.jsonl", "-m", "m/x"]
        kept = {name: value for name, value in os.environ.items() if name.startswith("PATH")}
        for limit in KILLED_AT:
            process = subprocess.Popen(command, cwd=tmp_path, env=kept, stderr=subprocess.DEVNULL)
            mock.request_blocking(limit, timeout=60)
            process.send_signal(signal.SIGKILL)
            process.wait()
        before = len(out.read_bytes().splitlines())
        process = subprocess.Popen(command, cwd=tmp_path, env=kept, stderr=subprocess.PIPE)
        first = len(mock.requests)
        mock.request_blocking(first + 500, timeout=60)
        early = resident_kb(process.pid)
        mock.request_blocking(first + 3_000, timeout=60)
        late = resident_kb(process.pid)
        said = process.communicate(timeout=90)[1].decode()
    found = results(out)
    assert process.returncode == 0, said
    assert said.splitlines()[-1].startswith(f"limen: {ROWS} of {ROWS} rows are done, 0 failed, in ")
    assert Counter(one.line for one in found) == dict.fromkeys(range(1, ROWS + 1), 1)
    wrong = [one for one in found if one.response is None or one.response.text != f"re: q{one.line - 1}"]
    # A reset in the middle of an answer is retried like any other, so all of them are whole in the end.
    assert wrong == []
    assert 0 < before < ROWS
    assert source.throttled >= source.count // 5
    assert late - early < GROWTH_MAX_KB, (early, late)
