"""Cohere's adapter over real HTTP on loopback: two turns, errors, models."""

import pytest

import limen
from chat_requests import response_of
from limen.adapters.cohere import WIRE, CohereAdapter, CohereOptions
from limen.contract import (
    GenerateOptions,
    LlmError,
    ModelInfo,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolSpec,
    codes,
    tool_result,
    user,
)
from limen.testing.server import MockProvider, Raw, Script, Text, ToolCall, Turn

ADD = ToolSpec("add", "Adds.", {"type": "object"})
PLAN = 'event: tool-plan-delta\ndata: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I will add."}}}\n\n'


async def test_two_turns_through_the_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan, parallel calls and results go back as the API wants them, from the first turn's own message (N4)."""
    calls = [ToolCall("add_x1", "add", ['{"l": ', "1.50}"]), ToolCall("add_x2", "add", [])]
    script = Script([Turn([Raw(PLAN), *calls]), Turn([Text(["1.5"])])])
    async with MockProvider(script) as mock:
        table = {"adapter": "cohere", "base_url": mock.base_url("cohere"), "api_key_env": "MY_COHERE_KEY"}
        monkeypatch.setenv("MY_COHERE_KEY", "test-key-1")
        async with limen.open_runtime({"routes": {"c": table}}) as llm:
            options = GenerateOptions("c", "command-a", [user("Add")], tools=[ADD])
            first = await llm.complete(options)
            assert first.message is not None
            history = [user("Add"), first.message, tool_result("add_x1", "1.5"), tool_result("add_x2", "0")]
            second = await llm.complete(GenerateOptions("c", "command-a", history, tools=[ADD]))
    assert first.message.content == (
        ReasoningBlock("I will add."),
        ToolCallBlock("add_x1", "add", '{"l": 1.50}'),
        ToolCallBlock("add_x2", "add", "{}"),
    )
    assert (second.text, second.replay_dropped) == ("1.5", ())
    request = mock.requests[1]
    assert (request.path, request.header("authorization")) == ("/cohere/v2/chat", "Bearer test-key-1")
    assert request.json["messages"] == [
        {"role": "user", "content": "Add"},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "add_x1", "type": "function", "function": {"name": "add", "arguments": '{"l": 1.50}'}},
                {"id": "add_x2", "type": "function", "function": {"name": "add", "arguments": "{}"}},
            ],
            "tool_plan": "I will add.",
        },
        {"role": "tool", "tool_call_id": "add_x1", "content": "1.5"},
        {"role": "tool", "tool_call_id": "add_x2", "content": "0"},
    ]


async def test_text_without_a_key_and_the_list_of_models() -> None:
    """A call without a key is refused before any I/O; the list has names and windows, configured facts over them."""
    async with MockProvider("text") as mock:
        facts = [ModelInfo("c", "mock-text", "Mine", default_max_tokens=5)]
        adapter = CohereAdapter(CohereOptions(base_url=mock.base_url("cohere"), api_key="test-key-1", models=facts))
        chunks = [chunk async for chunk in adapter.stream(GenerateOptions("c", "m", [user("Hi")]))]
        models = await adapter.list_models("c")
        await adapter.aclose()
        bare = CohereAdapter(CohereOptions(base_url=mock.base_url("cohere")))
        with pytest.raises(LlmError, match="MISSING_CREDENTIAL"):
            [chunk async for chunk in bare.stream(GenerateOptions("c", "m", [user("Hi")]))]
        await bare.aclose()
    message = response_of(chunks).message
    assert message is not None
    assert message.content == (TextBlock("Hello from the mock provider."),)
    known = next(model for model in models if model.id == "mock-text")
    assert (known.name, known.context_window, known.default_max_tokens) == ("Mine", 256000, 5)
    assert len(mock.requests) == 2


def test_R10_models_have_only_facts_that_the_list_states() -> None:
    """Names, windows, and images where `vision` is a feature; a row without a name is passed over."""
    body = b"""{"models":[{"name":"a","context_length":128000.0,"features":["tools","vision"],"endpoints":["chat"]},
        {"name":"b","context_length":0,"features":null},{"name":null}],"next_page_token":null}"""
    assert WIRE.codec(None).parse_models("c", body) == (
        ModelInfo("c", "a", "a", input_modalities=("text", "image"), context_window=128000),
        ModelInfo("c", "b", "b"),
    )
    with pytest.raises(LlmError) as caught:
        WIRE.codec(None).parse_models("c", b"[]")
    assert caught.value.code == codes.INVALID_CATALOG


TRIAL = "You are using a Trial key, which is limited to %s. You can continue to use the Trial key for free"


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, '{"message":"invalid request: x"}', "INVALID_REQUEST"),
        (400, '{"error_type":"TOO_MANY_TOKENS","message":"too many tokens: x"}', "CONTEXT_WINDOW_EXCEEDED"),
        (400, '{"message":"too many tokens: total number of tokens"}', "CONTEXT_WINDOW_EXCEEDED"),
        (401, '{"message":"invalid api token"}', "AUTH"),
        (403, "{}", "AUTH"),
        (404, '{"message":"model \'x\' not found, make sure"}', "MODEL_NOT_FOUND"),
        (404, "{}", "HTTP_404"),
        (422, '{"message":"x"}', "INVALID_REQUEST"),
        (429, '{"message":"%s"}' % (TRIAL % "1000 API calls / month"), "QUOTA"),
        (429, '{"message":"%s"}' % (TRIAL % "40 API calls / minute"), "RATE_LIMIT"),
        (498, '{"message":"invalid token"}', "AUTH"),
        (499, '{"message":"request cancelled"}', "HTTP_499"),
        (500, '{"message":"internal server error"}', "SERVER"),
        (501, '{"message":"not implemented"}', "SERVER"),
        (503, '{"message":"service unavailable"}', "SERVER"),
        (504, '{"message":"timeout"}', "TIMEOUT"),
    ],
)
def test_E3_errors_of_the_vendor(status: int, body: str, code: str) -> None:
    """Status and sentence give the code."""
    assert limen.classify_error("cohere", status, {}, body.encode()).code == code
