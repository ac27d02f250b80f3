"""The rows' own errors: what a gateway means by a code, a status or a silence that others mean differently."""

import json

import pytest

from limen.adapters.kit.errors import ErrorRow, read_error
from limen.adapters.openai_chat import ROWS as CHAT_ROWS
from limen.adapters.openai_chat import WIRE
from limen.contract import codes

# dialect, status, body's error, code; where each is documented or recorded stands beside its row in _rows_*.py
ROWS: list[tuple[str, int, object, str]] = [
    ("openai", 429, {"code": "resource_unavailable", "message": "m"}, codes.OVERLOADED),
    ("openai", 429, {"code": "slow_down", "type": "rate_limit_error", "message": "m"}, codes.RATE_LIMIT),
    ("openai", 429, {"code": "insufficient_quota", "type": "insufficient_quota", "message": "m"}, codes.QUOTA),
    ("openai", 503, {"type": "service_unavailable_error", "code": "server_is_overloaded"}, codes.OVERLOADED),
    (
        "openai",
        429,
        {"code": "rate_limit_exceeded", "type": "tokens", "message": "Request too large"},
        codes.RATE_LIMIT,
    ),
    ("azure", 429, {"code": "NoCapacity", "message": "m"}, codes.OVERLOADED),
    (
        "azure",
        429,
        {"code": "429", "message": "Requests have exceeded token rate limit of your current OpenAI S0 pricing tier."},
        codes.RATE_LIMIT,
    ),
    ("azure", 403, {"message": "Access denied due to Virtual Network/Firewall rules."}, codes.AUTH),
    ("azure", 404, {"code": "DeploymentNotFound", "message": "m"}, codes.MODEL_NOT_FOUND),
    ("azure", 404, {"code": "404", "message": "Resource not found"}, "HTTP_404"),
    ("deepseek", 402, {"message": "Insufficient Balance", "type": "unknown_error"}, codes.QUOTA),
    ("deepseek", 422, {"message": "Invalid parameters"}, codes.INVALID_REQUEST),
    ("deepseek", 429, {"message": "concurrency limit"}, codes.RATE_LIMIT),
    ("deepseek", 503, {"message": "Server Overloaded"}, codes.OVERLOADED),
    (
        "deepseek",
        400,
        {"message": "The `reasoning_content` in the thinking mode must be passed back to the API."},
        codes.INVALID_REQUEST,
    ),
    ("mistral", 400, {"code": "1500", "message": "Invalid model: x"}, codes.MODEL_NOT_FOUND),
    ("mistral", 429, {"code": "3505", "message": "Service tier capacity exceeded for this model."}, codes.OVERLOADED),
    ("mistral", 429, {"code": "1300", "message": "Rate limit exceeded"}, codes.RATE_LIMIT),
    ("mistral", 400, {"code": "3051", "message": "Logprobs are not enabled for this model"}, codes.INVALID_REQUEST),
    (
        "mistral",
        400,
        {"code": 3051, "message": "Prompt contains 9 tokens, too large for model with 8 maximum context length"},
        codes.CONTEXT_WINDOW_EXCEEDED,
    ),
    ("xai", 400, "Incorrect API key provided. You can obtain an API key from https://console.x.ai.", codes.AUTH),
    ("xai", 403, "Content violates usage guidelines.", codes.CONTENT_FILTER),
    ("moonshot", 429, {"type": "engine_overloaded_error", "message": "m"}, codes.OVERLOADED),
    ("moonshot", 429, {"message": "The engine is currently overloaded, please try again later"}, codes.OVERLOADED),
    ("moonshot", 429, {"type": "exceeded_current_quota_error", "message": "m"}, codes.QUOTA),
    ("moonshot", 429, {"type": "rate_limit_reached_error", "message": "m"}, codes.RATE_LIMIT),
    ("moonshot", 403, {"message": "You've reached your usage limit for this billing cycle."}, codes.QUOTA),
    ("moonshot", 400, {"message": "Your request exceeded model token limit: 262144"}, codes.CONTEXT_WINDOW_EXCEEDED),
    ("moonshot", 400, {"type": "content_filter", "message": "m"}, codes.CONTENT_FILTER),
    ("dashscope", 403, {"code": "AllocationQuota.FreeTierOnly", "message": "m"}, codes.QUOTA),
    ("dashscope", 429, {"code": "insufficient_quota", "message": "Allocated quota exceeded"}, codes.RATE_LIMIT),
    ("dashscope", 429, {"code": "Throttling.AllocationQuota", "message": "m"}, codes.RATE_LIMIT),
    ("dashscope", 403, {"code": "x", "message": "The free tier of the model has been exhausted."}, codes.QUOTA),
    ("dashscope", 400, {"code": "Arrearage", "message": "m"}, codes.QUOTA),
    ("dashscope", 429, {"code": "insufficient_quota", "message": "Free allocated quota exceeded."}, codes.QUOTA),
    ("dashscope", 403, {"message": "The free quota has been exhausted."}, codes.QUOTA),
    (
        "azure-entra",
        429,
        {"code": "429", "message": "Requests have exceeded call rate limit of your current OpenAI S0 pricing tier."},
        codes.RATE_LIMIT,
    ),
    ("dashscope", 400, {"code": "data_inspection_failed", "message": "m"}, codes.CONTENT_FILTER),
    ("zai", 401, {"code": "1002", "message": "m"}, codes.AUTH),
    ("zai", 429, {"code": "1113", "message": "m"}, codes.QUOTA),
    ("zai", 400, {"code": "1211", "message": "m"}, codes.MODEL_NOT_FOUND),
    ("zai", 400, {"code": "1214", "message": "m"}, codes.INVALID_REQUEST),
    ("zai", 400, {"code": "1261", "message": "m"}, codes.CONTEXT_WINDOW_EXCEEDED),
    ("zai", 400, {"code": "1301", "message": "m"}, codes.CONTENT_FILTER),
    ("zai", 429, {"code": "1302", "message": "m"}, codes.RATE_LIMIT),
    ("zai", 429, {"code": "1305", "message": "m"}, codes.OVERLOADED),
    ("zai", 429, {"code": "1308", "message": "m"}, codes.QUOTA),
    ("zai", 500, {"code": "1234", "message": "m"}, codes.SERVER),
    (
        "minimax",
        400,
        {"code": "2013", "message": "invalid params, context window exceeds limit"},
        codes.CONTEXT_WINDOW_EXCEEDED,
    ),
    ("minimax", 400, {"code": "2013", "message": "invalid params"}, codes.INVALID_REQUEST),
    ("minimax", 400, {"message": "invalid params, unknown model 'x' (2013)"}, codes.MODEL_NOT_FOUND),
    ("minimax", 400, {"message": "invalid params, tool call id is wrong (2013)"}, codes.INVALID_REQUEST),
    ("minimax", 500, {"type": "api_error", "message": "insufficient balance (1008)"}, codes.QUOTA),
    (
        "minimax",
        500,
        {"type": "api_error", "message": "your current token plan not support model, x (2061)"},
        codes.QUOTA,
    ),
    ("minimax", 500, {"type": "api_error", "message": "input new_sensitive (1026)"}, codes.CONTENT_FILTER),
    ("minimax", 500, {"type": "api_error", "message": "unknown error, 999 (1000)"}, codes.SERVER),
    ("minimax", 500, {"type": "api_error", "message": "request timeout (1001)"}, codes.TIMEOUT),
    ("minimax", 500, {"type": "api_error", "message": "login fail (1004)"}, codes.AUTH),
    ("minimax", 500, {"type": "api_error", "message": "try later (1002)"}, codes.RATE_LIMIT),
    ("openrouter", 402, {"code": 402, "metadata": {"limit_source": "openrouter_credits"}}, codes.QUOTA),
    ("openrouter", 402, {"code": 402, "metadata": {"limit_source": "openrouter_in_flight_budget"}}, codes.QUOTA),
    (
        "openrouter",
        402,
        {"code": 402, "metadata": {"limit_source": "openrouter_in_flight_budget"}, "retry_after": 3},
        codes.RATE_LIMIT,
    ),
    ("openrouter", 403, {"code": 403, "metadata": {"limit_source": "openrouter_guardrail_budget"}}, codes.QUOTA),
    ("openrouter", 403, {"code": 403, "message": "no permission"}, codes.AUTH),
    ("openrouter", 403, {"code": 403, "message": "Key limit exceeded (monthly limit). Manage it."}, codes.QUOTA),
    ("openrouter", 404, {"code": 404, "message": "No endpoints found for x/y."}, codes.MODEL_NOT_FOUND),
    ("openrouter", 502, {"code": 502, "message": "Provider returned error"}, codes.SERVER),
    ("groq", 413, {"code": "rate_limit_exceeded", "type": "tokens", "message": "Request too large"}, codes.RATE_LIMIT),
    ("groq", 413, {"message": "too many bytes"}, codes.INVALID_REQUEST),
    ("groq", 400, {"code": "blocked_api_access", "message": "m"}, codes.QUOTA),
    ("groq", 498, {"code": "capacity_exceeded", "message": "m"}, codes.OVERLOADED),
    ("groq", 400, {"code": "model_decommissioned", "message": "m"}, codes.MODEL_NOT_FOUND),
    ("together", 403, {"message": "Bad Request"}, codes.AUTH),
    ("together", 403, {"message": "Your organization has no permission"}, codes.AUTH),
    (
        "together",
        400,
        {"message": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125"},
        codes.CONTEXT_WINDOW_EXCEEDED,
    ),
    ("together", 402, {"message": "Credit limit exceeded.", "type": "credit_limit"}, codes.QUOTA),
    ("together", 429, {"message": "You have been rate limited.", "type": "credit_limit"}, codes.RATE_LIMIT),
    ("together", 404, {"code": "model_not_available", "message": "m"}, codes.MODEL_NOT_FOUND),
    ("together", 401, {"message": "Invalid API key"}, codes.AUTH),
    ("fireworks", 412, {"message": "Account is suspended"}, codes.QUOTA),
    ("fireworks", 412, {"message": "Failed to load LoRA adapter", "code": "PRECONDITION_FAILED"}, "HTTP_412"),
    ("fireworks", 404, {"message": "Model not found, inaccessible, and/or not deployed"}, codes.MODEL_NOT_FOUND),
    ("cerebras", 429, {"code": "queue_exceeded", "message": "m"}, codes.OVERLOADED),
    ("cerebras", 429, {"code": "token_quota_exceeded", "message": "m"}, codes.RATE_LIMIT),
    (
        "cerebras",
        429,
        {"code": "request_quota_exceeded", "message": "Requests per minute limit exceeded - too many requests sent."},
        codes.RATE_LIMIT,
    ),
    (
        "cerebras",
        400,
        {"message": "Please reduce the length of the messages or completion. Current length is 9 while limit is 8"},
        codes.CONTEXT_WINDOW_EXCEEDED,
    ),
    ("nvidia", 429, "ResourceExhausted: Worker local total request limit reached (33/32)", codes.OVERLOADED),
    ("perplexity", 401, {"type": "insufficient_quota", "message": "m", "code": 401}, codes.QUOTA),
    ("perplexity", 400, {"type": "invalid_model", "message": "m", "code": 400}, codes.MODEL_NOT_FOUND),
    ("moonshot", 403, {"type": "exceeded_current_quota_error", "message": "m"}, codes.QUOTA),
    (
        "moonshot",
        400,
        {"message": "tool_choice 'required' is incompatible with thinking enabled"},
        codes.INVALID_REQUEST,
    ),
    ("deepseek", 400, {"message": "Model Not Exist", "code": "invalid_request_error"}, codes.MODEL_NOT_FOUND),
    ("huggingface", 402, "You have exceeded your monthly included credits", codes.QUOTA),
    ("ollama", 404, {"message": "model 'x' not found", "type": "api_error", "param": None}, codes.MODEL_NOT_FOUND),
    ("vllm", 400, {"type": "BadRequestError", "code": 400, "message": "m"}, codes.INVALID_REQUEST),
    ("llamacpp", 503, {"code": 503, "type": "unavailable_error", "message": "Loading model"}, codes.OVERLOADED),
    (
        "lmstudio",
        400,
        "Trying to keep the first 9000 tokens when context the overflows.",
        codes.CONTEXT_WINDOW_EXCEEDED,
    ),
]


@pytest.mark.parametrize(("dialect", "status", "error", "code"), ROWS)
def test_a_dialects_error_has_its_code(dialect: str, status: int, error: object, code: str) -> None:
    """The dialect's row is asked first, the shared tables and the status after it (E3)."""
    body = json.dumps({"error": error}).encode()
    assert WIRE.classify(status, {}, body, dialect=dialect).code == code


def test_every_row_of_every_dialect_is_tried_here() -> None:
    """No exception is made for a dialect without an example of it."""
    untried = [
        (name, row)
        for name, dialect in CHAT_ROWS.items()
        for row in dialect.errors.rows
        if not any(_speaks_of(row, status, error) for one, status, error, _ in ROWS if one == name)
    ]
    # base_resp has its own test below
    assert [(name, row) for name, row in untried if name != "minimax" or row.sentence is not None] == []


def _speaks_of(row: ErrorRow, status: int, error: object) -> bool:
    facts = read_error(json.dumps({"error": error}).encode())
    return any(row.matches(facts, status, hinted=hinted) for hinted in (True, False))


@pytest.mark.parametrize("dialect", sorted(CHAT_ROWS))
@pytest.mark.parametrize("body", [b"", b"\n", b"no", b"<html><title>Attention Required! | Cloudflare</title></html>"])
def test_a_status_alone_is_never_an_overflow(dialect: str, body: bytes) -> None:
    """A 400, 403 or 413 that says nothing is a wrong request or a refused key at every dialect (E3)."""
    found = [WIRE.classify(status, {}, body, dialect=dialect).code for status in (400, 403, 413)]
    assert found == [codes.INVALID_REQUEST, codes.AUTH, codes.INVALID_REQUEST]


@pytest.mark.parametrize(
    ("status_code", "code"),
    [(1000, codes.SERVER), (1001, codes.TIMEOUT), (1002, codes.RATE_LIMIT), (1004, codes.AUTH), (1008, codes.QUOTA),
     (1026, codes.CONTENT_FILTER), (2013, codes.INVALID_REQUEST), (2056, codes.QUOTA), (2061, codes.QUOTA)],
)  # fmt: skip
def test_minimax_says_it_in_base_resp(status_code: int, code: str) -> None:
    """MiniMax's own codes decide, also under HTTP 200."""
    body = json.dumps({"base_resp": {"status_code": status_code, "status_msg": "m"}}).encode()
    assert WIRE.classify(200, {}, body, dialect="minimax").code == code


@pytest.mark.parametrize(
    ("dialect", "message", "delay"),
    [
        ("openai", "Rate limit reached for gpt-4o. Please try again in 6m0.5s. Visit https://…", 360_500),
        ("groq", "Rate limit reached. Please try again in 120ms.", 120),
        ("azure", "Requests have exceeded call rate limit. Please retry after 7 seconds.", 7_000),
        ("generic", "Please try again in 6m0s.", None),
        ("openai", "Please try again in 0s.", None),
    ],
)
def test_delays_that_only_the_text_names(dialect: str, message: str, delay: int | None) -> None:
    """OpenAI, Groq and Azure name the delay in the message; others are not read that way (E3)."""
    body = json.dumps({"error": {"message": message}}).encode()
    assert WIRE.classify(429, {}, body, dialect=dialect).provider_retry_after_ms == delay
