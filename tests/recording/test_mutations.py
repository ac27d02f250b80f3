"""Damaged bodies: whatever the bytes are, an LlmError or a grammatical stream, in bounded memory."""

import random
import tracemalloc
from collections.abc import Iterator

import pytest

import limen
from limen.contract import ChunkGrammar
from recording._captures import Capture, captures

CAPTURES = captures()
SYNTAX = b'{ } [ ] " \\ null [] {} 0 -1 1e999 true "" \\ud800 \\udc00'.split()
FRAMES = [b"\n\n", b"\r", b"data: ", b"data: [DONE]\n\n", b"event: error\n", b": ping\n\n", b"\xef\xbb\xbf"]
WORDS = [b'"finish_reason":"stop"', b'"stop_reason":"end_turn"', b'{"error":{"message":"x"}}', b"[" * 200, b"0" * 400]
PIECES = [*SYNTAX, *FRAMES, *WORDS, b"\xff", b"\x00", b"\xc3"]


def mutated(rng: random.Random, body: bytes) -> bytes:
    """A body with one to four things done to it."""
    for _ in range(rng.randint(1, 4)):
        size = len(body)
        start = rng.randint(0, size)
        end = min(size, start + rng.choice((1, 1, 2, 5, 20, 200)))
        piece = rng.choice(PIECES)
        match rng.randrange(7):
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


def outcome(capture: Capture, parts: list[bytes]) -> tuple[int, str]:
    """Read a body; the chunks follow the grammar, and what is raised is an LlmError with a known code."""
    grammar = ChunkGrammar()
    count = 0
    try:
        for chunk in limen.iter_chunks(capture.wire, parts, dialect=capture.dialect):
            grammar.feed(chunk)
            count += 1
    except limen.LlmError as error:
        return count, error.code
    grammar.eof()
    return count, "finished"


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
            whole = outcome(capture, [body])
            assert outcome(capture, list(reads(rng, body))) == whole, (number, body)
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
