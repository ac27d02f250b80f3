"""Newline-delimited JSON as lines of bytes; what a line holds is the reader's business.

Source: https://github.com/ndjson/ndjson-spec (1.0.0, read 2026-12-01): LF ends a line, a CR before it is ignored as
white space of JSON, blank lines may be ignored. Valid JSON has no LF inside a value, so no line is looked into.
"""

from typing import Final

from limen.contract import Limits, LlmError, codes

_BOM: Final = b"\xef\xbb\xbf"


class NdjsonDecoder:
    """One body: `feed` each read in order, then `eof` once; both return the lines that became complete.

    Lines are without the ASCII white space around them, blank ones are left out, and one leading byte order mark is
    dropped. A last line needs no LF. Past `limits.event_bytes` (S2) `failure` is set, what came before is returned, and
    the next call raises it.
    """

    __slots__ = ("_head", "_limit", "_parts", "_size", "_starting", "failure")

    def __init__(self, limits: Limits | None = None) -> None:
        self.failure: LlmError | None = None
        self._limit = (limits or Limits()).event_bytes
        self._starting = True
        self._head = b""  # what may still become a byte order mark
        self._parts: list[bytes] = []  # of a line that has not ended; joined once, however many reads it took
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Take one read; return the lines it completed."""
        if self.failure is not None:
            raise self.failure
        if self._starting:
            data = self._head + data
            if _BOM.startswith(data):
                self._head = data
                return []
            self._starting = False
            data = data.removeprefix(_BOM)
        return self._split(data)

    def eof(self) -> list[bytes]:
        """Take the clean end of the body; return a last line that had no LF."""
        if self.failure is not None:
            raise self.failure
        if self._starting:
            self._starting = False
            return self._split(self._head.removeprefix(_BOM) + b"\n")
        return self._split(b"\n")

    def _split(self, data: bytes) -> list[bytes]:
        first, *others = data.split(b"\n")
        if not others:
            self._keep(first)
            return []
        if self._parts:
            self._keep(first)
            if self.failure is not None:
                return []
            first = b"".join(self._parts)
            self._parts, self._size = [], 0
        rest = others.pop()
        lines = [first, *others]
        if len(first) + len(data) > self._limit:
            for place, line in enumerate(lines):
                if len(line.lstrip()) > self._limit:
                    self._fail()
                    lines, rest = lines[:place], b""
                    break
        self._keep(rest)
        return [line for line in map(bytes.strip, lines) if line]

    def _keep(self, piece: bytes) -> None:
        """Keep a piece of a line whose end has not come; white space before the line costs nothing."""
        if not self._parts:
            piece = piece.lstrip()
        if not piece:
            return
        self._size += len(piece)
        if self._size > self._limit:
            self._fail()
        else:
            self._parts.append(piece)

    def _fail(self) -> None:
        self.failure = LlmError(
            f"a line is longer than {self._limit} bytes; limits.event_bytes sets the limit", codes.MALFORMED_RESPONSE
        )
        self._parts, self._size = [], 0
