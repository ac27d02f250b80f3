"""A tool round trip over real HTTP, without a key: a mock provider on this machine, the DeepSeek adapter, two turns.

With a key of your own, drop `base_url` and take a model of the service: the rest stays as it is.
"""

import asyncio

import limen
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.testing.server import MockProvider
from limen.tools import ChunkEvent, Ended, ResultEvent, ToolRegistry, converse, tool


@tool
def add(left: int, right: int) -> int:
    """Add two integers."""
    return left + right


async def main() -> None:
    """Let model and tool talk, and print each chunk, result and turn as it comes."""
    async with MockProvider("tools") as provider, limen.LlmRuntime() as llm:
        options = DeepSeekOptions(base_url=provider.base_url("openai-chat"), api_key="not-a-real-key")
        llm.register(["deepseek"], DeepSeekAdapter(options))

        turn, before = 0, None
        question = limen.GenerateOptions("deepseek", "deepseek-v4-flash", [limen.user("What is 20 + 22?")])
        async for event in converse(llm, question, ToolRegistry([add])):
            if isinstance(event, ChunkEvent) and not isinstance(before, ChunkEvent):
                turn += 1
                print(f"turn {turn}")
            before = event
            match event:
                case ChunkEvent(chunk=chunk):
                    print(" ", limen.encode(chunk).decode())
                case ResultEvent(result=result):
                    print("result:", limen.encode(result).decode())
                case Ended(why=why, response=response):
                    print(f"{why}: {'' if response is None else response.text}")


if __name__ == "__main__":
    asyncio.run(main())
