"""Lines of JSON, framed from bytes: every line end, every cut, every limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.contract import Limits, LlmError, codes
from limen.transport.framing import NdjsonDecoder

BOM = b"\xef\xbb\xbf"
# Pieces of bodies: lines, line ends, blanks, halves of characters, a page, JSON cut in the middle.
PIECES = st.lists(
    st.sampled_from(
        (
            *(b'{"a":1}', b'{"b":"\xc3\xa9"}', b"\n", b"\r\n", b"\r", b"\n\n", b" ", b"\t", b"\xff", b"\xc3", b"\x00"),
            *(b"<html>", b'{"c', BOM, b"\xe2\x80\xa8", b"x" * 9),
        )
    ),
    max_size=12,
).map(b"".join)


def lines_of(reads: list[bytes], limit: int = 1024) -> tuple[list[bytes], str | None]:
    """The lines of a body that comes in these reads, and the code of the failure."""
    decoder = NdjsonDecoder(Limits(event_bytes=limit))
    lines: list[bytes] = []
    for data in reads:
        lines += decoder.feed(data)
        if decoder.failure is not None:
            return lines, decoder.failure.code
    lines += decoder.eof()
    return lines, None if decoder.failure is None else decoder.failure.code


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}\r\n{"b":2}\r\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b'\n\r\n  \t\n{"a":1}\n\n\n{"b":2}\n \n', [b'{"a":1}', b'{"b":2}']),
        (BOM + b'{"a":1}\n', [b'{"a":1}']),
        (BOM + BOM, [BOM]),
        (BOM[:2], [BOM[:2]]),
        (BOM, []),
        (b"", []),
        (b"  \n", []),
        (b'{"a":"\xff\xfe"}\n', [b'{"a":"\xff\xfe"}']),
        (b'{"a":"\xe2\x80\xa8\xc2\x85\x0b\x0c"}\n', [b'{"a":"\xe2\x80\xa8\xc2\x85\x0b\x0c"}']),
        (b"<html>\n<body>", [b"<html>", b"<body>"]),
        (b'{"a":\r1}\n', [b'{"a":\r1}']),
    ],
)
def test_lines(body: bytes, expected: list[bytes]) -> None:
    """LF alone ends a line; white space around it, blank lines and one byte order mark are dropped, nothing else."""
    assert lines_of([body]) == (expected, None)
    assert lines_of([body[at : at + 1] for at in range(len(body))]) == (expected, None)


@given(PIECES, st.sampled_from([4, 9, 1024]))
def test_every_cut_gives_the_same_lines(body: bytes, limit: int) -> None:
    """Cut in two at every byte, and byte by byte, a body gives the same lines and the same failure (C16)."""
    whole = lines_of([body], limit)

    assert lines_of([body[at : at + 1] for at in range(len(body))], limit) == whole
    for cut in range(len(body) + 1):
        assert lines_of([body[:cut], body[cut:]], limit) == whole


@given(PIECES)
def test_lines_are_those_of_a_plain_split(body: bytes) -> None:
    """Without a limit the lines are the parts between LFs that are not blank."""
    plain = body.removeprefix(BOM)

    assert lines_of([body])[0] == [line.strip() for line in plain.split(b"\n") if line.strip()]


def test_a_line_over_the_limit() -> None:
    """Past the limit the lines before it are returned, the failure is MALFORMED_RESPONSE, and the next call raises."""
    decoder = NdjsonDecoder(Limits(event_bytes=5))

    assert decoder.feed(b"12345\n123456\n12\n") == [b"12345"]
    assert decoder.failure is not None
    assert (decoder.failure.code, "5 bytes" in str(decoder.failure)) == (codes.MALFORMED_RESPONSE, True)
    for act in (decoder.eof, lambda: decoder.feed(b"\n")):
        with pytest.raises(LlmError, match="sets the limit"):
            act()


def test_a_line_without_an_end_is_bounded() -> None:
    """A line that does not end fails at its limit, whatever the reads, and keeps nothing (S2)."""
    decoder = NdjsonDecoder(Limits(event_bytes=5))
    decoder.feed(b'{"a":1}'[:3])

    assert (decoder.feed(b"45"), decoder.failure) == ([], None)
    assert decoder.feed(b"6") == []
    assert decoder.failure is not None


def test_blanks_before_a_line_are_not_kept() -> None:
    """A flood of white space, with line ends or without, is no line and is not counted against the limit (T1)."""
    decoder = NdjsonDecoder(Limits(event_bytes=8))
    for _ in range(1000):
        assert decoder.feed(b"  \r") == []
        assert decoder.feed(b"\n \n") == []

    assert decoder.feed(b' {"a":1}\n') == [b'{"a":1}']
    assert decoder.eof() == []
    assert decoder.failure is None
