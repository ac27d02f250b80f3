"""Checks of what an adapter emits: blocks, order, assembly (C1-C7, C10, C13, C16, C18)."""

from collections.abc import Sequence
from typing import Final

from limen.contract import (
    STOP,
    BlockEnd,
    BlockStart,
    ChunkGrammar,
    Finish,
    GrammarError,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from limen.testing.conformance._bench import Bench
from limen.testing.conformance._check import check
from limen.testing.conformance._outcome import Broken, NotApplicable, Outcome
from limen.testing.server import SCENARIOS, Part, Reasoning, Script, Text, ToolCall, Turn

# What every wire can say, in all ways in which an answer can end.
STREAMS: Final = (
    *sorted(set(SCENARIOS) - {"slow", "long"}),
    "text+error-event",
    "tools+overloaded-event",
    "text+cut",
    "interleaved-tools+cut",
    "text+content-after-finish",
    "text+finish-twice",
    "tools+usage-twice",
    "text+end-twice",
    "text+whole",
    "parallel-tools+whole",
)


def first_fault(chunks: Sequence[StreamChunk], *, raised: bool) -> GrammarError | None:
    """Return the first break of the chunk grammar; what raises instead of finishing breaks nothing."""
    grammar = ChunkGrammar()
    try:
        for chunk in chunks:
            grammar.feed(chunk)
        if not raised:
            grammar.eof()
    except GrammarError as fault:
        return fault
    return None


async def _grammar_holds(bench: Bench, rule: str) -> None:
    for name in STREAMS:
        outcome = await bench.outcome(name)
        fault = first_fault(outcome.chunks, raised=outcome.error is not None)
        if fault is not None and fault.rule == rule:
            raise Broken(f"{name}: {fault}", outcome)


@check("C1", "block-shape", "A block is one start, deltas of its kind, one end")
async def _block_shape(bench: Bench) -> None:
    await _grammar_holds(bench, "C1")


@check("C1", "text-reply", "An ordered text reply: start, deltas in order, end, usage, finish", basic=True)
async def _text_reply(bench: Bench) -> None:
    outcome = await bench.outcome("text")
    text = "Hello from the mock provider."
    pieces = ["Hello", " from", " the", " mock", " provider."]
    expected: list[StreamChunk] = [
        BlockStart(0, "text"),
        *(TextDelta(0, piece) for piece in pieces),
        BlockEnd(0, TextBlock(text)),
        UsageChunk(TokenUsage(input_tokens=12, output_tokens=7)),
        Finish(STOP),
    ]
    seen = [Finish(chunk.reason) if isinstance(chunk, Finish) else chunk for chunk in outcome.chunks]
    outcome.expect(seen == expected, "the chunks differ from start, five deltas, end, usage (12 in, 7 out), finish")


@check("C1", "hidden-reasoning", "Reasoning without text makes no block")
async def _hidden_reasoning(bench: Bench) -> None:
    outcome = await bench.outcome("redacted")
    outcome.expect_success("stop")
    outcome.expect(outcome.blocks == ["text"], f"the blocks are {outcome.blocks}, expected one of text")


@check("C2", "indexes", "Indexes are 0, 1, 2 … in the order in which blocks open")
async def _indexes(bench: Bench) -> None:
    await _grammar_holds(bench, "C2")


@check("C3", "nothing-after-end", "Nothing follows a block's end under its index")
async def _nothing_after_end(bench: Bench) -> None:
    await _grammar_holds(bench, "C3")


@check("C3", "interleaved", "Fragments of parallel calls that interleave reach their own call")
async def _interleaved(bench: Bench) -> None:
    outcome = await bench.outcome("interleaved-tools")
    outcome.expect_success("tool-calls")
    arguments = [call.arguments for call in outcome.calls]
    expected = ['{"left":20,"right":22}', '{"left":1,"right":2}']
    outcome.expect(arguments == expected, f"the arguments are {arguments}, expected {expected}")


@check("C4", "assembly", "A block's end holds what its deltas assemble to")
async def _assembly(bench: Bench) -> None:
    await _grammar_holds(bench, "C4")


@check("C5", "usage-place", "At most one usage, after every block's end and before the finish")
async def _usage_place(bench: Bench) -> None:
    await _grammar_holds(bench, "C5")


@check("C6", "one-finish", "Exactly one finish, and nothing after it")
async def _one_finish(bench: Bench) -> None:
    await _grammar_holds(bench, "C6")


@check("C7", "closed-before-success", "Before a successful finish every block is closed")
async def _closed_before_success(bench: Bench) -> None:
    await _grammar_holds(bench, "C7")


@check("C7", "open-after-failure", "A block that was open when the call failed stays open")
async def _open_after_failure(bench: Bench) -> None:
    for name in ("text+error-event", "text+cut", "text+reset-mid-stream"):
        outcome = await bench.outcome(name)
        outcome.expect(outcome.failure is not None, f"ended {outcome.ending()}, expected a failure")
        outcome.expect(outcome.blocks == ["text"] and not outcome.ended, "the block that was cut short has an end")


@check("C8", "raw-arguments", "Tool arguments stay the raw string, however they are written")
async def _raw_arguments(bench: Bench) -> None:
    objects = bench.wire.arguments == "object"
    raw = '{"b": 1.50,  "a":[1e2, "\\u00e9\\"}{"],\n "a":null}'
    if objects:  # on one line, for wires that are framed by lines; the white space is the wire's and not the model's
        raw = raw.replace("\n", "")
    script = Script([Turn([ToolCall("call_1", "add", [raw[:7], raw[7:8], raw[8:]])])])
    outcome = await bench.call(script, what="a call with oddly written arguments")
    outcome.expect_success("tool-calls")
    arguments = [call.arguments for call in outcome.calls]
    expected = '{"b":1.50,"a":[1e2,"\\u00e9\\"}{"],"a":null}' if objects else raw
    outcome.expect(arguments == [expected], f"the arguments are {arguments}, expected {expected!r}")


@check("C8", "split-call", "A tool call split over events keeps one index and one raw JSON", basic=True)
async def _split_call(bench: Bench) -> None:
    outcome = await bench.outcome("tools")
    outcome.expect_success("tool-calls")
    deltas = [chunk for chunk in outcome.chunks if isinstance(chunk, ToolCallDelta)]
    outcome.expect(outcome.blocks == ["tool-call"], f"the blocks are {outcome.blocks}, expected one tool call")
    outcome.expect({delta.index for delta in deltas} == {0}, "the fragments have more than one index")
    joined = "".join(delta.arguments_delta for delta in deltas)
    calls = [(call.id, call.name, call.arguments) for call in outcome.calls]
    outcome.expect(joined == '{"left":20,"right":22}', f"the fragments join to {joined!r}")
    outcome.expect(calls == [("call_add_1", "add", joined)], f"the block is {calls}")


@check("C8", "no-arguments", "A complete call without any argument text is {} on every wire")
async def _no_arguments(bench: Bench) -> None:
    outcome = await bench.outcome("no-arguments")
    outcome.expect_success("tool-calls")
    arguments = [call.arguments for call in outcome.calls]
    outcome.expect(arguments == ["{}"], f"the arguments are {arguments}, expected ['{{}}']")


@check("C9", "ids-verbatim", "A native id is kept as it is")
async def _ids_verbatim(bench: Bench) -> None:
    odd = "functions.add:0|fc_ß 1"
    outcome = await bench.call(Script([Turn([ToolCall(odd, "add")])]), what="a call with an odd id")
    outcome.expect_success("tool-calls")
    ids = [call.id for call in outcome.calls]
    outcome.expect(ids == [odd], f"the ids are {ids}, expected {[odd]}")


@check(
    "C9", "made-ids", "Where the wire has no id, one is made from the history: the same again, another for another turn"
)
async def _made_ids(bench: Bench) -> None:
    script = Script([Turn([ToolCall("", "add", ['{"left":1}'])])])
    plain = bench.options()
    other = bench.options(*plain.messages, *plain.messages)
    outcomes = [await bench.call(script, options, what="a call without an id") for options in (plain, plain, other)]
    made: list[str] = []
    for outcome in outcomes:
        outcome.expect_success("tool-calls")
        made += [call.id for call in outcome.calls]
    last = outcomes[-1]
    shape = all(len(one) == 22 and one.startswith("limen_") and _is_hex(one[6:]) for one in made)
    last.expect(len(made) == 3 and shape, f"the made ids are {made}, expected limen_ and 16 hex digits")
    last.expect(made[0] == made[1], f"the same request gave the ids {made[0]} and {made[1]}")
    last.expect(made[0] != made[2], "another history gave the same id")


def _is_hex(text: str) -> bool:
    return all(letter in "0123456789abcdef" for letter in text)


@check("C10", "call-identity", "Every call has a name and an id of its own")
async def _call_identity(bench: Bench) -> None:
    await _grammar_holds(bench, "C10")


@check("C10", "repeated-id", "Two calls with one native id are both kept, under two ids")
async def _repeated_id(bench: Bench) -> None:
    calls = [ToolCall("call_1", "add", ['{"left":1}']), ToolCall("call_1", "now", ['{"zone":2}'])]
    outcome = await bench.call(Script([Turn(calls)]), what="two calls with one id")
    outcome.expect_success("tool-calls")
    names = [call.name for call in outcome.calls]
    outcome.expect(names == ["add", "now"], f"the calls are {names}, expected add and now")
    outcome.expect(len({call.id for call in outcome.calls}) == 2, "the two calls have the same id")


@check("C10", "nameless-call", "A call that never gets a name is malformed")
async def _nameless_call(bench: Bench) -> None:
    outcome = await bench.call(Script([Turn([ToolCall("call_1", "", ['{"left":1}'])])]), what="a call without a name")
    outcome.expect_failure("MALFORMED_RESPONSE")


@check("C13", "no-empty-deltas", "Text and reasoning deltas are never empty")
async def _no_empty_deltas(bench: Bench) -> None:
    await _grammar_holds(bench, "C13")


@check("C13", "empty-fragments", "Empty fragments on the wire open nothing and add nothing")
async def _empty_fragments(bench: Bench) -> None:
    script = Script([Turn([Reasoning(["", ""]), Text(["", "a", "", "b"])])])
    outcome = await bench.call(script, what="empty fragments")
    outcome.expect_success("stop")
    outcome.expect(outcome.blocks == ["text"] and outcome.text == "ab", f"the blocks are {outcome.blocks}")
    fault = first_fault(outcome.chunks, raised=False)
    outcome.expect(fault is None, str(fault))


_CUTS: Final = ("byte-by-byte", "utf8-split", "crlf-split")


@check("C16", "any-cut", "However the network split the bytes, the chunks are the same")
async def _any_cut(bench: Bench) -> None:
    cuts = _CUTS if bench.wire.sse else _CUTS[:2]
    for scenario in ("unicode", "reasoning-tools", "interleaved-tools"):
        whole = await bench.outcome(scenario)
        whole.expect(whole.way == "success", f"ended {whole.ending()}")
        for cut in cuts:
            _expect_same(whole, await bench.outcome(f"{scenario}+{cut}"))


@check("C16", "slow-consumer", "However slowly the consumer reads, the chunks are the same")
async def _slow_consumer(bench: Bench) -> None:
    _expect_same(await bench.outcome("unicode"), await bench.call("unicode", what="unicode, read slowly", pause=20))
    broken = "text+reset-mid-stream"
    slow = await bench.call(broken, what="a reset under a slow consumer", pause=20)
    slow.expect(slow.text == "Hello from", f"the text that arrived is {slow.text!r}, expected 'Hello from'")


def _expect_same(one: Outcome, other: Outcome) -> None:
    for place, (left, right) in enumerate(zip(one.chunks, other.chunks, strict=False)):
        other.expect(left == right, f"chunk {place} differs from that of {one.what}")
    other.expect(
        len(one.chunks) == len(other.chunks), f"there are {len(other.chunks)} chunks, expected {len(one.chunks)}"
    )


@check("S5", "surrogate-halves", "Half a surrogate pair joins with the next delta of its block, else it is U+FFFD")
async def _surrogate_halves(bench: Bench) -> None:
    joined = await bench.call(Script([Turn([Text(["a\ud83d", "\ude00b"])])]), what="a pair in two deltas")
    joined.expect_success("stop")
    joined.expect(joined.text == "a\U0001f600b", f"the text is {joined.text!r}")
    lone = await bench.call(Script([Turn([Text(["a\ud83d", "b"])])]), what="half a pair")
    lone.expect_success("stop")
    lone.expect(lone.text == "a\ufffdb", f"the text is {lone.text!r}")


@check("C17", "cut-call", "A call that was cut short by the token limit ends as it arrived")
async def _cut_call(bench: Bench) -> None:
    if bench.wire.arguments == "object":
        raise NotApplicable("this wire hands over arguments as objects, which are never cut short")
    outcome = await bench.outcome("max-tokens-tool")
    outcome.expect_success("max-tokens")
    arguments = [call.arguments for call in outcome.calls]
    outcome.expect(arguments == ['{"left":20,"ri'], f"the arguments are {arguments}")


@check(
    "C18",
    "order-of-ends",
    "Blocks follow the wire's own; without such, one of each kind, all ended at the end in order",
)
async def _order_of_ends(bench: Bench) -> None:
    if not bench.wire.reasoning:
        raise NotApplicable("this wire has no reasoning")
    parts: list[Part] = [Reasoning(["a"]), Text(["b"]), Reasoning(["c"]), Text(["d"])]
    outcome = await bench.call(Script([Turn(parts)]), what="reasoning, text, reasoning, text")
    outcome.expect_success("stop")
    expected = ["reasoning", "text"] * (2 if bench.wire.block_events else 1)
    outcome.expect(outcome.blocks == expected, f"the blocks are {outcome.blocks}, expected {expected}")
    outcome.expect(outcome.ended == list(range(len(expected))), f"the blocks ended in the order {outcome.ended}")
    outcome.expect((outcome.reasoning, outcome.text) == ("ac", "bd"), "text and reasoning are mixed up")
