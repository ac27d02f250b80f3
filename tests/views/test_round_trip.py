"""Chunks through a wire's encoder and back through limen's reader of the same wire."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.adapters.kit import is_object
from limen.contract import (
    CODES,
    BlockStart,
    ChunkGrammar,
    Failure,
    Finish,
    FinishReason,
    StreamChunk,
    TextDelta,
    TokenUsage,
    codes,
)
from limen.views import ENCODERS, WireEncoder, encoder
from views._streams import LINE_ENDS, Content, Shape, content, cuts, read, streams

CHAT = "openai-chat"
MESSAGES = "anthropic-messages"
OLLAMA = "ollama-chat"
SHAPES = {
    CHAT: Shape(one_each=True),
    MESSAGES: Shape(bare_first=True),
    OLLAMA: Shape(one_each=True, whole_calls=True),
}
# How the last event of an answer begins or ends.
ENDS = re.compile(rb"^event: message_stop|^data: \[DONE\]|\"done\":true")


def carried(wire: str, said: Content, *, whole: bool) -> Content:
    """What of an answer a wire has a place for."""
    if (wire == OLLAMA or (wire == MESSAGES and whole)) and said.kind == "max-tokens":
        # A call that was cut is no object, and has no place there.
        said = said._replace(calls=tuple(call for call in said.calls if is_object(call[2])))
    if wire == OLLAMA:
        said = said._replace(calls=tuple((call[0], call[1], call[2].translate(LINE_ENDS)) for call in said.calls))
    if wire == OLLAMA and said.usage is not None:
        usage = said.usage
        prompt = (usage.input_tokens or 0) + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
        said = said._replace(usage=TokenUsage(input_tokens=prompt, output_tokens=usage.output_tokens))
    return said


def encoding(wire: str) -> WireEncoder:
    return encoder(wire, model="some/model", id="answer-1")


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
    chunks = data.draw(streams(Shape()))
    found = read(wire, [streamed(wire, chunks)])
    grammar = ChunkGrammar()
    grammar.feed_all(found)
    grammar.eof()

    assert content(found) == carried(wire, content(chunks), whole=False)


@pytest.mark.parametrize("wire", sorted(SHAPES))
@settings(deadline=None)
@given(data=st.data())
def test_a_whole_answer_agrees_with_the_stream(wire: str, data: st.DataObject) -> None:
    """The whole answer of the same chunks reads back with the same content, wherever the bytes are cut (G2)."""
    chunks = data.draw(streams(Shape()))
    encoder_ = encoding(wire)
    for chunk in chunks:
        encoder_.feed(chunk)
    whole = encoder_.whole()

    assert whole.error is None
    assert content(read(wire, data.draw(cuts(whole.body)))) == carried(wire, content(chunks), whole=True)


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
    ends = [event for event in before if ENDS.search(event)]

    assert (len(ends), before[-1:], after, encoder_.eof()) == (1, ends, [], [])


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
LEARNS_ON = {(MESSAGES, codes.TIMEOUT): codes.TIMEOUT}
# Ollama's line of an error has a message and nothing else.
LEARNS_ON |= {(OLLAMA, code): codes.SERVER for code in LEARNS if code != codes.CONTENT_FILTER}


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
    assert (found.code, "some words" in found.message, found.phase) == (expected, True, "mid-stream")
    assert before[:2] == [BlockStart(0, "text"), TextDelta(0, "a")]


def test_every_wire_is_tried() -> None:
    """Each encoder of the registry stands in these tests."""
    assert set(ENCODERS) == set(SHAPES)
