"""The Responses adapter over real sockets, against the mock provider's own encoder."""

import json

import pytest

from adapters.openai_responses._responses_wire import asking
from limen.adapters.openai_responses import OpenAIResponsesAdapter, OpenAIResponsesOptions
from limen.contract import (
    Assembler,
    ChunkGrammar,
    Finish,
    GenerateOptions,
    LlmError,
    ModelInfo,
    Response,
    ToolSpec,
    assemble,
    codes,
    tool_result,
    user,
)
from limen.runtime import LlmRuntime
from limen.testing.scripts import Reasoning, Script, Text, ToolCall, Turn
from limen.testing.server import MockProvider

KEY = "sk-not-a-real-key"
WIRE_NAME = "openai-responses"


async def answer(adapter: OpenAIResponsesAdapter, options: GenerateOptions) -> Response:
    """One answer, checked by the grammar; what the adapter raises is raised."""
    grammar, assembler = ChunkGrammar(), Assembler()
    stream = adapter.stream(options)
    async for chunk in stream:
        grammar.feed(chunk)
        assembler.feed(chunk)
    grammar.eof()
    arrived = assembler.arrived()
    assert isinstance(arrived.finish, Finish)
    return assemble(arrived, arrived.finish.reason, replay_dropped=stream.call_facts.replay_dropped)


async def test_two_turns_through_the_runtime() -> None:
    """Sealed reasoning and parallel calls go back exactly as they came, read from the second request's body (N4)."""
    script = Script(
        [
            Turn([Reasoning("Think."), ToolCall("call_a", "add", '{"left": 1}'), ToolCall("call_b", "now")]),
            Turn([Text("42")]),
        ]
    )
    async with MockProvider(script) as mock, LlmRuntime() as llm:
        adapter = OpenAIResponsesAdapter(OpenAIResponsesOptions(base_url=mock.base_url(WIRE_NAME), api_key=KEY))
        llm.register(["r"], adapter)
        tools = [ToolSpec("add"), ToolSpec("now")]
        first = await llm.complete(GenerateOptions("r", "m", [user("q")], tools=tools))
        assert first.message is not None
        results = [tool_result(call.id, "1") for call in first.tool_calls]
        second = await llm.complete(GenerateOptions("r", "m", [user("q"), first.message, *results], tools=tools))
        sent = [json.loads(request.body) for request in mock.requests]

    assert second.text == "42"
    assert sent[1]["input"] == [
        {"role": "user", "content": "q"},
        {
            "id": "rs_mock_0",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Think."}],
            "encrypted_content": "c2lnbmF0dXJl",
        },
        {
            "id": "fc_mock_1",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_a",
            "name": "add",
            "arguments": '{"left": 1}',
        },
        {
            "id": "fc_mock_2",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_b",
            "name": "now",
            "arguments": "{}",
        },
        {"type": "function_call_output", "call_id": "call_a", "output": "1"},
        {"type": "function_call_output", "call_id": "call_b", "output": "1"},
    ]
    assert sent[1]["include"] == ["reasoning.encrypted_content"]
    assert sent[1]["store"] is False


async def test_key_address_and_list_of_models() -> None:
    """The key travels as a bearer token; the list of models is the host's own (R10)."""
    async with MockProvider() as mock:
        options = OpenAIResponsesOptions(base_url=mock.base_url(WIRE_NAME), api_key=KEY)
        adapter = OpenAIResponsesAdapter(options)
        response = await answer(adapter, asking())
        models = await adapter.list_models("r")
        resolved = await adapter.resolve_model("r", "mock-text")
        await adapter.aclose()
        (call, _) = mock.requests

    assert response.text == "Hello from the mock provider."
    assert (call.path, call.header("authorization")) == ("/v1/responses", f"Bearer {KEY}")
    assert all(isinstance(model, ModelInfo) for model in models)
    assert resolved.efforts is None


@pytest.mark.parametrize(
    ("fault", "code"),
    [("429", codes.RATE_LIMIT), ("401", codes.AUTH), ("500", codes.SERVER), ("cut", codes.STREAM_CLOSED)],
)
async def test_failures_over_a_socket(fault: str, code: str) -> None:
    """Statuses and cuts have their codes (E1, E6)."""
    async with MockProvider() as mock:
        options = OpenAIResponsesOptions(base_url=mock.base_url(WIRE_NAME, f"text+{fault}"), api_key=KEY)
        adapter = OpenAIResponsesAdapter(options)
        with pytest.raises(LlmError) as caught:
            await answer(adapter, asking())
        await adapter.aclose()

    assert caught.value.code == code


async def test_a_missing_key() -> None:
    """A route to OpenAI without a key says where one may be put (K4)."""
    with pytest.raises(LlmError) as caught:
        await answer(OpenAIResponsesAdapter(), asking())

    assert caught.value.code == codes.MISSING_CREDENTIAL
    assert "OPENAI_API_KEY" in str(caught.value)
