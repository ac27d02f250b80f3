"""What stands before the command's name: `limen --config FILE …`."""

from contextvars import ContextVar
from typing import Final

from limen._version import __version__

APP: Final = f"limen-cli/{__version__}"

_CONFIG: ContextVar[str | None] = ContextVar("limen_cli_config", default=None)


def use_config(file: str | None) -> None:
    """Remember the configuration file that was named."""
    _CONFIG.set(file)


def config_file() -> str | None:
    """Return the configuration file that was named, if any."""
    return _CONFIG.get()
