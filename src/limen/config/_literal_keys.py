"""Finding keys that were written into a configuration (K1): by the field's name, and by what a value looks like."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from limen.config._errors import Fault, KeyPath
from limen.contract import looks_secret, names_secret

_PATH_NAMES: Final = frozenset({"api_key_file", "ca_file", "client_cert_file", "client_key_file", "path"})
_REMEDY: Final = (
    "a configuration names credentials and never holds one: put the key into an environment variable and write "
    'api_key_env = "ITS_NAME" (or api_key_file = "/path/to/file", or api_key_keyring = "service/user"), and replace '
    "this key if others could read the file"
)
_HEADER_REMEDY: Final = (
    "a configuration names credentials and never holds one: put the value into an environment variable and write "
    'headers_env = { "THE-HEADER" = "ITS_NAME" } (or headers_file, with the path of a file); for the provider\'s own '
    'key write api_key_env = "ITS_NAME"; and replace this one if others could read the file'
)
_PROXY_REMEDY: Final = (
    "a configuration never holds a credential: write the proxy without user and password, or put the whole address "
    "into the environment variable HTTPS_PROXY and leave this out"
)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_no_literal_key(tree: Mapping[str, object]) -> None:
    """Raise `Fault` where a key seems to stand in the configuration; its message holds no part of it (K1)."""
    for path, value in _leaves(tree, ()):
        names = [step for step in path if isinstance(step, str)]
        if any(looks_secret(step) for step in names):
            raise Fault(f"a name here looks like a key itself; {_REMEDY}", path[:1])
        if not isinstance(value, str) or not names:
            continue
        name, table = names[-1], names[-2] if len(names) > 1 else ""
        is_header = table == "headers"
        remedy = _HEADER_REMEDY if is_header else _PROXY_REMEDY if name == "proxy" else _REMEDY
        # The names of headers that hold keys stand before names of variables and files there.
        if table not in ("headers_env", "headers_file") and names_secret(name, header=is_header):
            raise Fault(f"this looks like a key itself; {remedy}", path)
        # /run/secrets/key-of-production is a path, whatever its words look like.
        is_path = (name in _PATH_NAMES or table == "headers_file") and re.search(r"[/\\]", value)
        if not is_path and looks_secret(value):
            raise Fault(f"the value looks like a key itself; {remedy}", path)


def variable_name(value: str, path: KeyPath) -> str:
    """Return the name of an environment variable, or raise `Fault` without echoing what may be a key (K1)."""
    mixed = re.search("[a-z]", value) and re.search("[0-9]", value) and len(value) >= 16
    if not _VARIABLE.fullmatch(value) or mixed or len(value) > 100:
        raise Fault(
            'this is the name of an environment variable, such as "DEEPSEEK_API_KEY", and what stands here is none; '
            f"if it is the key itself: {_REMEDY}",
            path,
        )
    return value


def _leaves(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    if isinstance(value, dict):
        for key, item in msgspec.convert(value, dict[str, object]).items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(msgspec.convert(value, list[object])):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value
