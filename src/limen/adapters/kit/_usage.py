"""Token counts of a wire to disjoint ones (contract, section 1; W7)."""

from typing import Final, TypeAlias, TypeVar

import msgspec

from limen.contract import TokenUsage

Count: TypeAlias = int | float | None
S = TypeVar("S", bound=msgspec.Struct)

# A surplus of reasoning over completion up to here is rounding: OpenRouter was recorded with 11 over 10 (2026-07).
ROUNDING: Final = 5


def first_count(*places: Count, notes: list[str] | None = None) -> int | None:
    """Return the first count that is there; one below zero is nobody's count, so it is unknown.

    An integral float is a count; a fraction is none, so it is unknown too and leaves a sentence in `notes` (C15).
    """
    for count in places:
        if count is None or count < 0:
            continue
        if isinstance(count, float) and not count.is_integer():
            if notes is not None:
                notes.append(f"a token count of {count} counts as unknown")
            continue
        return int(count)
    return None


def merged(old: S | None, new: S | None) -> S | None:
    """Return two reports as one: field by field the later value that is not null (W7)."""
    if old is None or new is None:
        return new or old
    fields = {name: getattr(new, name) for name in new.__struct_fields__}
    return msgspec.structs.replace(old, **{name: value for name, value in fields.items() if value is not None})


def uncached(prompt: int | None, cached: int, written: int) -> int | None:
    """Return the uncached input of a prompt count that includes the cache's.

    Where cached tokens exceed the prompt, the wire counts them beside it and nothing is subtracted; the same holds
    for writes that do not fit into the rest.
    """
    if prompt is None or cached > prompt:
        return prompt
    rest = prompt - cached
    return rest if written > rest else rest - written


def with_reasoning(
    completion: int | None, reasoning: int | None, *, prompt: int | None = None, total: int | None = None
) -> tuple[int | None, int | None]:
    """Return output and its reasoning part, from counts where reasoning may stand beside the completion.

    A surplus of at most `ROUNDING` is clamped. A larger one, or a total that is the sum of all three, says that
    output is completion plus reasoning (xAI: 12 + 1 + 290 = 303, recorded 2026-02).
    """
    if completion is None or reasoning is None:
        return completion, reasoning
    apart = prompt is not None and total == prompt + completion + reasoning
    if apart or reasoning > completion + ROUNDING:
        return completion + reasoning, reasoning
    return completion, min(reasoning, completion)


class PromptCounts(msgspec.Struct):
    """One report of a wire whose prompt count includes the cache's."""

    prompt: int | None = None
    completion: int | None = None
    total: int | None = None
    cached: int | None = None
    written: int | None = None
    reasoning: int | None = None

    @property
    def is_empty(self) -> bool:
        """Tell whether the report has no count at all."""
        return all(getattr(self, name) is None for name in self.__struct_fields__)

    @property
    def is_zero(self) -> bool:
        """Tell whether no count of the report is above zero."""
        return not any(getattr(self, name) for name in self.__struct_fields__)


class UsageReports:
    """The usage reports of one answer: `add` each in order, then `total` once.

    `increments`: each report adds to the one before, instead of replacing it (W7). `omits_zeros`: a count that is left
    out is zero, not unknown. `cache_beside`: cached tokens always stand beside the prompt. `total_has_reasoning`:
    thinking is counted in the total only.
    """

    __slots__ = ("_cache_beside", "_increments", "_omits_zeros", "_sum", "_total_has_reasoning")

    def __init__(
        self,
        *,
        increments: bool = False,
        omits_zeros: bool = False,
        cache_beside: bool = False,
        total_has_reasoning: bool = False,
    ) -> None:
        self._increments = increments
        self._omits_zeros = omits_zeros
        self._cache_beside = cache_beside
        self._total_has_reasoning = total_has_reasoning
        self._sum: PromptCounts | None = None

    def add(self, report: PromptCounts, *, finished: bool) -> None:
        """Take one report; one without any count says nothing, nor does one of zeros before the finish word (Q173)."""
        if report.is_empty or (report.is_zero and not finished):
            return
        before = self._sum
        if before is not None and self._increments:
            for name in report.__struct_fields__:
                new, old = getattr(report, name), getattr(before, name)
                setattr(report, name, old if new is None else new + (old or 0))
        self._sum = merged(before, report)

    def total(self) -> TokenUsage | None:
        """Return the disjoint counts, or `None` where there was no report."""
        counts = self._sum
        if counts is None:
            return None
        if self._omits_zeros:
            counts = merged(PromptCounts(0, 0, 0, 0, 0, 0), counts) or counts
        prompt, completion = counts.prompt, counts.completion
        if self._total_has_reasoning and prompt is not None and completion is not None and counts.total is not None:
            # Gemini's layer: 35 prompt, 12 completion, 109 total (recorded 2025-05): 74 were generated.
            completion = max(completion, counts.total - prompt)
        output, reasoning = with_reasoning(completion, counts.reasoning, prompt=prompt, total=counts.total)
        return TokenUsage(
            input_tokens=prompt if self._cache_beside else uncached(prompt, counts.cached or 0, counts.written or 0),
            output_tokens=output,
            cache_read_tokens=counts.cached,
            cache_write_tokens=counts.written,
            reasoning_tokens=reasoning,
        )
