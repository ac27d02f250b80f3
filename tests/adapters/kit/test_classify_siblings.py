"""Errors in every dress: another case, a gateway's prefix, JSON in a string, other statuses, HTTP or a stream (E3)."""

import json
from collections.abc import Callable

import pytest

from limen.adapters.kit.errors import classify_answer, classify_event
from limen.contract import codes

# kind, a message of it, the statuses that it was seen or may be sent with, its code
MESSAGES = [
    ("context", "Input length (33001 tokens) exceeds the maximum allowed length (32768 tokens).", (400, 403, 413, 500)),
    ("context", "total message size 9175040 exceeds limit 2097152", (400, 403, 413, 500)),
    ("context", "The decoder prompt (length 66501) is longer than the maximum model length of 65536.", (400, 413, 500)),
    (
        "context",
        "This model's maximum context length is 8 tokens. However, you requested 9 tokens",
        (400, 403, 413, 500),
    ),
    ("quota", "Budget has been exceeded! Current cost: 10.6, Max budget: 10.0", (400, 402, 403, 429, 500)),
    ("quota", "user quota is not enough (request id: 2025x)", (400, 403, 404, 429, 500)),
    ("quota", "Key limit exceeded (monthly limit). Manage it using https://openrouter.ai/keys", (402, 403, 429)),
    ("quota", "Insufficient Balance", (400, 402, 403, 429, 500)),
    ("filter", "Output blocked by content filtering policy", (400, 403, 422, 429, 500)),
    ("filter", "Input data may contain inappropriate content.", (400, 403, 500)),
    ("model", "Specified model not found: auto", (400, 403, 404, 429, 500)),
    ("model", "Invalid model name passed in model=x. Call `/v1/models` to view available models", (400, 403, 404, 500)),
    ("model", "Publisher Model `projects/p1/models/g` was not found or your project does not have access", (400, 404)),
    ("model", 'Invalid model identifier "x". Please specify a valid downloaded model', (400, 404, 500)),
    ("wrong", "Failed to parse tool call arguments as JSON: unexpected end of input", (500, 502)),
]
CODES = {
    "context": codes.CONTEXT_WINDOW_EXCEEDED,
    "quota": codes.QUOTA,
    "filter": codes.CONTENT_FILTER,
    "model": codes.MODEL_NOT_FOUND,
    "wrong": codes.INVALID_REQUEST,
}
STATUSES = [(kind, message, status) for kind, message, statuses in MESSAGES for status in statuses]


def _openai(message: str, status: int) -> object:
    return {"error": {"message": message, "type": "x_error", "param": None, "code": None}}


def _json_in_a_string(message: str, status: int) -> object:
    return {"error": json.dumps({"error": {"message": message, "code": status}})}


def _openrouter(message: str, status: int) -> object:
    raw = json.dumps({"error": {"message": message}})
    return {"error": {"message": "Provider returned error", "code": status, "metadata": {"raw": raw}}}


def _openrouter_text(message: str, status: int) -> object:
    return {"error": {"message": "Provider returned error", "code": status, "metadata": {"raw": message}}}


def _litellm(message: str, status: int) -> object:
    text = f"litellm.BadRequestError: XException - {message}. Received Model Group=x\nFallbacks=None"
    return {"error": {"message": text, "type": None, "param": None, "code": str(status)}}


def _litellm_json(message: str, status: int) -> object:
    inner = json.dumps({"error": {"message": message, "code": status}})
    return {"error": {"message": f"litellm.APIError: XException - {inner}", "type": None, "code": str(status)}}


def _router(message: str, status: int) -> object:
    inner = json.dumps({"error": {"message": message, "code": status}})
    return {"error": {"message": f"Error from provider(x,y: {status}): {inner}Error: Error from provider(x,y)"}}


def _fastapi(message: str, status: int) -> object:
    return {"detail": message}


def _flat(message: str, status: int) -> object:
    return {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": status}


def _cloudflare(message: str, status: int) -> object:
    return {"success": False, "errors": [{"message": f"AiError: {message}", "code": 5}], "result": {}}


DRESSES = [
    _openai, _json_in_a_string, _openrouter, _openrouter_text, _litellm, _litellm_json, _router, _fastapi, _flat,
    _cloudflare,
]  # fmt: skip


@pytest.mark.parametrize("dress", DRESSES, ids=lambda dress: dress.__name__.strip("_"))
@pytest.mark.parametrize(("kind", "message", "status"), STATUSES)
def test_a_kind_keeps_its_code_in_every_dress(
    kind: str, message: str, status: int, dress: Callable[[str, int], object]
) -> None:
    """Case, wrapping and status do not change what a message means, nor whether it came in a stream (E1, E3)."""
    bodies = [json.dumps(dress(text, status)).encode() for text in (message, message.upper(), message.lower())]
    found = [classify_answer(status, {}, body).code for body in bodies]
    in_stream = [classify_event(body).code for body in bodies]
    assert (found, in_stream) == ([CODES[kind]] * 3, [CODES[kind]] * 3)


@pytest.mark.parametrize(("kind", "message", "status"), STATUSES)
def test_a_plain_text_keeps_its_code(kind: str, message: str, status: int) -> None:
    """A server that answers in plain text is judged like one that answers in JSON (E3)."""
    assert classify_answer(status, {"content-type": "text/plain"}, message.encode()).code == CODES[kind]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 429, 500, 503])
@pytest.mark.parametrize("hint", [{}, {"retry-after": "40"}])
@pytest.mark.parametrize("message", [row[1] for row in MESSAGES if row[0] == "quota"])
def test_an_exhausted_quota_is_one_whatever_the_status_and_the_hint(
    message: str, hint: dict[str, str], status: int
) -> None:
    """Balance, budget and a key's own limit are QUOTA at every status and beside a retry hint (E3)."""
    assert classify_answer(status, hint, json.dumps(_openai(message, status)).encode()).code == codes.QUOTA


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Requests per day limit exceeded", codes.QUOTA),
        ("Rate limit reached on tokens per day (TPD): Limit 5, Used 4", codes.QUOTA),
        ("Requests per minute limit exceeded - too many requests sent.", codes.RATE_LIMIT),
        ("Quota exceeded for requests per minute", codes.RATE_LIMIT),
        ("Too many requests: the prompt is too long to serve now", codes.RATE_LIMIT),
    ],
)
def test_a_day_is_a_quota_and_a_minute_is_a_rate(message: str, code: str) -> None:
    """A per-day quota is exhausted also beside a hint; a per-minute one is a rate, with or without one (E3)."""
    body = json.dumps(_openai(message, 429)).encode()
    assert [classify_answer(429, hint, body).code for hint in ({}, {"retry-after": "9"})] == [code, code]


@pytest.mark.parametrize("status", [403, 503])
def test_a_page_of_a_firewall_is_judged_by_its_status(status: int) -> None:
    """A firewall's page speaks of neither tokens nor money: 403 is AUTH, 503 is SERVER (E3)."""
    page = (
        b"<html><head><title>Attention Required! | Cloudflare</title></head><body>You have been blocked</body></html>"
    )
    assert (
        classify_answer(status, {"content-type": "text/html"}, page).code
        == {403: codes.AUTH, 503: codes.SERVER}[status]
    )


def test_a_code_inside_a_gateways_sentence_is_read() -> None:
    """The code of an upstream's error that a gateway quotes is judged; the gateway's own words stay the message."""
    inner = '{"error":{"message":"no","type":"budget_exceeded","param":null,"code":"400"}}'
    text = f"litellm.BadRequestError: XException - {inner}. Received Model Group=y"
    failure = classify_answer(400, {}, json.dumps({"error": {"message": text, "code": "400"}}).encode())
    assert (failure.code, failure.message, failure.provider_code) == (codes.QUOTA, text, "budget_exceeded")


@pytest.mark.parametrize(
    "text",
    [
        'no error: {"type": "budget_exceeded"}',
        'half an error: {"error": {"type": "budget_exceeded"',
        'deep: {"error": ' + "[" * 5_000,
        'nothing: {"error": "budget_exceeded"}',
    ],
)
def test_json_inside_a_sentence_that_is_no_error_is_text(text: str) -> None:
    """An echoed request, a cut document or a bomb inside a message gives no code and no exception."""
    assert classify_answer(400, {}, json.dumps({"error": {"message": text}}).encode()).code == codes.INVALID_REQUEST


def test_O4_json_past_the_depth_limit_is_malformed_in_a_stream_and_its_status_over_http() -> None:
    """An error nested 129 levels deep cannot be read: MALFORMED_RESPONSE in a stream, by the status elsewhere (S2)."""
    deep = b'{"error":' + b"[" * 129 + b"]" * 129 + b"}"
    in_stream, under_200 = classify_event(deep), classify_answer(200, {}, deep)
    assert (in_stream.code, under_200.code) == (codes.MALFORMED_RESPONSE, codes.MALFORMED_RESPONSE)
    assert in_stream.message.endswith("but with JSON nested more than 128 levels deep")
    assert [classify_answer(status, {}, deep).code for status in (400, 429, 503)] == [
        codes.INVALID_REQUEST,
        codes.RATE_LIMIT,
        codes.SERVER,
    ]


def test_O4_json_past_the_depth_limit_inside_a_string_is_a_sentence() -> None:
    """A gateway's text that holds JSON past the depth limit is its text, and is judged as one (S2)."""
    text = "[" * 129 + "]" * 129
    failure = classify_answer(400, {}, json.dumps({"error": text}).encode())
    assert (failure.code, failure.message) == (codes.INVALID_REQUEST, text)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_google_without_capacity_is_overloaded(status: int) -> None:
    """Google's MODEL_CAPACITY_EXHAUSTED is OVERLOADED, also at 429 and in its list of errors (E3)."""
    error = {
        "code": status,
        "message": "No capacity available for model gemini-x on the server",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "MODEL_CAPACITY_EXHAUSTED"}],
    }
    body = json.dumps([{"error": error}]).encode()
    expected = codes.SERVER if status == 500 else codes.OVERLOADED
    assert (classify_answer(status, {}, body).code, classify_event(body).code) == (expected, expected)
