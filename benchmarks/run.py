"""Run the benchmarks and write the table, the numbers and the page.

`python benchmarks/run.py [--peers] [--repeats N] [--cases a,b] [--subjects a,b]`: every subject meets the same load
in the same run, each case in a fresh process, interleaved by repeat; medians and ratios are printed, and written to
benchmarks/results/ as numbers, as a table, and as a page with bars. Where there are two CPUs, the load has the first
and the subject the second.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from report import page, table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

OURS = ["limit", "floor", "limen", "limit-messages", "floor-messages", "limen-messages"]
OURS += ["limit-responses", "floor-responses", "limen-responses"]
PEERS = ["openai", "litellm", "anthropic", "litellm-messages"]
REQUIREMENTS = {"openai": ["openai"], "anthropic": ["anthropic"], "litellm": ["litellm"]}
CASES = ["throughput", "small", "concurrent", "tool-5000", "tool-20000", "history", "memory", "abort", "stall"]

# Cases that say nothing about a subject: nobody leaves the raw socket's stream, and only limen has the limit.
SKIP = {
    "abort": {"limit", "floor", "limit-messages", "floor-messages", "limit-responses", "floor-responses"},
    "stall": set(OURS + PEERS) - {"limen"},
    "history": {"limit", "limit-messages", "limit-responses"},
    "memory": {"litellm", "litellm-messages"},
    # LiteLLM takes 50 s for it, and its time for a long tool call grows with its square.
    "concurrent": {"litellm", "litellm-messages"},
    "tool-20000": {"litellm", "litellm-messages"},
}


def environment(name: str) -> str:
    """The Python of a subject's environment, made on first use from the package registry."""
    if name == ".":
        return sys.executable
    folder = HERE / "venvs" / name
    python = folder / "bin" / "python"
    if not (folder / ".ok").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "msgspec"]
        subprocess.run([str(python), *quiet, *REQUIREMENTS[name]], check=True)
        (folder / ".ok").touch()
    return str(python)


def pinned(cpu: int) -> list[str]:
    """A prefix that keeps a process on one CPU, where that can be had."""
    enough = (os.cpu_count() or 1) > 1 and shutil.which("taskset")
    return ["taskset", "-c", str(cpu)] if enough else []


def measure(subject: str, case: str, port: int) -> dict[str, float | str]:
    """One case for one subject in a process of its own."""
    from subjects import SUBJECTS

    python = environment(SUBJECTS[subject].environment)
    command = [*pinned(1), python, str(HERE / "case.py"), subject, case]
    env = {**os.environ, "BENCH_PORT": str(port)}
    answer = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    found = [line[2:] for line in answer.stdout.splitlines() if line.startswith("@@")]
    if not found:
        last = answer.stderr.strip().splitlines()[-1:] or ["no output"]
        return {"subject": subject, "case": case, "failed": last[0][:200]}
    row: dict[str, float | str] = json.loads(found[0])
    return row


def imports(repeats: int) -> list[dict[str, float | str]]:
    """Wall time of `import limen` and `import msgspec` in fresh processes, less an empty one."""

    def wall(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([*pinned(1), sys.executable, "-c", code], check=True)
        return (time.perf_counter() - start) * 1e3

    rows: list[dict[str, float | str]] = []
    for name, code in (("floor", "import msgspec"), ("limen", "import limen")):
        for repeat in range(repeats):
            # The best of three says what the import costs; the rest is what else the machine did.
            best = min(wall(code) - wall("pass") for _ in range(3))
            rows.append({"subject": name, "case": "import", "ms": best, "repeat": repeat})
    return rows


def start_load() -> tuple[subprocess.Popen[str], int]:
    """Start the load on a free port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [*pinned(0), sys.executable, str(HERE / "load.py"), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process, port


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true", help="the peers too, each in an environment of its own")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--subjects", default=None)
    chosen = parser.parse_args()
    repeats: int = chosen.repeats
    subjects = chosen.subjects.split(",") if chosen.subjects else OURS + (PEERS if chosen.peers else [])
    rows: list[dict[str, float | str]] = []
    load, port = start_load()
    try:
        for repeat in range(repeats):
            for case in chosen.cases.split(","):
                chosen_subjects = [subject for subject in subjects if subject not in SKIP.get(case, set())]
                rows += [{**measure(subject, case, port), "repeat": repeat} for subject in chosen_subjects]
            print(f"repeat {repeat + 1} of {repeats} done", file=sys.stderr, flush=True)
    finally:
        load.kill()
        load.wait()
    rows += imports(repeats)
    RESULTS.mkdir(exist_ok=True)
    kind = "peers" if chosen.peers else "ours"
    (RESULTS / f"{kind}.json").write_text(json.dumps(rows, indent=1) + "\n")
    text = table(rows)
    (RESULTS / f"{kind}.md").write_text(text)
    (RESULTS / f"{kind}.html").write_text(page(rows))
    print(text)


if __name__ == "__main__":
    main()
