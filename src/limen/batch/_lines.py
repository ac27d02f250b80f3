"""Lines of a file, streamed: their numbers, their bytes, and a set of numbers that takes a bit each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

LINE_MAX: Final = 64 * 1024 * 1024
"""Bytes of the longest line that is read; a longer one is a broken row, and is not kept in memory."""

_BOM: Final = b"\xef\xbb\xbf"


def numbered_lines(path: Path, *, longest: int = LINE_MAX) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its number from 1, blank ones left out; `None` stands for one that is too long."""
    number = 0
    with path.open("rb") as file:
        while True:
            line = file.readline(longest + 1)
            if not line:
                return
            number += 1
            whole = len(line) <= longest
            while not line.endswith(b"\n") and len(line) > longest:
                line = file.readline(longest + 1)
            if not whole:
                yield number, None
                continue
            if number == 1:
                line = line.removeprefix(_BOM)
            line = line.strip()
            if line:
                yield number, line


class LineSet:
    """Set of line numbers: a bit for each, so that it hardly grows with the file."""

    __slots__ = ("_bits", "_count", "_last")

    def __init__(self) -> None:
        self._bits = bytearray()
        self._count = 0
        self._last = 0

    def add(self, number: int) -> bool:
        """Add a number; tells whether it is new."""
        place, bit = number >> 3, 1 << (number & 7)
        if place >= len(self._bits):
            self._bits.extend(bytes(place + 1 - len(self._bits) + len(self._bits) // 8))
        if self._bits[place] & bit:
            return False
        self._bits[place] |= bit
        self._count += 1
        self._last = max(self._last, number)
        return True

    @property
    def last(self) -> int:
        """The largest number; 0 where there is none."""
        return self._last

    def __contains__(self, number: int) -> bool:
        place = number >> 3
        return place < len(self._bits) and bool(self._bits[place] & 1 << (number & 7))

    def __len__(self) -> int:
        return self._count
