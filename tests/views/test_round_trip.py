"""Chunks through a wire's encoder and back through limen's reader of the same wire."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.contract import (
    CODES,
    BlockStart,
    ChunkGrammar,
    Failure,
    Finish,
    FinishReason,
    StreamChunk,
    TextDelta,
    codes,
)
from limen.views import ENCODERS, WireEncoder, encoder
from views._streams import Shape, content, cuts, read, streams

CHAT = "openai-chat"
MESSAGES = "anthropic-messages"
CONVERSE = "bedrock-converse"
SHAPES = {
    CHAT: Shape(one_each=True),
    MESSAGES: Shape(bare_first=True),
    CONVERSE: Shape(bare_first=True, counts_reasoning=False),
}


def encoding(wire: str) -> WireEncoder:
    return encoder(wire, model="some/model", id="answer-1")


def any_shape(wire: str) -> Shape:
    """No limits but what the wire does not count."""
    return Shape(counts_reasoning=SHAPES[wire].counts_reasoning)


def streamed(wire: str, chunks: list[StreamChunk]) -> bytes:
    encoder_ = encoding(wire)
    events = [data for chunk in chunks for data in encoder_.feed(chunk)]
    assert encoder_.eof() == []
    return b"".join(events)


@pytest.mark.parametrize("wire", sorted(SHAPES))
@settings(deadline=None)
@given(data=st.data())
def test_what_a_wire_carries_comes_back_chunk_by_chunk(wire: str, data: st.DataObject) -> None:
    """A stream in a wire's own shape is encoded and read back unchanged, wherever the bytes are cut (G2, C16)."""
    chunks = data.draw(streams(SHAPES[wire]))
    body = streamed(wire, chunks)

    assert read(wire, data.draw(cuts(body))) == chunks


@pytest.mark.parametrize("wire", sorted(SHAPES))
@settings(deadline=None)
@given(data=st.data())
def test_any_stream_keeps_its_content(wire: str, data: st.DataObject) -> None:
    """A grammatical stream of any shape reads back with the same text, reasoning, calls, ending and counts (G2)."""
    chunks = data.draw(streams(any_shape(wire)))
    found = read(wire, [streamed(wire, chunks)])
    grammar = ChunkGrammar()
    grammar.feed_all(found)
    grammar.eof()

    assert content(found) == content(chunks)


@pytest.mark.parametrize("wire", sorted(SHAPES))
@settings(deadline=None)
@given(data=st.data())
def test_a_whole_answer_agrees_with_the_stream(wire: str, data: st.DataObject) -> None:
    """The whole answer of the same chunks reads back with the same content, wherever the bytes are cut (G2)."""
    chunks = data.draw(streams(any_shape(wire)))
    encoder_ = encoding(wire)
    for chunk in chunks:
        encoder_.feed(chunk)
    whole = encoder_.whole()
    expected = content(chunks)
    if wire in (MESSAGES, CONVERSE) and expected.kind == "max-tokens":
        # A call that was cut is no object, and has no place in a whole answer of this wire.
        whole_calls = tuple(call for call in expected.calls if call[2].endswith("}"))
        expected = expected._replace(calls=whole_calls)

    assert whole.error is None
    assert content(read(wire, data.draw(cuts(whole.body)))) == expected


@pytest.mark.parametrize("wire", sorted(SHAPES))
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_cut_stream_ends_with_one_error(wire: str, data: st.DataObject) -> None:
    """A stream that ends without a finish ends as one in-band failure after what had arrived (V2)."""
    chunks = data.draw(streams(SHAPES[wire]))
    half = chunks[: data.draw(st.integers(0, len(chunks) - 2))]
    encoder_ = encoding(wire)
    events = [event for chunk in half for event in encoder_.feed(chunk)]
    end = encoder_.eof()
    found = read(wire, [*events, *end])
    last = found[-1]

    assert (len(end), encoder_.eof()) == (1, [])
    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    assert last.reason.failure.code == codes.SERVER
    assert last.reason.failure.message == "the stream ended without a finish"


@pytest.mark.parametrize("wire", sorted(SHAPES))
@settings(deadline=None)
@given(data=st.data())
def test_exactly_one_terminal_event(wire: str, data: st.DataObject) -> None:
    """What is fed after the finish, and an end of the stream after it, add nothing (V2)."""
    chunks = data.draw(streams(Shape()))
    encoder_ = encoding(wire)
    before = [event for chunk in chunks for event in encoder_.feed(chunk)]
    after = [event for chunk in chunks for event in encoder_.feed(chunk)]
    ends = [event for event in before if ENDS[wire] in event]

    assert (len(ends), before[-1:], after, encoder_.eof()) == (1, ends, [], [])


ENDS = {CHAT: b"data: [DONE]\n\n", MESSAGES: b"event: message_stop", CONVERSE: b'"metrics"'}


# What a client of the wire learns of a failure inside a stream; any other code is the server's failure to it.
_BAD_REQUESTS = (
    codes.INVALID_OPTIONS,
    codes.INVALID_REPLAY_STATE,
    codes.UNSUPPORTED,
    codes.UNSUPPORTED_CONTENT,
    codes.UNSUPPORTED_REASONING_EFFORT,
)
_SAME = (
    codes.CONTENT_FILTER,
    codes.CONTEXT_WINDOW_EXCEEDED,
    codes.INVALID_REQUEST,
    codes.MODEL_NOT_FOUND,
    codes.OVERLOADED,
    codes.QUOTA,
    codes.RATE_LIMIT,
)
LEARNS = {code: code for code in _SAME} | dict.fromkeys(_BAD_REQUESTS, codes.INVALID_REQUEST)
LEARNS[codes.NO_ADAPTER] = codes.MODEL_NOT_FOUND
# Anthropic has an error type of its own for time; OpenAI's is the server's.
# Converse has no exception for a quota inside a stream; it is the request that is refused.
LEARNS_ON = {(MESSAGES, codes.TIMEOUT): codes.TIMEOUT, (CONVERSE, codes.QUOTA): codes.INVALID_REQUEST}
# Converse has no place for the words of a filter.
WORDLESS = {(CONVERSE, codes.CONTENT_FILTER)}


@pytest.mark.parametrize("code", sorted(CODES))
@pytest.mark.parametrize("wire", sorted(SHAPES))
def test_failures(wire: str, code: str) -> None:
    """A failure after some text reads back in-band, with its message and the nearest code that the wire has (V2)."""
    failure = Failure("some words", code)
    finish = Finish(FinishReason("aborted" if code == codes.ABORTED else "error", failure))
    *before, last = read(wire, [streamed(wire, [BlockStart(0, "text"), TextDelta(0, "a"), finish])])
    assert isinstance(last, Finish)
    found = last.reason.failure
    assert found is not None

    expected = LEARNS_ON.get((wire, code), LEARNS.get(code, codes.SERVER))
    said = (wire, code) not in WORDLESS
    assert (found.code, "some words" in found.message, found.phase) == (expected, said, "mid-stream")
    assert before[:2] == [BlockStart(0, "text"), TextDelta(0, "a")]


def test_every_wire_is_tried() -> None:
    """Each encoder of the registry stands in these tests."""
    assert set(ENCODERS) == set(SHAPES)
