"""Addresses: which one is this machine, and which one can serve as a base URL (K6)."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine's own (K6); a name that merely looks like one is not."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        name = host.lower().rstrip(".")
        return name == "localhost" or name.endswith(".localhost")


def is_plain_and_far(url: str) -> bool:
    """Tell whether a key would be readable on its way to this address: plain http to another machine (K6)."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")


def address_fault(url: str) -> str | None:
    """Say why a text cannot be a base URL, or return `None` where it can."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound, parts = False, urlsplit("")
    if not sound or any(character <= " " or character > "~" for character in url):
        return "it is no http(s) address; one looks like https://api.example.com/v1"
    if "@" in parts.netloc:
        return "it holds a user or password; name a credential instead"
    if parts.query or parts.fragment:
        return "a base address has neither a query nor a fragment"
    return None
