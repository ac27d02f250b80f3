"""Damaged bodies: whatever the bytes are, an LlmError or a grammatical stream, in bounded memory."""

import random
import re
import tracemalloc
from collections.abc import Iterator

import pytest

import limen
from limen.contract import ChunkGrammar
from recording._captures import Capture, captures

CAPTURES = captures()
DIALECTS = limen.wires()
SYNTAX = b'{ } [ ] " \\ null [] {} 0 -1 1e999 true "" \\ud800 \\udc00'.split()
FRAMES = [b"\n\n", b"\r", b"data: ", b"data: [DONE]\n\n", b"event: error\n", b": ping\n\n", b"\xef\xbb\xbf"]
WORDS = [b'"finish_reason":"stop"', b'"stop_reason":"end_turn"', b'{"error":{"message":"x"}}', b"[" * 200, b"0" * 400]
NUMBERS = [b"NaN", b"-Infinity", b"1.5", b"1e400"]
PIECES = [*SYNTAX, *FRAMES, *WORDS, *NUMBERS, b"\xff", b"\x00", b"\x1f", b"\t", b"\xc3", b"\xed\xa0\xbd"]
# Fields beside the answer, and some of it, with values of types that nobody documented.
FIELDS = re.compile(
    rb'"(id|model|index|usage|[a-z_]*tokens|created|finish_reason|stop_reason|tool_calls|input|delta|message|choices|'
    rb'candidates|content|parts|text|thought|thoughtSignature|functionCall|args|finishReason|usageMetadata|modelVersion)":'
    rb'\s*("[^"]*"|-?[\d.]+|null|\{[^{}]*\}|\[[^\[\]]*\])'
)
VALUES = [b"[]", b"{}", b'""', b"7", b'"0"', b"null", b"true", b"NaN", b'{"a":[1]}', b"-1", b"1.5"]


def mutated(rng: random.Random, body: bytes) -> bytes:
    """A body with one to four things done to it."""
    for _ in range(rng.randint(1, 4)):
        size = len(body)
        start = rng.randint(0, size)
        end = min(size, start + rng.choice((1, 1, 2, 5, 20, 200)))
        piece = rng.choice(PIECES)
        match rng.randrange(9):
            case 0:
                body = body[:start] + body[end:]
            case 1:
                body = body[:start] + piece + body[start:]
            case 2:
                body = body[:start] + piece + body[end:]
            case 3:
                body = body[:end] + body[start:end] * rng.choice((1, 3)) + body[end:]
            case 4:
                body = body[:start]
            case 5:
                body = body[:start] + bytes((rng.randrange(256),)) + body[start + 1 :]
            case 6 | 7:
                fields = list(FIELDS.finditer(body))
                if fields:
                    field = rng.choice(fields)
                    body = body[: field.start(2)] + rng.choice(VALUES) + body[field.end(2) :]
            case _:
                other = rng.choice(CAPTURES).body
                body = body[:start] + other[rng.randint(0, len(other)) :]
    return body


def reads(rng: random.Random, body: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(body):
        size = rng.choice((1, 3, 50, 1000, len(body)))
        yield body[place : place + size]
        place += size


def outcome(capture: Capture, dialect: str, parts: list[bytes]) -> tuple[int, str]:
    """Read a body; the chunks follow the grammar, a success has content, and an LlmError has a known code."""
    grammar = ChunkGrammar()
    count = 0
    try:
        for chunk in limen.iter_chunks(capture.wire, parts, dialect=dialect):
            grammar.feed(chunk)
            count += 1
    except limen.LlmError as error:
        return count, error.code
    grammar.eof()
    assert grammar.finish is not None
    reason = grammar.finish.reason
    if reason.kind in ("stop", "tool-calls"):
        said = [block for block in grammar.closed.values() if not is_blank(block)]
        assert said or STOP_SEQUENCE.search(b"".join(parts)) or grammar.finish.replay_state, "a success without content"
    return count, "finished"


STOP_SEQUENCE = re.compile(rb"stop_sequence|matched_stop|stop_reason|server_tool|_result")


def is_blank(block: object) -> bool:
    """Tell whether a block says nothing."""
    return isinstance(block, limen.TextBlock | limen.ReasoningBlock) and not block.text.strip()


@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mutated_bodies_give_an_error_or_a_stream(count: int) -> None:
    """Each mutation ends in one of two ways, the same whole and cut up, and leaves no memory behind (C16, S2)."""
    endings: set[str] = set()
    tracemalloc.start()
    try:
        before = 0
        for number in range(count):
            rng = random.Random(number)
            capture = rng.choice(CAPTURES)
            body = mutated(rng, capture.body)
            dialect = rng.choice((capture.dialect or DIALECTS[capture.wire][0], rng.choice(DIALECTS[capture.wire])))
            whole = outcome(capture, dialect, [body])
            assert outcome(capture, dialect, list(reads(rng, body))) == whole, (number, dialect, body)
            endings.add(whole[1])
            if number == count // 2:
                before = tracemalloc.get_traced_memory()[0]
                tracemalloc.reset_peak()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    known = {*limen.contract.CODES, "finished"}
    assert endings <= known
    assert {"finished", "STREAM_CLOSED", "MALFORMED_RESPONSE"} <= endings
    assert peak - before < 4 * 1024 * 1024
    assert after - before < 512 * 1024


def test_a_key_that_is_no_text_is_an_unknown_field() -> None:
    """A lone surrogate in a key, which the fast decoder refuses, names no field and hurts nothing (S5, C15)."""
    body = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"\\ud800":1}\n\n'
    chunks = list(limen.iter_chunks("openai-chat", body))
    assert chunks[1:3] == [limen.TextDelta(0, "x"), limen.BlockEnd(0, limen.TextBlock("x"))]
