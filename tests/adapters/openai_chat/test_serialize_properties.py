"""Whatever a history is, its body is sound JSON of the wire, or its refusal is an `LlmError` (Q1, Q3, C9)."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chat_requests import ADD, DIALECTS, PNG, attempt
from limen.contract import (
    ContentBlock,
    ImageBlock,
    LlmError,
    Message,
    ModelInfo,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    check_history,
    codes,
    system,
    user,
)

TEXTS = st.text(max_size=8) | st.just("\ud83d")
TEXT_BLOCKS = st.builds(TextBlock, TEXTS)
RESULTS = TEXTS | st.lists(TEXT_BLOCKS | st.just(PNG), max_size=3)
IDS = st.text(min_size=1, max_size=50) | st.from_regex(r"[a-c]{9}", fullmatch=True)
MODEL = ModelInfo("route", "m", "m", input_modalities=("text", "image"))


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """Return an assistant turn of any blocks, with a result for each of its calls."""
    blocks: list[ContentBlock] = draw(st.lists(TEXT_BLOCKS | st.builds(ReasoningBlock, TEXTS), max_size=3))
    ids = draw(st.lists(IDS, max_size=3, unique=True))
    blocks += [ToolCallBlock(call_id, draw(st.sampled_from(("add", "é"))), draw(TEXTS)) for call_id in ids]
    results = [ToolResultBlock(call_id, draw(RESULTS), draw(st.booleans())) for call_id in draw(st.permutations(ids))]
    together = draw(st.booleans())
    answers = [Message("tool", results)] if together and results else [Message("user", (result,)) for result in results]
    return [Message("assistant", blocks or (TextBlock("t"),)), *answers]


QUESTIONS = st.one_of(
    st.builds(user, TEXTS),
    st.builds(user, st.lists(TEXT_BLOCKS | st.just(PNG) | st.just(ImageBlock(url="https://x.test/a")), max_size=3)),
    st.builds(system, TEXTS),
).map(lambda message: [message])
HISTORIES = st.lists(QUESTIONS | turns(), min_size=1, max_size=6).map(lambda parts: [m for part in parts for m in part])


def nulls(value: Any) -> bool:
    """Whether there is a `null` anywhere."""
    if isinstance(value, dict):
        return any(nulls(inner) for inner in value.values())
    return value is None or (isinstance(value, list) and any(nulls(inner) for inner in value))


@given(dialect=st.sampled_from(DIALECTS), history=HISTORIES)
@settings(max_examples=300)
def test_a_history_is_written_whole_or_refused(dialect: str, history: list[Message]) -> None:
    """No null, ids that agree and never clash, every call and result there, and nothing but `LlmError` raised."""
    check_history(history)
    found = attempt(dialect, model=MODEL, messages=history, tools=None if dialect == "perplexity" else [ADD])
    if isinstance(found, LlmError):
        named = any(isinstance(block, ToolCallBlock) and block.name == "é" for one in history for block in one.content)
        # A row that leaves empty turns out may have nothing left to send.
        empty = dialect == "moonshot" and all(one.role == "assistant" for one in history)
        allowed = {codes.UNSUPPORTED: named, codes.INVALID_OPTIONS: empty, codes.UNSUPPORTED_CONTENT: True}
        assert allowed.get(found.code, False)
        return
    assert not nulls(found)
    made = [call["id"] for message in found["messages"] for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in found["messages"] if message["role"] == "tool"]
    given_ids = [block.id for message in history for block in message.content if isinstance(block, ToolCallBlock)]
    assert sorted(made) == sorted(answered)
    assert len({*zip(given_ids, made, strict=True)}) == len({*given_ids}) == len({*made})
