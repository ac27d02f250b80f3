"""Tool-call ids: made where a wire has none or repeats one, rewritten where a wire refuses one (C9, C10)."""

import hashlib
from typing import Final

import msgspec

from limen.contract import IdSeed

ALPHANUMERIC: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

# Hexadecimal digits of a rewritten id where the rule leaves the choice: two ids do not share so many in practice.
# Mistral's nine characters are fewer, so a clash is looked for.
_REWRITTEN_LENGTH: Final = 24


class CallIds:
    """The ids of one answer's tool calls: the wire's own where it is new, else a made one (C9, C10).

    `seed` is what made ids are derived from; a callable is asked only if an id must be made.
    """

    __slots__ = ("_seed", "used")

    def __init__(self, seed: IdSeed) -> None:
        self._seed = seed
        self.used: set[str] = set()

    def take(self, native: str, ordinal: int) -> str:
        """Return the id of the call number `ordinal`, whose id on the wire is `native` (empty: none)."""
        if not native or native in self.used:
            return self.make(ordinal)
        self.used.add(native)
        return native

    def make(self, ordinal: int) -> str:
        """Make an id: `limen_` and 16 hexadecimal digits; the same seed and ordinal give the same id."""
        seed = self._seed() if callable(self._seed) else self._seed
        digest = hashlib.sha256(seed + b"\x00" + str(ordinal).encode()).hexdigest()
        made = f"limen_{digest[:16]}"
        self.used.add(made)
        return made


class ToolIdRule(msgspec.Struct, frozen=True, kw_only=True):
    """The tool-call ids that a wire takes; others are rewritten in the request only (C9).

    `unique` says that an id may not come again in a later turn of the same request.
    """

    max_length: int
    min_length: int = 1
    alphabet: str = f"{ALPHANUMERIC}_-"
    unique: bool = False


class OutgoingIds:
    """One request's mapping from ids of the history to ids on the wire: call and result alike, never two to one.

    An id that the rule takes stays as it is; another becomes hexadecimal digits of its hash, so that the same history
    gives the same bytes in the next request and a provider's prompt cache still fits.
    """

    __slots__ = ("_alphabet", "_attempts", "_rule", "_taken", "_turn")

    def __init__(self, rule: ToolIdRule) -> None:
        self._rule = rule
        self._alphabet = frozenset(rule.alphabet)
        self._turn: dict[str, str] = {}
        self._taken: set[str] = set()
        # Attempts by id, so that an id that every turn uses anew (llama.cpp's) costs no more each time.
        self._attempts: dict[str, int] = {}

    def next_turn(self) -> None:
        """Begin an assistant's turn: results that follow answer its calls."""
        if self._rule.unique:
            self._turn = {}

    def __getitem__(self, call_id: str) -> str:
        known = self._turn.get(call_id)
        if known is not None:
            return known
        fits = self._rule.min_length <= len(call_id) <= self._rule.max_length and self._alphabet.issuperset(call_id)
        attempt = self._attempts.get(call_id, 0)
        made = call_id if fits and not attempt else self._rewritten(call_id, attempt)
        while made in self._taken:
            attempt += 1
            made = self._rewritten(call_id, attempt)
        self._attempts[call_id] = attempt
        self._taken.add(made)
        self._turn[call_id] = made
        return made

    def _rewritten(self, call_id: str, attempt: int) -> str:
        digest = hashlib.sha256(f"{attempt}:{call_id}".encode("utf-8", "surrogatepass")).hexdigest()
        return digest[: min(self._rule.max_length, _REWRITTEN_LENGTH)]
