"""Configuration: `limen.toml` or the environment, as plain data and credential sources; no key is ever held.

The environment, files and the keyring are read in this layer only (K7).
"""

from limen.config._credentials import EnvironmentKey, FileKey, KeyringKey
from limen.config._environment import KnownProvider, Proxies
from limen.config._errors import invalid_config
from limen.config._load import DEFAULT_FILE, Config, Source, load
from limen.config._routes import Route, is_loopback

__all__ = [
    "DEFAULT_FILE",
    "Config",
    "EnvironmentKey",
    "FileKey",
    "KeyringKey",
    "KnownProvider",
    "Proxies",
    "Route",
    "Source",
    "invalid_config",
    "is_loopback",
    "load",
]
