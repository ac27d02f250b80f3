"""Token counts of the wire to disjoint ones (section 1, W7)."""

from typing import Final

from limen.adapters._chat_completions._reading import ReadingRules
from limen.adapters._chat_completions._wire import Count, InputDetails, OutputDetails, Usage
from limen.contract import TokenUsage

# A surplus of reasoning over completion up to here is rounding: OpenRouter was recorded with 11 over 10 (2026-07).
ROUNDING: Final = 5

_NO_INPUT: Final = InputDetails()
_NO_OUTPUT: Final = OutputDetails()


class Counts:
    """The reports of one answer: `add` each in order, then `total` once."""

    __slots__ = ("_counts", "_rules")

    def __init__(self, rules: ReadingRules) -> None:
        self._rules = rules
        # prompt, completion, total, cached, written, reasoning
        self._counts: list[int | None] | None = None

    def add(self, report: Usage, *, finished: bool) -> None:
        """Take one report. Raises `ValueError` for a number that is no count.

        A report without any count says nothing, and so does one of zeros before the finish word (Q173).
        """
        found = _counts(report)
        if not any(found) and (not finished or found.count(None) == len(found)):
            return
        before = self._counts
        if before is None:
            self._counts = found
        elif self._rules.usage_increments:
            self._counts = [old if new is None else new + (old or 0) for new, old in zip(found, before, strict=True)]
        else:
            self._counts = [old if new is None else new for new, old in zip(found, before, strict=True)]

    def total(self) -> TokenUsage | None:
        """Return what the reports add up to, or `None` where there was none."""
        if self._counts is None:
            return None
        counts = [count or 0 for count in self._counts] if self._rules.usage_omits_zeros else self._counts
        prompt, completion, total, cached, written, reasoning = counts
        output, reasoning = self._output(prompt, completion, total, reasoning)
        return TokenUsage(
            input_tokens=self._input(prompt, cached or 0, written or 0),
            output_tokens=output,
            cache_read_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=reasoning,
        )

    def _input(self, prompt: int | None, cached: int, written: int) -> int | None:
        if prompt is None or self._rules.cache_beside_prompt or cached > prompt:
            return prompt
        uncached = prompt - cached
        # Writes that do not fit into what is left stand beside the prompt, as reads that exceed it do.
        return uncached if written > uncached else uncached - written

    def _output(
        self, prompt: int | None, completion: int | None, total: int | None, reasoning: int | None
    ) -> tuple[int | None, int | None]:
        if completion is None:
            return None, reasoning
        if self._rules.usage_total_has_reasoning and prompt is not None and total is not None:
            # Gemini's layer: 35 prompt, 12 completion, 109 total (recorded 2025-05): 74 were generated.
            completion = max(completion, total - prompt)
        if reasoning is None:
            return completion, None
        # xAI: 12 + 1 + 290 = 303 (recorded 2026-02).
        apart = prompt is not None and total == prompt + completion + reasoning
        if apart or reasoning > completion + ROUNDING:
            return completion + reasoning, reasoning
        return completion, min(reasoning, completion)


def _counts(report: Usage) -> list[int | None]:
    prompt = report.prompt_tokens_details or _NO_INPUT
    completion = report.completion_tokens_details or _NO_OUTPUT
    return [
        _first(report.prompt_tokens),
        _first(report.completion_tokens),
        _first(report.total_tokens),
        _first(
            prompt.cached_tokens,
            report.prompt_cache_hit_tokens,
            report.cached_tokens,
            report.cache_read_input_tokens,
            report.num_cached_tokens,
        ),
        _first(prompt.cache_write_tokens, prompt.cache_creation_input_tokens, report.cache_creation_input_tokens),
        _first(completion.reasoning_tokens, report.reasoning_tokens),
    ]


def _first(*places: Count) -> int | None:
    """Return the first count that is there; one below zero is nobody's count, so it is unknown."""
    for count in places:
        if count is None or count < 0:
            continue
        if isinstance(count, float) and not count.is_integer():
            raise ValueError(f"a token count of {count}")
        return int(count)
    return None
