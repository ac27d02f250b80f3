"""Conversion of a route's table to a `Route`, with the checks of its values."""

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import structs

from limen.config._credentials import EnvironmentKey, FileKey, KeyringKey
from limen.config._errors import Fault, KeyPath
from limen.config._literal_keys import variable_name
from limen.config._schema import EffortTable, ModelTable, RouteSettings, RouteTable
from limen.contract import (
    CODES,
    CredentialSource,
    Effort,
    FrozenDict,
    ModelInfo,
    RetryPolicy,
    address_fault,
    freeze_object,
    is_plain_and_far,
)

# RFC 9110: the characters of a header's name, and of a product in User-Agent.
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PROXY: Final = re.compile(r"(?:https?|socks4a?|socks5h?)://[!-?A-~]+", re.IGNORECASE)
_PRODUCTS: Final = re.compile(r"[!-~]+( [!-~]+)*")


class Route(RouteSettings, frozen=True):
    """One route, ready to make an adapter from: plain data, and credential sources instead of keys.

    - `place` names the route in messages; `app` is the application's part of the `User-Agent`.
    - `implied`: the environment made it because a key is set. What is wrong with such a route is said when it is
      called, and does not keep other routes from working.
    """

    name: str
    adapter: str
    place: str
    credential: CredentialSource | None = None
    secret_headers: Mapping[str, CredentialSource] = FrozenDict[CredentialSource]()
    app: str | None = None
    models: Sequence[ModelInfo] = ()
    implied: bool = False


def route_of(name: str, table: RouteTable, *, app: str | None, folder: Path) -> Route:
    """Make the route of one table; relative paths are relative to the folder. Raises `Fault`."""
    here: KeyPath = ("routes", name)
    check_route_name(name)
    if not table.adapter.strip():
        raise Fault("the adapter's name is empty", (*here, "adapter"))
    _check_tokens(table.default_max_tokens, (*here, "default_max_tokens"))
    if table.user_agent is not None:
        check_app(table.user_agent, (*here, "user_agent"))
    for header, value in table.headers.items():
        _check_header(header, value, (*here, "headers", header))
    _check_query(table.query, (*here, "query"))
    if table.retry is not None:
        _check_codes(table.retry, (*here, "retry", "codes"))
    credential = _credential(name, table, folder)
    secret_headers = _secret_headers(name, table, folder)
    if table.base_url is not None:
        keyed = (credential is not None or secret_headers) and not table.allow_plain_http
        _check_base_url(table.base_url, (*here, "base_url"), keyed=bool(keyed))
    settings = {field: getattr(table, field) for field in RouteSettings.__struct_fields__}
    settings |= _connection(table, here, folder)
    settings["headers"] = FrozenDict(table.headers)
    settings["query"] = FrozenDict(table.query)
    settings["errors"] = tuple(table.errors)
    settings["options"] = _frozen(table.options, (*here, "options"))
    settings["path"] = None if table.path is None else _path(table.path, folder)
    route = Route(
        name=name,
        adapter=table.adapter,
        place=f"[routes.{name}]",
        credential=credential,
        secret_headers=secret_headers,
        app=table.user_agent or app,
        models=_models(name, table.models),
    )
    return structs.replace(route, **settings)


def check_route_name(name: str) -> None:
    """Raise `Fault` for a name that cannot stand before the slash of ROUTE/MODEL."""
    if not name or not name.isprintable() or " " in name or "/" in name:
        raise Fault("a route's name has no spaces, no slash and is not empty", ("routes", name))


def check_app(app: str, path: KeyPath) -> None:
    """Raise `Fault` for an application name that no `User-Agent` can carry (Q7)."""
    if not _PRODUCTS.fullmatch(app):
        raise Fault('an application is named like "my-app/1.0", in printable ASCII', path)


def _check_base_url(url: str, path: KeyPath, *, keyed: bool) -> None:
    fault = address_fault(url)
    if fault is not None:
        raise Fault(fault, path)
    if keyed and is_plain_and_far(url):
        raise Fault(
            "the key would travel unencrypted over plain http; use https, or write allow_plain_http = true (K6)", path
        )


def _check_query(query: Mapping[str, str], path: KeyPath) -> None:
    for name, value in query.items():
        if not name or not name.isprintable() or not value.isprintable():
            raise Fault("a query has names and values of one line each", (*path, name))


def _connection(table: RouteTable, here: KeyPath, folder: Path) -> dict[str, object]:
    """Return the settings of a route's connections; files by their whole path."""
    if table.proxy is not None and not _PROXY.fullmatch(table.proxy):
        raise Fault(
            "a proxy is an address such as http://proxy.example:3128 or socks5h://proxy.example:1080, without user and "
            "password",
            (*here, "proxy"),
        )
    if table.client_key_file is not None and table.client_cert_file is None:
        raise Fault("a client's key needs its certificate: write client_cert_file too", (*here, "client_key_file"))
    files: dict[str, object] = {}
    for key in ("ca_file", "client_cert_file", "client_key_file"):
        value: str | None = getattr(table, key)
        if value is not None and not value.strip():
            raise Fault("this is the path of a file, and it is empty", (*here, key))
        files[key] = None if value is None else str(_absolute(value, folder))
    return files


def _check_header(name: str, value: str, path: KeyPath) -> None:
    if not _TOKEN.fullmatch(name):
        raise Fault("this is no header's name", path)
    if not value.isprintable() or not value.isascii() or value != value.strip():
        raise Fault("a header's value is printable ASCII without spaces around it", path)


def _frozen(options: Mapping[str, object], path: KeyPath) -> Mapping[str, object]:
    fault: str
    try:
        return freeze_object(options)
    except ValueError as error:
        fault = str(error)
    raise Fault(fault, path)


def _check_codes(policy: RetryPolicy, path: KeyPath) -> None:
    for code in policy.codes:
        if code not in CODES and not re.fullmatch("HTTP_[3-5][0-9]{2}", code):
            near = difflib.get_close_matches(code, CODES, n=1)
            raise Fault(f"{code} is no code of a failure{f'; did you mean {near[0]}?' if near else ''}", path)


def _credential(name: str, table: RouteTable, folder: Path) -> CredentialSource | None:
    here: KeyPath = ("routes", name)
    sources = {
        "api_key_env": table.api_key_env,
        "api_key_file": table.api_key_file,
        "api_key_keyring": table.api_key_keyring,
    }
    named = [(key, value) for key, value in sources.items() if value is not None]
    if not named:
        return None
    if len(named) > 1:
        keys = " and ".join(key for key, _ in named)
        raise Fault(f"{keys} are both given; a route has one credential: keep one", (*here, named[1][0]))
    key, value = named[0]
    path, place = (*here, key), f"{key} of [routes.{name}]"
    if key == "api_key_env":
        return EnvironmentKey((variable_name(value, path),), place)
    if key == "api_key_file":
        if not value.strip():
            raise Fault("this is the path of a file, and it is empty", path)
        return FileKey(_absolute(value, folder), place)
    service, slash, username = value.partition("/")
    if not slash or not service.strip() or not username.strip():
        raise Fault('a keyring entry is named "service/user"', path)
    return KeyringKey(service, username, place)


def _secret_headers(name: str, table: RouteTable, folder: Path) -> Mapping[str, CredentialSource]:
    """Return the sources of a route's secret headers, by the header's name (K1)."""
    found: dict[str, CredentialSource] = {}
    taken = {header.lower(): "headers" for header in table.headers}
    for key, named in (("headers_env", table.headers_env), ("headers_file", table.headers_file)):
        for header, value in named.items():
            path: KeyPath = ("routes", name, key, header)
            place = f"{key} of [routes.{name}] for the header {header}"
            if not _TOKEN.fullmatch(header):
                raise Fault("this is no header's name", path)
            if header.lower() in taken:
                raise Fault(f"the header stands in {taken[header.lower()]} too; keep one of them", path)
            taken[header.lower()] = key
            if key == "headers_env":
                found[header] = EnvironmentKey((variable_name(value, path),), place)
            elif value.strip():
                found[header] = FileKey(_absolute(value, folder), place)
            else:
                raise Fault("this is the path of a file, and it is empty", path)
    return FrozenDict(found)


def _models(route: str, tables: Sequence[ModelTable]) -> tuple[ModelInfo, ...]:
    models: dict[str, ModelInfo] = {}
    for index, table in enumerate(tables):
        here: KeyPath = ("routes", route, "models", index)
        if not table.id.strip():
            raise Fault("a model's id is not empty", (*here, "id"))
        if table.id in models:
            raise Fault(f"the model {table.id} is listed twice", (*here, "id"))
        for field in ("context_window", "max_tokens"):
            _check_tokens(getattr(table, field), (*here, field))
        if table.input is not None and (not table.input or len(set(table.input)) < len(table.input)):
            raise Fault("input lists each kind once, and at least one; leave it out where it is unknown", here)
        models[table.id] = ModelInfo(
            provider=route,
            id=table.id,
            name=table.name or table.id,
            description=table.description,
            input_modalities=table.input,
            context_window=table.context_window,
            default_max_tokens=table.max_tokens,
            efforts=_efforts(table, here),
            default_effort=table.default_effort,
        )
    return tuple(models.values())


def _check_tokens(count: int | None, path: KeyPath) -> None:
    if count is not None and count <= 0:
        raise Fault(f"a number of tokens is positive, got {count}", path)
    if count is not None and count >= 2**53:
        raise Fault("a number of tokens is below 2**53, beyond which JSON has no exact numbers", path)


def _efforts(table: ModelTable, here: KeyPath) -> tuple[Effort, ...] | None:
    if table.efforts is None:
        efforts = None
    else:
        rows = [EffortTable(row) if isinstance(row, str) else row for row in table.efforts]
        efforts = tuple(Effort(row.id, row.name or row.id, row.description) for row in rows)
        ids = [effort.id for effort in efforts]
        if len(set(ids)) < len(ids) or not all(name.strip() for name in ids):
            raise Fault("efforts names each effort once, none of them empty", (*here, "efforts"))
        if table.default_effort is not None and table.default_effort not in ids:
            known = ", ".join(ids) or "none"
            raise Fault(f"{table.default_effort} is no effort of this model; it has {known}", (*here, "default_effort"))
    if table.default_effort is not None and not table.default_effort.strip():
        raise Fault("the effort is empty", (*here, "default_effort"))
    return efforts


def _absolute(value: str, folder: Path) -> Path:
    path = Path(value)
    if value.startswith("~"):
        try:
            path = path.expanduser()
        except RuntimeError:
            # No home directory is known: the path stays as written, and reading it says that there is no such file.
            return path
    return path if path.is_absolute() else folder / path


def _path(value: str, folder: Path) -> str:
    # A bare name may also be a sample that ships with limen, so it is only resolved where such a file exists.
    found = _absolute(value, folder)
    return str(found) if found.exists() or "/" in value or "\\" in value else value
