"""Codes and statuses of errors and what they mean on every wire; a dialect's own rows come before these.

A code is the provider's `code`, `type` or status word, compared without case. Where it was seen stands beside it:
[R] recorded traffic, [D] the provider's documentation, [C] production clients, [NQ…] and `owner/repository#number`
public reports. All of it was read by 2026-11. `_sentences` holds what messages say.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from limen.contract import codes

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
        "budget_exceeded",  # LiteLLM 400, 429; the type stays where an administrator replaced the sentence [NQ319]
        "insufficient_user_quota",  # one-api and new-api gateways 403 [NQ320]
        "pre_consume_token_quota_failed",  # the same, of one token's own quota [C 2026-03]
        "insufficient_balance_error",  # MiniMax 429 [modelscope/modelscope#1691]
        "blocked_api_access",  # Groq 400: the organization's spend limit [D 2026]
        "spend_limit_exceeded",  # Cline 429 [cline/cline#10207]
        "accountoverdueerror",  # this and the next: Ark 403, 429 [D 2026]
        "setlimitexceeded",
    }
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
        "tokens_too_long",  # Qianfan 400: Prompt tokens too long [D 2026-11-11]
    }
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
        "sensitivecontentdetected",  # this and the next ten: Ark 400, of one kind of content each [D 2026]
        "inputtextsensitivecontentdetected",
        "inputimagesensitivecontentdetected",
        "inputvideosensitivecontentdetected",
        "inputaudiosensitivecontentdetected",
        "outputtextsensitivecontentdetected",
        "outputimagesensitivecontentdetected",
        "inputtextriskdetection",
        "inputimageriskdetection",
        "outputtextriskdetection",
        "outputimageriskdetection",
    }
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
        "model_not_available",  # Together 400, 404: it has no serverless endpoint [HeyPuter/puter#3168]
        "dedicated_endpoint_not_running",  # Together 400 [HeyPuter/puter#3168]
        "invalidendpointormodel.notfound",  # this and the next two: Ark 404 [D 2026]
        "invalidendpoint.notfound",
        "modelnotopen",
    }
)

# They decide at 429 too, where a sentence about load may as well speak of a rate.
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
        "model_capacity_exhausted",  # Google 429, error.details[].reason [su-kaka/gcli2api#313]
        "service_tier_capacity_exceeded",  # Mistral 429 [D]
    }
)

# What a type word says where no number does: errors inside a stream have a type and no HTTP status.
TYPE_STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "invalid_request_error": 400,  # OpenAI, Anthropic and most others [R]
        "badrequesterror": 400,  # vLLM, SGLang [R 2026-03]
        "invalid_argument": 400,  # google.rpc
        "validation_error": 400,
        "validationexception": 400,  # Bedrock [R]
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
