"""The loop over real HTTP: a mock provider, limen's own adapter, and `converse` in both faces."""

import runpy
import threading
from pathlib import Path

import pytest

import limen
import limen.tools.sync
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.contract import ToolResultBlock
from limen.testing.server import MockProvider, Script, Text, ToolCall, Turn
from limen.tools import ChunkEvent, Ended, ResultEvent, ToolRegistry, converse, tool

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@tool
async def add(left: int, right: int) -> int:
    """Add two integers."""
    return left + right


OPTIONS = limen.GenerateOptions("deepseek", "deepseek-v4-flash", [limen.user("What is 20 + 22?")])


def adapter(provider: MockProvider) -> DeepSeekAdapter:
    """An adapter that asks the mock provider."""
    return DeepSeekAdapter(DeepSeekOptions(base_url=provider.base_url("openai-chat"), api_key="not-a-real-key"))


def test_the_example_agent_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """X8: examples/agent.py does the whole round trip and prints the result, the answer and the usage."""
    runpy.run_path(str(EXAMPLES / "agent.py"), run_name="__main__")

    assert capsys.readouterr().out.splitlines() == [
        "tool: 42",
        "The sum is 42.",
        "TokenUsage(input_tokens=102, output_tokens=23, cache_read_tokens=None, cache_write_tokens=None, "
        "reasoning_tokens=None)",
    ]


async def test_x8_a_round_trip_over_http() -> None:
    """X8: the tool's result reaches the provider in the second request, linked by the call's id."""
    async with MockProvider("tools") as provider, limen.LlmRuntime() as llm:
        llm.register(["deepseek"], adapter(provider))
        events = [event async for event in converse(llm, OPTIONS, ToolRegistry([add]))]
        second = provider.requests[1].body

    last = events[-1]
    assert isinstance(last, Ended)
    assert (last.why, last.response and last.response.text) == ("answer", "The sum is 42.")
    (result,) = [event.result for event in events if isinstance(event, ResultEvent)]
    assert isinstance(result, ToolResultBlock)
    assert result.content == "42"
    assert b'"role":"tool"' in second
    assert result.tool_call_id.encode() in second


def test_x8_a_round_trip_without_async() -> None:
    """X8: the sync face does the same round trip over HTTP."""
    with MockProvider("tools") as provider, limen.sync.LlmRuntime() as llm:
        llm.register(["deepseek"], adapter(provider))
        (*_, last) = limen.tools.sync.converse(llm, OPTIONS, ToolRegistry([add]))

    assert isinstance(last, Ended)
    assert (last.why, last.response and last.response.text) == ("answer", "The sum is 42.")


@pytest.mark.parametrize("fault", ["cut", "reset-mid-stream", "error-event"])
async def test_x8_a_provider_that_breaks_off_ends_the_run(fault: str) -> None:
    """X8: a connection that breaks after a tool's turn ends as `failure`, and the next run goes on from its history."""
    script = Script([Turn([ToolCall("c1", "add", '{"left":1,"right":2}')]), Turn([Text("three words here")])])
    async with MockProvider([script, script.with_faults(fault), script]) as provider, limen.LlmRuntime() as llm:
        llm.register(["deepseek"], adapter(provider))
        *_, last = [event async for event in converse(llm, OPTIONS, ToolRegistry([add]))]
        assert isinstance(last, Ended)
        assert last.why == "failure"
        options = limen.GenerateOptions("deepseek", "deepseek-v4-flash", last.messages[:3])
        *_, again = [event async for event in converse(llm, options, ToolRegistry([add]))]

    assert isinstance(again, Ended)
    assert (again.why, again.response and again.response.text) == ("answer", "three words here")


async def test_x8_an_abort_reaches_the_provider() -> None:
    """Q6, X8: an abort while the provider is silent closes its connection and ends the run as `aborted`."""
    controller = limen.AbortController()
    script = Script([Turn([Text(["first", " second"])])], faults=("stall-mid-stream",))
    async with MockProvider(script) as provider, limen.LlmRuntime() as llm:
        llm.register(["deepseek"], adapter(provider))
        options = limen.GenerateOptions("deepseek", "m", [limen.user("?")], signal=controller.signal)
        last = None
        async for event in converse(llm, options, ToolRegistry([add])):
            last = event
            if isinstance(event, ChunkEvent):
                threading.Thread(target=controller.abort).start()

    assert isinstance(last, Ended)
    assert last.why == "aborted"
