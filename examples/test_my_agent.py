"""Tests of one's own agent against a provider on this machine: real sockets, scripted answers, faults on command.

pytest examples/test_my_agent.py      # `mock_provider` comes with limen[mock]
"""

import pytest

import limen
from limen.testing.server import MockProvider


async def my_agent(llm: limen.LlmRuntime, question: str) -> str:
    """The code under test: one more try where an answer was cut."""
    try:
        return (await llm.complete("work/any-model", question)).text
    except limen.LlmError as error:
        if error.code != "STREAM_CLOSED":
            raise
        return (await llm.complete("work/any-model", question)).text


@pytest.mark.parametrize("answers", [["text"], ["text+cut", "text"]], ids=["well", "cut once"])
async def test_it_answers(mock_provider: MockProvider, answers: list[str]) -> None:
    """The agent answers, also where the first answer was cut."""
    mock_provider.use(answers)
    route = {"adapter": "openai-chat", "base_url": mock_provider.base_url("openai-chat"), "retry": {"max_retries": 0}}
    async with limen.open_runtime({"routes": {"work": route}}) as llm:
        assert await my_agent(llm, "Say hello.") == "Hello from the mock provider."
    assert len(mock_provider.requests) == len(answers)


async def test_it_does_not_hide_a_wrong_key(mock_provider: MockProvider) -> None:
    """A refused key is the caller's to see."""
    mock_provider.use("text", "401")
    route = {"adapter": "openai-chat", "base_url": mock_provider.base_url("openai-chat")}
    async with limen.open_runtime({"routes": {"work": route}}) as llm:
        with pytest.raises(limen.LlmError, match="AUTH"):
            await my_agent(llm, "Say hello.")
