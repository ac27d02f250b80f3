"""N2, N3, C8: a repaired history passes the check, says what was done, and keeps what it can."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.contract import (
    ContentBlock,
    Message,
    ModelSource,
    Role,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    assistant,
    check_history,
    encode,
    tool_result,
    user,
)
from limen.runtime import repair_history
from runtime._adapters import Scripted, asking, serving

NO_RESULT = "No result: the call was not carried out."


def call(call_id: str, arguments: str = "{}") -> ToolCallBlock:
    """A tool call."""
    return ToolCallBlock(call_id, "add", arguments)


def no_result(call_id: str) -> Message:
    """What stands for a result that is missing."""
    return tool_result(call_id, NO_RESULT, is_error=True)


async def test_a_good_history_comes_back_as_it_is() -> None:
    """N2: what needs no repair is the same object, and the report is empty."""
    history = [
        user("Hi"),
        assistant([TextBlock("Let me see"), call("a"), call("b", "")]),
        Message("user", (ToolResultBlock("b", "2"), ToolResultBlock("a", "1"), TextBlock("thanks"))),
        assistant("3"),
        Message("user", ()),
    ]

    repaired, report = repair_history(history)

    assert report == ()
    assert [id(message) for message in repaired] == [id(message) for message in history]
    assert repaired is not history
    assert (await serving(Scripted()).complete(asking(messages=repaired))).text == "Hello"


def test_a_missing_result_becomes_an_error_result() -> None:
    """N2: a complete call that nobody answered is answered with an error, where the next turn begins or at the end."""
    repaired, report = repair_history([assistant([call("a"), call("b")]), tool_result("b", "2"), user("stop")])

    assert repaired == [assistant([call("a"), call("b")]), tool_result("b", "2"), no_result("a"), user("stop")]
    assert report == ((0, "answered the call 'a', which has no result, with an error result"),)
    assert repair_history([assistant([call("a")])])[0] == [assistant([call("a")]), no_result("a")]


def test_a_call_that_was_cut_short_goes() -> None:
    """N3: an interrupted turn keeps its text, never a call that was not complete; its replay entry goes with it."""
    turn = Message(
        "assistant",
        (TextBlock("I will"), call("a", '{"x": ')),
        source=ModelSource("route", "m"),
        replay_state={"v": 1, "wire": "w", "blocks": [{"s": 1}, None], "id": "r"},
    )

    repaired, report = repair_history([turn])

    assert repaired == [
        Message(
            "assistant",
            (TextBlock("I will"),),
            source=ModelSource("route", "m"),
            replay_state={"v": 1, "wire": "w", "blocks": ({"s": 1},), "id": "r"},
        )
    ]
    assert report == ((0, "dropped the call 'a', whose arguments were cut short"),)


def test_replay_state_that_is_misaligned_goes_with_the_call() -> None:
    """N2, R5: state whose entries cannot be told apart is dropped, and that is reported."""
    turn = Message("assistant", (TextBlock("I will"), call("a", "[")), replay_state={"v": 1})

    repaired, report = repair_history([turn])

    assert repaired == [assistant("I will")]
    assert report[1] == (0, "dropped replay state that does not have one entry for each block")


def test_a_turn_that_holds_nothing_goes() -> None:
    """N1, N2: an empty assistant turn is dropped, also one that a repair emptied; one with replay state stays."""
    state = Message("assistant", (), replay_state={"v": 1})

    repaired, report = repair_history([assistant([]), assistant([call("a", "{")]), state, user("Hi")])

    assert repaired == [state, user("Hi")]
    assert report == (
        (0, "dropped an assistant turn that holds nothing"),
        (1, "dropped the call 'a', whose arguments were cut short"),
        (1, "dropped an assistant turn that holds nothing"),
    )


@pytest.mark.parametrize("arguments", ["[1]", "oops", '{"a": 1', "7", '"x"', "null", " ", "{}{}"])
def test_arguments_that_are_no_object_are_wrapped(arguments: str) -> None:
    """C8: where a call was answered, arguments that are no JSON object are kept inside of one."""
    repaired, report = repair_history([assistant([call("a", arguments)]), tool_result("a", "bad arguments")])

    block = repaired[0].content[0]
    assert isinstance(block, ToolCallBlock)
    assert msgspec.json.decode(block.arguments) == {"raw_arguments": arguments}
    assert report == ((0, "wrapped the arguments of the call 'a', which are no JSON object"),)


def test_a_late_result_moves_to_its_turn() -> None:
    """N2: a result that stands behind another message is moved, and what is left of its message stays."""
    late = Message("user", (ToolResultBlock("a", "1"), TextBlock("and this")))
    history = [assistant([call("a"), call("b")]), user("wait"), late, assistant("ok"), tool_result("b", "2")]

    repaired, report = repair_history(history)

    assert repaired == [
        assistant([call("a"), call("b")]),
        tool_result("a", "1"),
        tool_result("b", "2"),
        user("wait"),
        user("and this"),
        assistant("ok"),
    ]
    assert report == (
        (2, "moved the result for the call 'a' to directly after messages[0]"),
        (4, "moved the result for the call 'b' to directly after messages[0]"),
    )


def test_a_result_inside_an_assistant_turn_moves_out() -> None:
    """N1, N2: a result that stands in the turn itself is moved to where results stand."""
    repaired, report = repair_history([Message("assistant", (call("a"), ToolResultBlock("a", "1")))])

    assert repaired == [assistant([call("a")]), tool_result("a", "1")]
    assert report == ((0, "moved the result for the call 'a' to directly after messages[0]"),)


def test_results_that_answer_nothing_go() -> None:
    """N2: an orphan, and a second answer, are dropped, and their messages with them where nothing is left."""
    history = [tool_result("z", "?"), assistant([call("a")]), tool_result("a", "1"), tool_result("a", "again")]

    repaired, report = repair_history(history)

    assert repaired == [assistant([call("a")]), tool_result("a", "1")]
    assert report == (
        (0, "dropped a result for the call 'z', which waits for none"),
        (3, "dropped a result for the call 'a', which waits for none"),
    )


def test_a_repeated_id_is_made_unique() -> None:
    """N1, N2: two calls of one turn with one id are told apart, and their results in order."""
    turn = assistant([call("a"), call("a-2"), call("a", "[2]")])
    history = [turn, tool_result("a", "1"), tool_result("a", "2"), tool_result("a-2", "3")]

    repaired, report = repair_history(history)

    assert repaired == [
        assistant([call("a"), call("a-2"), call("a-3", '{"raw_arguments":"[2]"}')]),
        tool_result("a", "1"),
        tool_result("a-3", "2"),
        tool_result("a-2", "3"),
    ]
    assert report == (
        (0, "gave another call with the id 'a' the id 'a-3'"),
        (0, "wrapped the arguments of the call 'a-3', which are no JSON object"),
    )


def test_an_id_may_return_in_a_later_turn() -> None:
    """N1: ids are unique within their turn; a result belongs to the nearest turn that waits for it."""
    history = [
        assistant([call("a")]),
        user("go on"),
        assistant([call("a")]),
        tool_result("a", "second"),
        tool_result("a", "first"),
    ]

    repaired, _ = repair_history(history)

    assert repaired == [
        assistant([call("a")]),
        tool_result("a", "first"),
        user("go on"),
        assistant([call("a")]),
        tool_result("a", "second"),
    ]


def test_nothing_mutates_the_callers_messages() -> None:
    """N2: the history that was given reads the same afterwards."""
    history = [assistant([call("a", "["), call("a")]), user("x"), tool_result("a", "1"), assistant([])]
    before = [encode(message) for message in history]

    repair_history(history)

    assert [encode(message) for message in history] == before


IDS = st.sampled_from(["a", "b", "a-2"])
ARGUMENTS = st.sampled_from(["", "{}", "[", '{"x":1}', "7"])
BLOCKS: st.SearchStrategy[ContentBlock] = st.one_of(
    st.builds(TextBlock, st.sampled_from(["t", ""])),
    st.builds(ToolCallBlock, IDS, st.just("add"), ARGUMENTS),
    st.builds(ToolResultBlock, IDS, st.sampled_from(["r1", "r2"])),
)
STATES = st.sampled_from([None, {"v": 1}, {"v": 1, "blocks": [1, 2]}])


ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "system")


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Any message: calls stand where a model may put them, everything else anywhere."""
    role = draw(st.sampled_from(ROLES))
    blocks = draw(st.lists(BLOCKS, max_size=4))
    if role != "assistant":
        blocks = [block for block in blocks if not isinstance(block, ToolCallBlock)]
    return Message(role, blocks, replay_state=draw(STATES) if role == "assistant" else None)


@given(st.lists(messages(), max_size=8))
def test_every_repaired_history_passes(history: list[Message]) -> None:
    """N1, N2: whatever it was, it can be served afterwards; a second repair finds nothing to do; text is never lost."""
    repaired, report = repair_history(history)

    check_history(repaired)
    again, nothing = repair_history(repaired)
    assert (again, nothing) == (repaired, ())
    assert texts(repaired) == texts(history)
    assert all(0 <= index < len(history) for index, _ in report)
    assert (report == ()) == (repaired == history)


def texts(history: list[Message]) -> list[str]:
    """Every text in order."""
    return [block.text for message in history for block in message.content if isinstance(block, TextBlock)]


def test_messages_may_come_from_a_generator() -> None:
    """N2: nothing is lost in silence: whatever the messages come from is read once and whole."""
    message = user("Hi")

    assert repair_history(message for _ in range(2)) == ([message, message], ())  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("messages", ["abc", [user("Hi"), None], [5]])
def test_what_is_no_message_is_refused(messages: list[object]) -> None:
    """N2: a mistake of the caller's is named by its place."""
    with pytest.raises(TypeError, match=r"messages\[\d\] is a .*, not a Message"):
        repair_history(messages)  # type: ignore[arg-type]  # on purpose
