"""The DeepSeek adapter over real HTTP on loopback: requests, streams, errors, models."""

import pytest

from chat_requests import response_of
from limen.adapters.deepseek import WIRE, DeepSeekAdapter, DeepSeekOptions
from limen.contract import (
    Effort,
    Finish,
    GenerateOptions,
    LlmError,
    Message,
    ModelInfo,
    ReasoningBlock,
    StreamChunk,
    TextBlock,
    ToolCallBlock,
    ToolSpec,
    codes,
    system,
    tool_result,
    user,
)
from limen.testing.server import MockProvider, Reasoning, Script, Text, ToolCall, Turn, Usage

ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"l": {"type": "integer"}}})


def adapter_for(mock: MockProvider, **more: object) -> DeepSeekAdapter:
    """Return an adapter that calls the mock provider."""
    return DeepSeekAdapter(DeepSeekOptions(base_url=mock.base_url("openai-chat"), api_key="test-key-1", **more))  # type: ignore[arg-type]


async def collect(adapter: DeepSeekAdapter, **fields: object) -> list[StreamChunk]:
    """Return all chunks of one call."""
    fields.setdefault("messages", [user("What is 20 + 22?")])
    options = GenerateOptions(provider="deepseek", model="deepseek-v4-flash", **fields)  # type: ignore[arg-type]
    return [chunk async for chunk in adapter.stream(options)]


async def test_a_tool_round_trip_passes_reasoning_back() -> None:
    """Reasoning and calls of a turn go back as DeepSeek wants them, from the first turn's own message (Q042, N4)."""
    script = Script(
        [
            Turn([Reasoning(["I should ", "add."]), ToolCall("call_00_x", "add", ['{"l":', "20}"])]),
            Turn([Text(["42"])], usage=Usage(input=20, output=1, cache_read=8)),
        ]
    )
    async with MockProvider(script) as mock:
        adapter = adapter_for(mock)
        first = response_of(await collect(adapter, tools=[ADD]))
        assert first.message is not None
        history = [user("What is 20 + 22?"), first.message, tool_result("call_00_x", "42")]
        second = response_of(await collect(adapter, tools=[ADD], messages=history, reasoning_effort="max"))
        await adapter.aclose()
    assert first.message.content == (ReasoningBlock("I should add."), ToolCallBlock("call_00_x", "add", '{"l":20}'))
    assert mock.requests[1].json == {
        "model": "deepseek-v4-flash",
        "messages": [
            {"role": "user", "content": "What is 20 + 22?"},
            {
                "role": "assistant",
                "content": "",
                "reasoning_content": "I should add.",
                "tool_calls": [
                    {"id": "call_00_x", "type": "function", "function": {"name": "add", "arguments": '{"l":20}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "call_00_x", "content": "42"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "add",
                    "description": "Adds.",
                    "parameters": {"type": "object", "properties": {"l": {"type": "integer"}}},
                },
            }
        ],
        "thinking": {"type": "enabled"},
        "reasoning_effort": "max",
    }
    assert (second.text, second.finish.kind) == ("42", "stop")
    assert second.usage is not None
    assert (second.usage.input_tokens, second.usage.cache_read_tokens) == (20, 8)


async def test_the_headers_of_a_request() -> None:
    """The key is a Bearer token, the user agent names application and limen (Q7), nothing else is added."""
    async with MockProvider("text") as mock:
        adapter = adapter_for(mock, app="my-app/1.0", headers={"X-Team": "a"})
        chunks = await collect(adapter)
        await adapter.aclose()
    request = mock.requests[0]
    assert isinstance(chunks[-1], Finish)
    assert [request.header(name) for name in ("authorization", "content-type", "x-team")] == [
        "Bearer test-key-1",
        "application/json",
        "a",
    ]
    assert str(request.header("user-agent")).startswith("my-app/1.0 limen/")


async def test_efforts_change_from_call_to_call() -> None:
    """Low, off, max: each call has its own fields, and an effort that DeepSeek does not know sends nothing (R4)."""
    async with MockProvider("text") as mock:
        adapter = adapter_for(mock)
        for effort in ("low", "off", "max"):
            await collect(adapter, reasoning_effort=effort)
        with pytest.raises(LlmError, match="the efforts are off, low, high, max") as caught:
            await collect(adapter, reasoning_effort="medium")
        await adapter.aclose()
    assert caught.value.code == codes.UNSUPPORTED_REASONING_EFFORT
    assert [(one.at("thinking", "type"), one.json.get("reasoning_effort")) for one in mock.requests] == [
        ("enabled", "low"),
        ("disabled", None),
        ("enabled", "max"),
    ]


async def test_a_refusal_comes_before_the_key_is_asked_for() -> None:
    """What cannot be sent is said before credentials and network are touched (Q1)."""

    class Never:
        reference = "nowhere"

        async def api_key(self) -> str | None:
            """Fail the test."""
            raise AssertionError("asked for a key")

    adapter = DeepSeekAdapter(DeepSeekOptions(api_key=Never()))
    with pytest.raises(LlmError) as caught:
        await collect(adapter, seed=7)
    assert (caught.value.code, caught.value.failure.phase) == (codes.UNSUPPORTED, "resolve")


async def test_without_a_key_it_says_where_one_may_be_put() -> None:
    """DeepSeek requires a key, and none is `MISSING_CREDENTIAL` (K4)."""
    with pytest.raises(LlmError) as caught:
        await collect(DeepSeekAdapter())
    assert (caught.value.code, "DEEPSEEK_API_KEY" in caught.value.failure.message) == (codes.MISSING_CREDENTIAL, True)


async def test_an_error_answer_is_raised_with_its_facts() -> None:
    """An HTTP failure is raised with code, status and the provider's words (E1)."""
    async with MockProvider("text", faults=("429",)) as mock:
        adapter = adapter_for(mock)
        with pytest.raises(LlmError) as caught:
            await collect(adapter)
        await adapter.aclose()
    failure = caught.value.failure
    assert (failure.code, failure.status, failure.phase) == (codes.RATE_LIMIT, 429, "headers")


async def test_models_from_the_server_and_from_the_options() -> None:
    """The server's list, with configured facts laid over it; an unlisted model resolves to its id (R2, R10)."""
    facts = ModelInfo("any", "mock-text", "Mine", context_window=1000, efforts=(Effort("high", "High"),))
    async with MockProvider("text") as mock:
        adapter = adapter_for(mock, models=[facts], default_max_tokens=9)
        listed = await adapter.list_models("deepseek")
        known = await adapter.resolve_model("deepseek", "mock-text")
        unknown = await adapter.resolve_model("deepseek", "x")
        await collect(adapter)
        await adapter.aclose()
    assert ("mock-text", 1000) in {(model.id, model.context_window) for model in listed}
    assert (known.provider, known.name, known.efforts) == ("deepseek", "Mine", (Effort("high", "High"),))
    assert [effort.id for effort in unknown.efforts or ()] == ["off", "low", "high", "max"]
    assert mock.requests[-1].json["max_tokens"] == 9


def test_its_dialects() -> None:
    """The adapter is DeepSeek's: its two addresses, and no other gateway's row."""
    with pytest.raises(LlmError, match="no dialect 'groq'; it has deepseek, deepseek-beta"):
        DeepSeekAdapter(DeepSeekOptions(dialect="groq"))
    DeepSeekAdapter(DeepSeekOptions(dialect="deepseek-beta"))
    assert WIRE.name == "openai-chat"


async def test_a_whole_history_is_checked() -> None:
    """An unanswered call is refused by the bare adapter too, naming the message (N1)."""
    history = [system("s"), user("q"), Message("assistant", (TextBlock("t"), ToolCallBlock("c", "add", "{}")))]
    with pytest.raises(LlmError, match=r"messages\[2\]") as caught:
        await collect(DeepSeekAdapter(DeepSeekOptions(api_key="k")), messages=history)
    assert caught.value.code == codes.INVALID_OPTIONS
