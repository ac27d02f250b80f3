"""Tool-call ids for a dialect that does not take every id (C9)."""

import hashlib
from typing import Final

from limen.adapters._chat_completions._dialect import ToolIdRule

# Where the rule leaves the choice: long enough that two ids never share a hash in practice. Mistral's nine
# characters do not reach so far, so a clash is looked for.
_MADE_LENGTH: Final = 24


class ToolIds:
    """One request's mapping from ids to what goes on the wire: call and result alike, and never two to one.

    An id that the rule takes stays as it is; another becomes hexadecimal digits of its hash, so the same id
    gives the same bytes in the next request and a provider's prompt cache still fits.
    """

    __slots__ = ("_alphabet", "_made", "_rule", "_taken")

    def __init__(self, rule: ToolIdRule) -> None:
        self._rule = rule
        self._alphabet = frozenset(rule.alphabet)
        self._made: dict[str, str] = {}
        self._taken: set[str] = set()

    def __getitem__(self, call_id: str) -> str:
        known = self._made.get(call_id)
        if known is not None:
            return known
        fits = self._rule.min_length <= len(call_id) <= self._rule.max_length and self._alphabet.issuperset(call_id)
        made = call_id if fits else self._make(call_id, 0)
        attempt = 0
        while made in self._taken:
            attempt += 1
            made = self._make(call_id, attempt)
        self._taken.add(made)
        self._made[call_id] = made
        return made

    def _make(self, call_id: str, attempt: int) -> str:
        digest = hashlib.sha256(f"{attempt}:{call_id}".encode("utf-8", "surrogatepass")).hexdigest()
        return digest[: min(self._rule.max_length, _MADE_LENGTH)]
