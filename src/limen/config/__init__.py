"""Configuration: `limen.toml` or the environment, as plain data and credential sources; no key is ever held.

The environment, files and the keyring are read in this layer only (K7).
"""

from limen.config._command import command_file, command_model, user_file
from limen.config._credentials import EnvironmentKey, FileKey, KeyringKey
from limen.config._environment import KnownProvider, Proxies, advice, without_address
from limen.config._errors import Fault, KeyPath, invalid_config
from limen.config._load import DEFAULT_FILE, Config, Source, load
from limen.config._options import settings_of
from limen.config._routes import Route

__all__ = [
    "DEFAULT_FILE",
    "Config",
    "EnvironmentKey",
    "Fault",
    "FileKey",
    "KeyPath",
    "KeyringKey",
    "KnownProvider",
    "Proxies",
    "Route",
    "Source",
    "advice",
    "command_file",
    "command_model",
    "invalid_config",
    "load",
    "settings_of",
    "user_file",
    "without_address",
]
