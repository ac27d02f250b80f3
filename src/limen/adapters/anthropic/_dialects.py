"""Dialects of Anthropic Messages: rows of data, no code.

Sources, read 2026-11-30: https://platform.claude.com/docs/en/api/overview, `…/build-with-claude/claude-on-vertex-ai`
and `…/claude-in-microsoft-foundry`; https://api-docs.deepseek.com/guides/anthropic_api; https://platform.moonshot.ai/docs;
https://docs.z.ai; https://platform.minimax.io/docs/api-reference/text-anthropic-api; https://openrouter.ai/docs;
https://vercel.com/docs/ai-gateway; https://docs.fireworks.ai; https://docs.ollama.com/api/anthropic-compatibility;
https://docs.vllm.ai. A host that ignores a field in silence is a host where the field is refused (Q1).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias

from limen.adapters import _vendors as vendors
from limen.adapters._codec import Row
from limen.adapters.anthropic._wire import WIRE
from limen.adapters.kit import FileRules
from limen.adapters.kit.errors import ErrorRow
from limen.contract import FrozenDict, codes

# How an effort is sent: with adaptive thinking switched on beside it, or alone.
EffortStyle: TypeAlias = Literal["adaptive", "alone"]

VERSION: Final = "2023-06-01"
# https://platform.claude.com/docs/en/api/versioning: 2026-10-21 removed temperature, top_p and top_k from the body.
WITHOUT_SAMPLING: Final = frozenset({"2026-10-21"})


class Dialect(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dialect; every default is Anthropic's own.

    - `path` follows the base URL; where it holds `{model}`, the model goes there and not into the body.
    - `version` is the header `anthropic-version`, `body_version` the body's `anthropic_version` in its place; `betas`
      are names for the header `anthropic-beta`.
    - `efforts`: what every model of the host knows, `None` where only the model knows (R4). `display` asks for
      readable thinking, which newer models withhold unless asked.
    - `empty_signatures`: the host's own thinking comes unsigned and is taken back so.
    - `system_turns`: a system message may stand inside the history.
    - `strict`: the subset of JSON schema that strict tools and answers are held to; `unchecked` sends any schema.
    - `root_combinators`: a tool's schema may have `anyOf` and its kind at its root.
    - `tool_choices`: the choices that the host acts on; `tool` stands for a named one.
    - `cache_tools`, `cache_long`: whether tools take a cache mark, and whether a mark may last an hour.
    - `session_header`: the header that carries `session_id`.
    - `frames`: the events come in Amazon's event stream, and betas go into the body.
    """

    wire: ClassVar[str] = WIRE
    # 404 {"type":"not_found_error","message":"model: claude-x"} [R]
    wire_errors: ClassVar[tuple[ErrorRow, ...]] = (
        ErrorRow(codes.MODEL_NOT_FOUND, words=frozenset({"not_found_error"}), sentence=re.compile(r"^model: ")),
    )
    # https://platform.claude.com/docs/en/build-with-claude/vision
    image_types: ClassVar[frozenset[str] | None] = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

    path: str = "/v1/messages"
    key_header: str = "x-api-key"
    version: str | None = VERSION
    body_version: str | None = None
    betas: tuple[str, ...] = ()
    efforts: tuple[str, ...] | None = None
    effort_style: EffortStyle = "adaptive"
    display: str | None = None
    empty_signatures: bool = False
    system_turns: bool = False
    root_combinators: bool = True
    strict: Literal["unchecked", "anthropic"] = "unchecked"
    tool_choices: frozenset[str] = frozenset({"auto", "none", "required", "tool"})
    cache_tools: bool = True
    cache_long: bool = True
    session_header: str | None = None
    frames: bool = False


_NO_FORMAT: Final = "its documentation knows no structured output"
_NO_STRICT: Final = "its documentation knows no strict tools"

# https://platform.claude.com/docs/en/build-with-claude/pdf-support and `…/files` (read 2026-11-30): PDF as data, by
# address or by id, text as it is. Vertex has no Files API, and no page says that it fetches addresses.
_DATA: Final = frozenset({"application/pdf", "text/plain"})
_DOCUMENTS: Final = FileRules(types=_DATA, urls=frozenset({"application/pdf"}), ids=True)

ANTHROPIC: Final = Dialect(
    name="anthropic",
    vendor=vendors.ANTHROPIC,
    models_path="/v1/models?limit=1000",
    display="summarized",
    system_turns=True,
    root_combinators=False,
    strict="anthropic",
    files=_DOCUMENTS,
)

_ROWS: Final = (
    ANTHROPIC,
    # base_url: https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}; the key is an
    # access token of Google's, which lives an hour: give a CredentialSource.
    Dialect(
        name="vertex",
        key_header="bearer",
        path="/publishers/anthropic/models/{model}:streamRawPredict",
        version=None,
        body_version="vertex-2023-10-16",
        display="summarized",
        system_turns=True,
        root_combinators=False,
        strict="anthropic",
        files=FileRules(types=_DATA),
    ),
    # InvokeModelWithResponseStream: the events of this wire, each in base64 inside of a frame; the body's version and
    # its array `anthropic_beta` by https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
    Dialect(
        name="bedrock",
        vendor=vendors.BEDROCK_INVOKE,
        key_header="bearer",
        path="/model/{model}/invoke-with-response-stream",
        models_path="/foundation-models?byOutputModality=TEXT&byProvider=anthropic",
        version=None,
        body_version="bedrock-2023-05-31",
        display="summarized",
        root_combinators=False,
        image_urls=False,
        files=FileRules(types=_DATA),
        frames=True,
    ),
    # base_url: https://{resource}.services.ai.azure.com/anthropic
    Dialect(
        name="azure",
        vendor=vendors.FOUNDRY,
        display="summarized",
        root_combinators=False,
        strict="anthropic",
        files=_DOCUMENTS,
    ),
    Dialect(
        name="deepseek",
        vendor=vendors.DEEPSEEK,
        effort_style="alone",
        empty_signatures=True,
        images="no",
        refuses=FrozenDict(
            {
                "cache": "it caches by itself and ignores cache_control",
                "parallel_tool_calls": "it ignores disable_parallel_tool_use",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
    ),
    Dialect(
        name="moonshot",
        vendor=vendors.MOONSHOT,
        key_header="bearer",
        effort_style="alone",
        empty_signatures=True,
        refuses=FrozenDict(
            {
                "temperature": "its models fix their sampling",
                "top_p": "its models fix their sampling",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
    ),
    Dialect(
        name="zai",
        vendor=vendors.ZAI,
        empty_signatures=True,
        refuses=FrozenDict({"response_format": _NO_FORMAT, "strict": _NO_STRICT}),
    ),
    Dialect(
        name="minimax",
        vendor=vendors.MINIMAX,
        key_header="bearer",
        efforts=(),
        empty_signatures=True,
        refuses=FrozenDict(
            {
                "stop": "it ignores stop_sequences",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
    ),
    Dialect(name="openrouter", vendor=vendors.OPENROUTER, key_header="bearer", session_header="x-session-id"),
    Dialect(name="vercel", vendor=vendors.VERCEL, key_header="bearer", empty_signatures=True),
    Dialect(
        name="fireworks",
        vendor=vendors.FIREWORKS,
        key_header="bearer",
        empty_signatures=True,
        cache_tools=False,
        cache_long=False,
        refuses=FrozenDict({"response_format": _NO_FORMAT, "strict": _NO_STRICT}),
    ),
    Dialect(
        name="ollama",
        vendor=vendors.OLLAMA,
        requires_key=False,
        efforts=(),
        empty_signatures=True,
        image_urls=False,
        refuses=FrozenDict(
            {
                "tool_choice": "its documentation lists tool_choice as not supported",
                "parallel_tool_calls": "its documentation lists tool_choice as not supported",
                "cache": "its documentation lists cache_control as not supported",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
    ),
    # vllm/entrypoints/anthropic/protocol.py and serving.py of 0.32.0 (read 2026-11-30; output_config since 0.22, by
    # https://github.com/vllm-project/vllm/pull/42396): efforts go to the chat template, thinking disabled as `none`.
    Dialect(
        name="vllm",
        vendor=vendors.VLLM,
        requires_key=False,
        key_header="bearer",
        efforts=("off", "low", "medium", "high", "xhigh", "max"),
        effort_style="alone",
        empty_signatures=True,
        refuses=FrozenDict({"cache": "it caches by itself and knows no cache_control"}),
    ),
    # tools/server/server-chat.cpp of b11434, server_chat_convert_anthropic_to_oai (read 2026-11-30): thinking comes
    # without a signature and is taken back; a named tool is asked for as `required`, `none` is passed over.
    Dialect(
        name="llamacpp",
        vendor=vendors.LLAMACPP,
        requires_key=False,
        key_header="bearer",
        efforts=(),
        empty_signatures=True,
        tool_choices=frozenset({"auto", "required"}),
        refuses=FrozenDict(
            {
                "cache": "it caches by itself and ignores cache_control",
                "parallel_tool_calls": "it ignores disable_parallel_tool_use",
                "response_format": "it ignores output_config",
                "strict": "it ignores strict",
            }
        ),
    ),
    Dialect(name="generic", requires_key=False),
)

ROWS: Final[Mapping[str, Dialect]] = MappingProxyType({row.name: row for row in _ROWS})
