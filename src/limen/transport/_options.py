"""Options of connections: proxy and TLS."""

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from limen.contract import LlmError, codes, foreign_text, is_loopback, remember_secret

if TYPE_CHECKING:
    import ssl as ssl_module
    from pathlib import Path


class TransportOptions:
    """Proxy and TLS of an adapter's requests (K8).

    `proxy` is the URL of an HTTP or SOCKS proxy (`http`, `https`; `socks5`, `socks5h`, `socks4`, `socks4a` with the
    extra `limen[socks]`), with `user:password@` where it wants one; hosts in `no_proxy` (`example.com` covers its
    subdomains too, `10.0.0.0/8` a network, `*` all) and loopback go without. TLS trusts the system's certificates, or
    those that `SSL_CERT_FILE` or `SSL_CERT_DIR` name; `ca_file` adds a private CA, `client_cert_file` (with
    `client_key_file`, unless it holds the key too) is shown to servers that ask. `ssl` is the caller's own context
    instead of all that. Raises `LlmError` `INVALID_CONFIG` for a proxy or a file that cannot be used.
    """

    __slots__ = ("_context", "no_proxy", "proxy", "ssl")

    def __init__(
        self,
        *,
        proxy: str | None = None,
        no_proxy: Sequence[str] = (),
        ssl: "ssl_module.SSLContext | None" = None,
        ca_file: "str | Path | None" = None,
        client_cert_file: "str | Path | None" = None,
        client_key_file: "str | Path | None" = None,
    ) -> None:
        self.proxy: str | None = proxy
        self.no_proxy: tuple[str, ...] = tuple(host.strip().lower().removeprefix("*.").lstrip(".") for host in no_proxy)
        self.ssl: ssl_module.SSLContext | None = ssl
        self._context = ssl
        if proxy is not None:
            _check_proxy(proxy)
        if ca_file is None and client_cert_file is None and client_key_file is None:
            return
        if ssl is not None or client_cert_file is None is not client_key_file:
            _refuse("ssl stands alone, and client_key_file beside client_cert_file")
        self._context = self.context()
        try:
            if ca_file is not None:
                self._context.load_verify_locations(ca_file)
            if client_cert_file is not None:
                self._context.load_cert_chain(client_cert_file, client_key_file, password=_no_password)
        except (OSError, ValueError) as error:
            why = foreign_text(error)
        else:
            return
        _refuse(f"ca_file, client_cert_file or client_key_file cannot be used: {why}")

    def context(self) -> "ssl_module.SSLContext":
        """Return the TLS settings of these options, made at first use: reading the certificates takes 10 to 20 ms."""
        if self._context is None:
            import ssl

            self._context = ssl.create_default_context()
            self._context.set_alpn_protocols(["http/1.1"])
        return self._context

    def proxy_for(self, host: str) -> str | None:
        """Return the proxy for requests to a host, or `None` where they go straight."""
        host = host.lower().rstrip(".")
        if self.proxy is None or is_loopback(host) or "*" in self.no_proxy:
            return None
        if any(host == name or host.endswith(f".{name}") or _within(host, name) for name in self.no_proxy if name):
            return None
        return self.proxy

    def __repr__(self) -> str:
        shown = None
        if self.proxy is not None:
            parts = urlsplit(self.proxy)
            shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        return f"TransportOptions(proxy={shown!r}, no_proxy={self.no_proxy!r}, ssl={self._context is not None})"


def _within(host: str, network: str) -> bool:
    if "/" not in network:
        return False
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _no_password() -> str:
    """Stand in for OpenSSL's own question on the terminal, which would hold the process."""
    raise ValueError("the key is encrypted; limen takes one that is not, or a context of your own as ssl=")


def _check_proxy(proxy: str) -> None:
    try:
        parts = urlsplit(proxy)
        known = parts.scheme in ("http", "https", "socks5", "socks5h", "socks4", "socks4a")
        sound = known and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
        parts = None
    if not sound or parts is None:
        _refuse("the proxy is not a URL such as http://proxy.example:3128 or socks5h://proxy.example:1080")
    if parts.scheme.startswith("socks"):
        _check_socks()
    if parts.password:
        remember_secret(parts.password)


def _check_socks() -> None:
    from importlib.util import find_spec

    if find_spec("python_socks") is None:
        _refuse("a SOCKS proxy needs the extra: pip install 'limen[socks]'")


def _refuse(message: str) -> NoReturn:
    raise LlmError(message, codes.INVALID_CONFIG, phase="resolve")
