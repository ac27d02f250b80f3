"""File of results, which is the durable state of a batch: what stands in it is done (B2).

Each row is handed to the system in one write as soon as it is there, so a process that is killed loses none that it had
written. The disk is told to keep them (`fsync`) once a second and at the end: a machine that loses its power loses at
most the last second's rows, which are then asked again.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import msgspec

from limen.batch._lines import LineSet
from limen.batch._row import RowResult
from limen.contract import Failure, LlmError, codes, encode

if sys.platform != "win32":
    import fcntl

_HEAD: Final = b'{"line":'
"""Beginning of every row that a batch writes; what begins otherwise is somebody else's file."""


class _Written(msgspec.Struct):
    """Line and failure of a row that is out; the rest of it is not read."""

    line: int
    failure: Mapping[str, object] | None = None


_WRITTEN: Final = msgspec.json.Decoder(_Written)


class Output:
    """Results of a batch in a file, opened for one batch at a time.

    Opening cuts a half-written last line off and learns which lines are done; with `retry_failed` the failed rows are
    taken out, by a new file that takes the old one's place at once. Raises `INVALID_OPTIONS` for a file that another
    batch is writing, or that holds anything but a batch's rows, each line once.
    """

    def __init__(self, path: Path, *, retry_failed: bool = False) -> None:
        self.path = path
        self.known = LineSet()
        self.failed = 0
        self._retry_failed = retry_failed
        self._file: IO[bytes] | None = None
        self._dirty = False

    def __enter__(self) -> Self:
        self._file = self._opened()
        try:
            self._learn(self._file)
            if self._retry_failed and self.failed:
                self._file = self._without_failed(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        try:
            self.sync()
        finally:
            self._file.close()

    def write(self, result: RowResult) -> None:
        """Write one row; a line that is there already is a mistake of the caller."""
        self.write_line(result.line, encoded(result), failed=result.failure is not None)

    def write_line(self, line: int, data: bytes, *, failed: bool) -> bool:
        """Write one row as JSON; a line that is there already is left out, and `False` is returned."""
        assert self._file is not None
        if not self.known.add(line):
            return False
        rest = memoryview(data + b"\n")
        while rest:
            rest = rest[os.write(self._file.fileno(), rest) :]
        self.failed += failed
        self._dirty = True
        return True

    def sync(self) -> None:
        """Have the disk keep what was written."""
        assert self._file is not None
        if self._dirty:
            self._dirty = False
            os.fsync(self._file.fileno())

    def _opened(self) -> IO[bytes]:
        file = open(self.path, "a+b", buffering=0)  # noqa: SIM115 - closed by __exit__
        try:
            self._lock(file)
        except BaseException:
            file.close()
            raise
        return file

    def _lock(self, file: IO[bytes]) -> None:
        if sys.platform == "win32":
            # There is no such lock there: two batches on one file are not told apart.
            return
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise self._wrong("another batch is writing it; wait for its end, or name another file") from None

    def _learn(self, file: IO[bytes]) -> None:
        whole = 0
        with self.path.open("rb") as reader:
            for number, line in enumerate(reader, 1):
                if not line.endswith(b"\n"):
                    if not (line.startswith(_HEAD) or _HEAD.startswith(line)):
                        raise self._wrong(f"line {number} is no row of a batch; name another file")
                    break
                found = self._row(line, number)
                if not self.known.add(found.line):
                    raise self._wrong(f"line {number} has row {found.line} a second time; name another file")
                self.failed += found.failure is not None
                whole += len(line)
        file.truncate(whole)

    def _row(self, line: bytes, number: int) -> _Written:
        try:
            found = _WRITTEN.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = None
        if found is None or found.line < 1:
            raise self._wrong(f"line {number} is no row of a batch; name another file")
        return found

    def _without_failed(self, file: IO[bytes]) -> IO[bytes]:
        self.known, self.failed = LineSet(), 0
        beside = self.path.with_name(self.path.name + ".retry")
        with self.path.open("rb") as reader, beside.open("wb") as kept:
            for number, line in enumerate(reader, 1):
                found = self._row(line, number)
                if found.failure is None:
                    kept.write(line)
                    self.known.add(found.line)
            kept.flush()
            os.fsync(kept.fileno())
        new = open(beside, "a+b", buffering=0)  # noqa: SIM115 - closed by __exit__
        try:
            # Locked before it takes the old file's place, so that no other batch comes in between.
            self._lock(new)
            beside.replace(self.path)
        except BaseException:
            new.close()
            raise
        file.close()
        return new

    def _wrong(self, words: str) -> LlmError:
        return LlmError(f"{self.path}: {words}", codes.INVALID_OPTIONS, phase="resolve")


def encoded(result: RowResult) -> bytes:
    """Return a result as one line of JSON; one that has no JSON becomes a failed row that says so."""
    try:
        return encode(result)
    except LlmError as fault:
        failure = Failure(f"the answer cannot be written: {fault.failure.message}", codes.UNKNOWN)
        return encode(msgspec.structs.replace(result, response=None, failure=failure))
