"""Bodies of every kind to chunks or to a failure (S1-S4, S6, E1, W1): whole, byte by byte and at every cut."""

import json

import pytest

from adapters.openai_chat._chat_wire import DONE, ended, event, part, read, read_all_ways, said, stream
from limen.adapters.kit.errors import ErrorRules
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.adapters.openai_chat._reader import ChatReader
from limen.contract import (
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishReason,
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
    remember_secret,
)

HELLO = [BlockStart(0, "text"), TextDelta(0, "Hello"), BlockEnd(0, TextBlock("Hello")), Finish(STOP)]


def whole(**fields: object) -> bytes:
    """A whole answer of text."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], **fields}).encode()


class TestStreams:
    """A body that is a stream of events."""

    @pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
    @pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf", b"\n\n", b": ping\n\n"])
    def test_any_line_end_and_any_beginning(self, line_end: bytes, begin: bytes) -> None:
        """Framing is the standard's (S1)."""
        body = (begin + stream(said("Hello"), ended())).replace(b"\n", line_end)

        assert read_all_ways(body).chunks == HELLO

    def test_events_may_have_names(self) -> None:
        """An event is told by its JSON, except one that is named `error`; unknown ones are read over (C15)."""
        body = b"event: message\n" + said("Hello") + b"event: ping\ndata: {}\n\n" + event(type="ping") + ended() + DONE

        assert read_all_ways(body).chunks == HELLO

    def test_data_may_be_padded(self) -> None:
        """White space around a payload or the marker says nothing (S1)."""
        body = (said("Hello") + ended()).replace(b"data: ", b"data:   ") + b"data:  [DONE] \n\n"

        assert read_all_ways(body).chunks == HELLO

    @pytest.mark.parametrize("tail", [b"data: [DONE]", b"data: [DONE]\n", DONE])
    def test_the_last_blank_line_may_be_missing(self, tail: bytes) -> None:
        """At a clean end of body the marker counts without it (S1)."""
        assert read_all_ways(said("Hello") + ended() + tail, ReadingRules(end_marker="required")).chunks == HELLO

    def test_the_result_is_there_with_the_marker(self) -> None:
        """Not with the end of the body; what follows the marker is not read (S6, Q035)."""
        reader = ChatReader(ReadingRules(), ErrorRules())

        assert reader.feed(stream(said("Hello"), ended()) + b"data: nonsense\n\n" + event(error="late")) == HELLO
        assert (reader.done, reader.failure) == (True, None)

    def test_the_body_may_end_after_a_finish_word_where_the_marker_may_be_left_out(self) -> None:
        """`may_end` tells the pump when silence is an end (S6)."""
        optional = ChatReader(ReadingRules(), ErrorRules())
        required = ChatReader(ReadingRules(end_marker="required"), ErrorRules())
        seen: list[tuple[bool, bool]] = []
        for data in (said("Hello"), ended()):
            optional.feed(data)
            required.feed(data)
            seen.append((optional.may_end, required.may_end))

        assert seen == [(False, False), (True, False)]
        assert optional.eof() == HELLO[2:]

    def test_only_events_of_the_model_are_counted(self) -> None:
        """Keep-alives, pings and frames without content do not re-arm the limit between events (T1)."""
        reader = ChatReader(ReadingRules(), ErrorRules())
        counted: list[int] = []
        for data in (
            b": ping\n\n",
            b"data:\n\n",
            event(type="ping"),
            event(choices=[]),
            said("a"),
            event(choices=[], usage={}),
        ):
            reader.feed(data)
            counted.append(reader.events)

        assert counted == [0, 0, 0, 0, 1, 2]

    def test_id_and_model_are_of_the_first_event_that_has_them(self) -> None:
        """Empty ones are absent (W2, Q057); later ones change nothing."""
        body = stream(
            event(id="", model="", choices=[]),
            event(id="a", choices=[{"delta": {"content": "Hello"}}]),
            event(id="b", model="m", choices=[{"delta": {}}]),
            event(id="c", model="n", choices=[{"delta": {}, "finish_reason": "stop"}]),
        )

        outcome = read_all_ways(body)

        assert outcome.facts == ("a", "m", "stop", None)
        assert outcome.chunks == HELLO

    @pytest.mark.parametrize("identifier", [7, "7"])
    def test_an_id_may_be_a_number(self, identifier: object) -> None:
        """It becomes its decimal string (W4)."""
        assert read(stream(event(id=identifier, choices=[]), said("a"))).facts[0] == "7"

    @pytest.mark.parametrize(
        ("body", "phase"),
        [
            (b"", "first-event"),
            (b"\n \n", "first-event"),
            (b"\xef\xbb\xbf", "first-event"),
            (b"\xef\xbb", "first-event"),
            (b": keep-alive\n\n: keep-alive\n\n", "first-event"),
            (b"data:\n\n", "first-event"),
            (b'data: {"choices":[{"del', "first-event"),
            (b"event: message\n", "first-event"),
            (said("Hel"), "mid-stream"),
            (said("Hel") + b'data: {"choices":[{"del', "mid-stream"),
            (
                part(
                    content="Hel", tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a'}}]
                ),
                "mid-stream",
            ),
        ],
    )
    def test_a_body_that_ends_too_early_is_a_closed_stream(self, body: bytes, phase: str) -> None:
        """Neither marker nor finish word: also with no event at all, or keep-alives only (W6, Q032, Q037)."""
        outcome = read_all_ways(body)

        assert outcome.kind == "raised STREAM_CLOSED"
        assert outcome.raised is not None
        assert outcome.raised.phase == phase

    def test_a_call_without_a_name_is_malformed_at_the_end_of_the_body_too(self) -> None:
        """Where no marker comes, the end of the body is when it shows (W4, W6)."""
        outcome = read_all_ways(part("tool_calls", tool_calls=[{"index": 0, "id": "c"}]))

        assert outcome.raised == Failure(
            "the answer is not what chat completions allow: the tool call 'c' never got a name",
            codes.MALFORMED_RESPONSE,
            phase="mid-stream",
        )

    @pytest.mark.parametrize(
        "payload",
        [
            b'{"choices":[{"ind',
            b'{"choices":3}',
            b'{"choices":[{"index":0,"delta":{"content":7}}]}',
            b'{"choices":[{"delta":{"content":[7]}}]}',
            b'{"choices":[{"delta":{},"finish_reason":7}]}',
            b'{"choices":[],"error":true}',
            b"[1]",
            b'"text"',
            b"text",
        ],
    )
    def test_an_event_that_the_wire_does_not_allow_is_malformed(self, payload: bytes) -> None:
        """Bytes, JSON and shape (C15); what came before is kept (S4)."""
        outcome = read_all_ways(said("Hel") + b"data: " + payload + b"\n\n" + DONE)

        assert outcome.kind == "raised MALFORMED_RESPONSE"
        assert outcome.chunks == [BlockStart(0, "text"), TextDelta(0, "Hel")]

    def test_a_surrogate_half_and_a_wrong_shape_are_malformed(self) -> None:
        """The second way of reading refuses what the first would have refused (S5, C15)."""
        body = rb'data: {"choices":[{"delta":{"content":7,"refusal":"\ud83d"}}]}' + b"\n\n"

        assert read(body).kind == "raised MALFORMED_RESPONSE"


class TestErrorsInAStream:
    """An error inside a well-formed stream ends it in-band, the first event included (E1, W1)."""

    @pytest.mark.parametrize(
        "data",
        [
            event(error={"message": "down", "type": "server_error"}),
            event(
                error={"message": "down", "code": 500}, choices=[{"delta": {"content": ""}, "finish_reason": "error"}]
            ),
            event(error="down"),
            b'event: error\ndata: {"message":"down"}\n\n',
            b"event: error\ndata: down\n\n",
            b'error: {"code":500,"message":"down","type":"server_error"}\n\n',
            b'{"error":{"message":"down"}}\n\n',
            event(object="error", message="down", type="internal_error", code=500),
            event(choices=None, error_type="InternalServerError", error_message="down"),
            event(success=False, errors=[{"code": 1, "message": "down"}]),
        ],
    )
    def test_every_place_that_tells_of_one(self, data: bytes) -> None:
        """Objects and strings, named events, `error:` fields, JSON lines, flat bodies and private fields."""
        outcome = read_all_ways(said("Hel") + data + ended() + DONE)

        assert outcome.chunks[:-1] == [BlockStart(0, "text"), TextDelta(0, "Hel")]
        assert outcome.kind == codes.SERVER
        assert outcome.failure.phase == "mid-stream"
        assert "down" in outcome.failure.message

    @pytest.mark.parametrize("error", [None, "", {}, [], False])
    def test_an_empty_error_is_none(self, error: object) -> None:
        """Null, absent and empty are one thing (W2)."""
        assert (
            read(
                stream(event(error=error, choices=[]), event(error=error, choices=[{"delta": {"content": "Hello"}}]))
            ).chunks
            == HELLO
        )

    def test_an_error_may_be_the_first_event(self) -> None:
        """It is in-band all the same, with its phase (E1, E6)."""
        outcome = read_all_ways(
            event(error={"message": "Slow down.", "code": "rate_limit_exceeded", "type": "requests"})
        )

        assert outcome.chunks == [
            Finish(
                FinishReason(
                    "error",
                    Failure("Slow down.", codes.RATE_LIMIT, phase="first-event", provider_code="rate_limit_exceeded"),
                )
            )
        ]

    def test_an_error_after_a_finish_word_is_one(self) -> None:
        """Nothing that failed before the marker is a success (W1)."""
        assert read(said("a") + ended() + event(error={"message": "x"}) + DONE).kind == codes.SERVER

    @pytest.mark.parametrize(
        ("place", "fields"),
        [
            ("choice", {"choices": [None, {"index": 0, "delta": {}, "error": {"message": "down", "code": 502}}]}),
            ("x_groq", {"choices": [], "x_groq": {"error": "down"}}),
            ("base_resp", {"choices": [], "base_resp": {"status_code": 1013, "status_msg": "down"}}),
        ],
    )
    def test_errors_in_other_places_count_where_the_row_names_them(self, place: str, fields: dict[str, object]) -> None:
        """Elsewhere they belong to the item (W1)."""
        body = stream(event(id="x", model="m", choices=[]), said("a"), event(**fields), ended())
        named = ReadingRules(error_places=(place,))  # type: ignore[arg-type]  # the three places of the parameters

        assert read_all_ways(body, named).kind == codes.SERVER
        assert read(body).kind == "stop"

    @pytest.mark.parametrize(
        "fields",
        [
            {"choices": [{"delta": {}, "error": None}]},
            {"choices": [], "x_groq": {"error": None}},
            {"choices": [], "base_resp": {"status_code": 0}},
            {"choices": [], "base_resp": None},
        ],
    )
    def test_named_places_without_an_error_are_none(self, fields: dict[str, object]) -> None:
        """A row that names a place says where to look, not that there is one."""
        rules = ReadingRules(error_places=("choice", "x_groq", "base_resp"))

        assert read(stream(said("Hello"), event(**fields), ended()), rules).chunks == HELLO


class TestWholeAnswers:
    """A 2xx answer that is one JSON document (S3)."""

    def test_a_whole_answer_is_translated_as_if_it_had_been_streamed(self) -> None:
        """Reasoning, text, calls, usage and facts."""
        message = {
            "role": "assistant",
            "content": "a",
            "reasoning_content": "hm",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
        answer = {
            "id": "x",
            "model": "m",
            "choices": [
                {"index": 0, "message": message, "finish_reason": "stop"},
                {"index": 1, "message": {"content": "no"}},
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }

        outcome = read_all_ways(json.dumps(answer).encode(), content_type="application/json")

        assert outcome.chunks == [
            BlockStart(0, "reasoning"),
            ReasoningDelta(0, "hm"),
            BlockStart(1, "text"),
            TextDelta(1, "a"),
            BlockStart(2, "tool-call"),
            ToolCallDelta(2, "c", "f", "{}"),
            BlockEnd(0, ReasoningBlock("hm")),
            BlockEnd(1, TextBlock("a")),
            BlockEnd(2, ToolCallBlock("c", "f", "{}")),
            UsageChunk(TokenUsage(3, 2)),
            Finish(TOOL_CALLS, {"v": 1, "wire": "openai-chat", "blocks": [{"field": "reasoning_content"}, None, None]}),
        ]
        assert outcome.facts == ("x", "m", "stop", None)

    @pytest.mark.parametrize(
        "body",
        [
            whole(),
            b"\xef\xbb\xbf\n\n \n" + whole() + b"\n",
            whole() + b"\ndata: [DONE]\n\n",
            whole() + b"\n\nevent: error\ndata: {}\n\n",
            whole(choices=[{"message": {"content": "Hello"}}, None]),
            whole(choices=[{"delta": {"content": None}, "message": {"content": "Hello"}, "finish_reason": "stop"}]),
            whole(choices=[{"delta": {"content": "Hello"}, "finish_reason": "stop"}]),
            b"data: " + whole() + b"\n\n" + DONE,
            b'{"choices":[{"message":{"content":"He\\u006clo"}}],"x":"\\"}{"}',
        ],
    )
    def test_forms_of_a_whole_answer(self, body: bytes) -> None:
        """Blank lines before it, a stream's tail after it, a delta beside the message, or as an event (Q137)."""
        assert read_all_ways(body).chunks == HELLO

    def test_several_documents_are_no_answer(self) -> None:
        """Only the first would be read, and a part of an answer is no success (S3, W1)."""
        lines = [{"choices": [{"delta": {"content": part}}]} for part in ("Hel", "lo")]
        body = b"\n".join(json.dumps(line).encode() for line in lines)

        outcome = read_all_ways(body, content_type="application/x-ndjson")

        assert (outcome.kind, outcome.chunks) == ("raised MALFORMED_RESPONSE", [])
        assert outcome.raised is not None
        assert "application/x-ndjson" in outcome.raised.message

    @pytest.mark.parametrize(
        ("tail", "kind"), [(b"", "raised STREAM_CLOSED"), (b"\n\n", "raised STREAM_CLOSED"), (b"\n" + DONE, "stop")]
    )
    def test_one_event_of_a_stream_alone_is_no_end(self, tail: bytes, kind: str) -> None:
        """Without a finish word, and without the marker behind it, the rest never came (S3, W6)."""
        body = json.dumps({"choices": [{"index": 0, "delta": {"content": "Hello"}}]}).encode()

        outcome = read_all_ways(body + tail)

        assert (outcome.kind, outcome.chunks[:2]) == (kind, HELLO[:2])

    def test_a_half_in_a_whole_answer_is_replaced(self) -> None:
        """There is no next delta (S5)."""
        assert read(rb'{"choices":[{"message":{"content":"a\ud83d"}}]}').blocks == [TextBlock("a\ufffd")]

    @pytest.mark.parametrize("rest", range(1, 40, 6))
    def test_one_that_is_cut_short_is_a_closed_stream(self, rest: int) -> None:
        """Not a malformed one: asking again may help (S3)."""
        outcome = read(whole()[:-rest])

        assert outcome.kind == "raised STREAM_CLOSED"

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            (
                b'{"error":{"code":400,"message":"too many tokens","type":"exceed_context_size_error"}}',
                codes.CONTEXT_WINDOW_EXCEEDED,
            ),
            (b'{"error":"down"}', codes.SERVER),
            (b'[{"error":{"code":429,"message":"Quota per minute","status":"RESOURCE_EXHAUSTED"}}]', codes.RATE_LIMIT),
            (b'{"object":"error","message":"bad","type":"BadRequestError","code":400}', codes.INVALID_REQUEST),
        ],
    )
    def test_an_error_that_is_the_whole_body_is_raised(self, body: bytes, code: str) -> None:
        """It is classified, and it is no stream (E1, S3, Q133)."""
        outcome = read_all_ways(body)

        assert outcome.chunks == []
        assert outcome.kind == f"raised {code}"
        assert outcome.raised is not None
        assert outcome.raised.phase == "first-event"

    @pytest.mark.parametrize(
        "body",
        [
            b'{"error":{"message":"down"},"choices":[]}',
            b'{"error":{"message":"down"}}\n\ndata: [DONE]\n\n',
            b'{"error":{"message":"down"},"choices":[{"message":{"content":"a"}}],"usage":null}',
        ],
    )
    def test_an_error_in_what_is_an_answer_otherwise_is_in_band(self, body: bytes) -> None:
        """As if it had been streamed (S3)."""
        assert read_all_ways(body).kind == codes.SERVER

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (b'{"detail":"Not here"}', '{"detail":"Not here"}'),
            (b"[1, 2]", "[1, 2] (Expected `object`, got `int` - at `$[0]`)"),
            (b"[]", "[]"),
            (b"<!DOCTYPE html><style>a{}</style><html><title>502 Bad\x00 Gateway</title>", "502 Bad Gateway"),
            (b"Service\tUnavailable\n", "Service Unavailable"),
            (b"\x1f\x8b\x08\xff", "\ufffd \ufffd"),
            (b"error: no upstream", "error: no upstream"),
            (b"x" * 2000, "x" * 160 + "…"),
        ],
    )
    def test_anything_else_is_malformed_with_its_first_words(self, body: bytes, words: str) -> None:
        """What arrived is named, so that a person can see where the request went (S3, Q100)."""
        outcome = read(body, content_type="text/html")

        assert outcome.kind == "raised MALFORMED_RESPONSE"
        assert outcome.raised is not None
        assert outcome.raised.message == (
            f"the body is neither a stream of events nor a chat completion (content type: text/html): {words}"
        )

    def test_the_words_hold_no_secret(self) -> None:
        """A proxy that echoes the request's key does not bring it into an error's text (E5)."""
        remember_secret("a-most-secret-word")

        outcome = read_all_ways(b"bad key a-most-secret-word")

        assert outcome.raised is not None
        assert outcome.raised.message == (
            "the body is neither a stream of events nor a chat completion (content type: none): bad key [redacted]"
        )

    @pytest.mark.parametrize(
        "body", [b'{"choices":7}', b'{"choices":[{"message":7}]}', b"{]}", b'[{"error":1},2]', b"{x}"]
    )
    def test_a_document_that_the_wire_does_not_allow_is_malformed(self, body: bytes) -> None:
        """Bytes, JSON and shape (C15)."""
        outcome = read_all_ways(body)

        assert outcome.kind == "raised MALFORMED_RESPONSE"


class TestLimits:
    """Sizes and depth (S2)."""

    @pytest.mark.parametrize("begin", [b"data: ", b""])
    def test_an_answer_past_the_size_is_malformed(self, begin: bytes) -> None:
        """One event, or a whole document; the limit is named."""
        body = begin + whole(pad="x" * 300) + b"\n\n"
        limits = Limits(event_bytes=300)

        outcome = read_all_ways(body, limits=limits)

        assert outcome.kind == "raised MALFORMED_RESPONSE"
        assert outcome.raised is not None
        assert "300 bytes; limits.event_bytes sets the limit" in outcome.raised.message

    def test_blank_lines_are_not_kept_past_the_size(self) -> None:
        """Keep-alives before a document cost no memory."""
        assert read([b"\n" * 200, b"\n" * 200, whole()], limits=Limits(event_bytes=300)).chunks == HELLO

    @pytest.mark.parametrize("depth", [6, 10, 128])
    @pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
    def test_json_may_nest_as_deep_as_the_limit(self, depth: int, left: str, right: str) -> None:
        """Also where limen does not read it; and no deeper."""
        levels = (depth - 1) // len(right)
        spare = depth - 1 - levels * len(right)

        def nested(count: int) -> bytes:
            value = left * count + "[" * spare + "0" + "]" * spare + right * count
            return stream(b'data: {"x":%s,"choices":[{"delta":{"content":"Hello"}}]}\n\n' % value.encode())

        assert read(nested(levels), limits=Limits(depth=depth)).chunks == HELLO
        assert read(nested(levels + 1), limits=Limits(depth=depth)).kind == "raised MALFORMED_RESPONSE"

    def test_a_state_deeper_than_a_value_may_be_is_malformed(self) -> None:
        """A raised limit does not make values deeper (R5)."""
        deep = b'{"text":"a","x":' + b"[" * 150 + b"]" * 150 + b"}"
        body = b'data: {"choices":[{"delta":{"reasoning_details":[%s]}}]}\n\n' % deep + DONE

        assert read(body, limits=Limits(depth=500)).kind == "raised MALFORMED_RESPONSE"

    def test_many_brackets_are_not_deep(self) -> None:
        """Only nesting counts, and only outside strings."""
        body = stream(event(x=[[]] * 300, choices=[{"delta": {"content": "[{" * 300}}]))

        assert read(body).blocks == [TextBlock("[{" * 300)]

    @pytest.mark.parametrize(
        "body", [b"[" * 100_000, b"data: " + b'{"a":' * 100_000 + b"\n\n", b'{"a":' * 100_000 + b"1" + b"}" * 100_000]
    )
    def test_hostile_nesting_is_no_crash(self, body: bytes) -> None:
        """The interpreter's own limit is never met."""
        assert read(body).kind in ("raised MALFORMED_RESPONSE", "raised STREAM_CLOSED")
