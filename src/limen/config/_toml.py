"""TOML text to plain data, and key paths back to line numbers."""

import tomllib
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from limen.config._errors import KeyPath, invalid_config
from limen.contract import LlmError

MAX_BYTES: Final = 1024 * 1024


def read_text(file: Path) -> str:
    """Return a configuration file's text, or raise `INVALID_CONFIG`."""
    fault: str
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) <= MAX_BYTES:
            return raw.decode("utf-8-sig")
        fault = f"the file is larger than {MAX_BYTES} bytes, which no configuration is"
    except FileNotFoundError:
        fault = "there is no such file; name another one, or leave it out to use ./limen.toml or the environment"
    except OSError as error:
        fault = f"the file cannot be read: {error.strerror or type(error).__name__}"
    except UnicodeDecodeError as error:
        fault = f"the file is not UTF-8 text (byte {error.start})"
    # Raised out here, so that what the file holds hangs on no exception chain (E5).
    raise invalid_config(fault, file=file)


def parse(text: str, file: Path | None) -> Mapping[str, object]:
    """Return the document as plain data, or raise `INVALID_CONFIG` with the line."""
    found = _try(text)
    if isinstance(found, str):
        raise _syntax_error(found, file)
    return found


def _try(text: str) -> Mapping[str, object] | str:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return str(error)


def _syntax_error(words: str, file: Path | None) -> LlmError:
    # tomllib ends its message with "(at line 3, column 9)" or "(at end of document)"
    message, _, place = words.rpartition(" (at ")
    digits = place.removeprefix("line ").partition(",")[0]
    line = int(digits) if digits.isdecimal() else None
    where = "" if line is not None else " at the end of the document"
    return invalid_config(f"this is not TOML{where}: {message or words}", file=file, line=line)


def line_of(text: str, path: KeyPath) -> int | None:
    """Return the line on which the statement that made this key path begins; `None` where nothing made it.

    A document cut at the end of a line is a valid one unless the cut is inside a statement, so the first valid
    prefix that has the path ends with the statement.
    """
    lines = text.replace("\r\n", "\n").split("\n")

    def valid_prefix(count: int) -> tuple[int, Mapping[str, object]]:
        while True:
            found = _try("\n".join(lines[:count]))
            if not isinstance(found, str):
                return count, found
            count -= 1

    end = bisect_left(range(len(lines) + 1), 1, key=lambda count: int(_has(valid_prefix(count)[1], path)))
    if not path or end > len(lines):
        return None
    return valid_prefix(end - 1)[0] + 1


def _has(tree: object, path: KeyPath) -> bool:
    for step in path:
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]  # pyright: ignore[reportUnknownVariableType] - TOML is read as unknown
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):  # pyright: ignore[reportUnknownArgumentType] - as above
            tree = tree[step]  # pyright: ignore[reportUnknownVariableType] - as above
        else:
            return False
    return True
