"""Rows of the wire OpenAI Responses: the hosts that speak it, and in what they differ.

Each says where its facts come from: [D] the vendor's page or SDK, [R] recorded traffic, [C] production clients; all
collected by 2026-11. What a vendor's page does not list is refused rather than sent to be ignored (Q1).
"""

import re
import string
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final, Literal

import msgspec

from limen.adapters import _vendors as vendors
from limen.adapters._codec import Row
from limen.adapters._vendors import RESPONSES
from limen.adapters.kit import NAME, FileRules, ToolIdRule
from limen.adapters.kit.errors import ErrorRow
from limen.contract import FrozenDict, codes

UNDOCUMENTED: Final = "its documentation has no such parameter"
_PDF: Final = frozenset({"application/pdf"})
# `call_id` is at most 64 characters (API reference, 2026-11) and else free: `/`, `:` and `|` came back as sent [R].
_IDS: Final = ToolIdRule(max_length=64, alphabet=string.ascii_letters + string.digits + string.punctuation)
_OPENAI_EFFORTS: Final = ("off", "minimal", "low", "medium", "high", "xhigh", "max")

# `error.code` of a failed response, https://platform.openai.com/docs/api-reference/responses/object (2026-11); codes
# that are not listed here mean on this wire what they mean on every other.
_ERRORS: Final = (
    # Invalid prompt: your prompt was flagged as potentially violating our usage policy. [R]
    ErrorRow(
        codes.CONTENT_FILTER,
        words=frozenset({"invalid_prompt"}),
        sentence=re.compile(r"flagged|violat|usage polic", re.IGNORECASE),
    ),
    ErrorRow(codes.TIMEOUT, words=frozenset({"vector_store_timeout"})),
    ErrorRow(
        codes.INVALID_REQUEST,
        words=frozenset(
            {
                "invalid_prompt", "data_residency_mismatch", "invalid_image", "invalid_image_format",
                "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error",
                "invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file",
                "failed_to_download_image", "image_file_not_found",
                # 400 "The encrypted content gAAA… could not be verified.": another organization's or model's (Q069)
                "invalid_encrypted_content",
            }
        ),
    ),
)  # fmt: skip


class Dialect(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the wire; what every wire has stands in `Row`.

    - `efforts`: levels that are known of the row as a whole, `None` where only the model knows; `off` is `none` on the
      wire.
    - `sealed`: `include: ["reasoning.encrypted_content"]` is sent, which a stateless conversation needs.
    - `stateless`: `store: false` is sent, so that nothing of the conversation is kept.
    - `looks_up`: items with ids of an earlier answer are looked up in what was stored: of a stateless conversation,
      reasoning without its sealed content is refused, and so is what followed it under its own id.
    - `call_status`: whether a call of the history may have a `status`.
    - `cache_key`: the session's id goes out as `prompt_cache_key`; `cache_long`: fields that ask for long caching.
    - `summary`: the summary of the reasoning to ask for, `None` for none.
    """

    wire: ClassVar[str] = RESPONSES
    wire_errors: ClassVar[tuple[ErrorRow, ...]] = _ERRORS

    path: str = "/responses"
    models_path: str | None = "/models"
    system_role: Literal["developer", "system"] = "system"
    efforts: tuple[str, ...] | None = None
    summary: str | None = None
    sealed: bool = False
    stateless: bool = True
    looks_up: bool = False
    call_status: bool = True
    cache_key: bool = False
    cache_long: Mapping[str, object] | None = None
    response_formats: frozenset[str] = frozenset({"text", "json", "json-schema"})
    tool_choices: frozenset[str] = frozenset({"auto", "none", "required", "tool"})
    strict: Literal["refused", "unchecked", "openai"] = "unchecked"
    tool_name: re.Pattern[str] | None = None
    max_tools: int | None = None
    tool_ids: ToolIdRule | None = None


# https://platform.openai.com/docs/api-reference/responses (SDK 3.57.0, OpenAPI of 2026-08-21) [D]. Files by
# https://developers.openai.com/api/docs/guides/file-inputs (read 2026-11-30): PDF as data, by address or as a file id.
# Prompts are cached without being asked; `prompt_cache_retention` is the one field of every model for longer.
OPENAI: Final = Dialect(
    name="openai",
    vendor=vendors.OPENAI,
    system_role="developer",
    efforts=_OPENAI_EFFORTS,
    sealed=True,
    looks_up=True,
    cache_key=True,
    cache_long=FrozenDict({"prompt_cache_retention": "24h"}),
    strict="openai",
    tool_name=NAME,
    max_tools=128,
    tool_ids=_IDS,
    files=FileRules(types=_PDF, urls=_PDF, ids=True),
)

# https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses (v1 surface, 2026-10) [D]; the address has the
# resource's name in it, and `model` is the deployment's. Recorded 2025-11 … 2026-06 [R].
AZURE: Final = Dialect(
    name="azure",
    vendor=vendors.AZURE,
    key_header="api-key",
    system_role="developer",
    efforts=_OPENAI_EFFORTS,
    sealed=True,
    looks_up=True,
    cache_key=True,
    strict="openai",
    tool_name=NAME,
    max_tools=128,
    tool_ids=_IDS,
    files=FileRules(types=_PDF, ids=True),
)

# A token of Microsoft Entra ID goes into `Authorization: Bearer` in place of `api-key`; the rest is Azure's.
AZURE_ENTRA: Final = msgspec.structs.replace(AZURE, name="azure-entra", vendor=vendors.AZURE_ENTRA, key_header="bearer")

# https://openrouter.ai/docs/api/api-reference/responses (beta, 2026-10) [D]; streams of 2026 [R]: no `event:` lines,
# comments, `[DONE]`, ids of its own, and nothing is stored.
OPENROUTER: Final = Dialect(
    name="openrouter",
    vendor=vendors.OPENROUTER,
    efforts=_OPENAI_EFFORTS,
    sealed=True,
    files=FileRules(types=_PDF, urls=_PDF),
)

# https://docs.x.ai/docs/guides/chat (2026) [D]: its first endpoint, chat completions being the old one; streams of 2026
# [R]. Reasoning comes sealed.
XAI: Final = Dialect(
    name="xai",
    vendor=vendors.XAI,
    efforts=("off", "low", "medium", "high", "xhigh"),
    sealed=True,
    cache_key=True,
    tool_name=NAME,
)

# https://huggingface.co/docs/inference-providers/guides/responses-api (2026) [D]: a router; the models are others'.
HUGGINGFACE: Final = Dialect(name="huggingface", vendor=vendors.HUGGINGFACE)

# https://docs.ollama.com/api/openai-compatibility (2026-11) [D]: nothing stored, no `tool_choice`, bytes of images.
OLLAMA: Final = Dialect(
    name="ollama",
    vendor=vendors.OLLAMA,
    requires_key=False,
    refuses=FrozenDict({"parallel_tool_calls": UNDOCUMENTED}),
    efforts=("off", "low", "medium", "high", "max"),
    tool_choices=frozenset({"auto"}),
    strict="refused",
    image_urls=False,
)

# https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html (2026-08) [D]. Before
# https://github.com/vllm-project/vllm/pull/26706 a call of the history with a `status` was refused [C].
VLLM: Final = Dialect(name="vllm", vendor=vendors.VLLM, requires_key=False, call_status=False)

# https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (2026-09) [D].
LLAMACPP: Final = Dialect(name="llamacpp", vendor=vendors.LLAMACPP, requires_key=False)

# A router or server that nobody knows: no claim is made about it, and nothing is read off its address. A developer
# message may be ignored without a word (Q158), so system text goes as `instructions` and as `system`.
GENERIC: Final = Dialect(name="generic", requires_key=False, sealed=True)

ROWS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        row.name: row
        for row in (OPENAI, AZURE, AZURE_ENTRA, OPENROUTER, XAI, HUGGINGFACE, OLLAMA, VLLM, LLAMACPP, GENERIC)
    }
)
