"""Whatever bytes arrive, the outcome is grammatical chunks and one end, or one LlmError (C1-C7, C16)."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.anthropic._messages_wire import (
    asking,
    call,
    closed,
    delta,
    event,
    item,
    opened,
    read,
    started,
    stopped,
    text,
    thinking,
)
from limen.adapters import BuildContext
from limen.adapters.anthropic import WIRE
from limen.contract import CODES, ContentBlock, LlmError, Message, ToolCallBlock, check_history, tool_result, user

WORDS = st.text(max_size=6)
INDEXES = st.integers(0, 3)
EVENTS = st.one_of(
    st.just(started()),
    st.just(started("msg_2")),
    st.builds(text, INDEXES, WORDS, WORDS),
    st.builds(thinking, INDEXES, WORDS, WORDS),
    st.builds(lambda index, words: call(index, "t", "f", words), INDEXES, WORDS),
    st.builds(lambda index: item(index, "server_tool_use", id="s", name="x", input={}), INDEXES),
    st.builds(lambda index: item(index, "web_search_tool_result", tool_use_id="s", content=[]), INDEXES),
    st.builds(lambda index: item(index, "redacted_thinking", data="x"), INDEXES),
    st.builds(
        lambda index, kind: opened(index, kind, id="u", name="g"),
        INDEXES,
        st.sampled_from(["text", "thinking", "tool_use", "x"]),
    ),
    st.builds(lambda index, words: delta(index, "text_delta", text=words), INDEXES, WORDS),
    st.builds(lambda index, words: delta(index, "input_json_delta", partial_json=words), INDEXES, WORDS),
    st.builds(lambda index, words: delta(index, "citations_delta", citation={"x": words}), INDEXES, WORDS),
    st.builds(closed, INDEXES),
    st.just(event("ping")),
    st.just(event("error", error={"type": "api_error", "message": "No."})),
    st.builds(stopped, st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "pause_turn", None])),
)
BODY = (
    started()
    + thinking(0, "hm", "c2ln")
    + text(1, "é", "😀")
    + item(2, "server_tool_use", id="s", name="web_search", input={"q": 1})
    + item(3, "web_search_tool_result", tool_use_id="s", content=[])
    + call(4, "t", "f", '{"a":', "1}")
    + stopped("tool_use")
)


def pieces_of(body: bytes, cuts: list[int]) -> list[bytes]:
    """A body cut at these places."""
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    return [body[start:end] for start, end in pairwise(places)]


@given(st.lists(EVENTS, max_size=8), st.lists(st.integers(0, 5_000), max_size=5))
@settings(max_examples=300, deadline=None)
def test_any_order_of_events_has_one_end(events: list[bytes], cuts: list[int]) -> None:
    """Events in any order are grammatical up to a finish or a failure, however they are cut; `read` checks it."""
    body = b"".join(events)

    whole = read(body)

    assert read(pieces_of(body, cuts)) == whole
    assert whole.code is None or whole.code in CODES


@given(
    st.lists(
        st.tuples(st.integers(0, len(BODY) - 1), st.binary(max_size=3), st.integers(0, 4)), min_size=1, max_size=4
    ),
    st.lists(st.integers(0, 5_000), max_size=3),
)
@settings(max_examples=300, deadline=None)
def test_mutated_bytes_have_one_end(changes: list[tuple[int, bytes, int]], cuts: list[int]) -> None:
    """Bytes changed, dropped or put in anywhere lead to one outcome, the same at every cut (C16)."""
    body = BODY
    for place, put, dropped in changes:
        body = body[:place] + put + body[place + dropped :]

    whole = read(body)

    assert read(pieces_of(body, cuts)) == whole
    assert whole.code is None or whole.code in CODES


@given(st.lists(EVENTS, max_size=8))
@settings(max_examples=300, deadline=None)
def test_what_was_answered_can_be_sent_on(events: list[bytes]) -> None:
    """For every answer, messages + message + one result per call is a history that this wire takes (C17)."""
    outcome = read(b"".join([started(), *events, stopped("end_turn")]))
    if outcome.code is not None:
        return
    response = outcome.response
    history: list[Message] = [user("q")]
    if response.message is not None:
        history += [response.message, *(tool_result(made.id, "r") for made in response.tool_calls), user("and?")]

    check_history(history)
    options = asking(*history)

    if all(sendable(block) for message in history for block in message.content):
        WIRE.codec(None).build(options, BuildContext())


def sendable(block: ContentBlock) -> bool:
    """Whether a call's arguments are an object, which nothing promises (C8)."""
    if not isinstance(block, ToolCallBlock):
        return True
    try:
        WIRE.codec(None).build(asking(user("q"), Message("assistant", (block,))), BuildContext())
    except LlmError:
        return False
    return True
