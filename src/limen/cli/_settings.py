"""Settings that stand before a command: `limen --config FILE …`, `limen record --out FILE -- …`."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final, NamedTuple

from limen._version import __version__
from limen.config import command_file

APP: Final = f"limen-cli/{__version__}"


class Recording(NamedTuple):
    """Destination of recorded calls, and the fields that are left out beside every secret."""

    out: Path
    redact: Sequence[str]


_CONFIG: ContextVar[str | None] = ContextVar("limen_cli_config", default=None)
_RECORDING: ContextVar[Recording | None] = ContextVar("limen_cli_recording", default=None)


def use_config(file: str | None) -> None:
    """Remember the configuration file that was named."""
    _CONFIG.set(file)


def config_file() -> str | None:
    """Return the configuration file: the one that was named, else the one that the user's environment tells of."""
    named = _CONFIG.get()
    return command_file() if named is None else named


@contextmanager
def recording(asked: Recording) -> Generator[None, None, None]:
    """Keep the calls of the commands inside."""
    token = _RECORDING.set(asked)
    try:
        yield
    finally:
        _RECORDING.reset(token)


def recording_asked() -> Recording | None:
    """Return where calls are to be kept, if they are."""
    return _RECORDING.get()
