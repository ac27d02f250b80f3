"""Public reports about requests and refusals, each by its own minimal input; the others stand beside what they test."""

import json

import pytest

from chat_requests import ADD, PNG, attempt, body_of, messages_of, refusal, tool_turn
from limen.adapters.openai_chat import ROWS, WIRE
from limen.contract import LlmError, Message, ToolCallBlock, check_history, codes, tool_result, user


def classified(status: int, error: object, dialect: str = "generic") -> str:
    """Return the code of an error body."""
    return WIRE.classify(status, {}, json.dumps({"error": error}).encode(), dialect=dialect).code


def test_Q062_a_refused_reasoning_state_is_an_invalid_request_with_the_upstreams_words() -> None:
    """Encrypted reasoning that another upstream refuses is told as such, never lost in silence."""
    raw = "Corrupted thought signature."
    body = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "Google"}}
    failure = WIRE.classify(400, {}, json.dumps({"error": body}).encode(), dialect="openrouter")
    assert (failure.code, failure.message) == (
        codes.INVALID_REQUEST,
        "Provider returned error (Google): Corrupted thought signature.",
    )


def test_Q093_a_lone_surrogate_never_reaches_the_network() -> None:
    """Half an emoji becomes U+FFFD, a pair of halves the emoji."""
    found = messages_of("generic", user("hi \udc9d"), user("\ud83d\ude00"))
    assert [message["content"] for message in found] == ["hi \ufffd", "\U0001f600"]


def test_Q096_the_cap_has_the_name_that_the_row_knows() -> None:
    """`max_completion_tokens` where `max_tokens` is refused, `max_tokens` for servers that know only the old name."""
    names = {
        row: set(body_of(row, max_tokens=1)) - set(body_of(row)) for row in ("openai", "azure", "generic", "ollama")
    }
    assert names == {
        "openai": {"max_completion_tokens"},
        "azure": {"max_completion_tokens"},
        "generic": {"max_tokens"},
        "ollama": {"max_tokens"},
    }


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "Your input exceeds the context window of this model.", "code": None}),
        (400, {"message": "m", "code": "context_length_exceeded"}),
        (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}),
        (400, {"message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."}),
        (400, {"message": "request (144055 tokens) exceeds the available context size (131072 tokens)", "code": 400}),
        (400, {"message": "prompt too long; exceeded max context length by 12 tokens"}),
        (400, {"message": "Input length 9000 exceeds the maximum allowed input length of 8192 tokens."}),
        (400, {"message": "The prompt is too long: 9000, model maximum context length: 8192"}),
    ],
)
def test_Q098_every_wording_of_overflow_is_one_code(status: int, error: object) -> None:
    """However a server words it, the code is CONTEXT_WINDOW_EXCEEDED, so that it is compacted and not retried."""
    assert classified(status, error) == codes.CONTEXT_WINDOW_EXCEEDED


@pytest.mark.parametrize("dialect", ["cerebras", "groq", "generic"])
def test_Q118_nothing_is_sent_that_the_row_does_not_name(dialect: str) -> None:
    """A strict server sees standard fields only, unless the caller adds others by name."""
    plain = {"model", "messages", "stream", "stream_options"}
    assert set(body_of(dialect)) == plain
    assert set(body_of(dialect, extra={"openai-chat": {"enable_thinking": False}})) == {*plain, "enable_thinking"}


@pytest.mark.parametrize(("status", "kind"), [(500, "server_error"), (400, "exceed_context_size_error")])
def test_Q135_an_overflow_under_500_is_an_overflow(status: int, kind: str) -> None:
    """llama.cpp reports one fault in two ways; both are the overflow."""
    error = {"code": status, "message": "Context size has been exceeded.", "type": kind}
    assert classified(status, error, "llamacpp") == codes.CONTEXT_WINDOW_EXCEEDED


def test_Q139_a_call_without_a_name_is_refused_before_it_spoils_the_history() -> None:
    """A nameless call in the history is named by its place, instead of failing at the server on every later turn."""
    call = Message("assistant", (ToolCallBlock("c", "", "{}"),))
    error = refusal(messages=[user("q"), call, tool_result("c", "1")])
    assert (error.code, error.failure.message.partition(" is ")[0]) == (codes.INVALID_OPTIONS, "messages[1].content[0]")


@pytest.mark.parametrize("dialect", tuple(ROWS))
def test_Q155_an_image_is_sent_or_refused_and_never_dropped(dialect: str) -> None:
    """No dialect answers as if the image had not been there."""
    found = attempt(dialect, messages=[user([PNG])])
    refused = isinstance(found, LlmError) and found.code == codes.UNSUPPORTED_CONTENT
    assert refused or "image_url" in str(found)


def test_Q177_an_unanswered_call_is_refused_before_the_request() -> None:
    """An interrupted run leaves a call without a result; that is said before any I/O, naming the message (N1)."""
    asked, called, _ = tool_turn()
    with pytest.raises(LlmError, match=r"messages\[1\] makes a tool call that is not answered"):
        check_history((asked, called, user("go on")))


def test_Q202_large_integers_keep_their_digits() -> None:
    """Arguments are a string end to end, so no number in them is ever read."""
    arguments = '{"id": 12345678901234567890123, "huge": ' + "9" * 5_000 + "}"
    call = Message("assistant", (ToolCallBlock("c", "f", arguments),))
    found = messages_of("generic", user("q"), call, tool_result("c", "1"))
    assert found[1]["tool_calls"][0]["function"]["arguments"] == arguments


def test_Q207_stream_options_go_only_where_they_may() -> None:
    """A server that refuses them has a row that leaves them out."""
    names = {name for name in ROWS if "stream_options" not in body_of(name)}
    assert names == {"mistral", "generic-no-usage"}


def test_Q208_a_model_that_cannot_stream_is_a_clear_refusal() -> None:
    """A model that refuses `stream` gives INVALID_REQUEST with the provider's words and code."""
    error = {"message": "Unsupported value: 'stream' does not support true with this model.", "param": "stream"}
    assert classified(400, {**error, "code": "unsupported_value"}, "azure") == codes.INVALID_REQUEST


def test_strict_is_absent_unless_asked_for() -> None:
    """Nobody sets strict on a caller's behalf (Q214)."""
    assert "strict" not in body_of("openai", tools=[ADD])["tools"][0]["function"]
