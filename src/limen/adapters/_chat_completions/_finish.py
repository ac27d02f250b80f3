"""How an answer ended, from the finish words that it brought (section 3, W5)."""

from collections.abc import Mapping
from typing import Final

from limen.adapters._chat_completions._reading import FinishMeaning
from limen.contract import Failure, codes, replace_surrogates, scrub

WORDS: Final[Mapping[str, FinishMeaning]] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "end": "stop",
    "COMPLETE": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_calls": "tool-calls",
    "tool_call": "tool-calls",
    "tool_use": "tool-calls",
    "function_call": "tool-calls",
    "TOOL_CALL": "tool-calls",
    "length": "max-tokens",
    "max_tokens": "max-tokens",
    "model_length": "max-tokens",
    "model_context_window_exceeded": "max-tokens",
    "content_filter": "CONTENT_FILTER",
    "refusal": "CONTENT_FILTER",
    "safety": "CONTENT_FILTER",
    "guardrail": "CONTENT_FILTER",
    "sensitive": "CONTENT_FILTER",  # Z.ai, also through gateways [D]
    "error": "SERVER",
    "network_error": "SERVER",
    "insufficient_system_resource": "SERVER",
    "abort": "SERVER",  # vLLM, SGLang: the engine gave the request up [D]
}

# Error over filter over length over calls over stop.
_RANKS: Final[Mapping[str, int]] = {"stop": 0, "tool-calls": 1, "max-tokens": 2, codes.CONTENT_FILTER: 3}
_ERROR_RANK: Final = 5
_UNKNOWN_RANK: Final = 4


class Ending:
    """Collects finish words: `add` each; `word` and `meaning` are of the weightiest so far, `None` before the first.

    A meaning that is not in `FinishMeaning` is `UNKNOWN_FINISH`.
    """

    __slots__ = ("_rank", "_words", "meaning", "word")

    def __init__(self, words: Mapping[str, FinishMeaning]) -> None:
        self._words = words
        self._rank = -1
        self.word: str | None = None
        self.meaning: str | None = None

    def add(self, word: str) -> None:
        """Take a finish word that is not empty; of equal ones the first stays."""
        meaning: str | None = self._words.get(word) or WORDS.get(word)
        if meaning is None:
            # Nobody knows what such a word may hold (E5).
            word = scrub(replace_surrogates(word))
            meaning = codes.SERVER if word.startswith("malformed_") else codes.UNKNOWN_FINISH
        rank = _UNKNOWN_RANK if meaning == codes.UNKNOWN_FINISH else _RANKS.get(meaning, _ERROR_RANK)
        if rank > self._rank:
            self._rank, self.word, self.meaning = rank, word, meaning

    def failure(self) -> Failure | None:
        """Say what failed, where the words say that something did."""
        if self.meaning is None or _RANKS.get(self.meaning, _ERROR_RANK) < _RANKS[codes.CONTENT_FILTER]:
            return None
        if self.meaning == codes.CONTENT_FILTER:
            message = f"the provider withheld or cut the answer by its filter (finish reason {self.word!r})"
        elif self.meaning == codes.UNKNOWN_FINISH:
            message = f"the answer ended with the finish reason {self.word!r}, which nobody documented"
        else:
            message = f"the provider reports that it failed (finish reason {self.word!r})"
        return Failure(message, self.meaning, phase="mid-stream", provider_code=self.word)
