"""The row type of the wire `openai-chat`: everything in which a gateway differs from plain chat completions.

A new chat-completions gateway is a row (`_vendors.py`, `_hosts.py`) and a capture, not code. Every default here is the
conservative one: accepted by most servers, and nothing that is known of only some.
"""

import re
from collections.abc import Mapping
from typing import ClassVar, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from limen.adapters._codec import Row
from limen.adapters._vendors import CHAT
from limen.adapters.kit import FinishMeaning, ToolIdRule
from limen.contract import FrozenDict

EFFORT: Final = "$effort"
"""Stands in an `EffortRules.level` for the effort's id."""

ReasoningField: TypeAlias = Literal["reasoning_content", "reasoning", "thinking-part", "think-tags"]
CacheMark: TypeAlias = Mapping[str, object]
ReasoningSource: TypeAlias = Literal["reasoning_content", "reasoning", "reasoning_text", "reasoning_details"]
ErrorPlace: TypeAlias = Literal["choice", "x_groq", "base_resp"]
StopField: TypeAlias = Literal["stop_reason", "matched_stop"]


class EffortRules(msgspec.Struct, frozen=True, kw_only=True):
    """Spelling of a reasoning effort (R4).

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
    """The fields of the body, or the mark on text parts, that ask for prompt caching; `None` where nothing does."""

    short_fields: Mapping[str, object] | None = None
    long_fields: Mapping[str, object] | None = None
    short_mark: CacheMark | None = None
    long_mark: CacheMark | None = None


class ReadingRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Differences of a dialect's answers from plain chat completions; every default is the conservative one.

    What needs no word here because it is the same for all: names of usage details, usage in the choice or in
    `x_groq`, `function_call`, ids inside `function`, content as parts, errors at the top level (W1).
    """

    reasoning_fields: tuple[ReasoningSource, ...] = (
        "reasoning_content",
        "reasoning",
        "reasoning_text",
        "reasoning_details",
    )
    """Fields that may hold reasoning, in order; the first that is not empty wins, delta by delta (W9)."""

    end_marker: Literal["required", "optional"] = "optional"
    """Tell whether `[DONE]` always comes: if so, an end of body without it is `STREAM_CLOSED` (W6)."""

    finish_required: bool = False
    """The server always names a finish reason: a marker without one is `STREAM_CLOSED`, else it is a stop (W6)."""

    usage_increments: bool = False
    """Each usage report adds to the one before, instead of replacing it (W7)."""

    usage_omits_zeros: bool = False
    """A count that a usage report leaves out is zero, not unknown (W7)."""

    usage_total_has_reasoning: bool = False
    """Thinking is counted in `total_tokens` only, so output is total minus prompt."""

    cache_beside_prompt: bool = False
    """Cached tokens stand beside `prompt_tokens`, always; else only where they exceed it (section 1)."""

    think_tags: bool = False
    """`<think>…</think>` at the beginning of the text is reasoning (W9)."""

    cumulative_text: bool = False
    """Each text and reasoning delta repeats all text before it (W10)."""

    references: bool = False
    """Parts of the type `reference` in the content are kept for the replay (C14); else they are left out."""

    error_places: tuple[ErrorPlace, ...] = ()
    """Places beside the top level where an error ends the stream (W1)."""

    finish_words: Mapping[str, FinishMeaning] = FrozenDict()
    """Finish words of this dialect alone; the words of section 3 are known to all."""

    stop_fields: tuple[StopField, ...] = ()
    """Fields of the choice that name the stop sequence that matched; a text in one makes an empty stop legal (C12)."""

    def __post_init__(self) -> None:
        force_setattr(self, "finish_words", FrozenDict(self.finish_words))


PLAIN: Final = ReadingRules()

PDF: Final = frozenset({"application/pdf"})
SOUNDS: Final = frozenset({"audio/wav", "audio/mpeg"})


class Dialect(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the wire; what every wire has stands in `Row`."""

    wire: ClassVar[str] = CHAT

    path: str = "/chat/completions"
    models_path: str | None = "/models"

    # -- the request's fields
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    beside_max_tokens: Mapping[str, object] = FrozenDict()
    """Fields that go with an output cap and keep the host from lowering it; `extra` may set them otherwise (Q1)."""
    seed_field: Literal["seed", "random_seed"] = "seed"
    stream_usage: bool = True
    """Tell whether `stream_options.include_usage` may be sent (Q207)."""
    max_stops: int | None = None
    response_formats: frozenset[str] = frozenset({"text", "json", "json-schema"})
    schema_name: re.Pattern[str] | None = None
    efforts: EffortRules = EffortRules(level=FrozenDict({"reasoning_effort": EFFORT}))
    cache: CacheRules = CacheRules()

    # -- tools
    tool_choices: frozenset[str] = frozenset({"auto", "none", "required", "tool"})
    forced_choice_while_reasoning: bool = True
    strict: Literal["refused", "unchecked", "openai", "deepseek"] = "unchecked"
    """Tell whether `strict` may be asked for, and which subset of JSON schema it then takes."""
    tool_name: re.Pattern[str] | None = None
    max_tools: int | None = None
    tool_ids: ToolIdRule | None = None
    tool_result_names: bool = False
    """Tool messages name their function beside the call's id."""

    # -- messages
    system_role: Literal["system", "developer"] = "system"
    tool_images: Literal["follow", "inline"] = "follow"
    """Images of tool results: in a user message after the results, or inside the tool message."""
    empty_content: Literal["empty", "omit"] = "empty"
    """Stand-in for `content` beside tool calls alone; never `null` (Q3, Q141)."""
    documents: Literal["file", "document_url"] = "file"
    """Form of a document: OpenAI's `file`, or Mistral's `document_url` and `file`."""
    mistral_turns: bool = False
    """Mistral's order of turns: none of the user right behind a tool result, and `prefix` on a last assistant turn."""
    merge_turns: bool = False
    """Neighbouring messages of one role become one, because roles must alternate (Q110)."""
    reasoning_back: ReasoningField | None = None
    """Field for reasoning of earlier turns; `None`: only under the name it arrived under, if that is known (N4)."""
    empty_turns: Literal["sent", "left out"] = "sent"
    """Fate of an assistant turn without text and calls; one that is left out is reported (NQ340)."""
    reasoning_filler: str = ""
    """Stands for reasoning that an assistant turn must have and has not (`reasoning_required`)."""
    reasoning_required: bool = False
    """Reasoning on every assistant turn where tools are in play, empty where there was none (Q042)."""

    # -- the answer
    reading: ReadingRules = ReadingRules()
    catalog: Literal["openai", "openrouter", "mistral"] = "openai"
    """Extent of the model list's facts: ids and windows, OpenRouter's modalities and efforts, Mistral's `vision`."""
