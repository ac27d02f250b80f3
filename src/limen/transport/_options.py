"""What a caller may set about connections."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from limen.contract import LlmError, codes, remember_secret

if TYPE_CHECKING:
    import ssl as ssl_module

    import aiohttp


class TransportOptions:
    """Proxy, TLS and session of an adapter's requests (K8).

    `proxy` is the URL of an HTTP proxy, with `user:password@` where it wants one; hosts in `no_proxy` (`example.com`
    covers its subdomains too, `*` is all) and loopback go without. `ssl` is the caller's own context, for a private CA
    or a client certificate. `session` is the caller's own `aiohttp.ClientSession`: it is used on its loop and never
    closed here. Raises `LlmError` `INVALID_CONFIG` for a proxy that is no http(s) URL.
    """

    __slots__ = ("no_proxy", "proxy", "session", "ssl")

    def __init__(
        self,
        *,
        proxy: str | None = None,
        no_proxy: Sequence[str] = (),
        ssl: "ssl_module.SSLContext | None" = None,
        session: "aiohttp.ClientSession | None" = None,
    ) -> None:
        self.proxy = proxy
        self.no_proxy = tuple(host.strip().lower().removeprefix("*.").lstrip(".") for host in no_proxy)
        self.ssl = ssl
        self.session = session
        if proxy is not None:
            _check_proxy(proxy)

    def proxy_for(self, host: str) -> str | None:
        """Return the proxy for requests to a host, or `None` where they go straight."""
        host = host.lower()
        if self.proxy is None or is_loopback(host) or "*" in self.no_proxy:
            return None
        if any(host == name or host.endswith(f".{name}") for name in self.no_proxy if name):
            return None
        return self.proxy

    def __repr__(self) -> str:
        shown = None
        if self.proxy is not None:
            parts = urlsplit(self.proxy)
            shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        return (
            f"TransportOptions(proxy={shown!r}, no_proxy={self.no_proxy!r}, "
            f"ssl={self.ssl is not None}, session={self.session is not None})"
        )


def is_loopback(host: str) -> bool:
    """Say whether a host name or address is this machine's own (K6); a name that merely looks like one is not."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        name = host.lower().rstrip(".")
        return name == "localhost" or name.endswith(".localhost")


def _check_proxy(proxy: str) -> None:
    try:
        parts = urlsplit(proxy)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
        parts = None
    if not sound or parts is None:
        raise LlmError(
            "the proxy is not a URL such as http://proxy.example:3128 (SOCKS is not supported)",
            codes.INVALID_CONFIG,
            phase="resolve",
        )
    if parts.password:
        remember_secret(parts.password)
