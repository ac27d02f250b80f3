"""C1-C7, C10, C11, C13: the one table that says which chunk may follow which, and names the rule that was broken."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    ChunkGrammar,
    Failure,
    Finish,
    FinishReason,
    GrammarError,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)

T, R, I = BlockStart(0, "text"), BlockStart(0, "reasoning"), BlockStart(0, "image")  # noqa: E741 - text, reasoning, image
C = BlockStart(0, "tool-call")
A, B = TextDelta(0, "a"), ReasoningDelta(0, "b")
D = ToolCallDelta(0, "call_1", "add", "{")
D2 = ToolCallDelta(0, "call_1", None, "}")
T_END, R_END = BlockEnd(0, TextBlock("a")), BlockEnd(0, ReasoningBlock("b"))
C_END = BlockEnd(0, ToolCallBlock("call_1", "add", "{}"))
IMAGE = ImageBlock("image/png", b"x")
USAGE = UsageChunk(TokenUsage(1, 2))
DONE, CALLS, CUT = Finish(STOP), Finish(TOOL_CALLS), Finish(MAX_TOKENS)
ERROR = Finish(FinishReason("error", Failure("no", "SERVER")))
ABORTED = Finish(FinishReason("aborted", Failure("no", "ABORTED")))
Any_ = Any


def odd(value: object) -> Any_:
    """A value of a wrong type, on purpose."""
    return value


def check(chunks: list[StreamChunk]) -> ChunkGrammar:
    """Feed a whole stream, then its end."""
    grammar = ChunkGrammar()
    for chunk in chunks:
        grammar.feed(chunk)
    grammar.eof()
    return grammar


ALLOWED: list[list[StreamChunk]] = [
    [DONE],
    [ERROR],
    [ABORTED],
    [USAGE, ERROR],
    [T, A, T_END, USAGE, DONE],
    [R, B, R_END, DONE],
    [C, D, D2, C_END, CALLS],
    [C, D, D2, C_END, CUT],
    [I, BlockEnd(0, IMAGE), DONE],
    [T, ERROR],
    [T, A, USAGE, ABORTED],
    [C, ToolCallDelta(0, "call_1", "add"), BlockEnd(0, ToolCallBlock("call_1", "add", "")), CALLS],
    [C, D, ToolCallDelta(0, "call_1", "add", "}"), C_END, CALLS],
    [
        R,
        BlockStart(1, "text"),
        TextDelta(1, "x"),
        B,
        BlockStart(2, "tool-call"),
        BlockEnd(1, TextBlock("x")),
        ToolCallDelta(2, "c", "f", "{}"),
        R_END,
        BlockEnd(2, ToolCallBlock("c", "f", "{}")),
        USAGE,
        CALLS,
    ],
]


@pytest.mark.parametrize("chunks", ALLOWED)
def test_what_the_protocol_allows(chunks: list[StreamChunk]) -> None:
    """C1-C7: whole streams pass, chunk by chunk and in one batch, and are remembered alike."""
    one = check(chunks)
    batch = ChunkGrammar()
    batch.feed_all(chunks)
    batch.eof()

    assert one.finish == batch.finish == chunks[-1]
    assert (one.closed, one.usage, one.open_blocks()) == (batch.closed, batch.usage, batch.open_blocks())


RULES = {"C1", "C2", "C3", "C4", "C5", "C6", "C7", "C10", "C11", "C13"}

REJECTED: list[tuple[list[StreamChunk], str]] = [
    ([], "C6: the stream ended without a finish"),
    ([T, A, T_END], "C6: the stream ended without a finish"),
    ([odd("text")], "C1: str is not a chunk"),
    ([odd(None)], "C1: NoneType is not a chunk"),
    ([BlockStart(1, "text")], "C2: block 1 opened, expected 0"),
    ([BlockStart(-1, "text")], "C2: block -1 opened, expected 0"),
    ([BlockStart(odd(0.0), "text")], "C2: block 0.0 opened, expected 0"),
    ([BlockStart(odd("0"), "text")], "C2: block '0' opened, expected 0"),
    ([BlockStart(odd(False), "text")], "C2: block False opened, expected 0"),
    ([T, T], "C2: block 0 opened, expected 1"),
    ([BlockStart(0, odd("audio"))], "C1: 'audio' is no kind of block"),
    ([BlockStart(0, odd([]))], "C1: BlockStart holds a value of the wrong type"),
    ([A], "C2: a text delta for block 0, which was never opened"),
    ([T, TextDelta(1, "x")], "C2: a text delta for block 1, which was never opened"),
    ([T, TextDelta(odd(0.0), "x")], "C2: a text delta with the index 0.0, which is no whole number"),
    ([T, TextDelta(odd([]), "x")], "C1: TextDelta holds a value of the wrong type"),
    ([R, ReasoningDelta(odd(False), "x")], "C2: a reasoning delta with the index False"),
    ([C, ToolCallDelta(odd(0.0), "x", "f", "{")], "C2: a tool-call delta with the index 0.0"),
    ([T, A, T_END, A], "C3: a text delta for block 0, which has ended"),
    ([T, B], "C1: a reasoning delta in block 0, which is text"),
    ([R, A], "C1: a text delta in block 0, which is reasoning"),
    ([I, A], "C1: a text delta in block 0, which is image"),
    ([T, D], "C1: a tool-call delta in block 0, which is text"),
    ([T, TextDelta(0, "")], "C13: an empty text delta"),
    ([R, ReasoningDelta(0, "")], "C13: an empty reasoning delta"),
    ([T, TextDelta(0, odd(5))], "C1: a text delta whose text is a int"),
    ([R, ReasoningDelta(0, odd(b"x"))], "C1: a reasoning delta whose text is a bytes"),
    ([C, ToolCallDelta(0, "x", "f", odd({}))], "C1: a tool-call delta whose text is a dict"),
    ([C, ToolCallDelta(0, "", "f", "{")], "C10: the tool call in block 0 has no id"),
    ([C, ToolCallDelta(0, odd(7), "f", "{")], "C10: the tool call in block 0 has no id"),
    ([C, ToolCallDelta(0, odd(None), None, "{")], "C10: the tool call in block 0 has no id"),
    ([C, ToolCallDelta(0, "x", None, "{")], "C10: the first delta of the call 'x' has no name"),
    ([C, ToolCallDelta(0, "x", "", "{")], "C10: the first delta of the call 'x' has no name"),
    (
        [C, D, D2, C_END, BlockStart(1, "tool-call"), ToolCallDelta(1, "call_1", "f")],
        "C10: two tool calls have the id 'call_1'",
    ),
    ([C, D, ToolCallDelta(0, "call_2", None, "}")], "C4: block 0 is the call 'call_1', and got a delta of 'call_2'"),
    ([C, D, ToolCallDelta(0, "call_1", "sub", "}")], "C4: the call 'call_1' is 'add', and was then named 'sub'"),
    ([T_END], "C2: block 0 ended, and is not open"),
    ([T, A, BlockEnd(odd(0.0), TextBlock("a"))], "C2: block 0.0 ended, and is not open"),
    ([T, A, T_END, T_END], "C3: block 0 ended, and is not open"),
    ([T, BlockEnd(0, TextBlock(""))], "C1: the text block 0 ended without a delta"),
    ([T, A, BlockEnd(0, TextBlock("b"))], "C4: the end of block 0 differs from what its deltas assemble to"),
    ([T, A, BlockEnd(0, ReasoningBlock("a"))], "C4: the end of block 0 differs"),
    ([T, A, BlockEnd(0, odd("a"))], "C4: the end of block 0 differs"),
    ([C, D, BlockEnd(0, ToolCallBlock("call_1", "sub", "{"))], "C4: the end of block 0 differs"),
    ([I, BlockEnd(0, TextBlock("a"))], "C4: block 0 is an image, and ended as something else"),
    ([USAGE, USAGE], "C5: a second usage"),
    ([USAGE, T], "C5: BlockStart after the usage"),
    ([UsageChunk(odd({}))], "C1: UsageChunk holds a value of the wrong type"),
    ([DONE, DONE], "C6: Finish after the finish"),
    ([ERROR, USAGE], "C6: UsageChunk after the finish"),
    ([Finish(odd("stop"))], "C1: Finish holds a value of the wrong type"),
    ([Finish(FinishReason(odd("end")))], "C6: 'end' is no way to finish"),
    ([Finish(FinishReason("error"))], "C6: a finish of kind error without a failure"),
    ([Finish(FinishReason("stop", Failure("x", "X")))], "C6: a finish of kind stop with a failure"),
    ([Finish(FinishReason("error", odd("no")))], "C1: Finish holds a value of the wrong type"),
    ([Finish(FinishReason("error", Failure("x", "lower")))], "C6: a finish whose failure is none"),
    ([T, DONE], r"C7: finished as stop with open blocks \[0\]"),
    ([C, D, CUT], r"C7: finished as max-tokens with open blocks \[0\]"),
    ([T, A, T_END, CALLS], "C11: finished as tool-calls without a tool call"),
    ([C, D, D2, C_END, DONE], "C11: finished as stop with tool calls; that is tool-calls"),
]


@pytest.mark.parametrize(("chunks", "message"), REJECTED)
def test_what_the_protocol_forbids(chunks: list[StreamChunk], message: str) -> None:
    """C1-C13: each malformed stream is rejected at the chunk at fault, by the rule that it breaks."""
    with pytest.raises(GrammarError, match=f"^{message}") as caught:
        check(chunks)

    assert caught.value.rule == message.partition(":")[0]


@pytest.mark.parametrize(("chunks", "message"), [case for case in REJECTED if case[0]])
def test_a_batch_says_where(chunks: list[StreamChunk], message: str) -> None:
    """R6: of a batch, all chunks before the one at fault are good; `position` counts them."""
    grammar = ChunkGrammar()
    good = 0
    try:
        for chunk in chunks:
            grammar.feed(chunk)
            good += 1
    except GrammarError:
        with pytest.raises(GrammarError, match=f"^{message}") as caught:
            ChunkGrammar().feed_all(chunks)
        assert caught.value.position == good
    else:
        ChunkGrammar().feed_all(chunks)


def test_what_had_arrived_is_kept() -> None:
    """C7: closed and open blocks can be asked for at any time; an image and a call without a delta are nothing yet."""
    grammar = ChunkGrammar()
    grammar.feed_all([T, A, T_END, BlockStart(1, "image"), BlockStart(2, "tool-call"), BlockStart(3, "reasoning")])
    grammar.feed_all([ReasoningDelta(3, "hm"), BlockStart(4, "tool-call"), ToolCallDelta(4, "c", "f", "{")])
    grammar.feed(BlockStart(5, "text"))

    assert grammar.closed == {0: TextBlock("a")}
    assert grammar.open_blocks() == {
        3: ReasoningBlock("hm"),
        4: ToolCallBlock("c", "f", "{"),
        5: TextBlock(""),
    }


def test_the_error_pickles() -> None:
    """R6: a violation travels between processes with its rule."""
    error = GrammarError("C4", "differs")

    copy = pickle.loads(pickle.dumps(error))

    assert (copy.rule, str(copy)) == ("C4", "C4: differs")


CHUNKS: st.SearchStrategy[StreamChunk] = st.one_of(
    st.builds(BlockStart, st.integers(-1, 2), st.sampled_from(["text", "reasoning", "tool-call", "image"])),
    st.builds(TextDelta, st.integers(0, 2), st.sampled_from(["", "a"])),
    st.builds(ReasoningDelta, st.integers(0, 2), st.sampled_from(["", "b"])),
    st.builds(ToolCallDelta, st.integers(0, 2), st.sampled_from(["", "c"]), st.sampled_from([None, "f"]), st.just("{")),
    st.builds(BlockEnd, st.integers(0, 2), st.sampled_from([TextBlock("a"), ReasoningBlock("b"), IMAGE])),
    st.just(USAGE),
    st.sampled_from([DONE, CALLS, ERROR]),
)


@given(st.lists(CHUNKS, max_size=12))
def test_nothing_but_a_grammar_error_comes_out(chunks: list[StreamChunk]) -> None:
    """R6: whatever is fed, the grammar accepts it or names a rule; a stream that passes has all that it needs."""
    grammar = ChunkGrammar()
    broken = None
    try:
        grammar.feed_all(chunks)
        grammar.eof()
    except GrammarError as violation:
        broken = violation.rule

    assert broken in RULES or (broken is None and grammar.finish is chunks[-1])
