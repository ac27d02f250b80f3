"""C17, N3, R5: chunks become a response; what may be executed and what may stand in a history is decided here."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    Assembler,
    BlockEnd,
    BlockStart,
    CallInfo,
    ContentBlock,
    Failure,
    Finish,
    FinishReason,
    ImageBlock,
    Message,
    ModelSource,
    ReasoningBlock,
    ReasoningDelta,
    ReplayDrop,
    Response,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    assemble,
    check_history,
    tool_result,
)

ERROR = FinishReason("error", Failure("no", "SERVER"))
ABORTED = FinishReason("aborted", Failure("enough", "ABORTED"))
CALL = ToolCallBlock("c1", "add", '{"a":1}')
IMAGE = ImageBlock("image/png", b"x")


def collect(chunks: Iterable[StreamChunk], finish: FinishReason | None = None, **more: Any) -> Response:
    """Assemble a stream; its own finish unless another is given, a stop where there is none."""
    assembler = Assembler()
    for chunk in chunks:
        assembler.feed(chunk)
    arrived = assembler.arrived()
    own = STOP if arrived.finish is None else arrived.finish.reason
    return assemble(arrived, finish or own, **more)


def blocks_of(response: Response) -> tuple[ContentBlock, ...]:
    """What of a turn may stand in a history."""
    return () if response.message is None else tuple(response.message.content)


INTERLEAVED: list[StreamChunk] = [
    BlockStart(0, "reasoning"),
    BlockStart(1, "text"),
    TextDelta(1, "He"),
    ReasoningDelta(0, "h"),
    BlockStart(2, "tool-call"),
    ToolCallDelta(2, "c1", "add", '{"a"'),
    TextDelta(1, "llo"),
    ReasoningDelta(0, "m"),
    ToolCallDelta(2, "c1", None, ":1}"),
    UsageChunk(TokenUsage(1, 2)),
    Finish(TOOL_CALLS),
]


def test_interleaved_deltas_become_blocks_in_order() -> None:
    """H68: blocks stand in the order of their indexes, whatever the order of their deltas."""
    source, info = ModelSource("p", "m"), CallInfo("p", "m")

    response = collect(INTERLEAVED, source=source, info=info, replay_dropped=[ReplayDrop("old", 1)])

    assert response == Response(
        message=Message("assistant", (ReasoningBlock("hm"), TextBlock("Hello"), CALL), source=source),
        finish=TOOL_CALLS,
        usage=TokenUsage(1, 2),
        text="Hello",
        reasoning="hm",
        tool_calls=(CALL,),
        replay_dropped=(ReplayDrop("old", 1),),
        info=info,
    )


def test_the_end_of_a_block_wins_over_its_deltas() -> None:
    """H69, H73: the first `BlockEnd` of an index is the block; deltas and ends after it change nothing."""
    chunks: list[StreamChunk] = [
        TextDelta(0, "a"),
        BlockEnd(0, TextBlock("b")),
        TextDelta(0, "c"),
        BlockEnd(0, TextBlock("d")),
    ]

    assert blocks_of(collect(chunks)) == (TextBlock("b"),)


def test_starts_may_be_missing_or_repeated() -> None:
    """H70, H73: a delta without a start opens its block, and a second start is ignored."""
    chunks: list[StreamChunk] = [
        BlockStart(0, "text"),
        TextDelta(0, "a"),
        BlockStart(0, "reasoning"),
        TextDelta(0, "b"),
        ReasoningDelta(1, "r"),
    ]

    assert blocks_of(collect(chunks)) == (TextBlock("ab"), ReasoningBlock("r"))


def test_what_nothing_can_be_made_of_is_left_out() -> None:
    """H72, H74: an image without its end, a call without an id and a kind that nobody knows make no block."""
    unknown: Any = "audio"
    chunks: list[StreamChunk] = [
        BlockStart(0, "image"),
        BlockStart(1, "tool-call"),
        ToolCallDelta(1, ""),
        BlockStart(2, unknown),
    ]

    assert collect(chunks) == Response(message=None, finish=STOP)


def test_an_image_is_a_block() -> None:
    """C1: an image comes whole, with its end."""
    assert blocks_of(collect([BlockStart(0, "image"), BlockEnd(0, IMAGE)])) == (IMAGE,)
    assert blocks_of(collect([BlockEnd(0, IMAGE)], ERROR)) == (IMAGE,)


@pytest.mark.parametrize("finish", [MAX_TOKENS, STOP, ERROR, ABORTED])
def test_a_call_of_a_turn_that_was_cut_is_not_executed(finish: FinishReason) -> None:
    """C17, H75: only a finish of `tool-calls` makes calls executable; others are incomplete and in no message."""
    response = collect(INTERLEAVED, finish)

    assert (response.tool_calls, response.incomplete_tool_calls) == ((), (CALL,))
    assert blocks_of(response) == (ReasoningBlock("hm"), TextBlock("Hello"))


def test_calls_that_cannot_stand_in_a_history_are_incomplete() -> None:
    """C10, C17: of an unguarded stream, a second call of an id and one without a name are not executed."""
    second = ToolCallBlock("c1", "sub", "{}")
    nameless = ToolCallBlock("c2", "", "{}")
    chunks: list[StreamChunk] = [*INTERLEAVED[:-2], BlockEnd(3, second), BlockEnd(4, nameless), Finish(TOOL_CALLS)]

    response = collect(chunks)

    assert (response.tool_calls, response.incomplete_tool_calls) == ((CALL,), (second, nameless))
    assert blocks_of(response) == (ReasoningBlock("hm"), TextBlock("Hello"), CALL)


@pytest.mark.parametrize("finish", [ERROR, ABORTED])
def test_an_interrupted_turn_keeps_what_is_not_blank(finish: FinishReason) -> None:
    """N3, H78: text and reasoning with content stay, open or closed; blank ones and calls go."""
    chunks: list[StreamChunk] = [
        TextDelta(0, " \n"),
        BlockEnd(1, ReasoningBlock("why")),
        TextDelta(2, "so"),
        ToolCallDelta(3, "c1", "add", "{"),
    ]

    assert blocks_of(collect(chunks, finish)) == (ReasoningBlock("why"), TextBlock("so"))
    assert collect(chunks[:1], finish).message is None


def test_a_successful_turn_keeps_blank_blocks() -> None:
    """C17: what a provider finished is kept as it is."""
    assert blocks_of(collect([TextDelta(0, " ")], MAX_TOKENS)) == (TextBlock(" "),)


STATE = {"v": 1, "wire": "w", "blocks": [1, 2, 3], "id": "r"}


def test_replay_state_goes_with_its_blocks() -> None:
    """R5, H75, H76: aligned state passes; entries of dropped calls go; an error keeps none."""
    whole = [*INTERLEAVED[:-1], Finish(TOOL_CALLS, STATE)]
    cut = [*INTERLEAVED[:-1], Finish(MAX_TOKENS, STATE)]

    assert collect(whole).replay_state == {**STATE, "blocks": (1, 2, 3)}
    assert collect(cut).replay_state == {**STATE, "blocks": (1, 2)}
    message = collect(cut).message
    assert message is not None
    assert message.replay_state == {**STATE, "blocks": (1, 2)}
    assert collect(whole, ERROR).replay_state is None
    assert collect(whole, ABORTED).replay_dropped == ()


def test_state_without_entries_passes() -> None:
    """R5, H76: state that says nothing of blocks survives whatever happens to them."""
    response = collect([*INTERLEAVED[:-1], Finish(MAX_TOKENS, {"v": 1})])

    assert response.replay_state == {"v": 1}


@pytest.mark.parametrize("entries", [[1, 2], [1, 2, 3, 4], "123", 3, {}])
def test_misaligned_state_is_dropped_and_reported(entries: object) -> None:
    """R5, H76: state whose entries do not match the blocks is dropped entirely."""
    response = collect([*INTERLEAVED[:-1], Finish(TOOL_CALLS, {"v": 1, "blocks": entries})])

    assert response.replay_state is None
    assert response.replay_dropped == (ReplayDrop("the answer's replay state does not have one entry for each block"),)


def test_state_that_is_not_json_is_dropped_and_reported() -> None:
    """R5: state must survive `encode` and `decode`; what cannot is dropped."""
    response = collect([TextDelta(0, "a"), Finish(STOP, {"v": 1, "at": b"x"})])

    assert response.replay_state is None
    assert response.replay_dropped == (
        ReplayDrop("the answer's replay state is not JSON: $.at is a bytes, which is not JSON"),
    )


def test_a_stop_of_state_alone_has_an_empty_message() -> None:
    """C12: a turn of server-tool items only, kept in replay state, is a stop with an empty message."""
    response = collect([Finish(STOP, {"v": 1, "blocks": []})])

    assert response.message == Message("assistant", (), replay_state={"v": 1, "blocks": ()})
    assert collect([Finish(MAX_TOKENS, {"v": 1, "blocks": []})]).message is None


INDEXES = st.integers(0, 3)
IDS = st.sampled_from(["", "a", "b"])
TEXTS = st.sampled_from(["", " ", "x"])
CALLS = st.builds(ToolCallBlock, IDS, st.sampled_from(["", "f"]), st.just("{}"))
FINISHES = st.sampled_from([STOP, TOOL_CALLS, MAX_TOKENS, ERROR, ABORTED])
STATES = st.one_of(st.none(), st.just({"v": 1}), st.builds(lambda n: {"v": 1, "blocks": [0] * n}, st.integers(0, 4)))
CHUNKS: st.SearchStrategy[StreamChunk] = st.one_of(
    st.builds(BlockStart, INDEXES, st.sampled_from(["text", "reasoning", "tool-call", "image"])),
    st.builds(TextDelta, INDEXES, TEXTS),
    st.builds(ReasoningDelta, INDEXES, TEXTS),
    st.builds(ToolCallDelta, INDEXES, IDS, st.sampled_from([None, "f"]), st.just("{}")),
    st.builds(BlockEnd, INDEXES, st.one_of(st.builds(TextBlock, TEXTS), CALLS, st.just(IMAGE))),
    st.just(UsageChunk(TokenUsage(1))),
    st.builds(Finish, FINISHES, STATES),
)


@given(st.lists(CHUNKS, max_size=15))
def test_whatever_comes_is_assembled(chunks: list[StreamChunk]) -> None:
    """H79: nothing raises, no more blocks than indexes, the last finish counts, else it is a stop."""
    response = collect(chunks)

    finishes = [chunk.reason for chunk in chunks if isinstance(chunk, Finish)]
    indexes = {chunk.index for chunk in chunks if not isinstance(chunk, (UsageChunk, Finish))}
    assert response.finish == (finishes[-1] if finishes else STOP)
    assert len(blocks_of(response)) <= len(indexes)


@given(st.lists(CHUNKS, max_size=15))
def test_assembling_a_response_again_changes_nothing(chunks: list[StreamChunk]) -> None:
    """H79: the blocks of a response, streamed whole, give the same response."""
    response = collect(chunks)
    again = [BlockEnd(index, block) for index, block in enumerate(blocks_of(response))]  # type: ignore[arg-type]  # a stream's blocks

    assert blocks_of(collect(again, response.finish)) == blocks_of(response)


@given(st.lists(CHUNKS, max_size=15))
def test_every_response_can_be_gone_on_from(chunks: list[StreamChunk]) -> None:
    """C17: `messages + [message] + one result per tool call` passes N1, for every response."""
    response = collect(chunks)
    turn = [] if response.message is None else [response.message]

    check_history([*turn, *(tool_result(call.id, "42") for call in response.tool_calls)])
