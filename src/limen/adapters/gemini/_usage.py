"""Token counts of an answer: snapshots merged, the wire's sums taken apart (W7).

Source: https://ai.google.dev/api/generate-content#UsageMetadata, read 2026-11-30: `promptTokenCount` includes cached
tokens, `candidatesTokenCount` excludes thoughts, `toolUsePromptTokenCount` stands beside the prompt. Counts of zero are
left out, as in all of Google's JSON, so that a count that is missing says nothing by itself.
"""

from msgspec.structs import replace

from limen.adapters.gemini._wire import WireUsage
from limen.adapters.kit import first_count, uncached
from limen.contract import TokenUsage


class UsageTotals:
    """The reports of one answer: `add` each in order, then `total` once. Each is the whole count so far."""

    __slots__ = ("_report",)

    def __init__(self) -> None:
        self._report: WireUsage | None = None

    def add(self, report: WireUsage) -> None:
        """Take one report; a count that is missing or zero does not replace one that came before."""
        old = self._report
        if old is None:
            self._report = report if _says(report) else None
            return
        if (
            report.prompt is not None
            and (report.candidates or not old.candidates)
            and (report.thoughts or not old.thoughts)
            and (report.cached or not old.cached)
            and (report.tools or not old.tools)
            and (report.prompt or not old.prompt)
        ):
            # Nearly every report says all that was said before: nothing is merged.
            self._report = report
            return
        if not _says(report):
            return
        later = {name: getattr(report, name) for name in report.__struct_fields__}
        self._report = replace(old, **{name: count for name, count in later.items() if count})

    def total(self, notes: list[str]) -> TokenUsage | None:
        """Return the disjoint counts, `None` where no report named one; doubts go to `notes` (C15)."""
        report = self._report
        if report is None:
            return None
        prompt, cached, candidates, thoughts, tools = (
            first_count(count, notes=notes)
            for count in (report.prompt, report.cached, report.candidates, report.thoughts, report.tools)
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


def _says(report: WireUsage) -> bool:
    """Tell whether a report names a count: Vertex sends some that hold the kind of traffic alone."""
    counts = (report.prompt, report.candidates, report.thoughts, report.cached, report.tools)
    return any(count is not None for count in counts)
