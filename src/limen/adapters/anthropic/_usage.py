"""Token counts of a Messages answer: reports merged (W7), passes of the model added up.

Sources, read 2026-11-30: https://platform.claude.com/docs/en/build-with-claude/streaming ("the token counts in the
usage field of message_delta are cumulative"), `…/build-with-claude/compaction` and
`…/agents-and-tools/tool-use/advisor-tool#usage-and-billing` (counts at the top are those of the answering passes).
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from limen.adapters.anthropic._wire import WireIteration, WireUsage
from limen.adapters.kit import Count, first_count, merged, with_reasoning
from limen.contract import TokenUsage

_INPUT: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
# Passes that the counts at the top leave out (NQ335). A fallback that declined, `fallback_message`, is not charged.
_BESIDE: Final = frozenset({"compaction", "advisor_message"})


def later_usage(old: WireUsage | None, new: WireUsage | None) -> WireUsage | None:
    """Return two reports as one: field by field the later value that is not null (W7).

    Counts of the input are cumulative and never fall: gateways that write a zero over a count of `message_start` do not
    know it, and the count stands, unless the same report has those tokens under another name. A zero that comes first
    is replaced (NQ339), and so is the provisional output count of `message_start`, by a zero too.
    """
    both = merged(old, new)
    if old is None or new is None or both is None or any(_grown(old, new, name) for name in _INPUT):
        return both
    return replace(both, **{name: getattr(old, name) for name in _INPUT if getattr(new, name) == 0})


def _grown(old: WireUsage, new: WireUsage, name: str) -> bool:
    before: Count = getattr(old, name)
    after: Count = getattr(new, name)
    return (after or 0) > (before or 0)


def counted(usage: WireUsage, notes: list[str]) -> TokenUsage | None:
    """Return the counts, which this wire has disjoint already; `None` where it named none, doubts in `notes` (C15)."""
    count = partial(first_count, notes=notes)
    beside = [one for one in usage.iterations or () if one.type in _BESIDE]
    details, split = usage.output_tokens_details, usage.cache_creation
    thinking = None if details is None else count(details.thinking_tokens)
    output = _with(count(usage.output_tokens), beside, "output_tokens", notes)
    output, reasoning = with_reasoning(output, thinking)
    written = count(usage.cache_creation_input_tokens)
    if written is None and split is not None:
        written = _sum(count(split.ephemeral_5m_input_tokens), count(split.ephemeral_1h_input_tokens))
    found = TokenUsage(
        input_tokens=_with(count(usage.input_tokens), beside, "input_tokens", notes),
        output_tokens=output,
        cache_read_tokens=_with(count(usage.cache_read_input_tokens), beside, "cache_read_input_tokens", notes),
        cache_write_tokens=_with(written, beside, "cache_creation_input_tokens", notes),
        reasoning_tokens=reasoning,
    )
    return None if found == TokenUsage() else found


def _with(found: int | None, beside: Sequence[WireIteration], name: str, notes: list[str]) -> int | None:
    return _sum(found, *(first_count(getattr(one, name), notes=notes) for one in beside))


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
