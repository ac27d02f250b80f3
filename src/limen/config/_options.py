"""Settings of a route as arguments of an adapter's options type, each checked against it."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import structs

from limen.config._convert import convert, near
from limen.config._errors import Fault, KeyPath
from limen.config._routes import Route
from limen.config._schema import RouteTable

# Fields of `Route` that say which adapter it is and where it was written, and are no options of the adapter.
_NOT_OPTIONS: Final = frozenset({"name", "adapter", "place", "implied", "options"})
_FIELDS: Final = tuple(field for field in structs.fields(Route) if field.name not in _NOT_OPTIONS)
# Keys of the file that an option is made of, where they have other names.
_KEYS: Final[Mapping[str, str]] = {
    "api_key": "api_key_env, api_key_file and api_key_keyring",
    "secret_headers": "headers_env and headers_file",
}
# An option under another name than the route's field.
_NAMES: Final[Mapping[str, str]] = {"credential": "api_key"}
# Options that a route sets by other keys, with a sentence that says which.
_ELSEWHERE: Final[Mapping[str, str]] = {
    "api_key": "a route names its key by api_key_env, api_key_file or api_key_keyring",
    "app": "a route names the application by user_agent, all routes by name in [app]",
    "secret_headers": "a route names secret headers by headers_env and headers_file",
    "transport": "a route sets its connections by proxy, ca_file, client_cert_file and client_key_file",
}
# Keys of a route's table; an adapter's own option may have the name `options`, as Ollama's parameters have.
_ROUTE_KEYS: Final = frozenset(RouteTable.__struct_fields__) - {"options"}
# Fields of a route that the option `transport` is made of.
_OF_TRANSPORT: Final = frozenset({"proxy", "ca_file", "client_cert_file", "client_key_file"})


def settings_of(route: Route, kind: type[msgspec.Struct]) -> dict[str, object]:
    """Return a route's settings as keyword arguments of an adapter's options type.

    The route's own fields go over by name, those in `[routes.x.options]` after a check against the type. `api_key` is
    the route's credential source, `None` where it names none. Raises `Fault` for a setting that the type does not
    have, for an option of another type, and for one that is missing.
    """
    settings = _own(route, kind) | _free(route, kind)
    for field in structs.fields(kind):
        if field.required and field.name not in settings:
            key = field.name if field.name in RouteTable.__struct_fields__ else f"options.{field.name}"
            raise Fault(f"the adapter {route.adapter} needs {key}", _here(route))
    return settings


def _own(route: Route, kind: type[msgspec.Struct]) -> dict[str, object]:
    taken: dict[str, object] = {}
    for field in _FIELDS:
        name = _NAMES.get(field.name, field.name)
        value: object = getattr(route, field.name)
        if name in _OF_TRANSPORT and "transport" in kind.__struct_fields__:
            continue
        if name in kind.__struct_fields__:
            if value != field.default or name == "api_key":
                taken[name] = value
        # The name of the application is for all routes; an adapter without a `User-Agent` has no need of it.
        elif value != field.default and name != "app":
            raise Fault(
                f"the adapter {route.adapter} has no use for {_KEYS.get(name, name)}; leave it out", _here(route)
            )
    return taken


def _free(route: Route, kind: type[msgspec.Struct]) -> dict[str, object]:
    types: dict[str, type[object]] = {field.name: field.type for field in structs.fields(kind)}
    alone = [name for name in types if name not in _ROUTE_KEYS and name not in _ELSEWHERE]
    taken: dict[str, object] = {}
    for name, value in route.options.items():
        path = (*_here(route), "options", name)
        if name in _ROUTE_KEYS:
            raise Fault(f"this is a key of the route itself: write it into [routes.{route.name}]", path)
        if name in _ELSEWHERE:
            raise Fault(_ELSEWHERE[name], path)
        if name not in types:
            listed = f"options are {', '.join(alone)}" if alone else "there are no options beside the route's own keys"
            raise Fault(f"unknown key of the adapter {route.adapter}; {listed}{near(name, alone)}", path)
        taken[name] = _converted(value, types[name], path)
    return taken


def _converted(value: object, kind: type[object], path: KeyPath) -> object:
    try:
        return convert(value, kind, path, known=lambda _path: ())
    except TypeError:
        # msgspec refuses types that plain data cannot become, such as a transport's settings.
        pass
    raise Fault("this cannot be written in a configuration; make the adapter in code to set it", path)


def _here(route: Route) -> KeyPath:
    return ("routes", route.name)
