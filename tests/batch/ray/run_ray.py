"""A batch on Ray: two workers on this machine, one of them killed, and a run that goes on where another ended (B5).

Run by `make test-ray`, in an environment with Ray; a provider on loopback answers, which also kills the worker.
"""

import json
import os
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import ray

from limen.batch import Batch, Limits
from limen.batch.ray import Cluster, run_on_ray
from limen.testing.server import MockProvider, RecordedRequest, Script, Text, Turn

ROWS = 3000
KILL_AT = 1500


def question(request: RecordedRequest) -> str:
    """The text of the question."""
    content = json.loads(request.body)["messages"][-1]["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


def workers() -> list[int]:
    """The processes of the pool that are alive."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                name = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if name.startswith(b"ray::") and b"Worker" in name:
                found.append(int(process.name))
    return sorted(found)


def worked(process: int) -> int:
    """The processor time of a process, in ticks."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class Source:
    """Echoes, and kills one worker once, in the middle."""

    def __init__(self) -> None:
        self.count = 0
        self.killed: list[int] = []

    def __call__(self, request: RecordedRequest) -> Script:
        """Answer a request."""
        self.count += 1
        if self.count >= KILL_AT and not self.killed:
            self.killed = workers()
            # At once, in the middle of a request; the one that has worked most is the one that is asking, since Ray may
            # give a second worker nothing for a while.
            self.killed.sort(key=worked, reverse=True)
            os.kill(self.killed[0], signal.SIGKILL)
        return Script([Turn([Text([f"re: {question(request)}"])])])


def check(out: Path, lines: range) -> None:
    """Every line once, each with its own answer."""
    found = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert Counter(one["line"] for one in found) == dict.fromkeys(lines, 1), len(found)
    wrong = [one for one in found if one.get("response", {}).get("text") != f"re: q{one['line']}"]
    assert wrong == [], wrong[:2]


def main(folder: Path) -> None:
    """Run the checks."""
    source = Source()
    rows = (
        {"id": number, "options": {"messages": [{"role": "user", "content": [{"type": "text", "text": f"q{number}"}]}]}}
        for number in range(1, ROWS + 1)
    )
    given, out = folder / "in.jsonl", folder / "out.jsonl"
    given.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with MockProvider(source) as mock:
        base = {"adapter": "openai-chat", "dialect": "generic", "base_url": mock.base_url("openai-chat")}
        cluster = Cluster(workers=2, block_rows=100, configuration={"routes": {"m": base}})
        batch = Batch(source=given, out=out, model="m/x", limits=Limits(8))
        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
        done = run_on_ray(batch, cluster)
        check(out, range(1, ROWS + 1))
        # The rows of the lost block that had been asked were asked again, so it died in the middle.
        assert len(source.killed) == 2, source.killed
        assert source.count > ROWS, source.count
        print(f"{ROWS} rows by two workers, process {source.killed[0]} killed: {source.count} requests, {done}")

        # A driver that was killed leaves some rows and a half-written one.
        lines = out.read_bytes().splitlines(keepends=True)
        out.write_bytes(b"".join(lines[:333]) + lines[333][:40])
        before = source.count
        again = run_on_ray(batch, cluster)
        check(out, range(1, ROWS + 1))
        assert (again.asked, source.count - before) == (ROWS - 333, ROWS - 333), (again, source.count - before)
        nothing = run_on_ray(batch, cluster)
        assert (nothing.asked, nothing.done) == (0, ROWS)
        print(f"gone on after 333 rows: {again.asked} asked")
    ray.shutdown()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
    sys.exit(0)
