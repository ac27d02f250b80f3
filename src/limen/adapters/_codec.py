"""A wire adapter's parts: one dialect row bound to its wire (`Codec`), and the options of its class."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Final, Generic, Literal, Protocol, Self, TypeVar, runtime_checkable

import msgspec
from msgspec.structs import replace

from limen.adapters._vendors import UNKNOWN, Vendor
from limen.adapters.kit import NO_FILES, BuildContext, FileRules, ImageRules
from limen.adapters.kit.errors import ErrorRow, ErrorRules, classify_answer, own_rules, request_id
from limen.contract import (
    CredentialSource,
    Effort,
    ErrorMatch,
    Failure,
    FrozenDict,
    GenerateOptions,
    IdSeed,
    Limits,
    ModelInfo,
    RetryPolicy,
    Timeouts,
    ValueSource,
    WireReader,
    WireRequest,
    scrub,
)
from limen.transport import HttpRequest, TransportOptions

_NEVER_SHOWN: Final = frozenset({"api_key", "headers", "secret_headers"})


class Codec(Protocol):
    """One dialect row bound to its wire: pure, no I/O, shared by the adapter, `build_request` and `iter_chunks`.

    `RowCodec` gives everything but `build` and `reader` from a row of data.
    """

    @property
    def wire(self) -> str:
        """The wire's name, such as `openai-chat`."""
        ...

    @property
    def dialect(self) -> str:
        """The row's name, such as `deepseek`."""
        ...

    @property
    def base_url(self) -> str | None:
        """The provider's address, or `None` where every user has one of their own."""
        ...

    @property
    def path(self) -> str:
        """The path of a model call behind the address; `{model}` stands where the model's id goes."""
        ...

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Environment variables that people keep this provider's key in, the usual one first."""
        ...

    @property
    def requires_key(self) -> bool:
        """Tell whether the provider refuses every call without a key (K4)."""
        ...

    @property
    def honours(self) -> Collection[str]:
        """Fields of `GenerateOptions` that `build` writes or checks; every other one that is set is refused (Q1)."""
        ...

    @property
    def default_max_tokens(self) -> int | None:
        """The cap to send where the wire requires one."""
        ...

    @property
    def efforts(self) -> tuple[Effort, ...] | None:
        """The efforts that every model of the row knows; `None` is unknown (R4)."""
        ...

    @property
    def models_path(self) -> str | None:
        """The path of the provider's list of models, or `None` where it has none."""
        ...

    @property
    def models_headers(self) -> Mapping[str, str]:
        """Headers that the list of models wants beside the key."""
        ...

    @property
    def min_timeouts(self) -> Timeouts | None:
        """Limits that the provider's own pace requires; they raise defaults, never what a caller set (T1)."""
        ...

    @property
    def credential_type(self) -> type:
        """The type of a credential: `str` for a key, else what a `ValueSource` returns."""
        ...

    @property
    def auth_headers(self) -> frozenset[str]:
        """Names of the headers that carry the credential, in lower case."""
        ...

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        ...

    def authorize(self, request: HttpRequest, credential: object) -> Sequence[tuple[str, str]]:
        """Return the headers that carry a credential; a signature may cover method, address, headers and body."""
        ...

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> WireReader:
        """Make the reader of one answer; it brings the framing that the wire uses."""
        ...

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure:
        """Say what a failed answer means; header names are lower-case. Never raises."""
        ...

    def request_id(self, headers: Mapping[str, str]) -> str | None:
        """Return the provider's id of the request from an answer's headers; names are lower-case."""
        ...

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the provider's list of models; raises `LlmError` `INVALID_CATALOG` for anything else."""
        ...


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dialect of a wire as data: the fields that every wire has; a wire's own row type adds to them.

    - `vendor`: addresses, key variables and errors; `address` stands in where this row has one of its own.
    - `path`: what follows the address; `models_path` lists models, `None` where the host has no list.
    - `key_header`: `bearer`, or the name of the header that carries the key.
    - `refuses`: options that the host ignores or answers with an error, each with the reason (Q1).
    - `images`: `yes`, `no`, or `listed` for models whose known facts say so; `image_urls`: by address too.
    - `files`: the documents and sounds that it takes; none unless the row says so.
    """

    wire: ClassVar[str] = ""
    wire_errors: ClassVar[tuple[ErrorRow, ...]] = ()
    image_types: ClassVar[frozenset[str] | None] = None

    name: str
    vendor: Vendor = UNKNOWN
    address: str | None = None
    path: str = "/"
    models_path: str | None = None
    key_header: str = "bearer"
    requires_key: bool = True
    min_timeouts: Timeouts | None = None
    refuses: Mapping[str, str] = FrozenDict()
    images: Literal["yes", "listed", "no"] = "yes"
    image_urls: bool = True
    files: FileRules = NO_FILES

    @property
    def base_url(self) -> str | None:
        """The host's address on this wire, if everybody uses the same one."""
        return self.address or self.vendor.addresses.get(self.wire)

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The vendor's key variables."""
        return self.vendor.keys

    @property
    def errors(self) -> ErrorRules:
        """The vendor's errors before those of the wire."""
        own = self.vendor.errors
        return ErrorRules(rows=(*own.rows, *self.wire_errors), delays=own.delays) if self.wire_errors else own

    @property
    def image_rules(self) -> ImageRules:
        """The images that the host takes."""
        return ImageRules(taken=self.images, urls=self.image_urls, types=self.image_types)


R = TypeVar("R", bound=Row)


@runtime_checkable
class TakesOwn(Protocol):
    """A codec that a route may give its own header for the key and its own sentences of errors, as `RowCodec`."""

    def with_own(self, *, key_header: str | None, errors: Sequence[ErrorMatch]) -> Codec:
        """Return the codec with these in it; the codec itself is shared, and stays as it is."""
        ...


@runtime_checkable
class AsksDetails(Protocol):
    """A codec whose provider tells most facts of a model only where it is asked for that one model."""

    def details_request(self, model: ModelInfo) -> WireRequest:
        """Make the request for the facts of one listed model."""
        ...

    def parse_details(self, model: ModelInfo, body: bytes) -> ModelInfo | None:
        """Return a listed model with the facts of the answer, `None` to leave it out of the list; never raises."""
        ...


@runtime_checkable
class Locates(Protocol):
    """A codec whose requests go to different addresses, such as Bedrock's, which has one per region."""

    def address(self, base_url: str, request: WireRequest, credential: object) -> str:
        """Return the address of one request; `base_url` is the route's. Raises `LlmError` where nothing says it."""
        ...


class RowCodec(ABC, Generic[R]):
    """Base of a wire's codec: all that follows from a row. A wire adds `honours`, `build` and `reader`.

    A key goes into the row's `key_header`; a wire that signs overrides `authorize`, `auth_headers` and
    `credential_type`.
    """

    honours: Collection[str] = ()
    credential_type: type = str
    default_max_tokens: int | None = None
    efforts: tuple[Effort, ...] | None = None
    credentials: str | None = None
    """Credentials, in words, that the adapter looks for itself where the route names no key; `None` for none."""

    def __init__(self, row: R) -> None:
        self.row = row
        self.wire: str = row.wire
        self.dialect: str = row.name
        self.base_url: str | None = row.base_url
        self.path: str = row.path
        self.key_variables: tuple[str, ...] = row.key_variables
        self.requires_key: bool = row.requires_key
        self.models_path: str | None = row.models_path
        self.models_headers: Mapping[str, str] = FrozenDict()
        self.min_timeouts: Timeouts | None = row.min_timeouts
        self.errors: ErrorRules = row.errors
        self.option_variables: Mapping[str, tuple[str, ...]] = row.vendor.options
        self.auth_headers: frozenset[str] = frozenset({_auth(row.key_header, "")[0]})

    def with_own(self, *, key_header: str | None, errors: Sequence[ErrorMatch]) -> Self:
        """Return this codec with a route's own header for the key and its own sentences of errors before the row's.

        Raises `ValueError` naming the entry for a sentence that does not compile or a code that no answer can have.
        """
        made = copy.copy(self)
        if errors:
            made.errors = own_rules([(own.match, own.code) for own in errors], self.errors)
        if key_header is not None:
            made.row = replace(self.row, key_header=key_header)
            made.auth_headers = frozenset({_auth(key_header, "")[0].lower()})
        return made

    @abstractmethod
    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""

    def authorize(self, request: HttpRequest, credential: object) -> Sequence[tuple[str, str]]:
        """Return the header that carries a key."""
        return (_auth(self.row.key_header, str(credential)),)

    @abstractmethod
    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> WireReader:
        """Make the reader of one answer."""

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure:
        """Say what a failed answer means, by the row's errors and the tables that all share."""
        return classify_answer(status, headers, body, rules=self.errors)

    def request_id(self, headers: Mapping[str, str]) -> str | None:
        """Return the id from the first header that is known to hold one."""
        return request_id(headers)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Return no models: a wire with a list of models overrides this."""
        return ()


def carries_key_only(codec: Codec) -> bool:
    """Tell whether a codec's authorization is a row's header with the key, whatever the request is."""
    authorize: object = getattr(type(codec), "authorize", None)
    return authorize is vars(RowCodec)["authorize"]


def _auth(header: str, key: str) -> tuple[str, str]:
    return ("authorization", f"Bearer {key}") if header == "bearer" else (header, key)


class WireOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of an adapter that speaks to a provider over HTTP; keyword-only, and no repr shows a key.

    - `base_url`: the address before the wire's own path; the dialect row's address unless given.
    - `api_key`: a key, or a source that is asked once per call (K2, K7). `None` sends none.
    - `dialect`: the row of the wire's table to follow.
    - `models`: facts about models; they answer `resolve_model`, and `list_models` where the provider has no list.
    - `default_max_tokens`: the output cap where a call sets none and the model's facts have none.
    - `headers`: sent with every request; `User-Agent` stays limen's (Q7), and a header that carries a key only
      counts where `api_key` is `None`.
    - `secret_headers`: headers that carry another credential, such as a gateway's key; each value is a text or a
      source that is asked once per call, and is never shown.
    - `key_header`: the header that carries the key in place of the dialect row's, or `bearer` for
      `Authorization: Bearer`.
    - `query`: parameters that go with every request, such as `api-version`.
    - `errors`: sentences of a gateway's own errors with the codes that they mean, judged before all others.
    - `timeouts`, `limits`, `transport`, `retry`: see their classes.
    - `allow_plain_http`: lets a key go over plain http to a host that is not this machine (K6).
    - `app`: the application's product name for `User-Agent`, such as `my-app/1.0`.
    """

    base_url: str | None = None
    api_key: str | CredentialSource | ValueSource | None = None
    dialect: str | None = None
    models: Sequence[ModelInfo] = ()
    default_max_tokens: int | None = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    timeouts: Timeouts = msgspec.field(default_factory=Timeouts)
    limits: Limits = msgspec.field(default_factory=Limits)
    transport: TransportOptions | None = None
    allow_plain_http: bool = False
    app: str | None = None
    retry: RetryPolicy | None = None
    secret_headers: Mapping[str, str | CredentialSource] = msgspec.field(
        default_factory=dict[str, str | CredentialSource]
    )
    key_header: str | None = None
    query: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    errors: Sequence[ErrorMatch] = ()

    def __repr__(self) -> str:
        shown: list[str] = []
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            if value is not None:
                shown.append(f"{name}=…" if name in _NEVER_SHOWN and value else f"{name}={scrub(repr(value))}")
        return f"{type(self).__name__}({', '.join(shown)})"
