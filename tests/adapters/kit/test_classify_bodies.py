"""Error bodies of every shape, and the facts of a `Failure` beside its code."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.adapters.kit.errors import classify_answer, classify_event, read_error
from limen.contract import Failure, LlmError, clean_key, codes

# shape, body, message, provider_code
SHAPES = [
    ("OpenAI", {"error": {"message": "m", "type": "t", "param": None, "code": "c"}}, "m", "c"),
    ("without code", {"error": {"message": "m", "type": "t", "code": None}}, "m", "t"),
    ("OpenRouter", {"error": {"code": 400, "message": "m"}, "user_id": "u"}, "m", "400"),
    ("Z.ai", {"error": {"code": "1113", "message": "m"}}, "m", "1113"),
    ("llama.cpp", {"error": {"code": 400, "message": "m", "type": "t", "n_ctx": 1}}, "m", "t"),
    ("text", {"error": "m"}, "m", None),
    ("xAI", {"code": "c", "error": "m"}, "m", "c"),
    ("Mistral", {"object": "error", "message": "m", "type": "t", "param": None, "code": "3051"}, "m", "3051"),
    ("FastAPI text", {"detail": "m"}, "m", None),
    (
        "FastAPI list",
        {"detail": [{"loc": ["body", "messages", 0], "msg": "m", "type": "t"}]},
        "body.messages.0: m",
        "t",
    ),
    ("Mistral 422", {"message": {"detail": [{"loc": ["body"], "msg": "m", "type": "t"}]}}, "body: m", "t"),
    ("no place", {"detail": [{"msg": "m"}]}, "m", None),
    ("gateway", {"message": "m", "request_id": "r"}, "m", None),
    ("NVIDIA", {"status": 404, "title": "Not Found", "detail": "m"}, "Not Found: m", "404"),
    ("Cloudflare", {"success": False, "errors": [{"code": 5007, "message": "m"}]}, "m", "5007"),
    ("Cloudflare gateway", {"success": False, "error": [{"code": 2001, "message": "m"}]}, "m", "2001"),
    ("MiniMax", {"base_resp": {"status_code": 1008, "status_msg": "m"}}, "m", "1008"),
    ("Gemini", [{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}], "m", "INVALID_ARGUMENT"),
    ("Anthropic", {"type": "error", "error": {"type": "t", "message": "m"}}, "m", "t"),
    ("Q025", {"id": "x", "choices": None, "error_type": "T", "error_message": "m"}, "m", "T"),
    ("JSON in a string", {"error": json.dumps({"error": {"message": "m", "code": "c"}})}, "m", "c"),
    ("nested", {"error": {"error": {"message": "m"}}}, "m", None),
    ("wrong types", {"error": {"message": 7, "type": [], "code": True}}, None, None),
    ("not an object", {"error": None, "message": None}, None, None),
    ("numbers", [1, 2], None, None),
]


@pytest.mark.parametrize(("body", "message", "word"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES])
def test_every_shape_gives_its_message_and_code(body: object, message: str | None, word: str | None) -> None:
    """The message comes from the body whatever its shape; a body without one gets a sentence that names the status."""
    failure = classify_answer(418, {}, json.dumps(body).encode())
    assert (failure.message, failure.provider_code) == (
        message or "the provider answered HTTP 418 without a message",
        word,
    )


def test_a_code_without_a_message_is_named() -> None:
    """Where only a code is there, the sentence says it."""
    failure = classify_answer(400, {}, b'{"error":{"code":"c"}}')
    assert failure.message == "the provider answered HTTP 400 without a message; its code is c"


@pytest.mark.parametrize(
    ("body", "content_type", "message"),
    [
        (b"", None, "the provider answered HTTP 502 without a message"),
        (b" \n\n", "text/plain", "the provider answered HTTP 502 without a message"),
        (b"upstream connect error", "text/plain", "upstream connect error"),
        (b'"quoted text"', "application/json", "quoted text"),
        (b"{'detail': 'a Python dict'}", None, "{'detail': 'a Python dict'}"),
        (
            b"<html><head><title>502 Bad\n Gateway &amp; more</title></head></html>",
            "text/html; charset=utf-8",
            "the provider answered HTTP 502 without a message, but with a page (text/html): 502 Bad Gateway & more",
        ),
        (b"<html></html>", None, "the provider answered HTTP 502 without a message, but with a page (text/html)"),
    ],
)
def test_Q100_a_body_that_is_no_json(body: bytes, content_type: str | None, message: str) -> None:
    """A proxy's page is named by status and title and never dumped; plain text is the message."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    assert classify_answer(502, headers, body) == Failure(message, codes.SERVER, "headers", 502)


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (
            302,
            {"Location": "https://b.test/v1?api_key=abcdef"},
            "the provider answered HTTP 302 without a message; it redirects to "
            "https://b.test/v1?api_key=[redacted], and redirects are not followed: set base_url to where the API is",
        ),
        (
            307,
            {},
            "the provider answered HTTP 307 without a message; it redirects to nowhere, "
            "and redirects are not followed: set base_url to where the API is",
        ),
        (404, {}, "the provider answered HTTP 404 without a message; is base_url what stands before the wire's path?"),
    ],
)
def test_K6_a_wrong_address_says_what_to_do(status: int, headers: dict[str, str], message: str) -> None:
    """A redirect and a bare 404 speak to whoever set the address; a key in a target is masked (K6, E5)."""
    assert classify_answer(status, headers, b"").message == message


def test_Q168_an_upstream_error_is_unwrapped() -> None:
    """A router's "Provider returned error" is judged by what it wraps, and the message names the upstream."""
    raw = json.dumps({"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}})
    body = {
        "error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "X"}}
    }
    failure = classify_answer(400, {}, json.dumps(body).encode())
    assert failure == Failure(
        "Provider returned error (X): maximum context length is 8192 tokens",
        codes.CONTEXT_WINDOW_EXCEEDED,
        "headers",
        400,
        "context_length_exceeded",
    )


def test_an_upstream_without_words_is_named() -> None:
    """Where a router knows only whose error it is, the message says so."""
    body = b'{"error":{"message":"Provider returned error","code":502,"metadata":{"provider_name":"X","raw":null}}}'
    assert classify_answer(502, {}, body).message == "Provider returned error (upstream: X)"


def test_moderation_reasons_are_a_filter() -> None:
    """A 403 with moderation reasons is CONTENT_FILTER, not AUTH (errors-and-limits)."""
    body = b'{"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"],"flagged_input":"x"}}}'
    assert classify_answer(403, {}, body).code == codes.CONTENT_FILTER


def test_Q180_a_prompt_filter_is_a_filter_and_its_inner_code_is_read() -> None:
    """Azure's prompt filter is CONTENT_FILTER, by the outer code and by the inner one."""
    outer = b'{"error":{"message":"m","type":null,"code":"content_filter","innererror":{"code":"X"}}}'
    inner = b'{"error":{"message":"m","code":null,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}'
    found = [classify_answer(400, {}, body) for body in (outer, inner)]
    assert [(failure.code, failure.provider_code) for failure in found] == [
        (codes.CONTENT_FILTER, "content_filter"),
        (codes.CONTENT_FILTER, "ResponsibleAIPolicyViolation"),
    ]


DETAILS = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}, {}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48.939935699s"},
            "not an object",
        ],
    }
}


def test_google_details_give_delay_and_quota() -> None:
    """A RetryInfo is the wire's own delay; a per-day quota stays QUOTA beside it (E3)."""
    failure = classify_answer(429, {}, json.dumps(DETAILS).encode())
    assert failure == Failure(
        "You exceeded your current quota.", codes.QUOTA, "headers", 429, "RESOURCE_EXHAUSTED", 48_940
    )


@pytest.mark.parametrize(
    ("headers", "error", "delay"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, {"retry_after": 7}, 250),
        ({"Retry-After": "1.5"}, {"retry_after": 7}, 1_500),
        ({"Retry-After": "30,120"}, {}, 30_000),
        ({"Retry-After": "0"}, {"retry_after": 7}, 7_000),
        ({}, {"retry_after": "2"}, 2_000),
        ({}, {"retry_after": -1}, None),
        ({}, {"retry_after": True}, None),
        ({}, {"retry_after": "soon"}, None),
        ({}, {"retryDelay": "xs"}, None),
        ({}, {"retry_after": 10**400}, None),
        ({}, {"metadata": {"retry_after_seconds": 3}}, 3_000),
        ({}, {"metadata": {"retry_after_seconds": 3}, "retry_after": 1}, 1_000),
        ({}, {"metadata": {"headers": {"X-RateLimit-Reset": "1000005000"}}}, 5_000),
        ({}, {"metadata": {"headers": {"X-RateLimit-Reset": "999990000"}}}, None),
        ({}, {"message": "Please try again in 6m0s."}, None),
    ],
)
def test_Q041_retry_hints(headers: dict[str, str], error: dict[str, object], delay: int | None) -> None:
    """The header's delay wins, else the wire's own field; positive only, never an exception (E3)."""
    body = json.dumps({"error": error}).encode()
    assert classify_answer(429, headers, body, now=1_000_000.0).provider_retry_after_ms == delay


def test_Q040_a_date_is_measured_from_now() -> None:
    """`Retry-After` as an HTTP date is the time until then; without `now` the clock is asked (E3)."""
    headers = {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}
    found = [
        classify_answer(429, headers, b"", now=now).provider_retry_after_ms for now in (1792567670.0, 1792567690.0)
    ]
    past = classify_answer(429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"")
    assert (found, past.provider_retry_after_ms) == ([10_000, None], None)


def test_request_ids_and_should_retry() -> None:
    """The id comes from the headers, else from the body's `request_id`; `x-should-retry` is kept (E3)."""
    headers = {"X-Request-Id": "h", "x-should-retry": "false"}
    body = b'{"message":"m","request_id":"b"}'
    found = [classify_answer(500, one, body) for one in (headers, {})]
    assert found == [
        Failure("m", codes.SERVER, "headers", 500, request_id="h", should_retry=False),
        Failure("m", codes.SERVER, "headers", 500, request_id="b"),
    ]


def test_a_status_that_is_no_failure_is_still_judged() -> None:
    """A body of an error under 200 is judged by its own words, else SERVER."""
    bodies = (b'{"error":{"code":"model_not_found"}}', b'{"error":{"code":400}}', b'{"type":"timeout_error"}', b"")
    found = [classify_answer(200, {}, body).code for body in bodies]
    assert found == [codes.MODEL_NOT_FOUND, codes.INVALID_REQUEST, codes.TIMEOUT, codes.SERVER]


def test_a_status_that_http_does_not_have() -> None:
    """A proxy's 999 is a server's failure whose facts can be raised (E3)."""
    failures = [classify_answer(status, {}, b"") for status in (999, 0)]
    assert [(LlmError.of(failure).code, failure.status) for failure in failures] == [(codes.SERVER, None)] * 2


def test_E5_messages_are_scrubbed_and_bounded() -> None:
    """No message and no code carries a key that passed through, and none is longer than a screen (E5)."""
    key = clean_key("limen-test-key-71", "a test")
    body = json.dumps({"error": {"message": f"bad key {key} " + "x" * 5_000, "code": key}}).encode()
    failure = classify_answer(401, {}, body)
    assert key not in failure.message
    assert failure.message.startswith("bad key [redacted] ")
    assert (len(failure.message), failure.provider_code) == (1_000, "[redacted]")
    assert key not in classify_answer(502, {"content-type": key}, b"<html></html>").message


IN_STREAM = [
    # payload, message, code, the provider's own code
    (b'{"error":{"message":"m","type":"server_error","code":null}}', "m", codes.SERVER, "server_error"),
    (b'{"id":"x","choices":[],"error":{"code":429,"message":"m"}}', "m", codes.RATE_LIMIT, "429"),
    (b'{"error":{"message":"m","status_code":400,"code":"x"}}', "m", codes.INVALID_REQUEST, "x"),
    (b'{"error":{"type":"overloaded_error","message":"m"}}', "m", codes.OVERLOADED, "overloaded_error"),
    (b'{"error":{"code":"provider_unavailable","message":"m"}}', "m", codes.SERVER, "provider_unavailable"),
    (b'{"error":{"code":503,"message":"overloaded"}}', "overloaded", codes.OVERLOADED, "503"),
    (b'{"error":{"code":404,"message":"m"}}', "m", "HTTP_404", "404"),
    (b'{"type":"message_delta","error":{"message":"m","type":"api_error"}}', "m", codes.SERVER, "api_error"),
    (b'{"type":"rate_limit_error","error":"m"}', "m", codes.RATE_LIMIT, "rate_limit_error"),
    (b'{"error":{"code":"429","message":"m"}}', "m", codes.RATE_LIMIT, "429"),
    (b'{"error":{"code":"1302","message":"m"}}', "m", codes.SERVER, "1302"),
    (b'{"error":{"code":"999","message":"m"}}', "m", codes.SERVER, "999"),
    (b"something broke", "something broke", codes.SERVER, None),
    (b'{"error":"Rate limit exceeded, retry shortly"}', "Rate limit exceeded, retry shortly", codes.RATE_LIMIT, None),
    (b"", "the stream carried an error without a message", codes.SERVER, None),
]


@pytest.mark.parametrize(("payload", "message", "code", "word"), IN_STREAM)
def test_an_error_inside_a_stream(payload: bytes, message: str, code: str, word: str | None) -> None:
    """A number or a type word in it is judged as a status; nothing better is SERVER; its HTTP status was 200 (E1)."""
    assert classify_event(payload) == Failure(message, code, "mid-stream", provider_code=word)


@pytest.mark.parametrize(
    ("status", "kind", "word", "code"),
    [
        (429, "rate_limit_error", "enforced_spend_limit_reached", codes.QUOTA),
        (403, "permission_error", "contract_spend_limit_reached", codes.QUOTA),
        (429, "rate_limit_error", "ramp_limit_exceeded", codes.RATE_LIMIT),
    ],
)
def test_a_code_in_the_details_of_an_error_is_read(status: int, kind: str, word: str, code: str) -> None:
    """Anthropic's `details.error_code` says more than the type beside it: a spend that is exhausted is QUOTA (E3)."""
    body = json.dumps({"error": {"type": kind, "message": "m", "details": {"error_code": word}}}).encode()
    failure = classify_answer(status, {}, body)
    assert (failure.code, failure.provider_code) == (code, word)


def test_Q025_private_fields_of_an_error_are_read() -> None:
    """An error in `error_type` and `error_message` is judged like any other."""
    payload = b'{"id":"x","choices":null,"error_type":"BadRequestError","error_message":"context length exceeded"}'
    expected = Failure("context length exceeded", codes.CONTEXT_WINDOW_EXCEEDED, "mid-stream", None, "BadRequestError")
    assert classify_event(payload) == expected


def test_hints_and_ids_of_an_error_inside_a_stream() -> None:
    """A delay and a request id in the payload are kept (E3)."""
    payload = b'{"error":{"message":"m","retry_after":2},"request_id":"r"}'
    assert classify_event(payload) == Failure(
        "m", codes.SERVER, "mid-stream", provider_retry_after_ms=2_000, request_id="r"
    )


def test_the_phase_of_an_error_inside_a_stream_is_the_callers() -> None:
    """Whoever reads the stream knows how far it had come (E6)."""
    assert classify_event(b"{}", phase="first-event").phase == "first-event"


def test_S5_a_lone_half_in_an_error_is_replaced() -> None:
    """An escaped half of a surrogate pair would make a failure that no log can take: it is U+FFFD (S5)."""
    failure = classify_event(rb'{"error":{"message":"m\ud83d","code":"c\ud83d"}}')
    assert (failure.message, failure.provider_code) == ("m\ufffd", "c\ufffd")
    in_a_name = classify_event(rb'{"error":{"message":"m","x\ud83d":1,"n":1e999,"b":123456789012345678901234567890}}')
    assert (in_a_name.message, in_a_name.code) == ("m", codes.SERVER)


def test_depth_and_breadth_are_bounded() -> None:
    """Errors in errors are followed a little way, lists to their first items, and a bomb is plain text (S2)."""
    deep: object = {"message": "too deep"}
    for _ in range(12):
        deep = {"error": deep}
    many = {"detail": [{"msg": f"m{index}"} for index in range(20)]}
    bomb = b"[" * 200 + b"]" * 200
    found = [read_error(json.dumps(value).encode()).message for value in (deep, many)]
    assert found == ["", "m0: m1: m2: m3: m4: m5: m6: m7"]
    assert read_error(bomb).kind == "text"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["error", "errors", "message", "code", "type", "status", "detail", "details", "metadata", "raw", "loc",
                 "msg", "headers", "reasons", "base_resp", "retry_after", "retryDelay", "violations", "quotaId"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON, st.integers(300, 599))
def test_any_json_has_a_failure(value: object, status: int) -> None:
    """Whatever a body holds, classification gives a failure with a message and never raises."""
    body = json.dumps(value).encode()
    failures = (classify_answer(status, {}, body, now=0.0), classify_event(body, now=0.0))
    assert all(failure.message and failure.code for failure in failures)


@given(st.binary(max_size=200))
def test_any_bytes_have_a_failure(body: bytes) -> None:
    """Whatever a body is, classification gives a failure with a message and never raises."""
    assert classify_answer(500, {}, body, now=0.0).message
