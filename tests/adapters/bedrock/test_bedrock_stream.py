"""Frames of ConverseStream to chunks."""

from base64 import b64encode

import pytest

from adapters.bedrock._converse_wire import (
    call,
    closed,
    delta,
    ended,
    event,
    exception,
    frame,
    hidden,
    opened,
    raw,
    read,
    read_all_ways,
    started,
    text,
    thinking,
)
from limen.adapters.bedrock import WIRE
from limen.contract import (
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Finish,
    ImageBlock,
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

USAGE = UsageChunk(TokenUsage(3, 7))


def test_a_turn_of_every_kind() -> None:
    """Reasoning, text and calls are blocks of their own, in the wire's order, however the bytes are cut (C16, C18)."""
    body = (
        started()
        + thinking(0, "hm", "sig")
        + text(1, "a", "", "b")
        + call(2, "t1", "add", '{"le', 'ft":1}')
        + call(3, "t2", "now", "")
        + ended("tool_use")
    )
    assert read_all_ways(body).chunks == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "hm"),
        BlockEnd(0, ReasoningBlock("hm")),
        BlockStart(1, "text"),
        TextDelta(1, "a"),
        TextDelta(1, "b"),
        BlockEnd(1, TextBlock("ab")),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "t1", "add", ""),
        ToolCallDelta(2, "t1", None, '{"le'),
        ToolCallDelta(2, "t1", None, 'ft":1}'),
        BlockEnd(2, ToolCallBlock("t1", "add", '{"left":1}')),
        BlockStart(3, "tool-call"),
        ToolCallDelta(3, "t2", "now", ""),
        ToolCallDelta(3, "t2", None, "{}"),
        BlockEnd(3, ToolCallBlock("t2", "now", "{}")),
        USAGE,
        Finish(
            TOOL_CALLS,
            {"v": 1, "wire": "bedrock-converse", "blocks": [{"signature": "sig"}, None, None, None]},
        ),
    ]


def test_interleaved_blocks() -> None:
    """Deltas of open blocks may interleave, each under its index (C3)."""
    body = (
        started()
        + opened(0, "t1", "add")
        + opened(1, "t2", "now")
        + delta(0, toolUse={"input": '{"a":'})
        + delta(1, toolUse={"input": "{}"})
        + delta(0, toolUse={"input": "1}"})
        + closed(1)
        + closed(0)
        + ended("tool_use")
    )
    calls = read_all_ways(body).response.tool_calls
    assert calls == (ToolCallBlock("t1", "add", '{"a":1}'), ToolCallBlock("t2", "now", "{}"))


def test_complete_by_both_events_or_by_the_end_of_the_body() -> None:
    """`metadata` behind `messageStop` completes at once; without it the end of the body does (S6)."""
    reader = WIRE.reader()
    before = started() + text(0, "a") + event("messageStop", stopReason="end_turn")
    reader.feed(before)
    assert (reader.done, reader.may_end) == (False, True)
    assert reader.feed(event("metadata", usage={"inputTokens": 1})) == [UsageChunk(TokenUsage(1)), Finish(STOP)]
    assert reader.done
    assert read(before).chunks[-1] == Finish(STOP)
    assert read(started() + text(0, "a")).code == codes.STREAM_CLOSED
    assert read(started()).code == codes.STREAM_CLOSED
    assert read(b"").code == codes.STREAM_CLOSED


def test_counts_before_the_stop_are_merged_with_later_ones() -> None:
    """`metadata` before `messageStop` does not end the answer; the later value of each field stands (W7)."""
    early = event("metadata", usage={"inputTokens": 3, "outputTokens": 1})
    body = started() + text(0, "a") + early + event("messageStop", stopReason="end_turn")
    assert read_all_ways(body).chunks[-2:] == [UsageChunk(TokenUsage(3, 1)), Finish(STOP)]
    late = event("metadata", usage={"outputTokens": 9})
    assert read_all_ways(body + late).chunks[-2:] == [UsageChunk(TokenUsage(3, 9)), Finish(STOP)]


def test_usage() -> None:
    """Counts are disjoint as they come; one that cannot be read is unknown and leaves a note (C15)."""
    found = read(
        started()
        + text(0, "a")
        + ended("end_turn", inputTokens=3, outputTokens=7.0, cacheReadInputTokens=5, cacheWriteInputTokens=2)
    )
    assert found.chunks[-2] == UsageChunk(TokenUsage(3, 7, 5, 2))
    details = [{"ttl": "1h", "inputTokens": 4}, {"ttl": "5m", "inputTokens": 1}, {}]
    found = read(started() + text(0, "a") + ended("end_turn", inputTokens="x", outputTokens=1, cacheDetails=details))
    assert found.chunks[-2] == UsageChunk(TokenUsage(None, 1, None, 5))
    assert found.notes == ["usage.inputTokens could not be read and counts as unknown"]
    body = started() + text(0, "a") + event("messageStop", stopReason="end_turn")
    assert read(body + event("metadata", usage=None)).chunks[-1] == Finish(STOP)
    assert read(body + event("metadata", usage={})).chunks[-1] == Finish(STOP)
    odd = read(body + event("metadata", usage=[1]))
    assert (odd.chunks[-1], odd.notes) == (Finish(STOP), ["usage could not be read and counts as unknown"])
    assert read(body + event("metadata", usage={"cacheDetails": []})).chunks[-1] == Finish(STOP)


@pytest.mark.parametrize(
    ("word", "kind", "code"),
    [
        ("end_turn", "stop", None),
        ("stop_sequence", "stop", None),
        ("max_tokens", "max-tokens", None),
        ("model_context_window_exceeded", "max-tokens", None),
        ("guardrail_intervened", "error", codes.CONTENT_FILTER),
        ("content_filtered", "error", codes.CONTENT_FILTER),
        ("refusal", "error", codes.CONTENT_FILTER),
        ("malformed_tool_use", "error", codes.SERVER),
        ("malformed_model_output", "error", codes.SERVER),
        ("tool_use", "error", codes.MALFORMED_RESPONSE),
        ("rained", "error", codes.UNKNOWN_FINISH),
        (None, "stop", None),
    ],
)
def test_finish_words(word: str | None, kind: str, code: str | None) -> None:
    """Each word of the wire ends the answer as the contract says; the counts precede a failure (C5)."""
    chunks = read(started() + text(0, "a") + ended(word)).chunks
    finish = chunks[-1]
    assert isinstance(finish, Finish)
    failure = finish.reason.failure
    assert (finish.reason.kind, None if failure is None else failure.code, chunks[-2]) == (kind, code, USAGE)


def test_stop_sequence() -> None:
    """The sequence that matched is a fact of the call, where it was asked for and told."""
    reader = WIRE.reader()
    fields = {"stop_sequence": "END"}
    reader.feed(started() + event("messageStop", stopReason="stop_sequence", additionalModelResponseFields=fields))
    assert reader.eof() == [Finish(STOP)]
    assert (reader.call_facts.stop_sequence, reader.call_facts.provider_reason) == ("END", "stop_sequence")
    odd = event("messageStop", stopReason="end_turn", additionalModelResponseFields=[1])
    assert read(started() + text(0, "a") + odd).chunks[-1] == Finish(STOP)


def test_exceptions_end_in_band() -> None:
    """An exception ends the stream with its code; blocks that are open stay open (E1, C7)."""
    body = started() + delta(0, text="a") + exception("throttlingException", "Too many tokens, please wait")
    finish = read_all_ways(body + ended("end_turn")).finish
    assert finish.reason.failure is not None
    assert (finish.reason.failure.code, finish.reason.failure.provider_code) == (
        codes.RATE_LIMIT,
        "throttlingException",
    )
    for kind, code in {
        "internalServerException": codes.SERVER,
        "modelStreamErrorException": codes.SERVER,
        "validationException": codes.INVALID_REQUEST,
        "serviceUnavailableException": codes.OVERLOADED,
        "modelTimeoutException": codes.TIMEOUT,
        "newException": codes.SERVER,
    }.items():
        failure = read(exception(kind, "words")).finish.reason.failure
        assert failure is not None
        assert (failure.code, failure.message, failure.phase) == (code, "words", "first-event")


def test_an_error_frame_has_its_words_in_headers() -> None:
    """`:message-type` `error` carries code and message in headers (E1)."""
    headers = {":message-type": "error", ":error-code": "InternalError", ":error-message": "An internal error"}
    failure = read(frame(headers, b"")).finish.reason.failure
    assert failure is not None
    assert (failure.code, failure.message, failure.provider_code) == (
        codes.SERVER,
        "An internal error",
        "InternalError",
    )
    torn = frame({":message-type": "exception", ":exception-type": "throttlingException"}, b"slow")
    failure = read(torn).finish.reason.failure
    assert failure is not None
    assert (failure.code, failure.message) == (codes.SERVER, "slow")
    named = frame({":message-type": "exception"}, b'{"error":{"message":"x"}}')
    assert read(named).finish.reason.failure is not None


def test_unknown_events_fields_and_deltas_are_passed_over() -> None:
    """Unknown events, deltas and starts cost nothing, and citations make no block (C14, C15)."""
    body = (
        started()
        + event("weatherReport", x=1)
        + event("contentBlockStart", contentBlockIndex=0, start={})
        + event("contentBlockStart", contentBlockIndex=0, start=None)
        + event("contentBlockStart", contentBlockIndex=0, start={"novelty": {}})
        + delta(0, novelty={"a": 1})
        + event("contentBlockDelta", contentBlockIndex=0, delta=None)
        + text(0, "a")
        + delta(1, citation={"title": "t"})
        + closed(1)
        + closed(9)
        + text(2, "b")
        + ended("end_turn")
    )
    found = read_all_ways(body)
    assert found.response.text == "ab"
    assert found.finish == Finish(STOP)


def test_hidden_reasoning_is_kept_as_bytes() -> None:
    """Pieces of hidden reasoning are joined as bytes and kept in place, beside or without a text (C1, N4)."""
    body = (
        started()
        + hidden(0, b"ab", b"c")
        + delta(1, reasoningContent={"text": "seen"})
        + hidden(1, b"d")
        + thinking(2, "", "sig")
        + text(3, "a")
        + hidden(4, b"e")
        + ended("end_turn")
    )

    def item(data: bytes) -> str:
        return '{"reasoningContent":{"redactedContent":"%s"}}' % b64encode(data).decode()  # noqa: UP031

    assert read_all_ways(body).finish.replay_state == {
        "v": 1,
        "wire": "bedrock-converse",
        "before": [item(b"abc")],
        "blocks": [
            {
                "signature": "",
                "after": [item(b"d"), '{"reasoningContent":{"reasoningText":{"text":"","signature":"sig"}}}'],
            },
            {"after": [item(b"e")]},
        ],
    }


def test_work_of_the_provider_is_kept_with_its_result() -> None:
    """A server tool's use and result make no block; they go back together, in place, or not at all (C11, C12)."""
    work = call(0, "s1", "nova_grounding", '{"query":', '"x"}', type="server_tool_use")
    result = {"toolResult": {"toolUseId": "s1", "type": "nova_grounding_result", "status": "success"}}
    answer = event("contentBlockStart", contentBlockIndex=1, start=result)
    told = delta(1, toolResult=[{"json": {"a": 1}}]) + closed(1)
    found = read_all_ways(started() + work + answer + told + text(2, "so") + ended("end_turn"))
    use = '{"toolUse":{"toolUseId":"s1","name":"nova_grounding","input":{"query":"x"},"type":"server_tool_use"}}'
    kept = (
        '{"toolResult":{"toolUseId":"s1","type":"nova_grounding_result","status":"success",'
        '"content":[{"json":{"a":1}}]}}'
    )
    assert found.response.text == "so"
    assert found.finish.replay_state is not None
    assert found.finish.replay_state["before"] == [use, kept]
    # Without a result, with a cut input, or with a result of nothing that was asked: none of it is kept.
    for lone in (
        work,
        answer + told,
        call(0, "s1", "x", '{"q', type="server_tool_use") + answer + told,
        work + event("contentBlockStart", contentBlockIndex=1, start={"toolResult": {"toolUseId": 1}}) + closed(1),
    ):
        assert read(started() + lone + text(2, "so") + ended("end_turn")).finish == Finish(STOP)
    # Work alone, whole and kept, is a stop with an empty message; other work is nothing.
    bare = read(started() + work + answer + closed(1) + ended("end_turn"))
    assert bare.finish.reason == STOP
    empty = read(started() + work + ended("end_turn")).finish.reason.failure
    assert empty is not None
    assert empty.code == codes.EMPTY_RESPONSE


def test_images_of_the_answer() -> None:
    """An image's bytes come in deltas and make one block; one without bytes makes none (C1)."""
    start = event("contentBlockStart", contentBlockIndex=0, start={"image": {"format": "jpeg"}})
    data = b64encode(b"\xff\xd8\xff!").decode()
    body = started() + start + delta(0, image={"source": {"bytes": data}}) + closed(0) + ended("end_turn")
    image = ImageBlock("image/jpeg", b"\xff\xd8\xff!")
    assert read_all_ways(body).chunks[:2] == [BlockStart(0, "image"), BlockEnd(0, image)]
    odd = event("contentBlockStart", contentBlockIndex=0, start={"image": [1]})
    failed = delta(0, image={"error": {"message": "x"}})
    assert read(started() + odd + failed + closed(0) + text(1, "a") + ended("end_turn")).response.text == "a"
    stray = delta(7, image={"source": {"bytes": data}})
    assert read(started() + stray + text(0, "a") + ended("end_turn")).response.text == "a"
    tiff = event("contentBlockStart", contentBlockIndex=0, start={"image": {"format": "tiff"}})
    late = delta(None, image={"source": {"bytes": data}})
    assert read(started() + tiff + late + ended("end_turn")).chunks[1] == BlockEnd(
        0, ImageBlock("image/tiff", b"\xff\xd8\xff!")
    )


def test_a_repeated_or_missing_id_is_made() -> None:
    """A call without an id, or with one that came before, gets a made one; a number becomes text (C9, C10, W4)."""
    body = started() + call(0, None, "a", "{}") + call(1, 7, "b", "{}") + call(2, 7, "c", "{}") + ended("tool_use")
    first, second, third = read_all_ways(body).response.tool_calls
    assert second.id == "7"
    assert [one.id.startswith("limen_") for one in (first, second, third)] == [True, False, True]


def test_tokens_that_run_out_leave_the_call_as_it_came() -> None:
    """A call that the limit cut stays as it came; what stood behind it stands before (C17)."""
    body = started() + text(0, "a") + call(1, "t", "add", '{"a') + hidden(2, b"x") + ended("max_tokens")
    found = read_all_ways(body)
    assert found.response.incomplete_tool_calls == (ToolCallBlock("t", "add", '{"a'),)
    state = found.finish.replay_state
    assert state is not None
    assert state["blocks"] == [{"after": ['{"reasoningContent":{"redactedContent":"eA=="}}']}, None]
    unclosed = started() + opened(0, "t", "add") + delta(0, toolUse={"input": '{"a'}) + ended("max_tokens")
    assert read(unclosed).response.incomplete_tool_calls == (ToolCallBlock("t", "add", '{"a'),)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (call(0, "t", None), "a tool call without a name"),
        (opened(0, "a", "x") + opened(0, "b", "y"), "block 0 twice"),
        (delta(0, toolUse={"input": "x"}), "arguments for a block that never began"),
        (delta(0, text="a") + delta(0, toolUse={"input": "x"}), "arguments for a block that is of another kind"),
        (call(0, "t", "a", "{}") + delta(0, toolUse={"input": "x"}), "arguments for a block that has ended"),
        (delta(0, text="a") + delta(0, reasoningContent={"text": "x"}), "reasoning for block 0, which is of another"),
        (opened(0, "t", "a") + delta(0, text="x"), "a text for block 0, which is of another kind"),
        (delta(0, reasoningContent={"redactedContent": "!"}), "bytes that are not base64"),
        (delta(0, text=7), "contentBlockDelta of another shape"),
        (delta(0, toolUse={"input": {"a": 1}}), "contentBlockDelta of another shape"),
        (event("contentBlockStart", contentBlockIndex=0, start="x"), "contentBlockStart of another shape"),
        (event("messageStop", stopReason=7), "messageStop of another shape"),
        (raw("contentBlockDelta", b'{"contentBlockIndex":0,"del'), "contentBlockDelta that cannot be read"),
        (raw("contentBlockDelta", b'{"delta":' + b"[" * 200 + b"]" * 200 + b"}"), "contentBlockDelta that cannot be"),
        (raw("contentBlockDelta", b'{"p":' + b"[" * 200 + b"]" * 200 + b"}"), "contentBlockDelta that cannot be read"),
        (opened(0, "t", "a") + delta(0, toolUse={"input": "{"}) + ended("tool_use"), "a tool call whose arguments end"),
        (
            opened(0, "t", "a") + delta(0, toolUse={"input": "{"}) + event("messageStop", stopReason="tool_use"),
            "a tool",
        ),
    ],
)
def test_malformed(body: bytes, words: str) -> None:
    """Shapes and orders that the wire does not allow fail the call, after what came before (S4)."""
    found = read_all_ways(text(5, "before") + body)
    assert found.code == codes.MALFORMED_RESPONSE
    assert f"the answer holds {words}" in found.message
    assert found.chunks[:2] == [BlockStart(0, "text"), TextDelta(0, "before")]


def test_odd_bytes_cost_nothing_else() -> None:
    """Half pairs, control characters, bad UTF-8, empty forms and odd indexes are read with tolerance (S5, W2)."""
    half = raw("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"a\\ud83d"}}')
    other = raw("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"\\ude00b"}}')
    assert read_all_ways(started() + half + other + closed(0) + ended("end_turn")).response.text == "a\U0001f600b"
    alone = read_all_ways(started() + half + delta(0, text="c") + ended("end_turn"))
    assert alone.response.text == "a\ufffdc"
    assert read_all_ways(started() + half + ended("end_turn")).response.text == "a\ufffd"
    sundry = (
        raw("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"x\x01\xff"}}')
        + raw("contentBlockDelta", b'{"contentBlockIndex":"0","delta":{"text":"y","toolUse":[],"reasoningContent":""}}')
        + raw("contentBlockDelta", b'{"contentBlockIndex":0,"delta":[]}')
        + raw("contentBlockStart", b'{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":{},"name":"a","type":7}}}')
        + raw("contentBlockDelta", b'{"contentBlockIndex":"one","delta":[]}')
    )
    found = read(started() + sundry)
    assert found.code == codes.MALFORMED_RESPONSE
    good = sundry[: -len(raw("contentBlockDelta", b'{"contentBlockIndex":"one","delta":[]}'))]
    response = read_all_ways(started() + good + closed(1) + ended("tool_use")).response
    assert (response.text, response.tool_calls[0].name, response.tool_calls[0].arguments) == ("x\x01\ufffdy", "a", "{}")
    signed = thinking(0, "a", "s\ud800") + text(1, "b")
    state = read(started() + signed + ended("end_turn")).finish.replay_state
    assert state is not None
    assert state["blocks"] == [{"signature": "s\ufffd"}, None]


def test_blocks_without_an_index() -> None:
    """A delta without an index continues the last block; a start without one begins the next (W2)."""
    body = (
        started()
        + opened(None, "t", "add")
        + delta(None, toolUse={"input": "{}"})
        + closed(None)
        + opened(None, "u", "now")
        + closed(None)
        + ended("tool_use")
    )
    assert [one.id for one in read_all_ways(body).response.tool_calls] == ["t", "u"]


def test_an_index_may_come_again() -> None:
    """After a block's end its index begins another block; content behind the finish word counts (W5)."""
    body = started() + text(0, "a") + thinking(0, "b") + event("messageStop", stopReason="end_turn") + text(0, "c")
    found = read_all_ways(body + event("metadata", usage={"inputTokens": 1}))
    assert (found.response.text, found.response.reasoning, len(found.response.message.content)) == ("ac", "b", 3)  # type: ignore[union-attr]


def test_reasoning_alone() -> None:
    """Reasoning state without any text is no answer; nothing but blank text is none either (C12)."""
    for body in (hidden(0, b"x"), text(0, " "), b"", thinking(0, "", "sig")):
        failure = read(started() + body + ended("end_turn")).finish.reason.failure
        assert failure is not None
        assert failure.code == codes.EMPTY_RESPONSE


def test_bodies_that_are_no_stream() -> None:
    """A page, a short line and broken frames are told apart, with the content type and first words (S3)."""
    page = b"<html><head><title>Sign in</title></head><body>Please</body></html>"
    found = read(page, content_type="text/html")
    assert (found.code, "text/html" in found.message, "Sign in" in found.message) == (
        codes.MALFORMED_RESPONSE,
        True,
        True,
    )
    assert read(page[:7]).code == codes.MALFORMED_RESPONSE
    cut = started() + text(0, "a") + ended("end_turn")
    found = read(cut[:-3])
    assert (found.code, found.chunks[-1]) == (codes.STREAM_CLOSED, BlockEnd(0, TextBlock("a")))
    broken = bytearray(cut)
    broken[-1] ^= 1
    found = read(bytes(broken))
    assert (found.code, found.chunks[-1]) == (codes.MALFORMED_RESPONSE, BlockEnd(0, TextBlock("a")))
    assert read(delta(0, text="x" * 200), limits=Limits(event_bytes=100)).code == codes.MALFORMED_RESPONSE
