"""The recordings that are not part of the repository: where they are, and what their manifest expects."""

import os
import re
from collections import Counter
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]

# What the corpus test counted, by wire; shown at the end of the run.
TABLE: dict[str, Counter[str]] = {}


class Called(msgspec.Struct):
    """A tool call as the manifest expects it."""

    name: str
    arguments_sha256: str = ""


class Expected(msgspec.Struct):
    """What the manifest expects of one answer."""

    text_sha256: str | None = None
    reasoning_sha256: str | None = None
    tool_calls: list[Called] = []
    finish: object = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    error: object = None


class Row(msgspec.Struct):
    """One row of the manifest."""

    file: str
    wire: str
    provider: str
    status: int
    headers: dict[str, str]
    expect: Expected

    @property
    def name(self) -> str:
        """The recording's own name."""
        return Path(self.file).name

    def body(self) -> bytes:
        """What was recorded."""
        folder = recordings()
        assert folder is not None
        return (folder.parent / self.file).read_bytes()


def recordings() -> Path | None:
    """The folder of the recordings, where there is one."""
    named = os.environ.get("LIMEN_RECORDINGS")
    place = Path(named) if named else ROOT.parent / "shared" / "recordings"
    return place if (place / "manifest.jsonl").is_file() else None


def rows() -> list[Row]:
    """Every row of the manifest."""
    folder = recordings()
    if folder is None:
        return []
    decoder = msgspec.json.Decoder(Row)
    return [decoder.decode(line) for line in (folder / "manifest.jsonl").read_bytes().splitlines()]


def exceptions() -> set[str]:
    """The recordings whose deviations the pages of the wires explain, one by one."""
    pages = (page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("corpus-*.md")))
    return {name for page in pages for name in re.findall(r"`([a-z0-9-]+--[^`]+\.(?:sse|jsonl?|bin))`", page)}
