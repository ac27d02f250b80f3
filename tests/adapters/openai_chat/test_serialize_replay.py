"""Reasoning and replay state of earlier turns (N4, R5, Q042, Q061)."""

from typing import Any

import pytest

from chat_requests import ADD, messages_of, refusal, tool_turn
from limen.adapters import BuildContext
from limen.adapters.openai_chat import WIRE
from limen.contract import (
    ContentBlock,
    GenerateOptions,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    assistant,
    codes,
    tool_result,
    user,
)

THOUGHT: tuple[ContentBlock, ...] = (ReasoningBlock("r"), TextBlock("t"))


def state(*entries: object, **more: object) -> dict[str, object]:
    """Return replay state of this wire."""
    return {"v": 1, "wire": "openai-chat", "blocks": list(entries), **more}


def turn(dialect: str, replay: dict[str, object] | None = None, blocks: tuple[ContentBlock, ...] = THOUGHT) -> Any:
    """Return the wire message of one assistant turn."""
    return messages_of(dialect, user("q"), Message("assistant", blocks, replay_state=replay))[1]


PLAIN = [
    ("deepseek", {"content": "t", "reasoning_content": "r"}),
    ("moonshot", {"content": "t", "reasoning_content": "r"}),
    ("openrouter", {"content": "t", "reasoning": "r"}),
    ("groq", {"content": "t", "reasoning": "r"}),
    ("minimax", {"content": "<think>r</think>t"}),
    (
        "mistral",
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "r"}], "closed": True},
                {"type": "text", "text": "t"},
            ]
        },
    ),
    ("openai", {"content": "t"}),
    ("generic", {"content": "t"}),
]


@pytest.mark.parametrize(("dialect", "message"), PLAIN)
def test_plain_reasoning_goes_where_the_row_says(dialect: str, message: dict[str, object]) -> None:
    """Without replay state, reasoning goes back under the row's name, else not at all (N4)."""
    assert turn(dialect) == {"role": "assistant", **message}


def test_reasoning_without_text_in_parts() -> None:
    """A thought alone makes no empty text part (Q141)."""
    found = turn("mistral", blocks=(ReasoningBlock("r"),))["content"]
    assert [part["type"] for part in found] == ["thinking"]


@pytest.mark.parametrize("dialect", ["minimax", "mistral", "groq"])
def test_a_turn_without_reasoning_says_nothing_of_it(dialect: str) -> None:
    """No empty thought is made up where the row does not ask for one (Q3)."""
    empty: tuple[ContentBlock, ...] = (ReasoningBlock(""), TextBlock("t"))
    assert (turn(dialect, blocks=empty), turn(dialect, blocks=(TextBlock("t"),))) == (
        {"role": "assistant", "content": "t"},
        {"role": "assistant", "content": "t"},
    )


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("reasoning_content", {"content": "t", "reasoning_content": "r"}),
        ("reasoning", {"content": "t", "reasoning": "r"}),
        ("reasoning_text", {"content": "t", "reasoning_text": "r"}),
        ("think", {"content": "<think>r</think>t"}),
        ("unheard-of", {"content": "t"}),
        (None, {"content": "t"}),
    ],
)
def test_Q042_reasoning_goes_back_under_the_name_it_came_under(field: str | None, message: dict[str, object]) -> None:
    """A server that nobody knows gets its own field back (N4); an unknown name is no name."""
    assert turn("generic", state({"field": field}, None)) == {"role": "assistant", **message}


def test_Q042_deepseek_has_reasoning_on_every_turn_when_tools_are_in_play() -> None:
    """With tools, or calls in the history, each assistant turn carries the field, empty where there was none."""
    history = (user("q"), assistant("a"), *tool_turn(), Message("assistant", THOUGHT))
    with_calls = [one.get("reasoning_content") for one in messages_of("deepseek", *history)]
    with_tools = messages_of("deepseek", user("q"), assistant("a"), tools=[ADD])[1]
    without = messages_of("deepseek", user("q"), assistant("a"))[1]
    assert with_calls == [None, "", None, "", None, "r"]
    assert (with_tools, without) == (
        {"role": "assistant", "content": "a", "reasoning_content": ""},
        {"role": "assistant", "content": "a"},
    )


DETAILS = [{"type": "reasoning.encrypted", "data": "x", "id": "c", "format": "google-gemini-v1", "index": 0, "n": None}]


def test_Q061_reasoning_details_go_back_as_they_came() -> None:
    """The details are sent unchanged, unknown keys included, and instead of the string they repeat (N4)."""
    found = turn("openrouter", state({"field": "reasoning"}, None, reasoning_details=DETAILS))
    assert found == {"role": "assistant", "content": "t", "reasoning_details": DETAILS}


def test_details_beside_another_field() -> None:
    """A server that sent both gets both; one whose turn had no text of it gets the details alone."""
    both = turn("generic", state({"field": "reasoning_content"}, None, reasoning_details=DETAILS))
    alone = turn("deepseek", state(None, reasoning_details=DETAILS), (TextBlock("t"),))
    assert both == {"role": "assistant", "content": "t", "reasoning_details": DETAILS, "reasoning_content": "r"}
    assert alone == {"role": "assistant", "content": "t", "reasoning_details": DETAILS}


@pytest.mark.parametrize("dialect", ["minimax", "mistral"])
def test_details_alone_leave_the_text_as_it_is(dialect: str) -> None:
    """No empty thought is written around a text beside kept details."""
    found = turn(dialect, state(None, reasoning_details=DETAILS), (TextBlock("t"),))
    assert found == {"role": "assistant", "content": "t", "reasoning_details": DETAILS}


def test_extra_content_of_a_call_goes_back() -> None:
    """What rode on a tool call (a thought signature) rides on it again, byte for byte (N4)."""
    extra = {"google": {"thought_signature": "abc="}}
    call = Message(
        "assistant",
        (ToolCallBlock("c", "add", "{}"), ToolCallBlock("d", "add", "{}")),
        replay_state=state({"extra_content": extra}, None),
    )
    found = messages_of("generic", user("q"), call, tool_result("c", "1"), tool_result("d", "1"))
    assert [one.get("extra_content") for one in found[1]["tool_calls"]] == [extra, None]


def _drops(dialect: str, message: Message) -> list[ReplayDrop]:
    context = BuildContext()
    WIRE.codec(dialect).build(GenerateOptions("route", "m", [user("q"), message]), context)
    return context.replay_dropped


@pytest.mark.parametrize(
    "replay",
    [
        {"v": 2, "wire": "openai-chat", "blocks": [None, None]},
        {"v": 1, "wire": "anthropic-messages", "blocks": [None, None]},
        {"v": 1, "wire": "openai-chat", "blocks": [None]},
    ],
)
def test_R5_state_of_another_version_wire_or_length_is_absent_and_reported(replay: dict[str, object]) -> None:
    """The turn is served plain, and the report names the message (R5)."""
    message = Message("assistant", THOUGHT, replay_state=replay)
    assert turn("deepseek", replay) == turn("deepseek")
    assert [drop.message_index for drop in _drops("deepseek", message)] == [1]


def test_reasoning_that_finds_no_place_is_reported() -> None:
    """A row without a field for reasoning says which turn's thoughts it leaves out (N4, Q1)."""
    message = Message("assistant", THOUGHT)
    reason = "the dialect openai has no field for reasoning of earlier turns"
    assert (_drops("openai", message), _drops("xai", message)) == ([ReplayDrop(reason, 1)], [])


@pytest.mark.parametrize(
    "replay",
    [
        state({"field": 7}, None),
        state("reasoning", None),
        state(None, None, reasoning_details="x"),
        state({"extra_content": "x"}, None),
        state({"extra_content": {"a": float("nan")}}, None),
        state(None, None, reasoning_details=[float("inf")]),
    ],
)
def test_R5_state_of_this_version_that_does_not_validate_is_refused(replay: dict[str, object]) -> None:
    """Broken state is `INVALID_REPLAY_STATE` and names the message; nothing is guessed (R5)."""
    error = refusal(messages=[user("q"), Message("assistant", THOUGHT, replay_state=replay)])
    assert (error.code, error.failure.message[:24]) == (codes.INVALID_REPLAY_STATE, "messages[1].replay_state")


def test_a_turn_of_state_alone_is_served() -> None:
    """A turn without blocks whose state is kept has empty content (N1, C12)."""
    assert turn("openrouter", state(reasoning_details=DETAILS), ()) == {
        "role": "assistant",
        "content": "",
        "reasoning_details": DETAILS,
    }


def test_a_custom_tools_call_goes_back_as_one() -> None:
    """Its input is free text, which no function takes (N4, C8); without its state it is a call of a function."""
    call = ToolCallBlock("c", "f", "4 + 4")

    def sent(replay: dict[str, object] | None) -> Any:
        history = (user("q"), Message("assistant", (call,), replay_state=replay), tool_result("c", "8"))
        return messages_of("openai", *history)[1]["tool_calls"]

    assert sent(state({"type": "custom"})) == [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "4 + 4"}}]
    assert sent(None) == [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "4 + 4"}}]
