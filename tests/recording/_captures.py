"""The hand-made captures of tests/captures, and how they are read."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import limen

FOLDER = Path(__file__).parents[1] / "captures"


class Capture(NamedTuple):
    """One hand-made answer."""

    file: Path
    wire: str
    dialect: str | None

    @property
    def body(self) -> bytes:
        """What the provider would send."""
        return self.file.read_bytes()

    @property
    def expected(self) -> Path:
        """Where its chunks stand."""
        return self.file.with_name(f"{self.file.stem}.chunks.jsonl")


def captures() -> list[Capture]:
    """Every capture, by wire and name."""
    found: list[Capture] = []
    for file in sorted(file for kind in ("sse", "ndjson", "json", "bin") for file in FOLDER.glob(f"*/*.{kind}")):
        _, _, dialect = file.stem.partition(".")
        found.append(Capture(file, file.parent.name, dialect or None))
    return found


def lines(capture: Capture, reads: Iterable[bytes]) -> list[str]:
    """The chunks as lines of JSON; a failure that is raised is the last line."""
    written: list[str] = []
    try:
        for chunk in limen.iter_chunks(capture.wire, reads, dialect=capture.dialect, id_seed=b"capture"):
            written.append(limen.encode(chunk).decode())
    except limen.LlmError as error:
        written.append(f'{{"raised":{limen.encode(error.failure).decode()}}}')
    return written
