"""Facts about vendors, whatever wire they speak: addresses, names of key variables, meanings of their errors.

Each says where its facts come from: [D] the vendor's page or SDK, [R] recorded traffic, [C] production clients; all
collected by 2026-11. A dialect row of any wire refers to its vendor and adds what is that wire's alone.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from limen.adapters.kit.errors import ErrorRow, ErrorRules
from limen.contract import FrozenDict, codes

CHAT: Final = "openai-chat"
MESSAGES: Final = "anthropic-messages"
GENERATE: Final = "gemini-generate"
OLLAMA_CHAT: Final = "ollama-chat"
COHERE_CHAT: Final = "cohere"
MISTRAL_CHAT: Final = "mistral"
RESPONSES: Final = "openai-responses"
CONVERSE: Final = "bedrock-converse"


class Vendor(msgspec.Struct, frozen=True, kw_only=True):
    """One vendor, or one kind of server.

    `addresses` are base URLs by wire; a wire that is missing has an address of each user's own. `keys` are
    environment variables that people keep the key in, the usual one first. `errors` are judged before the tables that
    all vendors share. `options` are options of a route that the environment tells, each with its variables, the usual
    one first; they are read for a route that the environment implies.
    """

    addresses: Mapping[str, str] = FrozenDict()
    keys: tuple[str, ...] = ()
    errors: ErrorRules = ErrorRules()
    options: Mapping[str, tuple[str, ...]] = FrozenDict()


def _words(*words: str) -> frozenset[str]:
    return frozenset(words)


def _by_number(meanings: Mapping[str, tuple[int, ...]]) -> tuple[ErrorRow, ...]:
    """Make rows for a vendor whose own numbers say what failed."""
    return tuple(ErrorRow(code, words=_words(*map(str, numbers))) for code, numbers in meanings.items())


def _by_last_number(meanings: Mapping[str, tuple[int, ...]]) -> tuple[ErrorRow, ...]:
    """Make rows for a vendor whose messages end with its own number, as in "insufficient balance (1008)"."""
    return tuple(
        ErrorRow(code, sentence=_says(rf"\((?:{'|'.join(map(str, numbers))})\)(?:\s|$)"))
        for code, numbers in meanings.items()
    )


def _says(sentence: str) -> re.Pattern[str]:
    return re.compile(sentence, re.IGNORECASE)


# "Please try again in 6m0s.", "Please retry after 7 seconds.": OpenAI, Groq, Azure 429 [D]
_DELAY_IN_TEXT: Final = _says(r"(?:try again in|retry after)\s+(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h)[a-z]*\s*)+")

UNKNOWN: Final = Vendor()

# https://platform.openai.com/docs/guides/error-codes (2026-08)
OPENAI: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.openai.com/v1", RESPONSES: "https://api.openai.com/v1"}),
    keys=("OPENAI_API_KEY",),
    errors=ErrorRules(delays=(_DELAY_IN_TEXT,)),
)

AZURE: Final = Vendor(
    keys=("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
    errors=ErrorRules(
        rows=(
            # … have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 7 seconds. [D]
            ErrorRow(codes.RATE_LIMIT, sentence=_says("exceeded (?:token|call) rate limit")),
        ),
        delays=(_DELAY_IN_TEXT,),
    ),
)

# The same with a token of Microsoft Entra ID instead of a key; the variable is the one of OpenAI's SDK (2026-11) [D].
AZURE_ENTRA: Final = Vendor(keys=("AZURE_OPENAI_AD_TOKEN",), errors=AZURE.errors)

# https://learn.microsoft.com/azure/ai-foundry: Claude there has keys and addresses of its own (2026-11) [D]
FOUNDRY: Final = Vendor(keys=("ANTHROPIC_FOUNDRY_API_KEY",))

ANTHROPIC: Final = Vendor(addresses=FrozenDict({MESSAGES: "https://api.anthropic.com"}), keys=("ANTHROPIC_API_KEY",))

# https://ai.google.dev/gemini-api/docs/api-key (2026-11) [D]
GEMINI: Final = Vendor(
    addresses=FrozenDict({GENERATE: "https://generativelanguage.googleapis.com/v1beta"}),
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
)

# Express mode: https://cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode (2026-11) [D]; the variables
# are those of Vercel's and pi's clients [C].
VERTEX: Final = Vendor(
    addresses=FrozenDict({GENERATE: "https://aiplatform.googleapis.com/v1beta1/publishers/google"}),
    keys=("GOOGLE_VERTEX_API_KEY", "GOOGLE_CLOUD_API_KEY"),
)

DEEPSEEK: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.deepseek.com", MESSAGES: "https://api.deepseek.com/anthropic"}),
    keys=("DEEPSEEK_API_KEY",),
)

# https://docs.cohere.com/reference/errors and /docs/rate-limits (2026-11) [D]; `CO_API_KEY` is what its SDK reads.
COHERE: Final = Vendor(
    addresses=FrozenDict({COHERE_CHAT: "https://api.cohere.com"}),
    keys=("COHERE_API_KEY", "CO_API_KEY"),
    errors=ErrorRules(
        rows=(
            ErrorRow(codes.AUTH, status=frozenset({498})),  # invalid token [D]
            # 429 You are using a Trial key, which is limited to 1000 API calls / month. [C]; the same with "/ minute"
            # is a rate.
            ErrorRow(codes.QUOTA, status=frozenset({429}), sentence=_says(r"limited to [\d,]+ API calls / month")),
        )
    ),
)

MISTRAL: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.mistral.ai/v1", MISTRAL_CHAT: "https://api.mistral.ai/v1"}),
    keys=("MISTRAL_API_KEY",),
    errors=ErrorRules(
        rows=(
            # code 3051 is no sign of overflow by itself: "Logprobs are not enabled for this model" has it too [R]
            ErrorRow(codes.MODEL_NOT_FOUND, words=_words("1500", "invalid_model")),
            ErrorRow(codes.OVERLOADED, words=_words("3505", "service_tier_capacity_exceeded")),
        )
    ),
)

XAI: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.x.ai/v1", RESPONSES: "https://api.x.ai/v1"}),
    keys=("XAI_API_KEY",),
    errors=ErrorRules(
        # 400 {"code": "invalid-argument", "error": "Incorrect API key provided. …"} [R]
        rows=(ErrorRow(codes.AUTH, sentence=_says("incorrect api key provided")),)
    ),
)

MOONSHOT: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.moonshot.ai/v1", MESSAGES: "https://api.moonshot.ai/anthropic"}),
    keys=("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY", "KIMI_API_KEY"),
    errors=ErrorRules(
        rows=(
            # Kimi Code 429: The engine is currently overloaded, please try again later [D 2026]
            ErrorRow(codes.OVERLOADED, status=frozenset({429}), sentence=_says("engine is currently overloaded")),
            # Kimi Code 403: … usage limit for this billing cycle [D 2026]
            ErrorRow(codes.QUOTA, sentence=_says("usage limit for this billing cycle")),
        )
    ),
)

DASHSCOPE: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"}),
    keys=("DASHSCOPE_API_KEY", "ALIBABA_API_KEY"),
    errors=ErrorRules(
        rows=(
            ErrorRow(codes.QUOTA, words=_words("allocationquota.freetieronly")),
            # 403: The free quota has been exhausted. [C]; 429: Free allocated quota exceeded. [QwenLM/qwen-code#1742]
            ErrorRow(codes.QUOTA, sentence=_says("free (?:tier|quota)[^.]*exhausted|free allocated quota exceeded")),
            # 429 insufficient_quota stands beside Throttling.AllocationQuota: an allocated rate, not money [D 2026]
            ErrorRow(
                codes.RATE_LIMIT,
                status=frozenset({429}),
                words=_words("insufficient_quota", "throttling.allocationquota"),
            ),
        )
    ),
)

# https://docs.z.ai/api-reference/api-code (2026) [D]: {"error":{"code":"1113","message":"Insufficient balance …"}} on
# both wires [R]; the HTTP status carries little, the inner code says all.
ZAI: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.z.ai/api/paas/v4", MESSAGES: "https://api.z.ai/api/anthropic"}),
    keys=("ZAI_API_KEY", "Z_AI_API_KEY", "ZHIPUAI_API_KEY", "ZHIPU_API_KEY"),
    errors=ErrorRules(
        rows=_by_number(
            {
                codes.AUTH: (1000, 1001, 1002, 1003, 1004, 1110, 1111, 1112, 1120, 1121, 1220),
                codes.QUOTA: (1113, 1304, 1308, 1309, 1310, 1311, 1313),
                codes.CONTEXT_WINDOW_EXCEEDED: (1261,),
                codes.CONTENT_FILTER: (1300, 1301),
                codes.MODEL_NOT_FOUND: (1211,),
                codes.INVALID_REQUEST: (1210, 1212, 1213, 1214, 1215, 1231),
                codes.RATE_LIMIT: (1302, 1303),
                codes.OVERLOADED: (1305,),
                codes.SERVER: (500, 1230, 1234),
            }
        )
    ),
)

_MINIMAX_NUMBERS: Final[Mapping[str, tuple[int, ...]]] = FrozenDict(
    {
        codes.SERVER: (1000, 1013, 1024, 1033),
        codes.TIMEOUT: (1001,),
        codes.RATE_LIMIT: (1002, 1039, 1041),
        codes.AUTH: (1004, 2049),
        # 2061: your current token plan not support model, x [liliMozi/openhanako#452]
        codes.QUOTA: (1008, 2056, 2061),
        codes.CONTENT_FILTER: (1026, 1027, 1042),
        codes.INVALID_REQUEST: (2013,),
    }
)

# https://platform.minimax.io/docs/api-reference/errorcode (2026) [D]: the number stands in base_resp.status_code, or at
# the end of the message, whatever the status: 500 {"type":"api_error","message":"insufficient balance (1008)"}
# [MiniMax-AI/MiniMax-M2#62]. 2013 is every wrong parameter, so its sentences go first.
MINIMAX: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.minimax.io/v1", MESSAGES: "https://api.minimax.io/anthropic"}),
    keys=("MINIMAX_API_KEY",),
    errors=ErrorRules(
        rows=(
            # invalid params, context window exceeds limit (2013) [C]
            ErrorRow(codes.CONTEXT_WINDOW_EXCEEDED, sentence=_says("context window exceeds limit")),
            ErrorRow(codes.MODEL_NOT_FOUND, sentence=_says(r"unknown model\b")),  # unknown model 'x' (2013)
            *_by_number(_MINIMAX_NUMBERS),
            *_by_last_number(_MINIMAX_NUMBERS),
        )
    ),
)

PERPLEXITY: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.perplexity.ai"}), keys=("PERPLEXITY_API_KEY", "PPLX_API_KEY")
)

OPENROUTER: Final = Vendor(
    addresses=FrozenDict(
        {
            CHAT: "https://openrouter.ai/api/v1",
            MESSAGES: "https://openrouter.ai/api",
            RESPONSES: "https://openrouter.ai/api/v1",
        }
    ),
    keys=("OPENROUTER_API_KEY",),
    errors=ErrorRules(
        rows=(
            ErrorRow(codes.RATE_LIMIT, words=_words("openrouter_in_flight_budget"), hint=True),
            ErrorRow(
                codes.QUOTA,
                words=_words(
                    "openrouter_in_flight_budget",
                    "openrouter_credits",
                    "openrouter_key_limit",
                    "openrouter_guardrail_budget",
                    "openrouter_workspace_budget",
                ),
            ),
        )
    ),
)

VERCEL: Final = Vendor(addresses=FrozenDict({MESSAGES: "https://ai-gateway.vercel.sh"}), keys=("AI_GATEWAY_API_KEY",))

GROQ: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.groq.com/openai/v1"}),
    keys=("GROQ_API_KEY",),
    errors=ErrorRules(
        rows=(
            # 413 rate_limit_exceeded "Request too large for model … on tokens per minute (TPM)": it is the rate [D]
            ErrorRow(codes.RATE_LIMIT, status=frozenset({413}), words=_words("rate_limit_exceeded")),
            ErrorRow(codes.OVERLOADED, status=frozenset({498})),
        ),
        delays=(_DELAY_IN_TEXT,),
    ),
)

# https://docs.together.ai/docs/error-codes (2026) [D] calls every prompt over the window a 403; it comes as 400
# [BerriAI/litellm#4934], with its sentence, and a 403 alone is a key, a permission or a page of the firewall.
TOGETHER: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.together.ai/v1"}),
    keys=("TOGETHER_API_KEY",),
)

FIREWORKS: Final = Vendor(
    addresses=FrozenDict(
        {CHAT: "https://api.fireworks.ai/inference/v1", MESSAGES: "https://api.fireworks.ai/inference"}
    ),
    keys=("FIREWORKS_API_KEY",),
    # 412 is two things [D 2026]: Account x is suspended, possibly due to reaching the monthly spending limit or failure
    # to pay past invoices. [pollinations/pollinations#12136], or an adapter that could not be loaded, which stays 412.
    errors=ErrorRules(
        rows=(ErrorRow(codes.QUOTA, status=frozenset({412}), sentence=_says("account .*suspended|spending limit")),)
    ),
)

# A prompt over the window is a 400 with its sentence [cline/cline#5140]. Clients have seen 400 and 413 without a body
# too [C]; those say nothing, and stay INVALID_REQUEST.
CEREBRAS: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://api.cerebras.ai/v1"}),
    keys=("CEREBRAS_API_KEY",),
)

NVIDIA: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://integrate.api.nvidia.com/v1"}),
    keys=("NVIDIA_API_KEY", "NGC_API_KEY"),
    errors=ErrorRules(
        # ResourceExhausted: Worker local total request limit reached (33/32) [R 2026]
        rows=(ErrorRow(codes.OVERLOADED, sentence=_says(r"request limit reached \(\d")),)
    ),
)

HUGGINGFACE: Final = Vendor(
    addresses=FrozenDict({CHAT: "https://router.huggingface.co/v1", RESPONSES: "https://router.huggingface.co/v1"}),
    keys=("HF_TOKEN",),
)

# https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html and botocore's model of bedrock-runtime
# (1.44.8, read 2026-11-30) [D]: the type stands in the header x-amzn-errortype, in a stream in lower camel case.
_BEDROCK_TYPES: Final[Mapping[str, tuple[str, ...]]] = FrozenDict(
    {
        codes.AUTH: (
            "accessdeniedexception",
            "unrecognizedclientexception",
            "invalidsignatureexception",
            "expiredtokenexception",
            "incompletesignature",
            "missingauthenticationtokenexception",
        ),
        codes.TIMEOUT: ("modeltimeoutexception",),
        codes.OVERLOADED: ("serviceunavailableexception", "modelnotreadyexception"),
        codes.SERVER: ("internalserverexception", "modelerrorexception", "modelstreamerrorexception"),
        codes.QUOTA: ("servicequotaexceededexception",),
    }
)
BEDROCK: Final = Vendor(
    addresses=FrozenDict(
        {
            CONVERSE: "https://bedrock-runtime.{region}.amazonaws.com",
        }
    ),
    keys=("AWS_BEARER_TOKEN_BEDROCK",),
    options=FrozenDict({"region": ("AWS_REGION", "AWS_DEFAULT_REGION")}),
    errors=ErrorRules(
        rows=(
            # 429 "Too many tokens, please wait before trying again." is the rate, no overflow [R]
            ErrorRow(codes.QUOTA, words=_words("throttlingexception"), sentence=_says("too many tokens per day")),
            ErrorRow(codes.RATE_LIMIT, words=_words("throttlingexception")),
            ErrorRow(codes.RATE_LIMIT, sentence=_says("too many (?:tokens|requests), please wait")),
            # The provided model identifier is invalid. [R]; Could not resolve the foundation model from …;
            # This model version has reached the end of its life. [R]; … with on-demand throughput isn't supported [D]
            ErrorRow(
                codes.MODEL_NOT_FOUND,
                sentence=_says(
                    "model identifier is invalid|could not resolve the foundation model|reached the end of its life"
                    "|on-demand throughput isn.t supported"
                ),
            ),
            ErrorRow(
                codes.CONTEXT_WINDOW_EXCEEDED,
                sentence=_says("input is too long|prompt is too long|input tokens exceeded"),
            ),
            *(ErrorRow(code, words=_words(*words)) for code, words in _BEDROCK_TYPES.items()),
        )
    ),
)

# Claude by InvokeModel, on Anthropic's wire. No key variable: the key alone means Converse.
BEDROCK_INVOKE: Final = Vendor(
    addresses=FrozenDict({MESSAGES: BEDROCK.addresses[CONVERSE]}),
    errors=BEDROCK.errors,
)

# Servers that run where you put them, at their usual ports.
OLLAMA: Final = Vendor(
    addresses=FrozenDict(
        {
            CHAT: "http://localhost:11434/v1",
            MESSAGES: "http://localhost:11434",
            RESPONSES: "http://localhost:11434/v1",
            OLLAMA_CHAT: "http://localhost:11434",
        }
    ),
    keys=("OLLAMA_API_KEY",),
)
OLLAMA_CLOUD: Final = Vendor(addresses=FrozenDict({OLLAMA_CHAT: "https://ollama.com"}), keys=("OLLAMA_API_KEY",))
VLLM: Final = Vendor(
    addresses=FrozenDict(
        {CHAT: "http://localhost:8000/v1", MESSAGES: "http://localhost:8000", RESPONSES: "http://localhost:8000/v1"}
    ),
    keys=("VLLM_API_KEY",),
)
SGLANG: Final = Vendor(addresses=FrozenDict({CHAT: "http://localhost:30000/v1"}))
LLAMACPP: Final = Vendor(
    addresses=FrozenDict(
        {CHAT: "http://localhost:8080/v1", MESSAGES: "http://localhost:8080", RESPONSES: "http://localhost:8080/v1"}
    ),
    keys=("LLAMA_API_KEY",),
)
LMSTUDIO: Final = Vendor(addresses=FrozenDict({CHAT: "http://localhost:1234/v1"}), keys=("LM_API_TOKEN",))
