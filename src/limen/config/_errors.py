"""The one shape of a configuration error: file, line, key path, what is wrong and what to do (K5)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from limen.contract import LlmError, codes, scrub

KeyPath: TypeAlias = tuple[str | int, ...]


class Fault(Exception):
    """Fault of a configuration with its key path; becomes `INVALID_CONFIG` once file and line are known."""

    def __init__(self, message: str, path: KeyPath = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def dotted(path: Sequence[str | int]) -> str:
    """Write a key path as TOML would: `routes.work.models[0].id`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f"{'.' if text else ''}{step if _bare(step) else repr(step)}"
    return text


def _bare(step: str) -> bool:
    return bool(step) and all(character.isalnum() or character in "-_" for character in step)


def invalid_config(message: str, *, file: Path | None = None, line: int | None = None, path: KeyPath = ()) -> LlmError:
    """Make the error: `limen.toml:7: routes.work.timeout - unknown key …`.

    No colon stands behind the key path: `api_key: words` would look like a key to the scrubber.
    """
    place = "" if file is None else f"{shown(file)}:" if line is None else f"{shown(file)}:{line}:"
    words = [place, f"{dotted(path)} -" if path else "", message]
    return LlmError(scrub(" ".join(word for word in words if word)), codes.INVALID_CONFIG, phase="resolve")


def shown(file: Path) -> str:
    """Write a file's path as one would type it here."""
    return str(file.relative_to(Path.cwd())) if file.is_relative_to(Path.cwd()) else str(file)
