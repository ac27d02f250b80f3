"""Streams of OpenAI Responses to chunks: items, parts, ends, and servers that leave things out."""

import pytest

from adapters.openai_responses._responses_wire import (
    added,
    call,
    call_item,
    created,
    delta,
    done,
    ended,
    event,
    message_item,
    read,
    read_all_ways,
    reasoning_item,
    text,
)
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Finish,
    Limits,
    ReasoningBlock,
    ReasoningDelta,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    codes,
)

ARGUMENTS = "function_call_arguments"
RAW = {"type": "reasoning_text"}
USAGE = UsageChunk(TokenUsage(input_tokens=3, output_tokens=7))


def blocks_of(body: bytes) -> tuple[object, ...]:
    """The blocks of an answer that succeeded."""
    return tuple(read(body).message.content)


def test_text_however_it_is_cut() -> None:
    """A message of one part is one text block; the same bytes give the same chunks (C1, C16)."""
    outcome = read_all_ways(created() + text(0, "é", "😀") + ended())

    assert outcome.chunks[:-1] == [
        BlockStart(0, "text"),
        TextDelta(0, "é"),
        TextDelta(0, "😀"),
        BlockEnd(0, TextBlock("é😀")),
        USAGE,
    ]
    assert outcome.finish.reason == STOP
    assert outcome.facts == {"response_id": "resp_1", "response_model": "gpt-x", "provider_reason": "completed"}


def test_calls_however_they_are_cut() -> None:
    """Each call is a block under its call_id, its arguments as they came (C8, C11)."""
    body = created() + call(0, '{"a":', " 1}") + call(1, "", id="fc_2", call_id="call_b", name="now") + ended()

    outcome = read_all_ways(body)

    assert outcome.chunks[:-1] == [
        BlockStart(0, "tool-call"),
        ToolCallDelta(0, "call_a", "add", ""),
        ToolCallDelta(0, "call_a", None, '{"a":'),
        ToolCallDelta(0, "call_a", None, " 1}"),
        BlockEnd(0, ToolCallBlock("call_a", "add", '{"a": 1}')),
        BlockStart(1, "tool-call"),
        ToolCallDelta(1, "call_b", "now", ""),
        ToolCallDelta(1, "call_b", None, "{}"),
        BlockEnd(1, ToolCallBlock("call_b", "now", "{}")),
        USAGE,
    ]
    assert outcome.finish.reason == TOOL_CALLS


def test_reasoning_summary_of_several_parts_is_one_block() -> None:
    """Parts of a summary join with a blank line; a content beside it is the same told twice (C18)."""
    body = (
        created()
        + added(0, **reasoning_item())
        + delta(0, "reasoning_summary_text", "One")
        + event("response.reasoning_summary_text.done", output_index=0, summary_index=0, text="One.")
        + delta(0, "reasoning_summary_text", "Two", summary_index=1)
        + delta(0, "reasoning_text", "raw")
        + event("response.reasoning_summary_part.done", output_index=0, summary_index=1,
                part={"type": "summary_text", "text": "Two!"})
        + done(0, **reasoning_item("One.", "Two!", "Three"))
        + text(1, "a")
        + ended()
    )  # fmt: skip

    outcome = read_all_ways(body)

    assert outcome.chunks[:8] == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "One"),
        ReasoningDelta(0, "."),
        ReasoningDelta(0, "\n\n"),
        ReasoningDelta(0, "Two"),
        ReasoningDelta(0, "!"),
        ReasoningDelta(0, "\n\n"),
        ReasoningDelta(0, "Three"),
    ]
    assert outcome.chunks[8] == BlockEnd(0, ReasoningBlock("One.\n\nTwo!\n\nThree"))


def test_raw_reasoning_is_reasoning() -> None:
    """Servers of open models send the content itself."""
    content = [{"type": "reasoning_text", "text": "hm, so"}]
    item = reasoning_item(content=content, encrypted_content=None)
    body = (
        created() + added(0, **reasoning_item()) + delta(0, "reasoning_text", "hm,") + delta(0, "reasoning_text", " so")
    )

    assert blocks_of(body + done(0, **item) + text(1, "a") + ended()) == (ReasoningBlock("hm, so"), TextBlock("a"))
    assert blocks_of(created() + done(0, **item) + text(1, "a") + ended()) == (ReasoningBlock("hm, so"), TextBlock("a"))


def test_reasoning_without_text_makes_no_block() -> None:
    """What is sealed goes to the replay state (C1)."""
    outcome = read(created() + added(0, **reasoning_item()) + done(0, **reasoning_item()) + text(1, "a") + ended())

    state = outcome.finish.replay_state
    assert state is not None
    assert [type(block) for block in outcome.message.content] == [TextBlock]
    assert len(state["before"]) == 1  # type: ignore[arg-type]


def test_items_that_overlap() -> None:
    """Deltas belong to their output index, whatever else is open (C3)."""
    body = (
        created()
        + added(1, **call_item("", id="fc_1", call_id="a"))
        + added(2, **call_item("", id="fc_2", call_id="b"))
        + delta(2, "function_call_arguments", '{"t":2}')
        + delta(1, "function_call_arguments", '{"t":1}')
        + done(2, **call_item('{"t":2}', id="fc_2", call_id="b"))
        + done(1, **call_item('{"t":1}', id="fc_1", call_id="a"))
        + ended()
    )

    assert blocks_of(body) == (ToolCallBlock("a", "add", '{"t":1}'), ToolCallBlock("b", "add", '{"t":2}'))


def test_two_parts_of_a_message_are_two_blocks() -> None:
    """Each part is a block of its own, ended by its own event (C18)."""
    parts = [{"type": "output_text", "text": "a", "annotations": []}, {"type": "output_text", "text": "b"}]
    body = (
        created()
        + added(0, **message_item("", content=[]))
        + delta(0, "output_text", "a")
        + event("response.content_part.done", output_index=0, content_index=0, part=parts[0])
        + delta(0, "output_text", "b", content_index=1)
        + done(0, **message_item("", content=parts))
        + ended()
    )

    outcome = read(body)

    assert [type(chunk) for chunk in outcome.chunks[:3]] == [BlockStart, TextDelta, BlockEnd]
    assert outcome.message.content == (TextBlock("a"), TextBlock("b"))


class TestSparseServers:
    """Servers that send deltas only, ends only or the last event only."""

    def test_only_the_terminal_event(self) -> None:
        """Items that only the last event has are read from it (S3)."""
        output = [reasoning_item("r"), message_item("a"), call_item('{"a":1}')]

        outcome = read_all_ways(ended(output=output))

        assert outcome.message.content == (
            ReasoningBlock("r"),
            TextBlock("a"),
            ToolCallBlock("call_a", "add", '{"a":1}'),
        )

    def test_only_ends_of_items(self) -> None:
        """An item that nothing announced begins with its end."""
        body = done(0, **message_item("a")) + done(1, **call_item('{"a":1}')) + ended()

        assert blocks_of(body) == (TextBlock("a"), ToolCallBlock("call_a", "add", '{"a":1}'))

    def test_only_ends_of_texts(self) -> None:
        """The end of a text tells all of it; its item needs no end."""
        body = (
            event("response.output_text.done", output_index=0, content_index=0, text="a")
            + added(1, **call_item(""))
            + event("response.function_call_arguments.done", output_index=1, arguments='{"a":1}')
            + ended()
        )

        assert blocks_of(body) == (TextBlock("a"), ToolCallBlock("call_a", "add", '{"a":1}'))

    def test_only_deltas(self) -> None:
        """Deltas imply their items; nothing of such an item can be sent back."""
        body = delta(0, "reasoning_text", "r") + delta(1, "output_text", "a") + ended()

        outcome = read(body)

        assert outcome.message.content == (ReasoningBlock("r"), TextBlock("a"))
        assert outcome.finish.replay_state is None

    def test_no_indexes(self) -> None:
        """Without an index an event belongs to the item of its id, else to the last one of its kind."""
        body = (
            added(None, **message_item("", content=[], id="m"))
            + delta(None, "output_text", "a", item_id="m")
            + delta(None, "output_text", "b")
            + added(None, **call_item("", id="f"))
            + delta(None, "output_text", "c", item_id="m")
            + delta(None, "function_call_arguments", '{"a":1}', item_id="f")
            + done(None, **call_item('{"a":1}', id="f"))
            + delta(None, "output_text", "d")
            + ended()
        )

        assert blocks_of(body) == (TextBlock("abc"), ToolCallBlock("call_a", "add", '{"a":1}'), TextBlock("d"))

    def test_one_index_for_all_items(self) -> None:
        """An index that comes again after its item's end is the next item's; a repeated end is no second item."""
        body = (
            text(0, "a")
            + done(0, **message_item("a"))
            + call(0, "{}")
            + call(0, "{}", id="fc_2", call_id="b")
            + ended()
        )

        assert blocks_of(body) == (
            TextBlock("a"),
            ToolCallBlock("call_a", "add", "{}"),
            ToolCallBlock("b", "add", "{}"),
        )

    def test_part_numbers_that_differ_from_the_item(self) -> None:
        """vLLM counts the parts of a stream through, and those of an item from 0 (recorded 2026)."""
        body = (
            added(1, **message_item("", content=[]))
            + delta(1, "output_text", "ab", content_index=1)
            + event("response.content_part.done", output_index=1, content_index=1,
                    part={"type": "output_text", "text": "ab"})
            + done(1, **message_item("ab"))
            + ended()
        )  # fmt: skip

        assert blocks_of(body) == (TextBlock("ab"),)

    def test_last_output_that_leaves_items_out(self) -> None:
        """Items are found by id, place or order; what has ended stays as it ended."""
        body = text(0, "a") + call(1, "{}") + ended(output=[call_item("{}", id="other")])

        assert blocks_of(body) == (TextBlock("a"), ToolCallBlock("call_a", "add", "{}"))

    def test_last_output_ends_what_is_open(self) -> None:
        """An item without an end of its own ends by the last event, a new one begins there."""
        open_call = added(0, **call_item("")) + delta(0, "function_call_arguments", '{"a"')
        output = [call_item('{"a":1}', id="x"), message_item("b")]

        assert blocks_of(open_call + ended(output=output)) == (
            ToolCallBlock("call_a", "add", '{"a":1}'),
            TextBlock("b"),
        )

    def test_arguments_in_the_beginning_of_a_call(self) -> None:
        """Whole arguments there stand unless deltas come; a piece of them is the first delta."""
        whole = added(0, **call_item('{"a":1}'))
        piece = added(1, **call_item('{"b"', id="f", call_id="b")) + delta(1, "function_call_arguments", ":2}")
        twice = added(2, **call_item('{"c":3}', id="g", call_id="c")) + delta(2, "function_call_arguments", '{"c":3}')

        assert blocks_of(whole + piece + twice + ended()) == (
            ToolCallBlock("call_a", "add", '{"a":1}'),
            ToolCallBlock("b", "add", '{"b":2}'),
            ToolCallBlock("c", "add", '{"c":3}'),
        )

    def test_arguments_that_are_an_object(self) -> None:
        """The object's bytes become the string, white space outside strings removed (C8)."""
        body = event("response.output_item.done", output_index=0, item={**call_item(""), "arguments": {"a": [1.50]}})

        assert blocks_of(body + ended()) == (ToolCallBlock("call_a", "add", '{"a":[1.5]}'),)

    def test_same_arguments_with_other_blanks(self) -> None:
        """What was sent first stands where the end is the same JSON (C8)."""
        body = (
            added(0, **call_item(""))
            + delta(0, "function_call_arguments", '{"a":1}')
            + done(0, **call_item('{"a": 1}'))
        )

        assert blocks_of(body + ended()) == (ToolCallBlock("call_a", "add", '{"a":1}'),)

    def test_a_call_that_waits_for_its_name(self) -> None:
        """A call opens once its name and id are there (W4)."""
        body = (
            added(0, **call_item("", name=None))
            + delta(0, "function_call_arguments", "{")
            + delta(0, "function_call_arguments", "}")
            + done(0, **call_item("{}"))
        )

        assert read(body + ended()).chunks[:2] == [BlockStart(0, "tool-call"), ToolCallDelta(0, "call_a", "add", "{}")]

    def test_a_part_that_begins_with_text(self) -> None:
        """The text with which a part begins counts, as the official client counts it."""
        begun = event(
            "response.content_part.added", output_index=0, content_index=0, part={"type": "output_text", "text": "a"}
        )
        body = (
            added(0, **message_item("", content=[]))
            + begun
            + delta(0, "output_text", "b")
            + done(0, **message_item("ab"))
        )

        assert blocks_of(body + ended()) == (TextBlock("ab"),)

    def test_blank_arguments_are_an_empty_object(self) -> None:
        """A call whose arguments are blank is `{}` (C8)."""
        body = added(0, **call_item("")) + delta(0, "function_call_arguments", " ") + done(0, **call_item(" "))

        assert blocks_of(body + ended()) == (ToolCallBlock("call_a", "add", "{}"),)

    def test_made_and_repeated_ids(self) -> None:
        """A call without `call_id`, or with one of another call, gets a made id (C9, C10)."""
        body = call(0, "{}", call_id=None) + call(1, "{}", id="b") + call(2, "{}", id="c")

        first, second, third = read(body + ended(), id_seed=b"x").message.content

        assert isinstance(first, ToolCallBlock)
        assert isinstance(second, ToolCallBlock)
        assert isinstance(third, ToolCallBlock)
        assert second.id == "call_a"
        assert first.id.startswith("limen_")
        assert third.id.startswith("limen_")
        assert first.id != third.id


class TestEnds:
    """Words of the end, and failures."""

    @pytest.mark.parametrize("reason", ["max_output_tokens", "max_messages", None])
    def test_token_limit(self, reason: str | None) -> None:
        """An incomplete response is a token limit; a call that it cut stays as it came (C17)."""
        details = None if reason is None else {"reason": reason}
        body = text(0, "a") + added(1, **call_item("")) + delta(1, "function_call_arguments", '{"a"')

        outcome = read(body + ended("incomplete", incomplete_details=details))

        assert outcome.finish.reason == MAX_TOKENS
        assert outcome.message.content == (TextBlock("a"),)
        assert outcome.response.incomplete_tool_calls == (ToolCallBlock("call_a", "add", '{"a"'),)

    def test_token_limit_before_the_arguments(self) -> None:
        """A call that was cut before its arguments has none."""
        for item in (call_item("", status="incomplete"), call_item("", status="in_progress")):
            body = added(0, **call_item("")) + done(0, **item)
            outcome = read(body + ended("incomplete", incomplete_details={"reason": "max_output_tokens"}))
            assert outcome.response.incomplete_tool_calls == (ToolCallBlock("call_a", "add", ""),)

    def test_filter(self) -> None:
        """A filter is CONTENT_FILTER, after the text that came before it."""
        outcome = read(text(0, "a") + ended("incomplete", incomplete_details={"reason": "content_filter"}))

        assert outcome.failure.code == codes.CONTENT_FILTER
        assert outcome.failure.provider_code == "content_filter"

    def test_steered(self) -> None:
        """A response that a client steered elsewhere is a stop."""
        assert read(text(0, "a") + ended("incomplete", incomplete_details={"reason": "steered"})).finish.reason == STOP

    def test_unknown_reason(self) -> None:
        """A reason that nobody documented is UNKNOWN_FINISH with the word (E3)."""
        outcome = read(text(0, "a") + ended("incomplete", incomplete_details={"reason": "solar_flare"}))

        assert (outcome.failure.code, outcome.failure.provider_code) == (codes.UNKNOWN_FINISH, "solar_flare")

    def test_refusal(self) -> None:
        """A refusal's text is the message, and makes no block (C12)."""
        refusal = [{"type": "refusal", "refusal": "I cannot."}]
        streamed = (
            added(0, **message_item("", content=[]))
            + delta(0, "refusal", "I ")
            + delta(0, "refusal", "cannot")
            + event("response.refusal.done", output_index=0, content_index=0, refusal="I cannot.")
            + event("response.refusal.done", output_index=0, content_index=0, refusal="")
            + done(0, **message_item("", content=refusal))
        )

        for body in (streamed, delta(0, "refusal", "I ") + delta(0, "refusal", "cannot."), b""):
            output = [] if body else [message_item("", content=refusal)]
            outcome = read(body + ended(output=output))
            assert len(outcome.chunks) == 2
            assert (outcome.failure.code, outcome.failure.message) == (codes.CONTENT_FILTER, "I cannot.")

    def test_cancelled(self) -> None:
        """A response that was cancelled at the provider is aborted."""
        outcome = read(text(0, "a") + ended("cancelled"))

        assert (outcome.finish.reason.kind, outcome.failure.code) == ("aborted", codes.ABORTED)

    def test_status_over_event_name(self) -> None:
        """A status of failure in `response.completed` is one (W1)."""
        failed = ended(status="failed", error={"code": "server_error", "message": "No."})

        assert read(text(0, "a") + failed).failure.code == codes.SERVER

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            ({"code": "server_error", "message": "Internal error"}, codes.SERVER),
            ({"code": "rate_limit_exceeded", "message": "slow down"}, codes.RATE_LIMIT),
            ({"code": "context_length_exceeded", "message": "Too long."}, codes.CONTEXT_WINDOW_EXCEEDED),
            ({"code": "insufficient_quota", "message": "Pay."}, codes.QUOTA),
            ({"code": "server_is_overloaded", "message": "Busy."}, codes.OVERLOADED),
            ({"code": "too_many_requests", "message": "Azure."}, codes.RATE_LIMIT),
            ({"code": "invalid_prompt", "message": "It was flagged as potentially violating our usage policy."},
             codes.CONTENT_FILTER),
            ({"code": "invalid_prompt", "message": "It has no text."}, codes.INVALID_REQUEST),
            ({"code": "image_parse_error", "message": "It is no image."}, codes.INVALID_REQUEST),
            (None, codes.SERVER),
        ],
    )  # fmt: skip
    def test_failed(self, error: object, code: str) -> None:
        """A failed response ends in-band with the code of its error, after its usage (E1, C5)."""
        outcome = read(created() + text(0, "a") + ended("failed", error=error))

        assert outcome.failure.code == code
        assert outcome.chunks[-2] == USAGE

    @pytest.mark.parametrize("order", ["first", "later"])
    def test_error_events(self, order: str) -> None:
        """An error event, nested or flat, first or later, ends the stream at once; what follows is not read (W1)."""
        nested = event("error", error={"type": "x", "code": "rate_limit_exceeded", "message": "Try again in 6.57s."})
        flat = event("error", code="rate_limit_exceeded", message="Please try again in 6.57s.", param=None)
        for error in (nested, flat):
            begun = created() + text(0, "a") if order == "later" else b""
            outcome = read(begun + error + ended("failed", error={"code": "server_error", "message": "other"}))
            assert outcome.failure.code == codes.RATE_LIMIT
            assert outcome.failure.provider_retry_after_ms == 6570

    def test_end_without_terminal_event(self) -> None:
        """A stream without its terminal event is truncated, with `[DONE]` too (E6)."""
        for body in (b"", created(), created() + text(0, "a"), created() + text(0, "a") + b"data: [DONE]\n\n"):
            assert read(body).code == codes.STREAM_CLOSED

    def test_text_after_the_end_of_its_part(self) -> None:
        """Text for what has ended is malformed."""
        part = {"type": "output_text", "text": "a"}
        closed = event("response.content_part.done", output_index=0, content_index=0, part=part)
        begun = added(0, **message_item("", content=[])) + delta(0, "output_text", "a") + closed

        for body in (
            begun + delta(0, "output_text", "b"),
            begun + done(0, **message_item("ab")),
            text(0, "a") + delta(0, "output_text", "b"),
        ):
            assert read(body + ended()).code == codes.MALFORMED_RESPONSE

    @pytest.mark.parametrize(
        "body",
        [
            added(0, **message_item("", content=[])) + delta(0, "output_text", "a") + done(0, **message_item("b")),
            added(0, **call_item("")) + delta(0, ARGUMENTS, '{"a":1}') + done(0, **call_item('{"a":2}')),
            added(0, **call_item("")) + delta(0, ARGUMENTS, '{"a') + done(0, **call_item('{"b":2}')),
            delta(0, "reasoning_text", "a") + done(0, **reasoning_item(content=[{**RAW, "text": "b"}])),
            delta(0, "reasoning_summary_text", "a", summary_index=1) + delta(0, "reasoning_summary_text", "b"),
            added(0, **call_item("")) + delta(0, "output_text", "a"),
            added(0, **call_item("")) + done(0, **message_item("a")),
            delta(0, "function_call_arguments", "{}"),
            added(0, **call_item("", name="")) + done(0, **call_item("{}", name="")),
            added(0, **call_item("")) + delta(0, "function_call_arguments", '{"a'),
            event("response.output_item.done", output_index=0, item={**call_item(""), "arguments": [1]}),
            event("response.output_item.done", output_index=0, item={"id": "x"}),
            event("response.output_item.done", output_index=0, item=None),
            event("response.output_item.done", output_index="x", item=call_item("")),
            event("response.output_text.delta", output_index=0, delta=[1]),
            event("response.completed", response=[1]),
            b"data: 7\n\n",
            b"data: {\n\n",
        ],
    )  # fmt: skip
    def test_malformed(self, body: bytes) -> None:
        """What the wire does not allow is malformed, and is raised after the chunks before it (E1, C15)."""
        assert read(created() + body + ended()).code == codes.MALFORMED_RESPONSE

    def test_provider_work_alone_is_a_stop(self) -> None:
        """A turn of whole server-tool items is a stop with an empty message; others are no answer (C12)."""
        search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}

        assert read(done(0, **search) + ended()).finish.reason == STOP
        assert read(added(0, **search) + ended()).failure.code == codes.EMPTY_RESPONSE
        assert read(done(0, type="unknown_call", id="u") + ended()).failure.code == codes.EMPTY_RESPONSE
        assert read(added(0, **search) + delta(0, "output_text", "x") + ended()).failure.code == codes.EMPTY_RESPONSE
        assert read(ended(output=[message_item(" ")])).failure.code == codes.EMPTY_RESPONSE


class TestBesideTheAnswer:
    """Fields beside the answer, counts, bytes."""

    def test_counts(self) -> None:
        """Counts are disjoint: the cache inside the input, reasoning inside the output."""
        usage = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 20},
            "total_tokens": 150,
        }

        assert read(text(0, "a") + ended(usage=usage)).response.usage == TokenUsage(
            input_tokens=30, output_tokens=50, cache_read_tokens=60, cache_write_tokens=10, reasoning_tokens=20
        )

    def test_counts_that_cannot_be_read(self) -> None:
        """Each odd count is unknown and leaves a sentence; the others count (C15)."""
        usage = {"input_tokens": 3, "output_tokens": "x", "input_tokens_details": 7, "output_tokens_details": None}
        outcome = read(text(0, "a") + ended(usage=usage, id=7, model=[], incomplete_details=3))

        assert outcome.response.usage == TokenUsage(input_tokens=3)
        assert outcome.notes == (
            "the response's id could not be read and counts as unknown",
            "the response's model could not be read and counts as unknown",
            "incomplete_details could not be read and counts as unknown",
            "usage.input_tokens_details could not be read and counts as unknown",
            "usage.output_tokens could not be read and counts as unknown",
        )
        assert read(text(0, "a") + ended(usage=[1])).response.usage is None
        assert read(text(0, "a") + ended(usage=None)).response.usage is None

    def test_incomplete_details_with_an_odd_reason(self) -> None:
        """A reason that is no text is unknown; the response stays incomplete."""
        outcome = read(text(0, "a") + ended("incomplete", incomplete_details={"reason": 7}))

        assert outcome.finish.reason == MAX_TOKENS
        assert outcome.notes == ("incomplete_details.reason could not be read and counts as unknown",)

    def test_events_that_are_passed_over(self) -> None:
        """Unknown events, annotations, keep-alives and unknown parts say nothing here (C15)."""
        noise = (
            event("keepalive", sequence_number=3)
            + event("response.weather", delta={"a": 1})
            + event("response.output_text.annotation.added", output_index=0, annotation={"type": "url_citation"})
            + event("response.content_part.added", output_index=9, content_index=0, part={"type": "audio"})
            + event("response.content_part.added", output_index=9, content_index=0, part=None)
            + event("response.reasoning_summary_part.added", output_index=9, part={"type": "summary_text", "text": ""})
            + b": comment\n\n"
        )

        assert read(created() + noise + text(0, "a") + noise + ended()).chunks == read(text(0, "a") + ended()).chunks

    def test_no_event_lines_and_a_marker(self) -> None:
        """`data.type` decides where no `event:` line is; a marker behind the end is not read (OpenRouter)."""
        body = (created() + text(0, "a") + ended()).replace(b"event: ", b": ") + b"data: [DONE]\n\n"

        assert read_all_ways(body).chunks == read(text(0, "a") + ended()).chunks

    def test_names_in_event_lines_only(self) -> None:
        """The `event:` line stands in where `type` is missing."""
        body = b"".join(
            b"event: %b\ndata: %b\n\n" % (name, data)
            for name, data in (
                (b"response.output_item.done", b'{"output_index":0,"item":{"type":"message","content":'
                                               b'[{"type":"text","text":"a"}]}}'),
                (b"response.completed", b'{"response":{}}'),
            )
        )  # fmt: skip

        assert read(body).message.content == (TextBlock("a"),)
        assert read(b'event: error\ndata: {"message":"No."}\n\n').failure.message == "No."
        assert read(b"event: error\ndata: not JSON\n\n").failure.message == "not JSON"

    def test_halves_of_surrogate_pairs(self) -> None:
        """Halves in two deltas are joined; a lone one is U+FFFD (S5)."""
        whole = b"".join(
            b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"%b"}\n\n' % part
            for part in (b"a\\ud83d", b"\\ude00", b"b\\ud83d")
        )

        assert read_all_ways(whole + ended()).message.content == (TextBlock("a😀b\ufffd"),)
        thought = b"".join(
            b'data: {"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"%b"}\n\n' % part
            for part in (b"r\\ud83d", b"\\ude00")
        )
        assert read(thought + text(1, "a") + ended()).message.content[0] == ReasoningBlock("r😀")
        item = b'data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":'
        told = item + b'[{"type":"output_text","text":"a\\ud83d"}]}}\n\n'
        assert read(told + ended()).message.content == (TextBlock("a\ufffd"),)

    def test_bad_bytes_cost_themselves(self) -> None:
        """Control characters, NaN and invalid UTF-8 never cost the answer (S5)."""
        odd = b'data: {"type":"response.output_text.delta","output_index":0,"delta":"a\x01\xff","logprobs":[NaN]}\n\n'

        assert read(odd + ended()).message.content == (TextBlock("a\x01\ufffd"),)

    def test_depth(self) -> None:
        """An event nested too deep is malformed (S2)."""
        deep = b'data: {"type":"response.output_text.delta","output_index":0,"delta":"a","x":' + b"[" * 200 + b"]" * 200
        limits = Limits(depth=50)

        assert read(deep + b"}\n\n" + ended(), limits=limits).code == codes.MALFORMED_RESPONSE

    def test_first_deltas_may_be_empty(self) -> None:
        """An empty delta opens nothing (C13)."""
        body = delta(0, "output_text", "") + delta(1, "reasoning_summary_text", "")

        assert read(body + ended()).failure.code == codes.EMPTY_RESPONSE

    def test_ends_that_tell_nothing_new(self) -> None:
        """An end for what has ended, for a part that another one followed, or for work of the provider's, is passed."""
        part = {"type": "output_text", "text": "x"}
        body = (
            text(0, "a")
            + event("response.output_text.done", output_index=0, content_index=0, text="other")
            + delta(1, "reasoning_summary_text", "r")
            + delta(1, "reasoning_summary_text", "s", summary_index=1)
            + event("response.reasoning_summary_text.done", output_index=1, summary_index=0, text="r")
            + added(2, type="web_search_call", id="ws_1")
            + event("response.content_part.done", output_index=2, content_index=0, part=part)
            + event("response.content_part.done", output_index=3, content_index=0, part={**part, "text": "b"})
            + event("response.content_part.done", output_index=3, content_index=0, part={**part, "text": "b"})
        )

        assert blocks_of(body + ended()) == (TextBlock("a"), ReasoningBlock("r\n\ns"), TextBlock("b"))

    def test_bad_bytes_in_items_that_are_kept(self) -> None:
        """An item that is kept as it came keeps its bytes but the bad ones (S5)."""
        told = b'{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","q":"\xff"}}'
        item = b"data: " + told + b"\n\n"

        state = read(item + text(1, "a") + ended()).finish.replay_state

        assert state is not None
        assert state["before"] == ('{"type":"web_search_call","q":"\ufffd"}',)

    def test_response_id_of_the_first_event_stays(self) -> None:
        """Facts that the last event does not repeat stay as the first told them."""
        body = created() + text(0, "a") + event("response.completed", response=None)

        assert read(body).facts["response_id"] == "resp_1"

    def test_finish_is_the_last_chunk(self) -> None:
        """Exactly one finish, and a late error after it is not read (C6, S6)."""
        chunks = read(text(0, "a") + ended() + event("error", code="server_error", message="late")).chunks

        assert [type(chunk) for chunk in chunks].count(Finish) == 1
        assert read(text(0, "a") + ended()).finish.reason == STOP
