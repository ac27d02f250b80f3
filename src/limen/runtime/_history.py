"""Repair of histories (N2, N3)."""

from collections.abc import Sequence

from limen.contract import Message


def repair_history(messages: Sequence[Message]) -> tuple[list[Message], tuple[tuple[int, str], ...]]:
    """Return a copy that passes the history check, and what was done: `(message index, words)` each (N2)."""
    raise NotImplementedError
