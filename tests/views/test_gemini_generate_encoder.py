"""The encoder of `gemini-generate`: the chunks that its clients require, in their order."""

import json

import pytest

from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishReason,
    ImageBlock,
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
from limen.views import EncoderOptions, WireEncoder, encoder

WIRE = "gemini-generate"
FACTS = {"modelVersion": "asked-model", "responseId": "resp_1"}
USAGE = TokenUsage(input_tokens=10, output_tokens=9, cache_read_tokens=5, cache_write_tokens=2, reasoning_tokens=3)
COUNTS = {
    "promptTokenCount": 17,
    "candidatesTokenCount": 6,
    "cachedContentTokenCount": 5,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 26,
}


def encoding(options: EncoderOptions | None = None) -> WireEncoder:
    return encoder(WIRE, model="asked-model", id="resp_1", options=options)


def read(events: list[bytes]) -> list[object]:
    found: list[object] = []
    for event in events:
        assert event.startswith(b"data: ")
        assert event.endswith(b"\n\n")
        found.append(json.loads(event[6:]))
    return found


def fed(encoder_: WireEncoder, *chunks: StreamChunk) -> list[object]:
    return read([event for chunk in chunks for event in encoder_.feed(chunk)])


def part(*parts: object, **fields: object) -> dict[str, object]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **fields}], **FACTS}


def call(index: int, *fragments: str) -> list[StreamChunk]:
    name = f"f{index}"
    deltas = [
        ToolCallDelta(index, f"c{index}", name, ""),
        *(ToolCallDelta(index, f"c{index}", None, f) for f in fragments),
    ]
    return [BlockStart(index, "tool-call"), *deltas]


def ended(index: int, *fragments: str) -> BlockEnd:
    return BlockEnd(index, ToolCallBlock(f"c{index}", f"f{index}", "".join(fragments)))


def test_an_answer_of_every_kind() -> None:
    """Thoughts and text as they come, a call in one part when it is whole, finish and counts in the last chunk."""
    encoder_ = encoding()
    found = fed(
        encoder_,
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "hm"),
        BlockStart(1, "text"),
        TextDelta(1, "a"),
        *call(2, '{"x"', ": 1.50}"),
        BlockEnd(0, ReasoningBlock("hm")),
        BlockEnd(1, TextBlock("a")),
        ended(2, '{"x"', ": 1.50}"),
        UsageChunk(USAGE),
        Finish(TOOL_CALLS),
    )

    assert found == [
        part({"text": "hm", "thought": True}),
        part({"text": "a"}),
        part({"functionCall": {"id": "c2", "name": "f2", "args": {"x": 1.5}}}),
        {"candidates": [{"finishReason": "STOP", "index": 0}], "usageMetadata": COUNTS, **FACTS},
    ]
    assert encoder_.eof() == []
    whole = json.loads(encoder_.whole().body)
    assert whole == {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"text": "hm", "thought": True},
                        {"text": "a"},
                        {"functionCall": {"id": "c2", "name": "f2", "args": {"x": 1.5}}},
                    ],
                    "role": "model",
                },
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": COUNTS,
        **FACTS,
    }
    assert b'{"x": 1.50}' in encoder_.whole().body


def test_calls_go_out_in_the_order_in_which_they_began() -> None:
    """A call that ends before an earlier one waits for it."""
    encoder_ = encoding()
    waiting = encoding()
    assert len(fed(waiting, *call(0, "{}"), *call(1, "{}"), ended(0, "{}"))) == 1
    begun = fed(encoder_, *call(0, "{"), *call(1, "{}"), ended(1, "{}"))
    rest = fed(encoder_, ToolCallDelta(0, "c0", None, "}"), ended(0, "{}"))

    assert begun == []
    assert rest == [
        part({"functionCall": {"id": "c0", "name": "f0", "args": {}}}),
        part({"functionCall": {"id": "c1", "name": "f1", "args": {}}}),
    ]


def test_texts_that_interleave_wait_for_each_other() -> None:
    """The second text goes out when the first has ended, and at a refusal what waited goes out before the finish."""
    begin: list[StreamChunk] = [
        BlockStart(0, "text"),
        BlockStart(1, "text"),
        BlockStart(2, "text"),
        TextDelta(1, "b"),
        TextDelta(0, "a"),
    ]
    encoder_ = encoding()
    assert fed(encoder_, *begin) == [part({"text": "a"})]
    assert fed(encoder_, BlockEnd(1, TextBlock("b")), BlockEnd(0, TextBlock("a"))) == [part({"text": "b"})]
    refused = encoding()
    fed(refused, *begin)
    last = fed(refused, Finish(FinishReason("error", Failure("no", codes.CONTENT_FILTER))))
    assert last[0] == part({"text": "b"})
    assert len(last) == 2


def test_a_limit_leaves_out_a_call_that_is_no_object() -> None:
    """A call that a limit cut has no place; the answer ends with MAX_TOKENS."""
    encoder_ = encoding()
    found = fed(encoder_, *call(0, '{"x'), ended(0, '{"x'), *call(1, "{}"), ended(1, "{}"), Finish(MAX_TOKENS))

    assert found == [
        part({"functionCall": {"id": "c1", "name": "f1", "args": {}}}),
        {"candidates": [{"finishReason": "MAX_TOKENS", "index": 0}], **FACTS},
    ]
    assert len(json.loads(encoder_.whole().body)["candidates"][0]["content"]["parts"]) == 1


def test_arguments_that_are_no_object_are_a_failure() -> None:
    """Arguments that cannot be said on this wire end the answer as MALFORMED_RESPONSE, streamed and whole."""
    encoder_ = encoding()
    (last,) = fed(encoder_, *call(0, "[1]"), ended(0, "[1]"), Finish(TOOL_CALLS))
    message = "the arguments of the call 'c0' are no JSON object"

    assert last == {"error": {"code": 502, "message": message, "status": "UNAVAILABLE"}}
    whole = encoder_.whole()
    assert json.loads(whole.body) == last
    assert whole.error is not None
    closing = encoding()
    closing.feed(BlockStart(0, "tool-call"))
    for chunk in (*call(0, "[1]"), ended(0, "[1]")):
        closing.feed(chunk)
    assert closing.whole().error is not None


def test_a_signature_stands_on_an_empty_part() -> None:
    """The signature of thoughts follows them, streamed and whole."""
    encoder_ = encoding()
    encoder_.feed(BlockStart(0, "reasoning"))
    encoder_.feed(ReasoningDelta(0, "hm"))
    signed = {"text": "", "thought": True, "thoughtSignature": "c2ln"}

    assert read([event.data for event in encoder_.signature(0, "c2ln")]) == [part(signed)]
    encoder_.feed(Finish(STOP))
    parts = json.loads(encoder_.whole().body)["candidates"][0]["content"]["parts"]
    assert parts == [{"text": "hm", "thought": True}, signed]


def test_a_filter_is_a_finish_and_other_failures_are_errors() -> None:
    """CONTENT_FILTER ends with SAFETY and its words; any other failure is one chunk with `error`."""
    filtered = fed(encoding(), Finish(FinishReason("error", Failure("no", codes.CONTENT_FILTER))))
    assert filtered == [{"candidates": [{"finishReason": "SAFETY", "index": 0, "finishMessage": "no"}], **FACTS}]
    failed = fed(encoding(), Finish(FinishReason("error", Failure("slow down", codes.RATE_LIMIT))))
    assert failed == [{"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}]
    assert json.loads(encoding().eof()[0][6:])["error"]["message"] == "the stream ended without a finish"


@pytest.mark.parametrize(
    ("code", "status", "word"),
    [
        (codes.INVALID_REQUEST, 400, "INVALID_ARGUMENT"),
        (codes.MODEL_NOT_FOUND, 404, "NOT_FOUND"),
        (codes.QUOTA, 429, "RESOURCE_EXHAUSTED"),
        (codes.OVERLOADED, 503, "UNAVAILABLE"),
        (codes.TIMEOUT, 504, "DEADLINE_EXCEEDED"),
        (codes.ABORTED, 499, "CANCELLED"),
        (codes.PROTOCOL_VIOLATION, 500, "INTERNAL"),
        (codes.AUTH, 502, "UNAVAILABLE"),
    ],
)
def test_errors(code: str, status: int, word: str) -> None:
    """Status and word are Google's; the body of an error says the same."""
    encoder_ = encoding()
    error = encoder_.error(Failure("words", code))

    assert (error.status, error.type) == (status, word)
    assert json.loads(encoder_.error_body(error))["error"]["status"] == word


def test_sentences_that_clients_know() -> None:
    """An overflow and an unknown model are told by Google's sentences, once."""
    encoder_ = encoding()
    overflow = "The input token count exceeds the maximum number of tokens allowed: x"
    missing = "models/asked-model is not found for API version v1beta: x"

    for words in ("x", overflow):
        assert encoder_.error(Failure(words, codes.CONTEXT_WINDOW_EXCEEDED)).message == overflow
    for words in ("x", missing):
        assert encoder_.error(Failure(words, codes.MODEL_NOT_FOUND)).message == missing
    for words in ("x", "The model is overloaded. x"):
        assert encoder_.error(Failure(words, codes.OVERLOADED)).message == "The model is overloaded. x"


def test_counts_that_are_unknown_and_counts_that_are_not_asked_for() -> None:
    """Counts without cache and thoughts leave these out; with `usage="none"` there are none."""
    plain = {"promptTokenCount": 0, "candidatesTokenCount": 4, "totalTokenCount": 4}
    (early,) = read([event.data for event in encoding().early_usage(TokenUsage(output_tokens=4))])
    assert early == {"usageMetadata": plain, **FACTS}
    (last,) = fed(encoding(EncoderOptions(usage="none")), UsageChunk(USAGE), Finish(STOP))
    assert last == {"candidates": [{"finishReason": "STOP", "index": 0}], **FACTS}


def test_an_image_has_no_place() -> None:
    """An answer with an image is refused, as on every wire so far."""
    image = ImageBlock("image/png", b"x")
    (last,) = fed(encoding(), BlockStart(0, "image"), BlockEnd(0, image), Finish(STOP))

    assert isinstance(last, dict)
    assert last["error"]["status"] == "INVALID_ARGUMENT"
    assert encoding().keep_alive() == b"data: {}\n\n"
