"""What a gateway does differently, as one row of data.

A new chat-completions gateway is a row (`_rows*.py`) and a capture, not code. Every default here is the conservative
one: what most servers take, nothing that is only known of some.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from limen.adapters._chat_completions._reading import ReadingRules
from limen.adapters._classify import ErrorRules
from limen.contract import FrozenDict, Timeouts

WIRE: Final = "openai-chat"
EFFORT: Final = "$effort"
"""Stands in an `EffortRules.level` for the effort's id."""

ReasoningField: TypeAlias = Literal["reasoning_content", "reasoning", "thinking-part", "think-tags"]
CacheMark: TypeAlias = Mapping[str, object]

OPENAI_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""OpenAI's rule for names of tools and schemas: `^[a-zA-Z0-9_-]{1,64}$` (API reference, 2026-08)."""

ALPHANUMERIC: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class ToolIdRule(msgspec.Struct, frozen=True, kw_only=True):
    """The tool-call ids that a dialect takes; others are rewritten in the request only (C9)."""

    max_length: int
    min_length: int = 1
    alphabet: str = f"{ALPHANUMERIC}_-"


class EffortRules(msgspec.Struct, frozen=True, kw_only=True):
    """How reasoning effort is spelled (R4).

    `levels` are the efforts that are known of the row as a whole, `None` where only the model knows. `level` is what
    goes into the body for an effort, with `EFFORT` in its place; `off` what turns reasoning off, `None` where the
    wire cannot.
    """

    levels: tuple[str, ...] | None = None
    level: Mapping[str, object] | None = None
    off: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        if self.levels is not None and ("off" in self.levels) > (self.off is not None):
            raise ValueError("a row that lists `off` says how it is spelled")


class CacheRules(msgspec.Struct, frozen=True, kw_only=True):
    """What asks for prompt caching: fields of the body, or a mark on text parts; `None` where nothing does."""

    short_fields: Mapping[str, object] | None = None
    long_fields: Mapping[str, object] | None = None
    short_mark: CacheMark | None = None
    long_mark: CacheMark | None = None


class Dialect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row: everything in which a gateway differs from plain chat completions."""

    name: str

    # -- where, and with which key
    base_url: str | None = None
    """What stands before `path`; `None` where every user has an address of their own."""
    path: str = "/chat/completions"
    models_path: str | None = "/models"
    key_header: Literal["bearer", "api-key"] = "bearer"
    key_variables: tuple[str, ...] = ()
    requires_key: bool = True
    min_timeouts: Timeouts | None = None

    # -- the request's fields
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed_field: Literal["seed", "random_seed"] = "seed"
    stream_usage: bool = True
    """Whether `stream_options.include_usage` may be sent (Q207)."""
    refuses: Mapping[str, str] = FrozenDict()
    """Options that the dialect ignores or answers with an error, each with the reason (Q1)."""
    max_stops: int | None = None
    response_formats: frozenset[str] = frozenset({"text", "json", "json-schema"})
    schema_name: re.Pattern[str] | None = None
    efforts: EffortRules = EffortRules(level=FrozenDict({"reasoning_effort": EFFORT}))
    cache: CacheRules = CacheRules()

    # -- tools
    tool_choices: frozenset[str] = frozenset({"auto", "none", "required", "tool"})
    forced_choice_while_reasoning: bool = True
    strict: Literal["refused", "unchecked", "openai", "deepseek"] = "unchecked"
    """Whether `strict` may be asked for, and which subset of JSON schema it then takes."""
    tool_name: re.Pattern[str] | None = None
    max_tools: int | None = None
    tool_ids: ToolIdRule | None = None
    tool_result_names: bool = False
    """Tool messages name their function beside the call's id."""

    # -- messages
    system_role: Literal["system", "developer"] = "system"
    images: Literal["yes", "listed", "no"] = "yes"
    """`listed`: only for models whose known facts say so, because the others refuse them."""
    image_urls: bool = True
    tool_images: Literal["follow", "inline"] = "follow"
    """Images of tool results: in a user message after the results, or inside the tool message."""
    empty_content: Literal["empty", "omit"] = "empty"
    """What stands for `content` beside tool calls alone; never `null` (Q3, Q141)."""
    merge_turns: bool = False
    """Neighbouring messages of one role become one, because roles must alternate (Q110)."""
    reasoning_back: ReasoningField | None = None
    """Where reasoning of earlier turns goes; `None`: only under the name it arrived under, if that is known (N4)."""
    reasoning_required: bool = False
    """Where tools are in play, every assistant turn has the field, empty where there was no reasoning (Q042)."""

    # -- the answer
    reading: ReadingRules = ReadingRules()
    errors: ErrorRules = ErrorRules()
    catalog: Literal["openai", "openrouter"] = "openai"
    """How far the model list's facts go: ids and windows, or OpenRouter's modalities and efforts."""
