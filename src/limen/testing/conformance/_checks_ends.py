"""Checks of how an answer ends: finish reasons, usage, and what is no answer (C5, C11, C12, C15, W5-W7, S3, S4, S6)."""

import time
from collections.abc import Mapping
from typing import Final

from msgspec import structs

from limen.contract import TokenUsage
from limen.testing.conformance._bench import Bench
from limen.testing.conformance._check import check
from limen.testing.conformance._outcome import NotApplicable
from limen.testing.server import Script, Text, ToolCall, Turn, Usage

_COUNTS: Final[Mapping[str, TokenUsage]] = {
    "text": TokenUsage(input_tokens=12, output_tokens=7),
    "reasoning": TokenUsage(input_tokens=12, output_tokens=19, reasoning_tokens=9),
    "tools": TokenUsage(input_tokens=44, output_tokens=17),
    "usage-attached": TokenUsage(input_tokens=12, output_tokens=7),
    "usage-cached": TokenUsage(
        input_tokens=20, output_tokens=5, cache_read_tokens=256, cache_write_tokens=32, reasoning_tokens=0
    ),
}


@check(
    "C5", "trailing-usage", "Usage that comes in an event of its own, after the visible end, is waited for", basic=True
)
async def _trailing_usage(bench: Bench) -> None:
    outcome = await bench.outcome("text")
    outcome.expect(outcome.usage == _COUNTS["text"], f"the usage is {outcome.usage}, expected {_COUNTS['text']}")


def _needs_end_marker(bench: Bench) -> None:
    if not bench.wire.end_marker:
        raise NotApplicable("this wire has no end marker: the end of the body is the end")


@check("C5", "usage-counts", "Counts are disjoint: cache beside input, reasoning inside output")
async def _usage_counts(bench: Bench) -> None:
    unknown = dict.fromkeys(set(TokenUsage.__struct_fields__) - set(bench.wire.counts))
    for name, told in _COUNTS.items():
        expected = structs.replace(told, **unknown)
        outcome = await bench.outcome(name)
        outcome.expect(outcome.usage == expected, f"the usage is {outcome.usage}, expected {expected}")


@check("C5", "usage-before-failure", "Usage that is known precedes an in-band failure")
async def _usage_before_failure(bench: Bench) -> None:
    for name in ("refusal", "empty", "unknown-finish"):
        outcome = await bench.outcome(name)
        outcome.expect(outcome.way == "in-band", f"ended {outcome.ending()}, expected an in-band failure")
        outcome.expect(outcome.usage is not None, "the usage that the wire reported is missing")


@check("W7", "usage-repeated", "Of several usage reports the last value of each field stands")
async def _usage_repeated(bench: Bench) -> None:
    for name in ("usage-repeated", "text+usage-twice"):
        outcome = await bench.outcome(name)
        outcome.expect_success("stop")
        outcome.expect(outcome.usage == _COUNTS["text"], f"the usage is {outcome.usage}, expected {_COUNTS['text']}")


@check("C11", "stop-after-calls", "A plain stop after complete calls is tool-calls")
async def _stop_after_calls(bench: Bench) -> None:
    script = Script([Turn([ToolCall("call_1", "add", ['{"left":1}'])], finish="stop")])
    outcome = await bench.call(script, what="a call that ends with a plain stop")
    outcome.expect_success("tool-calls")


@check("C11", "claimed-calls", "Claimed tool calls without one are malformed, in-band")
async def _claimed_calls(bench: Bench) -> None:
    if not bench.wire.claims_calls:
        raise NotApplicable("this wire has no finish word that says that there are tool calls")
    outcome = await bench.call(Script([Turn([Text("a")], finish="tool-calls")]), what="tool calls claimed, none there")
    outcome.expect_failure("MALFORMED_RESPONSE", way="in-band")


@check("C11", "finish-rule", "The finish agrees with the blocks")
async def _finish_rule(bench: Bench) -> None:
    for name, kind in (
        ("text", "stop"),
        ("tools", "tool-calls"),
        ("text-and-tools", "tool-calls"),
        ("parallel-tools", "tool-calls"),
        ("max-tokens", "max-tokens"),
        ("reasoning-only", "stop"),
    ):
        outcome = await bench.outcome(name)
        if bench.wire.reasoning or name != "reasoning-only":
            outcome.expect_success(kind)


@check("C12", "empty-answer", "A stop without content, or with blank text only, is EMPTY_RESPONSE, in-band")
async def _empty_answer(bench: Bench) -> None:
    for name in ("empty", "blank"):
        outcome = await bench.outcome(name)
        outcome.expect_failure("EMPTY_RESPONSE", way="in-band")


@check("C12", "refusal", "A refusal is CONTENT_FILTER with its words as the message, and no block")
async def _refusal(bench: Bench) -> None:
    outcome = await bench.outcome("refusal")
    failure = outcome.expect_failure("CONTENT_FILTER", way="in-band")
    if bench.wire.refusal_words:
        outcome.expect("I cannot help with that." in failure.message, f"the message is {failure.message!r}")
    outcome.expect(not outcome.blocks, f"the refusal made the blocks {outcome.blocks}")
    filtered = await bench.outcome("filtered")
    filtered.expect_failure("CONTENT_FILTER", way="in-band")
    filtered.expect(filtered.text == "This goes on until", "the text before the filter is missing")


@check("C12", "limit-without-content", "A token limit that leaves no content stays max-tokens")
async def _limit_without_content(bench: Bench) -> None:
    script = Script([Turn([], finish="max-tokens", usage=Usage(input=12, output=8))])
    outcome = await bench.call(script, what="a token limit without content")
    outcome.expect_success("max-tokens")


@check("C12", "stop-sequence", "A matched stop sequence is a stop, also without any text")
async def _stop_sequence(bench: Bench) -> None:
    (await bench.outcome("stop-sequence")).expect_success("stop")
    if not bench.wire.stop_sequences:
        raise NotApplicable("this wire does not say which stop sequence matched")
    script = Script([Turn([], finish="stop-sequence", stop_sequence="END")])
    outcome = await bench.call(script, what="a stop sequence as the first word")
    outcome.expect_success("stop")


@check("E3", "unknown-finish", "A finish word that nobody documented is UNKNOWN_FINISH, with the word as provider_code")
async def _unknown_finish(bench: Bench) -> None:
    outcome = await bench.outcome("unknown-finish")
    failure = outcome.expect_failure("UNKNOWN_FINISH", way="in-band")
    outcome.expect(failure.provider_code == "solar_flare", f"provider_code is {failure.provider_code!r}")


@check("C15", "unknown-event", "An event type that nobody documented follows the wire's forward-compatibility rule")
async def _unknown_event(bench: Bench) -> None:
    outcome = await bench.outcome("text+unknown-event")
    if bench.wire.unknown_events == "refuse":
        outcome.expect_failure("MALFORMED_RESPONSE", way="raised")
        return
    outcome.expect_success("stop")
    outcome.expect(outcome.text == "Hello from the mock provider.", f"the text is {outcome.text!r}")


@check("C15", "wrong-shape", "A field that is read and has a type that nobody documented is MALFORMED_RESPONSE")
async def _wrong_shape(bench: Bench) -> None:
    outcome = await bench.outcome("text+wrong-shape")
    outcome.expect_failure("MALFORMED_RESPONSE", way="raised", phases=("mid-stream",))
    outcome.expect(outcome.text == "Hello from", f"the text that arrived is {outcome.text!r}, expected 'Hello from'")


@check("W5", "content-after-finish", "Content after the finish word still counts")
async def _content_after_finish(bench: Bench) -> None:
    if bench.wire.finish_ends:
        raise NotApplicable("the event with this wire's finish word is the end of the stream")
    outcome = await bench.outcome("text+content-after-finish")
    outcome.expect_success("stop")
    outcome.expect(outcome.text == "Hello from the mock provider. And more.", f"the text is {outcome.text!r}")


@check("W6", "after-the-end", "What follows the wire's own end is ignored; a repeated finish changes nothing")
async def _after_the_end(bench: Bench) -> None:
    names = ("text+end-twice", "text+content-after-end", "text+finish-twice")
    # Without an end marker the body's end is the end, and nothing can follow it.
    for name in names if bench.wire.end_marker else names[2:]:
        outcome = await bench.outcome(name)
        outcome.expect_success("stop")
        outcome.expect(outcome.text == "Hello from the mock provider.", f"the text is {outcome.text!r}")


@check(
    "W6",
    "end-without-finish",
    "An end marker without a finish before it is a stop, or STREAM_CLOSED where the server always names a reason",
)
async def _end_without_finish(bench: Bench) -> None:
    outcome = await bench.outcome("text+no-finish")
    if outcome.way == "success":
        outcome.expect_success("stop")
    else:
        outcome.expect_failure("STREAM_CLOSED", way="raised", phases=("mid-stream",))
    outcome.expect(outcome.text == "Hello from the mock provider.", f"the text is {outcome.text!r}")


@check(
    "W6",
    "no-end-marker",
    "A finish without the end marker is complete, or STREAM_CLOSED where the wire always marks its end",
)
async def _no_end_marker(bench: Bench) -> None:
    outcome = await bench.outcome("text+no-end-marker")
    if outcome.way != "success":
        outcome.expect_failure("STREAM_CLOSED", way="raised", phases=("mid-stream",))
    outcome.expect(outcome.text == "Hello from the mock provider.", f"the text is {outcome.text!r}")


@check("S3", "whole-answer", "A whole answer instead of a stream is read as if it had been streamed")
async def _whole_answer(bench: Bench) -> None:
    text = await bench.outcome("text+whole")
    text.expect_success("stop")
    text.expect(text.text == "Hello from the mock provider.", f"the text is {text.text!r}")
    calls = await bench.outcome("parallel-tools+whole")
    calls.expect_success("tool-calls")
    arguments = [call.arguments for call in calls.calls]
    calls.expect(arguments == ['{"left":20,"right":22}', '{"left":1,"right":2}'], f"the arguments are {arguments}")


@check("S4", "arrived-before-reset", "Bytes that arrived before a transport failure are parsed before it is reported")
async def _arrived_before_reset(bench: Bench) -> None:
    for name in ("reset-mid-stream", "hang-up-mid-stream", "broken-framing", "cut"):
        outcome = await bench.outcome(f"text+{name}")
        outcome.expect(outcome.failure is not None, f"ended {outcome.ending()}, expected a failure")
        outcome.expect(
            outcome.text == "Hello from", f"the text that arrived is {outcome.text!r}, expected 'Hello from'"
        )


@check("S4", "reset-after-end", "A failure after the end marker is none")
async def _reset_after_end(bench: Bench) -> None:
    _needs_end_marker(bench)
    outcome = await bench.outcome("text+reset-at-end")
    outcome.expect_success("stop")


@check("S6", "end-without-eof", "After the end marker the result is delivered, though the body does not end")
async def _end_without_eof(bench: Bench) -> None:
    _needs_end_marker(bench)
    started = time.monotonic()
    outcome = await bench.call("text+stall-at-end")
    took = time.monotonic() - started
    outcome.expect_success("stop")
    outcome.expect(took < 3, f"the result took {took:.1f} s")
    await bench.closed(outcome.request, 1, "the call is complete", outcome)
