"""A tool round trip over real HTTP, without a key: a mock provider on this machine, the DeepSeek adapter, two turns.

With a key of your own, drop `base_url` and take a model of the service: the rest stays as it is.
"""

import asyncio
import json

import limen
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.testing.server import MockProvider

ADD = limen.ToolSpec(
    name="add",
    description="Add two integers.",
    parameters={
        "type": "object",
        "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
        "required": ["left", "right"],
    },
)


def run_tool(call: limen.ToolCallBlock) -> str:
    """Arguments cross the boundary as the model wrote them; reading them is the program's own decision."""
    arguments: dict[str, int] = json.loads(call.arguments)
    return str(arguments["left"] + arguments["right"])


async def turn(llm: limen.LlmRuntime, number: int, messages: list[limen.Message]) -> limen.Response:
    """Ask once, and print each chunk as it comes."""
    print(f"turn {number}")
    options = limen.GenerateOptions(provider="deepseek", model="deepseek-v4-flash", messages=messages, tools=[ADD])
    async with llm.stream(options) as stream:
        async for chunk in stream:
            print(" ", limen.encode(chunk).decode())
        return await stream.response()


async def main() -> None:
    """Ask, run the tool, ask again."""
    async with MockProvider("tools") as provider, limen.LlmRuntime() as llm:
        options = DeepSeekOptions(base_url=provider.base_url("openai-chat"), api_key="not-a-real-key")
        llm.register(["deepseek"], DeepSeekAdapter(options))
        messages = [limen.user("What is 20 + 22?")]

        first = await turn(llm, 1, messages)
        assert first.message is not None
        messages.append(first.message)
        messages += [limen.tool_result(call.id, run_tool(call)) for call in first.tool_calls]

        second = await turn(llm, 2, messages)
        print(f"answer: {second.text}")


if __name__ == "__main__":
    asyncio.run(main())
