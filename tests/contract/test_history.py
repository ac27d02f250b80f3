"""N1: a history is checked before it costs anything, and a fault names the message."""

from collections.abc import Sequence

import pytest

from limen.contract import (
    LlmError,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    assistant,
    check_history,
    codes,
    system,
    tool_result,
    user,
)

A, B = ToolCallBlock("a", "add", "{}"), ToolCallBlock("b", "add", "")
RA, RB = ToolResultBlock("a", "1"), ToolResultBlock("b", "2")


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user("Hi")],
        [user(""), assistant(""), user([])],
        [system("Be brief"), user("Hi"), assistant("Hello"), assistant("again")],
        [user("Hi"), assistant([A]), tool_result("a", "1")],
        [assistant([TextBlock("x"), A, B]), tool_result("b", "2"), tool_result("a", "1"), user("so?")],
        [assistant([A, B]), Message("tool", (RB, RA)), assistant("3")],
        [assistant([A, B]), Message("tool", (RB,)), Message("user", (RA, TextBlock("and"))), assistant("3")],
        [assistant([A]), Message("user", (TextBlock("first"), RA))],
        [assistant([A]), tool_result("a", "1"), assistant([A]), tool_result("a", "2")],
        [Message("assistant", (), replay_state={"v": 1})],
    ],
)
def test_what_can_be_served(messages: Sequence[Message]) -> None:
    """N1: every call answered once before the next turn, by results in any order and in any message of that turn."""
    check_history(messages)


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([user("Hi"), assistant([])], "messages[1] is an assistant turn with neither a block nor replay state"),
        ([assistant([A, A])], "messages[0] holds two tool calls with the id 'a'"),
        ([Message("assistant", (RA,))], "messages[0] is an assistant turn, and holds a tool result"),
        (
            [tool_result("a", "1")],
            "messages[0] answers the call 'a', which the assistant turn before it did not make",
        ),
        (
            [assistant([A]), tool_result("a", "1"), assistant("ok"), tool_result("a", "1")],
            "messages[3] answers the call 'a', which the assistant turn before it did not make",
        ),
        (
            [assistant([A]), tool_result("a", "1"), tool_result("a", "1")],
            "messages[2] answers the call 'a' a second time",
        ),
        ([assistant([A]), Message("user", (RA, RA))], "messages[1] answers the call 'a' a second time"),
        (
            [user("Hi"), assistant([A, B])],
            "messages[1] makes a tool call that is not answered before the end of the history: 'a', 'b'",
        ),
        (
            [assistant([A, B]), tool_result("a", "1"), user("stop")],
            "messages[0] makes a tool call that is not answered before messages[2]: 'b'",
        ),
        (
            [assistant([A]), user([]), tool_result("a", "1")],
            "messages[0] makes a tool call that is not answered before messages[1]: 'a'",
        ),
        (
            [assistant([A, B]), Message("user", (RA, TextBlock("and"))), tool_result("b", "2")],
            "messages[0] makes a tool call that is not answered before messages[1]: 'b'",
        ),
        (
            [assistant([A]), assistant("ok")],
            "messages[0] makes a tool call that is not answered before messages[1]: 'a'",
        ),
    ],
)
def test_what_cannot(messages: Sequence[Message], fault: str) -> None:
    """N1, N2: a fault is `INVALID_OPTIONS`, names the message, and says how to get a history that passes."""
    with pytest.raises(LlmError) as caught:
        check_history(messages)

    assert caught.value.code == codes.INVALID_OPTIONS
    assert caught.value.failure.phase == "resolve"
    assert caught.value.failure.message == (
        f"{fault}; limen.repair_history(messages) returns a history that passes, with a report"
    )


def test_what_is_no_message() -> None:
    """N1: something else among the messages is named, too."""
    messages = [user("Hi"), "there"]

    with pytest.raises(LlmError, match=r"^INVALID_OPTIONS: messages\[1\] is a str, not a Message$") as caught:
        check_history(messages)  # type: ignore[arg-type]  # on purpose

    assert caught.value.code == codes.INVALID_OPTIONS
