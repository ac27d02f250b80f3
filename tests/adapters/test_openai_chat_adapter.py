"""The chat-completions adapter over real HTTP on loopback, in several dialects."""

import pytest

from chat_requests import response_of
from limen.adapters.openai_chat import WIRE, OpenAIChatAdapter, OpenAIChatOptions
from limen.contract import (
    FinishReason,
    GenerateOptions,
    LlmError,
    Message,
    ReasoningBlock,
    StreamChunk,
    TextBlock,
    TokenUsage,
    codes,
    user,
)
from limen.testing.server import MockProvider


async def collect(adapter: OpenAIChatAdapter, **fields: object) -> list[StreamChunk]:
    """Return all chunks of one call."""
    options = GenerateOptions(provider="work", model="mock", messages=[user("hi")], **fields)  # type: ignore[arg-type]
    return [chunk async for chunk in adapter.stream(options)]


async def test_an_address_of_ones_own_is_generic_and_may_be_plain_loopback() -> None:
    """With a base URL and no dialect nothing is guessed; a key may go over plain http to this machine (K6)."""
    async with MockProvider("text") as mock:
        adapter = OpenAIChatAdapter(OpenAIChatOptions(base_url=mock.base_url("openai-chat"), api_key="k"))
        response = response_of(await collect(adapter, system="s", max_tokens=5))
        await adapter.aclose()
    request = mock.requests[0]
    assert (response.finish, bool(response.text)) == (FinishReason("stop"), True)
    assert isinstance(response.usage, TokenUsage)
    assert request.header("authorization") == "Bearer k"
    assert request.json == {
        "model": "mock",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 5,
    }


async def test_a_server_without_a_key_gets_none() -> None:
    """A route that names no credential sends none (K4)."""
    async with MockProvider("text") as mock:
        adapter = OpenAIChatAdapter(OpenAIChatOptions(base_url=mock.base_url("openai-chat")))
        await collect(adapter)
        await adapter.aclose()
    assert mock.requests[0].header("authorization") is None


async def test_without_address_and_dialect_it_is_openais() -> None:
    """No address is OpenAI's row, which requires a key and names its variable (K4)."""
    with pytest.raises(LlmError) as caught:
        await collect(OpenAIChatAdapter())
    assert (caught.value.code, "OPENAI_API_KEY" in caught.value.failure.message) == (codes.MISSING_CREDENTIAL, True)


async def test_a_dialect_with_an_address_of_ones_own() -> None:
    """A named row is followed wherever it is served: Azure's key header, OpenAI's cap."""
    async with MockProvider("text") as mock:
        adapter = OpenAIChatAdapter(
            OpenAIChatOptions(base_url=mock.base_url("openai-chat"), api_key="k-1", dialect="azure")
        )
        await collect(adapter, max_tokens=5)
        await adapter.aclose()
    request = mock.requests[0]
    assert (request.header("api-key"), request.header("authorization")) == ("k-1", None)
    assert request.json["max_completion_tokens"] == 5


def test_a_dialect_that_needs_an_address_or_does_not_exist() -> None:
    """Azure has no address of its own; a row that is none is `UNSUPPORTED` with the rows that are."""
    found: list[str] = []
    for options in (OpenAIChatOptions(dialect="azure"), OpenAIChatOptions(dialect="nope")):
        with pytest.raises(LlmError) as caught:
            OpenAIChatAdapter(options)
        found.append(caught.value.code)
    assert found == [codes.INVALID_CONFIG, codes.UNSUPPORTED]


async def test_what_an_earlier_turn_loses_is_reported() -> None:
    """Facts of the call say which state was not used, and ids that the answer named (R5)."""
    history = [user("q"), Message("assistant", (ReasoningBlock("r"), TextBlock("t"))), user("and?")]
    async with MockProvider("text") as mock:
        adapter = OpenAIChatAdapter(OpenAIChatOptions(base_url=mock.base_url("openai-chat")))
        stream = adapter.stream(GenerateOptions("work", "mock", history))
        chunks = [chunk async for chunk in stream]
        await adapter.aclose()
    assert response_of(chunks).finish.kind == "stop"
    assert [drop.message_index for drop in stream.call_facts.replay_dropped] == [1]


async def test_abandoning_a_stream_closes_its_connection() -> None:
    """Leaving early closes the socket before it returns (Q6)."""
    async with MockProvider("text", faults=("stall-mid-stream",)) as mock:
        adapter = OpenAIChatAdapter(OpenAIChatOptions(base_url=mock.base_url("openai-chat")))
        stream = adapter.stream(GenerateOptions("work", "mock", [user("hi")]))
        first = await stream.__anext__()
        await stream.aclose()
        request = await mock.request(1)
        await request.closed.wait(5)
        await adapter.aclose()
    assert first is not None


def test_the_packages_share_one_wire() -> None:
    """The wire without its network is the family's: all dialects, by name."""
    assert (WIRE.name, WIRE.default_dialect, "groq" in WIRE.dialects) == ("openai-chat", "generic", True)


def test_the_repr_of_options_shows_no_key() -> None:
    """A key is nowhere in a repr (E5)."""
    assert "secret-1" not in repr(OpenAIChatOptions(api_key="secret-1", headers={"x": "secret-1"}))
