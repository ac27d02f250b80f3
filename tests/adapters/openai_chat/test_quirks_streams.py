"""Public faults of streams, errors and counts, one test each, named by its number in the list of reports."""

import json

import pytest

from adapters.openai_chat._chat_wire import DONE, ended, event, part, read, read_all_ways, said, stream
from limen.adapters.kit.errors import ErrorRules
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.adapters.openai_chat._reader import ChatReader
from limen.contract import BlockStart, ReasoningBlock, TextBlock, TextDelta, TokenUsage, codes


def test_Q017_the_trailing_usage_chunk_has_no_choices() -> None:
    """It is read, and the answer is not over before it (C5)."""
    body = stream(said("a"), ended(), event(id="x", choices=[], usage={"prompt_tokens": 7, "completion_tokens": 1}))

    outcome = read_all_ways(body)

    assert (outcome.usage, outcome.kind) == (TokenUsage(7, 1), "stop")


def test_Q018_no_report_is_unknown_and_not_zero() -> None:
    """Absent is unknown (section 1)."""
    assert read_all_ways(stream(said("a"), ended())).usage is None


def test_Q019_running_totals_are_not_summed() -> None:
    """The last value wins (W7): vLLM's continuous usage."""
    events = (event(choices=[{"delta": {"content": "a"}}], usage={"completion_tokens": count}) for count in (1, 2, 3))

    assert read_all_ways(stream(*events, ended())).usage == TokenUsage(None, 3)


def test_Q025_private_error_fields_are_an_error() -> None:
    """`error_type` and `error_message` in place of `error`, and no choices (W1)."""
    body = stream(
        event(id="x", choices=None, error_type="BadRequestError", error_message="context length exceeded by 40"),
    )

    outcome = read_all_ways(body)

    assert outcome.kind == codes.CONTEXT_WINDOW_EXCEEDED
    assert "exceeded by 40" in outcome.failure.message


def test_Q028_a_comment_wrapped_as_data_is_a_keep_alive() -> None:
    """A payload that begins with a colon says nothing (S1)."""
    assert read_all_ways(b"data: : WORKING\n\n" + stream(said("a"), ended())).blocks == [TextBlock("a")]


def test_Q029_data_without_a_space_is_data() -> None:
    """Nothing is lost of a stream that leaves the space out (S1)."""
    spaced = stream(said("a"), ended())

    assert read_all_ways(spaced.replace(b"data: ", b"data:")) == read(spaced)


def test_Q035_the_answer_is_over_with_the_marker() -> None:
    """Also where the server keeps the connection open (S6)."""
    reader = ChatReader(ReadingRules(), ErrorRules())
    reader.feed(stream(said("a"), ended()))

    assert reader.done


@pytest.mark.parametrize("noise", [b"retry: 3000\n\n", b"id: 7\n\n", b"event: start\n\n"])
def test_Q047_blocks_without_data_are_no_events(noise: bytes) -> None:
    """`retry`, `id` and a bare `event` dispatch nothing (S1)."""
    assert read_all_ways(noise + stream(said("a"), noise, ended())).blocks == [TextBlock("a")]


@pytest.mark.parametrize("noise", [b"data:\n\n", b"data:  \n\n", b"event: ping\ndata:\n\n"])
def test_Q048_blank_data_is_a_keep_alive(noise: bytes) -> None:
    """It is skipped (S1); a stream of nothing else is closed early (W6)."""
    assert read_all_ways(stream(noise, said("a"), noise, ended())).blocks == [TextBlock("a")]
    assert read_all_ways(noise * 2).kind == "raised STREAM_CLOSED"


def test_Q049_an_id_is_not_remembered_as_an_event() -> None:
    """A comment between two events with ids dispatches nothing (S1)."""
    body = b"id: 1\n" + said("a") + b": ping\n\n" + b"id: 2\n" + said("b") + ended() + DONE

    assert read_all_ways(body).blocks == [TextBlock("ab")]


def test_Q051_several_data_lines_are_one_document() -> None:
    """Joined with LF (S1)."""
    body = b'data: {"choices":[{"delta":\ndata:  {"content":"a"},\ndata: "finish_reason":"stop"}]}\n\n' + DONE

    assert read_all_ways(body).blocks == [TextBlock("a")]


def test_Q057_filter_annotations_say_nothing() -> None:
    """Azure's frames have empty ids, and choices without a delta (W2)."""
    annotation = {"index": 0, "finish_reason": None, "content_filter_offsets": {"check_offset": 3}}
    body = stream(
        event(id="c1", model="gpt", choices=[{"delta": {"content": "a"}}]),
        event(id="", object="", model="", created=0, choices=[annotation], usage=None),
        event(id="", choices=[{**annotation, "delta": None}]),
        ended(),
    )

    outcome = read_all_ways(body)

    assert (outcome.blocks, outcome.facts[:2]) == ([TextBlock("a")], ("c1", "gpt"))


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_Q059_thinking_has_several_names(name: str) -> None:
    """An unknown server's is read under each of them (W9)."""
    body = stream(part(role="assistant", content="", **{name: "so"}), said("4"), ended())

    assert read_all_ways(body).blocks == [ReasoningBlock("so"), TextBlock("4")]


def test_Q061_reasoning_details_are_kept_for_the_next_turn() -> None:
    """As received, unknown keys included (N4)."""
    item = {"type": "reasoning.encrypted", "data": "b64", "id": "call_1", "format": "v1", "index": 0, "new": {"k": 1}}

    state = read_all_ways(stream(part(reasoning_details=[item]), said("a"), ended())).finish.replay_state

    assert state is not None
    assert state["reasoning_details"] == (item,)


@pytest.mark.parametrize(
    "error",
    [
        {"code": "context_length_exceeded", "message": "x"},
        {"type": "exceed_context_size_error", "message": "x", "n_ctx": 8192},
        {"message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."},
        {"message": "the request exceeds the available context size. try increasing the context size", "code": 400},
        {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": '{"error":{"code":"context_length_exceeded"}}'},
        },
    ],
)
def test_Q098_context_overflow_in_a_stream_has_one_code(error: dict[str, object]) -> None:
    """By its code or by its words, also inside a router's error (section 3)."""
    assert read_all_ways(stream(event(error=error))).kind == codes.CONTEXT_WINDOW_EXCEEDED


def test_Q100_a_page_with_status_200_is_named() -> None:
    """It is never an empty answer (S3)."""
    page = b"<html><head><title>Please log in</title></head></html>"

    outcome = read_all_ways(page, content_type="text/html; charset=utf-8")

    assert outcome.kind == "raised MALFORMED_RESPONSE"
    assert outcome.raised is not None
    assert "text/html" in outcome.raised.message
    assert "Please log in" in outcome.raised.message


@pytest.mark.parametrize("line_end", [b"\r", b"\r\n"])
def test_Q104_a_carriage_return_ends_a_line(line_end: bytes) -> None:
    """Alone, and in a pair that two reads cut in two (S1)."""
    assert read_all_ways(stream(said("a"), said("b"), ended()).replace(b"\n", line_end)).blocks == [TextBlock("ab")]


def test_Q187_events_that_end_in_crlf_come_as_they_arrive() -> None:
    """Nothing waits for the end of the body, and no CR stays in the text (S1)."""
    reader = ChatReader(ReadingRules(), ErrorRules())
    first, second = (said(text).replace(b"\n", b"\r\n") for text in "ab")

    assert reader.feed(first) == [BlockStart(0, "text"), TextDelta(0, "a")]
    assert reader.feed(second) == [TextDelta(0, "b")]


def test_Q105_a_very_long_event_is_read() -> None:
    """3 MB in one line, in reads of 16 KiB (S2)."""
    text = "x" * 3_000_000
    body = stream(said(text), ended())

    assert read(body[place : place + 16_384] for place in range(0, len(body), 16_384)).blocks == [TextBlock(text)]


def test_Q115_content_may_be_parts() -> None:
    """Magistral: thinking parts, then plain strings (C14)."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}

    assert read_all_ways(stream(part(content=[thinking]), said("4"), ended())).blocks == [
        ReasoningBlock("so"),
        TextBlock("4"),
    ]


def test_Q132_an_error_field_is_an_error_event() -> None:
    """llama.cpp's `error:` lines (S1)."""
    body = (
        b'error: {"code":400,"message":"exceeds the available context size","type":"invalid_request_error"}\n\n' + DONE
    )

    assert read_all_ways(body).kind == codes.CONTEXT_WINDOW_EXCEEDED


def test_Q133_an_error_document_in_a_200_is_classified() -> None:
    """It is no stream, so it is raised (E1, S3)."""
    body = json.dumps({"error": {"code": 400, "type": "exceed_context_size_error", "message": "too long"}}).encode()

    assert read_all_ways(body).kind == "raised CONTEXT_WINDOW_EXCEEDED"


def test_Q134_a_stream_without_any_delta_is_no_answer() -> None:
    """LM Studio past its context: well-formed, and nothing said (C12)."""
    assert read_all_ways(stream(part(role="assistant"), ended())).kind == codes.EMPTY_RESPONSE


def test_Q137_a_document_with_a_streams_tail_is_the_document() -> None:
    """The first document counts (S3)."""
    document = {"object": "chat.completion", "choices": [{"message": {"content": "OK"}, "finish_reason": "stop"}]}
    body = json.dumps(document).encode()

    assert read_all_ways(body + b"\ndata: [DONE]\n\n").blocks == [TextBlock("OK")]
    assert read_all_ways(body + b"\n" + event(error={"message": "late"})).blocks == [TextBlock("OK")]


def test_Q162_keep_alives_say_nothing() -> None:
    """DeepSeek's comments while a request waits (S1)."""
    assert read_all_ways(b": keep-alive\n\n" * 3 + stream(said("a"), ended())).blocks == [TextBlock("a")]


def test_Q165_cumulative_text_only_where_the_row_says_so() -> None:
    """A model that repeats itself is left alone (W10)."""
    body = stream(said("la"), said("la la"), ended())

    assert read_all_ways(body, ReadingRules(cumulative_text=True)).blocks == [TextBlock("la la")]
    assert read_all_ways(body).blocks == [TextBlock("lala la")]


def test_Q166_a_message_beside_a_delta_is_not_read() -> None:
    """Perplexity repeats the whole text in `message` (W8)."""
    events = (
        event(choices=[{"index": 0, "delta": {"content": new}, "message": {"content": whole}}])
        for new, whole in (("a", "a"), ("b", "ab"))
    )

    assert read_all_ways(stream(*events, ended())).blocks == [TextBlock("ab")]


def test_Q168_a_routers_error_is_unwrapped() -> None:
    """The upstream's words decide, also in a stream (section 3)."""
    error = {
        "message": "Provider returned error",
        "code": 429,
        "metadata": {"raw": "Slow down, rate limit reached", "provider_name": "X"},
    }

    outcome = read_all_ways(stream(event(error=error, choices=[])), "openrouter")

    assert outcome.kind == codes.RATE_LIMIT
    assert "rate limit reached" in outcome.failure.message


@pytest.mark.parametrize("word", ["error", "network_error"])
def test_Q169_a_finish_word_of_failure_is_a_failure(word: str) -> None:
    """With what had arrived (section 3)."""
    outcome = read_all_ways(stream(said("par"), ended(word)))

    assert (outcome.kind, outcome.failure.provider_code, outcome.response.text) == (codes.SERVER, word, "par")


def test_Q173_no_finish_word_and_early_zeros() -> None:
    """A marker without a word is a stop (W6); zeros in an early chunk are no usage."""
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    body = stream(event(choices=[{"delta": {"content": "a"}}], usage=zeros), said("b"))

    outcome = read_all_ways(body)

    assert (outcome.kind, outcome.usage, outcome.blocks) == ("stop", None, [TextBlock("ab")])


def test_Q180_a_prompt_filter_inside_a_stream_is_a_filter() -> None:
    """Azure's 400, wrapped as an event of a stream (section 3)."""
    error = {
        "message": "The response was filtered",
        "code": "content_filter",
        "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }

    assert read_all_ways(stream(event(error=error)), "azure").kind == codes.CONTENT_FILTER


def test_Q188_mixed_line_ends_dispatch_at_once() -> None:
    """LF then CRLF, and two CRs, while the connection stays open (S1)."""
    reader = ChatReader(ReadingRules(), ErrorRules())

    assert len(reader.feed(said("a")[:-1] + b"\r\n")) == 2
    assert len(reader.feed(said("b")[:-2] + b"\r\r")) == 1


def test_Q189_one_leading_mark_is_dropped() -> None:
    """Also when its three bytes come apart; a later U+FEFF is text (S1)."""
    assert read_all_ways(b"\xef\xbb\xbf" + stream(said("a\ufeff"), ended())).blocks == [TextBlock("a\ufeff")]


def test_Q191_reading_goes_on_after_the_finish_word() -> None:
    """Usage in the choice is used, a trailing report outweighs it (W7)."""
    finish = event(
        choices=[{"delta": {}, "finish_reason": "length", "usage": {"prompt_tokens": 23, "completion_tokens": 9}}]
    )

    assert read_all_ways(stream(finish)).usage == TokenUsage(23, 9)
    assert read_all_ways(stream(finish, event(choices=[], usage={"completion_tokens": 10}))).usage == TokenUsage(23, 10)
