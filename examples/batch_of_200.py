"""Two hundred questions at once, sixteen in flight: one result each, at the pace that the route allows.

DEEPSEEK_API_KEY=… python examples/batch_of_200.py
"""

import asyncio

import limen
from limen.batch import Limits, run

MODEL = "deepseek-v4-flash"


async def main() -> None:
    """Ask, and count what came back."""
    questions = [limen.user(f"What is {number} + 1?") for number in range(200)]
    rows = [limen.GenerateOptions("deepseek", MODEL, [question]) for question in questions]
    async with limen.open_runtime() as llm:
        results = [result async for result in run(llm, rows, limits=Limits(concurrency=16))]
    failed = [result for result in results if result.failure is not None]
    print(f"{len(results)} results, {len(failed)} failed")


if __name__ == "__main__":
    asyncio.run(main())
