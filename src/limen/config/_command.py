"""Settings of the command in its user's environment: the configuration file, and the model."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from limen.config._load import DEFAULT_FILE

CONFIG_VARIABLE: Final = "LIMEN_CONFIG"
MODEL_VARIABLE: Final = "LIMEN_MODEL"


def command_file(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the configuration file of a command that names none; `None` where the environment configures the routes.

    The file that `LIMEN_CONFIG` names, else `./limen.toml`, else the user's own one (`user_file`) where it is there.
    """
    found = os.environ if environ is None else environ
    named = found.get(CONFIG_VARIABLE, "").strip()
    if named:
        return named
    own = user_file(found)
    return str(own) if not Path(DEFAULT_FILE).exists() and own is not None and own.is_file() else None


def command_model(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the model that `LIMEN_MODEL` names, as ROUTE/MODEL."""
    return (os.environ if environ is None else environ).get(MODEL_VARIABLE, "").strip() or None


def user_file(environ: Mapping[str, str], *, platform: str = sys.platform) -> Path | None:
    """Return the place of the user's own configuration, `None` where the user has no home.

    `$XDG_CONFIG_HOME/limen/limen.toml`, `~/.config` standing for that where it is unset; `%APPDATA%` on Windows.
    """
    if platform == "win32":
        folder = environ.get("APPDATA", "")
    else:
        home = environ.get("HOME", "")
        folder = environ.get("XDG_CONFIG_HOME", "") or (f"{home}/.config" if home else "")
    return Path(folder) / "limen" / DEFAULT_FILE if folder else None
