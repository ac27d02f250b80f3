"""Another provider where the first one fails, and a log line for each step.

DEEPSEEK_API_KEY=… ANTHROPIC_API_KEY=… python examples/fallback.py
"""

import asyncio
import logging

import limen

logging.basicConfig(level=logging.WARNING)


async def main() -> None:
    """Ask; the answer names the route that gave it."""
    async with limen.open_runtime() as llm:
        llm.use(limen.Fallback(["anthropic/claude-sonnet-4-5"]))
        response = await llm.complete("deepseek/deepseek-v4-flash", "What is 20 + 22?", max_tokens=200)
    assert response.info is not None
    print(f"{response.info.provider}: {response.text}")


if __name__ == "__main__":
    asyncio.run(main())
