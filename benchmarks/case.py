"""Measure one case for one subject in this process, and print one line of JSON.

`python case.py SUBJECT CASE`, with the load (`load.py`) listening on BENCH_PORT.
"""

import asyncio
import gc
import json
import os
import sys
import time
import urllib.request
from collections.abc import Awaitable
from typing import Any

from subjects import ROOT, SUBJECTS, Messages, Subject

Result = dict[str, float]


async def read(subject: Subject, case: str, messages: Any = None) -> int:
    """One whole stream; returns how many items carried content."""
    count, carried = subject.count, 0
    async with subject.open(case, messages) as stream:
        async for item in stream:
            if count(item):
                carried += 1
    return carried


async def cpu(work: Awaitable[Any]) -> tuple[float, Any]:
    """CPU seconds of this process while the work runs."""
    gc.collect()
    start = time.process_time()
    result = await work
    return time.process_time() - start, result


async def throughput(subject: Subject) -> Result:
    """One stream of 20,000 text deltas, eight events a write: microseconds of CPU for each."""
    await read(subject, "n50-g8")
    seconds, carried = await cpu(read(subject, "n20000-g8"))
    return {"us_per_chunk": seconds / 20_000 * 1e6, "carried": carried}


async def tool(subject: Subject, count: int) -> Result:
    """One tool call in `count` fragments: CPU milliseconds for the whole call."""
    await read(subject, "n50-g8-tool")
    seconds, carried = await cpu(read(subject, f"n{count}-g8-tool"))
    return {"cpu_ms": seconds * 1e3, "carried": carried}


async def small(subject: Subject) -> Result:
    """Calls of ten deltas, one after another: CPU milliseconds a call."""
    for _ in range(20):
        await read(subject, "n10")

    async def calls() -> None:
        for _ in range(300):
            await read(subject, "n10")

    seconds, _ = await cpu(calls())
    return {"cpu_ms": seconds / 300 * 1e3}


async def concurrent(subject: Subject) -> Result:
    """500 streams of 200 deltas, 5 ms apart: CPU seconds in all."""
    await read(subject, "n10")
    case = "n200-d5"

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(read(subject, case) for _ in range(500)))

    seconds, carried = await cpu(all_of_them())
    return {"cpu_s": seconds, "carried": sum(carried)}


async def memory(subject: Subject) -> Result:
    """500 streams that have fallen silent after their first delta: KiB of resident memory for each."""

    def resident() -> float:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024

    await read(subject, "n10")
    gc.collect()
    before, opened = resident(), asyncio.Semaphore(0)

    async def hang() -> None:
        async with subject.open("n10-g8-stall") as stream:
            async for item in stream:
                if subject.count(item):
                    opened.release()

    tasks = [asyncio.create_task(hang()) for _ in range(500)]
    for _ in range(500):
        await opened.acquire()
    gc.collect()
    grown = resident() - before
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return {"kib_per_stream": grown / 500}


async def history(subject: Subject) -> Result:
    """Requests with 2,000 messages: CPU milliseconds each, and of one with a single message, to subtract."""
    text = 'some ordinary text with "quotes" and é ' * 5
    messages: Messages = [
        {"role": "user" if turn % 2 == 0 else "assistant", "content": f"turn {turn}: {text}"} for turn in range(2000)
    ]
    long = subject.history([*messages, {"role": "user", "content": "go on"}])
    short = subject.history([{"role": "user", "content": "go on"}])
    results = []
    for made in (long, short):
        await read(subject, "n1", made)

        async def calls(made: Any = made) -> None:
            for _ in range(20):
                await read(subject, "n1", made)

        seconds, _ = await cpu(calls())
        results.append(seconds / 20 * 1e3)
    return {"cpu_ms": results[0] - results[1], "small_call_ms": results[1]}


async def abort(subject: Subject) -> Result:
    """Leave streams that have fallen silent: milliseconds until the server sees the socket closed (median of 10)."""
    times = []
    for turn in range(10):
        name = f"{os.getpid()}x{turn}"

        async def hang(name: str, got: asyncio.Event) -> None:
            async with subject.open(f"n10-g8-stall-i{name}") as stream:
                async for _ in stream:
                    got.set()

        got = asyncio.Event()
        task = asyncio.create_task(hang(name, got))
        await got.wait()
        start = time.monotonic()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        while (await asyncio.to_thread(stats, name)) is None:  # noqa: ASYNC110 - the server is another process
            await asyncio.sleep(0)
        times.append((time.monotonic() - start) * 1e3)
    return {"ms": sorted(times)[5]}


async def stall(subject: Subject) -> Result:
    """Time to see a stall: milliseconds past an idle limit of 200 ms until the failure arrives (limen only)."""
    import limen
    from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions

    timeouts = limen.Timeouts(idle_bytes=0.2)
    runtime = limen.LlmRuntime()
    options = OpenAIChatOptions(base_url=f"{ROOT}/n10-g8-stall/v1", api_key="bench-key", timeouts=timeouts)
    runtime.register(["stall"], OpenAIChatAdapter(options))
    late = []
    for _ in range(5):
        request = limen.GenerateOptions(provider="stall", model="m", messages=[limen.user("hi")])
        last = start = time.monotonic()
        async with runtime.stream(request) as stream:
            async for chunk in stream:
                start, last = last, time.monotonic()
                if isinstance(chunk, limen.Finish):
                    assert chunk.reason.failure is not None
                    assert chunk.reason.failure.code == "TIMEOUT"
        late.append((last - start - 0.2) * 1e3)
    await runtime.aclose()
    return {"ms_late": sorted(late)[2]}


def stats(name: str) -> float | None:
    """When the server saw the stream's socket closed."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{ROOT}/stats/{name}") as answer:
        found: dict[str, float | None] = json.load(answer)
    return found["closed"]


CASES = {
    "throughput": throughput,
    "small": small,
    "concurrent": concurrent,
    "tool-5000": lambda subject: tool(subject, 5_000),
    "tool-20000": lambda subject: tool(subject, 20_000),
    "history": history,
    "memory": memory,
    "abort": abort,
    "stall": stall,
}


async def main(name: str, case: str) -> None:
    """Run and print."""
    subject = SUBJECTS[name]()
    await subject.setup()
    result = await CASES[case](subject)
    print("@@" + json.dumps({"subject": name, "case": case, **result}), flush=True)
    await subject.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
