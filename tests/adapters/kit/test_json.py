"""JSON on the slow path: cut documents and wrong ones, bytes kept as text, depth without counting (S2, S3, C8)."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.adapters.kit import (
    DepthCheck,
    first_document,
    is_cut_short,
    is_object,
    readable_words,
    tolerant,
    without_blanks,
    without_lone_halves,
)

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(document=DOCUMENTS, escaped=st.booleans(), data=st.data())
def test_every_beginning_of_a_document_is_cut_short(document: object, escaped: bool, data: st.DataObject) -> None:
    """A body that ends before its JSON does is the beginning of it, wherever it was cut (S3)."""
    body = json.dumps({"a": document}, ensure_ascii=escaped).encode()
    cut = data.draw(st.integers(1, len(body) - 1))

    assert is_cut_short(body[:cut])
    assert not is_cut_short(body)


@pytest.mark.parametrize(
    "body",
    [
        b"{oops",
        b"[1,,",
        b"{]}",
        b"{x}",
        b'{"a":tru?',
        b'{"a":1.2.3',
        b'{"a" 1',
        b'{"a":"\\x"',
        b"[" * 100_000,
        b'{"a":' + b"9" * 5_000 + b"}",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_wrong_json_is_not_cut_short(body: bytes) -> None:
    """A body that no rest can make into JSON is no truncated answer, so it is not retried as one (S3)."""
    assert not is_cut_short(body)


@pytest.mark.parametrize(
    ("body", "document", "whole"),
    [
        (b'{"a":1}', b'{"a":1}', True),
        (b'{"a":"}"}data: x', b'{"a":"}"}', True),
        (b'{"a":[1,{}]} [2]', b'{"a":[1,{}]}', True),
        (b'{"a":', b'{"a":', False),
        (b'{"a":"x', b'{"a":"x', False),
        (b"]", b"]", True),
    ],
)
def test_first_document(body: bytes, document: bytes, whole: bool) -> None:
    """The first document of a body ends with the bracket that closes its first one, strings aside."""
    assert first_document(body) == (document, whole)


def test_blanks_outside_strings_go_and_digits_stay() -> None:
    """Bytes of an object become a string without white space outside strings, digits kept (C8)."""
    assert without_blanks(b'{ "a b" : 1.50e+2 ,\n"c\\" ": [ 1 ] }') == b'{"a b":1.50e+2,"c\\" ":[1]}'


def test_lone_halves_are_replaced_and_pairs_stay() -> None:
    """An escaped half of a surrogate pair is U+FFFD, a pair is left alone, an escaped backslash is no escape (S5)."""
    assert without_lone_halves(rb'"\ud83d\ude00 \ud83d \\ud83d"') == rb'"\ud83d\ude00 \ufffd \\ud83d"'


@pytest.mark.parametrize(
    ("text", "found"),
    [("{}", True), (' {"a":1}', True), ("[]", False), ('{"a":', False), ("", False), ('{"a":' * 200 + "1", False)],
)
def test_is_object(text: str, found: bool) -> None:
    """Only one whole JSON object, not nested too deep, is an object."""
    assert is_object(text) is found


def test_is_object_with_half_a_pair() -> None:
    """JSON allows escaped halves of surrogate pairs (S5)."""
    assert is_object(r'{"a":"\ud83d"}')


def test_tolerant_reading() -> None:
    """A fact that cannot be read is absent."""
    decoder = msgspec.json.Decoder(int)

    assert tolerant(b"7", decoder) == 7
    assert tolerant(b"seven", decoder) is None
    assert tolerant(b"[" * 300, decoder) is None


def test_readable_words() -> None:
    """The first words of a page come without tags, scripts, control characters and keys, and are bounded."""
    page = b"<html><script>let x</script><h1>Bad\x00 gateway</h1> api_key=sk-abcdefghijklmnop</html>"

    assert readable_words(page) == "Bad gateway api_key=[redacted]"
    assert readable_words(b"x" * 500) == "x" * 160 + "…"


@given(levels=st.integers(1, 30), limit=st.integers(2, 20), tail=st.text(alphabet="[{a", max_size=30))
def test_depth_check_never_lets_deep_events_pass(levels: int, limit: int, tail: str) -> None:
    """An event that begins like an earlier one and is short enough is not deeper than the limit (S2)."""
    check = DepthCheck(limit)
    check.enabled = True
    payload = b"[" * levels + b"1" + b"]" * levels
    shallow = check.is_shallow(payload)

    assert shallow is (levels <= limit)
    other = check.beginning + tail.encode()
    if shallow and len(other) <= check.longest:
        assert levels + (tail.count("[") + tail.count("{")) <= levels + 2 * (limit - levels)


def test_depth_check_learns_nothing_until_enabled() -> None:
    """A reader sees its first events one by one."""
    check = DepthCheck(10)

    assert check.is_shallow(b"[[1]]")
    assert (check.beginning, check.longest) == (b"", -1)
