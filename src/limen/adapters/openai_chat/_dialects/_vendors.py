"""Rows of those who serve their own models.

Each says where its facts come from: [D] the vendor's page or SDK, [R] recorded traffic, [C] production clients; all
collected by 2026-11. What a vendor's page does not list is refused rather than sent to be ignored (Q1).
"""

import re
from typing import Final

import msgspec

from limen.adapters._chat_completions._dialect import (
    ALPHANUMERIC,
    EFFORT,
    OPENAI_NAME,
    CacheRules,
    Dialect,
    EffortRules,
    ToolIdRule,
)
from limen.adapters._chat_completions._reading import ReadingRules
from limen.adapters._classify import ErrorRow, ErrorRules
from limen.contract import FrozenDict, Timeouts, codes

# "Please try again in 6m0s.", "Please retry after 7 seconds.": OpenAI, Groq, Azure 429 [D]
DELAY_IN_TEXT: Final = re.compile(
    r"(?:try again in|retry after)\s+(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h)[a-z]*\s*)+", re.IGNORECASE
)
UNDOCUMENTED: Final = "its documentation has no such parameter"


def _words(*words: str) -> frozenset[str]:
    return frozenset(words)


def _effort_field(levels: tuple[str, ...] | None, *, off: str | None = "none") -> EffortRules:
    return EffortRules(
        levels=levels,
        level=FrozenDict({"reasoning_effort": EFFORT}),
        off=None if off is None else FrozenDict({"reasoning_effort": off}),
    )


# https://platform.openai.com/docs/api-reference/chat (SDK 3.57.0, OpenAPI of 2026-08-21) [D]; the chat endpoint
# rejects `max` on every model [R 2026-10]; ids over 40 characters are `string_above_max_length` [R].
OPENAI: Final = Dialect(
    name="openai",
    base_url="https://api.openai.com/v1",
    key_variables=("OPENAI_API_KEY",),
    max_tokens_field="max_completion_tokens",
    max_stops=4,
    schema_name=OPENAI_NAME,
    efforts=_effort_field(("off", "minimal", "low", "medium", "high", "xhigh")),
    cache=CacheRules(
        short_fields=FrozenDict({"prompt_cache_retention": "in_memory"}),
        long_fields=FrozenDict({"prompt_cache_retention": "24h"}),
    ),
    strict="openai",
    tool_name=OPENAI_NAME,
    max_tools=128,
    tool_ids=ToolIdRule(max_length=40),
    system_role="developer",
    reading=ReadingRules(end_marker="required"),
    errors=ErrorRules(
        # 429 resource_unavailable: flex processing has no capacity [D]
        rows=(ErrorRow(codes.OVERLOADED, status=frozenset({429}), words=_words("resource_unavailable")),),
        delays=(DELAY_IN_TEXT,),
    ),
)

# https://learn.microsoft.com/azure/ai-foundry/openai/reference (v1 surface, 2026-10) [D]; the address has the
# resource's name in it, and `model` is the deployment's. Recorded 2025-11 … 2026-06 [R].
AZURE: Final = Dialect(
    name="azure",
    key_header="api-key",
    key_variables=("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
    max_tokens_field="max_completion_tokens",
    max_stops=4,
    schema_name=OPENAI_NAME,
    efforts=_effort_field(("off", "minimal", "low", "medium", "high", "xhigh")),
    strict="openai",
    tool_name=OPENAI_NAME,
    max_tools=128,
    tool_ids=ToolIdRule(max_length=40),
    reading=ReadingRules(end_marker="required"),
    errors=ErrorRules(
        rows=(
            ErrorRow(codes.OVERLOADED, status=frozenset({429}), words=_words("nocapacity")),
            # … have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 7 seconds. [D]
            ErrorRow(codes.RATE_LIMIT, sentence=re.compile("exceeded (?:token|call) rate limit", re.IGNORECASE)),
        ),
        delays=(DELAY_IN_TEXT,),
    ),
)

# https://api-docs.deepseek.com/guides/thinking_mode and /quick_start/error_codes (2026-10) [D]; streams of 2026-06 [R].
# Thinking is on by default; the server gives up after 10 minutes in its queue, sending comments meanwhile [D].
DEEPSEEK: Final = Dialect(
    name="deepseek",
    base_url="https://api.deepseek.com",
    key_variables=("DEEPSEEK_API_KEY",),
    min_timeouts=Timeouts(first_event=660.0),
    refuses=FrozenDict(
        {
            "seed": UNDOCUMENTED,
            "parallel_tool_calls": UNDOCUMENTED,
        }
    ),
    max_stops=16,
    response_formats=frozenset({"text", "json"}),
    efforts=EffortRules(
        levels=("off", "low", "high", "max"),
        level=FrozenDict({"thinking": FrozenDict({"type": "enabled"}), "reasoning_effort": EFFORT}),
        off=FrozenDict({"thinking": FrozenDict({"type": "disabled"})}),
    ),
    # 400 "Thinking mode does not support this tool_choice" [R 2026-06]
    forced_choice_while_reasoning=False,
    strict="refused",
    tool_name=OPENAI_NAME,
    max_tools=128,
    # 400 "unknown variant `image_url`, expected `text`" from the text models [R]; the vision model takes data URLs [C]
    images="listed",
    image_urls=False,
    reasoning_back="reasoning_content",
    reasoning_required=True,
    reading=ReadingRules(end_marker="required"),
)

# https://api-docs.deepseek.com/guides/function_calling (2025): strict functions, all or none, on the /beta address.
DEEPSEEK_BETA: Final = msgspec.structs.replace(
    DEEPSEEK, name="deepseek-beta", base_url="https://api.deepseek.com/beta", strict="deepseek"
)

# https://docs.mistral.ai/api (2026-08) [D]; streams of 2026-01 … 2026-08 [R]. 400 "Tool call id was … but must be a-z,
# A-Z, 0-9, with a length of 9." [C]; 422 for stream_options was seen, usage comes without it [R] [Q207].
MISTRAL: Final = Dialect(
    name="mistral",
    base_url="https://api.mistral.ai/v1",
    key_variables=("MISTRAL_API_KEY",),
    seed_field="random_seed",
    stream_usage=False,
    efforts=_effort_field(("off", "high")),
    tool_name=OPENAI_NAME,
    tool_ids=ToolIdRule(min_length=9, max_length=9, alphabet=ALPHANUMERIC),
    tool_result_names=True,
    tool_images="inline",
    reasoning_back="thinking-part",
    errors=ErrorRules(
        rows=(
            # code 3051 is no sign of overflow by itself: "Logprobs are not enabled for this model" has it too [R]
            ErrorRow(codes.MODEL_NOT_FOUND, words=_words("1500", "invalid_model")),
            ErrorRow(codes.OVERLOADED, words=_words("3505", "service_tier_capacity_exceeded")),
        )
    ),
)

# https://docs.x.ai/docs/api-reference (2026) [D]; streams of 2026-02 [R]. Reasoning is counted beside completion.
XAI: Final = Dialect(
    name="xai",
    base_url="https://api.x.ai/v1",
    key_variables=("XAI_API_KEY",),
    max_tokens_field="max_completion_tokens",
    efforts=_effort_field(("off", "low", "medium", "high", "xhigh")),
    tool_name=OPENAI_NAME,
    reasoning_back="reasoning_content",
    errors=ErrorRules(
        # 400 {"code": "invalid-argument", "error": "Incorrect API key provided. …"} [R]
        rows=(ErrorRow(codes.AUTH, sentence=re.compile("incorrect api key provided", re.IGNORECASE)),)
    ),
)

# https://platform.moonshot.ai/docs/api/chat (2026-10) [D]; client code of 2026-08 … 2026-10 [C].
MOONSHOT: Final = Dialect(
    name="moonshot",
    base_url="https://api.moonshot.ai/v1",
    key_variables=("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY", "KIMI_API_KEY"),
    max_tokens_field="max_completion_tokens",
    refuses=FrozenDict({"seed": UNDOCUMENTED, "parallel_tool_calls": UNDOCUMENTED}),
    max_stops=5,
    response_formats=frozenset({"text", "json"}),
    efforts=EffortRules(
        levels=("off", "low", "high", "max"),
        level=FrozenDict({"reasoning_effort": EFFORT}),
        off=FrozenDict({"thinking": FrozenDict({"type": "disabled"})}),
    ),
    tool_choices=frozenset({"auto", "none"}),
    strict="refused",
    tool_name=re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}"),
    max_tools=128,
    # 400 "text content is empty" for an empty text beside tool calls [C]
    empty_content="omit",
    reasoning_back="reasoning_content",
    errors=ErrorRules(
        rows=(
            ErrorRow(codes.OVERLOADED, status=frozenset({429}), words=_words("engine_overloaded_error")),
            # Kimi Code 429: The engine is currently overloaded, please try again later [D 2026]
            ErrorRow(
                codes.OVERLOADED,
                status=frozenset({429}),
                sentence=re.compile("engine is currently overloaded", re.IGNORECASE),
            ),
            # Kimi Code 403: … usage limit for this billing cycle [D 2026]
            ErrorRow(codes.QUOTA, sentence=re.compile("usage limit for this billing cycle", re.IGNORECASE)),
        )
    ),
)

# https://www.alibabacloud.com/help/model-studio/ (compatible mode and error codes, 2026) [D]; streams of 2026-02 [R].
DASHSCOPE: Final = Dialect(
    name="dashscope",
    base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    models_path=None,
    key_variables=("DASHSCOPE_API_KEY", "ALIBABA_API_KEY"),
    efforts=EffortRules(
        levels=("off", "low", "medium", "xhigh"),
        level=FrozenDict({"enable_thinking": True, "reasoning_effort": EFFORT}),
        off=FrozenDict({"enable_thinking": False}),
    ),
    cache=CacheRules(short_mark=FrozenDict({"type": "ephemeral"})),
    tool_choices=frozenset({"auto", "none", "tool"}),
    reasoning_back="reasoning_content",
    errors=ErrorRules(
        rows=(
            ErrorRow(codes.QUOTA, words=_words("allocationquota.freetieronly")),
            ErrorRow(codes.QUOTA, sentence=re.compile("free (?:tier|quota)[^.]*exhausted", re.IGNORECASE)),
            # 429 insufficient_quota stands beside Throttling.AllocationQuota: an allocated rate, not money [D 2026]
            ErrorRow(
                codes.RATE_LIMIT,
                status=frozenset({429}),
                words=_words("insufficient_quota", "throttling.allocationquota"),
            ),
        )
    ),
)


def _zai_rows() -> tuple[ErrorRow, ...]:
    # https://docs.z.ai/api-reference/api-code (2026) [D]: the HTTP status carries little, the inner code says all.
    meaning = {
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
    return tuple(ErrorRow(code, words=_words(*map(str, numbers))) for code, numbers in meaning.items())


# https://docs.z.ai/api-reference/llm/chat-completion (2026-10) [D]; streams of 2026-06 [R].
ZAI: Final = Dialect(
    name="zai",
    base_url="https://api.z.ai/api/paas/v4",
    models_path=None,
    key_variables=("ZAI_API_KEY", "ZHIPUAI_API_KEY"),
    refuses=FrozenDict({"seed": UNDOCUMENTED, "parallel_tool_calls": UNDOCUMENTED}),
    max_stops=1,
    response_formats=frozenset({"text", "json"}),
    efforts=EffortRules(
        levels=("off", "low", "high", "max"),
        level=FrozenDict({"thinking": FrozenDict({"type": "enabled"}), "reasoning_effort": EFFORT}),
        off=FrozenDict({"thinking": FrozenDict({"type": "disabled"})}),
    ),
    tool_choices=frozenset({"auto"}),
    tool_name=OPENAI_NAME,
    max_tools=128,
    reasoning_back="reasoning_content",
    reading=ReadingRules(finish_words=FrozenDict({"sensitive": "CONTENT_FILTER"})),
    errors=ErrorRules(rows=_zai_rows()),
)


def _minimax_rows() -> tuple[ErrorRow, ...]:
    # base_resp.status_code (platform.minimax.io error codes, 2026) [D]
    meaning = {
        codes.SERVER: (1000, 1013, 1024, 1033),
        codes.TIMEOUT: (1001,),
        codes.RATE_LIMIT: (1002, 1039, 1041),
        codes.AUTH: (1004, 2049),
        codes.QUOTA: (1008, 2056),
        codes.CONTENT_FILTER: (1026, 1027, 1042),
        codes.INVALID_REQUEST: (2013,),
    }
    # 2013 "invalid params, context window exceeds limit" [C]
    overflow = ErrorRow(
        codes.CONTEXT_WINDOW_EXCEEDED,
        words=_words("2013"),
        sentence=re.compile("context window exceeds limit", re.IGNORECASE),
    )
    return (overflow, *(ErrorRow(code, words=_words(*map(str, numbers))) for code, numbers in meaning.items()))


# https://platform.minimax.io/docs/api-reference/text-openai-api (2026) [D]; official schema read by a client [C].
# The trace stands inside <think> in the text, and the turn goes back as it came [D].
MINIMAX: Final = Dialect(
    name="minimax",
    base_url="https://api.minimax.io/v1",
    models_path=None,
    key_variables=("MINIMAX_API_KEY",),
    max_tokens_field="max_completion_tokens",
    refuses=FrozenDict(
        dict.fromkeys(("seed", "stop", "parallel_tool_calls", "tool_choice", "response_format"), UNDOCUMENTED)
    ),
    efforts=EffortRules(levels=()),
    strict="refused",
    # 400 code 2013 for neighbours of one role [Q110]
    merge_turns=True,
    reasoning_back="think-tags",
    reading=ReadingRules(think_tags=True, error_places=("base_resp",)),
    errors=ErrorRules(rows=_minimax_rows()),
)

# https://docs.perplexity.ai/api-reference/chat-completions-post (2026) [D]; streams of 2025-11 … 2026-07 [R].
PERPLEXITY: Final = Dialect(
    name="perplexity",
    base_url="https://api.perplexity.ai",
    models_path=None,
    key_variables=("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
    refuses=FrozenDict(dict.fromkeys(("tools", "tool_choice", "parallel_tool_calls", "seed", "stop"), UNDOCUMENTED)),
    response_formats=frozenset({"text", "json-schema"}),
    efforts=_effort_field(("minimal", "low", "medium", "high"), off=None),
    merge_turns=True,
)

VENDORS: Final = (
    OPENAI, AZURE, DEEPSEEK, DEEPSEEK_BETA, MISTRAL, XAI, MOONSHOT, DASHSCOPE, ZAI, MINIMAX, PERPLEXITY,
)  # fmt: skip
