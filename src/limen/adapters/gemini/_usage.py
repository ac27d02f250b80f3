"""Token counts of an answer: snapshots merged, the wire's sums taken apart (W7).

Source: https://ai.google.dev/api/generate-content#UsageMetadata, read 2026-11-30: `promptTokenCount` includes cached
tokens, `candidatesTokenCount` excludes thoughts, `toolUsePromptTokenCount` stands beside the prompt. Counts of zero are
left out, as in all of Google's JSON, so that a count that is missing says nothing by itself.
"""

from limen.adapters.gemini._wire import WireUsage
from limen.adapters.kit import Count, first_count, uncached
from limen.contract import TokenUsage


class UsageTotals:
    """The reports of one answer: `add` each in order, then `total` once. Each is the whole count so far."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, Count] = {}

    def add(self, report: WireUsage) -> None:
        """Take one report; a count that is missing or zero does not replace one that came before."""
        counts = self._counts
        for name, count in (
            ("prompt", report.prompt),
            ("cached", report.cached),
            ("candidates", report.candidates),
            ("thoughts", report.thoughts),
            ("tools", report.tools),
        ):
            if count or (count is not None and name not in counts):
                counts[name] = count

    def total(self, notes: list[str]) -> TokenUsage | None:
        """Return the disjoint counts, `None` where no report named one; doubts go to `notes` (C15)."""
        if not self._counts:
            return None
        prompt, cached, candidates, thoughts, tools = (
            first_count(self._counts.get(name), notes=notes)
            for name in ("prompt", "cached", "candidates", "thoughts", "tools")
        )
        fresh = uncached(prompt, cached or 0, 0)
        if tools is not None:
            fresh = (fresh or 0) + tools
        output = candidates
        if thoughts is not None:
            output = (candidates or 0) + thoughts
        if output is None and prompt is not None:
            # A count of zero is left out.
            output = 0
        return TokenUsage(input_tokens=fresh, output_tokens=output, cache_read_tokens=cached, reasoning_tokens=thoughts)
