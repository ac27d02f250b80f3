"""Replay state of OpenAI Responses: what comes back from a turn, and what is refused (N4, R5, C17)."""

import json
from collections.abc import Callable, Mapping
from functools import partial

import msgspec
import pytest

from adapters.openai_responses._responses_wire import (
    added,
    asking,
    body_of,
    call,
    call_item,
    created,
    delta,
    done,
    ended,
    failure_of,
    message_item,
    read,
    reasoning_item,
    sent_back,
    text,
)
from limen.adapters import BuildContext
from limen.adapters.openai_responses import WIRE
from limen.contract import Message, TextBlock, ToolCallBlock, codes, decode_message, encode, tool_result, user

SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
FUTURE = {"type": "time_travel", "id": "tt_1", "payload": {"a": [1.50]}}


def turn(*items: Mapping[str, object], ending: bytes | None = None) -> Message:
    """A turn of these items, each as its own end tells it."""
    body = b"".join(done(index, **item) for index, item in enumerate(items))
    return read(created() + body + (ended() if ending is None else ending)).message


def test_every_item_goes_back_in_place() -> None:
    """Sealed reasoning, server tools, unknown items, phases, annotations and calls go back as they came (N4)."""
    cited = {"type": "output_text", "text": "see b", "annotations": [{"type": "url_citation", "url": "u"}]}
    second = {"type": "output_text", "text": "c", "annotations": [], "logprobs": []}
    items: list[Mapping[str, object]] = [
        reasoning_item(),
        SEARCH,
        message_item("", content=[cited, {"type": "future_part", "x": 1}, second], phase="commentary"),
        reasoning_item("One.", "Two.", id="rs_2"),
        call_item('{"a": 1}', namespace="n"),
        call_item("", id="fc_2", call_id="call_b"),
        FUTURE,
    ]

    message = turn(*items)

    assert message.content[-1] == ToolCallBlock("call_b", "add", "{}")
    items[-2] = call_item("{}", id="fc_2", call_id="call_b")
    assert sent_back(message) == items
    assert sent_back(decode_message(encode(message))) == items


def test_two_turns_with_sealed_reasoning_and_parallel_calls() -> None:
    """The items of a turn with parallel calls come back exactly, and then the results, call by call."""
    items = [reasoning_item(), call_item('{"a":1}'), call_item('{"b":2}', id="fc_2", call_id="call_b", name="sub")]
    message = turn(*items)

    body = body_of(asking(user("q"), message, tool_result("call_a", "1"), tool_result("call_b", "2")))

    assert body["input"] == [
        {"role": "user", "content": "q"},
        *items,
        {"type": "function_call_output", "call_id": "call_a", "output": "1"},
        {"type": "function_call_output", "call_id": "call_b", "output": "2"},
    ]


def test_custom_calls_are_answered_as_such() -> None:
    """A custom call goes back with its free text, and its result is a custom one."""
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "sql", "input": "SELECT 1"}
    streamed = added(0, **{**item, "input": ""}) + delta(0, "custom_tool_call_input", "SELECT ") + done(0, **item)
    message = read(streamed + ended()).message

    body = body_of(asking(user("q"), message, tool_result("c", "1")))

    assert message.content == (ToolCallBlock("c", "sql", "SELECT 1"),)
    assert body["input"] == [
        {"role": "user", "content": "q"},
        item,
        {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
    ]


def test_a_made_id_goes_back_with_its_item() -> None:
    """A call without `call_id` goes back under the made id, as its result does (C9)."""
    message = turn(call_item("{}", call_id=None))
    made = message.content[0]
    assert isinstance(made, ToolCallBlock)

    assert sent_back(message) == [call_item("{}", call_id=made.id)]


def test_sealed_content_that_only_the_last_event_has() -> None:
    """Azure sends it there alone: it is filled in, and nothing else is."""
    bare = reasoning_item(encrypted_content=None)
    body = done(0, **bare) + text(1, "a")
    output = [reasoning_item(id="other"), message_item("a")]

    assert sent_back(read(body + ended(output=output)).message) == [reasoning_item(), message_item("a")]
    kept = done(0, **reasoning_item(encrypted_content="own")) + text(1, "a")
    assert sent_back(read(kept + ended(output=output)).message) == [
        reasoning_item(encrypted_content="own"),
        message_item("a"),
    ]
    still = read(body + ended(output=[bare, message_item("a")])).message
    assert sent_back(still, "openrouter") == [bare, message_item("a")]


def test_unsealed_reasoning_where_nothing_is_stored() -> None:
    """The host would look for it in vain: it is left out with the ids of what followed it, and reported."""
    message = turn(reasoning_item("r", encrypted_content=None), call_item("{}"))
    context = BuildContext()
    history = asking(user("q"), message, tool_result("call_a", "1"))

    items = json.loads(WIRE.codec("openai").build(history, context).body)["input"]

    without_id = call_item("{}")
    del without_id["id"]
    assert items[1] == without_id
    assert [drop.reason for drop in context.replay_dropped] == [
        "reasoning without its sealed content is not sent: nothing of it was stored"
    ]
    stored = asking(user("q"), message, tool_result("call_a", "1"), extra={"openai-responses": {"store": True}})
    assert body_of(stored)["input"][1:3] == [  # type: ignore[index]
        reasoning_item("r", encrypted_content=None),
        call_item("{}"),
    ]


def test_a_call_without_status_for_vllm() -> None:
    """vLLM refused a call of the history that has a status."""
    without = call_item("{}")
    del without["status"]

    assert sent_back(turn(call_item("{}")), "vllm") == [without]


def test_items_that_never_ended_have_no_state() -> None:
    """What was not whole goes back plain, without the ids that nobody knows of."""
    outcome = read(added(0, **message_item("", content=[])) + delta(0, "output_text", "a") + ended())
    odd = read(
        added(0, **message_item("", content=[])) + delta(0, "output_text", "a")
        + done(0, **message_item("", content=[])) + ended()
    )  # fmt: skip

    assert sent_back(outcome.message) == [{"role": "assistant", "content": "a"}]
    assert sent_back(odd.message) == [{"role": "assistant", "content": "a"}]


def test_a_message_without_text_stays_an_item() -> None:
    """A message whose text is empty makes no block, and goes back where it was."""
    items: list[Mapping[str, object]] = [SEARCH, message_item(""), message_item("a", id="msg_2")]

    assert sent_back(turn(*items)) == items


class TestTokenLimit:
    """Turns that a token limit cut (C17)."""

    def test_calls_leave_with_the_reasoning_that_led_to_them(self) -> None:
        """The wire refuses reasoning without the item that it led to."""
        items = [
            reasoning_item(),
            message_item("a"),
            reasoning_item("r", id="rs_2"),
            call_item("{}"),
            reasoning_item(id="rs_3"),
        ]
        message = turn(*items, ending=ended("incomplete", incomplete_details={"reason": "max_output_tokens"}))

        context = BuildContext()
        body = json.loads(WIRE.codec(None).build(asking(user("q"), message, user("go on")), context).body)

        assert body["input"][1:-1] == items[:2]
        assert len(context.replay_dropped) == 1

    def test_an_item_that_was_cut(self) -> None:
        """A message that was cut goes back as it ended."""
        items = [message_item("a", status="incomplete")]
        message = turn(*items, ending=ended("incomplete"))

        assert sent_back(message) == items


def edited(message: Message, edit: Callable[[dict[str, object]], object]) -> Message:
    """The message with its replay state changed."""
    state: dict[str, object] = json.loads(msgspec.json.encode(msgspec.to_builtins(message.replay_state)))
    edit(state)
    return Message("assistant", message.content, replay_state=state)


def entry(state: dict[str, object], index: int) -> dict[str, object]:
    """The state of one block."""
    blocks = state["blocks"]
    assert isinstance(blocks, list)
    found: dict[str, object] = blocks[index]
    return found


WHOLE = (reasoning_item("One.", "Two."), message_item("a"), call_item("{}"))


@pytest.mark.parametrize(
    "edit",
    [
        lambda state: entry(state, 0).update(item="{"),
        lambda state: entry(state, 0).update(item='{"type":"message"}'),
        lambda state: entry(state, 0).update(lengths=[4]),
        lambda state: entry(state, 0).update(lengths=[3, 4]),
        lambda state: entry(state, 0).update(joins=True),
        lambda state: entry(state, 1).update(item='{"type":"reasoning"}'),
        lambda state: entry(state, 1).update(item='{"type":"message","content":7}'),
        lambda state: entry(state, 1).update(item='{"type":"message","content":[]}'),
        lambda state: entry(state, 1).update(item='{"type":"message","content":[{"text":null},{"text":null}]}'),
        lambda state: entry(state, 1).update(item=None, joins=True),
        lambda state: entry(state, 1).update(after=['{"type":"function_call"}']),
        lambda state: entry(state, 2).update(item='{"type":"message"}'),
        lambda state: entry(state, 2).update(lengths=[1]),
        lambda state: entry(state, 2).update(unknown=1),
        lambda state: state.update(before=["7"]),
    ],
)
def test_state_that_was_changed(edit: Callable[[dict[str, object]], object]) -> None:
    """State of this version that does not validate is INVALID_REPLAY_STATE (R5)."""
    message = edited(turn(*WHOLE), edit)

    assert failure_of(lambda: sent_back(message)).code == codes.INVALID_REPLAY_STATE


def test_a_message_that_begins_inside_another() -> None:
    """A message with a text that is still missing cannot be followed by another one."""
    message = turn(message_item("a"), message_item("b", id="msg_2"))
    two = '{"type":"message","content":[{"text":null},{"text":null}]}'

    broken = edited(message, lambda state: entry(state, 0).update(item=two))

    assert failure_of(lambda: sent_back(broken)).code == codes.INVALID_REPLAY_STATE


def test_state_of_another_version_counts_as_absent() -> None:
    """Another version, wire or block count is no error: the turn goes out plain, and it is reported."""
    changes: list[dict[str, object]] = [{"v": 2}, {"wire": "openai-chat"}, {"blocks": []}]
    for change in changes:
        message = edited(turn(message_item("a")), partial(dict.update, **change))
        assert sent_back(message) == [{"role": "assistant", "content": "a"}]


def test_surrogates_in_items() -> None:
    """Halves of surrogate pairs in an item do not keep it from going back (S5)."""
    body = (
        b'data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m",'
        b'"content":[{"type":"output_text","text":"a\\ud83d"}]}}\n\n'
    )

    message = read(body + ended()).message

    assert message.content == (TextBlock("a\ufffd"),)
    assert sent_back(message) == [
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "a\ufffd"}]}
    ]


def test_parallel_calls_of_a_stream_go_back() -> None:
    """Calls that were streamed side by side go back in the order of their indexes."""
    message = read(created() + call(0, '{"a":', "1}") + call(1, "{}", id="fc_2", call_id="b") + ended()).message

    assert sent_back(message) == [call_item('{"a":1}'), call_item("{}", id="fc_2", call_id="b")]
