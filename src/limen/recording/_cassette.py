"""Cassettes: recorded exchanges as readable JSON that diffs well, schema version 2.

A cassette is one file, or a folder of files with one exchange each. Every write is atomic: the new file is written
beside the old one and then replaces it, so a crash loses at most the exchange in flight.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import force_setattr

from limen.contract import MAX_DEPTH, LlmError, TooDeep, codes, dumps, loads

SCHEMA_VERSION: Final = 2


class Read(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One read of a body: its time, in milliseconds after the request began, and its bytes.

    `data` is text; a byte that is not UTF-8 becomes a lone surrogate (`surrogateescape`), so nothing is lost if the
    network cut a character in two.
    """

    at_ms: float
    data: str

    @property
    def raw(self) -> bytes:
        """Bytes as they arrived."""
        return to_bytes(self.data)


class RecordedRequest(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Request that was sent: `json` if the body is JSON, else `text`."""

    method: str
    path: str
    headers: Mapping[str, str] = {}
    json: object = None
    text: str | None = None


class RecordedResponse(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Response that arrived: the head, its time, and the reads of the body."""

    status: int
    at_ms: float
    headers: Mapping[str, str] = {}
    reads: Sequence[Read] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "reads", tuple(self.reads))

    @property
    def body(self) -> bytes:
        """Whole body."""
        return b"".join(read.raw for read in self.reads)


class Exchange(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Request and response of one connection. `failure` is the code that the connection ended with, absent for a clean
    end; `response` is absent if no head arrived; `wire` is absent if the recorder was not given it.
    """

    limen: str
    route: str
    model: str
    wire: str | None = None
    dialect: str | None = None
    request: RecordedRequest
    response: RecordedResponse | None = None
    failure: str | None = None
    ended_ms: float


class _Document(msgspec.Struct, frozen=True, rename="camel"):
    schema_version: int
    exchanges: Sequence[Exchange]


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    schema_version: object = None


class Cassette:
    """Recorded exchanges in order."""

    __slots__ = ("exchanges",)

    def __init__(self, exchanges: Sequence[Exchange] = ()) -> None:
        self.exchanges: tuple[Exchange, ...] = tuple(exchanges)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "Cassette":
        """Read a cassette from its file, or its folder's `.json` files in the order of their names.

        Raises `LlmError` `INVALID_CONFIG`, naming the file and the place in it, for anything but a whole cassette.
        """
        place = Path(path)
        files = sorted(place.glob("*.json")) if place.is_dir() else [place]
        return cls([exchange for file in files for exchange in decode_cassette(_bytes_of(file), str(file))])

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write the cassette as one file, atomically."""
        _write(Path(path), self.exchanges)


class CassetteWriter:
    """Writer that adds exchanges to a cassette, one atomic write each.

    A path that ends in `.json` is one file, which is rewritten whole; any other is a folder, where each exchange gets
    a numbered file. Existing exchanges are kept.
    """

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self._path = Path(path)
        self._single = self._path.suffix == ".json"
        self._exchanges = list(Cassette.load(self._path).exchanges) if self._single and self._path.exists() else []
        self._taken = 0

    def add(self, exchange: Exchange) -> None:
        """Write one more exchange."""
        if self._single:
            self._exchanges.append(exchange)
            _write(self._path, self._exchanges)
        else:
            _write(self._next(), [exchange])

    def _next(self) -> Path:
        if not self._taken:
            self._taken = max(
                (int(file.stem) for file in self._path.glob("*.json") if file.stem.isdecimal()), default=0
            )
        self._taken += 1
        return self._path / f"{self._taken:04}.json"


def encode_cassette(exchanges: Sequence[Exchange]) -> bytes:
    """Return the JSON of a cassette, indented, one field a line."""
    document: object = msgspec.to_builtins(_Document(SCHEMA_VERSION, tuple(exchanges)))
    text = json.dumps(document, indent=1, ensure_ascii=False)
    # Lone surrogates are escaped, other characters are written as they are.
    return (_LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n").encode()


def decode_cassette(data: bytes, name: str) -> tuple[Exchange, ...]:
    """Read the JSON of a cassette; `name` is the file's name in errors."""
    fault: str
    try:
        version = loads(data, msgspec.json.Decoder(_Version), depth=_DEPTH).schema_version
        if type(version) is int and version == SCHEMA_VERSION:
            return tuple(loads(data, msgspec.json.Decoder(_Document), depth=_DEPTH).exchanges)
        fault = f"its schemaVersion is {dumps(version).decode()}, and {SCHEMA_VERSION} is what this limen reads"
    except msgspec.ValidationError as error:
        fault = f"it is JSON, but no cassette: {error}"
    except TooDeep as error:
        fault = f"it is damaged: {error}"
    except msgspec.DecodeError as error:
        fault = f"it is damaged{_place(data)}: {error}"
    raise LlmError(f"{name} cannot be read as a cassette: {fault}", codes.INVALID_CONFIG, phase="resolve")


def _place(data: bytes) -> str:
    """Return the place of a JSON error, as line and column."""
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return f" at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError as error:
        return f" at line {data.count(10, 0, error.start) + 1}"
    return ""


_LONE: Final = re.compile("[\ud800-\udfff]")

# The body of a request may nest as deep as any JSON; it stands inside document, exchanges, exchange and request.
_DEPTH: Final = MAX_DEPTH + 4


def _write(path: Path, exchanges: Sequence[Exchange]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, encode_cassette(exchanges))


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by a whole new one, or leave it unchanged; its folder is there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def to_text(data: bytes) -> str:
    """Return bytes as text of a cassette; see `Read.data`."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Return the bytes of a text of a cassette."""
    return text.encode("utf-8", "surrogateescape")


def _bytes_of(file: Path) -> bytes:
    fault: str
    try:
        return file.read_bytes()
    except OSError as error:
        fault = error.strerror or type(error).__name__
    raise LlmError(f"{file} cannot be read as a cassette: {fault}", codes.INVALID_CONFIG, phase="resolve")
