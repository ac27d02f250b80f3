"""Keyed tests against real services: each skips itself without its key, and none ever prints one.

Run with `python -m pytest -m live`.
"""

import os

import pytest

import limen

# route, the variable that holds its key, a small model
ROUTES = [
    ("deepseek", "DEEPSEEK_API_KEY", "deepseek-v4-flash"),
    ("openai", "OPENAI_API_KEY", "gpt-4.1-nano"),
    ("anthropic", "ANTHROPIC_API_KEY", "claude-haiku-4-5"),
    ("gemini", "GEMINI_API_KEY", "gemini-3-flash-preview"),
    ("ollama-cloud", "OLLAMA_API_KEY", "gpt-oss:20b"),
    ("cohere", "COHERE_API_KEY", "command-r7b-12-2024"),
    ("mistral", "MISTRAL_API_KEY", "mistral-small-latest"),
    ("responses", "OPENAI_API_KEY", "gpt-5-nano"),
    ("bedrock", "AWS_BEARER_TOKEN_BEDROCK", "us.amazon.nova-lite-v1:0"),
]

ADD = limen.ToolSpec(
    "add",
    "Add two whole numbers.",
    {
        "type": "object",
        "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
        "required": ["left", "right"],
    },
)


def need(variable: str) -> None:
    """Skip where the key is not set."""
    if not os.environ.get(variable, "").strip():
        pytest.skip(f"{variable} is not set")


@pytest.mark.live
@pytest.mark.parametrize(("route", "variable", "model"), ROUTES)
async def test_text(route: str, variable: str, model: str) -> None:
    """A real answer comes through as text, usage and one stop."""
    need(variable)
    async with limen.open_runtime(configured(route, variable)) as llm:
        question = limen.user("Reply with the one word: limen")
        response = await llm.complete(limen.GenerateOptions(route, model, [question], max_tokens=2000))

    assert "limen" in response.text.lower()
    assert response.finish.kind == "stop"
    assert response.usage is not None
    assert response.usage.output_tokens


@pytest.mark.live
@pytest.mark.parametrize(("route", "variable", "model"), ROUTES)
async def test_tool_round_trip(route: str, variable: str, model: str) -> None:
    """A real tool call comes back raw, and its result leads to an answer."""
    need(variable)
    async with limen.open_runtime(configured(route, variable)) as llm:
        messages = [limen.user("What is 20 + 22? Use the tool.")]
        first = await llm.complete(limen.GenerateOptions(route, model, messages, tools=[ADD], max_tokens=2000))
        assert first.message is not None
        assert [call.name for call in first.tool_calls] == ["add"] * len(first.tool_calls)
        results = [limen.tool_result(call.id, "42") for call in first.tool_calls]
        history = [*messages, first.message, *results]
        second = await llm.complete(limen.GenerateOptions(route, model, history, tools=[ADD], max_tokens=2000))

    assert "42" in second.text


ADAPTERS = {
    "deepseek": {"adapter": "deepseek"},
    "openai": {"adapter": "openai-chat"},
    "anthropic": {"adapter": "anthropic-messages"},
    "gemini": {"adapter": "gemini"},
    "ollama-cloud": {"adapter": "ollama", "dialect": "ollama-cloud"},
    "cohere": {"adapter": "cohere"},
    "mistral": {"adapter": "mistral"},
    "responses": {"adapter": "openai-responses"},
    "bedrock": {"adapter": "bedrock"},
}


def configured(route: str, variable: str) -> dict[str, object]:
    """One route; Bedrock's has a region too."""
    table: dict[str, object] = {**ADAPTERS[route], "api_key_env": variable}
    if route == "bedrock":
        table["options"] = {"region": os.environ.get("AWS_REGION", "us-east-1")}
    return {"routes": {route: table}}
