"""Cohere's answers to chunks, by the rules of the contract."""

import json

import pytest

import limen
from adapters.cohere._cohere_wire import (
    DONE,
    call_started,
    ended,
    event,
    fragment,
    message,
    part,
    read,
    read_once,
    started,
)
from limen.contract import ReasoningBlock, TextBlock, TokenUsage, ToolCallBlock


def test_C18_parts_and_calls_are_blocks_in_their_order() -> None:
    """Each part with text and each call is one block; the wire's two counters do not mix."""
    found = read(
        started(), part(0, "thinking", "hm", "!"), part(1, "text", "Hi"), call_started(0), fragment(0, "{}"),
        event("tool-call-end", index=0), ended("TOOL_CALL"), DONE,
    )  # fmt: skip
    assert found.blocks == [ReasoningBlock("hm!"), TextBlock("Hi"), ToolCallBlock("add_1", "add", "{}")]
    assert found.code == "tool-calls"
    assert found.finish.replay_state is None


def test_C14_a_tool_plan_is_reasoning_that_ends_where_a_part_or_a_call_begins() -> None:
    """More of a plan after that is another block, and the replay state tells plans from thinking."""
    plan = [message("tool-plan-delta", tool_plan=text) for text in ("I will", " add", "", "more")]
    found = read(started(), *plan[:3], part(0, "text", "a"), plan[3], call_started(0), ended("TOOL_CALL"), DONE)
    assert found.blocks == [
        ReasoningBlock("I will add"),
        TextBlock("a"),
        ReasoningBlock("more"),
        ToolCallBlock("add_1", "add", "{}"),
    ]
    assert found.finish.replay_state == {
        "v": 1, "wire": "cohere", "blocks": ({"plan": True}, None, {"plan": True}, None),
    }  # fmt: skip


def test_C14_citations_make_no_block_and_are_kept_as_they_came() -> None:
    """White space outside strings aside; what is no citation is none."""
    citation = b'{"start": 0, "end": 1.50, "text": "a b", "sources": []}'
    body = b'data: {"type":"citation-start","index":0,"delta":{"message":{"citations":%b}}}\n\n'
    odd = [body % raw for raw in (b"7", b'"x"', b"null", b"[1]")]
    found = read(started(), part(0, "text", "a b"), body % citation, *odd, event("citation-end", index=0), ended())
    assert found.blocks == [TextBlock("a b")]
    assert found.finish.replay_state == {
        "v": 1,
        "wire": "cohere",
        "blocks": (None,),
        "citations": ('{"start":0,"end":1.50,"text":"a b","sources":[]}',),
    }


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("COMPLETE", "stop"),
        ("STOP_SEQUENCE", "stop"),
        ("MAX_TOKENS", "max-tokens"),
        ("ERROR_LIMIT", "max-tokens"),
        ("ERROR_TOXIC", "CONTENT_FILTER"),
        ("ERROR", "SERVER"),
        ("TIMEOUT", "TIMEOUT"),
        ("TOOL_CALL", "MALFORMED_RESPONSE"),
        ("SOLAR_FLARE", "UNKNOWN_FINISH"),
    ],
)
def test_E3_finish_words(word: str, code: str) -> None:
    """Each word of the wire has one meaning; an unknown one is told."""
    found = read(started(), part(0, "text", "Hi"), ended(word), DONE)
    assert found.code == code
    failure = found.finish.reason.failure
    assert failure is None or failure.provider_code == word


def test_C11_a_stop_after_calls_is_tool_calls() -> None:
    """A plain stop after complete calls is normalized."""
    assert read(started(), call_started(0), ended(), DONE).code == "tool-calls"


@pytest.mark.parametrize("text", ["", "  "])
def test_C12_a_stop_without_an_answer(text: str) -> None:
    """Nothing, blank text and a lone citation are no answer; a matched stop sequence is a stop."""
    assert read(started(), part(0, "text", text), ended(usage={}), DONE).code == "EMPTY_RESPONSE"
    assert read(started(), ended("STOP_SEQUENCE"), DONE).code == "stop"


def test_C8_arguments_stand_as_they_came() -> None:
    """Strings stay strings, `null` too; a call without any text, or with blank text only, is `{}`."""
    calls = [
        call_started(0, arguments='{"a": 1.50'), fragment(0, ', "b": 2}'), event("tool-call-end", index=0),
        call_started(1, call_id="add_2"), fragment(1, None), fragment(1, " "), event("tool-call-end", index=1),
        call_started(2, call_id=7), fragment(2, "null"),
    ]  # fmt: skip
    found = read(started(), *calls, event("tool-call-end", index=2), ended("TOOL_CALL"), DONE)
    assert found.code == "tool-calls"
    assert found.blocks == [
        ToolCallBlock("add_1", "add", '{"a": 1.50, "b": 2}'),
        ToolCallBlock("add_2", "add", "{}"),
        ToolCallBlock("7", "add", "null"),
    ]


def test_C9_C10_ids() -> None:
    """A missing or repeated id is made, the same for the same bytes."""
    found = read(
        started(), call_started(0), call_started(1), call_started(None, call_id=None), ended("TOOL_CALL"), DONE
    )
    ids = [block.id for block in found.blocks if isinstance(block, ToolCallBlock)]
    assert ids[0] == "add_1"
    assert len(set(ids)) == 3
    assert all(one.startswith("limen_") for one in ids[1:])


def test_C17_a_limit_cuts_a_call() -> None:
    """The block ends as it arrived, and is no call that may be executed."""
    found = read(started(), call_started(0), fragment(0, '{"a"'), ended("MAX_TOKENS"), DONE)
    assert (found.blocks, found.code) == ([ToolCallBlock("add_1", "add", '{"a"')], "max-tokens")
    cut = read(started(), call_started(0), ended("MAX_TOKENS"), DONE)
    assert cut.blocks == [ToolCallBlock("add_1", "add", "")]


def test_C18_a_delta_without_a_start_says_what_it_is_of() -> None:
    """A gateway that leaves `content-start` out loses no text."""
    deltas = [
        message("content-delta", 0, content={"thinking": "hm"}),
        message("content-delta", 1, content={"text": "a"}),
    ]
    assert read(started(), *deltas, ended(), DONE).blocks == [ReasoningBlock("hm"), TextBlock("a")]


def test_C18_the_index_of_a_part_that_has_ended_may_come_again() -> None:
    """One part after the other is plain enough, and the first still counts as an answer."""
    found = read(started(), part(0, "text", "a"), part(0, "text", " "), ended(), DONE)
    assert (found.blocks, found.code) == ([TextBlock("a"), TextBlock(" ")], "stop")


def test_C13_empty_deltas_open_nothing() -> None:
    """A part without text is no block, whatever the order of its events."""
    nothing = message("content-delta", 5, content={"text": ""})
    found = read(started(), part(0, "thinking"), nothing, part(1, "text", "", "a", ""), ended(), DONE)
    assert found.blocks == [TextBlock("a")]


def test_section_1_usage_is_disjoint() -> None:
    """Cached tokens are part of the input, reasoning of the output; integral floats are counts."""
    tokens = {"input_tokens": 507.0, "output_tokens": 10, "reasoning_tokens": 4}
    billed = {"input_tokens": 12, "output_tokens": 7}
    whole = {"tokens": tokens, "billed_units": billed, "cached_tokens": 448}
    said = part(0, "text", "a")
    assert read(said, ended(usage=whole)).usage == TokenUsage(
        input_tokens=59, output_tokens=10, cache_read_tokens=448, reasoning_tokens=4
    )
    assert read(said, ended(usage={"billed_units": billed})).usage == TokenUsage(input_tokens=12, output_tokens=7)
    assert read(said, ended()).usage is None


def test_C15_fields_beside_the_answer_cost_nothing_else() -> None:
    """A count, an id or a report that cannot be read is unknown, with a note."""
    odd = {"tokens": {"input_tokens": "x", "output_tokens": 3}, "billed_units": [], "cached_tokens": {}}
    found = read(event("message-start", id=["x"], delta=None), part(0, "text", "a"), ended(usage=odd), DONE)
    assert (found.code, found.usage) == ("stop", TokenUsage(output_tokens=3))
    assert read(part(0, "text", "a"), ended(usage="none"), DONE).code == "stop"
    reader = limen.adapters.cohere.WIRE.reader()  # type: ignore[attr-defined]
    reader.feed(part(0, "text", "a") + ended(usage="none") + DONE)
    assert reader.call_facts.notes == ["delta.usage could not be read and counts as unknown"]


def test_C15_unknown_events_and_parts_pass() -> None:
    """An event of an unknown type, also of another shape, is ignored; a part of an unknown kind leaves a note."""
    found = read(
        started(), event("debug", prompt="p"), event("weather", delta=7, index="x"),
        message("content-start", 0, content={"type": "image"}), message("content-delta", 0, content={"text": "x"}),
        event("content-end", index=0), part(1, "text", "a"), ended(), DONE,
    )  # fmt: skip
    assert (found.blocks, found.code) == ([TextBlock("a")], "stop")


def test_W2_empty_in_a_wrong_type_is_absent() -> None:
    """Empty lists and strings where objects stand, an index in quotes, a list of one."""
    found = read(
        started(), event("content-start", index="0", delta={"message": {"content": []}}),
        message("content-delta", 0, content="a", tool_calls="", tool_plan=[]),
        message("content-delta", 0, content={"text": ""}), event("content-delta", index=0, delta={}),
        message("content-delta", 0, content=[{"text": "b"}]), message("content-delta", None, content={"text": "c"}),
        event("content-end"), event("content-end"), event("content-end", index=9), event("tool-call-end"),
        message("tool-call-start", 0, tool_calls=[{"id": "x", "function": {"name": "add"}}]),
        message("tool-call-delta", 0, tool_calls=[{}]), event("tool-call-end"), event("tool-call-end"), ended(), DONE,
    )  # fmt: skip
    assert found.blocks == [TextBlock("abc"), ToolCallBlock("x", "add", "{}")]


def test_S5_one_bad_byte_never_costs_the_answer() -> None:
    """Invalid UTF-8, control characters, NaN beside the answer, halves of surrogate pairs within and across deltas."""
    odd = b'data: {"type":"content-delta","index":0,"logprobs":NaN,"delta":{"message":{"content":{"text":"%b"}}}}\n\n'
    texts = (b"\xff", b"a\x01", rb"\ud83c", rb"\udf89", rb"\ud83c")
    found = read(started(), message("content-start", 0, content={"type": "text"}), *[odd % one for one in texts],
                 ended(), DONE)  # fmt: skip
    assert found.blocks == [TextBlock("\ufffda\x01🎉\ufffd")]
    plan = rb'data: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"p\ud83c"}}}' + b"\n\n"
    call = rb'data: {"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":'
    call += rb'"{\"a\":\"\ud83c"}}}}}' + b"\n\n"
    other = read(started(), plan, call_started(0), call, fragment(0, '"}'), ended("TOOL_CALL"), DONE)
    assert other.blocks == [ReasoningBlock("p\ufffd"), ToolCallBlock("add_1", "add", '{"a":"\ufffd"}')]


def test_W5_W6_how_a_stream_ends() -> None:
    """By the marker after message-end, or a clean end after it; content in between counts, nothing after does."""
    said = started() + part(0, "text", "a")
    assert read(said, ended()).code == "stop"
    assert read(said, ended(), part(1, "text", "b"), DONE, part(2, "text", "c")).blocks == [
        TextBlock("a"), TextBlock("b"),
    ]  # fmt: skip
    assert read(said, DONE).code == "raised STREAM_CLOSED"
    assert read(said).code == "raised STREAM_CLOSED"
    assert read(b"").code == "raised STREAM_CLOSED"
    assert read(said, ended("MAX_TOKENS"), ended("COMPLETE"), DONE).code == "max-tokens"


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"error": "it failed"}, "SERVER", "it failed"),
        ({"error": "too many tokens: size limit exceeded by 5"}, "CONTEXT_WINDOW_EXCEEDED", "too many"),
        ({"error": {"message": "Overloaded"}}, "OVERLOADED", "Overloaded"),
    ],
)
def test_W1_an_error_ends_the_stream_at_once(fields: dict[str, object], code: str, words: str) -> None:
    """With the word ERROR, or with none; what follows is not read, and blocks that are open stay open (C7)."""
    for word in ("ERROR", None):
        opened = message("content-start", 0, content={"type": "text", "text": "a"})
        end = ended(word, usage={"tokens": {"input_tokens": 3}}, **fields)
        found = read(started(), opened, end, part(1, "text", "late"), DONE)
        failure = found.finish.reason.failure
        assert failure is not None
        assert (failure.code, words in failure.message, failure.phase) == (code, True, "mid-stream")
        assert (found.blocks, found.usage) == ([], TokenUsage(input_tokens=3))


def test_W1_the_words_of_a_filter_and_of_time_are_kept() -> None:
    """The finish word gives the code, the error its words."""
    toxic = read(started(), ended("ERROR_TOXIC", error="not this"), DONE).finish.reason.failure
    late = read(ended("TIMEOUT", error="took too long"), DONE).finish.reason.failure
    assert toxic is not None
    assert late is not None
    assert (toxic.code, toxic.message, toxic.phase) == ("CONTENT_FILTER", "not this", "mid-stream")
    assert (late.code, late.message, late.phase) == ("TIMEOUT", "took too long", "first-event")


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"message":"Overloaded","id":"x"}\n\n',
        b'data: {"error":{"message":"Overloaded"}}\n\n',
        b'data: {"type":"error","message":"Overloaded"}\n\n',
        b'event: error\ndata: {"message":"Overloaded"}\n\n',
        b'{"error":"Overloaded"}\n',
    ],
)
def test_W1_errors_without_a_message_end(body: bytes) -> None:
    """An error event, one at the top level, and an error's body in place of an event end the stream in-band."""
    found = read(started(), part(0, "text", "a"), body)
    assert (found.code, found.blocks) == ("OVERLOADED", [TextBlock("a")])


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"type":"content-delta","index":0,"delta":{"message":"text"}}\n\n',
        b'data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":7}}}}\n\n',
        b'data: {"type":"content-del\n\n',
        b'data: {"index":0}\n\n',
        b"data: 7\n\n",
        b'data: {"type":"debug","a":' + b"[" * 200 + b"]" * 200 + b"}\n\n",
        event("message-end", delta=None),
        part(1, "text", "x") + message("content-delta", 1, content={"text": "late"}),
        message("content-start", 1, content={"type": "text"}) * 2,
        message("content-start", 1, content={"type": "text"}) + message("content-delta", 1, content={"thinking": "x"}),
        message("content-start", 1, content={"type": "thinking"}) + message("content-delta", 1, content={"text": "x"}),
        call_started(0, name=None),
        call_started(0) * 2,
        fragment(0, "{}"),
        call_started(0) + event("tool-call-end", index=0) + fragment(0, "{}"),
        call_started(0) + fragment(0, '{"a"') + ended("TOOL_CALL") + DONE,
        call_started(0) + fragment(0, '{"a"') + ended("TOOL_CALL"),
    ],
)
def test_C15_what_the_wire_does_not_allow_is_malformed(body: bytes) -> None:
    """Shapes, orders and depths that no variant has; what came before is delivered (S4)."""
    found = read(started(), part(0, "text", "a"), body)
    assert found.code == "raised MALFORMED_RESPONSE"
    assert found.blocks[:1] == [TextBlock("a")]


WHOLE: dict[str, object] = {
    "id": "answer-1",
    "message": {
        "role": "assistant",
        "tool_plan": "plan",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}],
        "tool_calls": [{"id": "add_1", "type": "function", "function": {"name": "add", "arguments": "null"}}],
        "citations": [{"start": 0, "end": 2}],
    },
    "finish_reason": "TOOL_CALL",
    "usage": {"tokens": {"input_tokens": 3, "output_tokens": 2}},
}


def whole(**fields: object) -> bytes:
    return json.dumps({**WHOLE, **fields}).encode()


def test_S3_a_whole_answer_is_read_as_if_streamed() -> None:
    """Plan, content, calls, citations, counts; content as a string or one part too."""
    found = read(b" \n" + whole())
    assert found.blocks == [
        ReasoningBlock("plan"), ReasoningBlock("hm"), TextBlock("Hi"), ToolCallBlock("add_1", "add", "null"),
    ]  # fmt: skip
    assert found.finish.replay_state == {
        "v": 1,
        "wire": "cohere",
        "blocks": ({"plan": True}, None, None, None),
        "citations": ('{"start":0,"end":2}',),
    }
    assert found.usage == TokenUsage(input_tokens=3, output_tokens=2)
    for content in ("Hi", {"type": "text", "text": "Hi"}, [{"text": "Hi"}]):
        assert read(whole(id=None, message={"content": content}, finish_reason="COMPLETE")).blocks == [TextBlock("Hi")]
    cut = {"tool_calls": [{"id": "x", "function": {"name": "add", "arguments": ""}}]}
    assert read(whole(message=cut, finish_reason="MAX_TOKENS")).blocks == [ToolCallBlock("x", "add", "")]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (whole()[:60], "STREAM_CLOSED"),
        (whole() + b"x", "MALFORMED_RESPONSE"),
        (b"{oops", "MALFORMED_RESPONSE"),
        (b'{"status":"queued"}', "MALFORMED_RESPONSE"),
        (b"[1]", "MALFORMED_RESPONSE"),
        (b"<html>sign in</html>", "MALFORMED_RESPONSE"),
        (whole(message={"tool_calls": [{"id": "x"}]}), "MALFORMED_RESPONSE"),
        (b'{"id":"x","message":"model \'x\' not found"}', "MODEL_NOT_FOUND"),
        (b'{"error":"Overloaded"}', "OVERLOADED"),
    ],
)
def test_S3_bodies_that_are_no_answer(body: bytes, code: str) -> None:
    """A cut document, other JSON, a page, and an error in place of the answer, which is raised (E1)."""
    assert read(body).code == f"raised {code}"


def test_S3_an_error_in_a_whole_answer_is_in_band() -> None:
    """A message with a finish word of failure, or an error beside it."""
    assert read(whole(finish_reason="ERROR_TOXIC")).code == "CONTENT_FILTER"
    assert read(whole(error="Overloaded")).code == "OVERLOADED"


def test_the_cost_of_a_delta_does_not_grow() -> None:
    """Twenty thousand fragments of one call, and as many of a text, are read in one pass (S2)."""
    many = fragment(0, "aaaa") * 20_000
    found = read_once([started() + call_started(0, arguments='{"a":"') + many + fragment(0, '"}') + ended() + DONE])
    assert found.code == "tool-calls"
    assert len(found.chunks) == 20_000 + 6


def test_facts_of_a_call() -> None:
    """The answer's id and the finish word are the call's facts; the wire names no model."""
    reader = limen.adapters.cohere.WIRE.reader()  # type: ignore[attr-defined]
    reader.feed(started() + part(0, "text", "a") + ended())
    assert (reader.done, reader.may_end) == (False, True)
    reader.feed(DONE)
    facts = reader.call_facts
    assert (reader.done, facts.response_id, facts.provider_reason, facts.response_model) == (
        True, "answer-1", "COMPLETE", None,
    )  # fmt: skip
