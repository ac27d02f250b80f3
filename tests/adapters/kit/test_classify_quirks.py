"""Public reports about errors, each by its number in the collection of reports (E3)."""

import json

import pytest

from limen.adapters.kit.errors import classify_answer, classify_event
from limen.adapters.openai_chat import WIRE
from limen.contract import RetryPolicy, codes


def _classify(dialect: str, status: int, body: object) -> str:
    return WIRE.classify(status, {}, json.dumps(body).encode(), dialect=dialect).code


def test_NQ311_sglangs_scheduler_has_a_sentence_of_its_own() -> None:
    """SGLang's "Input length … exceeds the maximum allowed length" is an overflow, over HTTP and in a stream."""
    body = {
        "object": "error",
        "message": "Input length (33001 tokens) exceeds the maximum allowed length (32768 tokens). "
        "Use a shorter input or enable --allow-auto-truncate.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    }
    assert _classify("sglang", 400, body) == codes.CONTEXT_WINDOW_EXCEEDED
    assert classify_event(json.dumps({"error": body}).encode()).code == codes.CONTEXT_WINDOW_EXCEEDED


def test_NQ313_a_history_that_moonshot_counts_in_bytes() -> None:
    """Moonshot's limit on a message's size in bytes is an overflow: a shorter history helps."""
    error = {"message": "total message size 9175040 exceeds limit 2097152", "type": "invalid_request_error"}
    assert _classify("moonshot", 400, {"error": error}) == codes.CONTEXT_WINDOW_EXCEEDED


def test_NQ315_vllm_counts_output_and_prompt() -> None:
    """vLLM's newer sentence without a code is an overflow."""
    message = (
        "This model's maximum context length is 196608 tokens. However, you requested 16384 output tokens and your "
        "prompt contains at least 180225 input tokens, for a total of at least 196609 tokens."
    )
    error = {"message": message, "type": "BadRequestError", "param": "input_tokens", "code": 400}
    assert _classify("vllm", 400, {"error": error}) == codes.CONTEXT_WINDOW_EXCEEDED


def test_NQ316_a_plan_without_long_context_is_no_rate() -> None:
    """Anthropic's 429 of a plan without long context is QUOTA, which the default policy does not try again."""
    error = {"type": "rate_limit_error", "message": "Extra usage is required for long context requests."}
    code = classify_answer(429, {}, json.dumps({"type": "error", "error": error}).encode()).code
    assert (code, code in RetryPolicy().codes) == (codes.QUOTA, False)


def test_NQ318_vertex_names_a_publisher_model() -> None:
    """Vertex's 404 about a Publisher Model is MODEL_NOT_FOUND."""
    message = (
        "Publisher Model `projects/p1/locations/us/publishers/google/models/gemini-z` was not found or your project "
        "does not have access to it. Please ensure you are using a valid model version."
    )
    error = {"message": message, "code": 404, "status": "NOT_FOUND"}
    assert _classify("generic", 404, {"error": error}) == codes.MODEL_NOT_FOUND


@pytest.mark.parametrize("message", ["Budget has been exceeded! Current cost: 10.6, Max budget: 10.0", "ask Ann", ""])
@pytest.mark.parametrize("status", [400, 429])
def test_NQ319_a_spent_budget_of_litellm(status: int, message: str) -> None:
    """LiteLLM's budget_exceeded is QUOTA at 400 and 429, also where an administrator replaced the sentence."""
    error = {"message": message, "type": "budget_exceeded", "param": None, "code": str(status)}
    assert _classify("generic", status, {"error": error}) == codes.QUOTA


def test_NQ320_an_empty_wallet_is_no_wrong_key() -> None:
    """The 403 insufficient_user_quota of one-api gateways is QUOTA, by its code and by its sentence alone."""
    message = "user quota is not enough (request id: 2025x)"
    coded = {"message": "m", "type": "new_api_error", "param": "", "code": "insufficient_user_quota"}
    assert [_classify("generic", 403, {"error": error}) for error in (coded, {"message": message})] == [codes.QUOTA] * 2


def test_NQ321_a_spent_week_of_ollama_cloud() -> None:
    """Ollama Cloud's 429 of a spent week is QUOTA."""
    message = (
        "you (someone) have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade"
    )
    assert _classify("ollama", 429, {"error": {"message": message}}) == codes.QUOTA


def test_NQ322_anthropics_output_filter() -> None:
    """Anthropic's "Output blocked by content filtering policy" is CONTENT_FILTER at 400 and in the stream."""
    error = {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}
    body = json.dumps({"type": "error", "error": error}).encode()
    assert [classify_answer(400, {}, body).code, classify_event(body).code] == [codes.CONTENT_FILTER] * 2


def test_NQ347_a_delay_that_only_the_limits_headers_tell() -> None:
    """A 429 without Retry-After waits for the reset of the limit whose remaining is 0."""
    headers = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2m59.56s"}
    body = b'{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}'
    failure = WIRE.classify(429, headers, body, dialect="openai")
    assert (failure.code, failure.provider_retry_after_ms) == (codes.RATE_LIMIT, 179_560)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"message":"Not found"}', "Not found"),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b"404 page not found", "404 page not found"),
        (b'{"error":{"code":"404","message":"Resource not found"}}', "Resource not found"),
        (b'{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}', "File Not Found"),
    ],
)
def test_NQ348_a_bare_404_asks_for_the_address(body: bytes, said: str) -> None:
    """A 404 that only says "not found" asks whether base_url is what stands before the wire's path."""
    failure = classify_answer(404, {}, body)
    assert (failure.code, failure.message) == ("HTTP_404", f"{said}; is base_url what stands before the wire's path?")


def test_NQ348_a_404_that_says_what_is_missing_does_not_ask() -> None:
    """A 404 about something else keeps its own words."""
    assert (
        classify_answer(404, {}, b'{"error":{"message":"The file was not found"}}').message == "The file was not found"
    )


@pytest.mark.parametrize(
    "message",
    [
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 2",
    ],
)
@pytest.mark.parametrize("dialect", ["llamacpp", "generic"])
def test_P5_a_500_that_no_repetition_mends_is_not_tried_again(dialect: str, message: str) -> None:
    """llama.cpp's permanent 500s are INVALID_REQUEST, which the default policy does not try again."""
    code = _classify(dialect, 500, {"error": {"code": 500, "message": message, "type": "server_error"}})
    assert (code, code in RetryPolicy().codes) == (codes.INVALID_REQUEST, False)
