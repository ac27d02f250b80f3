"""Each code and each sentence of the shared tables, by a message that somebody received (E3)."""

import re

import msgspec
import pytest

from limen.adapters.kit.errors import _sentences as sentences_of
from limen.adapters.kit.errors import _tables as tables
from limen.adapters.kit.errors import classify_answer, classify_event
from limen.contract import codes

# table, status, message as received
QUOTED = [
    ("HARD_QUOTA", 402, "Insufficient Balance"),
    ("HARD_QUOTA", 400, "Your credit balance is too low to access the Anthropic API."),
    ("HARD_QUOTA", 402, "This request requires more credits, or fewer max_tokens."),
    ("HARD_QUOTA", 402, "You have exceeded your monthly included credits for Inference Providers."),
    ("HARD_QUOTA", 403, "Your team has either used all available credits or reached its monthly spending limit."),
    ("HARD_QUOTA", 400, "You have reached your specified API usage limits. You will regain access on 2026-12-01."),
    ("HARD_QUOTA", 429, "Usage limit reached for 5 hour. Your limit will reset at 17:00."),
    ("HARD_QUOTA", 429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 requests."),
    ("HARD_QUOTA", 429, "you have used up your daily free allocation of 10,000 neurons"),
    ("HARD_QUOTA", 429, "Rate limit reached for llama on tokens per day (TPD): Limit 500000, Used 499000."),
    ("HARD_QUOTA", 429, "GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
    ("HARD_QUOTA", 400, "Access denied, please make sure your account is in good standing."),
    ("HARD_QUOTA", 429, "Your account is not active, please check your billing details on our website."),
    ("HARD_QUOTA", 429, "余额不足或无可用资源包,请充值。"),
    ("HARD_QUOTA", 400, "您的账户已欠费"),
    ("HARD_QUOTA", 403, "Your newly created team doesn't have any credits or licenses yet."),
    ("HARD_QUOTA", 429, "Budget has been exceeded: this key is out of budget"),
    ("HARD_QUOTA", 429, "This request would exceed your available balance"),
    ("HARD_QUOTA", 402, "Credit limit exceeded. Please navigate to https://api.together.xyz/settings/billing to add"),
    ("HARD_QUOTA", 400, "Budget has been exceeded! Current cost: 10.6, Max budget: 10.0"),
    ("HARD_QUOTA", 402, "You have depleted your monthly included credits. Purchase pre-paid credits to continue using"),
    (
        "HARD_QUOTA",
        412,
        "Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay",
    ),
    ("HARD_QUOTA", 429, "you (someone) have reached your weekly usage limit, upgrade for higher limits"),
    ("HARD_QUOTA", 400, "You have reached your specified workspace API usage limits."),
    ("HARD_QUOTA", 429, "You've hit your monthly spend limit"),
    ("HARD_QUOTA", 403, "Key limit exceeded (monthly limit). Manage it using https://openrouter.ai/settings/keys"),
    ("HARD_QUOTA", 403, "user quota is not enough (request id: 2025x)"),
    ("HARD_QUOTA", 403, "token quota is not enough, token remain quota: $0.019310, need quota: $0.769410"),
    ("HARD_QUOTA", 403, "The request failed because your account has an overdue balance. Request ID: x"),
    ("HARD_QUOTA", 429, "Your account [1] has reached the set inference limit for the [doubao-x] model, and the model"),
    ("HARD_QUOTA", 429, "Extra usage is required for long context requests."),
    ("HARD_QUOTA", 429, "Usage credits required for 1M context"),
    ("HARD_QUOTA", 500, "insufficient balance (1008)"),
    ("SOFT_QUOTA", 429, "You exceeded your current quota, please check your plan and billing details."),
    ("SOFT_QUOTA", 429, "Quota exceeded for this project."),
    ("SOFT_QUOTA", 429, "Resource has been exhausted (e.g. check quota)."),
    ("PER_MINUTE", 429, "Quota exceeded for quota metric 'Generate Content API requests per minute'."),
    ("PER_MINUTE", 429, "Quota exceeded: tokens per min (TPM): Limit 1, Requested 30."),
    ("PER_MINUTE", 429, "Quota exceeded for GenerateRequestsPerMinutePerProjectPerModel"),
    ("CONTEXT", 400, "context length exceeded"),
    ("CONTEXT", 400, "context_length_exceeded"),
    ("CONTEXT", 400, "This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens."),
    ("CONTEXT", 400, "The prompt is too long: 9000, model maximum context length: 8192"),
    ("CONTEXT", 400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    ("CONTEXT", 400, "Requested token count exceeds the model's maximum context length of 32768 tokens."),
    ("CONTEXT", 400, "invalid params, context window exceeds limit (2013)"),
    ("CONTEXT", 400, "request (2009 tokens) exceeds the available context size (512 tokens), try increasing it"),
    ("CONTEXT", 500, "Context size has been exceeded."),
    ("CONTEXT", 400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    ("CONTEXT", 400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
    ("CONTEXT", 400, "Input length 9000 exceeds the maximum allowed input length of 8192 tokens."),
    ("CONTEXT", 422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"),
    ("CONTEXT", 400, "Prompt contains 9000 tokens, too large for model with 8192 maximum context length"),
    ("CONTEXT", 400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)"),
    ("CONTEXT", 400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"),
    ("CONTEXT", 400, "prompt is too long: 3333404 tokens > 200000 maximum"),
    ("CONTEXT", 400, "Input is too long for requested model."),
    ("CONTEXT", 400, "Prompt exceeds max length"),
    ("CONTEXT", 400, "prompt token count of 140000 exceeds the limit of 128000"),
    ("CONTEXT", 400, "The number of tokens to keep from the initial prompt is greater than the context length."),
    ("CONTEXT", 400, "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded"),
    ("CONTEXT", 400, "prompt too long; exceeded max context length by 12 tokens"),
    ("CONTEXT", 400, "prompt has 9,000 tokens, but the configured context size is 8,192"),
    ("CONTEXT", 400, "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576)."),
    ("CONTEXT", 400, "too many tokens: size limit exceeded by 25836 tokens. Try using shorter or fewer inputs."),
    ("CONTEXT", 400, "Please reduce the length of the messages or completion."),
    ("CONTEXT", 400, "ContextWindowOverflowed: the request does not fit"),
    ("CONTEXT", 400, "litellm.ContextWindowExceededError: litellm.BadRequestError: the request does not fit"),
    ("CONTEXT", 400, "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000"),
    (
        "CONTEXT",
        413,
        "AiError: Ai: The estimated number of tokens (263008) exceeded this model context window limit (1).",
    ),
    ("CONTEXT", 400, "Input length (33001 tokens) exceeds the maximum allowed length (32768 tokens). Use a shorter"),
    ("CONTEXT", 500, "The decoder prompt (length 66501) is longer than the maximum model length of 65536."),
    ("CONTEXT", 400, "Input length 561 exceeds maximum allowed token size 512"),
    ("CONTEXT", 422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1244"),
    ("CONTEXT", 403, "Input token count + max_tokens parameter must be less than the context length of the model"),
    ("CONTEXT", 400, "total message size 9175040 exceeds limit 2097152"),
    ("CONTEXT", 400, "Input tokens exceed the configured limit of 922000 tokens. Your messages resulted in 1860900"),
    ("CONTEXT", 400, "Total tokens of image and text exceed max message tokens. Request id: 0217"),
    ("CONTEXT", 400, "Current length is 42328 while limit is 40000"),
    ("CONTEXT", 400, "the input length exceeds the context length"),
    ("WEAK_CONTEXT", 400, "too many tokens in the request"),
    ("WEAK_CONTEXT", 400, "token limit exceeded"),
    ("THROTTLING", 429, "Rate limit reached: maximum context length is 8192 tokens"),
    ("THROTTLING", 429, "Too many requests: prompt too long to serve now"),
    ("THROTTLING", 429, "Request was throttled, context length exceeded"),
    ("THROTTLING", 429, "You asked for 9000 tokens per minute, prompt too long"),
    ("THROTTLING", 429, "Limit on TPM: prompt too long"),
    ("FILTERED", 403, "Content violates usage guidelines. Team: t, API key ID: k"),
    ("FILTERED", 400, "Content Exists Risk"),
    ("FILTERED", 400, "The response was filtered due to the prompt triggering Azure Content management policy."),
    ("FILTERED", 400, "The request was rejected because it was considered high risk"),
    ("FILTERED", 400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
    ("FILTERED", 400, "Error code: 400 - {'error': {'message': 'no', 'code': 'content_filter'}}"),
    ("FILTERED", 400, "Your request was rejected as a result of our safety system."),
    ("FILTERED", 400, "Output blocked by content filtering policy"),
    ("FILTERED", 400, "System detected potentially unsafe or sensitive content in input or generation."),
    ("FILTERED", 500, "input new_sensitive (1026)"),
    ("FILTERED", 400, "Output data may contain inappropriate content."),
    ("FILTERED", 400, "The request failed because the input text may contain sensitive information. Request id: x"),
    ("FILTERED", 400, "the input text includes sensitive content that violates ContentSecurityDetection."),
    ("FILTERED", 403, 'x/y requires moderation on z. Your input was flagged for "violence/graphic".'),
    ("UNKNOWN_MODEL", 404, "The model `x-1` does not exist or you do not have access to it."),
    ("UNKNOWN_MODEL", 400, "The requested model 'x-1' does not exist."),
    ("UNKNOWN_MODEL", 404, "The model `gpt-3.5-turbo-0613` has been deprecated, learn more here"),
    ("UNKNOWN_MODEL", 404, "model 'nonexistent-model:latest' not found"),
    ("UNKNOWN_MODEL", 400, "Model not found: grok-nonexistent"),
    ("UNKNOWN_MODEL", 404, "Not found the model kimi-nonexistent or Permission denied"),
    ("UNKNOWN_MODEL", 400, "openai/gpt-nonexistent is not a valid model ID"),
    ("UNKNOWN_MODEL", 404, "models/gemini-x is not found for API version v1beta, or is not supported"),
    ("UNKNOWN_MODEL", 400, "The provided model identifier is invalid."),
    ("UNKNOWN_MODEL", 404, "Function 'f-1': Not found for account 'a-1'"),
    ("UNKNOWN_MODEL", 404, "No endpoints found for x/y."),
    ("UNKNOWN_MODEL", 404, "The API deployment for this resource does not exist. If you created the deployment within"),
    ("UNKNOWN_MODEL", 404, "This model version has reached the end of its life. Please refer to the AWS documentation"),
    ("UNKNOWN_MODEL", 404, "The model `x-1` has been decommissioned and is no longer supported."),
    ("UNKNOWN_MODEL", 404, "litellm.NotFoundError: NotFoundError: OpenAIException - model: x-1 does not exist"),
    ("UNKNOWN_MODEL", 400, "Model does not exist. Please check it carefully."),
    ("UNKNOWN_MODEL", 404, "The model or endpoint doubao-x does not exist or you do not have access to it."),
    ("UNKNOWN_MODEL", 404, "Your account 1 has not activated the model doubao-x. Please activate the model service"),
    ("UNKNOWN_MODEL", 404, "Specified model not found: auto"),
    ("UNKNOWN_MODEL", 404, "Model not found, inaccessible, and/or not deployed"),
    ("UNKNOWN_MODEL", 400, "model not found"),
    ("UNKNOWN_MODEL", 400, "litellm.BadRequestError: XaiException - Model not found: grok-nonexistent"),
    ("UNKNOWN_MODEL", 400, "Model Not Exist"),
    ("UNKNOWN_MODEL", 400, "The supported API model names are deepseek-v4-pro or deepseek-v4-flash, but you passed x."),
    (
        "UNKNOWN_MODEL",
        404,
        "Publisher Model `projects/p1/locations/us/publishers/google/models/gemini-z` was not found or",
    ),
    ("UNKNOWN_MODEL", 400, "/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view"),
    ("UNKNOWN_MODEL", 400, "Invalid model 'x'. Permitted models can be found in the documentation at https://docs"),
    ("UNKNOWN_MODEL", 400, "Invalid model: x"),
    ("UNKNOWN_MODEL", 400, 'Invalid model identifier "o4-mini". Please specify a valid downloaded model (e.g., y).'),
    (
        "UNKNOWN_MODEL",
        400,
        "No models loaded. Please load a model in the developer page or use the 'lms load' command.",
    ),
    ("UNKNOWN_MODEL", 400, "Unknown Model, please check the model code."),
    ("UNKNOWN_MODEL", 400, "invalid params, unknown model 'x' (2013)"),
    (
        "UNKNOWN_MODEL",
        400,
        "Unable to access non-serverless model x/y. Please visit https://api.together.ai/models/x/y",
    ),
    ("UNKNOWN_MODEL", 400, "The requested model 'x/y' is not supported by any provider you have enabled."),
    ("UNKNOWN_MODEL", 400, "Model not supported by provider together"),
    ("UNKNOWN_MODEL", 400, "The requested model is not supported."),
    ("UNKNOWN_MODEL", 400, "Server is pinned to './models/tiny-llama'; requested 'no-such-model'."),
    ("UNKNOWN_MODEL", 400, "No such model @cf/x/y or task"),
    ("OVERLOADED", 503, "The server is overloaded due to high traffic."),
    ("OVERLOADED", 503, "server busy, please try again.  maximum pending requests exceeded"),
    ("OVERLOADED", 503, "AiError: out of capacity"),
    ("OVERLOADED", 503, "ResourceExhausted: Worker local total request limit reached (33/32)"),
    ("OVERLOADED", 503, "Loading model"),
    ("OVERLOADED", 503, "High demand for meta-llama/llama-3.2-3b-instruct:free on OpenRouter"),
    ("OVERLOADED", 503, "No capacity available for model gemini-x on the server"),
    ("WRONG_REQUEST", 500, "image input is not supported - hint: if this is unexpected, you may need to provide the"),
    ("WRONG_REQUEST", 500, "audio input is not supported - hint: if this is unexpected, you may need to provide the"),
    (
        "WRONG_REQUEST",
        500,
        "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at",
    ),
    ("WRONG_REQUEST", 500, "tools param requires --jinja flag"),
    (
        "WRONG_REQUEST",
        500,
        "Jinja Exception: After the optional system message, conversation roles must alternate user",
    ),
    ("WRONG_REQUEST", 500, "1 validation error: {'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}"),
]

CODE_OF = {
    "HARD_QUOTA": codes.QUOTA,
    "SOFT_QUOTA": codes.QUOTA,
    "PER_MINUTE": codes.RATE_LIMIT,
    "CONTEXT": codes.CONTEXT_WINDOW_EXCEEDED,
    "WEAK_CONTEXT": codes.CONTEXT_WINDOW_EXCEEDED,
    "THROTTLING": codes.RATE_LIMIT,
    "FILTERED": codes.CONTENT_FILTER,
    "UNKNOWN_MODEL": codes.MODEL_NOT_FOUND,
    "OVERLOADED": codes.OVERLOADED,
    "WRONG_REQUEST": codes.INVALID_REQUEST,
}


def _body(message: str, code: str | None = None) -> bytes:
    return msgspec.json.encode({"error": {"message": message, "type": None, "param": None, "code": code}})


@pytest.mark.parametrize(("table", "status", "message"), QUOTED, ids=[row[2][:40] for row in QUOTED])
def test_a_received_message_has_its_code(table: str, status: int, message: str) -> None:
    """A sentence decides where the provider gives no code, whatever the status says (E3)."""
    assert classify_answer(status, {}, _body(message)).code == CODE_OF[table]


@pytest.mark.parametrize("table", sorted(CODE_OF))
def test_every_sentence_quotes_a_message(table: str) -> None:
    """No pattern stands in a table without a message that it was made for."""
    messages = [message for name, _, message in QUOTED if name == table]
    sentences: sentences_of.Sentences = getattr(sentences_of, table)
    unquoted = [
        sentence
        for sentence in sentences
        if not any(re.search(sentence, message, re.IGNORECASE) for message in messages)
    ]
    assert unquoted == []


CODES = [
    *((word, 400, codes.AUTH) for word in sorted(tables.AUTH_CODES)),
    *((word, 400, codes.QUOTA) for word in sorted(tables.QUOTA_CODES)),
    *((word, 400, codes.CONTEXT_WINDOW_EXCEEDED) for word in sorted(tables.CONTEXT_CODES)),
    *((word, 413, codes.CONTEXT_WINDOW_EXCEEDED) for word in sorted(tables.CONTEXT_CODES)),
    *((word, 403, codes.CONTENT_FILTER) for word in sorted(tables.FILTER_CODES)),
    *((word, 404, codes.MODEL_NOT_FOUND) for word in sorted(tables.MODEL_CODES)),
    *((word, status, codes.OVERLOADED) for word in sorted(tables.OVERLOAD_CODES) for status in (429, 503)),
]


@pytest.mark.parametrize(("word", "status", "code"), CODES)
def test_a_providers_code_decides(word: str, status: int, code: str) -> None:
    """A code of the tables decides before the status, compared without case (E3)."""
    assert classify_answer(status, {}, _body("something", word.upper())).code == code


STATUSES = [
    (300, "HTTP_300"), (302, "HTTP_302"), (400, codes.INVALID_REQUEST), (401, codes.AUTH), (402, codes.QUOTA),
    (403, codes.AUTH), (404, "HTTP_404"), (405, "HTTP_405"), (408, codes.TIMEOUT), (409, codes.INVALID_REQUEST),
    (412, "HTTP_412"), (413, codes.INVALID_REQUEST), (415, "HTTP_415"), (418, "HTTP_418"),
    (422, codes.INVALID_REQUEST), (424, codes.INVALID_REQUEST), (429, codes.RATE_LIMIT), (498, "HTTP_498"),
    (500, codes.SERVER), (501, codes.SERVER), (502, codes.SERVER), (503, codes.SERVER), (504, codes.TIMEOUT),
    (520, codes.SERVER), (524, codes.TIMEOUT), (529, codes.OVERLOADED),
]  # fmt: skip


@pytest.mark.parametrize(("status", "code"), STATUSES)
def test_a_status_alone_has_its_code(status: int, code: str) -> None:
    """Where the body says nothing, the status is the last judge (E3)."""
    assert classify_answer(status, {}, b"").code == code


@pytest.mark.parametrize(("word", "status"), sorted(tables.TYPE_STATUS.items()))
def test_a_type_word_stands_for_a_status_inside_a_stream(word: str, status: int) -> None:
    """An error inside a stream has no status, so its type says what it is; a failed answer keeps its status (E1)."""
    in_stream = classify_event(_body("something", word)).code
    expected = {503: codes.SERVER, 404: "HTTP_404"}.get(status, classify_answer(status, {}, b"").code)
    assert (in_stream, classify_answer(418, {}, _body("something", word)).code) == (expected, "HTTP_418")


REJECTED = [
    (400, "Malformed tool arguments: the context of the call is not JSON", codes.INVALID_REQUEST),
    (400, "max_tokens: 300000 > 200000, which is the maximum allowed number of output tokens", codes.INVALID_REQUEST),
    (
        400,
        "max_tokens is too large: 500000. This model supports at most 16384 completion tokens",
        codes.INVALID_REQUEST,
    ),
    (400, "context window size must be positive", codes.INVALID_REQUEST),
    (413, "Request exceeds the maximum size of 32 MB: it has 40000000 bytes", codes.INVALID_REQUEST),
    (413, "too many tokens", codes.INVALID_REQUEST),
    (429, "too many tokens in flight", codes.RATE_LIMIT),
    (400, "rate limit: too many tokens", codes.INVALID_REQUEST),
    (429, "Rate limit reached for requests", codes.RATE_LIMIT),
    (429, "The quota resets in one minute", codes.RATE_LIMIT),
    (429, "Rate limit reached on tokens per min (TPM): Limit 1, Requested 30. Add a payment method.", codes.RATE_LIMIT),
    (429, "Tokens per minute limit exceeded - too many tokens processed.", codes.RATE_LIMIT),
    (429, "You have been rate limited. Your rate limit is 60 queries per minute.", codes.RATE_LIMIT),
    (429, "The model is overloaded with other requests", codes.RATE_LIMIT),
    (404, "The file that belongs to this model not found in the bucket", "HTTP_404"),
    (400, "image input is not supported by this model", codes.INVALID_REQUEST),
    (500, "The server had an error while parsing the tool call", codes.SERVER),
    (404, "No endpoints found that support tool use.", "HTTP_404"),
    (404, "Resource not found", "HTTP_404"),
    (503, "Service Unavailable", codes.SERVER),
]


@pytest.mark.parametrize(("status", "message", "code"), REJECTED, ids=[row[1][:30] for row in REJECTED])
def test_a_message_that_only_sounds_alike_keeps_its_status(status: int, message: str, code: str) -> None:
    """Patterns quote messages; what merely shares a word with one is judged by its status."""
    assert classify_answer(status, {}, _body(message)).code == code


def test_a_quota_beside_a_hint_is_throttling_unless_a_word_says_what_is_exhausted() -> None:
    """A soft quota with a delay is RATE_LIMIT; balance, credit, spend and per-day stay QUOTA beside one (E3)."""
    hint = {"retry-after": "40"}
    soft = "You exceeded your current quota, please check your plan and billing details."
    found = [classify_answer(429, hint, _body(text)).code for text in (soft, "Insufficient Balance", "limit per day")]
    assert found == [codes.RATE_LIMIT, codes.QUOTA, codes.QUOTA]


def test_the_order_of_judgement() -> None:
    """AUTH by code, then QUOTA, overflow, filter, unknown model, status: the first that matches wins (section 3)."""
    sentences = [
        "The model `x` does not exist",
        "Content Exists Risk",
        "context length exceeded",
        "Insufficient Balance",
    ]
    found = [classify_answer(400, {}, _body(". ".join(sentences[:count]))).code for count in range(5)]
    found.append(classify_answer(400, {}, _body(". ".join(sentences), "invalid_api_key")).code)
    assert found == [
        codes.INVALID_REQUEST,
        codes.MODEL_NOT_FOUND,
        codes.CONTENT_FILTER,
        codes.CONTEXT_WINDOW_EXCEEDED,
        codes.QUOTA,
        codes.AUTH,
    ]
