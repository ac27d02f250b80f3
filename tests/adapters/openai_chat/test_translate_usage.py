"""Token counts: disjoint, whatever the wire counts inside what (section 1, C5, W7)."""

import pytest

from adapters.openai_chat._chat_wire import (
    Outcome,
    calling,
    ended,
    event,
    fragment,
    part,
    read,
    read_all_ways,
    read_notes,
    said,
    stream,
)
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.contract import STOP, BlockEnd, BlockStart, Finish, TextBlock, TextDelta, TokenUsage, UsageChunk


def reported(*reports: dict[str, object], rules: ReadingRules | None = None) -> TokenUsage | None:
    """The usage of an answer with those reports after its finish word."""
    events = (event(choices=[], usage=report) for report in reports)
    return read(stream(said("a"), ended(), *events), rules or ReadingRules()).usage


def test_usage_comes_once_after_every_block_and_before_the_finish() -> None:
    """A trailing report is waited for (C5, Q017)."""
    body = stream(said("a"), ended(), event(choices=[], usage={"prompt_tokens": 3, "completion_tokens": 2}))

    assert read_all_ways(body).chunks == [
        BlockStart(0, "text"),
        TextDelta(0, "a"),
        BlockEnd(0, TextBlock("a")),
        UsageChunk(TokenUsage(3, 2)),
        Finish(STOP),
    ]


@pytest.mark.parametrize(
    ("report", "usage"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, TokenUsage(10, 5)),
        # OpenAI counts the cached part inside the prompt
        (
            {"prompt_tokens": 283, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 256}},
            TokenUsage(27, 5, 256),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            },
            TokenUsage(10, 5, 60, 30),
        ),
        # DashScope's name for writes, DeepSeek's for reads, Moonshot's and Together's, Mistral's, Anthropic's
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cache_creation_input_tokens": 4}},
            TokenUsage(5, None, None, 4),
        ),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5}, TokenUsage(5, None, 4)),
        ({"prompt_tokens": 9, "cached_tokens": 4}, TokenUsage(5, None, 4)),
        ({"prompt_tokens": 9, "num_cached_tokens": 4}, TokenUsage(5, None, 4)),
        (
            {"prompt_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2},
            TokenUsage(3, None, 4, 2),
        ),
        # cached above prompt: counted beside it, nothing is subtracted
        ({"prompt_tokens": 371, "prompt_tokens_details": {"cached_tokens": 493}}, TokenUsage(371, None, 493)),
        # writes that do not fit into what is left stand beside it
        ({"prompt_tokens": 10, "cached_tokens": 8, "cache_creation_input_tokens": 50}, TokenUsage(2, None, 8, 50)),
        # reasoning inside completion, clamped within rounding, beside it, told by the total, flat (SGLang)
        (
            {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 4}},
            TokenUsage(None, 9, None, None, 4),
        ),
        (
            {"completion_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 15}},
            TokenUsage(None, 10, None, None, 10),
        ),
        (
            {"completion_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 16}},
            TokenUsage(None, 26, None, None, 16),
        ),
        (
            {
                "prompt_tokens": 12,
                "completion_tokens": 20,
                "total_tokens": 35,
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            TokenUsage(12, 23, None, None, 3),
        ),
        ({"completion_tokens": 9, "reasoning_tokens": 4}, TokenUsage(None, 9, None, None, 4)),
        ({"prompt_tokens": 9, "reasoning_tokens": 4}, TokenUsage(9, None, None, None, 4)),
        # integral floats are counts; a negative number is nobody's count
        ({"prompt_tokens": 9.0, "completion_tokens": 2e1}, TokenUsage(9, 20)),
        ({"prompt_tokens": -1, "completion_tokens": 2}, TokenUsage(None, 2)),
        # null, absent and what limen does not know
        (
            {"prompt_tokens": 1, "completion_tokens": None, "prompt_tokens_details": None, "cost": {"x": 1}},
            TokenUsage(1),
        ),
        # zero is the provider's zero, once the answer has ended
        ({"prompt_tokens": 0, "completion_tokens": 0}, TokenUsage(0, 0)),
        ({}, None),
        ({"cost": 1}, None),
    ],
)
def test_counts_are_disjoint(report: dict[str, object], usage: TokenUsage | None) -> None:
    """Each way of counting that was documented or recorded (section 1)."""
    assert reported(report) == usage


@pytest.mark.parametrize("count", [b"1.5", b"true", b'"3"', b'{"n":1}', b"[]", b"NaN", b"-Infinity", b"1e400"])
def test_a_count_of_another_type_is_unknown(count: bytes) -> None:
    """A count that cannot be read is unknown, costs neither the answer nor the other counts, and is noted (C15)."""
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":' + count + b',"completion_tokens":2}}\n\n'
    outcome = read_all_ways(stream(said("a"), ended(), usage))

    assert outcome.kind == "stop"
    assert outcome.chunks[-2] == UsageChunk(TokenUsage(output_tokens=2))
    if count not in (b"NaN", b"-Infinity"):
        assert read_notes(stream(said("a"), ended(), usage)) != []


@pytest.mark.parametrize("usage", [b"[]", b'""', b"7", b'{"prompt_tokens_details":[],"prompt_tokens":1}'])
def test_usage_of_another_type_costs_nothing(usage: bytes) -> None:
    """A usage object of a wrong type is unknown, and so is a part of it (C15)."""
    outcome = read_all_ways(stream(said("a"), ended(), b'data: {"choices":[],"usage":' + usage + b"}\n\n"))

    counted = [UsageChunk(TokenUsage(1))] if b"prompt_tokens" in usage else []
    assert (outcome.kind, [one for one in outcome.chunks if isinstance(one, UsageChunk)]) == ("stop", counted)


def test_the_last_value_of_each_field_wins() -> None:
    """Running totals are not summed, and null takes nothing back (W7, Q019)."""
    reports: tuple[dict[str, object], ...] = (
        {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": None},
        {"completion_tokens": 3},
    )

    assert reported(*reports) == TokenUsage(6, 3, 4)


def test_a_row_may_say_that_reports_are_increments() -> None:
    """Then they add up (W7)."""
    rules = ReadingRules(usage_increments=True)

    assert reported({"prompt_tokens": 10, "completion_tokens": 1}, {"completion_tokens": 2}, rules=rules) == TokenUsage(
        10, 3
    )


def test_a_row_may_say_that_zeros_are_left_out() -> None:
    """Then an absent count is zero, in an answer that has any report (W7)."""
    rules = ReadingRules(usage_omits_zeros=True)

    assert reported({"prompt_tokens": 10}, rules=rules) == TokenUsage(10, 0, 0, 0, 0)
    assert reported(rules=rules) is None


def test_a_row_may_say_that_only_the_total_has_the_reasoning() -> None:
    """Gemini's layer: 35 prompt, 12 completion, 109 total; what was generated is 74."""
    rules = ReadingRules(usage_total_has_reasoning=True)
    report: dict[str, object] = {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}

    assert reported(report, rules=rules) == TokenUsage(35, 74)
    assert reported({"completion_tokens": 12, "total_tokens": 109}, rules=rules) == TokenUsage(None, 12)
    assert reported(report) == TokenUsage(35, 12)


def test_a_row_may_say_that_the_cache_stands_beside_the_prompt() -> None:
    """Then nothing is subtracted, however small the cached part is."""
    rules = ReadingRules(cache_beside_prompt=True)

    assert reported({"prompt_tokens": 10, "cached_tokens": 4}, rules=rules) == TokenUsage(10, None, 4)


def test_no_report_is_no_usage() -> None:
    """Absent is unknown, and not zero (Q018)."""
    assert read(stream(said("a"), ended())).usage is None


def test_zeros_before_the_finish_word_are_no_report() -> None:
    """A placeholder in an early chunk counts nothing (Q173); later numbers do."""
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    early = event(choices=[{"delta": {"content": "a"}}], usage=zeros)

    assert read(stream(early, said("b"))).usage is None
    assert read(stream(early, event(choices=[], usage={"prompt_tokens": 2}), ended())).usage == TokenUsage(2)


def in_choice(outcome_usage: dict[str, object]) -> bytes:
    """A finish with usage inside the choice."""
    return event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop", "usage": outcome_usage}])


@pytest.mark.parametrize(
    "last",
    [
        in_choice({"prompt_tokens": 3}),
        event(choices=[{"delta": {}, "finish_reason": "stop"}], x_groq={"id": "req_1", "usage": {"prompt_tokens": 3}}),
        event(
            choices=[{"delta": {}, "finish_reason": "stop"}],
            usage={"prompt_tokens": 3},
            x_groq={"usage": {"prompt_tokens": 9}},
        ),
        in_choice({"prompt_tokens": 9}) + event(choices=[], usage={"prompt_tokens": 3}),
        in_choice({"prompt_tokens": 3}) + event(choices=[], usage=None, x_groq={"usage": None}),
    ],
)
def test_usage_may_stand_in_other_places(last: bytes) -> None:
    """In the choice (Moonshot, Q191) or in `x_groq`; the top level outweighs both."""
    assert read(stream(said("a"), last)).usage == TokenUsage(3)


@pytest.mark.parametrize(
    "last",
    [
        part("error"),
        part("content_filter"),
        event(error={"message": "down"}),
        event(error={"message": "down"}, choices=[], usage={"prompt_tokens": 3}),
    ],
)
def test_usage_precedes_an_in_band_failure(last: bytes) -> None:
    """Where it is known (C5); the open block stays open (C7)."""
    outcome: Outcome = read(stream(said("a"), event(choices=[], usage={"prompt_tokens": 3}), last))

    assert outcome.chunks[:-1] == [BlockStart(0, "text"), TextDelta(0, "a"), UsageChunk(TokenUsage(3))]
    assert outcome.finish.reason.kind == "error"


def test_usage_on_every_chunk_of_a_call() -> None:
    """Ordinary fragments with a running total beside them."""
    body = stream(
        calling(fragment("{", id="c", name="f")),
        event(choices=[{"delta": {"tool_calls": [fragment("}")]}}], usage={"completion_tokens": 1}),
        event(choices=[{"delta": {}, "finish_reason": "tool_calls"}], usage={"completion_tokens": 2}),
    )

    assert read(body).usage == TokenUsage(None, 2)
