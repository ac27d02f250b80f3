"""Endings: finish words, their rank, and the outcome of an answer (C11, C12, W5)."""

import itertools

import pytest

from limen.adapters.kit import FINISH_WORDS, Ending
from limen.contract import MAX_TOKENS, STOP, TOOL_CALLS, Failure, FinishReason, codes

ORDER = ["stop", "tool_calls", "length", "content_filter", "never_heard_of", "error"]


@pytest.mark.parametrize(("low", "high"), list(itertools.combinations(ORDER, 2)))
def test_the_weightiest_word_counts(low: str, high: str) -> None:
    """Error over unknown word over filter over length over calls over stop, in whatever order they come."""
    for words in ((low, high), (high, low)):
        ending = Ending()
        assert [ending.add(word) for word in words] == [True, words[0] == low]
        assert ending.word == high


def test_of_equal_words_the_later_counts() -> None:
    """A later report of the same weight replaces the earlier one."""
    ending = Ending()
    ending.add("end_turn")
    ending.add("stop_sequence")

    assert (ending.word, ending.meaning) == ("stop_sequence", "stop")


@pytest.mark.parametrize("word", sorted(FINISH_WORDS))
def test_words_are_compared_without_case_and_read_through(word: str) -> None:
    """Case does not matter, and a gateway's word before an upstream's is read through."""
    for form in (word, word.upper(), f" {word} ", f"upstream: {word}", f"a: b: {word.upper()}"):
        ending = Ending()
        ending.add(form)
        assert ending.meaning == FINISH_WORDS[word]


def test_a_dialects_own_words_come_first() -> None:
    """A row may give a word another meaning."""
    ending = Ending({"stop": "max-tokens"})
    ending.add("STOP")

    assert ending.meaning == "max-tokens"


def test_an_unknown_word_is_scrubbed() -> None:
    """A word that nobody documented may hold anything, so it is scrubbed before it is shown (E5)."""
    ending = Ending()
    ending.add("api_key=sk-abcdefghijklmnop")

    assert ending.failure() == Failure(
        "the answer ended with the finish reason 'api_key=[redacted]', which nobody documented",
        codes.UNKNOWN_FINISH,
        phase="mid-stream",
        provider_code="api_key=[redacted]",
    )


@pytest.mark.parametrize("word", [None, "stop", "tool_calls", "length"])
def test_successes_are_no_failure(word: str | None) -> None:
    """Before the first word, and after words of success, there is no failure."""
    ending = Ending()
    if word is not None:
        ending.add(word)

    assert (ending.is_failure, ending.failure()) == (False, None)


def test_a_filters_own_message() -> None:
    """The text of a refusal is the failure's message."""
    ending = Ending()
    ending.add("refusal")

    assert ending.failure("I will not.") == Failure(
        "I will not.", codes.CONTENT_FILTER, phase="mid-stream", provider_code="refusal"
    )


@pytest.mark.parametrize(
    ("word", "calls", "answered", "stop_matched", "outcome"),
    [
        ("length", True, True, False, MAX_TOKENS),
        ("length", False, False, False, MAX_TOKENS),
        ("stop", True, False, False, TOOL_CALLS),
        (None, True, False, False, TOOL_CALLS),
        ("tool_calls", False, True, False, codes.MALFORMED_RESPONSE),
        ("stop", False, True, False, STOP),
        ("stop", False, False, True, STOP),
        ("stop_sequence", False, False, False, STOP),
        ("stop", False, False, False, codes.EMPTY_RESPONSE),
        (None, False, False, False, codes.EMPTY_RESPONSE),
    ],
)
def test_outcomes(
    word: str | None, calls: bool, answered: bool, stop_matched: bool, outcome: FinishReason | str
) -> None:
    """Calls make a plain stop one for calls, claimed calls need a call, and a stop needs an answer (C11, C12)."""
    ending = Ending()
    if word is not None:
        ending.add(word)
    reason = ending.outcome(calls=calls, answered=answered, stop_matched=stop_matched)

    assert (reason if reason.failure is None else reason.failure.code) == outcome
    if reason.failure is not None:
        assert (reason.kind, reason.failure.provider_code) == ("error", word)
