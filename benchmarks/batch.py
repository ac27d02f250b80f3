"""Throughput of `limen.batch` beside a bare semaphore loop over `llm.complete`: same server, same run, median ratio.

`python benchmarks/batch.py [ROWS] [ROUNDS]` starts the load of `load.py` in a process of its own.
"""

import asyncio
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import limen
from limen.batch import Batch, Limits, run_file

PLACES = 32
CASES = {
    "n20": "20 deltas at once, so that only the client's work counts",
    "n20-d5": "20 deltas, 5 ms between two, as from a model",
}


def options(number: int) -> limen.GenerateOptions:
    return limen.GenerateOptions("m", "x", [limen.user(f"question {number}")])


async def bare(llm: limen.LlmRuntime, rows: int) -> float:
    gate, began = asyncio.Semaphore(PLACES), time.perf_counter()

    async def one(number: int) -> None:
        async with gate:
            await llm.complete(options(number))

    await asyncio.gather(*(one(number) for number in range(rows)))
    return rows / (time.perf_counter() - began)


async def batch(llm: limen.LlmRuntime, source: Path, rows: int) -> float:
    out = source.with_name("out.jsonl")
    out.unlink(missing_ok=True)
    began = time.perf_counter()
    done = await run_file(llm, Batch(source=source, out=out, limits=Limits(PLACES)))
    assert (done.done, done.failed) == (rows, 0), done
    return rows / (time.perf_counter() - began)


async def measured(port: int, case: str, rows: int, rounds: int) -> list[tuple[float, float]]:
    route = {"adapter": "openai-chat", "dialect": "generic", "base_url": f"http://127.0.0.1:{port}/{case}/v1"}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.jsonl"
        source.write_bytes(b"".join(b'{"options":' + limen.encode(options(number)) + b"}\n" for number in range(rows)))
        async with limen.open_runtime({"routes": {"m": route}}) as llm:
            await bare(llm, rows // 10)
            found = []
            for turn in range(rounds):
                # By turns, so that neither always has the warmer machine.
                if turn % 2:
                    second = await batch(llm, source, rows)
                    found.append((await bare(llm, rows), second))
                else:
                    first = await bare(llm, rows)
                    found.append((first, await batch(llm, source, rows)))
            return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the load did not start")


def report(words: str, found: list[tuple[float, float]]) -> None:
    print(words)
    for loop, mine in found:
        print(f"  loop {loop:7.0f} rows/s   batch {mine:7.0f} rows/s   ratio {mine / loop:.2f}")
    print(f"  median ratio {statistics.median(mine / loop for loop, mine in found):.2f} (at least 0.90 is wanted)")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    port = free_port()
    load = subprocess.Popen([sys.executable, str(Path(__file__).with_name("load.py")), str(port)])
    try:
        wait_for(port)
        for case, words in CASES.items():
            report(words, asyncio.run(measured(port, case, rows, rounds)))
    finally:
        load.terminate()
        load.wait()


if __name__ == "__main__":
    main()
