"""Random streams and random damage: only grammatical chunks or one failure, and never by the cut (C16, C1-C13)."""

import itertools
import json
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from adapters.openai_chat._chat_wire import (
    DONE,
    Outcome,
    calling,
    ended,
    event,
    fragment,
    part,
    read,
    said,
    stream,
)
from limen.adapters.openai_chat import ROWS
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.contract import ReasoningBlock, TextBlock, ToolCallBlock

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
WORDS = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "error", "weird", "eos"])
DIALECTS = st.sampled_from([*sorted(ROWS), "odd"])
ODD = ReadingRules(
    think_tags=True,
    error_places=("choice", "x_groq", "base_resp"),
    stop_fields=("stop_reason", "matched_stop"),
    usage_increments=True,
    usage_omits_zeros=True,
)


def rules(dialect: str) -> str | ReadingRules:
    """A row's name, or rules that no row has together."""
    return ODD if dialect == "odd" else dialect


class Said(NamedTuple):
    """What a generated stream says: pieces of text, of reasoning, and of each call's arguments, in some order."""

    pieces: list[tuple[str, str]]

    def joined(self, source: str) -> str:
        """All pieces of one source."""
        return "".join(piece for name, piece in self.pieces if name == source)

    def sources(self) -> list[str]:
        """Sources in the order in which they began."""
        return list(dict.fromkeys(name for name, _ in self.pieces))


def encoded(pieces: Sequence[tuple[str, str]]) -> list[bytes]:
    """The events that say it."""
    begun: set[str] = set()
    events: list[bytes] = []
    for source, piece in pieces:
        if source == "text":
            events.append(said(piece))
        elif source == "reasoning":
            events.append(part(reasoning_content=piece, content=""))
        else:
            index = int(source)
            fields = {} if source in begun else {"id": f"call_{source}", "name": f"f{source}"}
            begun.add(source)
            events.append(calling(fragment(piece, index=index, **fields)))
    return events


# Arguments of a call are one string in JSON, so no piece of it can begin another document.
SOURCES = st.sampled_from(["text", "reasoning", "0", "1", "5"])
PIECES = st.lists(
    st.tuples(SOURCES, st.text("abc \n\\u\u00e9\u2028\U0001f600", min_size=1, max_size=5)), min_size=1, max_size=12
)


def cut(body: bytes, places: Sequence[int]) -> list[bytes]:
    """A body in reads that end at those places, as far as it goes."""
    ends = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    return [body[begin:end] for begin, end in itertools.pairwise(ends)] or [body]


CUTS = st.lists(st.integers(0, 10_000), max_size=12)


@given(PIECES, CUTS, st.booleans())
def test_what_a_stream_says_is_what_is_read(pieces: list[tuple[str, str]], cuts: list[int], marked: bool) -> None:
    """In the order in which blocks begin, whatever the order of the pieces and the cuts (C4, C18, C16)."""
    whole = Said(pieces)
    body = b"".join((*encoded(pieces), ended("length"), DONE if marked else b""))

    outcome = read(cut(body, cuts))

    expected: list[object] = []
    for source in whole.sources():
        text = whole.joined(source)
        if source in ("text", "reasoning"):
            expected.append(TextBlock(text) if source == "text" else ReasoningBlock(text))
        else:
            expected.append(ToolCallBlock(f"call_{source}", f"f{source}", text))
    assert outcome.blocks == expected
    assert outcome.kind == "max-tokens"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "{", "stop", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "text", "name", "arguments", "id", "code"]), inner, max_size=2)
    ),
    max_leaves=4,
)
DELTAS = st.dictionaries(
    st.sampled_from(
        [
            "content",
            "tool_calls",
            "reasoning_content",
            "reasoning",
            "reasoning_details",
            "refusal",
            "function_call",
            "role",
        ]
    ),
    JSON,
    max_size=3,
)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([None, 0, 1]),
        "id": st.sampled_from([None, "", "a", "b", 7]),
        "function": st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from([None, "", "f", "g"]),
                "arguments": st.sampled_from(
                    [None, "", "{", "}", "{}", '{"a"', ":1}", " {}", '"', "\\", {"a": [1.50]}, {}]
                ),
            },
        ),
        "extra_content": st.just({"k": 1}),
    },
)
CHOICES = st.fixed_dictionaries(
    {"delta": DELTAS | st.fixed_dictionaries({"tool_calls": st.lists(CALLS, max_size=2)}) | st.none()},
    optional={
        "index": st.sampled_from([0, 0, None, 1]),
        "finish_reason": st.none() | WORDS | st.just(""),
        "message": st.none() | DELTAS | st.fixed_dictionaries({"tool_calls": st.lists(CALLS, max_size=2)}),
        "error": st.none() | st.just({"message": "x"}),
        "stop_reason": JSON,
    },
)
EVENTS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, max_size=2) | st.none()},
    optional={
        "id": st.sampled_from(["", "x", None, 3]),
        "model": st.sampled_from(["", "m", None]),
        "usage": st.none()
        | st.dictionaries(
            st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"]),
            st.integers(-2, 9),
            max_size=4,
        ),
        "error": st.none() | JSON,
        "object": st.sampled_from(["chat.completion.chunk", "error"]),
    },
)


def of_events(events: list[dict[str, object]], *, marked: bool) -> bytes:
    """A body of those events."""
    return b"".join(event(**fields) for fields in events) + (DONE if marked else b"")


@given(st.lists(EVENTS, max_size=5), CUTS, DIALECTS, st.booleans())
@example(
    [{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}}]}], [], "generic", True
)
def test_any_shape_is_read_or_refused(
    events: list[dict[str, object]], cuts: list[int], dialect: str, marked: bool
) -> None:
    """Whatever a server puts where: the grammar holds, or there is one failure; the cut never shows."""
    body = of_events(events, marked=marked)

    assert read(cut(body, cuts), rules(dialect)) == read(body, rules(dialect))


@given(EVENTS, CUTS, DIALECTS)
def test_any_document_is_read_or_refused(fields: dict[str, object], cuts: list[int], dialect: str) -> None:
    """The same for whole answers (S3)."""
    body = json.dumps(fields).encode()

    assert read(cut(body, cuts), rules(dialect)) == read(body, rules(dialect))


GOOD = stream(
    event(id="x", model="m", choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}]),
    part(reasoning_content="h\u00e9"),
    said("a\U0001f600"),
    calling(fragment('{"a":"', id="c1", name="f")),
    calling(fragment("\U0001f600\\n"), fragment("{", index=1, id="c2", name="g")),
    calling(fragment('"}')),
    ended("tool_calls"),
    event(choices=[], usage={"prompt_tokens": 9, "completion_tokens": 3}),
)
NOISE = st.sampled_from(
    [
        b"",
        b"\n",
        b"\r",
        b'"',
        b"{",
        b"}",
        b"[",
        b"\\ud83d",
        b"\xff",
        b"data: ",
        b"error: {}",
        b"null",
        b"\x00",
        b"9" * 30,
    ]
)


def damaged(body: bytes, damage: Sequence[tuple[int, int, bytes]]) -> bytes:
    """A body of which spans were replaced."""
    for place, size, noise in damage:
        begin = place % (len(body) + 1)
        body = body[:begin] + noise + body[begin + size :]
    return body


DAMAGE = st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 40), NOISE), min_size=1, max_size=3)


@given(DAMAGE, CUTS, DIALECTS)
def test_damage_is_read_or_refused(damage: list[tuple[int, int, bytes]], cuts: list[int], dialect: str) -> None:
    """Bytes that were lost, doubled or garbled never make an ungrammatical stream, nor a crash."""
    body = damaged(GOOD, damage)

    outcome: Outcome = read(cut(body, cuts), rules(dialect))

    assert outcome == read(body, rules(dialect))
