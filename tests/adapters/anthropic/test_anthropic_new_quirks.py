"""Public reports of the second collection, by their numbers, as they stand on the Messages wire."""

import json

import pytest

from adapters.anthropic._messages_wire import (
    asking,
    body_of,
    closed,
    delta,
    event,
    failure_of,
    opened,
    read,
    read_all_ways,
    started,
    stopped,
    text,
    thinking,
)
from limen import open_runtime, repair_history
from limen.adapters import BuildContext
from limen.adapters.anthropic import WIRE, AnthropicAdapter, AnthropicOptions
from limen.adapters.anthropic._adapter import codec_of
from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions
from limen.adapters.openai_chat import codec_of as chat_codec_of
from limen.contract import (
    GenerateOptions,
    ImageBlock,
    LlmError,
    TokenUsage,
    ToolCallBlock,
    WireReader,
    codes,
    tool_result,
    user,
)
from limen.testing.server import MockProvider


def used(first: object, *later: object) -> TokenUsage | None:
    """The usage of an answer with these reports."""
    reports = b"".join(event("message_delta", delta={}, usage=usage) for usage in later)
    body = started(usage=first) + text(0, "ok") + reports + event("message_delta", delta={"stop_reason": "end_turn"})
    return read_all_ways(body + event("message_stop")).response.usage


@pytest.mark.parametrize(
    ("kind", "message", "status", "code"),
    [
        ("rate_limit_error", "Extra usage is required for long context requests.", 429, codes.QUOTA),
        ("invalid_request_error", "Output blocked by content filtering policy", 400, codes.CONTENT_FILTER),
    ],
    ids=["NQ316", "NQ322"],
)
def test_a_sentence_says_the_same_in_the_stream(kind: str, message: str, status: int, code: str) -> None:
    """A plan without long context and the output filter have one code by status and as an event after text (E1)."""
    error = {"type": kind, "message": message}
    answer = WIRE.classify(status, {}, json.dumps({"type": "error", "error": error}).encode())
    outcome = read_all_ways(started() + text(0, "a") + event("error", error=error))

    assert outcome.response.text == "a"
    assert outcome.finish.reason.failure is not None
    assert (answer.code, outcome.finish.reason.failure.code) == (code, code)


def test_NQ328_arguments_that_are_no_json() -> None:
    """They are the raw string (C8); the next request refuses them by the call's name, unless they were repaired."""
    parts = [delta(0, "input_json_delta", partial_json=part) for part in ('{"who": Ann, ', '"n": 1}')]
    start = opened(0, "tool_use", id="toolu_a", name="find", input={})
    found = read_all_ways(started() + start + b"".join(parts) + closed(0) + stopped("tool_use")).response
    assert found.message is not None
    history = [user("hi"), found.message, tool_result("toolu_a", "no JSON", is_error=True)]
    fault = failure_of(lambda: body_of(asking(*history)))
    repaired, _ = repair_history(history)

    assert found.finish.kind == "tool-calls"
    assert found.tool_calls == (ToolCallBlock("toolu_a", "find", '{"who": Ann, "n": 1}'),)
    assert (fault.code, "'toolu_a'" in fault.failure.message) == (codes.INVALID_OPTIONS, True)
    assert [turn["role"] for turn in body_of(asking(*repaired))["messages"]] == ["user", "assistant", "user"]  # type: ignore[attr-defined]


def test_NQ335_passes_beside_the_answer_are_counted() -> None:
    """Compaction and an advisor are counted in iterations only; a fallback that declined is not charged."""
    passes = [
        {"type": "compaction", "input_tokens": 180000, "output_tokens": 3500, "cache_read_input_tokens": 5},
        {"type": "message", "input_tokens": 23000, "output_tokens": 1000},
    ]
    advised = [{"type": "advisor_message", "input_tokens": 4, "output_tokens": 2}, {"type": "message"}]
    declined = [{"type": "message", "input_tokens": 408}, {"type": "fallback_message", "input_tokens": 412}]
    first = {"input_tokens": 11, "output_tokens": 1}

    assert used(first, {"input_tokens": 23000, "output_tokens": 1000, "iterations": passes}) == TokenUsage(
        203000, 4500, cache_read_tokens=5
    )
    assert used(first, {"input_tokens": 11, "output_tokens": 7, "iterations": advised}) == TokenUsage(15, 9)
    assert used(first, {"input_tokens": 412, "output_tokens": 264, "iterations": declined}) == TokenUsage(412, 264)


def test_NQ339_zeros_first_and_counts_later() -> None:
    """The later count stands (W7)."""
    first = {"input_tokens": 0, "output_tokens": 0}

    assert used(first, {"input_tokens": 123, "output_tokens": 45}) == TokenUsage(123, 45)


@pytest.mark.parametrize(
    ("first", "later", "found"),
    [
        # Input counts never fall: a zero over one is a gateway's for "not known".
        ({"input_tokens": 11, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 9}, TokenUsage(11, 9)),
        (
            {"input_tokens": 11, "cache_read_input_tokens": 5, "output_tokens": 1},
            {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 9},
            TokenUsage(11, 9, cache_read_tokens=5),
        ),
        # The tokens went to another count, so the zero is one (recorded with claude-sonnet-4-6 after a compaction).
        (
            {"input_tokens": 100, "cache_read_input_tokens": 55096, "output_tokens": 7},
            {"input_tokens": 181, "cache_read_input_tokens": 0, "output_tokens": 8},
            TokenUsage(181, 8, cache_read_tokens=0),
        ),
        # The output count of the start is provisional: a refusal may end with none.
        ({"input_tokens": 11, "output_tokens": 1}, {"output_tokens": 0}, TokenUsage(11, 0)),
        ({"input_tokens": 0, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 2}, TokenUsage(0, 2)),
    ],
)
def test_a_zero_that_comes_later(first: object, later: object, found: TokenUsage) -> None:
    """A zero of message_delta leaves a count of the input that message_start has (finding F)."""
    assert used(first, later) == found


def test_NQ344_a_picture_with_the_wrong_label() -> None:
    """A JPEG that is called a PNG is refused before any I/O, naming both."""
    fault = failure_of(lambda: body_of(asking(user([ImageBlock("image/png", b"\xff\xd8\xff\xe0")]))))

    assert (fault.code, fault.failure.message.partition(": ")[2]) == (
        codes.UNSUPPORTED_CONTENT,
        "it is labelled image/png, and its bytes are image/jpeg",
    )


# -- rows and options


def test_vllm_takes_schema_strict_and_efforts() -> None:
    """vLLM 0.32 reads output_config, strict and thinking on this wire (finding P6)."""
    row = WIRE.codec("vllm")
    high = body_of(asking(reasoning_effort="high"), "vllm")
    off = body_of(asking(reasoning_effort="off"), "vllm")

    assert [effort.id for effort in row.efforts or ()] == ["off", "low", "medium", "high", "xhigh", "max"]
    assert (high["output_config"], "thinking" in high) == ({"effort": "high"}, False)
    assert off["thinking"] == {"type": "disabled"}


def test_llamacpp_gets_its_unsigned_thinking_back() -> None:
    """Thinking that came without a signature goes back so, and the row refuses what the server passes over."""
    found = read_all_ways(started() + thinking(0, "hm", "") + text(1, "42") + stopped("end_turn")).response.message
    assert found is not None
    sent = body_of(asking(user("hi"), found, user("go on")), "llamacpp")

    assert sent["messages"][1]["content"] == [  # type: ignore[index]
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "42"},
    ]


@pytest.mark.parametrize(("dialect", "wanted"), [("generic", True), ("vllm", False)])
def test_a_route_says_whether_thinking_is_signed(dialect: str, wanted: bool) -> None:
    """`empty_signatures` of the options stands in place of the row's."""
    found = read(started() + thinking(0, "hm", "") + text(1, "42") + stopped("end_turn")).response.message
    assert found is not None
    codec = codec_of(AnthropicOptions(dialect=dialect, empty_signatures=wanted))
    context = BuildContext()
    sent = json.loads(codec.build(asking(user("hi"), found, user("go on")), context).body)

    assert [part["type"] for part in sent["messages"][1]["content"]] == ["thinking"] * wanted + ["text"]
    assert bool(context.replay_dropped) is not wanted


@pytest.mark.parametrize("header", ["", "a b", "x:y", "Content-Length", "x\r\ny"])
def test_a_header_that_cannot_carry_a_key(header: str) -> None:
    """It is INVALID_CONFIG when the adapter is made."""
    faults: list[LlmError] = [
        failure_of(lambda: AnthropicAdapter(AnthropicOptions(key_header=header))),
        failure_of(lambda: OpenAIChatAdapter(OpenAIChatOptions(key_header=header))),
    ]

    assert [fault.code for fault in faults] == [codes.INVALID_CONFIG] * 2


def _ended(reader: WireReader) -> str:
    chunks = reader.feed(b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n') + reader.eof()
    return chunks[-1].reason.kind if reader.failure is None else reader.failure.code  # type: ignore[union-attr]


@pytest.mark.parametrize(("wanted", "found"), [(None, "stop"), (False, "stop"), (True, codes.STREAM_CLOSED)])
def test_a_route_says_that_a_finish_word_always_comes(wanted: bool | None, found: str) -> None:
    """`require_finish` makes an answer that ends without a finish reason STREAM_CLOSED (W6)."""
    codec = chat_codec_of(OpenAIChatOptions(base_url="https://h.example/v1", require_finish=wanted))

    assert _ended(codec.reader()) == found


@pytest.mark.parametrize(
    ("adapter", "option"), [("anthropic-messages", "empty_signatures"), ("openai-chat", "require_finish")]
)
async def test_a_configured_route_sends_its_key_there(
    adapter: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of a route in a configuration reach the request and the reading of the answer."""
    monkeypatch.setenv("GATEWAY_KEY", "k-123")
    async with MockProvider() as mock:
        route = {
            "adapter": adapter,
            "base_url": mock.base_url(adapter, "text"),
            "api_key_env": "GATEWAY_KEY",
            "key_header": "x-gateway-key",
            **({option: True} if option == "require_finish" else {"options": {option: True}}),
        }
        async with open_runtime({"routes": {"mine": route}}) as llm:
            response = await llm.complete(GenerateOptions("mine", "m", [user("hi")]))
        headers = dict(mock.requests[0].headers)

    assert response.finish.kind == "stop"
    assert headers["x-gateway-key"] == "k-123"
    assert not {"x-api-key", "authorization"} & headers.keys()
