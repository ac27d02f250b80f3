"""Rows of a batch: what goes in, and what comes out."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from limen.contract import Failure, GenerateOptions, Response, TokenUsage

RowId: TypeAlias = str | int
"""Name of a row as its author gave it; rows are known by their line, not by it (B2)."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row to ask: its request, or the failure that kept it from being read; `line` counts from 1."""

    line: int
    options: GenerateOptions | None = None
    id: RowId | None = None
    failure: Failure | None = None

    def __post_init__(self) -> None:
        if (self.options is None) == (self.failure is None):
            raise ValueError("a row has either the options of a request, or the failure that kept it from being read")


class RowResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Outcome of one row: `response` or `failure` (B1).

    `usage` is what all attempts of the row reported, those that failed too, and absent where none did; `attempts` is
    the number of requests; `duration_ms` the time from the first request to the end, waits included.
    """

    line: int
    id: RowId | None = None
    response: Response | None = None
    failure: Failure | None = None
    usage: TokenUsage | None = None
    attempts: int = 0
    duration_ms: float = 0.0


RowInput: TypeAlias = Row | GenerateOptions | Mapping[str, object] | str | bytes
"""A row, a request, or a row's JSON as text or as a mapping."""


def added(one: TokenUsage | None, other: TokenUsage | None) -> TokenUsage | None:
    """Return the sum of two usages; a count that neither knows stays unknown."""
    if one is None or other is None:
        return one or other
    sums = (_sum(getattr(one, name), getattr(other, name)) for name in TokenUsage.__struct_fields__)
    return TokenUsage(*sums)


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else one + other


def tokens_of(usage: TokenUsage | None) -> int | None:
    """Return all tokens of a usage, in and out; `None` where no count is known."""
    if usage is None:
        return None
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
