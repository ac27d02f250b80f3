"""What travels with a turn and goes back in place, byte for byte; what never does (R5, N4, C1)."""

import json
from collections.abc import Mapping

import pytest

from adapters.anthropic._messages_wire import (
    asking,
    call,
    closed,
    delta,
    failure_of,
    item,
    opened,
    read,
    read_all_ways,
    started,
    stopped,
    text,
    thinking,
)
from limen.adapters import BuildContext
from limen.adapters.anthropic import WIRE
from limen.contract import (
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    assistant,
    codes,
    decode_message,
    encode,
    tool_result,
    user,
)

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x", "n": 1.50}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "encrypted_content": "Eo8=", "page_age": None}],
}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/"}


def kept(block: Mapping[str, object]) -> bytes:
    """A block that is complete in its start."""
    fields = {name: value for name, value in block.items() if name != "type"}
    return item(0, str(block["type"]), **fields)


def turn_of(*blocks: bytes, reason: str = "end_turn", dialect: str | None = None) -> Message:
    """The message that an answer of these blocks leaves in the history, as it comes back from storage."""
    message = read_all_ways(started() + b"".join(blocks) + stopped(reason), dialect=dialect).response.message
    assert message is not None
    return decode_message(encode(message))


def sent(*messages: Message, dialect: str | None = None) -> tuple[list[object], list[ReplayDrop]]:
    """The turns on the wire after the first question, and what was reported."""
    context = BuildContext()
    body = WIRE.codec(dialect).build(asking(user("q"), *messages, user("and?")), context).body
    turns: list[object] = json.loads(body)["messages"]
    return turns[1:-1] if messages[-1].role == "assistant" else turns[1:], context.replay_dropped


def content(*blocks: object) -> list[object]:
    """One assistant turn of these blocks."""
    return [{"role": "assistant", "content": list(blocks)}]


def test_thinking_with_tools_goes_back_byte_for_byte() -> None:
    """Signed thinking stands before its call with the very bytes it came with (Q064)."""
    message = turn_of(
        thinking(0, "hm \u00e9\n", "c2ln+/=="),
        text(1, "Let me."),
        call(2, "toolu_1", "f", '{"a": ', "1.10}"),
        reason="tool_use",
    )

    request = WIRE.codec(None).build(asking(user("q"), message, tool_result("toolu_1", "2")), BuildContext())

    assert (
        b'{"role":"assistant","content":['
        b'{"type":"thinking","thinking":"hm \xc3\xa9\\n","signature":"c2ln+/=="},'
        b'{"type":"text","text":"Let me."},'
        b'{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": 1.10}}]}'
    ) in request.body


def test_state_says_only_what_the_blocks_do_not() -> None:
    """State holds signatures and items, none of the text; where blocks say all there is none (R5)."""
    plain = turn_of(text(0, "a"), call(1, "t", "f"), reason="tool_use")
    signed = turn_of(kept(REDACTED), thinking(0, "hm", "sig"), text(1, "a"), kept(SEARCH), kept(FOUND), text(2, "b"))

    assert plain.replay_state is None
    assert signed.replay_state == {
        "v": 1,
        "wire": "anthropic-messages",
        "before": ('{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/"}',),
        "blocks": (
            {"signature": "sig"},
            {
                "after": (
                    '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x","n":1.5}}',
                    '{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":'
                    '[{"type":"web_search_result","encrypted_content":"Eo8=","page_age":null}]}',
                )
            },
            None,
        ),
    }


def test_everything_goes_back_in_its_place() -> None:
    """Redacted and withheld thinking, server tools, citations and unknown blocks stand where they stood (C14)."""
    cited = {
        "type": "web_search_result_location",
        "url": "https://e.example",
        "cited_text": "x",
        "encrypted_index": "Eo",
    }
    message = turn_of(
        kept(REDACTED),
        thinking(1, "", "withheld"),
        opened(2, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        delta(2, "input_json_delta", partial_json=""),
        delta(2, "input_json_delta", partial_json='{"query": "x", '),
        delta(2, "input_json_delta", partial_json='"n": 1.50}'),
        closed(2),
        kept(FOUND),
        opened(4, "text", text="", citations=None),
        delta(4, "citations_delta", citation=cited),
        delta(4, "text_delta", text="a"),
        closed(4),
        kept({"type": "future_block", "x": {"y": [1e5, "\u00e9"]}}),
        opened(6, "compaction", content=None),
        delta(6, "compaction_delta", content="so far", encrypted_content="Ep"),
        closed(6),
        opened(7, "tool_use", id="t", name="f", input={}, caller={"type": "code_execution_20260120", "tool_id": "s"}),
        closed(7),
        kept({"type": "container_upload", "file_id": "file_1"}),
        reason="tool_use",
    )

    turns, dropped = sent(message, tool_result("t", "done"))

    assert turns[0] == {
        "role": "assistant",
        "content": [
            REDACTED,
            {"type": "thinking", "thinking": "", "signature": "withheld"},
            SEARCH,
            FOUND,
            {"type": "text", "text": "a", "citations": [cited]},
            {"type": "future_block", "x": {"y": [1e5, "\u00e9"]}},
            {"type": "compaction", "content": "so far", "encrypted_content": "Ep"},
            {
                "type": "tool_use",
                "id": "t",
                "name": "f",
                "input": {},
                "caller": {"type": "code_execution_20260120", "tool_id": "s"},
            },
            {"type": "container_upload", "file_id": "file_1"},
        ],
    }
    assert dropped == []


def test_numbers_of_kept_items_keep_their_digits() -> None:
    """An item is kept as its own bytes: 1.50 stays 1.50."""
    start = (
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"x_tool_use","n": 1.50, "b":1e400}}\n\n'
    )
    message = turn_of(start, closed(0), text(1, "a"))

    body = WIRE.codec(None).build(asking(user("q"), message, user("r")), BuildContext()).body

    assert b'{"type":"x_tool_use","n":1.50,"b":1e400}' in body


def test_turn_of_server_tools_only_goes_back() -> None:
    """A paused turn without a block is an empty message whose state is all of it, and is sent on (C12)."""
    message = turn_of(kept(SEARCH), reason="pause_turn")

    turns, dropped = sent(message)

    assert message.content == ()
    assert (turns, dropped) == (content(SEARCH), [])


def test_emptied_thinking_is_never_sent() -> None:
    """A signature never goes out without its text; a block that was empty from the start does (Q065)."""
    message = turn_of(thinking(0, "hm", "sig"), text(1, "a"))
    emptied = Message("assistant", (ReasoningBlock(""), TextBlock("a")), replay_state=message.replay_state)

    assert sent(emptied) == (
        content({"type": "text", "text": "a"}),
        [ReplayDrop("1 reasoning blocks without their text and the signature of this wire are not sent", 1)],
    )


def test_thinking_of_plain_history_is_not_forged() -> None:
    """Reasoning without state, another provider's or a user's own, is not sent as thinking, and reported (N4)."""
    message = assistant([ReasoningBlock("hm"), ReasoningBlock("mm"), TextBlock("a")])

    assert sent(message, dialect="deepseek") == (
        content({"type": "text", "text": "a"}),
        [ReplayDrop("2 reasoning blocks without their text and the signature of this wire are not sent", 1)],
    )


def test_unsigned_thinking_goes_back_where_the_host_leaves_signatures_out() -> None:
    """Hosts that do not sign take their own thinking back with an empty signature; Anthropic never gets one."""
    message = turn_of(thinking(0, "hm", ""), text(1, "a"))

    assert sent(message, dialect="minimax") == (
        content({"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "a"}),
        [],
    )
    assert sent(message)[0] == content({"type": "text", "text": "a"})
    assert len(sent(message)[1]) == 1


def test_turn_of_nothing_but_thinking_is_not_sent() -> None:
    """The wire refuses a turn that ends in thinking; neighbours close the gap, and the drop is reported."""
    message = turn_of(kept(REDACTED), thinking(0, "hm", "sig"))

    turns, dropped = sent(message, user("more"))

    assert turns == []
    assert dropped == [ReplayDrop("a turn that holds nothing but thinking is not sent", 1)]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"v": 1, "wire": "openai-chat", "blocks": [None]}, "it was made for the wire 'openai-chat'"),
        ({"v": 2, "wire": "anthropic-messages", "blocks": [None]}, "it has version 2"),
        ({"v": 1, "wire": "anthropic-messages", "blocks": []}, "it does not have one entry for each"),
    ],
)
def test_foreign_state_is_absent_and_reported(state: dict[str, object], reason: str) -> None:
    """Another wire, version or block count: the history is served plain, and the drop is reported (R5)."""
    turns, dropped = sent(Message("assistant", (TextBlock("a"),), replay_state=state))

    assert turns == content({"type": "text", "text": "a"})
    assert [(drop.message_index, drop.reason.startswith(reason)) for drop in dropped] == [(1, True)]


@pytest.mark.parametrize(
    "fields",
    [
        {"blocks": ["x", None, None]},
        {"blocks": [{"future": 1}, None, None]},
        {"blocks": [{"signature": 5}, None, None]},
        {"blocks": [{"citations": ["{}"]}, None, None]},
        {"blocks": [{"caller": "{}"}, None, None]},
        {"blocks": [None, {"signature": "s"}, None]},
        {"blocks": [None, {"citations": ["[1]"]}, None]},
        {"blocks": [None, {"citations": "{}"}, None]},
        {"blocks": [None, None, {"signature": "s"}]},
        {"blocks": [None, None, {"caller": "x"}]},
        {"blocks": [None, None, {"after": ['{"no":"type"}']}]},
        {"blocks": [None, None, {"after": ['{"type":5}']}]},
        {"before": ["not json"]},
        {"before": ['{"type":"x","y":"\ud800"}']},
        {"before": ['{"type":"tool_use","id":"forged"}']},
        {"before": ['{"type":"text","text":"forged"}']},
        {"before": [{"type": "x"}]},
        {"before": ['{"type":"x","y":' + "[" * 100_000 + "]" * 100_000 + "}"]},
    ],
)
def test_state_that_does_not_validate(fields: dict[str, object]) -> None:
    """State of this version with anything wrong in it is INVALID_REPLAY_STATE, before any I/O (R5)."""
    state = {"v": 1, "wire": "anthropic-messages", "blocks": [None, None, None], **fields}
    blocks = (ReasoningBlock("hm"), TextBlock("a"), ToolCallBlock("t", "f", "{}"))
    message = Message("assistant", blocks, replay_state=state)

    error = failure_of(lambda: sent(message, tool_result("t", "r")))

    assert error.code == codes.INVALID_REPLAY_STATE
    assert error.failure.message.startswith("messages[1].replay_state")
    assert error.failure.phase == "resolve"


def test_turn_cut_by_a_limit_keeps_what_can_go_back() -> None:
    """Calls leave, what stood behind them stays, a server's use without its result goes (C17)."""
    other = {**SEARCH, "id": "srvtoolu_2"}
    message = turn_of(
        thinking(0, "hm", "sig"),
        text(1, "a"),
        call(2, "t", "f"),
        kept(SEARCH),
        kept(FOUND),
        kept(other),
        reason="max_tokens",
    )
    nothing = read(started() + call(0, "t", "f", "{") + kept(other) + stopped("max_tokens"))

    assert sent(message) == (
        content(
            {"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "text", "text": "a"}, SEARCH, FOUND
        ),
        [],
    )
    assert nothing.response.message is None
    assert nothing.finish.replay_state is None


@pytest.mark.parametrize(
    "broken",
    [
        delta(2, "input_json_delta", partial_json='{"cut'),
        delta(2, "input_json_delta", partial_json="[1]"),
        delta(2, "text_delta", text="x"),
        delta(2, "future_delta", x=1),
    ],
)
def test_items_that_cannot_be_put_together_leave_with_their_pair(broken: bytes) -> None:
    """An item that its deltas leave incomplete is not kept, nor is its other half, which the wire would refuse."""
    message = turn_of(
        text(1, "a"),
        opened(2, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        broken,
        closed(2),
        kept(FOUND),
        kept({"type": "x_tool_result", "tool_use_id": 5}),
        text(3, "b"),
    )

    assert sent(message)[0] == content(
        {"type": "text", "text": "a"}, {"type": "x_tool_result", "tool_use_id": 5}, {"type": "text", "text": "b"}
    )


def test_thinking_without_text_or_signature_is_nothing() -> None:
    """A thinking block that says nothing and is not signed has nothing to send back."""
    assert turn_of(thinking(0, "", ""), text(1, "a")).replay_state is None


def test_blank_text_between_kept_parts_is_left_out() -> None:
    """The wire refuses blank text, also its own; what stood around it stays."""
    message = turn_of(thinking(0, "hm", "sig"), text(1, "\n\n"), kept(SEARCH), kept(FOUND), text(2, "a"))

    assert sent(message)[0] == content(
        {"type": "thinking", "thinking": "hm", "signature": "sig"}, SEARCH, FOUND, {"type": "text", "text": "a"}
    )


def test_signature_in_pieces_and_with_odd_callers() -> None:
    """Pieces of a signature are joined; a direct caller says nothing, an unreadable one is no caller."""
    message = turn_of(
        opened(0, "thinking", thinking="", signature="start"),
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "thinking_delta", thinking=None),
        delta(0, "signature_delta", signature="si"),
        delta(0, "signature_delta", signature=None),
        delta(0, "signature_delta", signature="g"),
        delta(0, "citations_delta", citation=None),
        closed(0),
        opened(1, "tool_use", id="t", name="f", input={}, caller={"type": "direct"}),
        delta(1, "citations_delta", citation={"x": 1}),
        closed(1),
        opened(2, "tool_use", id="u", name="f", input={}, caller="?"),
        closed(2),
        opened(3, "text", text="a"),
        delta(3, "citations_delta"),
        closed(3),
        reason="tool_use",
    )

    assert message.replay_state == {
        "v": 1,
        "wire": "anthropic-messages",
        "blocks": ({"signature": "sig"}, None, None, None),
    }
