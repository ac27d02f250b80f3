"""Anthropic Messages streams to chunks: blocks, calls, usage, the end; each body whole, byte by byte, at every cut."""

import json

import pytest

from adapters.anthropic._messages_wire import (
    Outcome,
    call,
    closed,
    delta,
    event,
    item,
    opened,
    read,
    read_all_ways,
    started,
    stopped,
    text,
    thinking,
)
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishReason,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    codes,
)

USAGE = UsageChunk(TokenUsage(input_tokens=3, output_tokens=7))
PING = event("ping")
# The provider's own tool, whose input never becomes JSON.
UNFINISHED = (
    opened(0, "server_tool_use", id="s", name="web_search", input={})
    + delta(0, "input_json_delta", partial_json='{"query": "x')
    + closed(0)
)


def said(index: int, *parts: str) -> list[StreamChunk]:
    """The chunks of a text block."""
    deltas = [TextDelta(index, part) for part in parts]
    return [BlockStart(index, "text"), *deltas, BlockEnd(index, TextBlock("".join(parts)))]


def called(index: int, call_id: str, name: str, *fragments: str) -> list[StreamChunk]:
    """The chunks of a tool call."""
    deltas = [ToolCallDelta(index, call_id, None, part) for part in fragments]
    block = ToolCallBlock(call_id, name, "".join(fragments))
    return [BlockStart(index, "tool-call"), ToolCallDelta(index, call_id, name), *deltas, BlockEnd(index, block)]


def ended(outcome: Outcome) -> FinishReason:
    """How an answer ended."""
    return outcome.finish.reason


def test_text_thinking_and_call_in_order() -> None:
    """The provider's blocks are the blocks, in its order (C18), with usage before the one finish (C5, C6)."""
    body = (
        started()
        + PING
        + thinking(0, "hm", "c2ln")
        + text(1, "Let ", "me.")
        + call(2, "toolu_1", "f", "", '{"a": ', "1}")
        + stopped("tool_use", usage={"output_tokens": 65, "output_tokens_details": {"thinking_tokens": 3}})
    )

    assert read_all_ways(body) == Outcome(
        [
            BlockStart(0, "reasoning"),
            ReasoningDelta(0, "hm"),
            BlockEnd(0, ReasoningBlock("hm")),
            *said(1, "Let ", "me."),
            *called(2, "toolu_1", "f", '{"a": ', "1}"),
            UsageChunk(TokenUsage(input_tokens=3, output_tokens=65, reasoning_tokens=3)),
            Finish(
                TOOL_CALLS,
                {"v": 1, "wire": "anthropic-messages", "blocks": [{"signature": "c2ln"}, None, None]},
            ),
        ],
        None,
        {"response_id": "msg_1", "response_model": "claude-x", "provider_reason": "tool_use"},
    )


def test_text_blocks_stay_apart() -> None:
    """Each text block of the wire is a block of its own; an empty one is none (C13, C18)."""
    body = started() + text(0, "a") + text(1) + text(2, "", "b") + stopped("end_turn")

    assert read_all_ways(body).chunks == [*said(0, "a"), *said(1, "b"), USAGE, Finish(STOP)]


def test_interleaved_blocks_keep_their_indexes() -> None:
    """Deltas of different open blocks may interleave; indexes follow the order of opening (C2, C3)."""
    body = (
        started()
        + opened(0, "text", text="")
        + opened(1, "tool_use", id="t", name="f", input={})
        + delta(1, "input_json_delta", partial_json="{}")
        + delta(0, "text_delta", text="a")
        + closed(1)
        + closed(0)
        + stopped("tool_use")
    )

    assert read_all_ways(body).chunks == [
        BlockStart(0, "tool-call"),
        ToolCallDelta(0, "t", "f"),
        ToolCallDelta(0, "t", None, "{}"),
        BlockStart(1, "text"),
        TextDelta(1, "a"),
        BlockEnd(0, ToolCallBlock("t", "f", "{}")),
        BlockEnd(1, TextBlock("a")),
        USAGE,
        Finish(TOOL_CALLS),
    ]


def test_content_in_the_start_of_a_block_is_its_first_delta() -> None:
    """Text and thinking that a block starts with count like deltas (W5)."""
    body = (
        started()
        + opened(0, "thinking", thinking="h", signature="old")
        + delta(0, "thinking_delta", thinking="m")
        + closed(0)
        + opened(1, "text", text="a", citations=[{"type": "x", "n": 1}])
        + delta(1, "text_delta", text="b")
        + closed(1)
        + stopped("end_turn")
    )

    outcome = read_all_ways(body)

    assert outcome.chunks[:5] == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "h"),
        ReasoningDelta(0, "m"),
        BlockEnd(0, ReasoningBlock("hm")),
        BlockStart(1, "text"),
    ]
    assert outcome.finish.replay_state is not None
    assert outcome.finish.replay_state["blocks"] == ({"signature": "old"}, {"citations": ('{"type":"x","n":1}',)})


@pytest.mark.parametrize(
    ("given", "fragments", "arguments"),
    [
        ("{}", [], "{}"),
        ("{}", ["", ""], "{}"),
        ("null", [], "{}"),
        ('""', [], "{}"),
        ('{ "a" : 1.10,\n "b": "x  y \\" z" }', [], '{"a":1.10,"b":"x  y \\" z"}'),
        ('{ "a" : 1 }', ['{"b":', " 2}"], '{"b": 2}'),
        ("{}", ['{"cut": tru'], '{"cut": tru'),
        ("{}", [" ", "\n"], "{}"),
        ("{}", [" ", '\n{"a":1}'], ' \n{"a":1}'),
        ('{"a":1}', [" "], '{"a":1}'),
    ],
)
def test_arguments_stay_raw(given: str, fragments: list[str], arguments: str) -> None:
    """Fragments are kept as they are, an object's bytes lose only white space, nothing becomes an object (C8)."""
    block = f'{{"type":"tool_use","id":"t","name":"f","input":{given}}}'
    start = f'event: content_block_start\ndata: {{"type":"content_block_start","index":0,"content_block":{block}}}\n\n'
    start = start.replace("\n ", " ")
    deltas = b"".join(delta(0, "input_json_delta", partial_json=part) for part in fragments)

    outcome = read_all_ways(started() + start.encode() + deltas + closed(0) + stopped("tool_use"))

    assert outcome.response.tool_calls == (ToolCallBlock("t", "f", arguments),)


def test_missing_and_repeated_ids_are_made() -> None:
    """A call without an id, or with one that was there, gets a made one from seed and ordinal (C9, C10, W4)."""
    body = (
        started()
        + call(0, None, "f")
        + call(1, "t", "f")
        + call(2, "t", "g")
        + opened(3, "tool_use", id=7, name="h", input={})
        + closed(3)
        + stopped("tool_use")
    )

    outcome = read_all_ways(body, id_seed=b"seed")
    lazily = read(body, id_seed=lambda: b"seed")
    other = read(body, id_seed=b"other")

    assert [(made.id, made.name) for made in outcome.response.tool_calls] == [
        ("limen_62dd5043634698af", "f"),
        ("t", "f"),
        ("limen_de5b0d30cef4b67a", "g"),
        ("7", "h"),
    ]
    assert lazily == outcome
    assert {made.id for made in other.response.tool_calls} & {made.id for made in outcome.response.tool_calls} == {
        "t",
        "7",
    }


def test_seed_is_asked_only_where_an_id_must_be_made() -> None:
    """A native id costs no seed (C9)."""

    def never() -> bytes:
        raise AssertionError("the seed was asked for")

    assert read(started() + call(0, "t", "f") + stopped("tool_use"), id_seed=never).code is None


@pytest.mark.parametrize(
    ("reason", "content", "expected"),
    [
        ("end_turn", text(0, "a"), STOP),
        ("pause_turn", text(0, "a"), STOP),
        ("compaction", item(0, "compaction", content="so far"), STOP),
        ("stop_sequence", b"", STOP),
        (None, text(0, "a"), STOP),
        ("max_tokens", text(0, "a"), MAX_TOKENS),
        ("max_tokens", b"", MAX_TOKENS),
        ("model_context_window_exceeded", b"", MAX_TOKENS),
        ("tool_use", call(0, "t", "f"), TOOL_CALLS),
        ("end_turn", text(0, "a") + call(1, "t", "f"), TOOL_CALLS),
        ("stop_sequence", call(0, "t", "f"), TOOL_CALLS),
        ("end_turn", item(0, "server_tool_use", id="s", name="web_search", input={}), STOP),
        ("pause_turn", item(0, "server_tool_use", id="s", name="web_search", input={}), STOP),
        ("end_turn", thinking(0, "hm", "s"), STOP),
        ("end_turn", UNFINISHED + item(1, "mcp_tool_use", id="t", name="x", input={}), STOP),
        ("END_TURN", text(0, "a"), STOP),
        ("Max_Tokens", text(0, "a"), MAX_TOKENS),
    ],
)
def test_ends_that_are_answers(reason: str | None, content: bytes, expected: FinishReason) -> None:
    """What each stop reason means, calls and the provider's own work included (C11, C12)."""
    outcome = read_all_ways(started() + content + stopped(reason))

    assert ended(outcome) == expected
    assert outcome.facts.get("provider_reason") == reason


@pytest.mark.parametrize(
    ("reason", "content", "code"),
    [
        ("end_turn", b"", codes.EMPTY_RESPONSE),
        ("end_turn", text(0), codes.EMPTY_RESPONSE),
        ("end_turn", text(0, " \n"), codes.EMPTY_RESPONSE),
        (None, b"", codes.EMPTY_RESPONSE),
        ("pause_turn", b"", codes.EMPTY_RESPONSE),
        ("end_turn", thinking(0, "", "sig"), codes.EMPTY_RESPONSE),
        ("end_turn", thinking(0, " ", "sig"), codes.EMPTY_RESPONSE),
        ("end_turn", item(0, "redacted_thinking", data="x"), codes.EMPTY_RESPONSE),
        ("end_turn", item(0, "fallback", to={"model": "m"}), codes.EMPTY_RESPONSE),
        ("end_turn", item(0, "future_block", text="Hello."), codes.EMPTY_RESPONSE),
        ("pause_turn", UNFINISHED, codes.EMPTY_RESPONSE),
        ("end_turn", UNFINISHED + item(1, "web_search_tool_result", tool_use_id="s"), codes.EMPTY_RESPONSE),
        ("Guardrail_Intervened", text(0, "a"), codes.CONTENT_FILTER),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", text(0, "a"), codes.SERVER),
        ("tool_use", text(0, "a"), codes.MALFORMED_RESPONSE),
        ("tool_use", item(0, "server_tool_use", id="s", name="x", input={}), codes.MALFORMED_RESPONSE),
        ("refusal", text(0, "I can"), codes.CONTENT_FILTER),
        ("sensitive", b"", codes.CONTENT_FILTER),
        ("content_filter", b"", codes.CONTENT_FILTER),
        ("error", text(0, "a"), codes.SERVER),
        ("malformed_function_call", text(0, "a"), codes.SERVER),
        ("because", text(0, "a"), codes.UNKNOWN_FINISH),
    ],
)
def test_ends_that_are_failures(reason: str | None, content: bytes, code: str) -> None:
    """A stop that says nothing, a refusal and words of failure are errors in-band, after the usage (C5, C12)."""
    outcome = read_all_ways(started() + content + stopped(reason))

    failure = ended(outcome).failure
    assert outcome.chunks[-2] == USAGE
    assert failure is not None
    assert (failure.code, failure.provider_code, failure.phase) == (code, reason, "mid-stream")
    assert outcome.finish.replay_state is None


def test_matched_stop_sequence_is_reported() -> None:
    """The sequence that matched is a fact of the call, and makes an empty turn a stop (C12)."""
    body = started() + stopped("end_turn", stop_sequence="###")

    outcome = read_all_ways(body)

    assert ended(outcome) == STOP
    assert outcome.facts["stop_sequence"] == "###"


def test_refusal_says_why() -> None:
    """A refusal's explanation and category are the message; blocks that are open stay open (C7)."""
    details = {"type": "refusal", "category": "cyber", "explanation": "No."}
    body = (
        started()
        + opened(0, "text", text="")
        + delta(0, "text_delta", text="I ")
        + stopped("refusal", stop_details=details)
    )

    assert read_all_ways(body).chunks == [
        BlockStart(0, "text"),
        TextDelta(0, "I "),
        USAGE,
        Finish(
            FinishReason(
                "error", Failure("No. (cyber)", codes.CONTENT_FILTER, phase="mid-stream", provider_code="refusal")
            )
        ),
    ]


def test_stop_reasons_show_no_secret() -> None:
    """A word that nobody knows may hold anything: neither message nor code contains a credential (E5)."""
    failure = read_all_ways(started() + text(0, "a") + stopped("sk-abcdefghijklmnopqrstuv")).finish.reason.failure

    assert failure is not None
    assert (failure.code, failure.provider_code) == (codes.UNKNOWN_FINISH, "[redacted]")
    assert "sk-abc" not in failure.message


def test_refusals_show_no_secret() -> None:
    """Words of the provider are scrubbed before they become a message (E5)."""
    details = {"explanation": "Not with sk-ant-abcdefghijklmnop", "category": None}

    failure = ended(read_all_ways(started() + stopped("refusal", stop_details=details))).failure
    bare = ended(read_all_ways(started() + stopped("refusal"))).failure

    assert failure is not None
    assert bare is not None
    assert failure.message == "Not with [redacted]"
    assert bare.message == "the provider refused to answer or to go on"


def test_stop_reasons_by_rank() -> None:
    """Of several reports, a token limit stands over calls and a stop, the last one over its equal (W5)."""
    reports = [
        event("message_delta", delta={"stop_reason": word})
        for word in ("max_tokens", "end_turn", None, "length", "stop")
    ]
    body = started() + text(0, "a") + b"".join(reports) + event("message_delta") + event("message_stop")

    outcome = read_all_ways(body)

    assert ended(outcome) == MAX_TOKENS
    assert outcome.facts["provider_reason"] == "length"


def test_cut_call_ends_as_it_arrived() -> None:
    """At a token limit a call without its end closes with what there is of it, and may not be executed (C17)."""
    body = (
        started()
        + text(0, "a")
        + opened(1, "tool_use", id="t", name="f", input={})
        + delta(1, "input_json_delta", partial_json='{"a": [1, ')
        + opened(2, "tool_use", id="u", name="g", input={})
        + stopped("max_tokens")
    )

    outcome = read_all_ways(body)

    assert ended(outcome) == MAX_TOKENS
    assert outcome.response.tool_calls == ()
    assert outcome.response.incomplete_tool_calls == (
        ToolCallBlock("t", "f", '{"a": [1, '),
        ToolCallBlock("u", "g", ""),
    )


def test_blocks_without_an_end_close_with_the_message() -> None:
    """Where a host leaves out content_block_stop, message_stop ends the blocks in order (C7)."""
    body = (
        started()
        + opened(0, "text", text="")
        + delta(0, "text_delta", text="a")
        + opened(1, "tool_use", id="t", name="f", input={})
        + stopped("tool_use")
    )

    assert read_all_ways(body).response.message is not None
    assert read(body).response.tool_calls == (ToolCallBlock("t", "f", "{}"),)


def test_an_error_stands_over_an_unknown_reason() -> None:
    """Of several reports an error stands over a word that nobody knows, whichever came first (W5)."""
    for words in (("because", "error"), ("error", "because")):
        reports = b"".join(event("message_delta", delta={"stop_reason": word}) for word in words)

        failure = ended(read_all_ways(started() + text(0, "a") + reports + event("message_stop"))).failure

        assert failure is not None
        assert (failure.code, failure.provider_code) == (codes.SERVER, "error")


def test_nesting_without_end_is_no_crash() -> None:
    """Arguments and inputs that nest deeper than any limit are judged like others that are no JSON object (S2)."""
    deep = "[" * 100_000
    call_cut = opened(0, "tool_use", id="t", name="f", input={}) + delta(0, "input_json_delta", partial_json=deep)
    tool = opened(0, "server_tool_use", id="s", name="x", input={}) + delta(0, "input_json_delta", partial_json=deep)

    cut = read(started() + call_cut + stopped("tool_use"))
    kept = read(started() + tool + closed(0) + text(1, "a") + stopped("end_turn"))

    assert (cut.code, kept.code, kept.finish.replay_state) == (codes.MALFORMED_RESPONSE, None, None)


@pytest.mark.parametrize("reason", ["tool_use", "end_turn", None])
def test_call_that_nobody_ended(reason: str | None) -> None:
    """Without its end, and outside a token limit, a call's arguments are complete JSON or the answer is malformed."""
    begun = started() + opened(0, "tool_use", id="t", name="f", input={})

    whole = begun + delta(0, "input_json_delta", partial_json='{"a":1}') + stopped(reason)
    part = begun + delta(0, "input_json_delta", partial_json='{"a":') + stopped(reason)

    assert read_all_ways(whole).response.tool_calls == (ToolCallBlock("t", "f", '{"a":1}'),)
    assert read_all_ways(part).code == codes.MALFORMED_RESPONSE


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ({"input_tokens": 25, "output_tokens": 1}, {"input_tokens": 25, "output_tokens": 15}, TokenUsage(25, 15)),
        (
            {"input_tokens": 11, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1},
            {"input_tokens": None, "cache_read_input_tokens": None, "output_tokens": 65},
            TokenUsage(11, 65, 5, 10),
        ),
        ({"input_tokens": 43}, {"input_tokens": 61.0, "output_tokens": 2}, TokenUsage(61, 2)),
        ({"input_tokens": -1}, {"output_tokens": 0}, TokenUsage(None, 0)),
        (
            {},
            {"output_tokens": 10, "output_tokens_details": {"thinking_tokens": 14}},
            TokenUsage(output_tokens=10, reasoning_tokens=10),
        ),
        (
            {},
            {"output_tokens": 10, "output_tokens_details": {"thinking_tokens": 40}},
            TokenUsage(output_tokens=50, reasoning_tokens=40),
        ),
        (
            {"cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": None}},
            {"output_tokens": 1},
            TokenUsage(output_tokens=1, cache_write_tokens=4),
        ),
        ({"cache_creation": {}}, {"output_tokens": 1}, TokenUsage(output_tokens=1)),
        ({"service_tier": "standard", "future": {"x": 1}}, {"output_tokens": 1}, TokenUsage(output_tokens=1)),
    ],
)
def test_usage_field_by_field(first: object, last: object, expected: TokenUsage) -> None:
    """The last count that is not null stands, field by field; counts are disjoint as they come (W7, section 1)."""
    start = {"id": "m", "content": [], "usage": first}
    body = event("message_start", message=start) + text(0, "a") + stopped("end_turn", usage=last)

    assert read_all_ways(body).chunks[-2] == UsageChunk(expected)


def test_no_usage_is_no_chunk() -> None:
    """Where the host counts nothing, nothing is claimed (C5)."""
    body = event("message_start", message={"id": "m"}) + text(0, "a") + event("message_stop")
    counted = event("message_start", message={"id": "m", "usage": {}}) + text(0, "a") + event("message_stop")

    assert read_all_ways(body).chunks == [*said(0, "a"), Finish(STOP)]
    assert read_all_ways(counted).chunks == [*said(0, "a"), Finish(STOP)]


def test_after_message_stop_nothing_counts() -> None:
    """What follows the end is not read, not even an error (S6)."""
    body = started() + text(0, "a") + stopped("end_turn") + event("error", error={"type": "api_error"}) + b"data: {\n\n"

    assert read_all_ways(body).chunks == [*said(0, "a"), USAGE, Finish(STOP)]


def test_end_without_its_blank_line_counts() -> None:
    """A clean end of body dispatches a complete last event (S1)."""
    body = started() + text(0, "a") + stopped("end_turn")

    assert read_all_ways(body[:-2]).chunks == [*said(0, "a"), USAGE, Finish(STOP)]


def test_type_in_the_event_line_stands_in() -> None:
    """Where the data has no type, the event line names it; the data's own type decides (W2)."""
    body = b"".join(
        f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
        for kind, data in [
            ("message_start", {"message": {"id": "m"}}),
            ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
            ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "a"}}),
            ("nonsense", {"type": "content_block_stop", "index": 0}),
            ("message_delta", {"type": None, "delta": {"stop_reason": "end_turn"}}),
            ("message_stop", {}),
        ]
    )

    assert read_all_ways(body).chunks == [*said(0, "a"), Finish(STOP)]


def test_missing_indexes_mean_the_block_last_opened() -> None:
    """An absent index falls back to the next block at a start, to the last one elsewhere (W3)."""
    body = (
        started()
        + opened(None, "text", text="")
        + delta(None, "text_delta", text="a")
        + closed(None)
        + opened(None, "tool_use", id="t", name="f", input={})
        + delta(None, "input_json_delta", partial_json="{}")
        + closed(None)
        + stopped("tool_use")
    )

    assert read_all_ways(body).chunks == [*said(0, "a"), *called(1, "t", "f", "{}"), USAGE, Finish(TOOL_CALLS)]


def test_missing_starts_are_implied_by_their_deltas() -> None:
    """A delta of text, thinking, a signature or a citation says what block it opens, where a host sends no start."""
    body = (
        started()
        + delta(0, "thinking_delta", thinking="hm")
        + delta(0, "signature_delta", signature="s")
        + delta(1, "text_delta", text="a")
        + closed(7)
        + closed(1)
        + closed(1)
        + stopped("end_turn")
    )

    assert read_all_ways(body).chunks == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "hm"),
        *said(1, "a"),
        BlockEnd(0, ReasoningBlock("hm")),
        USAGE,
        Finish(STOP, {"v": 1, "wire": "anthropic-messages", "blocks": [{"signature": "s"}, None]}),
    ]


def test_index_of_an_ended_block_may_come_again() -> None:
    """Hosts that number every block 0, one after the other, are understood."""
    body = started() + text(0, "a") + call(0, "t", "f") + stopped("tool_use")

    assert read_all_ways(body).chunks == [*said(0, "a"), *called(1, "t", "f", "{}"), USAGE, Finish(TOOL_CALLS)]


def test_message_start_twice_is_ignored() -> None:
    """A second message_start with the same id, or none, changes nothing."""
    body = started() + text(0, "a") + started(usage={"input_tokens": 99}) + started(None) + stopped("end_turn")

    assert read_all_ways(body).chunks == [*said(0, "a"), USAGE, Finish(STOP)]


def test_no_message_start_at_all() -> None:
    """A host that leaves out message_start leaves out facts, and nothing else."""
    assert read_all_ways(text(0, "a") + stopped("end_turn")) == Outcome(
        [*said(0, "a"), UsageChunk(TokenUsage(output_tokens=7)), Finish(STOP)], None, {"provider_reason": "end_turn"}
    )


CALLED = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}


def test_content_that_comes_with_the_message_start() -> None:
    """Blocks of a pre-populated message are delivered before what the stream adds (programmatic tool calling)."""
    body = started(content=[CALLED]) + text(1, "a") + stopped("tool_use")
    alone = started(content=[{"type": "text", "text": "a"}, CALLED]) + stopped("tool_use")

    assert read_all_ways(body).chunks == [*called(0, "t", "f", '{"a":1}'), *said(1, "a"), USAGE, Finish(TOOL_CALLS)]
    assert read_all_ways(alone).chunks == [*said(0, "a"), *called(1, "t", "f", '{"a":1}'), USAGE, Finish(TOOL_CALLS)]


def test_content_of_the_message_start_that_is_streamed_again() -> None:
    """Where the stream begins the pre-populated blocks anew, the stream is what counts."""
    body = started(content=[{"type": "text", "text": "a"}]) + text(0, "a") + stopped("end_turn")
    other = started(content=[{"type": "text", "text": "a"}]) + call(0, "t", "f") + stopped("tool_use")

    assert read_all_ways(body).chunks == [*said(0, "a"), USAGE, Finish(STOP)]
    assert read_all_ways(other).chunks == [*said(0, "a"), *called(1, "t", "f", "{}"), USAGE, Finish(TOOL_CALLS)]
