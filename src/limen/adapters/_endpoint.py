"""Address and headers of an adapter's requests, decided once when it is made (K2, K6, Q7)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn
from urllib.parse import quote, urlencode

from limen._version import __version__
from limen.adapters._codec import Codec, TakesOwn, WireOptions
from limen.contract import (
    MASK,
    LlmError,
    Secret,
    WireRequest,
    address_fault,
    codes,
    is_plain_and_far,
    names_secret,
    remember_header,
    remember_secret,
    replace_surrogates,
)
from limen.transport import HttpRequest

# Headers that frame the message or negotiate its coding: the transport's own business (K8).
_RESERVED: Final = frozenset({"content-length", "transfer-encoding", "connection", "host", "accept-encoding", "te"})

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VERSION: Final = re.compile(r"v\d+(?:(?:alpha|beta)\d*)?")
_PRODUCT: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?")


class Endpoint:
    """The address and the standing headers of one adapter. Raises `INVALID_CONFIG` for what cannot be served.

    `base_url` has no slash at its end, `query` is encoded, `headers` are the caller's with names in lower case.
    """

    __slots__ = ("_auth_names", "_codec", "base_url", "brings_auth", "elsewhere", "headers", "query", "user_agent")

    def __init__(self, options: WireOptions, codec: Codec) -> None:
        self._codec = codec
        self._auth_names = codec.auth_headers
        self.headers = _checked(options.headers)
        self.query = _query(options.query)
        self.user_agent = user_agent(options.app)
        self.base_url = _address(options, codec)
        # Whether the address is another one than the dialect row's own.
        self.elsewhere = codec.base_url is not None and self.base_url != codec.base_url.rstrip("/")
        secret = [name for name in self.headers if name in self._auth_names or names_secret(name, header=True)]
        for name in secret:
            remember_header(self.headers[name])
            self.headers[name] = Secret(self.headers[name])
        if options.api_key is not None:
            # The key is the credential; a header beside it may not be another one.
            self.headers = {name: value for name, value in self.headers.items() if name not in self._auth_names}
        self._check_secret_headers(options)
        # Whether the caller's own headers carry the credential. A host may take `Authorization` beside its own header,
        # as Azure does for a token of Entra ID, and a gateway may add the host's key for one of its own.
        self.brings_auth = bool(options.secret_headers) or any(
            name in self._auth_names or name == "authorization" for name in self.headers
        )
        if (options.api_key is not None or secret or options.secret_headers) and not options.allow_plain_http:
            self._check_plain()

    def _check_secret_headers(self, options: WireOptions) -> None:
        for name in _names(options.secret_headers):
            if name in self.headers:
                _refuse(f"secret_headers: {name} stands in headers too; keep one of them")
            if options.api_key is not None and name in self._auth_names:
                _refuse(f"secret_headers: {name} is the header that carries the key; give the key or the header")
            if name == "user-agent":
                _refuse("secret_headers: user-agent is set by app and holds no credential")

    def _check_plain(self) -> None:
        if is_plain_and_far(self.base_url):
            _refuse(
                f"base_url is plain http to another machine ({self.base_url}), which would show the key to everyone "
                "on the way; use https, or set allow_plain_http if the network is trusted"
            )


def own_codec(codec: Codec, options: WireOptions) -> Codec:
    """Return the codec with what options change of its row: the key's header and the sentences of errors.

    Raises `INVALID_CONFIG` for a header that cannot carry a key, a sentence that cannot be used, and for a codec that
    signs or is not made from a row.
    """
    header = options.key_header
    if header is None and not options.errors:
        return codec
    if not isinstance(codec, TakesOwn):
        _refuse(f"the wire {codec.wire} has no row, so key_header and errors have no use")
    if header is not None and codec.credential_type is not str:
        _refuse(f"the wire {codec.wire} signs its requests, so key_header has no use")
    if header is not None and (not _NAME.fullmatch(header) or header.lower() in (*_RESERVED, "user-agent")):
        _refuse(f"key_header is bearer or the name of a header that may carry a key, got {header!r}")
    fault: str
    try:
        return codec.with_own(key_header=header, errors=options.errors)
    except ValueError as error:
        fault = str(error)
    raise LlmError(fault, codes.INVALID_CONFIG, phase="resolve")


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
    names = _names(headers)
    values: Sequence[object] = list(headers.values())
    sound = [isinstance(text, str) and text.isascii() and not any(c in text for c in "\r\n\0") for text in values]
    del values  # a value that cannot be sent may be a key, which no frame of the error may hold (E5)
    for name, fit in zip(names, sound, strict=True):
        if not fit:
            _refuse(f"headers: the value of {name} is not one line of ASCII")
    return dict(zip(names, headers.values(), strict=True))


def _names(headers: Mapping[str, object]) -> list[str]:
    names: Sequence[object] = list(headers)
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            _refuse(f"headers: {name!r} is not a header's name")
        if name.lower() in _RESERVED:
            _refuse(f"headers: {name} is set by the transport and cannot be given")
    return [name.lower() for name in headers]


def _query(query: Mapping[str, str]) -> str:
    """Return the query as it stands in an address."""
    items: Sequence[tuple[object, object]] = list(query.items())
    for name, value in items:
        if not isinstance(name, str) or not isinstance(value, str) or not name:
            _refuse(f"query: {name!r} is a name and a value, both text")
        if names_secret(name):
            # Google's older address takes the key as ?key=.
            remember_secret(value)
    return urlencode([(name, replace_surrogates(value)) for name, value in query.items()], quote_via=quote)


def _refuse(message: str) -> NoReturn:
    raise LlmError(message, codes.INVALID_CONFIG, phase="resolve")
