"""The one file that sees all: configuration to adapters to a runtime, and the wires without a network.

A new adapter is one row of `ADAPTERS`; its package loads when a route or a wire first needs it.
"""

import importlib
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from msgspec import structs

from limen.config import Config, EnvironmentKey, KnownProvider, Route, Source, invalid_config, load
from limen.contract import (
    CredentialSource,
    Failure,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    StreamChunk,
    Wire,
    WireReader,
    WireRequest,
    check_request,
    codes,
    foreign_text,
)

if TYPE_CHECKING:
    from limen.adapters import Codec
    from limen.runtime import LlmRuntime

ENTRY_POINTS: Final = "limen.adapters"


class AdapterRow(NamedTuple):
    """One adapter: its name in configuration, its package, its two classes, and its wire.

    The row that is named like its wire is the wire's home; `dialect` is what an adapter for one provider speaks.
    """

    name: str
    module: str
    adapter: str
    options: str
    wire: str
    dialect: str | None = None


ADAPTERS: Final = (
    AdapterRow("openai-chat", "limen.adapters.openai_chat", "OpenAIChatAdapter", "OpenAIChatOptions", "openai-chat"),
    AdapterRow("deepseek", "limen.adapters.deepseek", "DeepSeekAdapter", "DeepSeekOptions", "openai-chat", "deepseek"),
    AdapterRow(
        "anthropic-messages", "limen.adapters.anthropic", "AnthropicAdapter", "AnthropicOptions", "anthropic-messages"
    ),
)

FILE_ADAPTERS: Final = ("fixture", "cassette")

Reads: TypeAlias = bytes | bytearray | memoryview | Iterable[bytes]


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

    async with LlmRuntime(loader=ConfigLoader(path, app)) as runtime:
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

    async def __call__(self, config: object = None) -> "Sequence[tuple[Sequence[str], LlmAdapter]]":
        """Read a configuration, the one of the beginning for `None`, and return its routes with their adapters."""
        source = self._source if config is None else config
        loaded = load(source, known=known_providers, app=self._app, folder=self._folder)
        made: dict[str, tuple[Route, object, LlmAdapter]] = {}
        for route in loaded.routes:
            before = self._made.get(route.name)
            if before is not None and before[:2] == (route, loaded.proxies):
                made[route.name] = before
            else:
                made[route.name] = (route, loaded.proxies, make_adapter(route, loaded))
        self._made, self.config = made, loaded
        return [((name,), adapter) for name, (_, _, adapter) in made.items()]


def known_providers() -> tuple[KnownProvider, ...]:
    """Return every provider whose key has a conventional name, from the wires' dialect rows.

    Of several rows with the same key, such as a provider's beta, the first one stands for the provider.
    """
    rows: dict[str, KnownProvider] = {}
    own = {row.dialect: row.name for row in ADAPTERS if row.dialect is not None}
    for wire in _wire_names():
        for dialect, codec in codecs_of(wire).items():
            if codec.key_variables and codec.key_variables[0] not in rows:
                adapter, named = (own[dialect], None) if dialect in own else (wire, dialect)
                row = KnownProvider(dialect, adapter, named, codec.key_variables, codec.base_url)
                rows[codec.key_variables[0]] = row
    return tuple(rows.values())


def codec_of(route: Route) -> "Codec | None":
    """Return the dialect row that a route follows; `None` for an adapter that has no wire of limen's."""
    for row in ADAPTERS:
        if row.name == route.adapter:
            codecs = codecs_of(row.wire)
            return codecs.get(route.dialect or row.dialect or wire_of(row.wire).default_dialect)
    return None


def credential_of(route: Route) -> CredentialSource | None:
    """Return where a route's key comes from: where the route says, or else the provider's conventional variable.

    The latter only where the provider requires a key and serves at its own address: no other gets a key unasked.
    """
    codec = codec_of(route)
    if route.credential is not None or codec is None or not codec.requires_key or route.base_url is not None:
        return route.credential
    return EnvironmentKey(codec.key_variables, f"as {route.place} names no key") if codec.key_variables else None


def codecs_of(wire: str) -> "Mapping[str, Codec]":
    """Return the dialect rows of a wire by name."""
    found: Mapping[str, Codec] = importlib.import_module(_home(wire)).WIRE.codecs
    return found


# -- one adapter from one route


_SETTINGS: Final = (
    *("dialect", "base_url", "credential", "allow_plain_http", "headers", "timeouts", "limits", "retry", "models"),
    *("default_max_tokens", "path", "options"),
)


def make_adapter(route: Route, config: Config) -> LlmAdapter:
    """Make the adapter of a route; whatever is wrong with it is `INVALID_CONFIG`, naming the route."""
    fault: str
    try:
        return _make(route, config)
    except LlmError as error:
        fault = str(error)
    except Exception as error:  # noqa: BLE001 - an adapter of a third party may raise anything while it is made
        fault = f"{type(error).__name__}: {foreign_text(error)}"
    raise invalid_config(fault, file=config.file, path=("routes", route.name))


def _make(route: Route, config: Config) -> LlmAdapter:
    if route.adapter in FILE_ADAPTERS:
        return _from_file(route)
    for row in ADAPTERS:
        if row.name == route.adapter:
            return _wire_adapter(row, _proxied(route, config))
    plugins = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if route.adapter in plugins:
        return _plugin(plugins[route.adapter], _proxied(route, config))
    known = ", ".join([*(row.name for row in ADAPTERS), *FILE_ADAPTERS, *sorted(plugins)])
    raise invalid_config(f"there is no adapter {route.adapter!r}; there are {known}")


def _proxied(route: Route, config: Config) -> Route:
    """Return the route with the environment's proxy for its address, if there is one (K7)."""
    proxy = config.proxies.of(route.base_url or "https:")
    return structs.replace(route, proxy=proxy, no_proxy=() if proxy is None else config.proxies.no_proxy)


def _wire_adapter(row: AdapterRow, route: Route) -> LlmAdapter:
    from limen.transport import TransportOptions

    _refuse(route, "path", "options")
    settings: dict[str, object] = {
        name: value
        for name in ("base_url", "dialect", "timeouts", "limits", "retry", "app", "default_max_tokens")
        if (value := getattr(route, name)) is not None
    }
    if route.proxy is not None:
        settings["transport"] = TransportOptions(proxy=route.proxy, no_proxy=route.no_proxy)
    package = importlib.import_module(row.module)
    make_options: Callable[..., object] = getattr(package, row.options)
    make: Callable[[object], LlmAdapter] = getattr(package, row.adapter)
    return make(
        make_options(
            api_key=credential_of(route),
            models=route.models,
            headers=route.headers,
            allow_plain_http=route.allow_plain_http,
            **settings,
        )
    )


def _from_file(route: Route) -> LlmAdapter:
    """Make the adapter of a route that answers from a file, with no network."""
    _refuse(route, "dialect", "base_url", "credential", "headers", "options")
    if route.path is None:
        raise invalid_config(f"the adapter {route.adapter} needs path, the file that it answers from")
    if route.adapter == "fixture":
        from limen.fixture import FixtureLlmAdapter, load_fixture

        return FixtureLlmAdapter(load_fixture(route.path))
    from limen.recording import Cassette, CassetteAdapter

    return CassetteAdapter(Cassette.load(route.path), [wire_of(name) for name in _wire_names()], models=route.models)


def _plugin(point: EntryPoint, route: Route) -> LlmAdapter:
    """Make an adapter of another distribution: a callable that takes the route, or nothing and then uses nothing."""
    make: Callable[..., object] = point.load()
    takes_route = bool(inspect.signature(make).parameters)
    if not takes_route:
        _refuse(route, *_SETTINGS)
    adapter = make(route) if takes_route else make()
    if not isinstance(adapter, LlmAdapter):
        raise invalid_config(f"the entry point {point.value} made a {type(adapter).__name__}, not an LlmAdapter")
    return adapter


def _refuse(route: Route, *fields: str) -> None:
    for field in fields:
        if getattr(route, field):
            name = "api_key_env, api_key_file and api_key_keyring" if field == "credential" else field
            raise invalid_config(f"the adapter {route.adapter} has no use for {name}; leave it out")


# -- the wires without a network


def wires() -> Mapping[str, tuple[str, ...]]:
    """Return the dialects of every wire, by the wire's name."""
    return {name: tuple(wire_of(name).dialects) for name in _wire_names()}


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
    serializer = wire_of(wire)
    check_request(options)
    return serializer.request(options, dialect=dialect)


def classify_error(
    wire: str, status: int, headers: Mapping[str, str], body: bytes, *, dialect: str | None = None
) -> Failure:
    """Say what a failed HTTP answer means on this wire (section 3)."""
    return wire_of(wire).classify(status, headers, body, dialect=dialect)


def wire_of(name: str) -> Wire:
    """Return a wire by name; an unknown one is `UNSUPPORTED`."""
    found: Wire = importlib.import_module(_home(name)).WIRE
    return found


def _home(wire: str) -> str:
    for row in ADAPTERS:
        if row.name == row.wire == wire:
            return row.module
    known = ", ".join(_wire_names())
    raise LlmError(f"there is no wire {wire!r}; there are {known}", codes.UNSUPPORTED, phase="resolve")


def _wire_names() -> list[str]:
    return [row.wire for row in ADAPTERS if row.name == row.wire]
