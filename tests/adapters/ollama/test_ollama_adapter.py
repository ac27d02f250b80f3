"""Ollama's adapter over real sockets: conversations through the runtime, lists of models, configuration, errors."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

import limen
from adapters.ollama._ollama_wire import asking
from limen.adapters.ollama import WIRE, OllamaAdapter, OllamaOptions
from limen.contract import (
    GenerateOptions,
    LlmError,
    ModelInfo,
    ReasoningBlock,
    ToolCallBlock,
    codes,
    tool_result,
    user,
)
from limen.runtime import LlmRuntime
from limen.testing.server import MockProvider

NAME = "ollama-chat"
QUESTION = user("What is 20 + 22?")


@asynccontextmanager
async def serving(answer: Callable[[str, bytes], tuple[int, bytes]]) -> AsyncIterator[str]:
    """A server on loopback that answers each request by path and body; yields its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for _ in range(100):
                head = await reader.readuntil(b"\r\n\r\n")
                size = next((int(row[15:]) for row in head.lower().split(b"\r\n") if row[:15] == b"content-length:"), 0)
                status, body = answer(head.split()[1].decode(), await reader.readexactly(size))
                writer.write(b"HTTP/1.1 %d OK\r\ncontent-type: application/json\r\n" % status)
                writer.write(b"content-length: %d\r\n\r\n%b" % (len(body), body))
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()


async def test_two_turns_through_the_runtime() -> None:
    """Thinking, parallel calls and their results of a first answer stand in the second request, without a key (N4)."""
    async with MockProvider("parallel-tools") as mock, LlmRuntime() as runtime:
        runtime.register(["local"], OllamaAdapter(OllamaOptions(base_url=mock.base_url(NAME))))
        first = await runtime.stream(GenerateOptions("local", "qwen3", [QUESTION])).response()
        assert first.message is not None
        thought = limen.Message(
            "assistant", (ReasoningBlock("Hm."), *first.message.content), source=first.message.source
        )
        results = [tool_result(call.id, "42", is_error=call.id == "call_add_2") for call in first.tool_calls]
        history = [QUESTION, thought, *results]
        second = await runtime.stream(GenerateOptions("local", "qwen3", history)).response()
        asked, again = await mock.request(1), await mock.request(2)

    assert first.tool_calls == (
        ToolCallBlock("call_add_1", "add", '{"left":20,"right":22}'),
        ToolCallBlock("call_add_2", "add", '{"left":1,"right":2}'),
    )
    assert (first.replay_state, first.replay_dropped, second.text) == (None, (), "The sums are 42 and 3.")
    assert (asked.path, asked.header("authorization")) == ("/api/chat", None)
    assert again.json["messages"] == [
        {"role": "user", "content": "What is 20 + 22?"},
        {
            "role": "assistant",
            "content": "",
            "thinking": "Hm.",
            "tool_calls": [
                {"id": "call_add_1", "function": {"name": "add", "arguments": {"left": 20, "right": 22}}},
                {"id": "call_add_2", "function": {"name": "add", "arguments": {"left": 1, "right": 2}}},
            ],
        },
        {"role": "tool", "content": "42", "tool_name": "add", "tool_call_id": "call_add_1"},
        {"role": "tool", "content": "Error: 42", "tool_name": "add", "tool_call_id": "call_add_2"},
    ]


async def test_a_configured_route() -> None:
    """`keep_alive` and `options` of a configured route go with its calls; no key is needed (K4)."""
    async with MockProvider("reasoning") as mock:
        options = {"keep_alive": "10m", "options": {"num_ctx": 8192}}
        route = {"adapter": "ollama", "base_url": mock.base_url(NAME), "options": options}
        async with limen.open_runtime({"routes": {"local": route}}) as llm:
            response = await llm.complete(GenerateOptions("local", "qwen3", [QUESTION], reasoning_effort="off"))
        request = await mock.request()

    assert (response.reasoning, response.text) == (
        "The user wants a greeting, so I greet.",
        "Hello, after some thought.",
    )
    assert {name: request.json[name] for name in ("keep_alive", "options", "think")} == {**options, "think": False}


async def test_a_route_with_options_that_do_not_exist() -> None:
    """An option that the adapter does not have is INVALID_CONFIG."""
    route = {"adapter": "ollama", "options": {"keep_alife": "10m"}}
    with pytest.raises(LlmError) as caught:
        async with limen.open_runtime({"routes": {"local": route}}):
            pass

    assert caught.value.code == codes.INVALID_CONFIG


async def test_the_cloud_needs_a_key() -> None:
    """Ollama's cloud has an address and a key of its own; the local server has neither key nor need of one."""
    adapter = OllamaAdapter(OllamaOptions(dialect="ollama-cloud"))
    with pytest.raises(LlmError) as caught:
        [chunk async for chunk in adapter.stream(asking())]
    await adapter.aclose()
    rows = {name: (codec.base_url, codec.requires_key) for name, codec in WIRE.codecs.items()}

    assert (caught.value.code, "OLLAMA_API_KEY" in str(caught.value)) == (codes.MISSING_CREDENTIAL, True)
    assert rows == {"ollama": ("http://localhost:11434", False), "ollama-cloud": ("https://ollama.com", True)}


async def test_listed_models_are_asked_for_their_facts() -> None:
    """Each listed model is asked once; a failed one stays, one without chats goes, configured facts win (R10)."""
    asked: list[str] = []
    facts: Mapping[str, tuple[int, object]] = {
        "a": (200, {"model_info": {"general.architecture": "x", "x.context_length": 4096}}),
        "b": (404, {"error": "model 'b' not found"}),
        "c": (200, {"capabilities": ["embedding"]}),
        "d": (200, {"model_info": {"general.architecture": "x", "x.context_length": 8192}}),
        **{f"m{number}": (200, {}) for number in range(20)},
    }

    def answer(path: str, body: bytes) -> tuple[int, bytes]:
        if path == "/api/tags":
            return 200, json.dumps({"models": [{"model": name} for name in facts]}).encode()
        assert path == "/api/show"
        name = json.loads(body)["model"]
        asked.append(name)
        status, told = facts[name]
        return status, json.dumps(told).encode()

    async with serving(answer) as url:
        known = ModelInfo("", "d", "Dee", context_window=1024)
        adapter = OllamaAdapter(OllamaOptions(base_url=url, models=[known]))
        listed = await adapter.list_models("local")
        await adapter.aclose()

    assert sorted(asked) == sorted(facts)
    assert listed[:3] == (
        ModelInfo("local", "a", "a", context_window=4096),
        ModelInfo("local", "b", "b"),
        ModelInfo("local", "d", "Dee", context_window=1024),
    )
    assert [model.id for model in listed[3:]] == [f"m{number}" for number in range(20)]


async def test_a_list_that_fails() -> None:
    """A server that refuses its list is a failure with its own words."""
    async with serving(lambda _path, _body: (503, b'{"error":"server busy, please try again."}')) as url:
        adapter = OllamaAdapter(OllamaOptions(base_url=url))
        with pytest.raises(LlmError) as caught:
            await adapter.list_models("local")
        await adapter.aclose()

    assert (caught.value.code, caught.value.failure.status) == (codes.OVERLOADED, 503)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, {"error": "registry.ollama.ai/library/gemma:2b does not support tools"}, codes.INVALID_REQUEST),
        (400, {"error": '"gemma" does not support thinking'}, codes.INVALID_REQUEST),
        (400, {"error": 'option "num_ctx" must be of type integer'}, codes.INVALID_REQUEST),
        (400, {"error": "prompt too long; exceeded max context length by 12 tokens"}, codes.CONTEXT_WINDOW_EXCEEDED),
        (401, {"error": "unauthorized", "signin_url": "https://ollama.com/connect"}, codes.AUTH),
        (403, {"error": "remote model is unavailable"}, codes.AUTH),
        (404, {"error": "model 'x' not found"}, codes.MODEL_NOT_FOUND),
        (404, {"error": 'model "x" not found, try pulling it first'}, codes.MODEL_NOT_FOUND),
        (404, "404 page not found", "HTTP_404"),
        (429, {"error": "you (someone) have reached your weekly usage limit, upgrade for higher limits"}, codes.QUOTA),
        (429, {"error": "too many concurrent requests"}, codes.RATE_LIMIT),
        (499, {"error": "request canceled"}, "HTTP_499"),
        (500, {"error": "model requires more system memory (5.6 GiB) than is available (3.1 GiB)"}, codes.SERVER),
        (502, {"error": "upstream is unreachable"}, codes.SERVER),
        (503, {"error": "server busy, please try again.  maximum pending requests exceeded"}, codes.OVERLOADED),
    ],
)
def test_errors(status: int, body: object, code: str) -> None:
    """Errors are an object with a sentence, which is the message (E3); NQ321: a spent week is a quota."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    failure = WIRE.classify(status, {}, data)
    words = body if isinstance(body, str) else str(json.loads(data)["error"]).split("; ")[0]

    assert (failure.code, failure.status) == (code, status)
    assert failure.message.split("; ")[0].split() == words.split()
