"""Families of Gemini models: how their thinking is set, and what their requests may hold.

Sources, read 2026-11-30: https://ai.google.dev/gemini-api/docs/thinking (budgets and levels by model),
https://ai.google.dev/gemini-api/docs/openai (efforts as budgets: 1,024, 8,192 and 24,576 tokens),
https://ai.google.dev/gemini-api/docs/thought-signatures (validated from Gemini 3 on), and the catalogues of
pydantic-ai 2.68 and pi-ai 1.6. The first row whose pattern the model's id begins with counts.
"""

import re
from typing import Final, Literal, NamedTuple

_LOW: Final = ("low", "medium", "high")
_BUDGETS: Final = {"low": 1024, "medium": 8192, "high": 24576}


class Family(NamedTuple):
    """One family: `thinking` is set by a budget in tokens, by a level, or not at all; `efforts` are those it has.

    `efforts` of `None` are unknown. `modern` is Gemini 3 and later: signatures are validated, results hold images.
    """

    pattern: "re.Pattern[str]"
    thinking: Literal["budget", "level", "none"]
    efforts: tuple[str, ...] | None
    modern: bool = True

    @property
    def ignores_sampling(self) -> bool:
        """Tell whether temperature and top_p are accepted and ignored."""
        return self.pattern.pattern in _IGNORES_SAMPLING


def _row(pattern: str, thinking: Literal["budget", "level", "none"], *efforts: str, modern: bool = True) -> Family:
    return Family(re.compile(pattern), thinking, efforts, modern)


# https://ai.google.dev/gemini-api/docs/models: "temperature, topP and topK are ignored", from 3.5-flash-lite on.
_IGNORES_SAMPLING: Final = (r"gemini-3\.5-flash-lite|gemini-3\.6-flash", r"gemini-3\.[78]-flash")


_FAMILIES: Final = (
    _row(r"gemini-2\.5-flash-image|gemini-[12]\.[05]-(?!pro|flash)|gemini-[12]\.0|gemini-1|gemma-[123]", "none",
         modern=False),
    _row(r"gemini-2\.5-pro", "budget", *_LOW, modern=False),
    _row(r"gemini-2\.5-flash", "budget", "off", *_LOW, modern=False),
    _row(r"gemini-3-pro", "level", "low", "high"),
    _row(r"gemini-3\.1-pro", "level", *_LOW),
    _row(r"gemini-3\.1-flash(?:-lite)?-image|gemma-4", "level", "minimal", "high"),
    _row(_IGNORES_SAMPLING[1], "level", *_LOW),
    _row(_IGNORES_SAMPLING[0], "level", "minimal", *_LOW),
    _row(r"gemini-3(?:\.[1-6])?-flash", "level", "minimal", *_LOW),
    _row(r"gemini-4-(?:argon|carbon)", "level", *_LOW),
    _row(r"gemini-4-(?:hydrogen|neon)", "level", *_LOW, "xhigh"),
)  # fmt: skip
# Of a model that no row names nothing is known but that the present wire sets thinking by a level.
_UNKNOWN: Final = Family(re.compile(""), "level", None)


def family_of(model: str) -> Family:
    """Return the family of a model's id, with or without `models/` before it."""
    name = model.rpartition("/")[2]
    return next((row for row in _FAMILIES if row.pattern.match(name)), _UNKNOWN)


def thinking_config(family: Family, effort: str) -> dict[str, object] | None:
    """Return the `thinkingConfig` of an effort, `None` where the family has no such effort."""
    if effort == "off":
        # https://ai.google.dev/gemini-api/docs/thinking#set-budget: 0 turns thinking off
        return None if family.thinking == "none" else {"thinkingBudget": 0}
    if family.thinking == "level":
        return {"includeThoughts": True, "thinkingLevel": effort.upper()}
    budget = _BUDGETS.get(effort) if family.thinking == "budget" else None
    return None if budget is None else {"includeThoughts": True, "thinkingBudget": budget}
