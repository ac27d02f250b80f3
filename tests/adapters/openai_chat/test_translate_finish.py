"""How an answer ends: finish words, refusals, what is missing (C6, C7, C12, W5, W6)."""

import pytest

from adapters.openai_chat._chat_wire import (
    calling,
    ended,
    event,
    fragment,
    part,
    read,
    read_all_ways,
    said,
    stream,
)
from limen.adapters.kit import FINISH_WORDS
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.contract import (
    STOP,
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishReason,
    ReasoningBlock,
    TextBlock,
    TextDelta,
    codes,
)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        *((word, "stop") for word in ("stop", "end_turn", "eos", "end", "COMPLETE", "stop_sequence", "pause_turn")),
        *((word, "stop") for word in ("compaction", "Stop", "STOP")),
        *((word, "max-tokens") for word in ("length", "max_tokens", "model_length", "model_context_window_exceeded")),
        *((word, "max-tokens") for word in ("ERROR_LIMIT", "repetition", "MAX_TOKENS")),
        *((word, codes.CONTENT_FILTER) for word in ("refusal", "safety", "guardrail", "content_filter", "sensitive")),
        *((word, codes.CONTENT_FILTER) for word in ("guardrail_intervened", "PROHIBITED_CONTENT", "ERROR_TOXIC")),
        ("TIMEOUT", codes.TIMEOUT),
        *((word, codes.SERVER) for word in ("error", "network_error", "insufficient_system_resource", "abort")),
        *((word, codes.SERVER) for word in ("malformed_function_call", "MALFORMED_FUNCTION_CALL")),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", codes.SERVER),
        ("upstream: max_tokens", "max-tokens"),
        *((word, codes.UNKNOWN_FINISH) for word in ("aborted", "never", "malformed")),
        *(
            (word, codes.MALFORMED_RESPONSE)
            for word in ("tool_calls", "tool_call", "tool_use", "function_call", "TOOL_CALL")
        ),
    ],
)
def test_finish_words(word: str, kind: str) -> None:
    """Every word of section 3, as it ends an answer of text; the word is `provider_reason`."""
    outcome = read_all_ways(stream(said("a"), ended(word)))

    assert outcome.kind == kind
    assert outcome.facts[2] == word
    if outcome.finish.reason.failure is not None:
        assert outcome.failure.provider_code == word
        assert outcome.failure.phase == "mid-stream"
        assert repr(word) in outcome.failure.message


def test_every_word_has_been_tried() -> None:
    """The table holds the contract's words and those that vendors document, in lower case."""
    assert len(FINISH_WORDS) == 31
    assert all(word == word.lower() for word in FINISH_WORDS)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["stop", "stop"], "stop"),
        (["length", "stop"], "max-tokens"),
        (["stop", "content_filter", "length"], codes.CONTENT_FILTER),
        (["content_filter", "error"], codes.SERVER),
        (["odd", "content_filter"], codes.UNKNOWN_FINISH),
        (["odd", "error", "stop"], codes.SERVER),
        (["tool_calls", "stop"], codes.MALFORMED_RESPONSE),
    ],
)
def test_the_weightiest_word_decides_at_the_end(words: list[str], kind: str) -> None:
    """Error over filter over length over calls over stop (W5); content after a word still counts (Q211)."""
    outcome = read_all_ways(stream(said("a"), *(part(word) for word in words), said("b"), ended(words[0])))

    assert outcome.kind == kind
    assert [chunk.text for chunk in outcome.chunks if isinstance(chunk, TextDelta)] == ["a", "b"]


def test_a_lone_half_in_a_word_or_a_fact_is_replaced() -> None:
    """What goes into a failure and into the call's facts is text that can be written anywhere (S5)."""
    first = rb'data: {"id":"i\ud83d","model":"m\ud83d","choices":[{"delta":{"content":"a"}}]}' + b"\n\n"
    last = rb'data: {"choices":[{"delta":{},"finish_reason":"w\ud83d"}]}' + b"\n\n"

    outcome = read_all_ways(stream(first, last))

    assert (outcome.kind, outcome.failure.provider_code) == (codes.UNKNOWN_FINISH, "w\ufffd")
    assert outcome.facts == ("i\ufffd", "m\ufffd", "w\ufffd", None)


def test_length_outweighs_calls() -> None:
    """A cut answer is a cut answer (W5)."""
    body = stream(calling(fragment("{}", id="c", name="f")), ended("tool_calls"), ended("length"))

    assert read(body).kind == "max-tokens"


def test_the_word_is_told_whatever_ends_the_stream() -> None:
    """An error after it, or an end too early, does not hide it."""
    body = said("a") + ended("length")

    assert read(body + event(error={"message": "x"})).facts[2] == "length"
    assert read(body, ReadingRules(end_marker="required")).facts[2] == "length"


def test_a_row_may_have_words_of_its_own() -> None:
    """They are tried first, and others are as they were."""
    rules = ReadingRules(finish_words={"blocked": "CONTENT_FILTER", "stop": "max-tokens"})

    assert read(stream(said("a"), ended("blocked")), rules).kind == codes.CONTENT_FILTER
    assert read(stream(said("a"), ended("stop")), rules).kind == "max-tokens"
    assert read(stream(said("a"), ended("eos")), rules).kind == "stop"


def test_a_marker_without_a_finish_word_is_a_stop() -> None:
    """W6, Q173."""
    assert read_all_ways(stream(said("a"))).chunks[-2:] == [BlockEnd(0, TextBlock("a")), Finish(STOP)]


@pytest.mark.parametrize("rules", [ReadingRules(), ReadingRules(end_marker="required")])
def test_an_end_without_marker_is_an_end_only_where_the_marker_may_be_left_out(rules: ReadingRules) -> None:
    """A finish word and a clean end of body are complete, except where the row says that the marker comes (W6)."""
    outcome = read_all_ways(said("a") + ended(), rules)

    assert outcome.kind == ("stop" if rules.end_marker == "optional" else "raised STREAM_CLOSED")
    assert outcome.chunks[:2] == [BlockStart(0, "text"), TextDelta(0, "a")]


@pytest.mark.parametrize(
    "body",
    [
        stream(ended()),
        stream(part(role="assistant", content=""), ended()),
        stream(said(" "), said("\n"), part(reasoning="\t"), ended()),
        stream(event(choices=[])),
        stream(),
    ],
)
def test_a_stop_with_nothing_said_is_no_answer(body: bytes) -> None:
    """EMPTY_RESPONSE, in-band (C12, Q134)."""
    outcome = read_all_ways(body)

    assert outcome.kind == codes.EMPTY_RESPONSE
    assert outcome.failure.message == "the answer ended without text and without a tool call"


def test_an_empty_response_comes_after_its_usage() -> None:
    """Usage first, and blank text stays open (C5, C7)."""
    outcome = read(stream(said(" "), ended(), event(choices=[], usage={"prompt_tokens": 3})))

    assert [type(chunk).__name__ for chunk in outcome.chunks] == ["BlockStart", "TextDelta", "UsageChunk", "Finish"]


def test_reasoning_alone_is_an_answer() -> None:
    """It is a block with text, and the model chose to say no more."""
    assert read(stream(part(reasoning="hm"), ended())).blocks == [ReasoningBlock("hm")]


def test_a_cut_answer_may_be_empty() -> None:
    """`max-tokens` stays, also without any block (C12)."""
    assert read(stream(ended("length"))).chunks == [Finish(FinishReason("max-tokens"))]


@pytest.mark.parametrize(
    ("field", "value", "kind", "matched"),
    [
        ("stop_reason", "###", "stop", "###"),
        ("matched_stop", "###", codes.EMPTY_RESPONSE, None),
        ("stop_reason", 42, codes.EMPTY_RESPONSE, None),
        ("stop_reason", "", codes.EMPTY_RESPONSE, None),
        ("stop_reason", None, codes.EMPTY_RESPONSE, None),
    ],
)
def test_a_named_stop_sequence_makes_an_empty_stop_legal(
    field: str, value: object, kind: str, matched: str | None
) -> None:
    """Where the row names the field that says which one matched (C12)."""
    rules = ReadingRules(stop_fields=("stop_reason",))
    outcome = read(stream(event(choices=[{"delta": {}, "finish_reason": "stop", field: value}])), rules)

    assert (outcome.kind, outcome.facts[3]) == (kind, matched)


def test_the_word_stop_sequence_makes_an_empty_stop_legal() -> None:
    """The word itself names why nothing was said: a stop sequence matched at once (C12)."""
    assert read_all_ways(stream(ended("stop_sequence"))).chunks == [Finish(STOP)]


def test_a_refusal_is_a_filter_with_the_refusal_as_its_message() -> None:
    """It makes no block, and a stop beside it is none."""
    body = stream(part(content="", refusal=None), part(refusal="I'm sorry"), part(refusal=", I can't."), ended())

    failure = Failure("I'm sorry, I can't.", codes.CONTENT_FILTER, phase="mid-stream")
    assert read_all_ways(body).chunks == [Finish(FinishReason("error", failure))]


@pytest.mark.parametrize(
    ("word", "code", "provider_code"),
    [
        ("content_filter", codes.CONTENT_FILTER, "content_filter"),
        ("length", codes.CONTENT_FILTER, None),
        ("error", codes.SERVER, "error"),
    ],
)
def test_a_refusal_beside_other_words(word: str, code: str, provider_code: str | None) -> None:
    """Over a filter, which it explains, and under an error (W5)."""
    outcome = read(stream(part(refusal="No."), ended(word)))

    assert (outcome.kind, outcome.failure.provider_code) == (code, provider_code)
    assert (outcome.failure.message == "No.") is (code == codes.CONTENT_FILTER)


def test_a_refusal_that_holds_a_key_is_scrubbed() -> None:
    """No message contains a credential (E5)."""
    outcome = read(stream(part(refusal="I cannot use sk-abcdefghijklmnopqrstuv."), ended()))

    assert outcome.failure.message == "I cannot use [redacted]."


def test_a_finish_word_that_holds_a_key_is_scrubbed() -> None:
    """Neither the message nor the provider's code contains a credential (E5)."""
    outcome = read(stream(said("a"), ended("sk-abcdefghijklmnopqrstuv")))

    assert outcome.failure.provider_code == "[redacted]"
    assert "sk-abc" not in repr(outcome)


def test_a_blank_refusal_is_none() -> None:
    """Nothing was refused (W2)."""
    assert read(stream(part(refusal=" "), said("a"), ended())).kind == "stop"


def test_a_filtered_answer_keeps_what_was_said() -> None:
    """The block stays open (C7), and the response is partial."""
    outcome = read(stream(said("a"), ended("content_filter")))

    assert outcome.chunks[:-1] == [BlockStart(0, "text"), TextDelta(0, "a")]
    assert outcome.response.text == "a"
