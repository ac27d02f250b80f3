"""Token counts: reports merged, counts made disjoint (contract, section 1; W7)."""

import pytest

from limen.adapters.kit import PromptCounts, UsageReports, first_count, merged, uncached, with_reasoning
from limen.contract import TokenUsage


@pytest.mark.parametrize(
    ("places", "found"), [((None, 3), 3), ((-1, 4), 4), ((2.0,), 2), ((0, 5), 0), ((), None), ((None,), None)]
)
def test_first_count(places: tuple[int | float | None, ...], found: int | None) -> None:
    """The first count that is there; one below zero is nobody's, an integral float is a count."""
    assert first_count(*places) == found


def test_a_fraction_is_no_count() -> None:
    """A fraction of a token is unknown, the next place counts, and a sentence says so (C15)."""
    notes: list[str] = []

    assert (first_count(1.5, 3, notes=notes), first_count(float("inf"))) == (3, None)
    assert notes == ["a token count of 1.5 counts as unknown"]


@pytest.mark.parametrize(
    ("prompt", "cached", "written", "left"),
    [(100, 40, 0, 60), (100, 40, 20, 40), (100, 40, 80, 60), (100, 140, 0, 100), (None, 4, 0, None), (5, 5, 0, 0)],
)
def test_uncached(prompt: int | None, cached: int, written: int, left: int | None) -> None:
    """Cache counts within the prompt are subtracted; those beside it are not."""
    assert uncached(prompt, cached, written) == left


@pytest.mark.parametrize(
    ("completion", "reasoning", "prompt", "total", "found"),
    [
        (10, None, None, None, (10, None)),
        (None, 4, None, None, (None, 4)),
        (10, 4, 5, 15, (10, 4)),
        (10, 11, None, None, (10, 10)),
        (10, 16, None, None, (26, 16)),
        (1, 290, 12, 303, (291, 290)),
        (10, 4, 5, 19, (14, 4)),
    ],
)
def test_with_reasoning(
    completion: int | None,
    reasoning: int | None,
    prompt: int | None,
    total: int | None,
    found: tuple[int | None, int | None],
) -> None:
    """A surplus of at most five is rounding; a larger one, or a total of all three, adds up."""
    assert with_reasoning(completion, reasoning, prompt=prompt, total=total) == found


def test_merged_takes_the_last_value_of_each_field() -> None:
    """Field by field the last value that is not null stands (W7)."""
    old, new = PromptCounts(1, 2), PromptCounts(completion=0, cached=7)

    assert merged(old, new) == PromptCounts(1, 0, cached=7)
    assert (merged(None, new), merged(old, None), merged(None, None)) == (new, old, None)


def test_reports() -> None:
    """Empty reports, and zeros before the finish word, say nothing (Q173)."""
    usage = UsageReports()
    usage.add(PromptCounts(), finished=True)
    usage.add(PromptCounts(0, 0), finished=False)
    assert usage.total() is None
    usage.add(PromptCounts(0, 0), finished=True)
    assert usage.total() == TokenUsage(input_tokens=0, output_tokens=0)


def test_increments_add_up() -> None:
    """Where a row says so, each report adds to the one before (W7)."""
    usage = UsageReports(increments=True)
    usage.add(PromptCounts(10, 1), finished=False)
    usage.add(PromptCounts(None, 2), finished=False)

    assert usage.total() == TokenUsage(input_tokens=10, output_tokens=3)


def test_left_out_counts_may_be_zeros() -> None:
    """Where a row says so, a count that is left out is zero; else it is unknown (W7)."""
    usage = UsageReports(omits_zeros=True)
    usage.add(PromptCounts(10), finished=True)

    assert usage.total() == TokenUsage(10, 0, 0, 0, 0)


def test_cache_beside_the_prompt_and_thinking_in_the_total() -> None:
    """Where a row says so, cached tokens never count as prompt, and output is total minus prompt."""
    usage = UsageReports(cache_beside=True, total_has_reasoning=True)
    usage.add(PromptCounts(35, 12, 109, cached=20), finished=True)

    assert usage.total() == TokenUsage(input_tokens=35, output_tokens=74, cache_read_tokens=20)
