"""Requests on their way out: where they go, and the bytes of their heads."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

from limen._version import __version__
from limen.contract import LlmError, codes

_BODILY: Final = frozenset({"POST", "PUT", "PATCH"})
# Added where the request has none of its own; streams ask for `identity` (K8).
_DEFAULTS: Final = (
    ("accept", "accept: */*"),
    ("accept-encoding", "accept-encoding: identity"),
    ("user-agent", f"user-agent: limen/{__version__}"),
)


class HttpRequest(NamedTuple):
    """One request, complete with its credentials; the repr shows none of them."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def __repr__(self) -> str:
        return f"HttpRequest({self.method}, {len(self.headers)} headers, {len(self.body)} bytes)"


class Target(NamedTuple):
    """The address of a request; `endpoint` leaves out path, query and user, so it is fit to be shown."""

    tls: bool
    host: str
    port: int
    authority: str
    path: str
    endpoint: str


@lru_cache(maxsize=256)
def target_of(url: str) -> Target:
    """Return where a URL leads. Raises `LlmError` `INVALID_CONFIG` for one that nothing can be sent to."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        if host and not host.isascii():
            host = host.encode("idna").decode()
    except ValueError:
        parts, host, port = None, None, None
    # urlsplit() leaves out line ends and tabs without a word.
    if parts is None or parts.scheme not in ("http", "https") or not host or any(c <= " " for c in url):
        raise LlmError("a request's address is an http(s) URL with a host", codes.INVALID_CONFIG, phase="resolve")
    tls = parts.scheme == "https"
    shown = f"[{host}]" if ":" in host else host
    authority = f"{shown}:{port}" if port else shown
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    path = path if path.isascii() else quote(path, safe="%/:=&?~#+!$,;'@()*[]")
    return Target(tls, host, port or (443 if tls else 80), authority, path, f"{parts.scheme}://{authority}")


def head_of(request: HttpRequest, target: Target, *, absolute: bool, proxy_credential: str | None) -> bytes:
    """Return the head of a request; `absolute` puts the whole address into its first line, for a proxy.

    Raises `LlmError` `INVALID_CONFIG` for a header that is not one line of text.
    """
    lines = [f"{request.method} {f'http://{target.authority}' if absolute else ''}{target.path} HTTP/1.1"]
    lines.append(f"host: {target.authority}")
    given = {name.lower() for name, _ in request.headers}
    lines += [f"{name}: {value}" for name, value in request.headers]
    lines += [line for name, line in _DEFAULTS if name not in given]
    if request.body or request.method in _BODILY:
        lines.append(f"content-length: {len(request.body)}")
    if proxy_credential is not None:
        lines.append(f"proxy-authorization: {proxy_credential}")
    text = "\r\n".join(lines)
    breaks = len(lines) - 1
    if text.count("\n") == breaks and text.count("\r") == breaks and "\0" not in text:
        try:
            return f"{text}\r\n\r\n".encode()
        except UnicodeEncodeError:
            # Raised below, outside this handler: the exception holds the header's whole text (E5).
            pass
    raise LlmError("a header of the request is not one line of Unicode text", codes.INVALID_CONFIG, phase="resolve")
