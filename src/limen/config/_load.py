"""A configuration from a path, from `./limen.toml` or from the environment: the whole of it, or an error (K5)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from limen.config._convert import convert, near
from limen.config._environment import KnownProvider, Proxies, proxies_from, routes_from
from limen.config._errors import Fault, invalid_config, shown
from limen.config._literal_keys import check_no_literal_key
from limen.config._routes import Route, check_app, route_of
from limen.config._schema import AppTable, RouteTable
from limen.config._toml import line_of, parse, read_text
from limen.contract import LlmError

DEFAULT_FILE: Final = "limen.toml"

Source: TypeAlias = str | Path | Mapping[str, object] | None
"""A path, a document that was read already, or `None`: `./limen.toml` if there is one, else the environment."""


class Config(msgspec.Struct, frozen=True):
    """One snapshot of everything that was configured: data, and no key.

    `model` is the one that the command asks where it is given none, as ROUTE/MODEL.
    """

    routes: Sequence[Route] = ()
    app: str | None = None
    proxies: Proxies = Proxies()
    model: str | None = None
    file: Path | None = None

    @property
    def source(self) -> str:
        """Origin of the configuration, in words."""
        return "the environment" if self.file is None else shown(self.file)


def load(
    source: object = None,
    *,
    known: Callable[[], Sequence[KnownProvider]] = tuple,
    app: str | None = None,
    folder: Path | None = None,
) -> Config:
    """Read a configuration, a `Source`; raises `INVALID_CONFIG` with file, line and key path.

    `app` names the application, whatever the configuration calls it. `known` is asked for the providers that the
    environment may configure, and only if there is no file. A relative path is relative to `folder`, the current one
    unless given.
    """
    path: object = DEFAULT_FILE if source is None else source
    if isinstance(path, Mapping):
        return _checked(_plain(source), app=app, file=None, text=None)
    if not isinstance(path, str | Path):
        raise invalid_config(f"a configuration is a path or a mapping, not a {type(source).__name__}")
    file = (folder or Path.cwd()) / Path(path).expanduser()
    if source is None and not file.exists():
        return _from_environment(known(), app)
    return _from_file(file, app)


def _from_file(file: Path, app: str | None) -> Config:
    fault: LlmError
    try:
        text = read_text(file)
        return _checked(parse(text, file), app=app, file=file, text=text)
    except LlmError as found:
        fault = found.with_traceback(None)
    # The text may hold a key that somebody wrote into the file: no frame of the error has it (E5).
    text = ""
    raise fault


def _plain(source: object) -> Mapping[str, object]:
    # A document made in code may be of any mapping type; a document read from a file is dicts and lists.
    words: str
    try:
        return msgspec.convert(msgspec.to_builtins(source, str_keys=True), dict[str, object])
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        words = str(error)
    raise invalid_config(f"a configuration is plain data, like TOML: {words}")


def _from_environment(known: Sequence[KnownProvider], app: str | None) -> Config:
    fault: Fault
    try:
        if app is not None:
            check_app(app, ())
        return Config(routes_from(known, app=app), app, proxies_from())
    except Fault as found:
        fault = found
    raise invalid_config(fault.message, path=fault.path)


def _checked(tree: Mapping[str, object], *, app: str | None, file: Path | None, text: str | None) -> Config:
    fault: Fault
    try:
        return _config(tree, app, file)
    except Fault as found:
        fault = found.with_traceback(None)
    line = None if text is None else line_of(text, fault.path)
    # Raised out here, and without what the file holds, so that neither an exception chain nor a traceback that prints
    # local variables shows a key that was written into it (E5).
    del tree, text
    raise invalid_config(fault.message, file=file, line=line, path=fault.path)


def _config(tree: Mapping[str, object], app: str | None, file: Path | None) -> Config:
    check_no_literal_key(tree)
    for name in tree:
        if name not in ("app", "routes"):
            raise Fault(
                f"unknown key; a configuration has [app] and [routes.NAME]{near(name, ('app', 'routes'))}", (name,)
            )
    table = convert(tree.get("app", {}), AppTable, ("app",))
    named = table.name
    if named is not None:
        check_app(named, ("app", "name"))
    if app is not None:
        check_app(app, ())
    tables = convert(tree.get("routes", {}), dict[str, object], ("routes",))
    folder = Path.cwd() if file is None else file.parent
    routes = tuple(
        route_of(name, convert(values, RouteTable, ("routes", name)), app=app or named, folder=folder)
        for name, values in tables.items()
    )
    return Config(routes, app or named, proxies_from(), table.model, file)
