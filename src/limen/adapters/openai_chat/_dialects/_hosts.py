"""Rows of hosts that serve other people's models, and of servers that run where you put them.

Each says where its facts come from, as in `_vendors`.
"""

from typing import Final

import msgspec

from limen.adapters import _vendors as vendors
from limen.adapters.kit import NAME, FileRules
from limen.adapters.openai_chat._dialects._row import (
    EFFORT,
    PDF,
    SOUNDS,
    CacheRules,
    Dialect,
    EffortRules,
    ReadingRules,
)
from limen.adapters.openai_chat._dialects._vendors import UNDOCUMENTED
from limen.contract import FrozenDict

_EFFORT_FIELD: Final = FrozenDict[object]({"reasoning_effort": EFFORT})
_EFFORT_NONE: Final = FrozenDict[object]({"reasoning_effort": "none"})
# The chat templates' own switch: vLLM (https://docs.vllm.ai/en/stable/features/reasoning_outputs/, 2026-11) and SGLang
# document it, and llama.cpp took it before `reasoning_effort: none` (ggml-org/llama.cpp#26045, 2026-07), so that it
# works on old servers as on new ones.
_THINKING_OFF: Final = FrozenDict[object]({"chat_template_kwargs": FrozenDict({"enable_thinking": False})})

# https://openrouter.ai/docs/api-reference/chat-completion and /errors (SDK 1.3.84, 2026-10) [D]; streams of
# 2025-11 … 2026-08 [R]. `cache_control` is for models that have explicit caching; the gateway drops it for others.
OPENROUTER: Final = Dialect(
    name="openrouter",
    vendor=vendors.OPENROUTER,
    efforts=EffortRules(
        levels=("off", "minimal", "low", "medium", "high", "xhigh", "max"),
        level=FrozenDict({"reasoning": FrozenDict({"effort": EFFORT})}),
        off=FrozenDict({"reasoning": FrozenDict({"effort": "none"})}),
    ),
    cache=CacheRules(
        short_mark=FrozenDict({"type": "ephemeral"}),
        long_mark=FrozenDict({"type": "ephemeral", "ttl": "1h"}),
    ),
    # https://openrouter.ai/docs/features/multimodal/pdfs and /audio (read 2026-11-30): PDF for any model, as data or by
    # address; wav and mp3; no ids.
    files=FileRules(types=PDF | SOUNDS, urls=PDF),
    reasoning_back="reasoning",
    reading=ReadingRules(
        # A delta repeats its reasoning in both; the string is the text, the details are kept for replay.
        reasoning_fields=("reasoning", "reasoning_details", "reasoning_content"),
        end_marker="required",
        error_places=("choice",),
    ),
    catalog="openrouter",
)

# https://console.groq.com/docs/openai, /errors and /reasoning (2026-11) [D]; streams of 2026-02 [R]. `reasoning_format`
# is `raw` unless asked for otherwise, which is thinking between <think> and </think> in the text; gpt-oss has no such
# field, so none is sent and the text is read as it comes.
GROQ: Final = Dialect(
    name="groq",
    vendor=vendors.GROQ,
    max_tokens_field="max_completion_tokens",
    max_stops=4,
    efforts=EffortRules(levels=("off", "default", "low", "medium", "high"), level=_EFFORT_FIELD, off=_EFFORT_NONE),
    max_tools=128,
    tool_name=NAME,
    reasoning_back="reasoning",
    reading=ReadingRules(think_tags=True, error_places=("x_groq",), finish_required=True),
)

# https://docs.together.ai/docs/error-codes and /reference/chat-completions (2026) [D]; streams of 2026-01 [R].
TOGETHER: Final = Dialect(
    name="together",
    vendor=vendors.TOGETHER,
    refuses=FrozenDict({"parallel_tool_calls": UNDOCUMENTED}),
    efforts=EffortRules(
        levels=("off", "low", "medium", "high"),
        level=FrozenDict({"reasoning": FrozenDict({"enabled": True}), "reasoning_effort": EFFORT}),
        off=FrozenDict({"reasoning": FrozenDict({"enabled": False})}),
    ),
    strict="refused",
    reading=ReadingRules(finish_required=True),
)

# https://docs.fireworks.ai/api-reference/post-chatcompletions and /guides/inference-error-codes (2026-11) [D]: a cap
# that does not fit beside the prompt is lowered without a word, unless an error is asked for.
FIREWORKS: Final = Dialect(
    name="fireworks",
    vendor=vendors.FIREWORKS,
    beside_max_tokens=FrozenDict({"context_length_exceeded_behavior": "error"}),
    max_stops=4,
    efforts=EffortRules(levels=("off", "low", "medium", "high"), level=_EFFORT_FIELD, off=_EFFORT_NONE),
    reasoning_back="reasoning_content",
    reading=ReadingRules(finish_required=True),
)

# https://inference-docs.cerebras.ai/api-reference/chat-completions (2026-05) [D]; streams of 2026-05 [R].
CEREBRAS: Final = Dialect(
    name="cerebras",
    vendor=vendors.CEREBRAS,
    max_tokens_field="max_completion_tokens",
    max_stops=4,
    efforts=EffortRules(levels=("off", "low", "medium", "high"), level=_EFFORT_FIELD, off=_EFFORT_NONE),
    reasoning_back="reasoning",
    reading=ReadingRules(finish_required=True),
)

# https://docs.nvidia.com/nim and https://build.nvidia.com (2026-08) [D/R]: vLLM and TensorRT backends.
NVIDIA: Final = Dialect(
    name="nvidia",
    vendor=vendors.NVIDIA,
    efforts=EffortRules(levels=()),
    strict="refused",
)

# https://huggingface.co/docs/inference-providers (2026) [D]: a router; body and stream are the backend's.
HUGGINGFACE: Final = Dialect(
    name="huggingface",
    vendor=vendors.HUGGINGFACE,
)

# https://docs.ollama.com/openai (2026) [D]: `tool_choice` is ignored, image addresses are refused. Ollama Cloud names
# the efforts: 400 invalid reasoning value: 'xhigh' (must be "high", "medium", "low", "max", or "none")
# [diegosouzapw/OmniRoute#10160]; a local server lowers others without a word.
OLLAMA: Final = Dialect(
    name="ollama",
    vendor=vendors.OLLAMA,
    requires_key=False,
    refuses=FrozenDict({"parallel_tool_calls": UNDOCUMENTED}),
    efforts=EffortRules(
        levels=("off", "low", "medium", "high", "max"),
        level=_EFFORT_FIELD,
        off=_EFFORT_NONE,
    ),
    tool_choices=frozenset({"auto"}),
    strict="refused",
    image_urls=False,
    reasoning_back="reasoning",
)

# https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html (2026-08) [D]; streams of 2026-08 [R].
VLLM: Final = Dialect(
    name="vllm",
    vendor=vendors.VLLM,
    requires_key=False,
    efforts=EffortRules(level=_EFFORT_FIELD, off=_THINKING_OFF),
    reasoning_back="reasoning",
    reading=ReadingRules(stop_fields=("stop_reason",)),
)

# https://docs.sglang.io/basic_usage/openai_api_completions.html (0.5.16, 2026-08) [D/R]: errors may come with HTTP 200.
SGLANG: Final = Dialect(
    name="sglang",
    vendor=vendors.SGLANG,
    requires_key=False,
    efforts=EffortRules(level=_EFFORT_FIELD, off=_THINKING_OFF),
    reasoning_back="reasoning_content",
    reading=ReadingRules(stop_fields=("matched_stop",)),
)

# https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (2026-09) [D]; streams of 2026-02 … 08 [R].
# Effort belongs to the chat template there; the levels are the server's own, and a template may know fewer.
LLAMACPP: Final = Dialect(
    name="llamacpp",
    vendor=vendors.LLAMACPP,
    requires_key=False,
    efforts=EffortRules(
        levels=("off", "minimal", "low", "medium", "high", "xhigh"),
        level=FrozenDict({"chat_template_kwargs": FrozenDict({"reasoning_effort": EFFORT})}),
        off=_THINKING_OFF,
    ),
    reasoning_back="reasoning_content",
)

# https://lmstudio.ai/docs/developer/openai-compat (0.4.0, 2026) [D]: `tool_choice` is a word, JSON needs a schema.
LMSTUDIO: Final = Dialect(
    name="lmstudio",
    vendor=vendors.LMSTUDIO,
    requires_key=False,
    refuses=FrozenDict({"parallel_tool_calls": UNDOCUMENTED}),
    response_formats=frozenset({"text", "json-schema"}),
    efforts=EffortRules(
        levels=("off", "minimal", "low", "medium", "high", "xhigh"), level=_EFFORT_FIELD, off=_EFFORT_NONE
    ),
    tool_choices=frozenset({"auto", "none", "required"}),
    image_urls=False,
)

# A router or server that nobody knows: no claim is made about it, and nothing is read off its address.
GENERIC: Final = Dialect(name="generic", requires_key=False)

# The same for servers that answer 400 or 422 to `stream_options` (Databricks, old Azure api-versions [Q207]).
GENERIC_NO_USAGE: Final = msgspec.structs.replace(GENERIC, name="generic-no-usage", stream_usage=False)

HOSTS: Final = (
    OPENROUTER, GROQ, TOGETHER, FIREWORKS, CEREBRAS, NVIDIA, HUGGINGFACE,
    OLLAMA, VLLM, SGLANG, LLAMACPP, LMSTUDIO, GENERIC, GENERIC_NO_USAGE,
)  # fmt: skip
