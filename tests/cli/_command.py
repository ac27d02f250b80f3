"""How a command is run and how it ended."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

KEY = "sk-canary-0123456789abcdef"


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Run(Protocol):
    """Runs `limen` with these arguments, and `stdin` where something is piped in."""

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> Done:
        """Run it."""
        ...


def environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    """An environment for a process of its own, without anybody's keys and proxies."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PATH", "SYSTEMROOT", "COV"))}
    return {**kept, "HOME": str(folder), "PYTHONUTF8": "1", **more}


def terminal_read(descriptor: int) -> bytes:
    """Read from our end of a terminal; nothing once the other end has closed."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        # Linux says EIO where others say end of file.
        return b""


def command(*arguments: str) -> list[str]:
    """The command line that runs `limen` in a process of its own."""
    return [sys.executable, "-m", "limen", *arguments]
