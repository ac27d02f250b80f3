"""Reading of generateContent streams: blocks, order, ends, usage, damage (C, S and W rules)."""

import json
from base64 import b64encode

import pytest

from adapters.gemini._generate_wire import COUNTS, call, chunk, event, read, read_all_ways, stopped, text
from limen.adapters.gemini import WIRE
from limen.contract import (
    MAX_TOKENS,
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

PNG = b"\x89PNG\r\n\x1a\n" + bytes(9)


def test_C1_text_thoughts_and_calls_are_one_block_each() -> None:
    """Parts of a kind are one block wherever they stand; blocks open at their first delta and end at the end (C18)."""
    body = (
        chunk(text("think", thought=True))
        + chunk(text("Hel"), text(" on", thought=True), text("lo"))
        + chunk(call("add", {"left": 1}, "c1"), text("!"))
        + stopped()
    )

    found = read_all_ways(body)

    assert found.chunks == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "think"),
        BlockStart(1, "text"),
        TextDelta(1, "Hel"),
        ReasoningDelta(0, " on"),
        TextDelta(1, "lo"),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "c1", "add", '{"left":1}'),
        TextDelta(1, "!"),
        BlockEnd(0, ReasoningBlock("think on")),
        BlockEnd(1, TextBlock("Hello!")),
        BlockEnd(2, ToolCallBlock("c1", "add", '{"left":1}')),
        UsageChunk(TokenUsage(input_tokens=3, output_tokens=2)),
        found.finish,
    ]
    assert found.finish.reason == TOOL_CALLS
    assert found.facts == {"response_id": "resp-1", "response_model": "gemini-x", "provider_reason": "STOP"}


def test_C1_an_image_is_a_block_without_deltas() -> None:
    """Inline images become image blocks in their place, and are an answer by themselves."""
    data = b64encode(PNG).decode()
    found = read(chunk({"inlineData": {"mimeType": "image/png", "data": data}}) + stopped())

    image = ImageBlock("image/png", PNG)
    assert found.chunks[:2] == [BlockStart(0, "image"), BlockEnd(0, image)]
    assert found.finish.reason == STOP


def test_C8_arguments_keep_their_digits_and_lose_blanks() -> None:
    """The bytes of the object are the string; none and an empty one are `{}`; a string stands as it came."""
    raw = b'{"a": 1.50, "b": [ 1e3 ],\n "c":"x  y"}'
    part = b'{"functionCall":{"name":"f","id":"c1","args":%b}}' % raw
    body = b'data: {"candidates":[{"content":{"parts":[%b]},"finishReason":"STOP"}]}\n\n' % part.replace(b"\n", b"")
    (made,) = read_all_ways(body).response.tool_calls

    assert made == ToolCallBlock("c1", "f", '{"a":1.50,"b":[1e3],"c":"x  y"}')
    for args, expected in (({}, "{}"), (None, "{}"), ('{"x":1}', '{"x":1}')):
        (one,) = read(chunk(call("f", args)) + stopped()).response.tool_calls
        assert one.arguments == expected


@pytest.mark.parametrize("args", [[1], 7, True])
def test_C8_arguments_of_another_type_are_malformed(args: object) -> None:
    """Arguments that are neither an object nor text are nothing that the wire sends."""
    assert read(chunk(call("f", args)) + stopped()).code == codes.MALFORMED_RESPONSE


def test_C9_ids_are_made_where_there_are_none() -> None:
    """The same seed and place give the same id, and another seed another."""
    body = chunk(call("f", {}), call("f", {})) + stopped()
    first, second = read(body, id_seed=b"a").response.tool_calls

    assert first.id.startswith("limen_")
    assert first.id != second.id
    assert [one.id for one in read(body, id_seed=b"a").response.tool_calls] == [first.id, second.id]
    assert read(body, id_seed=b"b").response.tool_calls[0].id != first.id


def test_C10_a_repeated_id_is_replaced() -> None:
    """A second call under the same native id keeps its place under a made one."""
    first, second = read(chunk(call("f", {}, "c"), call("f", {}, "c")) + stopped()).response.tool_calls

    assert first.id == "c"
    assert second.id.startswith("limen_")


def test_C10_a_call_without_a_name_is_malformed() -> None:
    """Arguments that belong to no call are refused; an empty call with nothing to end says nothing."""
    assert read(chunk(call(args={"a": 1})) + stopped()).code == codes.MALFORMED_RESPONSE
    assert read(chunk(text("a"), call()) + stopped()).finish.reason == STOP


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_C12_a_stop_that_says_nothing_is_empty(blank: str) -> None:
    """A stop without content, or with blank text alone, is no answer; thoughts with text are one."""
    assert read(chunk(text(blank)) + stopped()).failure_code == codes.EMPTY_RESPONSE
    assert read(chunk(text("hm", thought=True)) + stopped()).finish.reason == STOP


def test_C12_work_of_the_provider_is_an_answer() -> None:
    """Code that the provider ran is an answer by itself; a part of an unknown kind is not."""
    ran = {"executableCode": {"language": "PYTHON", "code": "1"}}

    assert read(chunk(ran) + stopped()).finish.reason == STOP
    assert read(chunk({"hologram": {"a": 1}}) + stopped()).failure_code == codes.EMPTY_RESPONSE


def test_C15_fields_beside_the_answer_cost_nothing() -> None:
    """Usage, model, id and messages of other types are unknown, and each leaves a note."""
    strange = {"promptTokenCount": "many", "candidatesTokenCount": 2}
    body = event(
        candidates=[{"content": {"parts": [{"text": "a", "thoughtSignature": 7}]}, "finishMessage": {"a": 1}}],
        usageMetadata=strange,
        modelVersion=7,
        responseId={"a": 1},
        promptFeedback=[1],
    )
    found = read_all_ways(body + event(candidates=[{"finishReason": "STOP"}], usageMetadata="none"))

    assert found.response.text == "a"
    assert UsageChunk(TokenUsage(output_tokens=2)) in found.chunks
    assert [note.partition(" ")[0] for note in found.notes] == [
        "usageMetadata.promptTokenCount",
        "promptFeedback",
        "modelVersion",
        "responseId",
        "candidates.*.finishMessage",
        "candidates.*.content.parts.*.thoughtSignature",
        "usageMetadata",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"candidates": {"a": 1}},
        {"candidates": [{"content": "text"}]},
        {"candidates": [{"content": {"parts": "text"}}]},
        {"candidates": [{"content": {"parts": [{"text": 7}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": "f"}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": 7}}]}}]},
        {"candidates": [{"finishReason": ["STOP"]}]},
        {"candidates": [{"content": {"parts": [{"inlineData": {"mimeType": "image/png", "data": "no base64!"}}]}}]},
    ],
)
def test_C15_the_answer_of_another_type_is_malformed(fields: dict[str, object]) -> None:
    """Text, calls, images and finish of a type that nobody documented are refused."""
    assert read(event(**fields) + stopped()).code == codes.MALFORMED_RESPONSE


def test_C17_a_limit_ends_a_streamed_call_as_it_came() -> None:
    """A call that a limit cut keeps its fragment, and is none that may be executed."""
    piece = [{"jsonPath": "$.city", "stringValue": "Bos", "willContinue": True}]
    body = chunk(text("a"), call("f", willContinue=True)) + chunk(call(partialArgs=piece, willContinue=True))
    found = read_all_ways(body + stopped("MAX_TOKENS")).response

    assert found.finish == MAX_TOKENS
    assert found.tool_calls == ()
    assert [one.arguments for one in found.incomplete_tool_calls] == ['{"city":"Bos']
    assert found.message is not None
    assert found.message.content == (TextBlock("a"),)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("STOP", None),
        ("stop", None),
        (1, None),
        ("MAX_TOKENS", None),
        (2, None),
        ("CONTINUATION", None),
        *((word, codes.CONTENT_FILTER) for word in ("SAFETY", 3, "RECITATION", 4, "BLOCKLIST", "PROHIBITED_CONTENT")),
        *((word, codes.CONTENT_FILTER) for word in ("SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT")),
        *((word, codes.CONTENT_FILTER) for word in ("IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION")),
        ("PUP_LIMITED_DISABLED", codes.CONTENT_FILTER),
        *((word, codes.SERVER) for word in ("LANGUAGE", "OTHER", 5, "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE")),
        *((word, codes.SERVER) for word in ("UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "NO_IMAGE", "IMAGE_OTHER")),
        *((word, codes.SERVER) for word in ("MISSING_THOUGHT_SIGNATURE", "FINISH_REASON_UNSPECIFIED")),
        ("FAKE_ENUM", codes.UNKNOWN_FINISH),
        (99, codes.UNKNOWN_FINISH),
    ],
)
def test_E3_finish_reasons(word: object, expected: str | None) -> None:
    """Each finish reason of the API has its meaning, and an unknown one is kept as it came."""
    found = read(chunk(text("a")) + stopped(word))

    assert found.failure_code == expected
    assert UsageChunk(TokenUsage(input_tokens=3, output_tokens=2)) in found.chunks


def test_E3_the_words_of_a_failure_are_its_message() -> None:
    """The finish message explains a filter, and is added to a failure of the server."""
    filtered = read(stopped("SAFETY", finishMessage="I cannot help with that.")).finish.reason.failure
    failed = read(stopped("OTHER", finishMessage="internal error")).finish.reason.failure

    assert filtered is not None
    assert (filtered.message, filtered.provider_code) == ("I cannot help with that.", "SAFETY")
    assert failed is not None
    assert failed.message.endswith("(finish reason 'OTHER'): internal error")


def test_E1_an_error_inside_the_stream_is_in_band() -> None:
    """An error chunk ends the stream with its class, after usage that is known."""
    error = {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}
    found = read_all_ways(chunk(text("a"), usage=COUNTS) + event(error=error, usageMetadata={"thoughtsTokenCount": 1}))

    failure = found.finish.reason.failure
    assert failure is not None
    assert (failure.code, failure.message) == (codes.OVERLOADED, "The model is overloaded.")
    assert found.chunks[-2] == UsageChunk(TokenUsage(input_tokens=3, output_tokens=3, reasoning_tokens=1))
    named = read(chunk(text("a")) + b'event: error\ndata: {"error":{"message":"x","status":"INTERNAL"}}\n\n')
    assert named.failure_code == codes.SERVER


def test_E1_an_error_in_place_of_the_answer_is_raised() -> None:
    """An error that is the whole body, as an object or in an array, is raised with its class."""
    error = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}

    assert read_all_ways(json.dumps(error, indent=1).encode()).code == codes.RATE_LIMIT
    assert read_all_ways(json.dumps([error], indent=1).encode()).code == codes.RATE_LIMIT


def test_S3_a_whole_answer_and_an_array_are_read_as_streams() -> None:
    """One object, and the array of a stream without `alt=sse`, give the chunks of the same events."""
    parts = {"content": {"parts": [text("a", thought=True), text("b")]}, "finishReason": "STOP"}
    whole = {"candidates": [parts], "usageMetadata": COUNTS}
    stream = event(**whole)

    assert read_all_ways(json.dumps(whole).encode()) == read(stream)
    two = [{"candidates": [{"content": {"parts": [text("a")]}}]}, {"candidates": [{"finishReason": "STOP"}]}]
    assert read_all_ways(json.dumps(two).encode()).response.text == "a"


def test_S3_a_document_that_is_cut_or_wrong() -> None:
    """A cut document is STREAM_CLOSED, one that is something else MALFORMED_RESPONSE, and so is one without an end."""
    whole = json.dumps({"candidates": [{"content": {"parts": [text("abc")]}, "finishReason": "STOP"}]}).encode()

    assert read(whole[:-4]).code == codes.STREAM_CLOSED
    for body in (b'{"candidates"', b"[" + whole):
        assert read(body).code == codes.STREAM_CLOSED
    for body in (
        b'{"status":"queued"}',
        b"[]",
        b'[{"status":"queued"}]',
        b'{"candidates":7}',
        b'[{"candidates":7}]',
        b"[7]",
    ):
        assert read(body).code == codes.MALFORMED_RESPONSE
    assert read(b'{"candidates": nonsense').code == codes.MALFORMED_RESPONSE
    assert read(b'{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}').code == codes.STREAM_CLOSED


def test_S3_an_array_with_an_error_behind_text_fails_in_band() -> None:
    """An error that comes after chunks of an array ends the answer; what follows is not read."""
    odd = b'[{"candidates":[{"content":{"parts":[{"text":"a\x01\xff"}]},"finishReason":"STOP"}]}]'
    assert read_all_ways(odd).response.text == "a\x01\ufffd"
    assert read(b"[" * 200 + b"]" * 200).code == codes.MALFORMED_RESPONSE
    rows = [{"candidates": [{"content": {"parts": [text("a")]}}]}, {"error": {"message": "x", "code": 500}}, {"b": 1}]
    found = read_all_ways(json.dumps(rows).encode())

    assert found.failure_code == codes.SERVER
    assert found.chunks[:2] == [BlockStart(0, "text"), TextDelta(0, "a")]


def test_S2_depth_and_size_are_bounded() -> None:
    """An event nested past the limit, or larger than the limit, is MALFORMED_RESPONSE."""
    deep = b'data: {"candidates":[{"content":{"parts":[]}}],"x":' + b"[" * 200 + b"]" * 200 + b"}\n\n"

    assert read(chunk(text("a")) + deep + stopped()).code == codes.MALFORMED_RESPONSE
    assert read(chunk(text("a" * 4000)) + stopped(), limits=Limits(event_bytes=2000)).code == codes.MALFORMED_RESPONSE
    flat = chunk(text("[" * 400)) + stopped()
    assert read(chunk(text("a")) + flat).response.text == "a" + "[" * 400


def test_S5_half_a_surrogate_pair_joins_the_next_delta() -> None:
    """Halves in two chunks are one character; a lone one, and one before another part, is U+FFFD."""
    high = b'data: {"candidates":[{"content":{"parts":[{"text":"a\\ud83d"}]}}]}\n\n'
    low = b'data: {"candidates":[{"content":{"parts":[{"text":"\\ude00b"}]}}]}\n\n'
    assert read_all_ways(high + low + stopped()).response.text == "a\U0001f600b"
    assert read_all_ways(high + stopped()).response.text == "a\ufffd"
    found = read_all_ways(high + chunk(call("f", {})) + low + stopped())
    assert found.response.text == "a\ufffd\ufffdb"
    args = b'{"functionCall":{"name":"f\\ud83d","args":{"a":"\\ud83d"}}}'
    made = b'data: {"candidates":[{"content":{"parts":[%b]}}]}\n\n' % args
    (one,) = read(made + stopped()).response.tool_calls
    assert (one.name, one.arguments) == ("f\ufffd", '{"a":"\\ufffd"}')


def test_S5_a_bad_byte_never_costs_the_answer() -> None:
    """Control characters, NaN and invalid UTF-8 cost nothing but themselves, in text and in calls."""
    bad = b'data: {"candidates":[{"content":{"parts":[{"text":"a\x01\xff"}]},"avgLogprobs":NaN}]}\n\n'
    assert read_all_ways(bad + stopped()).response.text == "a\x01\ufffd"
    made = b'data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"\x01\xff"}}}]}}]}\n\n'
    (one,) = read_all_ways(made + stopped()).response.tool_calls
    assert json.loads(one.arguments) == {"a": "\x01\ufffd"}


def test_S6_the_answer_may_end_after_its_finish() -> None:
    """The finish reason says that silence may end the answer; without one the body's end is too early (W6)."""
    reader = WIRE.reader()
    reader.feed(chunk(text("a")))
    assert not reader.may_end
    reader.feed(stopped())
    assert (reader.may_end, reader.done) == (True, False)
    assert read(chunk(text("a"))).code == codes.STREAM_CLOSED
    assert read(b"").code == codes.STREAM_CLOSED
    assert read(b": keep-alive\n\n").code == codes.STREAM_CLOSED
    assert read(b"<html>sign in</html>").code == codes.MALFORMED_RESPONSE


def test_W1_markers_of_other_wires_say_nothing() -> None:
    """A gateway's `[DONE]` is passed over, wherever it stands."""
    assert read(chunk(text("a")) + b"data: [DONE]\n\n" + stopped() + b"data: [DONE]\n\n").finish.reason == STOP


def test_W2_null_absent_and_empty_are_one_thing() -> None:
    """Empty fields of another type are empty too."""
    body = (
        event(candidates={}, usageMetadata=[], promptFeedback="")
        + event(candidates=[{"content": [], "finishReason": None}, None])
        + event(candidates=[{"content": {"parts": {}}}])
        + event(candidates=[{"content": {"parts": [None, {}, {"text": None}]}}])
        + chunk(None, text("a"))
        + stopped("")
        + stopped()
    )

    assert read_all_ways(body).response.text == "a"


def test_W5_the_end_is_decided_at_the_end() -> None:
    """Content after a finish reason counts; of several reasons the weightiest does."""
    found = read(chunk(text("a"), finishReason="STOP") + chunk(text("b"), finishReason="STOP"))
    assert found.response.text == "ab"
    assert read(stopped("SAFETY") + chunk(text("b"), finishReason="STOP")).failure_code == codes.CONTENT_FILTER


def test_W8_other_candidates_are_not_read() -> None:
    """Only candidate 0 becomes the answer, its parts and its finish."""
    other = {"content": {"parts": [text("never"), call("f", {})]}, "index": 1, "finishReason": "SAFETY"}
    mine = {"content": {"parts": [text("a"), call("g", {}, "c")]}}
    found = read(event(candidates=[mine, other]) + event(candidates=[other]) + stopped()).response

    assert (found.text, [one.name for one in found.tool_calls]) == ("a", ["g"])


def test_W7_usage_is_the_last_that_is_known() -> None:
    """Each report replaces the one before, count by count; a count that vanishes or falls to zero stays."""
    first = {"promptTokenCount": 30, "cachedContentTokenCount": 10, "thoughtsTokenCount": 7, "totalTokenCount": 37}
    later = {"promptTokenCount": 30, "candidatesTokenCount": 5, "thoughtsTokenCount": 0, "trafficType": "ON_DEMAND"}
    found = read(chunk(text("a"), usage=first) + chunk(text("b"), finishReason="STOP", usage=later))

    expected = TokenUsage(input_tokens=20, output_tokens=12, cache_read_tokens=10, reasoning_tokens=7)
    assert UsageChunk(expected) in found.chunks
    traffic = chunk(text("a"), usage=first) + chunk(text("b"), finishReason="STOP", usage={"trafficType": "ON_DEMAND"})
    kept = TokenUsage(input_tokens=20, output_tokens=7, cache_read_tokens=10, reasoning_tokens=7)
    assert UsageChunk(kept) in read(traffic).chunks
    zero = read(chunk(text("a"), finishReason="STOP", usage={"promptTokenCount": 0, "thoughtsTokenCount": 0}))
    assert UsageChunk(TokenUsage(input_tokens=0, output_tokens=0, reasoning_tokens=0)) in zero.chunks


@pytest.mark.parametrize(
    "name",
    ["candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount"],
)
def test_W7_a_count_that_vanishes_stays(name: str) -> None:
    """A later report that leaves out, or zeroes, a single count leaves the one before it in force."""
    full = {"promptTokenCount": 30, "candidatesTokenCount": 1, "thoughtsTokenCount": 2}
    full |= {"cachedContentTokenCount": 3, "toolUsePromptTokenCount": 4}
    whole = TokenUsage(input_tokens=31, output_tokens=3, cache_read_tokens=3, reasoning_tokens=2)
    for later in ({key: count for key, count in full.items() if key != name}, {**full, name: 0}):
        found = read(chunk(text("a"), usage=full) + chunk(text("b"), finishReason="STOP", usage=later))
        assert UsageChunk(whole) in found.chunks
    lower = read(
        chunk(text("a"), usage=full) + chunk(text("b"), finishReason="STOP", usage={**full, "promptTokenCount": 0})
    )
    assert UsageChunk(whole) in lower.chunks


def test_W7_counts_that_are_none() -> None:
    """Tool prompts are input without a prompt count too; fractions are unknown and noted; no report is no usage."""
    tools = read(chunk(text("a"), finishReason="STOP", usage={"toolUsePromptTokenCount": 4}))
    assert UsageChunk(TokenUsage(input_tokens=4)) in tools.chunks
    odd = read(chunk(text("a"), finishReason="STOP", usage={"promptTokenCount": 1.5, "candidatesTokenCount": 2}))
    assert (UsageChunk(TokenUsage(output_tokens=2)) in odd.chunks, len(odd.notes)) == (True, 1)
    none = read(chunk(text("a"), finishReason="STOP", usage={"trafficType": "ON_DEMAND"}))
    assert not any(isinstance(one, UsageChunk) for one in none.chunks)


def test_a_blocked_prompt_ends_at_once() -> None:
    """A refused prompt is CONTENT_FILTER with reason and message; what follows is not read."""
    feedback = {"blockReason": "SAFETY", "blockReasonMessage": "Reasons"}
    found = read_all_ways(event(promptFeedback=feedback, usageMetadata=COUNTS) + chunk(text("a")))

    failure = found.finish.reason.failure
    assert failure is not None
    assert (failure.code, failure.message, failure.provider_code) == (
        codes.CONTENT_FILTER,
        "Reasons (SAFETY)",
        "SAFETY",
    )
    assert isinstance(found.chunks[0], UsageChunk)
    assert read(event(promptFeedback={"safetyRatings": []}) + chunk(text("a")) + stopped()).finish.reason == STOP


def test_cost_does_not_grow_with_what_came_before() -> None:
    """The state of a long answer is one entry for each run of parts, not one for each part."""
    body = b"".join(chunk(text("word ")) for _ in range(500)) + chunk(text("end", thoughtSignature="c2ln")) + stopped()
    finish = read(body).finish

    assert isinstance(finish, Finish)
    assert finish.replay_state is not None
    assert finish.replay_state["parts"] == (
        {"block": 0, "length": 2500},
        {"block": 0, "length": 3, "signature": "c2ln"},
    )
