"""The official client and limen, pointed at the same mock provider, agree on every script (issue 6)."""

import importlib
import json
from typing import Protocol

import pytest

from adapters.anthropic._messages_wire import asking
from limen.adapters.anthropic import AnthropicAdapter, AnthropicOptions
from limen.contract import Assembler, Finish, Response, ToolCallBlock, assemble
from limen.testing.server import SCENARIOS, MockProvider

pytest.importorskip("anthropic", reason="the official client is not installed: pip install anthropic")

WIRE_NAME = "anthropic-messages"
# Words of a failure: the client hands over the word, limen says what it means.
MEANINGS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "max-tokens",
    "refusal": "CONTENT_FILTER",
    "content_filter": "CONTENT_FILTER",
    "solar_flare": "UNKNOWN_FINISH",
}
# A stop that says nothing is no answer here (C12); the client has no opinion.
EMPTY = {"empty", "blank"}


class Usage(Protocol):
    """What the client counts."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None
    cache_creation_input_tokens: int | None


class Block(Protocol):
    """A block of the client's message."""

    type: str
    text: str
    thinking: str
    id: str
    name: str
    input: object


class Message(Protocol):
    """The client's message."""

    content: list[Block]
    stop_reason: str | None
    usage: Usage


async def by_client(base_url: str) -> Message:
    """What the official client makes of it."""
    anthropic = importlib.import_module("anthropic")
    async with anthropic.AsyncAnthropic(base_url=base_url, api_key="k", max_retries=0) as client:
        asked = {"model": "claude-x", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
        async with client.messages.stream(**asked) as stream:
            message: Message = await stream.get_final_message()
            return message


async def by_limen(base_url: str) -> Response:
    """What limen makes of it."""
    adapter = AnthropicAdapter(AnthropicOptions(base_url=base_url, api_key="k"))
    assembler = Assembler()
    async for chunk in adapter.stream(asking()):
        assembler.feed(chunk)
    await adapter.aclose()
    arrived = assembler.arrived()
    assert isinstance(arrived.finish, Finish)
    return assemble(arrived, arrived.finish.reason)


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "slow"])
async def test_official_client_agrees(scenario: str) -> None:
    """Text, thinking, calls, stop reason and counts are the same on both sides of the same bytes."""
    async with MockProvider(scenario) as mock:
        theirs = await by_client(mock.base_url(WIRE_NAME))
        ours = await by_limen(mock.base_url(WIRE_NAME))

    calls = [*ours.tool_calls, *ours.incomplete_tool_calls]
    usage = ours.usage
    assert ours.text == "".join(block.text for block in theirs.content if block.type == "text")
    assert ours.reasoning == "".join(block.thinking for block in theirs.content if block.type == "thinking")
    assert [(call.id, call.name) for call in calls] == [
        (block.id, block.name) for block in theirs.content if block.type == "tool_use"
    ]
    if theirs.stop_reason == "tool_use":
        assert [json.loads(call.arguments) for call in calls] == [
            block.input for block in theirs.content if block.type == "tool_use"
        ]
        assert all(isinstance(call, ToolCallBlock) for call in calls)
    kind = ours.finish.failure.code if ours.finish.failure else ours.finish.kind
    assert kind == ("EMPTY_RESPONSE" if scenario in EMPTY else MEANINGS[str(theirs.stop_reason)])
    if usage is not None:
        counted = theirs.usage
        assert (usage.input_tokens or 0, usage.output_tokens or 0) == (counted.input_tokens, counted.output_tokens)
        assert (usage.cache_read_tokens or 0) == (counted.cache_read_input_tokens or 0)
        assert (usage.cache_write_tokens or 0) == (counted.cache_creation_input_tokens or 0)
