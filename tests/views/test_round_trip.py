"""Chunks through a wire's encoder and back through limen's reader of the same wire."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

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
from limen.views import ENCODERS, EncoderOptions, WireEncoder, encoder
from views._streams import Shape, as_carried, content, cuts, read, streams

ROOT = Path(__file__).parents[2]
CHAT = "openai-chat"
MESSAGES = "anthropic-messages"
GEMINI = "gemini-generate"
OLLAMA = "ollama-chat"
COHERE = "cohere"
MISTRAL = "mistral"
RESPONSES = "openai-responses"
CONVERSE = "bedrock-converse"


def prompt_and_output(usage: TokenUsage) -> TokenUsage:
    """The counts of a wire that reports the whole prompt, cached or not, and what was generated."""
    parts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return TokenUsage(input_tokens=sum(part or 0 for part in parts), output_tokens=usage.output_tokens)


def without_writes(usage: TokenUsage) -> TokenUsage:
    """The counts of a wire that has no word for what was written into a cache: it is input like other."""
    written = usage.cache_write_tokens or 0
    return replace(usage, input_tokens=(usage.input_tokens or 0) + written, cache_write_tokens=None)


def without_line_ends(arguments: str) -> str:
    """The arguments of a wire whose events are lines: line ends of Unicode go out as their escapes."""
    return arguments.translate({sign: f"\\u{sign:04x}" for sign in (0x85, 0x2028, 0x2029)})


def no_reasoning(usage: TokenUsage) -> TokenUsage:
    """The counts of a wire that does not tell how much of the output was reasoning."""
    return replace(usage, reasoning_tokens=None)


def no_writes(usage: TokenUsage) -> TokenUsage:
    """The counts of a wire that has no place for cache writes."""
    return replace(usage, cache_write_tokens=None)


# Cohere has a sentence and no code; of those that limen knows, few are certain without a status.
COHERE_LEARNS = {
    code: codes.SERVER for code in CODES if code not in (codes.CONTENT_FILTER, codes.CONTEXT_WINDOW_EXCEEDED)
}
# Ollama's line of an error has a message and nothing else.
OLLAMA_LEARNS = {code: codes.SERVER for code in CODES if code != codes.CONTENT_FILTER}
# What a wire cannot carry, for each entry of `ENCODERS`; the same is told in docs/views.md.
SHAPES = {
    CHAT: Shape(one_each=True),
    # Anthropic has an error type of its own for time; a whole answer has a place for objects only.
    # Google has one status for quota and rate, and one that means that the client went away.
    GEMINI: Shape(
        one_each=True,
        whole_calls=True,
        calls_last=True,
        cut_calls=False,
        whole_cut_calls=False,
        counts=without_writes,
        learns={codes.ABORTED: "HTTP_499", codes.QUOTA: codes.RATE_LIMIT, codes.TIMEOUT: codes.TIMEOUT},
    ),
    OLLAMA: Shape(
        one_each=True,
        whole_calls=True,
        calls_last=True,
        cut_calls=False,
        whole_cut_calls=False,
        written=without_line_ends,
        counts=prompt_and_output,
        learns=OLLAMA_LEARNS,
    ),
    COHERE: Shape(bare_first=True, counts=no_writes, learns=COHERE_LEARNS),
    MISTRAL: Shape(one_each=True),
    RESPONSES: Shape(bare_first=True),
    # AWS has one exception for a spent quota and for a wrong request, and a stop reason without words for a filter.
    CONVERSE: Shape(
        bare_first=True,
        whole_cut_calls=False,
        counts=no_reasoning,
        wordless=(codes.CONTENT_FILTER,),
        learns={codes.QUOTA: codes.INVALID_REQUEST},
    ),
    MESSAGES: Shape(bare_first=True, whole_cut_calls=False, learns={codes.TIMEOUT: codes.TIMEOUT}),
}


def encoding(wire: str) -> WireEncoder:
    return encoder(wire, model="some/model", id="answer-1", options=EncoderOptions(unknown_counts="absent"))


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
    found = read(wire, data.draw(cuts(streamed(wire, chunks))))

    assert as_carried(found, SHAPES[wire]) == as_carried(chunks, SHAPES[wire])


@pytest.mark.parametrize("wire", sorted(SHAPES))
@settings(deadline=None)
@given(data=st.data())
def test_any_stream_keeps_its_content(wire: str, data: st.DataObject) -> None:
    """A grammatical stream of any shape reads back with the same text, reasoning, calls, ending and counts (G2)."""
    shape = SHAPES[wire]
    chunks = data.draw(streams(Shape(cut_calls=shape.cut_calls)))
    found = read(wire, [streamed(wire, chunks)])
    grammar = ChunkGrammar()
    grammar.feed_all(found)
    grammar.eof()

    assert content(as_carried(found, shape)) == content(as_carried(chunks, shape))


@pytest.mark.parametrize("wire", sorted(SHAPES))
@settings(deadline=None)
@given(data=st.data())
def test_a_whole_answer_agrees_with_the_stream(wire: str, data: st.DataObject) -> None:
    """The whole answer of the same chunks reads back with the same content, wherever the bytes are cut (G2)."""
    shape = SHAPES[wire]
    chunks = data.draw(streams(Shape(cut_calls=shape.cut_calls)))
    encoder_ = encoding(wire)
    for chunk in chunks:
        encoder_.feed(chunk)
    whole = encoder_.whole()
    expected = content(as_carried(chunks, shape))
    if not shape.whole_cut_calls and expected.kind == "max-tokens":
        # A call that was cut is no object, and has no place in a whole answer of such a wire.
        whole_calls = tuple(call for call in expected.calls if call[2].endswith("}"))
        expected = expected._replace(calls=whole_calls)

    assert whole.error is None
    assert content(as_carried(read(wire, data.draw(cuts(whole.body))), shape)) == expected


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
    chunks = data.draw(streams(Shape(cut_calls=SHAPES[wire].cut_calls)))
    encoder_ = encoding(wire)
    kinds = [event.kind for chunk in chunks for event in encoder_.events(chunk)]
    after = [event for chunk in chunks for event in encoder_.feed(chunk)]

    assert (kinds.count("finish"), kinds.count("end") <= 1, kinds.count("error")) == (1, True, 0)
    assert set(kinds[kinds.index("finish") + 1 :]) <= {"usage", "end"}
    assert (after, encoder_.eof()) == ([], [])


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

    expected = SHAPES[wire].learns.get(code, LEARNS.get(code, codes.SERVER))
    assert (found.code, "some words" in found.message, found.phase) == (
        expected,
        code not in SHAPES[wire].wordless,
        "mid-stream",
    )
    assert before[:2] == [BlockStart(0, "text"), TextDelta(0, "a")]


def test_every_wire_is_tried() -> None:
    """Each encoder of the registry stands in these tests, and on the page that says what its wire cannot carry."""
    page = (ROOT / "docs" / "views.md").read_text(encoding="utf-8")

    assert set(ENCODERS) == set(SHAPES)
    assert [wire for wire in ENCODERS if f"### `{wire}`\n" not in page] == []


SHAPED = (Shape(whole_calls=True, cut_calls=False), Shape(one_each=True), Shape(bare_first=True), Shape())


@pytest.mark.parametrize("shape", SHAPED)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_streams_of_a_shape_are_grammatical(shape: Shape, data: st.DataObject) -> None:
    """Whatever a wire cannot carry, the streams that it is tried with keep the chunk grammar (C1-C7)."""
    chunks = data.draw(streams(shape))
    renamed = as_carried(chunks, shape._replace(ids=False))
    grammar = ChunkGrammar()
    grammar.feed_all(renamed)
    grammar.eof()

    assert as_carried(renamed, shape) == renamed
    assert [type(chunk) for chunk in renamed] == [type(chunk) for chunk in chunks]
