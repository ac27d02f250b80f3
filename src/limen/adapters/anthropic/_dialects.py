"""Who speaks Anthropic Messages, and how each differs: rows of data, no code.

Sources, read 2026-11-30: https://platform.claude.com/docs/en/api/overview, `…/build-with-claude/claude-on-vertex-ai`
and `…/claude-in-microsoft-foundry`; https://api-docs.deepseek.com/guides/anthropic_api; https://platform.moonshot.ai/docs;
https://docs.z.ai; https://platform.minimax.io/docs/api-reference/text-anthropic-api; https://openrouter.ai/docs;
https://vercel.com/docs/ai-gateway; https://docs.fireworks.ai; https://docs.ollama.com/api/anthropic-compatibility;
https://docs.vllm.ai. A host that ignores a field in silence is a host where the field is refused (Q1).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec

from limen.adapters._classify import ErrorRow, ErrorRules
from limen.contract import Effort, FrozenDict, codes

# How a key travels.
Auth: TypeAlias = Literal["x-api-key", "bearer"]
# How an effort is said: with adaptive thinking switched on beside it, or alone.
EffortStyle: TypeAlias = Literal["adaptive", "alone"]
# Which images a host takes.
Images: TypeAlias = Literal["all", "bytes", "none"]

# https://platform.claude.com/docs/en/api/versioning: 2026-10-21 removed temperature, top_p and top_k from the body.
VERSION: Final = "2023-06-01"
WITHOUT_SAMPLING: Final = frozenset({"2026-10-21"})

_ANTHROPIC_ERRORS: Final = ErrorRules(
    rows=(
        # 404 {"type":"not_found_error","message":"model: claude-x"} [R]
        ErrorRow(codes.MODEL_NOT_FOUND, words=frozenset({"not_found_error"}), sentence=re.compile(r"^model: ")),
    )
)


# https://docs.z.ai/api-reference/api-code (2026) [D]: {"error":{"code":"1113","message":"Insufficient balance …"}} on
# this endpoint too [R]; the HTTP status carries little.
_ZAI_ERRORS: Final = tuple(
    ErrorRow(code, words=frozenset(map(str, numbers)))
    for code, numbers in (
        (codes.AUTH, (1000, 1001, 1002, 1003, 1004, 1110, 1111, 1112, 1120, 1121, 1220)),
        (codes.QUOTA, (1113, 1304, 1308, 1309, 1310, 1311, 1313)),
        (codes.CONTEXT_WINDOW_EXCEEDED, (1261,)),
        (codes.CONTENT_FILTER, (1300, 1301)),
        (codes.MODEL_NOT_FOUND, (1211,)),
        (codes.INVALID_REQUEST, (1210, 1212, 1213, 1214, 1215, 1231)),
        (codes.RATE_LIMIT, (1302, 1303)),
        (codes.OVERLOADED, (1305,)),
        (codes.SERVER, (500, 1230, 1234)),
    )
)


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dialect; every default is Anthropic's own.

    `path` follows the base URL; where it holds `{model}`, the model goes there and not into the body. `version` is the
    header `anthropic-version`, `body_version` the body's `anthropic_version` in its place. `efforts` is what every
    model of the host knows (`None`: unknown, R4). `display` asks for readable thinking, which newer models withhold
    unless asked. `empty_signatures`: the host's own thinking comes unsigned and is taken back so. `system_turns`: a
    system message may stand inside the history. `root_combinators`: a tool's schema may have `anyOf` and its kind at
    its root. `cache_tools`, `cache_long`: where and how long prompts are cached. `refused` holds options by name, with
    the reason.
    """

    name: str
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    requires_key: bool = True
    auth: Auth = "x-api-key"
    path: str = "/v1/messages"
    models_path: str | None = None
    version: str | None = VERSION
    body_version: str | None = None
    betas: tuple[str, ...] = ()
    default_max_tokens: int = 8192
    efforts: tuple[Effort, ...] | None = None
    effort_style: EffortStyle = "adaptive"
    display: str | None = None
    empty_signatures: bool = False
    system_turns: bool = False
    root_combinators: bool = True
    images: Images = "all"
    cache_tools: bool = True
    cache_long: bool = True
    session_header: str | None = None
    refused: Mapping[str, str] = FrozenDict()
    errors: ErrorRules = _ANTHROPIC_ERRORS


_NO_FORMAT: Final = "its documentation knows no structured output"
_NO_STRICT: Final = "its documentation knows no strict tools"

ANTHROPIC: Final = Row(
    name="anthropic",
    base_url="https://api.anthropic.com",
    key_variables=("ANTHROPIC_API_KEY",),
    models_path="/v1/models?limit=1000",
    display="summarized",
    system_turns=True,
    root_combinators=False,
)

_ROWS: Final = (
    ANTHROPIC,
    # base_url: https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}; the key is an
    # access token of Google's, which lives an hour: give a CredentialSource.
    Row(
        name="vertex",
        auth="bearer",
        path="/publishers/anthropic/models/{model}:streamRawPredict",
        version=None,
        body_version="vertex-2023-10-16",
        display="summarized",
        system_turns=True,
        root_combinators=False,
    ),
    # base_url: https://{resource}.services.ai.azure.com/anthropic
    Row(
        name="azure",
        key_variables=("ANTHROPIC_FOUNDRY_API_KEY",),
        display="summarized",
        root_combinators=False,
    ),
    Row(
        name="deepseek",
        base_url="https://api.deepseek.com/anthropic",
        key_variables=("DEEPSEEK_API_KEY",),
        effort_style="alone",
        empty_signatures=True,
        images="none",
        refused=FrozenDict(
            {
                "cache": "it caches by itself and ignores cache_control",
                "parallel_tool_calls": "it ignores disable_parallel_tool_use",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
    ),
    Row(
        name="moonshot",
        base_url="https://api.moonshot.ai/anthropic",
        key_variables=("MOONSHOT_API_KEY",),
        auth="bearer",
        effort_style="alone",
        empty_signatures=True,
        refused=FrozenDict(
            {
                "temperature": "its models fix their sampling",
                "top_p": "its models fix their sampling",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
        errors=ErrorRules(
            rows=(
                # 400 Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)
                ErrorRow(
                    codes.CONTEXT_WINDOW_EXCEEDED, sentence=re.compile(r"exceeded model token limit", re.IGNORECASE)
                ),
                # 429 The engine is currently overloaded, please try again later [D 2026]
                ErrorRow(
                    codes.OVERLOADED,
                    status=frozenset({429}),
                    sentence=re.compile("engine is currently overloaded", re.IGNORECASE),
                ),
                # 403 You've reached your usage limit for this billing cycle [D 2026]
                ErrorRow(codes.QUOTA, sentence=re.compile("usage limit for this billing cycle", re.IGNORECASE)),
                *_ANTHROPIC_ERRORS.rows,
            )
        ),
    ),
    Row(
        name="zai",
        base_url="https://api.z.ai/api/anthropic",
        key_variables=("ZAI_API_KEY", "Z_AI_API_KEY", "ZHIPU_API_KEY"),
        empty_signatures=True,
        refused=FrozenDict({"response_format": _NO_FORMAT, "strict": _NO_STRICT}),
        errors=ErrorRules(rows=(*_ZAI_ERRORS, *_ANTHROPIC_ERRORS.rows)),
    ),
    Row(
        name="minimax",
        base_url="https://api.minimax.io/anthropic",
        key_variables=("MINIMAX_API_KEY",),
        auth="bearer",
        efforts=(),
        empty_signatures=True,
        refused=FrozenDict(
            {
                "stop": "it ignores stop_sequences",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
    ),
    Row(
        name="openrouter",
        base_url="https://openrouter.ai/api",
        key_variables=("OPENROUTER_API_KEY",),
        auth="bearer",
        session_header="x-session-id",
    ),
    Row(
        name="vercel",
        base_url="https://ai-gateway.vercel.sh",
        key_variables=("AI_GATEWAY_API_KEY",),
        auth="bearer",
        empty_signatures=True,
    ),
    Row(
        name="fireworks",
        base_url="https://api.fireworks.ai/inference",
        key_variables=("FIREWORKS_API_KEY",),
        auth="bearer",
        empty_signatures=True,
        cache_tools=False,
        cache_long=False,
        refused=FrozenDict({"response_format": _NO_FORMAT, "strict": _NO_STRICT}),
    ),
    Row(
        name="ollama",
        base_url="http://localhost:11434",
        requires_key=False,
        efforts=(),
        empty_signatures=True,
        images="bytes",
        refused=FrozenDict(
            {
                "tool_choice": "its documentation lists tool_choice as not supported",
                "parallel_tool_calls": "its documentation lists tool_choice as not supported",
                "cache": "its documentation lists cache_control as not supported",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
    ),
    Row(
        name="vllm",
        base_url="http://localhost:8000",
        requires_key=False,
        auth="bearer",
        efforts=(),
        empty_signatures=True,
        refused=FrozenDict(
            {
                "cache": "it caches by itself and knows no cache_control",
                "response_format": _NO_FORMAT,
                "strict": _NO_STRICT,
            }
        ),
    ),
    Row(name="generic", requires_key=False),
)

ROWS: Final[Mapping[str, Row]] = MappingProxyType({row.name: row for row in _ROWS})
