"""Amazon's binary event stream (`application/vnd.amazon.eventstream`) to frames, on bytes.

Source of truth, read 2026-11-30: https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html and botocore 1.44.8
(eventstream.py). All integers are big-endian; a message is

    total length (4), length of the headers (4), CRC-32 of these eight bytes (4),
    headers, payload,
    CRC-32 of everything before it (4)

and a header is the length of its name (1), the name, a type (1) and a value. Both checksums are verified, so a body
that is no event stream, such as a proxy's page, fails at its first twelve bytes.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from limen.contract import Limits, LlmError, codes

HeaderValue: TypeAlias = bool | int | bytes | str

_PRELUDE: Final = struct.Struct(">III")
_CRC: Final = struct.Struct(">I")
_LENGTH: Final = struct.Struct(">H")
# Bytes of a message beside its headers and its payload.
_OVERHEAD: Final = _PRELUDE.size + _CRC.size
# The limit of Amazon's own SDKs; Bedrock's headers take a hundred bytes.
_HEADERS_MAX: Final = 128 * 1024

# Values of a fixed size by their type: int8, int16, int32, int64, and a time in milliseconds since 1970.
_INTEGERS: Final = {
    2: struct.Struct(">b"),
    3: struct.Struct(">h"),
    4: struct.Struct(">i"),
    5: struct.Struct(">q"),
    8: struct.Struct(">q"),
}
_TRUE, _FALSE, _BYTES, _STRING, _UUID = 0, 1, 6, 7, 9
_UUID_BYTES: Final = 16

# Header blocks of one body that were read already: a stream has a dozen kinds of events, each with the same headers.
# The cache goes with its decoder, for nothing that a provider sent outlives its call (S2).
_KNOWN_MAX: Final = 64
_KNOWN_BYTES: Final = 512


class EventStreamFrame(msgspec.Struct, frozen=True, gc=False):
    """One message: its headers by name, and its payload as it came."""

    headers: Mapping[str, HeaderValue]
    payload: bytes

    def text(self, name: str) -> str:
        """Return a header that is a string, empty where there is none."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


class _Malformed(ValueError):
    """Bytes that are no event stream; the text says which."""


class EventStreamDecoder:
    """One body: `feed` each read in order, then `eof` once; both return the frames that became complete.

    Bytes that break the format, a payload over `limits.event_bytes` and headers over 128 KiB (S2) set `failure`
    (`MALFORMED_RESPONSE`), and so does a message that the end of the body cut (`STREAM_CLOSED`); the frames before it
    are returned, and nothing after it.
    """

    __slots__ = ("_buffer", "_known", "_limit", "_wanted", "failure")

    def __init__(self, limits: Limits | None = None) -> None:
        self.failure: LlmError | None = None
        self._limit = (limits or Limits()).event_bytes
        self._buffer = bytearray()  # a message that is not complete yet
        self._wanted = _PRELUDE.size  # bytes without which the buffer need not be looked at
        self._known: dict[bytes, Mapping[str, HeaderValue]] = {}

    def feed(self, data: bytes) -> list[EventStreamFrame]:
        """Take one read; return the frames it completed."""
        frames: list[EventStreamFrame] = []
        if self.failure is not None:
            return frames
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._wanted:
                return frames
            data = bytes(self._buffer)
            self._buffer = bytearray()
        try:
            place = self._take(data, frames)
        except _Malformed as fault:
            self.failure = LlmError(f"the answer's event stream is broken: {fault}", codes.MALFORMED_RESPONSE)
        else:
            self._buffer += data[place:]
        return frames

    def eof(self) -> list[EventStreamFrame]:
        """The body ended cleanly; a message that has begun and not ended is a stream cut short."""
        if self.failure is None and self._buffer:
            self.failure = LlmError(
                f"the provider closed the stream inside of an event, after {len(self._buffer)} bytes of it",
                codes.STREAM_CLOSED,
            )
        return []

    def _take(self, data: bytes, frames: list[EventStreamFrame]) -> int:
        """Cut the complete messages out of `data`; return where the first incomplete one begins."""
        place, end = 0, len(data)
        while end - place >= _PRELUDE.size:
            total, headers, crc = _PRELUDE.unpack_from(data, place)
            if zlib.crc32(data[place : place + 8]) != crc:
                raise _Malformed("the checksum of a message's length is wrong")
            self._check_lengths(total, headers)
            if end - place < total:
                self._wanted = total
                return place
            last = place + total - _CRC.size
            (wanted,) = _CRC.unpack_from(data, last)
            if zlib.crc32(data[place:last]) != wanted:
                raise _Malformed("the checksum of a message is wrong")
            payload = place + _PRELUDE.size + headers
            block = data[place + _PRELUDE.size : payload]
            frames.append(EventStreamFrame(self._known.get(block) or self._headers(block), data[payload:last]))
            place += total
        self._wanted = _PRELUDE.size
        return place

    def _check_lengths(self, total: int, headers: int) -> None:
        if total < _OVERHEAD + headers:
            raise _Malformed(f"a message of {total} bytes cannot hold {headers} bytes of headers")
        if headers > _HEADERS_MAX:
            raise _Malformed(f"a message has {headers} bytes of headers; the limit is {_HEADERS_MAX}")
        if total - headers - _OVERHEAD > self._limit:
            raise _Malformed(f"one event is larger than {self._limit} bytes; limits.event_bytes sets the limit")

    def _headers(self, block: bytes) -> Mapping[str, HeaderValue]:
        try:
            headers = _parsed(block)
        except (IndexError, struct.error, UnicodeDecodeError):
            raise _Malformed("a message's headers end in the middle, or are no text") from None
        if len(self._known) < _KNOWN_MAX and len(block) <= _KNOWN_BYTES:
            self._known[block] = headers
        return headers


def _parsed(block: bytes) -> Mapping[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    place = 0
    while place < len(block):
        begin = place + 1
        place = begin + block[place]
        name = _slice(block, begin, place).decode()
        if name in headers:
            raise _Malformed(f"a message has the header {name!r} twice")
        kind = block[place]
        headers[name], place = _value(block, kind, place + 1)
    return headers


def _value(block: bytes, kind: int, place: int) -> tuple[HeaderValue, int]:
    """Read a header's value; return it, and where the next header begins."""
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, place
    integer = _INTEGERS.get(kind)
    if integer is not None:
        (number,) = integer.unpack_from(block, place)
        return int(number), place + integer.size
    if kind == _UUID:
        end = place + _UUID_BYTES
        return _slice(block, place, end), end
    if kind not in (_BYTES, _STRING):
        raise _Malformed(f"a message has a header of the unknown type {kind}")
    (length,) = _LENGTH.unpack_from(block, place)
    begin = place + _LENGTH.size
    end = begin + length
    value = _slice(block, begin, end)
    return (value.decode() if kind == _STRING else value), end


def _slice(block: bytes, begin: int, end: int) -> bytes:
    if end > len(block):
        raise IndexError(end)
    return block[begin:end]
