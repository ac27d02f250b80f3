"""Public reports of what this wire did to others, each as one test of the same bytes."""

import json

from adapters.anthropic._messages_wire import (
    asking,
    body_of,
    closed,
    delta,
    event,
    failure_of,
    opened,
    read_all_ways,
    started,
    stopped,
    text,
    thinking,
)
from limen.adapters import BuildContext
from limen.adapters.anthropic import WIRE
from limen.contract import (
    MAX_TOKENS,
    BlockStart,
    Message,
    ReasoningBlock,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolSpec,
    UsageChunk,
    assistant,
    codes,
    tool_result,
    user,
)


def test_Q021_cumulative_usage_overwrites() -> None:
    """Counts of message_delta replace those of message_start, field by field (W7)."""
    body = (
        event(
            "message_start",
            message={"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 25, "output_tokens": 1}},
        )
        + text(0, "a")
        + event("message_delta", delta={"stop_reason": "end_turn"}, usage={"input_tokens": 25, "output_tokens": 15})
        + event("message_stop")
    )

    assert UsageChunk(TokenUsage(25, 15)) in read_all_ways(body).chunks


def test_Q023_overloaded_after_partial_text() -> None:
    """Text that came is kept, and the overload is the end of the stream, not a short answer (W1)."""
    body = (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":"par"}}\n\n'
        b'event: error\ndata: {"type":"error","error":{"details":null,"type":"overloaded_error",'
        b'"message":"Overloaded"}         }\n\n'
    )

    outcome = read_all_ways(body)

    assert outcome.chunks[:2] == [BlockStart(0, "text"), TextDelta(0, "par")]
    failure = outcome.finish.reason.failure
    assert failure is not None
    assert (failure.code, failure.provider_code, failure.phase) == (codes.OVERLOADED, "overloaded_error", "mid-stream")


def test_Q064_signature_is_replayed_before_the_call() -> None:
    """A streamed signature goes back with its thinking, first in the assistant's turn (N4)."""
    body = (
        started()
        + thinking(0, "hm", "c2ln")
        + opened(1, "tool_use", id="t", name="f", input={})
        + closed(1)
        + stopped("tool_use")
    )
    message = read_all_ways(body).response.message
    assert message is not None

    turns = body_of(asking(user("q"), message, tool_result("t", "r")))["messages"]

    assert turns[1]["content"] == [  # type: ignore[index]
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    ]


def test_Q065_no_signature_without_its_own_text() -> None:
    """A thinking block whose text was emptied, or whose signature is blank, is left out whole."""
    for text_of_it, signature in (("", "c2ln"), ("hm", "")):
        message = Message(
            "assistant",
            (ReasoningBlock(text_of_it), ToolCallBlock("t", "f", "{}")),
            replay_state={"v": 1, "wire": "anthropic-messages", "blocks": [{"signature": signature}, None]},
        )

        turns = body_of(asking(user("q"), message, tool_result("t", "r")))["messages"]

        assert turns[1]["content"] == [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]  # type: ignore[index]


def test_Q067_redacted_thinking_is_replayed_in_position() -> None:
    """Redacted thinking is no text, is stored, and goes back unchanged where it stood."""
    body = started() + opened(0, "redacted_thinking", data="b3BhcXVl") + closed(0) + text(1, "a") + stopped("end_turn")
    message = read_all_ways(body).response.message
    assert message is not None
    assert message.content == (TextBlock("a"),)

    turns = body_of(asking(user("q"), message, user("r")))["messages"]

    assert turns[1]["content"] == [{"type": "redacted_thinking", "data": "b3BhcXVl"}, {"type": "text", "text": "a"}]  # type: ignore[index]


def test_Q112_last_assistant_text_is_trimmed() -> None:
    """White space at the end of the last assistant text is trimmed, and of no other."""
    turns = body_of(asking(user("q"), assistant("The answer is ")))["messages"]

    assert turns[1]["content"] == [{"type": "text", "text": "The answer is"}]  # type: ignore[index]


def test_Q126_tool_without_parameters() -> None:
    """A single empty fragment, or none, makes the arguments {} (C8)."""
    for deltas in (b"", delta(1, "input_json_delta", partial_json="")):
        body = (
            started()
            + opened(1, "tool_use", id="toolu_1", name="now", input={})
            + deltas
            + closed(1)
            + stopped("tool_use")
        )

        assert read_all_ways(body).response.tool_calls == (ToolCallBlock("toolu_1", "now", "{}"),)


def test_Q127_input_in_the_start_of_the_block() -> None:
    """The whole input in content_block_start is the arguments, where no fragment follows (C8)."""
    body = (
        started() + opened(0, "tool_use", id="t", name="read", input={"path": "/x"}) + closed(0) + stopped("tool_use")
    )

    assert read_all_ways(body).response.tool_calls == (ToolCallBlock("t", "read", '{"path":"/x"}'),)


def test_Q130_refusal_and_context_window() -> None:
    """A refusal is CONTENT_FILTER with its details; a full window is max-tokens; an unknown word is no stop (C12)."""
    details = {"type": "refusal", "category": "cyber", "explanation": "x"}
    refused = read_all_ways(started() + stopped("refusal", stop_details=details)).finish.reason.failure
    unknown = read_all_ways(started() + text(0, "a") + stopped("new_word")).finish.reason.failure

    assert refused is not None
    assert unknown is not None
    assert (refused.code, refused.message, refused.provider_code) == (codes.CONTENT_FILTER, "x (cyber)", "refusal")
    assert read_all_ways(started() + stopped("model_context_window_exceeded")).finish.reason == MAX_TOKENS
    assert (unknown.code, unknown.provider_code) == (codes.UNKNOWN_FINISH, "new_word")


def test_Q178_root_combinators_are_refused_before_the_request() -> None:
    """A schema that every request would fail with is refused here, by tool and reason; nested ones are left alone."""
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    nested = {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}}

    error = failure_of(lambda: body_of(asking(tools=[ToolSpec("f", parameters=schema)])))

    assert error.code == codes.UNSUPPORTED
    assert "tools[0] (f)" in str(error)
    assert body_of(asking(tools=[ToolSpec("f", parameters=nested)]))["tools"] == [{"name": "f", "input_schema": nested}]


def test_Q209_citations_are_no_text_and_replayable() -> None:
    """A citation makes no chunk, and goes back with its text block (C14)."""
    citation = {"type": "web_search_result_location", "url": "https://e.example", "cited_text": "x"}
    body = (
        started()
        + opened(0, "text", text="")
        + delta(0, "citations_delta", citation=citation)
        + delta(0, "text_delta", text="a")
        + closed(0)
        + stopped("end_turn")
    )
    outcome = read_all_ways(body)
    message = outcome.response.message
    assert message is not None
    assert outcome.response.text == "a"

    turns = body_of(asking(user("q"), message, user("r")))["messages"]

    assert turns[1]["content"] == [{"type": "text", "text": "a", "citations": [citation]}]  # type: ignore[index]
    bare = delta(0, "citations_delta", citation=citation) + text(1, "b") + stopped("end_turn")
    assert read_all_ways(bare).response.text == "b"


def test_Q215_never_more_than_four_breakpoints() -> None:
    """However long system, tools and history are, three breakpoints go out, and none unasked."""
    history = [message for number in range(6) for message in (user(f"q{number}"), assistant(f"a{number}"))]
    tools = [ToolSpec(f"f{number}") for number in range(6)]
    options = {"system": "s", "tools": tools}

    marked = json.dumps(body_of(asking(*history, user("q"), cache="short", **options)))
    plain = WIRE.codec(None).build(asking(*history, user("q"), **options), BuildContext()).body

    assert marked.count("cache_control") == 3
    assert b"cache_control" not in plain
