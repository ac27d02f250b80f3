"""Real traffic as a test's fixture: recorded once, redacted, then answered from the file without a network.

DEEPSEEK_API_KEY=… python examples/record_and_replay.py     # records calls.json where it is not there
"""

import asyncio
from pathlib import Path

import limen
from limen.recording import Recorder

CALLS = Path("calls.json")
MODEL, PROMPT = "deepseek/deepseek-v4-flash", "What is 20 + 22?"


async def main(*, record: bool) -> None:
    """Record where there is nothing yet, then ask the recording."""
    if record:
        async with limen.open_runtime() as llm:
            llm.use(Recorder(CALLS, wires={"deepseek": ("openai-chat", "deepseek")}))
            await llm.complete(MODEL, PROMPT)
    replayed = {"routes": {"deepseek": {"adapter": "cassette", "path": str(CALLS)}}}
    async with limen.open_runtime(replayed) as llm:
        print((await llm.complete(MODEL, PROMPT)).text)


if __name__ == "__main__":
    asyncio.run(main(record=not CALLS.exists()))
