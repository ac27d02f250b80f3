"""Public reports of what this wire did to others, each as one test of the same bytes."""

import json
from base64 import b64encode

import pytest

from adapters.gemini._generate_wire import (
    MODERN,
    asking,
    body_of,
    chunk,
    failure_of,
    read,
    read_all_ways,
    stopped,
    text,
)
from limen.adapters.gemini import WIRE
from limen.contract import (
    STOP,
    TOOL_CALLS,
    BlockEnd,
    ImageBlock,
    Message,
    RetryPolicy,
    TextDelta,
    TokenUsage,
    ToolSpec,
    UsageChunk,
    codes,
    tool_result,
    user,
)


def data(payload: str) -> bytes:
    """One event with exactly this payload."""
    return f"data: {payload}\n\n".encode()


def test_Q020_running_totals_are_not_added() -> None:
    """Each chunk repeats the counts so far: the last ones stand."""
    body = data(
        '{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":8,'
        '"candidatesTokenCount":3,"totalTokenCount":11}}'
    ) + data(
        '{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":'
        '{"promptTokenCount":8,"candidatesTokenCount":7,"totalTokenCount":15}}'
    )

    assert UsageChunk(TokenUsage(input_tokens=8, output_tokens=7)) in read_all_ways(body).chunks


def test_Q045_a_malformed_call_is_a_failure_worth_another_try() -> None:
    """A candidate without content and MALFORMED_FUNCTION_CALL is SERVER, with usage, and no shape error."""
    body = (
        '{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","index":0}],'
        '"usageMetadata":{"promptTokenCount":33168,"totalTokenCount":33168}}'
    )
    found = read_all_ways(data(body))

    failure = found.finish.reason.failure
    assert failure is not None
    assert (failure.code, failure.provider_code) == (codes.SERVER, "MALFORMED_FUNCTION_CALL")
    assert failure.code in RetryPolicy().codes
    assert found.chunks[:-1] == [UsageChunk(TokenUsage(input_tokens=33168, output_tokens=0))]
    assert read(body.encode()).failure_code == codes.SERVER


def test_Q055_a_stop_after_each_step_does_not_end_the_answer() -> None:
    """Content that follows a STOP counts: the end is decided at the end of the stream."""
    body = data(
        '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"transfer","args":{}}}]},"finishReason":"STOP"}]}'
    ) + data('{"candidates":[{"content":{"parts":[{"text":"answer"}]},"finishReason":"STOP"}]}')
    found = read_all_ways(body).response

    assert ([one.name for one in found.tool_calls], found.text, found.finish) == (["transfer"], "answer", TOOL_CALLS)


TWO_CALLS = data(
    '{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"w","args":{"c":"NYC"}}},'
    '{"functionCall":{"name":"w","args":{"c":"SF"}}}]},"finishReason":"STOP"}]}'
)


def test_Q078_two_calls_of_one_tool_have_ids_of_their_own() -> None:
    """Calls without ids get two, and their results go back in the order of the calls, whatever order they came in."""
    message = read_all_ways(TWO_CALLS).response.message
    assert message is not None
    first, second = read(TWO_CALLS).response.tool_calls
    results = [tool_result(second.id, "fog"), tool_result(first.id, "rain")]
    contents = body_of(asking(user("q"), message, *results))["contents"]

    assert first.id != second.id
    assert isinstance(contents, list)
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "w", "response": {"output": "rain"}}},
        {"functionResponse": {"name": "w", "response": {"output": "fog"}}},
    ]


def test_Q079_native_ids_are_echoed_and_made_ones_are_not() -> None:
    """The id that the model gave stands on call and result; one that limen made stands on neither."""
    named = chunk({"functionCall": {"id": "call_41", "name": "read", "args": {}}}) + stopped()
    for body, expected in ((named, ["call_41", "call_41"]), (TWO_CALLS, [])):
        message = read(body).response.message
        assert message is not None
        results = [tool_result(one.id, "x") for one in read(body).response.tool_calls]
        request = body_of(asking(user("q"), message, *results, model=MODERN))
        parts = [part for content in request["contents"] for part in content["parts"]]  # type: ignore[attr-defined]
        ids = [inner["id"] for part in parts for inner in part.values() if isinstance(inner, dict) and "id" in inner]
        assert ids == expected


def test_Q081_schemas_are_said_in_words_that_the_wire_knows() -> None:
    """The reported schema is rewritten without loss: `$schema` goes, the exclusive bound becomes an inclusive one."""
    schema = {
        "$schema": "x",
        "type": "object",
        "properties": {"n": {"type": "integer", "exclusiveMinimum": 0}, "m": {"type": ["integer", "null"]}},
        "additionalProperties": False,
    }
    tools = body_of(asking(tools=[ToolSpec("f", None, schema)]))["tools"]

    assert tools == [
        {
            "functionDeclarations": [
                {
                    "name": "f",
                    "parametersJsonSchema": {
                        "type": "object",
                        "properties": {"n": {"type": "integer", "minimum": 1}, "m": {"type": ["integer", "null"]}},
                        "additionalProperties": False,
                    },
                }
            ]
        }
    ]


def test_Q082_an_array_without_items_takes_any() -> None:
    """An array property gets `items`, which the wire requires and which asks for nothing."""
    schema = {"type": "object", "properties": {"tags": {"type": "array"}}}
    tools = body_of(asking(tools=[ToolSpec("f", None, schema)]))["tools"]

    assert '"tags": {"type": "array", "items": {}}' in json.dumps(tools)


def test_Q083_a_blocked_prompt_is_no_empty_answer() -> None:
    """A prompt that was refused is CONTENT_FILTER with the reason, usage kept, and is not tried again."""
    body = (
        '{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9,'
        '"totalTokenCount":9}}'
    )
    for found in (read_all_ways(data(body)), read_all_ways(body.encode())):
        failure = found.finish.reason.failure
        assert failure is not None
        assert (failure.code, failure.provider_code) == (codes.CONTENT_FILTER, "PROHIBITED_CONTENT")
        assert failure.code not in RetryPolicy().codes
        assert found.chunks[0] == UsageChunk(TokenUsage(input_tokens=9, output_tokens=0))


def test_Q084_a_filter_in_the_middle_keeps_the_text() -> None:
    """Text that came is kept, the answer ends as CONTENT_FILTER, and usage that is missing hurts nothing."""
    body = data('{"candidates":[{"content":{"parts":[{"text":"par"}]}}]}') + data(
        '{"candidates":[{"finishReason":"SAFETY","safetyRatings":[]}]}'
    )
    found = read_all_ways(body)

    assert found.chunks[1] == TextDelta(0, "par")
    assert found.failure_code == codes.CONTENT_FILTER
    assert found.facts["provider_reason"] == "SAFETY"


@pytest.mark.parametrize("array", [False, True])
def test_Q101_the_delay_stands_in_the_body(array: bool) -> None:
    """RetryInfo's duration is the delay; a quota per day is QUOTA, and so is the same in an array."""
    violation = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}]}
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "45.837906927s"}

    def failure(*details: object) -> tuple[str, int | None]:
        error = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x", "details": details}}
        found = WIRE.classify(429, {}, json.dumps([error] if array else error).encode())
        return found.code, found.provider_retry_after_ms

    assert failure(violation, info) == (codes.QUOTA, 45838)
    assert failure(info) == (codes.RATE_LIMIT, 45838)


def test_Q105_a_picture_in_one_line() -> None:
    """A line of three megabytes is an image, read in pieces as the network brings it."""
    picture = b"\x89PNG\r\n\x1a\n" + bytes(2_250_000)
    body = chunk({"inlineData": {"mimeType": "image/png", "data": base64_text(picture)}}) + stopped()
    found = read(body[at : at + 65_536] for at in range(0, len(body), 65_536))

    assert found.chunks[1] == BlockEnd(0, ImageBlock("image/png", picture))
    assert found.finish.reason == STOP


def base64_text(picture: bytes) -> str:
    """The picture as the wire sends it."""
    return b64encode(picture).decode()


def test_Q175_calls_appear_in_streams_and_whole_answers_alike() -> None:
    """Text and call of one chunk are read, and the whole answer gives the same chunks."""
    payload = (
        '{"candidates":[{"content":{"parts":[{"text":"ok "},{"functionCall":{"name":"f","args":{"a":1}}}]},'
        '"finishReason":"STOP"}]}'
    )
    found = read_all_ways(data(payload))

    assert found.response.text == "ok "
    assert [(one.name, one.arguments) for one in found.response.tool_calls] == [("f", '{"a":1}')]
    assert read_all_ways(payload.encode()).chunks == found.chunks


def test_Q206_thoughts_are_output() -> None:
    """Thoughts are counted beside the answer: output is the sum of both."""
    counts = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 40, "totalTokenCount": 47}

    expected = UsageChunk(TokenUsage(input_tokens=5, output_tokens=42, reasoning_tokens=40))
    assert expected in read_all_ways(chunk(text("a"), finishReason="STOP", usage=counts)).chunks


def test_Q095_the_key_goes_into_a_header() -> None:
    """No part of the address holds the key."""
    request = WIRE.request(asking())

    assert "key" not in request.path
    assert "x-goog-api-key" in request.headers


def test_Q177_a_call_without_its_result_is_refused() -> None:
    """A history whose call was never answered is refused before I/O, as on every wire (N1)."""
    message = read(TWO_CALLS).response.message
    assert isinstance(message, Message)
    error = failure_of(lambda: WIRE.request(asking(user("q"), message, user("go on"))))

    assert (error.code, "not answered" in error.failure.message) == (codes.INVALID_OPTIONS, True)
