"""Amazon's event stream on bytes: every cut, both checksums, every type of header, limits, bodies that are none."""

import struct
import zlib
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.contract import Limits, codes
from limen.transport.framing import EventStreamDecoder, EventStreamFrame, HeaderValue

# The vectors of the wire's sheet, of which the first is a recorded frame.
EVENT = bytes.fromhex(
    "00000082000000522b610c430b3a6576656e742d7479706507000c6d65737361676553746172740d3a636f6e74656e742d747970650700106170"
    "706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b2270223a226162636465222c22726f6c65223a2261"
    "7373697374616e74227d2a2e7318"
)
EXCEPTION = bytes.fromhex(
    "0000008800000061de0175f40f3a657863657074696f6e2d747970650700137468726f74746c696e67457863657074696f6e0d3a636f6e74656e"
    "742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d74797065070009657863657074696f6e7b226d65737361"
    "6765223a22736c6f7720646f776e227d832ee072"
)
JSON = {":content-type": "application/json"}


def header(name: str, kind: int, value: bytes) -> bytes:
    return bytes((len(name.encode()),)) + name.encode() + bytes((kind,)) + value


def text(name: str, value: str) -> bytes:
    return header(name, 7, struct.pack(">H", len(value.encode())) + value.encode())


def frame(headers: bytes, payload: bytes) -> bytes:
    """A message as the format says, written without the code under test."""
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


def read(*reads: bytes, limits: Limits | None = None) -> tuple[list[EventStreamFrame], str | None, str]:
    """All frames, the failure's code and its message."""
    decoder = EventStreamDecoder(limits)
    frames = [one for data in reads for one in decoder.feed(data)]
    frames += decoder.eof()
    failure = decoder.failure
    return frames, None if failure is None else failure.code, "" if failure is None else failure.failure.message


def test_vectors() -> None:
    """The two vectors of the sheet are read to their headers and payloads."""
    assert read(EVENT + EXCEPTION) == (
        [
            EventStreamFrame(
                {":event-type": "messageStart", **JSON, ":message-type": "event"},
                b'{"p":"abcde","role":"assistant"}',
            ),
            EventStreamFrame(
                {":exception-type": "throttlingException", **JSON, ":message-type": "exception"},
                b'{"message":"slow down"}',
            ),
        ],
        None,
        "",
    )


def test_every_type_of_header() -> None:
    """Each of the ten types is read as the value that it stands for."""
    block = b"".join(
        (
            header("true", 0, b""),
            header("false", 1, b""),
            header("int8", 2, b"\xff"),
            header("int16", 3, b"\x01\x00"),
            header("int32", 4, b"\x00\x01\x00\x00"),
            header("int64", 5, b"\x80" + bytes(7)),
            header("bytes", 6, b"\x00\x02\xff\x00"),
            text("string", "über"),
            header("time", 8, struct.pack(">q", 1796000000000)),
            header("uuid", 9, bytes(range(16))),
        )
    )
    expected: Mapping[str, HeaderValue] = {
        "true": True,
        "false": False,
        "int8": -1,
        "int16": 256,
        "int32": 65536,
        "int64": -(2**63),
        "bytes": b"\xff\x00",
        "string": "über",
        "time": 1796000000000,
        "uuid": bytes(range(16)),
    }
    frames, code, _ = read(frame(block, b""))
    assert (frames, code) == ([EventStreamFrame(expected, b"")], None)
    assert (frames[0].text("string"), frames[0].text("int8"), frames[0].text("none")) == ("über", "", "")


BODY = b"".join(
    (
        EVENT,
        frame(b"", b""),
        frame(text(":event-type", "a"), b"{}" * 40),
        EXCEPTION,
        frame(text(":event-type", "a"), b"\x00" * 300),
    )
)


def test_every_cut_gives_the_same_frames() -> None:
    """A body reads alike whole, byte by byte and cut in two at every place (C16)."""
    whole = read(BODY)
    assert len(whole[0]) == 5
    assert read(*(BODY[place : place + 1] for place in range(len(BODY)))) == whole
    for place in range(len(BODY) + 1):
        assert read(BODY[:place], BODY[place:]) == whole


@given(
    st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=200)), max_size=6),
    st.lists(st.integers(0, 2000), max_size=8),
)
def test_frames_survive_any_cuts(messages: list[tuple[str, bytes]], places: list[int]) -> None:
    """Whatever the frames and the cuts are, the same frames come out, in order (C16)."""
    body = b"".join(frame(text("n", name), payload) for name, payload in messages)
    ends = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    reads = [body[begin:end] for begin, end in pairwise(ends)]
    assert read(*reads) == ([EventStreamFrame({"n": name}, payload) for name, payload in messages], None, "")


def test_a_cut_body_is_closed_and_keeps_what_came_before() -> None:
    """At every place but a frame's end the end of the body is `STREAM_CLOSED`; whole frames are delivered (S4)."""
    ends = {len(EVENT): 1, len(EVENT) + len(EXCEPTION): 2, 0: 0}
    body = EVENT + EXCEPTION
    for place in range(len(body) + 1):
        frames, code, message = read(body[:place])
        assert len(frames) == max(count for end, count in ends.items() if end <= place)
        if place in ends:
            assert code is None
        else:
            assert code == codes.STREAM_CLOSED
            assert message.startswith("the provider closed the stream inside of an event, after ")


def test_any_changed_bit_is_found() -> None:
    """One flipped bit anywhere in a frame is `MALFORMED_RESPONSE`, never another frame; the frame before it stands."""
    before = frame(text("n", "before"), b"{}")
    for place in range(len(EVENT)):
        for bit in (1, 128):
            broken = bytearray(EVENT)
            broken[place] ^= bit
            frames, code, _ = read(before + bytes(broken))
            assert (len(frames), code) == (1, codes.MALFORMED_RESPONSE), place


def test_checksums_are_told_apart() -> None:
    """The message says whether the length's checksum is wrong or the message's."""
    lengths, whole = bytearray(EVENT), bytearray(EVENT)
    lengths[11] ^= 1
    whole[60] ^= 1
    assert read(bytes(lengths))[1:] == (
        codes.MALFORMED_RESPONSE,
        "the answer's event stream is broken: the checksum of a message's length is wrong",
    )
    assert read(bytes(whole))[1:] == (
        codes.MALFORMED_RESPONSE,
        "the answer's event stream is broken: the checksum of a message is wrong",
    )


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (text("a", "1") + text("a", "2"), "a message has the header 'a' twice"),
        (header("a", 10, b""), "a message has a header of the unknown type 10"),
        (text("a", "12")[:-1], "a message's headers end in the middle, or are no text"),
        (header("a", 5, b"\x00"), "a message's headers end in the middle, or are no text"),
        (header("a", 9, b"\x00"), "a message's headers end in the middle, or are no text"),
        (header("a", 6, b"\x00"), "a message's headers end in the middle, or are no text"),
        (b"\x05ab", "a message's headers end in the middle, or are no text"),
        (b"\x01a", "a message's headers end in the middle, or are no text"),
        (b"\x01\xff\x00", "a message's headers end in the middle, or are no text"),
    ],
)
def test_headers_that_are_none(block: bytes, words: str) -> None:
    """Headers that the format does not allow fail the body, though the checksums are right."""
    frames, code, message = read(EVENT + frame(block, b"{}"))
    assert len(frames) == 1
    assert (code, message) == (codes.MALFORMED_RESPONSE, f"the answer's event stream is broken: {words}")


def prelude(total: int, headers: int) -> bytes:
    lengths = struct.pack(">II", total, headers)
    return lengths + struct.pack(">I", zlib.crc32(lengths))


def test_limits() -> None:
    """Payloads and headers over their limits fail at the length, before they are kept (S2)."""
    limits = Limits(event_bytes=100)
    assert read(frame(b"", b"x" * 100), limits=limits)[1] is None
    assert read(prelude(16 + 101, 0), limits=limits)[1:] == (
        codes.MALFORMED_RESPONSE,
        "the answer's event stream is broken: one event is larger than 100 bytes; limits.event_bytes sets the limit",
    )
    assert read(prelude(2**20, 2**17 + 1))[2].endswith("a message has 131073 bytes of headers; the limit is 131072")
    assert read(prelude(15, 0))[2].endswith("a message of 15 bytes cannot hold 0 bytes of headers")
    assert read(prelude(30, 15))[2].endswith("a message of 30 bytes cannot hold 15 bytes of headers")


def test_a_page_in_place_of_frames() -> None:
    """A proxy's page fails at its first twelve bytes, and nothing that follows is read."""
    decoder = EventStreamDecoder()
    assert decoder.feed(b"<html><head>") == []
    assert decoder.failure is not None
    assert (decoder.feed(EVENT), decoder.eof()) == ([], [])


def test_headers_are_read_once_per_kind() -> None:
    """Blocks of headers that come again share one mapping; of many kinds, or long ones, none is kept (S2)."""
    frames, _, _ = read(EVENT + EVENT)
    assert frames[0].headers is frames[1].headers
    many = b"".join(frame(text("n", str(number)), b"") for number in range(65)) * 2
    frames, code, _ = read(many, frame(text("n", "x" * 600), b"") * 2)
    assert (len(frames), code) == (132, None)
    assert frames[0].headers is frames[65].headers
    assert frames[64].headers is not frames[129].headers
    assert frames[130].headers is not frames[131].headers
