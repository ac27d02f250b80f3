"""What codes and sentences mean on every wire; a dialect's own rows come before these.

A code is the provider's `code`, `type` or status word, compared without case. A sentence is a pattern that quotes a
message somebody received; the message stands beside it, with where it was seen: [R] recorded traffic, [D] the
provider's documentation, [Q…] a public report.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from limen.contract import codes

Sentences: TypeAlias = tuple[str, ...]
"""Patterns, case-blind; compiled when the first error comes."""


# 401 and 403 are AUTH by status; these say so under another status (Gemini: 400 with reason API_KEY_INVALID [R]).
AUTH_CODES: Final = frozenset(
    {
        "invalid_api_key",  # OpenAI, Groq, DashScope [R]
        "invalidapikey",  # DashScope [D 2026]
        "incorrect_api_key_error",  # Moonshot [D]
        "authentication_error",  # DeepSeek, Anthropic [R]
        "invalid_authentication_error",  # Moonshot [D]
        "api_key_invalid",  # Gemini, error.details[].reason [R]
        "unauthenticated",  # google.rpc
        "authenticationerror",  # vLLM, LiteLLM
    }
)

QUOTA_CODES: Final = frozenset(
    {
        "insufficient_quota",  # OpenAI [R]
        "credit_balance_exhausted",  # this and the next four: OpenAI [D 2026]
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "billing_hard_limit_reached",
        "exceeded_current_quota_error",  # Moonshot [D]
        "billing_error",  # Anthropic [D]
        "payment_required",
        "insufficient_balance",
        "insufficient_credits",
        "arrearage",  # DashScope [D 2026]
        "gousagelimiterror",  # OpenCode Zen
        "freeusagelimiterror",
        "enforced_spend_limit_reached",  # Anthropic, error.details.error_code [D]
        "contract_spend_limit_reached",
    }
)

# Balance, credit, spend or a per-day quota: exhausted also where a hint stands beside it.
HARD_QUOTA: Final[Sentences] = (
    # DeepSeek 402: Insufficient Balance [D]
    r"insufficient[\s_-]+(?:account[\s_-]+)?(?:balance|credits?|funds|quota)",
    # Anthropic 400: Your credit balance is too low to access the Anthropic API. [D]
    r"balance (?:is |was |has been )?(?:too low|depleted|exhausted|insufficient|not enough)",
    # OpenRouter 402: This request requires more credits, or fewer max_tokens. [D]; xAI 403: … has either used all
    # available credits or reached its monthly spending limit. [C]
    r"(?:out of|requires? more|not enough|used all available) credits",
    r"(?:doesn't|does not) have any credits",  # xAI 403: Your newly created team doesn't have any credits … [C]
    r"out of budget",
    r"your available balance",
    r"exceeded your monthly included credits",  # Hugging Face 402 [D]
    # Anthropic 400: You have reached your specified API usage limits. [D]
    r"(?:reached|exceeded|over) (?:your |the |its )?(?:\w+ ){0,2}(?:spend(?:ing)?|billing|usage) (?:hard )?limit",
    # Z.ai 1308: Usage limit reached for 5 hour. [D]
    r"(?:spend(?:ing)?|billing|usage) (?:hard )?limits? (?:has been |is )?(?:exceeded|reached)",
    # OpenRouter 429: Rate limit exceeded: free-models-per-day [D]
    r"per[- ]day\b",
    r"\bdaily (?:\w+ )?(?:limit|quota|allocation)",  # Cloudflare 3036: you have used up your daily free allocation [D]
    # OpenAI, Groq 429: Rate limit reached for … on tokens per day (TPD): Limit 500000, Used … [D]
    r"\b(?:TPD|RPD)\b",
    r"PerDay",  # Gemini quotaId GenerateRequestsPerDayPerProjectPerModel-FreeTier [R]
    # DashScope 400: Access denied, please make sure your account is in good standing.
    r"account is in good standing",
    r"account is not active",  # OpenAI 429: Your account is not active, please check your billing details. [D]
    r"余额不足",  # Z.ai 1113
    r"欠费",  # DashScope Arrearage
)

# A quota without such a word: throttling where a delay or "per minute" comes with it.
SOFT_QUOTA: Final[Sentences] = (
    # OpenAI: You exceeded your current quota, please check your plan and billing details. [R]
    r"exceed(?:ed|s)? (?:your |the )?(?:current )?quota",
    # Vertex 429: Quota exceeded for quota metric '… requests per minute' [R]
    r"quota[\s_-](?:has been )?(?:exceeded|exhausted|reached)",
    r"resource has been exhausted",  # google.rpc: Resource has been exhausted (e.g. check quota). [R]
)
PER_MINUTE: Final[Sentences] = (
    # Vertex 429: … quota metric 'Generate Content API requests per minute' … [R]
    r"per[- ]?min(?:ute)?\b",
    r"\b(?:RPM|TPM)\b",  # OpenAI 429: … on tokens per min (TPM): Limit 1, Requested 30. [R]
    r"PerMinute",  # Gemini quotaId GenerateRequestsPerMinutePerProjectPerModel
)

CONTEXT_CODES: Final = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Groq [R]
        "exceed_context_size_error",  # llama.cpp [R]
        "contextwindowexceedederror",  # LiteLLM
        "model_max_prompt_tokens_exceeded",  # Copilot [R]
        "model_context_window_exceeded",  # Z.ai, Anthropic: a finish word
        "context_window_exceeded",
        "too_many_tokens",  # Cohere: error_type TOO_MANY_TOKENS [R]
    }
)

CONTEXT: Final[Sentences] = (
    r"context[_ ]length[_ ]exceeded",  # Q025
    r"maximum context length is [\d,]+",  # DeepSeek, vLLM: This model's maximum context length is 1048565 tokens. [R]
    r"model maximum context length: [\d,]+",  # The prompt is too long: N, model maximum context length: M [Q098]
    # OpenAI: Your input exceeds the context window of this model. [R]; SGLang: Requested token count exceeds the
    # model's maximum context length of N tokens.
    r"exceeds? (?:the |this )?(?:model'?s? |model )?(?:maximum )?context (?:length|window|size)",
    r"context window (?:exceeds limit|exceeded)",  # MiniMax 2013: invalid params, context window exceeds limit [C]
    r"exceeds? the available context size",  # llama.cpp: request (2009 tokens) exceeds the available context size [R]
    r"context size has been exceeded",  # llama.cpp 500, LM Studio [R] [Q135]
    # xAI: This model's maximum prompt length is X but the request contains Y tokens.
    r"maximum prompt length is [\d,]+",
    # SGLang: The input (N tokens) is longer than the model's context length
    r"longer than the model'?s? context length",
    r"exceeds? (?:the )?maximum allowed input length",  # Poolside [Q098]
    # TGI: `inputs` tokens + `max_new_tokens` must be <= 4096
    r"tokens?`? \+ .{0,40}max_(?:new_)?tokens`? must (?:not exceed|be (?:<=|less))",
    r"too large for model with [\d,]+ maximum context length",  # Mistral 3051
    r"exceeded model token limit",  # Kimi: Your request exceeded model token limit: 262144 (requested: 269030) [R]
    r"range of input length should be",  # DashScope: Range of input length should be [1, 129024]
    r"prompt (?:is )?too long",  # Anthropic: prompt is too long: 3333404 tokens > 200000 maximum [R]
    # Bedrock gateways: Input is too long for requested model.
    r"(?:too long|too large) for (?:this model|model context|the model'?s? context|requested model)",
    r"prompt exceeds max(?:imum)? length",  # Z.ai 1261
    r"prompt token count of [\d,]+ exceeds the limit of [\d,]+",  # Copilot [R]
    r"greater than the context length",  # LM Studio: …tokens to keep from the initial prompt is greater than the …
    r"keep the first [\d,]+ tokens when context the overflows",  # LM Studio 2025
    r"exceeded (?:max )?context length",  # Ollama: prompt too long; exceeded max context length by N tokens
    r"tokens?, but the configured context size",  # DS4: prompt has N tokens, but the configured context size is M [C]
    r"input token count.{0,40}exceeds the maximum",  # Gemini: The input token count (1200000) exceeds the maximum …
    r"too many tokens: size limit exceeded",  # Cohere [R]
    r"reduce the length of the (?:messages|prompt|input)",  # OpenAI, Groq
    # Exceptions' names in a text: ContextWindowOverflowed; LiteLLM's proxy says ContextWindowExceededError: … [R]
    r"context[_ ]?(?:length|window|size)[_ ]?(?:overflowed|exceedederror)",
    # Anthropic 400, models before Sonnet 4.5: input length and `max_tokens` exceed context limit: 199000 + 8000 > … [D]
    r"exceed context limit",
)

# Of a 400 only: alone they may as well speak of a rate.
WEAK_CONTEXT: Final[Sentences] = (
    r"too many tokens",
    r"token limit exceeded",
)

# Where the text speaks of these, tokens are counted per time and not per request.
THROTTLING: Final[Sentences] = (
    r"rate[- _]?limit",
    r"too many requests",
    r"throttl",
    r"tokens? per (?:min|hour|day|second)",
    r"\b[TR]P[MD]\b",
)

FILTER_CODES: Final = frozenset(
    {
        "content_filter",  # Azure, Moonshot [R]
        "content_policy_violation",  # this and the next five: OpenAI [D]
        "moderation_blocked",
        "bio_policy",
        "misalignment_policy_violation",
        "image_content_policy_violation",
        "cyber_policy_violation",
        "responsibleaipolicyviolation",  # Azure, innererror.code [R]
        "data_inspection_failed",  # DashScope [D]
        "datainspectionfailed",
        "metadata.reasons",  # OpenRouter 403: moderation names its reasons [D]
    }
)

FILTERED: Final[Sentences] = (
    r"content violates usage guidelines",  # xAI through OpenRouter, 403 [R]
    r"content exists risk",  # DeepSeek 400 [C]
    r"response was filtered due to the prompt triggering",  # Azure 400 [R]
    r"considered high risk",  # Kimi: The request was rejected because it was considered high risk [D]
    r"violat(?:es|ing|ed) (?:our|the) (?:usage|content) polic(?:y|ies)",  # OpenAI, code invalid_prompt [D]
    r"'code': ?'content_filter'",  # a Python dict as text inside an SSE frame [Q180]
)

MODEL_CODES: Final = frozenset(
    {
        "model_not_found",  # OpenAI, Groq, Doubleword [R]
        "deploymentnotfound",  # Azure [R]
        "model_not_supported",  # Copilot [D]
        "model_decommissioned",  # Groq [D]
        "invalid_model",  # Mistral 1500 [D]
        "model_not_exist",
        "unknown_model",
    }
)

UNKNOWN_MODEL: Final[Sentences] = (
    # OpenAI: The model `x` does not exist or you do not have access to it. / The requested model 'x' … [R]
    r"the (?:requested )?model [`'\"]?[^\s`'\"]+[`'\"]? (?:does not exist|was not found|has been deprecated)",
    # Ollama: model 'x:latest' not found; Cohere: model 'x' not found, … [R]
    r"model [`'\"][^`'\"]+[`'\"] (?:is )?not found",
    r"^model not found\b",  # xAI 400: Model not found: grok-x [R]
    r"not found the model \S",  # Moonshot 404: Not found the model kimi-x or Permission denied [C]
    r"is not a valid model(?: id)?\b",  # OpenRouter 400: openai/gpt-x is not a valid model ID [R]
    r"models/\S+ is not found for api version",  # Gemini 404 [R]
    r"provided model identifier is invalid",  # Bedrock 400 [R]
    r"function '[^']*': not found for account",  # NVIDIA 404 [R 2026-08]
    r"no endpoints found for ",  # OpenRouter 404: No endpoints found for x/y. [D]
)

OVERLOAD_CODES: Final = frozenset(
    {
        "overloaded_error",  # Anthropic [D]
        "server_is_overloaded",  # OpenAI 503 [D 2026]
        "engine_overloaded_error",  # Moonshot [D]
        "engine_overloaded",
        "overloaded",
        "unavailable_error",  # llama.cpp 503 [D]
        "nocapacity",  # Azure 429 [D]
        "capacity_exceeded",  # Groq 498 [D]
        "queue_exceeded",  # Cerebras 429 [D]
        "resource_unavailable",  # OpenAI 429, flex tier [D]
        "modelunavailable",  # DashScope 503 [D]
    }
)

OVERLOADED: Final[Sentences] = (
    r"overload",  # DeepSeek 503: The server is overloaded due to high traffic [D]
    r"server (?:is )?(?:too )?busy",  # Ollama 503: server busy, please try again
    r"(?:at|over|out of|insufficient) capacity",  # Cloudflare 3040: out of capacity [D]
    r"request limit reached \(",  # NVIDIA: ResourceExhausted: Worker local total request limit reached (33/32) [R 2026]
    r"loading model",  # llama.cpp 503: Loading model
    r"high demand",  # OpenRouter: High demand for … on OpenRouter [R]
)

# What a type word says where no number does: errors inside a stream have a type and no HTTP status.
TYPE_STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "invalid_request_error": 400,  # OpenAI, Anthropic and most others [R]
        "badrequesterror": 400,  # vLLM, SGLang [R 2026-03]
        "invalid_argument": 400,  # google.rpc
        "validation_error": 400,
        "request_too_large": 413,  # Anthropic [D]
        "permission_error": 403,  # Anthropic [D]
        "permission_denied": 403,
        "permission_denied_error": 403,
        "not_found_error": 404,  # Anthropic, llama.cpp [R]
        "notfounderror": 404,
        "conflict_error": 409,  # Anthropic [D]
        "rate_limit_error": 429,  # Anthropic, OpenAI [D]
        "rate_limit_exceeded": 429,  # OpenAI, Groq [R]
        "rate_limit_reached_error": 429,  # Moonshot [D]
        "ratelimiterror": 429,
        "too_many_requests": 429,
        "resource_exhausted": 429,  # google.rpc
        "slow_down": 429,  # OpenAI [D 2026]
        "timeout_error": 504,  # Anthropic [D]
        "deadline_exceeded": 504,
        "service_unavailable_error": 503,
        "unavailable": 503,
    }
)

# `SERVER`, `INVALID_REQUEST` … by status, where nothing above said better.
STATUS_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        400: codes.INVALID_REQUEST,
        401: codes.AUTH,
        402: codes.QUOTA,
        403: codes.AUTH,
        408: codes.TIMEOUT,
        409: codes.INVALID_REQUEST,
        413: codes.INVALID_REQUEST,
        422: codes.INVALID_REQUEST,
        424: codes.INVALID_REQUEST,
        429: codes.RATE_LIMIT,
        504: codes.TIMEOUT,
        524: codes.TIMEOUT,
        529: codes.OVERLOADED,
    }
)
