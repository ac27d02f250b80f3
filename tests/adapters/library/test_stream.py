"""The library's chunks as limen's: bookkeeping, endings, counts, replay state; read as unknown."""

from types import SimpleNamespace

import pytest

from adapters.library._fake_litellm import Answer, Fake, call, install, part
from limen.adapters.library import LiteLlmAdapter, LiteLlmOptions
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    CallFacts,
    ChunkGrammar,
    Finish,
    GenerateOptions,
    LlmError,
    ReasoningBlock,
    ReasoningDelta,
    ReportsCall,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    user,
)

OPTIONS = GenerateOptions(provider="route", model="some/model", messages=[user("hi")])


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return install(monkeypatch)


async def read(fake: Fake, *steps: object, received: object = "stop") -> tuple[list[StreamChunk], CallFacts]:
    """The chunks of one call, which keep the grammar, and its facts."""
    fake.answer = Answer(steps, received)
    stream = LiteLlmAdapter(LiteLlmOptions(provider="openai", api_key="sk-fake-0123456789")).stream(OPTIONS)
    chunks = [chunk async for chunk in stream]
    grammar = ChunkGrammar()
    grammar.feed_all(chunks)
    grammar.eof()
    assert isinstance(stream, ReportsCall)
    return chunks, stream.call_facts


async def fails(fake: Fake, *steps: object, received: object = "stop") -> LlmError:
    with pytest.raises(LlmError) as caught:
        await read(fake, *steps, received=received)
    return caught.value


def usage(**counts: object) -> SimpleNamespace:
    return SimpleNamespace(**counts)


async def test_an_answer(fake: Fake) -> None:
    """Reasoning, text and calls are one block each, ended in order; counts are disjoint; facts stand beside (C18)."""
    counts = usage(
        prompt_tokens=30,
        completion_tokens=9,
        total_tokens=39,
        prompt_tokens_details=SimpleNamespace(cached_tokens=20, cache_creation_tokens=0),
        completion_tokens_details=SimpleNamespace(reasoning_tokens=4),
    )
    chunks, facts = await read(
        fake,
        part(content=""),
        part(reasoning_content="Hm"),
        part(content="a"),
        part(tool_calls=[call(0, "call_1", "f", "")]),
        part(content="second choice", index=1),
        part(tool_calls=[call(0, None, None, '{"x":1.50}'), call(1, 7, "g", None)]),
        SimpleNamespace(choices=[SimpleNamespace(index=0, delta=None, finish_reason="stop")]),
        SimpleNamespace(id=None, model=None, choices=[], usage=counts),
        received="tool_calls",
    )

    assert chunks == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "Hm"),
        BlockStart(1, "text"),
        TextDelta(1, "a"),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "call_1", "f", ""),
        ToolCallDelta(2, "call_1", None, '{"x":1.50}'),
        BlockStart(3, "tool-call"),
        ToolCallDelta(3, "7", "g", ""),
        BlockEnd(0, ReasoningBlock("Hm")),
        BlockEnd(1, TextBlock("a")),
        BlockEnd(2, ToolCallBlock("call_1", "f", '{"x":1.50}')),
        ToolCallDelta(3, "7", None, "{}"),
        BlockEnd(3, ToolCallBlock("7", "g", "{}")),
        UsageChunk(TokenUsage(input_tokens=10, output_tokens=9, cache_read_tokens=20, reasoning_tokens=4)),
        Finish(TOOL_CALLS),
    ]
    assert (facts.response_id, facts.response_model, facts.provider_reason) == (
        "chatcmpl-1",
        "served-model",
        "tool_calls",
    )
    assert facts.first_event_ms is not None


async def test_a_zero_part_of_the_counts(fake: Fake) -> None:
    """A zero that the library writes where nobody reported a part is unknown; so is a count of another type (C15)."""
    zeros = usage(
        prompt_tokens=3,
        completion_tokens=1,
        prompt_tokens_details=SimpleNamespace(cached_tokens=0),
        completion_tokens_details=SimpleNamespace(reasoning_tokens=0),
    )
    chunks, _ = await read(fake, part(content="a", finish="stop"), part(usage=zeros))
    odd, facts = await read(fake, part(content="a", finish="stop"), part(usage=usage(prompt_tokens="many")))

    assert chunks[-2] == UsageChunk(TokenUsage(input_tokens=3, output_tokens=1))
    assert [type(chunk) for chunk in odd[-2:]] == [BlockEnd, Finish]
    assert facts.notes[0].startswith("token counts that cannot be read count as unknown: ")


@pytest.mark.parametrize(
    ("word", "received", "expected"),
    [("stop", "stop", STOP), ("length", "length", MAX_TOKENS), ("stop", "", STOP), ("stop", None, None)],
)
async def test_endings(fake: Fake, word: str, received: object, expected: object) -> None:
    """The word that the provider sent decides; one that the library made up is a cut stream (STREAM_CLOSED)."""
    steps = (part(content="a"), part(finish=word))
    if expected is None:
        failure = await fails(fake, *steps, received=received)
        assert (failure.code, failure.failure.phase) == ("STREAM_CLOSED", "mid-stream")
    else:
        chunks, _ = await read(fake, *steps, received=received)
        assert chunks[-1] == Finish(expected)  # type: ignore[arg-type]


async def test_a_stream_without_any_finish_word(fake: Fake) -> None:
    """An answer that ends without a word for it is STREAM_CLOSED, before its first event as well."""
    failure = await fails(fake, received="")

    assert (failure.code, failure.failure.phase) == ("STREAM_CLOSED", "first-event")


async def test_a_word_that_nobody_documented(fake: Fake) -> None:
    """The provider's own word counts, where the library keeps it beside the one that it gives out (UNKNOWN_FINISH)."""
    chunks, _ = await read(fake, part(content="a"), part(finish="stop"), received="solar_flare")
    last = chunks[-1]

    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    assert (last.reason.failure.code, last.reason.failure.provider_code) == ("UNKNOWN_FINISH", "solar_flare")


@pytest.mark.parametrize(
    ("steps", "received", "code"),
    [
        ([part(refusal="I cannot."), part(finish="stop")], "stop", "CONTENT_FILTER"),
        (
            [part(content="a"), part(refusal="I cannot."), part(finish="content_filter")],
            "content_filter",
            "CONTENT_FILTER",
        ),
        ([part(content=" "), part(finish="stop")], "stop", "EMPTY_RESPONSE"),
        ([part(content="a"), part(finish="tool_calls")], "tool_calls", "MALFORMED_RESPONSE"),
    ],
)
async def test_endings_that_fail(fake: Fake, steps: list[object], received: str, code: str) -> None:
    """A refusal, a filter, an empty answer and calls that are none end in-band with their codes (C11, C12)."""
    chunks, _ = await read(fake, *steps, received=received)
    last = chunks[-1]

    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    assert last.reason.failure.code == code


@pytest.mark.parametrize(
    "step",
    [
        part(content=7),  # type: ignore[arg-type]
        SimpleNamespace(choices="none"),
        part(tool_calls=[call(None, None, None, "{}")]),
    ],
)
async def test_objects_of_another_shape(fake: Fake, step: object) -> None:
    """What the library gives out is read as unknown: another shape is MALFORMED_RESPONSE, and never a short answer."""
    assert (await fails(fake, step)).code == "MALFORMED_RESPONSE"


async def test_a_call_that_never_got_a_name(fake: Fake) -> None:
    """A call without a name at the end is MALFORMED_RESPONSE (W4)."""
    failure = await fails(fake, part(tool_calls=[call(0, "call_1", None, "{}")]), part(finish="tool_calls"))

    assert failure.code == "MALFORMED_RESPONSE"


async def test_thinking_blocks_become_replay_state(fake: Fake) -> None:
    """Signed and hidden thinking is kept as it came for the next turn; what cannot be read is noted (N4, C15)."""
    chunks, facts = await read(
        fake,
        part(reasoning_content="Hm", thinking_blocks=[{"type": "thinking", "thinking": "Hm"}]),
        part(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "c2ln"}]),
        part(thinking_blocks=[{"type": "redacted_thinking", "data": "b3Bh"}, "nonsense"]),
        part(thinking_blocks=[{"type": "thinking", "thinking": "unsigned"}]),
        part(content="a", finish="stop"),
    )
    last = chunks[-1]
    thinking = (
        {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3Bh"},
    )

    assert isinstance(last, Finish)
    assert last.replay_state == {"v": 1, "wire": "litellm", "blocks": (None, None), "thinking": thinking}
    assert facts.notes[0].startswith("a thinking block that cannot be read is not kept: ")
