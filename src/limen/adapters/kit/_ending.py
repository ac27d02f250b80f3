"""Endings of answers: finish words, their rank, and the outcome they amount to (C11, C12, W5).

The table of words is the contract's, for every wire; a dialect row may add words of its own.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    Failure,
    FinishReason,
    codes,
    replace_surrogates,
    scrub,
)

FinishMeaning: TypeAlias = Literal[
    "stop", "tool-calls", "max-tokens", "CONTENT_FILTER", "SERVER", "OVERLOADED", "CONTEXT_WINDOW_EXCEEDED", "TIMEOUT"
]
"""A kind of finish, or the code of the failure that a finish word stands for."""

# Words are compared without case.
FINISH_WORDS: Final[Mapping[str, FinishMeaning]] = MappingProxyType(
    {
        "stop": "stop",
        "end_turn": "stop",
        "eos": "stop",
        "end": "stop",
        "complete": "stop",
        "stop_sequence": "stop",
        "pause_turn": "stop",
        "compaction": "stop",  # Anthropic, 2026: the turn ended after a compaction block
        "tool_calls": "tool-calls",
        "tool_call": "tool-calls",
        "tool_use": "tool-calls",
        "function_call": "tool-calls",
        "length": "max-tokens",
        "max_tokens": "max-tokens",
        "model_length": "max-tokens",
        "model_context_window_exceeded": "max-tokens",
        "error_limit": "max-tokens",  # Cohere
        "repetition": "max-tokens",  # vLLM's repetition detection cut the answer [NQ329]
        "content_filter": codes.CONTENT_FILTER,
        "refusal": codes.CONTENT_FILTER,
        "safety": codes.CONTENT_FILTER,
        "prohibited_content": codes.CONTENT_FILTER,  # Gemini
        "guardrail": codes.CONTENT_FILTER,
        "guardrail_intervened": codes.CONTENT_FILTER,  # Bedrock
        "error_toxic": codes.CONTENT_FILTER,  # Cohere
        "sensitive": codes.CONTENT_FILTER,  # Z.ai, also through gateways [D]
        "error": codes.SERVER,
        "network_error": codes.SERVER,
        "insufficient_system_resource": codes.SERVER,
        "abort": codes.SERVER,  # vLLM, SGLang: the engine gave the request up [D]
        "timeout": codes.TIMEOUT,  # Cohere
    }
)

# Error over unknown word over filter over length over calls over stop.
_RANKS: Final[Mapping[str, int]] = MappingProxyType(
    {"stop": 0, "tool-calls": 1, "max-tokens": 2, codes.CONTENT_FILTER: 3, codes.UNKNOWN_FINISH: 4}
)
_ERROR_RANK: Final = 5


class Ending:
    """The finish words of one answer: `add` each; `word` and `meaning` are of the weightiest so far (W5).

    Both are `None` before the first word. A meaning outside `FinishMeaning` is `UNKNOWN_FINISH`. `words` are the
    dialect's own, in lower case, and come before the shared table.
    """

    __slots__ = ("_rank", "_words", "meaning", "word")

    def __init__(self, words: Mapping[str, FinishMeaning] = MappingProxyType({})) -> None:
        self._words = words
        self._rank = -1
        self.word: str | None = None
        self.meaning: str | None = None

    def add(self, word: str) -> bool:
        """Take a finish word that is not empty; return whether it counts: of equal ones the later does."""
        meaning = self._meaning(word)
        if meaning == codes.UNKNOWN_FINISH or word.lower() not in FINISH_WORDS:
            # Nobody knows what such a word may hold (E5).
            word = scrub(replace_surrogates(word))
        rank = _RANKS.get(meaning, _ERROR_RANK)
        if rank < self._rank:
            return False
        self._rank, self.word, self.meaning = rank, word, meaning
        return True

    def _meaning(self, word: str) -> str:
        lower = word.strip().lower()
        # "function_call_filter: MALFORMED_FUNCTION_CALL": a gateway's word before the upstream's own [NQ330].
        for part in (lower, lower.rpartition(":")[2].strip()):
            known = self._words.get(part) or FINISH_WORDS.get(part)
            if known is not None:
                return known
            if part.startswith("malformed_"):
                return codes.SERVER
        return codes.UNKNOWN_FINISH

    @property
    def is_failure(self) -> bool:
        """Tell whether the words say that the answer failed or was filtered."""
        return self._rank >= _RANKS[codes.CONTENT_FILTER]

    def failure(self, filtered: str | None = None) -> Failure | None:
        """Make the failure that the words tell of, or return `None`; `filtered` is the filter's own message."""
        if self.meaning is None or not self.is_failure:
            return None
        if self.meaning == codes.CONTENT_FILTER:
            message = filtered or f"the provider withheld or cut the answer by its filter (finish reason {self.word!r})"
        elif self.meaning == codes.UNKNOWN_FINISH:
            message = f"the answer ended with the finish reason {self.word!r}, which nobody documented"
        else:
            message = f"the provider reports that it failed (finish reason {self.word!r})"
        return Failure(message, self.meaning, phase="mid-stream", provider_code=self.word)

    def outcome(self, *, calls: bool, answered: bool, stop_matched: bool) -> FinishReason:
        """Decide how a complete answer ended whose words tell of no failure (C11, C12).

        `calls`: it holds tool calls of the client's; `answered`: it holds text that is not blank, an image, or work
        of the provider's own that is kept whole; `stop_matched`: a stop sequence ended it.
        """
        word = self.word
        if self.meaning == "max-tokens":
            return MAX_TOKENS
        if calls:
            return TOOL_CALLS
        if self.meaning == "tool-calls":
            message = f"the answer ended with {word!r} and holds no tool call"
            return _error(message, codes.MALFORMED_RESPONSE, word)
        if answered or stop_matched or word == "stop_sequence":
            return STOP
        return _error("the answer ended without text and without a tool call", codes.EMPTY_RESPONSE, word)


def _error(message: str, code: str, word: str | None) -> FinishReason:
    return FinishReason("error", Failure(message, code, phase="mid-stream", provider_code=word))
