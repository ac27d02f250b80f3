"""A chat in the terminal: the answer as it comes, and the whole conversation in each request.

DEEPSEEK_API_KEY=… python examples/chat.py
"""

import asyncio
import sys

import limen

MODEL = "deepseek/deepseek-v4-flash"


async def main() -> None:
    """Take a line a turn until the end of stdin."""
    history: list[limen.Message] = []
    async with limen.open_runtime() as llm:
        for line in sys.stdin:
            async with llm.stream(MODEL, [*history, limen.user(line)]) as stream:
                async for piece in stream.text():
                    print(piece, end="", flush=True)
                answer = await stream.response()
            print()
            if answer.message is not None:
                history += [limen.user(line), answer.message]


if __name__ == "__main__":
    asyncio.run(main())
