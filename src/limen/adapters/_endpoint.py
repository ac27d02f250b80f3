"""Address and headers of an adapter's requests, decided once when it is made (K2, K6, Q7)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from limen._version import __version__
from limen.adapters._codec import Codec, WireOptions
from limen.contract import MASK, LlmError, WireRequest, address_fault, codes, is_plain_and_far, remember_secret
from limen.transport import HttpRequest

# Headers that frame the message or negotiate its coding: the transport's own business (K8).
_RESERVED: Final = frozenset({"content-length", "transfer-encoding", "connection", "host", "accept-encoding", "te"})

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VERSION: Final = re.compile(r"v\d+(?:(?:alpha|beta)\d*)?")
_PRODUCT: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?")


class Endpoint:
    """The address and the standing headers of one adapter. Raises `INVALID_CONFIG` for what cannot be served."""

    __slots__ = ("_auth_names", "_base_url", "_codec", "_headers", "_user_agent", "elsewhere")

    def __init__(self, options: WireOptions, codec: Codec) -> None:
        self._codec = codec
        self._auth_names = codec.auth_headers
        for name in self._auth_names:
            if not _NAME.fullmatch(name) or name in _RESERVED:
                _refuse(f"key_header is 'bearer' or the name of a header that may carry a key, got {name!r}")
        self._headers = _checked(options.headers)
        self._user_agent = user_agent(options.app)
        self._base_url = _address(options, codec)
        # Whether the address is another one than the dialect row's own.
        self.elsewhere = codec.base_url is not None and self._base_url != codec.base_url.rstrip("/")
        own_auth = [value for name, value in self._headers.items() if name in self._auth_names]
        for value in own_auth:
            remember_secret(value)
            remember_secret(value.partition(" ")[2])
        if options.api_key is not None:
            # The key is the credential; a header beside it may not be another one.
            self._headers = {name: value for name, value in self._headers.items() if name not in self._auth_names}
        if (options.api_key is not None or own_auth) and not options.allow_plain_http:
            self._check_plain()

    @property
    def brings_auth(self) -> bool:
        """Whether the caller's own headers carry the credential."""
        return any(name in self._auth_names for name in self._headers)

    def request(self, written: WireRequest, credential: object) -> HttpRequest:
        """Return a request as it is sent: the codec's headers, the caller's over them, then ours and the credential."""
        merged = {name.lower(): value for name, value in written.headers.items()}
        merged.update(self._headers)
        merged["user-agent"] = self._user_agent
        url = f"{self._base_url}/{written.path.lstrip('/')}"
        if credential is not None:
            unsigned = HttpRequest(written.method, url, list(merged.items()), written.body)
            merged.update((name.lower(), value) for name, value in self._codec.authorize(unsigned, credential))
        return HttpRequest(written.method, url, list(merged.items()), written.body)

    def _check_plain(self) -> None:
        if is_plain_and_far(self._base_url):
            _refuse(
                f"base_url is plain http to another machine ({self._base_url}), which would show the key to everyone "
                "on the way; use https, or set allow_plain_http if the network is trusted"
            )


def user_agent(app: str | None) -> str:
    """Return the `User-Agent` (Q7); an `app` that is no product name is `INVALID_CONFIG`."""
    own = f"limen/{__version__}"
    if app is None:
        return own
    products = app.split()
    if not products or not all(_PRODUCT.fullmatch(product) for product in products):
        _refuse(f"app is a product name such as 'my-app/1.0', got {app!r}")
    return f"{' '.join(products)} {own}"


def masked(codec: Codec, request: WireRequest) -> dict[str, str]:
    """Return the headers that would carry a credential, with the credential masked."""
    if codec.credential_type is not str:
        return dict.fromkeys(codec.auth_headers, MASK)
    unsigned = HttpRequest(request.method, request.path, list(request.headers.items()), request.body)
    return {name.lower(): value for name, value in codec.authorize(unsigned, MASK)}


def _address(options: WireOptions, codec: Codec) -> str:
    base_url = options.base_url if options.base_url is not None else codec.base_url
    if base_url is None:
        _refuse(
            f"the dialect {codec.dialect} of {codec.wire} has no address of its own; set base_url to what stands "
            "before the wire's path, such as https://host.example/v1"
        )
    fault = address_fault(base_url)
    if fault is not None:
        _refuse(f"base_url cannot be used: {fault}")
    wanted = _without_own_path(base_url, codec.path)
    if wanted is not None:
        _refuse(
            f"base_url holds a part of the path that {codec.wire} adds itself ({codec.path}): write {wanted} in place "
            f"of {base_url}"
        )
    return base_url.rstrip("/")


def _without_own_path(base_url: str, path: str) -> str | None:
    """Return what a base URL should be that holds the wire's own path, or the version twice; `None` for a sound one.

    People paste the whole address of a call, or a vendor's `…/v1` where the wire begins with `/v1` itself; such a call
    is answered with a bare 404 [NQ348].
    """
    own = [step for step in path.partition("{")[0].split("/") if step]
    begin, _, rest = base_url.partition("://")
    host, *steps = rest.rstrip("/").split("/")
    for place, step in enumerate(steps):
        versioned = _VERSION.fullmatch(step) is not None
        if own and (steps[place : place + len(own)] == own or (versioned and steps[place:] == own[:1])):
            kept = steps[:place]
        elif versioned and steps[place + 1 : place + 2] == [step]:
            kept = steps[: place + 1]
        else:
            continue
        wanted = "/".join((f"{begin}://{host}", *kept))
        return _without_own_path(wanted, path) or wanted
    return None


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    checked: dict[str, str] = {}
    items: Sequence[tuple[object, object]] = list(headers.items())
    for name, value in items:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            _refuse(f"headers: {name!r} is not a header's name")
        if not isinstance(value, str) or not value.isascii() or any(c in value for c in "\r\n\0"):
            _refuse(f"headers: the value of {name} is not one line of ASCII")
        if name.lower() in _RESERVED:
            _refuse(f"headers: {name} is set by the transport and cannot be given")
        checked[name.lower()] = value
    return checked


def _refuse(message: str) -> NoReturn:
    raise LlmError(message, codes.INVALID_CONFIG, phase="resolve")
