"""What reading an answer needs to know of a dialect; part of a dialect row, pure data."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from limen.contract import FrozenDict

ReasoningSource: TypeAlias = Literal["reasoning_content", "reasoning", "reasoning_text", "reasoning_details"]
ErrorPlace: TypeAlias = Literal["choice", "x_groq", "base_resp"]
StopField: TypeAlias = Literal["stop_reason", "matched_stop"]
FinishMeaning: TypeAlias = Literal[
    "stop", "tool-calls", "max-tokens", "CONTENT_FILTER", "SERVER", "OVERLOADED", "CONTEXT_WINDOW_EXCEEDED"
]


class ReadingRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a dialect's answers differ from plain chat completions; every default is the conservative one.

    What needs no word here because it is the same for all: names of usage details, usage in the choice or in
    `x_groq`, `function_call`, ids inside `function`, content as parts, errors at the top level (W1).
    """

    reasoning_fields: tuple[ReasoningSource, ...] = (
        "reasoning_content",
        "reasoning",
        "reasoning_text",
        "reasoning_details",
    )
    """Where reasoning is looked for, in order; the first that is not empty wins, delta by delta (W9)."""

    end_marker: Literal["required", "optional"] = "optional"
    """Whether `[DONE]` always comes: if so, an end of body without it is `STREAM_CLOSED` (W6)."""

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

    error_places: tuple[ErrorPlace, ...] = ()
    """Places beside the top level where an error ends the stream (W1)."""

    finish_words: Mapping[str, FinishMeaning] = FrozenDict()
    """Finish words of this dialect alone; the words of section 3 are known to all."""

    stop_fields: tuple[StopField, ...] = ()
    """Fields of the choice that name the stop sequence that matched; a text in one makes an empty stop legal (C12)."""

    def __post_init__(self) -> None:
        force_setattr(self, "finish_words", FrozenDict(self.finish_words))


PLAIN: Final = ReadingRules()
