"""An agent on one screen: a function becomes a tool, and model and tool talk until there is an answer.

Runs without a key, against a mock provider on this machine. With a key of your own, take
`async with limen.open_runtime() as llm` and a model of the service: `agent` stays as it is.
"""

import asyncio

import limen
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.testing.server import MockProvider
from limen.tools import ChunkEvent, Ended, ResultEvent, ToolRegistry, converse, tool


@tool(timeout=10)
async def add(left: int, right: int) -> int:
    """Add two integers."""
    return left + right


async def agent(llm: limen.LlmRuntime, question: str) -> str:
    """Answer a question with the help of tools, and print what happens."""
    options = limen.GenerateOptions("deepseek", "deepseek-v4-flash", [limen.user(question)])
    async for event in converse(llm, options, ToolRegistry([add])):
        match event:
            case ChunkEvent(chunk=limen.TextDelta(text=text)):
                print(text, end="", flush=True)
            case ResultEvent(result=result):
                print(f"tool: {result.content}")
            case Ended(why="answer", response=limen.Response(text=answer), usage=usage):
                print(f"\n{usage}")
                return answer
            case ChunkEvent():
                pass
            case Ended(why=why):
                raise SystemExit(f"no answer: {why}")
    raise AssertionError("a conversation always ends")


async def main() -> None:
    """Run the agent against a mock provider."""
    async with MockProvider("tools") as provider, limen.LlmRuntime() as llm:
        options = DeepSeekOptions(base_url=provider.base_url("openai-chat"), api_key="not-a-real-key")
        llm.register(["deepseek"], DeepSeekAdapter(options))
        await agent(llm, "What is 20 + 22?")


if __name__ == "__main__":
    asyncio.run(main())
