"""Rows of vendors that serve their own models.

Each says where its facts come from: [D] the vendor's page or SDK, [R] recorded traffic, [C] production clients; all
collected by 2026-11. What a vendor's page does not list is refused rather than sent to be ignored (Q1).
"""

import re
from typing import Final

import msgspec

from limen.adapters import _vendors as vendors
from limen.adapters.kit import ALPHANUMERIC, NAME, FileRules, ToolIdRule
from limen.adapters.openai_chat._dialects._row import (
    EFFORT,
    PDF,
    SOUNDS,
    CacheRules,
    Dialect,
    EffortRules,
    ReadingRules,
)
from limen.contract import FrozenDict, Timeouts

UNDOCUMENTED: Final = "its documentation has no such parameter"


def _effort_field(levels: tuple[str, ...] | None, *, off: str | None = "none") -> EffortRules:
    return EffortRules(
        levels=levels,
        level=FrozenDict({"reasoning_effort": EFFORT}),
        off=None if off is None else FrozenDict({"reasoning_effort": off}),
    )


# https://platform.openai.com/docs/api-reference/chat (SDK 3.57.0, OpenAPI of 2026-08-21) [D]; the chat endpoint
# rejects `max` on every model [R 2026-10]; ids over 40 characters are `string_above_max_length` [R].
# https://developers.openai.com/api/docs/guides/prompt-caching (2026-11) [D]: prompts are cached for a while without
# being asked, and no field asks for that on every model: gpt-5.5 and later refuse "in_memory", 400 "This model is
# compatible only with 24h extended prompt caching", and only gpt-5.6 and later have `prompt_cache_options.ttl`, which
# goes before this field there.
OPENAI: Final = Dialect(
    name="openai",
    vendor=vendors.OPENAI,
    max_tokens_field="max_completion_tokens",
    max_stops=4,
    schema_name=NAME,
    # https://developers.openai.com/api/docs/guides/file-inputs (read 2026-11-30): PDF only, as data or file id, no
    # address; sounds by the API reference.
    files=FileRules(types=PDF | SOUNDS, ids=True),
    efforts=_effort_field(("off", "minimal", "low", "medium", "high", "xhigh")),
    cache=CacheRules(
        long_fields=FrozenDict({"prompt_cache_retention": "24h"}),
    ),
    strict="openai",
    tool_name=NAME,
    max_tools=128,
    tool_ids=ToolIdRule(max_length=40),
    system_role="developer",
    reading=ReadingRules(end_marker="required", finish_required=True),
)

# https://learn.microsoft.com/azure/ai-foundry/openai/reference (v1 surface, 2026-10) [D]; the address has the
# resource's name in it, and `model` is the deployment's. Recorded 2025-11 … 2026-06 [R].
AZURE: Final = Dialect(
    name="azure",
    vendor=vendors.AZURE,
    key_header="api-key",
    max_tokens_field="max_completion_tokens",
    max_stops=4,
    schema_name=NAME,
    # Sounds only: 400 "Invalid Value: 'file'. This model does not support file content types." for a PDF
    # (https://github.com/openai/openai-python/issues/2826, 2026-01).
    files=FileRules(types=SOUNDS),
    efforts=_effort_field(("off", "minimal", "low", "medium", "high", "xhigh")),
    strict="openai",
    tool_name=NAME,
    max_tools=128,
    tool_ids=ToolIdRule(max_length=40),
    reading=ReadingRules(end_marker="required", finish_required=True),
)

# https://learn.microsoft.com/azure/ai-foundry/openai/reference (2026-10) [D]: a token of Microsoft Entra ID goes into
# `Authorization: Bearer` in place of `api-key`; the rest is Azure's.
AZURE_ENTRA: Final = msgspec.structs.replace(AZURE, name="azure-entra", vendor=vendors.AZURE_ENTRA, key_header="bearer")

# https://api-docs.deepseek.com/guides/thinking_mode and /quick_start/error_codes (2026-10) [D]; streams of 2026-06 [R].
# Thinking is on by default; the server gives up after 10 minutes in its queue, sending comments meanwhile [D].
DEEPSEEK: Final = Dialect(
    name="deepseek",
    vendor=vendors.DEEPSEEK,
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
    tool_name=NAME,
    max_tools=128,
    # 400 "unknown variant `image_url`, expected `text`" from the text models [R]; the vision model takes data URLs [C]
    images="listed",
    image_urls=False,
    reasoning_back="reasoning_content",
    reasoning_required=True,
    reading=ReadingRules(end_marker="required", finish_required=True),
)

# https://api-docs.deepseek.com/guides/function_calling (2025): strict functions, all or none, on the /beta address.
DEEPSEEK_BETA: Final = msgspec.structs.replace(
    DEEPSEEK, name="deepseek-beta", address="https://api.deepseek.com/beta", strict="deepseek"
)

# https://docs.mistral.ai/api (2026-08) [D]; streams of 2026-01 … 2026-08 [R]. 400 "Tool call id was … but must be a-z,
# A-Z, 0-9, with a length of 9." [C]; 422 for stream_options was seen, usage comes without it [R] [Q207].
MISTRAL: Final = Dialect(
    name="mistral",
    vendor=vendors.MISTRAL,
    seed_field="random_seed",
    stream_usage=False,
    efforts=_effort_field(("off", "high")),
    tool_name=NAME,
    tool_ids=ToolIdRule(min_length=9, max_length=9, alphabet=ALPHANUMERIC),
    tool_result_names=True,
    tool_images="inline",
    reasoning_back="thinking-part",
    reading=ReadingRules(finish_required=True),
)

# https://docs.x.ai/docs/api-reference (2026) [D]; streams of 2026-02 [R]. Reasoning is counted beside completion.
XAI: Final = Dialect(
    name="xai",
    vendor=vendors.XAI,
    max_tokens_field="max_completion_tokens",
    efforts=_effort_field(("off", "low", "medium", "high", "xhigh")),
    tool_name=NAME,
    reasoning_back="reasoning_content",
    reading=ReadingRules(finish_required=True),
)

# https://platform.moonshot.ai/docs/api/chat (2026-11) [D]; client code of 2026-08 … 2026-10 [C]. Tools and answers are
# held to a schema; images are data URLs or uploaded files (ms://…). `required` is for K3: 400 "tool_choice 'required'
# is incompatible with thinking enabled" from the other models while they think. K2.5 and later refuse every
# temperature and top_p but their own; moonshot-v1 takes them, so the row sends them.
MOONSHOT: Final = Dialect(
    name="moonshot",
    vendor=vendors.MOONSHOT,
    max_tokens_field="max_completion_tokens",
    refuses=FrozenDict({"seed": UNDOCUMENTED, "parallel_tool_calls": UNDOCUMENTED}),
    max_stops=5,
    efforts=EffortRules(
        levels=("off", "low", "high", "max"),
        level=FrozenDict({"reasoning_effort": EFFORT}),
        off=FrozenDict({"thinking": FrozenDict({"type": "disabled"})}),
    ),
    tool_choices=frozenset({"auto", "none", "required"}),
    tool_name=re.compile(r"[A-Za-z_][A-Za-z0-9_-]{2,63}"),
    max_tools=128,
    image_urls=False,
    # 400 "text content is empty" for an empty text beside tool calls [C]
    empty_content="omit",
    reasoning_back="reasoning_content",
    # An assistant message that is empty is refused: the message at position N … must not be empty [NQ340]
    empty_turns="left out",
    # 400 thinking is enabled but reasoning_content is missing in assistant tool call message: an empty text counts as
    # missing there, one space does not [NQ341].
    reasoning_required=True,
    reasoning_filler=" ",
    reading=ReadingRules(finish_required=True),
)

# https://www.alibabacloud.com/help/model-studio/ (compatible mode and error codes, 2026) [D]; streams of 2026-02 [R].
DASHSCOPE: Final = Dialect(
    name="dashscope",
    vendor=vendors.DASHSCOPE,
    models_path=None,
    efforts=EffortRules(
        levels=("off", "low", "medium", "xhigh"),
        level=FrozenDict({"enable_thinking": True, "reasoning_effort": EFFORT}),
        off=FrozenDict({"enable_thinking": False}),
    ),
    cache=CacheRules(short_mark=FrozenDict({"type": "ephemeral"})),
    tool_choices=frozenset({"auto", "none", "tool"}),
    reasoning_back="reasoning_content",
)


# https://docs.z.ai/api-reference/llm/chat-completion (2026-11) [D]: `seed` is there, `strict` is not; streams of
# 2026-06 [R].
ZAI: Final = Dialect(
    name="zai",
    vendor=vendors.ZAI,
    models_path=None,
    refuses=FrozenDict({"parallel_tool_calls": UNDOCUMENTED}),
    max_stops=1,
    response_formats=frozenset({"text", "json"}),
    efforts=EffortRules(
        levels=("off", "low", "high", "max"),
        level=FrozenDict({"thinking": FrozenDict({"type": "enabled"}), "reasoning_effort": EFFORT}),
        off=FrozenDict({"thinking": FrozenDict({"type": "disabled"})}),
    ),
    tool_choices=frozenset({"auto"}),
    strict="refused",
    tool_name=NAME,
    max_tools=128,
    reasoning_back="reasoning_content",
)


# https://platform.minimax.io/docs/api-reference/text-openai-api (2026) [D]; official schema read by a client [C].
# The trace stands inside <think> in the text, and the turn goes back as it came [D].
MINIMAX: Final = Dialect(
    name="minimax",
    vendor=vendors.MINIMAX,
    models_path=None,
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
)

# https://docs.perplexity.ai/api-reference/chat-completions-post (2026-11) [D]; streams of 2025-11 … 2026-07 [R].
# sonar-reasoning-pro puts its thinking into the text, between <think> and </think> [D].
PERPLEXITY: Final = Dialect(
    name="perplexity",
    vendor=vendors.PERPLEXITY,
    models_path=None,
    refuses=FrozenDict(dict.fromkeys(("tools", "tool_choice", "parallel_tool_calls", "seed"), UNDOCUMENTED)),
    response_formats=frozenset({"text", "json-schema"}),
    efforts=_effort_field(("minimal", "low", "medium", "high"), off=None),
    merge_turns=True,
    reading=ReadingRules(think_tags=True),
)

VENDORS: Final = (
    OPENAI, AZURE, AZURE_ENTRA, DEEPSEEK, DEEPSEEK_BETA, MISTRAL, XAI, MOONSHOT, DASHSCOPE, ZAI, MINIMAX, PERPLEXITY,
)  # fmt: skip
