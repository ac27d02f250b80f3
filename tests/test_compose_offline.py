"""`iter_chunks`, `build_request`, `classify_error`, `wires`: the same code as the adapters', without a network."""

import pytest

import limen

CHAT = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)
CHUNKS = [
    limen.BlockStart(0, "text"),
    limen.TextDelta(0, "Hel"),
    limen.TextDelta(0, "lo"),
    limen.BlockEnd(0, limen.TextBlock("Hello")),
    limen.Finish(limen.FinishReason("stop")),
]
WHOLE = (
    b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":3,"completion_tokens":1}}'
)


def test_wires_lists_every_dialect() -> None:
    """`wires()` names each wire with its dialects."""
    wires = limen.wires()

    assert list(wires) == ["openai-chat", "anthropic-messages", "bedrock-converse"]
    assert {"openai", "deepseek", "openrouter", "groq", "azure", "xai", "ollama", "vllm", "generic"} <= {
        *wires["openai-chat"]
    }
    assert {"anthropic", "vertex", "azure", "deepseek"} <= {*wires["anthropic-messages"]}


@pytest.mark.parametrize("dialect", [None, "deepseek"])
def test_a_body_is_read_as_the_adapter_would(dialect: str | None) -> None:
    """Bytes of any kind, or an iterable of parts: the same bytes give the same chunks (C16)."""
    parts = (CHAT[index : index + 1] for index in range(len(CHAT)))

    for reads in (CHAT, bytearray(CHAT), memoryview(CHAT), [CHAT], parts):
        assert list(limen.iter_chunks("openai-chat", reads, dialect=dialect)) == CHUNKS


@pytest.mark.parametrize("cut", range(0, len(CHAT), 7))
def test_a_body_cut_anywhere(cut: int) -> None:
    """Where the parts begin and end never shows, and an empty part is nothing (C16)."""
    assert list(limen.iter_chunks("openai-chat", [CHAT[:cut], b"", CHAT[cut:]])) == CHUNKS


def test_a_whole_answer_is_read_as_a_stream() -> None:
    """A JSON answer gives the chunks of a stream (S3)."""
    assert list(limen.iter_chunks("openai-chat", WHOLE)) == [
        limen.BlockStart(0, "text"),
        limen.TextDelta(0, "Hello"),
        limen.BlockEnd(0, limen.TextBlock("Hello")),
        limen.UsageChunk(limen.TokenUsage(input_tokens=3, output_tokens=1)),
        limen.Finish(limen.FinishReason("stop")),
    ]


def test_what_came_before_a_failure_is_kept() -> None:
    """A body that is cut short, or is none of the wire's, raises after the chunks that came before it (S4)."""
    chunks: list[limen.StreamChunk] = []
    with pytest.raises(limen.LlmError) as caught:
        chunks.extend(limen.iter_chunks("openai-chat", [CHAT[:160]]))
    with pytest.raises(limen.LlmError) as broken:
        list(limen.iter_chunks("openai-chat", [b"data: {]\n\n", b"data: [DONE]\n\n"]))

    assert (chunks, caught.value.code) == (CHUNKS[:2], "STREAM_CLOSED")
    assert broken.value.code == "MALFORMED_RESPONSE"


def test_made_ids_come_from_the_seed() -> None:
    """Where the wire has no id, one is made from the seed: the same seed gives the same id (C9)."""
    body = WHOLE.replace(
        b'"content":"Hello"',
        b'"content":null,"tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]',
    ).replace(b'"stop"', b'"tool_calls"')

    def made(seed: bytes) -> list[str]:
        chunks = limen.iter_chunks("openai-chat", body, id_seed=seed)
        return [chunk.id for chunk in chunks if isinstance(chunk, limen.ToolCallDelta)]

    assert made(b"a") == made(b"a") != made(b"b")
    assert made(b"a")[0].startswith("limen_")


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic-messages"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"wire": "smoke-signals"}, "there is no wire 'smoke-signals'; there are openai-chat, anthropic-messages"),
        ({"dialect": "klingon"}, "has no dialect 'klingon'; it has"),
    ],
)
def test_unknown_wires_and_dialects(wire: str, given: dict[str, str], message: str) -> None:
    """An unknown wire or dialect is `UNSUPPORTED`, at once, naming those there are."""
    name, dialect = given.get("wire", wire), given.get("dialect")
    options = limen.GenerateOptions("r", "m", [limen.user("hi")], max_tokens=9)
    failures: list[limen.LlmError] = []
    for call in (
        lambda: limen.iter_chunks(name, b"", dialect=dialect),
        lambda: limen.build_request(name, options, dialect=dialect),
        lambda: limen.classify_error(name, 500, {}, b"", dialect=dialect),
    ):
        with pytest.raises(limen.LlmError) as caught:
            call()
        failures.append(caught.value)

    assert {failure.code for failure in failures} == {"UNSUPPORTED"}
    assert all(message in str(failure) for failure in failures)


def test_a_request_is_built_and_not_sent() -> None:
    """`build_request` returns method, path, masked headers and body (Q3), and refuses what the adapter refuses (Q1)."""
    options = limen.GenerateOptions("r", "some/model", [limen.user("hi")], temperature=0.5)

    request = limen.build_request("openai-chat", options, dialect="deepseek")

    assert (request.method, request.path) == ("POST", "/chat/completions")
    assert b'"model":"some/model"' in request.body
    assert b"null" not in request.body


def test_a_history_that_cannot_be_served_is_refused() -> None:
    """`build_request` checks the history as a call would, naming the message (N1)."""
    options = limen.GenerateOptions("r", "m", [limen.tool_result("call_1", "42")])

    with pytest.raises(limen.LlmError, match=r"messages\[0\]") as caught:
        limen.build_request("openai-chat", options)

    assert caught.value.code == "INVALID_OPTIONS"


def test_an_error_is_classified() -> None:
    """`classify_error` gives the failure of an answer; header names in any case (E1, E3)."""
    body = b'{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}'

    failure = limen.classify_error("openai-chat", 429, {"Retry-After": "2", "X-Request-Id": "r1"}, body)

    assert failure == limen.Failure(
        "slow down",
        "RATE_LIMIT",
        phase="headers",
        status=429,
        provider_code="rate_limit_exceeded",
        provider_retry_after_ms=2000,
        request_id="r1",
    )
