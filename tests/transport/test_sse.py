"""The SSE framer against S1 and S2: whole, byte by byte, at every cut, and against a slow reading of the standard."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.contract import Limits, LlmError, codes
from limen.transport.framing import SseDecoder, SseEvent

HI = b'{"choices":[{"index":0,"delta":{"content":"hi"}}]}'
A = b'{"choices":[{"index":0,"delta":{"content":"a"}}]}'
B = b'{"choices":[{"index":0,"delta":{"content":"b"}}]}'
DONE = SseEvent(None, b"[DONE]")


def event(data: bytes, name: str | None = None) -> SseEvent:
    return SseEvent(name, data)


def run(*reads: bytes) -> list[SseEvent]:
    decoder = SseDecoder(Limits())
    return [found for read in reads for found in decoder.feed(read)] + decoder.eof()


def each_byte(body: bytes) -> list[bytes]:
    return [body[at : at + 1] for at in range(len(body))]


# id, body, events: the body is run whole, byte by byte and at every cut (C16).
CASES: list[tuple[str, bytes, list[SseEvent]]] = [
    ("Q028 comment rewrapped as data", b"data: : OPENROUTER PROCESSING\n\ndata: %b\n\n" % HI, [event(HI)]),
    ("Q029 no space after the colon", b"data:%b\n\ndata:[DONE]\n\n" % HI, [event(HI), DONE]),
    ("Q047 blocks without data", b"retry: 3000\n\nid: 7\n\nevent: x\n\ndata: %b\n\n" % HI, [event(HI)]),
    ("Q048 empty data as keep-alive", b"data:\n\nevent: ping\ndata:\n\ndata: %b\n\n" % HI, [event(HI)]),
    ("Q049 comment after an id", b"id: 1\ndata: %b\n\n: ping\n\nid: 2\ndata: %b\n\n" % (A, B), [event(A), event(B)]),
    ("Q051 data lines join with LF", b'data: {"a":\ndata:  "b"}\n\n', [event(b'{"a":\n "b"}')]),
    ("Q104 CR ends lines", b"data: {}\r\rdata: [DONE]\r\r", [event(b"{}"), DONE]),
    ("Q104 CRLF cut between reads", b'data: {"choices":[]}\r\n\r\n', [event(b'{"choices":[]}')]),
    ("Q162 keep-alive comments", b": keep-alive\n\n: keep-alive\n\ndata: %b\n\n" % HI, [event(HI)]),
    (
        "Q187 CRLF",
        b"data: %b\r\n\r\ndata: %b\r\n\r\ndata: [DONE]\r\n\r\n" % (A, B),
        [event(A), event(B), DONE],
    ),
    (
        "Q188 mixed ends",
        b'data: {"a":1}\n\r\ndata: {"a":2}\r\ndata: {"a":3}\r\r\n',
        [event(b'{"a":1}'), event(b'{"a":2}\n{"a":3}')],
    ),
    ("Q189 BOM", b"\xef\xbb\xbfdata: %b\n\n" % A, [event(A)]),
    (
        "Q189 a later U+FEFF stays",
        b"\xef\xbb\xbf\xef\xbb\xbfdata: {}\n\ndata: \xef\xbb\xbf{}\n\n",
        [event(b"\xef\xbb\xbf{}")],
    ),
    ("half a BOM", b"\xef\xbbdata: {}\n\ndata: 1\n\n", [event(b"1")]),
    (
        "event types are kept",
        b"event: ping\ndata: {}\n\nevent:delta\ndata: {}\n\n",
        [event(b"{}", "ping"), event(b"{}", "delta")],
    ),
    (
        "the same types again and again",
        b"event: e\ndata: {}\n\nevent: f\ndata: {}\n\n" * 3,
        [event(b"{}", "e"), event(b"{}", "f")] * 3,
    ),
    ("an empty type is none", b"event:\ndata: {}\n\n", [event(b"{}")]),
    ("a type goes with its block", b"event: a\n\ndata: {}\n\n", [event(b"{}")]),
    ("type after data, unknown fields", b"data: {}\nevent: a\nfoo: bar\nid: 1\n\n", [event(b"{}", "a")]),
    ("type that is not UTF-8", b"event: \xff\ndata: {}\n\n", [event(b"{}", "�")]),
    ("data without a colon is an empty line", b"data\ndata\n\ndata: a\ndata\n\n", [event(b"a\n")]),
    ("one space only goes", b"data:  x\n\ndata:\ty\n\n", [event(b" x"), event(b"\ty")]),
    ("blank data is a keep-alive", b"data:   \t\n\ndata: \n\ndata: 1\n\n", [event(b"1")]),
    (
        "other separators end nothing",
        "data: a\u2028b\u0085c\x0bd\x0ce\x1cf\n\n".encode(),
        [event("a\u2028b\u0085c\x0bd\x0ce\x1cf".encode())],
    ),
    ("a blank line with an error first", b"error: 1\n\n\nevent: e\n\n", [event(b"1", "error")]),
    ("blank lines between", b"\n\n\ndata: {}\n\n\n\n\ndata: 2\n\n\n", [event(b"{}"), event(b"2")]),
    (
        "error as a field",
        b'data: {}\n\nerror: {"message":"busy"}\n\n',
        [event(b"{}"), event(b'{"message":"busy"}', "error")],
    ),
    ("error as a field, a string", b'error: "busy"\n\n', [event(b'"busy"', "error")]),
    ("error field without JSON", b"error: busy\nerror: null\nerror\n\ndata: 1\n\n", [event(b"1")]),
    (
        "bare JSON error line",
        b'data: {}\n\n{"error":{"code":500}}\n',
        [event(b"{}"), event(b'{"error":{"code":500}}', "error")],
    ),
    ("bare JSON without an error", b'{"error":null}\n{"ok":1}\n{"error\n\ndata: 1\n\n', [event(b"1")]),
    ("bare JSON at the end", b'{"error":"x"}', [event(b'{"error":"x"}', "error")]),
    ("end: marker without its blank line", b"data: {}\n\ndata: [DONE]", [event(b"{}"), DONE]),
    ("end: marker with blanks", b"data:  [DONE] \n", [event(b" [DONE] ")]),
    ("end: complete JSON counts", b'data: {"a":1}\n', [event(b'{"a":1}')]),
    ("end: complete JSON over two lines", b'event: e\ndata: {"a":\ndata: 1}', [event(b'{"a":\n1}', "e")]),
    ("end: cut JSON does not count", b'data: {}\n\ndata: {"a":', [event(b"{}")]),
    ("end: cut marker does not count", b"data: [DON", []),
    ("end: nothing", b"", []),
    ("end: only a piece of a BOM", b"\xef\xbb", []),
    ("end: comment", b": bye", []),
]


@pytest.mark.parametrize(("body", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_body_gives_its_events_however_it_is_split(body: bytes, expected: list[SseEvent]) -> None:
    """The events depend on the bytes alone: whole, byte by byte, in two at every cut, with empty reads (S1, C16)."""
    assert run(body) == expected
    assert run(*each_byte(body)) == expected
    for cut in range(len(body) + 1):
        assert run(body[:cut], b"", body[cut:]) == expected


@pytest.mark.parametrize(
    "reads",
    [
        [b'data: {"a":1}\n\r\n'],
        [b'data: {"a":1}\r\r'],
        [b'data: {"a":1}\r\n\r'],
        [b'data: {"a":1}\r\n', b"\r"],
        [b'data: {"a":1}\n', b"\n"],
        [b'data: {"a":1}', b"\r\r"],
    ],
)
def test_a_finished_event_is_dispatched_at_once(reads: list[bytes]) -> None:
    """An event is out with the byte that ends its blank line, while the body is still open (S1, Q188)."""
    decoder = SseDecoder()
    found = [decoder.feed(read) for read in reads]
    assert found == [[]] * (len(reads) - 1) + [[event(b'{"a":1}')]]
    assert decoder.feed(b"\ndata: 2\n\n") == [event(b"2")]


@pytest.mark.parametrize(
    "odd",
    [
        b"event: e\ndata: {}\ndata: {}\n\n",
        b"event: e\n\n",
        b"event: e\ndata: 1\n\n",
        b": c\n\n",
        b"\n",
        b"event: g\ndata: {}\n\n",
    ],
)
@pytest.mark.parametrize("usual", [b"event: e\ndata: {}\n\n", b"data: {}\n\n"])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_what_is_not_usual_among_usual_events(odd: bytes, usual: bytes, before: int) -> None:
    """An odd block in a read of ordinary ones is read by its lines, and takes nothing from them (S1)."""
    body = usual * before + odd + usual * 2
    decoder = SseDecoder()
    decoder.feed(usual)
    assert decoder.feed(body) == slowly(body)


def test_an_error_line_does_not_wait_for_a_blank_line() -> None:
    """A provider that dies says so in one line and may keep the socket open; the line is an event at once (S1)."""
    assert SseDecoder().feed(b'data: {"a":\n{"error":{"code":500}}\n') == [event(b'{"error":{"code":500}}', "error")]


def test_a_wire_without_an_end_marker_has_none() -> None:
    """Without a marker an undispatched event at the end counts only as complete JSON (S1)."""
    decoder = SseDecoder(marker=None)
    assert decoder.feed(b"data: [DONE]\n") + decoder.eof() == []


LINES = st.sampled_from(
    """data: {}|data: {"a":"b"}|data:x|data: : k|data: |data|event: e|event:|: c|id: 1|foo||||data: [DONE]|data: é\u2028
    |error: 1|{"error":1}|\ufeffdata: 1""".replace("\n    ", "")
    .encode()
    .split(b"|")
)
BODIES = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]))).map(
    lambda rows: b"".join(a + b for a, b in rows)
)


@settings(max_examples=400, deadline=None)
@given(st.data(), BODIES, st.booleans(), st.sampled_from([b"", b"data: 1", b"data: [DONE", b"event: e", b"\r"]))
def test_the_fast_framer_agrees_with_a_slow_reading_of_the_standard(
    data: st.DataObject, body: bytes, bom: bool, tail: bytes
) -> None:
    """Any lines with any ends, cut anywhere, give what reading the standard one byte at a time gives (S1)."""
    body = (b"\xef\xbb\xbf" if bom else b"") + body + tail
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    edges = [0, *cuts, len(body)]
    assert run(*(body[a:b] for a, b in pairwise(edges))) == slowly(body)


def slowly(body: bytes) -> list[SseEvent]:
    lines, line, previous = [], bytearray(), b""
    for byte in each_byte(body.removeprefix(b"\xef\xbb\xbf")):
        if byte == b"\n" and previous == b"\r":
            pass
        elif byte in (b"\n", b"\r"):
            lines.append(bytes(line))
            line.clear()
        else:
            line += byte
        previous = byte
    found: list[SseEvent] = []
    name, data = b"", list[bytes]()
    for text in [*lines, *([bytes(line)] if line else [])]:
        field, _, value = text.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if not text:
            payload = b"\n".join(data)
            if payload.strip() and not payload.lstrip().startswith(b":"):
                found.append(SseEvent(name.decode() or None, payload))
            name, data = b"", []
        elif field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
        elif text in (b"error: 1", b'{"error":1}'):
            found.append(SseEvent("error", value if field == b"error" else text))
    if b"\n".join(data).strip() == b"[DONE]" or is_json(b"\n".join(data)):
        found.append(SseEvent(name.decode() or None, b"\n".join(data)))
    return found


def is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


SMALL = Limits(event_bytes=100)
FITS = b'data: {"a":"' + b"x" * 92 + b'"}\n\n'
OVER = b'data: {"a":"' + b"x" * 93 + b'"}\n\n'
MANY = b"data: " + b"y" * 60 + b"\ndata: " + b"y" * 60 + b"\n\n"


INSIDE = b"data: 1\n" + b"id: " + b"i" * 200 + b"\n\n"


@pytest.mark.parametrize(
    "over", [OVER, MANY, INSIDE, b"data: " + b"z" * 200, b": " + b"c" * 300 + b"\n\n", b"event: n\n" + OVER]
)
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_an_event_over_the_limit_fails_after_what_came_before(over: bytes, size: int) -> None:
    """Past `event_bytes` the decoder keeps what came before, names the limit and holds no more (S2, S4)."""
    body = FITS + over + FITS
    decoder = SseDecoder(SMALL)
    found: list[SseEvent] = []
    for at in range(0, len(body), size):
        found += decoder.feed(body[at : at + size])
        if decoder.failure is not None:
            break
    assert found == [event(FITS[6:-2])]
    assert decoder.failure is not None
    assert decoder.failure.code == codes.MALFORMED_RESPONSE
    assert "limits.event_bytes" in str(decoder.failure)
    with pytest.raises(LlmError) as fed:
        decoder.feed(b"data: 1\n\n")
    with pytest.raises(LlmError) as ended:
        decoder.eof()
    assert fed.value is ended.value is decoder.failure


def test_comments_without_blank_lines_do_not_add_up() -> None:
    """A body of nothing but comment lines holds no memory and meets no limit (S2)."""
    decoder = SseDecoder(SMALL)
    assert [decoder.feed(b": keep-alive\n") for _ in range(1000)] == [[]] * 1000
    assert decoder.feed(FITS) == [event(FITS[6:-2])]


def test_a_line_over_the_limit_does_not_wait_for_its_end() -> None:
    """A line that has not ended is over the limit as soon as it is; memory stays bounded (S2)."""
    decoder = SseDecoder(SMALL)
    assert decoder.feed(FITS + b"data: " + b"x" * 200) == [event(FITS[6:-2])]
    assert decoder.failure is not None


def test_a_limit_met_at_the_end_of_the_body() -> None:
    """A last line over the limit fails at the end too, and gives no event (S2)."""
    decoder = SseDecoder(SMALL)
    decoder.feed(b"data: " + b"1" * 70 + b"\n")
    decoder.feed(b"data: " + b"1" * 70)
    assert decoder.eof() == []
    assert decoder.failure is not None


def test_a_large_event_in_small_reads() -> None:
    """An event of 8 MiB in reads of 1 KiB is one event, and nothing is looked at before its end (S1, Q105)."""
    piece = b"x" * 1024
    decoder = SseDecoder()
    decoder.feed(b'data: {"a":"')
    for _ in range(8 * 1024):
        assert decoder.feed(piece) == []
    (found,) = decoder.feed(b'"}\n\n')
    assert len(found.data) == 8 * 1024 * 1024 + 8


def test_event_names_do_not_outlive_their_body() -> None:
    """What a body calls its events is kept for that body alone, and within bounds (S2)."""
    decoder = SseDecoder()
    for number in range(1_000):
        (event,) = decoder.feed(b"event: name-%d\ndata: {}\n\n" % number)
        assert event == SseEvent(f"name-{number}", b"{}")
    (long,) = decoder.feed(b"event: " + b"n" * 1_000_000 + b"\ndata: {}\n\n")
    assert (long.event, len(decoder._names)) == ("n" * 1_000_000, 64)
    assert sum(map(len, decoder._names)) < 64 * 128
    assert SseDecoder()._names == {}
