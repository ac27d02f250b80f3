"""What a caller's checker sees of tools: each line is a claim that mypy and pyright both hold (run by `make types`)."""

from collections.abc import Sequence
from typing import assert_never, assert_type

import msgspec

import limen
import limen.tools.sync
from limen import tools
from limen.tools import ToolContext, ToolRegistry, converse, run_tool_calls, tool


class Weather(msgspec.Struct):
    """A type of an answer."""

    city: str


@tool
async def add(left: int, right: int = 1) -> int:
    """Add two integers."""
    return left + right


@tool(name="minus", parallel=False, timeout=3)
def subtract(left: int, right: int, context: ToolContext) -> str:
    """Subtract."""
    return f"{context.name} {left - right}"


def made() -> None:
    """A tool is a `Tool`, and calling it is calling its function, with the function's own types."""
    tool_made: tools.Tool = add
    assert_type(subtract.timeout, float | None)
    assert_type(tool_made.name, str)
    assert_type(ToolRegistry([add, subtract]).names, tuple[str, ...])
    assert_type(ToolRegistry().get("add"), tools.Tool | None)
    assert_type(ToolRegistry().specs(), tuple[limen.ToolSpec, ...])


async def calls(registry: ToolRegistry, response: limen.Response) -> None:
    """A function keeps its types, and results are typed to the leaf."""
    assert_type(await add(1, right=2), int)
    assert_type(await run_tool_calls(response.tool_calls, registry), list[limen.ToolResultBlock])
    assert_type(response.parse(Weather), Weather)
    assert_type(response.parse(list[int]), list[int])
    assert_type(limen.JsonSchema.of(Weather), limen.JsonSchema)


async def conversation(llm: limen.LlmRuntime, options: limen.GenerateOptions, registry: ToolRegistry) -> str:
    """The runtime is a model for `converse`, and the events are a closed union."""

    def hook(call: limen.ToolCallBlock) -> tools.Verdict:
        return tools.Deny("no") if call.name == "delete" else None

    async def ask_a_person(call: limen.ToolCallBlock) -> tools.Allow | tools.Replace:
        return tools.Replace({"left": 1}) if call.name == "add" else tools.Allow()

    async for event in converse(llm, options, registry, before_call=hook):
        assert_type(event, tools.Event)
        assert_type(event.messages, Sequence[limen.Message])
    async for event in converse(llm, options, registry, max_turns=3, before_call=ask_a_person):
        match event:
            case tools.ChunkEvent(chunk=chunk):
                assert_type(chunk, limen.StreamChunk)
            case tools.ResultEvent(result=result):
                assert_type(result, limen.ToolResultBlock)
            case tools.Ended(response=response, usage=usage):
                assert_type(response, limen.Response | None)
                assert_type(usage, limen.TokenUsage | None)
                return event.why
            case _:
                assert_never(event)
    return ""


def without_async(llm: limen.sync.LlmRuntime, options: limen.GenerateOptions, registry: ToolRegistry) -> None:
    """The sync runtime is a model for the sync face."""
    for event in limen.tools.sync.converse(llm, options, registry):
        assert_type(event, tools.Event)
