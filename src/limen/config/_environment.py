"""Routes and proxies of the environment, which is read here and nowhere else (K7)."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from limen.config._credentials import EnvironmentKey
from limen.config._routes import Route
from limen.contract import FrozenDict, LlmError, codes, is_loopback


class KnownProvider(NamedTuple):
    """A provider whose key has a conventional name, so that it needs no file: one row of an adapter's dialects."""

    route: str
    adapter: str
    dialect: str | None
    key_variables: Sequence[str]
    base_url: str | None
    requires_key: bool = True
    options: Mapping[str, Sequence[str]] = FrozenDict()
    """Options of the route that the environment tells, each with its variables, the usual one first."""

    @property
    def address_variables(self) -> tuple[str, ...]:
        """Variables that move the provider to another address: `X_BASE_URL` beside `X_API_KEY`.

        A server that needs no key has one by its own name too, such as `SGLANG_BASE_URL`.
        """
        stems = [name.removesuffix("_KEY").removesuffix("_TOKEN").removesuffix("_API") for name in self.key_variables]
        if not self.requires_key:
            stems.append(self.route.upper().replace("-", "_"))
        return tuple(f"{stem}_BASE_URL" for stem in dict.fromkeys(stems))


class Proxies(msgspec.Struct, frozen=True):
    """Proxies as the environment names them; the repr leaves their passwords out."""

    http: str | None = None
    https: str | None = None
    no_proxy: Sequence[str] = ()

    def of(self, base_url: str) -> str | None:
        """Return the proxy for an address, if any; this machine itself is never reached through one.

        Raises `INVALID_CONFIG` for a proxy that is neither http, https nor SOCKS.
        """
        parts = urlsplit(base_url)
        scheme = parts.scheme
        proxy = self.http if scheme == "http" else self.https
        if proxy is None or is_loopback(parts.hostname or ""):
            return None
        known = urlsplit(proxy).scheme in ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
        if not known or not proxy.isascii():
            raise LlmError(
                f"the proxy for {scheme} in the environment is not an http://, https:// or socks5h:// address; set "
                f"{scheme.upper()}_PROXY to one, or list the host in NO_PROXY",
                codes.INVALID_CONFIG,
                phase="resolve",
            )
        return proxy

    def __repr__(self) -> str:
        named = [name for name, value in (("http", self.http), ("https", self.https)) if value]
        return f"Proxies({', '.join(f'{name}=…' for name in named)})"


def proxies_from(environ: Mapping[str, str] | None = None) -> Proxies:
    """Read HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in lower case first, as curl does.

    HTTP_PROXY in capitals is ignored inside a CGI script, where a client can set it by a `Proxy` header.
    """
    found = os.environ if environ is None else environ

    def read(name: str) -> str | None:
        capital = None if name == "http_proxy" and "REQUEST_METHOD" in found else found.get(name.upper())
        value = (found.get(name) or capital or "").strip()
        return value or None

    every = read("all_proxy")
    excluded = tuple(host.strip() for host in (read("no_proxy") or "").split(",") if host.strip())
    return Proxies(_address(read("http_proxy") or every), _address(read("https_proxy") or every), excluded)


def _address(proxy: str | None) -> str | None:
    # "proxy.example:3128" is a common spelling of "http://proxy.example:3128".
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def routes_from(
    known: Sequence[KnownProvider], *, app: str | None, environ: Mapping[str, str] | None = None
) -> tuple[Route, ...]:
    """Make a route for each provider whose key is set; `X_BASE_URL` beside `X_API_KEY` moves it to another address.

    A server that needs no key, such as one on this machine, is a route by its address alone, and is sent none (K4).
    An address that cannot be used is not looked at here: the route is `implied`, so it is its own call that says so.
    """
    found = os.environ if environ is None else environ
    routes: dict[str, Route] = {}
    for provider in known:
        variable, url = _moved(provider, found)
        keyed = _key_variable(provider, found) is not None
        if provider.route in routes or not (keyed or (url is not None and not provider.requires_key)):
            continue
        if url is None and provider.base_url is None:
            continue
        routes[provider.route] = Route(
            name=provider.route,
            adapter=provider.adapter,
            place="the environment" if url is None else f"the environment variable {variable}",
            dialect=provider.dialect,
            base_url=url,
            credential=EnvironmentKey(tuple(provider.key_variables)) if keyed else None,
            app=app,
            implied=True,
            options=_told(provider, found),
        )
    return tuple(routes.values())


def _told(provider: KnownProvider, environ: Mapping[str, str]) -> FrozenDict[object]:
    told: dict[str, object] = {}
    for option, variables in provider.options.items():
        value = next((found for name in variables if (found := environ.get(name, "").strip())), None)
        if value is not None:
            told[option] = value
    return FrozenDict(told)


def _moved(provider: KnownProvider, environ: Mapping[str, str]) -> tuple[str, str | None]:
    for variable in provider.address_variables:
        url = environ.get(variable, "").strip()
        if url:
            return variable, url
    return "", None


def _key_variable(provider: KnownProvider, environ: Mapping[str, str]) -> str | None:
    return next((name for name in provider.key_variables if environ.get(name, "").strip()), None)


def without_address(
    known: Sequence[KnownProvider], environ: Mapping[str, str] | None = None
) -> Mapping[str, tuple[str, str]]:
    """Return the providers whose key is set while their address, which each user has another of, is not.

    By name, each with the variable that is set and the one that is missing, such as Azure's.
    """
    found = os.environ if environ is None else environ
    half: dict[str, tuple[str, str]] = {}
    for provider in known:
        key = _key_variable(provider, found)
        if key is not None and provider.base_url is None and _moved(provider, found)[1] is None:
            stem = key.removesuffix("_KEY").removesuffix("_TOKEN").removesuffix("_API")
            half.setdefault(provider.route, (key, f"{stem}_BASE_URL"))
    return half


def advice(known: Sequence[KnownProvider], route: str) -> str:
    """Say what would make a route where there is no configuration file: the variables of that provider, or of all."""
    table = f"or write [routes.{route}] into limen.toml"
    for provider in known:
        if provider.route != route:
            continue
        half = without_address([provider])
        if route in half:
            key, missing = half[route]
            return f"{key} is set, and the address is missing: set {missing} too, {table}"
        if not provider.requires_key:
            return f"set {provider.address_variables[0]} to the server's address, {table}"
        return f"set {' or '.join(provider.key_variables)}, {table}"
    variables = ", ".join(dict.fromkeys(name for provider in known for name in provider.key_variables))
    return f"set one of {variables}, {table}" if variables else ""
