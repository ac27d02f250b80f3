"""Composition of configuration, adapters and runtime, and the wires without a network; it sees every layer.

`_registration` finds adapters by name; nothing here names one.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from msgspec import Struct

from limen._registration import faults, spec_of, specs, wire_names, wire_of
from limen.config import (
    Config,
    EnvironmentKey,
    Fault,
    KeyPath,
    KnownProvider,
    Route,
    Source,
    advice,
    invalid_config,
    load,
    settings_of,
)
from limen.contract import (
    CredentialSource,
    Failure,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    ModelInfo,
    StreamChunk,
    WireReader,
    WireRequest,
    foreign_text,
)

if TYPE_CHECKING:
    from limen.adapters import AdapterSpec, Codec
    from limen.runtime import LlmRuntime
    from limen.transport import TransportOptions

T = TypeVar("T")

# Beginning of a message about one of a route's own sentences of errors: `errors[0].code is …`.
_ENTRY: Final = re.compile(r"errors\[(\d+)\]\.(match|code) ")

Reads: TypeAlias = bytes | bytearray | memoryview | Iterable[bytes]

__all__ = [
    "ConfigLoader",
    "Reads",
    "build_request",
    "classify_error",
    "codec_of",
    "credential_of",
    "descriptions",
    "faults",
    "iter_chunks",
    "known_providers",
    "make_adapter",
    "open_runtime",
    "spec_of",
    "wire_names",
    "wire_of",
    "wires",
]


# -- a runtime from configuration


@asynccontextmanager
async def open_runtime(path: Source = None, *, app: str | None = None) -> "AsyncGenerator[LlmRuntime, None]":
    """Open a runtime whose routes come from configuration; leaving the `with` ends open streams and closes it.

    `path` is a `limen.toml`, or a document like one that was read already; without it `./limen.toml` is used if it is
    there, else a route is made for each provider whose conventional key variable is set. `app` names the application
    in `User-Agent` (Q7). `stream()` and `complete()` retry by the route's policy (R9). Raises `INVALID_CONFIG` with
    file, line and key path; `await runtime.reload()` reads the configuration again, whole or not at all (K5).
    """
    from limen.runtime import LlmRuntime, Retry

    loader = ConfigLoader(path, app)
    async with LlmRuntime(loader=loader, advice=loader.advice) as runtime:
        runtime.use(Retry())
        await runtime.reload()
        yield runtime


class ConfigLoader:
    """Makes the adapters of a configuration; a route that did not change keeps the adapter it had.

    An adapter that stays keeps its connections, and its replay state stays its own (R5). `config` is what was read
    last.
    """

    def __init__(self, source: Source, app: str | None) -> None:
        self._source = source
        self._app = app
        self._folder = Path.cwd()  # a later change of directory must not make reload() read another file
        self.config = Config()
        self._made: dict[str, tuple[Route, object, LlmAdapter]] = {}

    def advice(self, route: str) -> str:
        """Say what would configure a route that there is none of: variables, or a table of the file."""
        if self.config.file is None and self._source is None:
            return advice(known_providers(), route)
        return f"write [routes.{route}] into {self.config.source}" if self.config.file is not None else ""

    async def __call__(self, config: object = None) -> "Sequence[tuple[Sequence[str], LlmAdapter]]":
        """Read a configuration, the one of the beginning for `None`, and return its routes with their adapters."""
        source = self._source if config is None else config
        loaded = load(source, known=known_providers, app=self._app, folder=self._folder)
        made: dict[str, tuple[Route, object, LlmAdapter]] = {}
        for route in loaded.routes:
            before = self._made.get(route.name)
            surroundings = (loaded.proxies, _stamps(route))
            if before is not None and before[:2] == (route, surroundings):
                made[route.name] = before
            else:
                made[route.name] = (route, surroundings, _adapter_or_fault(route, loaded))
        self._made, self.config = made, loaded
        return [((name,), adapter) for name, (_, _, adapter) in made.items()]


def _stamps(route: Route) -> tuple[object, ...]:
    """Return what tells whether a certificate was exchanged since: time and size of the route's files."""
    stamps: list[object] = []
    for name in (route.ca_file, route.client_cert_file, route.client_key_file):
        try:
            found = None if name is None else Path(name).stat()
        except OSError:
            found = None
        stamps.append(None if found is None else (found.st_mtime_ns, found.st_size))
    return tuple(stamps)


def _adapter_or_fault(route: Route, config: Config) -> LlmAdapter:
    try:
        return make_adapter(route, config)
    except LlmError as fault:
        # Nobody wrote this route: one that the environment implies must not keep the others from working (K4).
        if not route.implied:
            raise
        return _Unusable(fault)


class _Unusable(LlmAdapter):
    """The adapter of a route that the environment implies and that cannot be made: a call says why."""

    def __init__(self, fault: LlmError) -> None:
        self._fault = fault.failure

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Raise why the route cannot be used."""
        raise LlmError.of(self._fault)

    async def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Raise why the route cannot be used."""
        raise LlmError.of(self._fault)


def known_providers() -> tuple[KnownProvider, ...]:
    """Return every provider whose key has a conventional name, from the dialect rows of every wire.

    Of several rows with the same key, such as a provider's beta, the first one stands for the provider; an adapter
    that stands for single rows is used for these in place of the wire's home.
    """
    from limen.adapters import RowCodec

    found = list(specs())
    alone = {
        (spec.wire.name, dialect): KnownProvider(dialect, spec.name, dialect if place else None, (), None)
        for spec in found
        if spec.wire is not None
        for place, dialect in enumerate(spec.dialects)
    }
    rows: dict[str, KnownProvider] = {}
    for spec in found:
        if spec.wire is None or spec.dialects:
            continue
        for dialect, codec in spec.wire.codecs.items():
            # A server without a key's variable is known by its name, if it has an address that people agree on and
            # needs no key.
            keyless = dialect if codec.base_url and not codec.requires_key else None
            place = codec.key_variables[0] if codec.key_variables else keyless
            # A wire that is named after its provider is that provider's own, and goes before a row of another wire.
            own = spec.wire.name == dialect
            if place is not None and (own or place not in rows):
                row = alone.get((spec.wire.name, dialect)) or KnownProvider(dialect, spec.name, dialect, (), None)
                rows[place] = row._replace(
                    key_variables=codec.key_variables, base_url=codec.base_url, requires_key=codec.requires_key
                )
                if isinstance(codec, RowCodec):
                    rows[place] = rows[place]._replace(options=codec.option_variables)
    return tuple(rows.values())


# -- one adapter from one route


def make_adapter(route: Route, config: Config) -> LlmAdapter:
    """Make the adapter of a route; whatever is wrong with it is `INVALID_CONFIG`, naming the route."""
    return _placed(route, config.file, lambda: _make(route, config))


def codec_of(route: Route) -> "Codec | None":
    """Return the dialect row that a route follows, as its adapter resolves it; `None` for an adapter without a wire.

    Raises `INVALID_CONFIG` for a route whose settings the adapter does not have, or whose dialect it does not know.
    """
    return _placed(route, None, lambda: _codec(spec_of(route.adapter), _settings(route)))


def credential_of(route: Route) -> CredentialSource | None:
    """Return where a route's key comes from: where the route says, or else the provider's conventional variable.

    The latter only where the provider requires a key and serves at its own address: no other gets a key unasked.
    Raises as `codec_of` does.
    """
    return route.credential if route.credential is not None else _conventional(route, codec_of(route))


def _conventional(route: Route, codec: "Codec | None") -> CredentialSource | None:
    if codec is None or not codec.requires_key or not codec.key_variables or route.base_url is not None:
        return None
    named = {name.lower() for name in (*route.headers, *route.secret_headers)}
    if named & (codec.auth_headers | {"authorization"}):
        return None
    return EnvironmentKey(codec.key_variables, f"as {route.place} names no key")


def _make(route: Route, config: Config) -> LlmAdapter:
    spec = spec_of(route.adapter)
    settings = _settings(route)
    codec = _codec(spec, settings)
    if "api_key" in settings and route.credential is None:
        settings["api_key"] = _conventional(route, codec)
    if "transport" in spec.options.__struct_fields__:
        transport = _transport(route, codec, config)
        if transport is not None:
            settings["transport"] = transport
    return _checked(spec.adapter(_options(spec, settings)), spec.name)


def _transport(route: Route, codec: "Codec | None", config: Config) -> "TransportOptions | None":
    """Return the proxy and the certificates of a route's connections, `None` where nothing is set.

    A route's own proxy comes before the environment's, and `NO_PROXY` is the environment's own. Raises `Fault` with the
    key of a proxy or a file that cannot be used.
    """
    address = route.base_url or (None if codec is None else codec.base_url)
    proxy, no_proxy = route.proxy, tuple[str, ...]()
    if proxy is None:
        proxy, no_proxy = config.proxies.of(address or "https:"), tuple(config.proxies.no_proxy)
    ca, certificate, key = route.ca_file, route.client_cert_file, route.client_key_file
    if proxy is None and ca is None and certificate is None:
        return None
    from limen.transport import TransportOptions

    # Each alone first, as the transport does not say which of them is at fault.
    checks: Sequence[tuple[str, Callable[[], object]]] = (
        ("proxy", lambda: TransportOptions(proxy=route.proxy)),
        ("ca_file", lambda: TransportOptions(ca_file=ca)),
        ("client_cert_file", lambda: TransportOptions(client_cert_file=certificate, client_key_file=key)),
    )
    for name, check in checks:
        if getattr(route, name) is not None:
            fault = _fault_of(check)
            if fault is not None:
                raise Fault(fault, ("routes", route.name, name))
    return TransportOptions(
        proxy=proxy, no_proxy=no_proxy, ca_file=ca, client_cert_file=certificate, client_key_file=key
    )


def _fault_of(check: Callable[[], object]) -> str | None:
    try:
        check()
    except LlmError as error:
        return error.failure.message
    return None


def _checked(adapter: object, name: str) -> LlmAdapter:
    # What the type says of another distribution's function is not what it does.
    if isinstance(adapter, LlmAdapter):
        return adapter
    raise invalid_config(f"the adapter {name} made a {type(adapter).__name__}, which is no LlmAdapter")


def _settings(route: Route) -> dict[str, object]:
    return settings_of(route, spec_of(route.adapter).options)


def _options(spec: "AdapterSpec", settings: Mapping[str, object]) -> Struct:
    make: Callable[..., Struct] = spec.options
    return make(**settings)


def _codec(spec: "AdapterSpec", settings: Mapping[str, object]) -> "Codec | None":
    return None if spec.codec is None else spec.codec(_options(spec, settings))


def _placed(route: Route, file: Path | None, work: Callable[[], T]) -> T:
    """Do work on a route's adapter; what goes wrong becomes `INVALID_CONFIG` with the route's place."""
    path: KeyPath = ("routes", route.name)
    message: str
    try:
        return work()
    except Fault as fault:
        message, path = fault.message, fault.path
    except LlmError as error:
        message = error.failure.message
        entry = _ENTRY.match(message)
        if entry is not None:
            # The adapter knows the entry and not the route.
            path, message = (*path, "errors", int(entry[1]), entry[2]), message[entry.end() :]
    except Exception as error:  # noqa: BLE001 - an adapter of a third party may raise anything while it is made
        message = f"{type(error).__name__}: {foreign_text(error)}"
    # Raised out here, so that no exception chain holds what a foreign exception says (E5).
    if route.implied:
        raise invalid_config(f"{route.place} - {message}")
    raise invalid_config(message, file=file, path=path)


# -- the wires without a network


def wires() -> Mapping[str, tuple[str, ...]]:
    """Return the dialects of every wire, by the wire's name."""
    return {name: tuple(wire_of(name).dialects) for name in wire_names()}


def descriptions() -> Mapping[str, str]:
    """Return where each wire's description for the conformance kit and the mock provider is, as `module:attribute`."""
    return {
        spec.wire.name: spec.description
        for spec in reversed(list(specs()))
        if spec.wire is not None and spec.description is not None
    }


def iter_chunks(wire: str, reads: Reads, *, dialect: str | None = None, id_seed: bytes = b"") -> Iterator[StreamChunk]:
    """Read an answer's raw body as the adapter would: the same bytes give the same chunks however cut (C16).

    `reads` is the body, or an iterable of its parts; an event stream and a whole JSON answer are told apart by
    their first byte (S3). Raises `LlmError` where an adapter would, after the chunks that came before; an unknown
    wire or dialect is `UNSUPPORTED`, at once. Made ids are derived from `id_seed` (C9).
    """
    reader = wire_of(wire).reader(dialect=dialect, id_seed=id_seed)
    parts = (bytes(reads),) if isinstance(reads, bytes | bytearray | memoryview) else reads
    return _chunks(reader, parts)


def _chunks(reader: WireReader, reads: Iterable[bytes]) -> Iterator[StreamChunk]:
    for data in reads:
        yield from reader.feed(data)
        if reader.failure is not None:
            raise reader.failure
        if reader.done:
            return
    yield from reader.eof()
    if reader.failure is not None:
        raise reader.failure


def build_request(wire: str, options: GenerateOptions, *, dialect: str | None = None) -> WireRequest:
    """Return the request that would be sent, secrets masked, or raise what the adapter would raise (Q1, N1)."""
    return wire_of(wire).request(options, dialect=dialect)


def classify_error(
    wire: str, status: int, headers: Mapping[str, str], body: bytes, *, dialect: str | None = None
) -> Failure:
    """Say what a failed HTTP answer means on this wire (section 3)."""
    return wire_of(wire).classify(status, headers, body, dialect=dialect)
