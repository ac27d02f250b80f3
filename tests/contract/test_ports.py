"""R5, R10: what the seams promise by themselves, without any adapter behind them."""

from collections.abc import AsyncIterator

import pytest

from limen.contract import (
    WIRE_TAP,
    AdapterCall,
    BatchSource,
    CallFacts,
    GenerateOptions,
    LlmAdapter,
    Message,
    ModelInfo,
    ProviderInfo,
    ReportsCall,
    StreamChunk,
    TextBlock,
    aligned,
    codes,
    replay_fault,
    unknown_dialect,
)


class Smallest(LlmAdapter):
    """Only what is required."""

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        no_chunks: tuple[StreamChunk, ...] = ()
        for chunk in no_chunks:
            yield chunk


async def test_an_adapter_needs_only_stream() -> None:
    """R2, R10, H8: without more, a route is named after itself, lists nothing and answers for any model."""
    adapter = Smallest()

    assert adapter.provider_info("p") == ProviderInfo("p", "p")
    assert adapter.retry_policy("p") is None
    assert await adapter.list_models("p") == ()
    assert await adapter.resolve_model("p", "m") == ModelInfo("p", "m", "m")
    assert await adapter.prepare_call("p", "m") == AdapterCall(ModelInfo("p", "m", "m"), adapter.stream)
    assert [chunk async for chunk in adapter.stream(GenerateOptions("p", "m", []))] == []
    await adapter.aclose()


def test_an_adapter_without_stream_is_none() -> None:
    """R1: the one required method is required."""
    with pytest.raises(TypeError, match="abstract"):
        LlmAdapter()  # type: ignore[abstract]  # on purpose


def test_what_a_stream_may_offer_is_seen_by_its_shape() -> None:
    """Ports: batches and facts are recognised by what is there."""

    class Offers:
        def __init__(self) -> None:
            self.call_facts = CallFacts()

        async def next_batch(self) -> list[StreamChunk]:
            return []

    assert isinstance(Offers(), BatchSource)
    assert isinstance(Offers(), ReportsCall)
    assert not isinstance(Smallest(), BatchSource)


def test_facts_begin_unknown() -> None:
    """Section 1: what nobody said is absent."""
    facts = CallFacts()

    lists = {"notes", "replay_dropped"}
    assert {name: getattr(facts, name) for name in CallFacts.__slots__} == {
        name: [] if name in lists else None for name in CallFacts.__slots__
    }


def test_an_unknown_dialect_names_those_that_are() -> None:
    """Ports: the refusal of a dialect says what the wire has."""
    error = unknown_dialect("openai-chat", "opneai", ["openai", "groq"])

    assert error.code == codes.UNSUPPORTED
    assert error.failure.message == "the wire openai-chat has no dialect 'opneai'; it has groq, openai"


def test_no_tap_is_there_by_itself() -> None:
    """Ports: traffic is recorded where somebody asks for it only."""
    assert WIRE_TAP.get() is None


def turn(state: dict[str, object] | None, blocks: int = 1) -> Message:
    """A turn with state."""
    return Message("assistant", (TextBlock("x"),) * blocks, replay_state=state)


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ({"v": 2, "wire": "w", "blocks": [None]}, None),
        (None, "there is none"),
        ({"v": 2, "wire": "other", "blocks": [None]}, "it was made for the wire 'other', not 'w'"),
        ({"v": 2, "blocks": [None]}, "it was made for the wire None, not 'w'"),
        ({"v": 1, "wire": "w", "blocks": [None]}, "it has version 1, and 2 is what this adapter reads"),
        ({"v": True, "wire": "w", "blocks": [None]}, "it has version True, and 2 is what this adapter reads"),
        ({"v": 2, "wire": "w", "blocks": []}, "it does not have one entry for each of the message's 1 blocks"),
        ({"v": 2, "wire": "w", "blocks": "x"}, "it does not have one entry for each of the message's 1 blocks"),
        ({"v": 2, "wire": "w"}, "it does not have one entry for each of the message's 1 blocks"),
    ],
)
def test_what_state_may_be_read(state: dict[str, object] | None, fault: str | None) -> None:
    """R5, H242: another version, wire or block count is treated as absent, and says why."""
    assert replay_fault(turn(state), wire="w", version=2) == fault


def test_state_is_aligned_by_its_entries() -> None:
    """R5: one entry for each block, in a list."""
    assert aligned({"blocks": [1, 2]}, 2)
    assert not aligned({"blocks": [1]}, 2)
    assert not aligned({}, 0)
