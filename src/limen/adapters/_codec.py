"""What a wire adapter is made of: one dialect row bound to its wire (`Codec`), and the options of its class."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

from limen.contract import (
    CredentialSource,
    Effort,
    Failure,
    GenerateOptions,
    IdSeed,
    Limits,
    ModelInfo,
    ReplayDrop,
    RetryPolicy,
    Timeouts,
    WireReader,
    WireRequest,
    scrub,
)
from limen.transport import TransportOptions

_NEVER_SHOWN: Final = frozenset({"api_key", "headers"})


class BuildContext:
    """What a codec may know of a call beside its options; `replay_dropped` is where it reports state not used (R5).

    `model` holds the facts configured for exactly this model, `None` where there are none; `default_max_tokens` is
    the cap to write where the wire requires one and the call sets none.
    """

    __slots__ = ("default_max_tokens", "model", "replay_dropped")

    def __init__(self, model: ModelInfo | None = None, default_max_tokens: int | None = None) -> None:
        self.model = model
        self.default_max_tokens = default_max_tokens
        self.replay_dropped: list[ReplayDrop] = []


class Codec(Protocol):
    """One dialect row bound to its wire: pure, no I/O, shared by the adapter, `build_request` and `iter_chunks`."""

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
        """Where the provider serves, or `None` where every user has an address of their own."""
        ...

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Environment variables that people keep this provider's key in, the usual one first."""
        ...

    @property
    def requires_key(self) -> bool:
        """Whether the provider refuses every call without a key (K4)."""
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
        """What follows the base URL to list the models, or `None` where the provider has no such list."""
        ...

    @property
    def models_headers(self) -> Mapping[str, str]:
        """What the list of models wants beside the key."""
        ...

    @property
    def min_timeouts(self) -> Timeouts | None:
        """Limits that the provider's own pace requires; they raise defaults, never what a caller set (T1)."""
        ...

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        ...

    def authorize(self, key: str) -> tuple[tuple[str, str], ...]:
        """Return the headers that carry a key."""
        ...

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> WireReader:
        """Make the reader of one answer."""
        ...

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure:
        """Say what a failed answer means; header names are lower-case. Never raises."""
        ...

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the provider's list of models; raises `LlmError` `INVALID_CATALOG` for anything else."""
        ...


class WireOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of an adapter that speaks to a provider over HTTP; keyword-only, and no repr shows a key.

    - `base_url`: what stands before the wire's own path; the dialect row's address unless given.
    - `api_key`: a key, or a `CredentialSource` that is asked once per call (K2, K7). `None` sends none.
    - `dialect`: the row of the wire's table to follow.
    - `models`: facts about models; they answer `resolve_model`, and `list_models` where the provider has no list.
    - `default_max_tokens`: the output cap where a call sets none and the model's facts have none.
    - `headers`: sent with every request; `User-Agent` stays limen's (Q7), and a header that carries a key only
      counts where `api_key` is `None`.
    - `timeouts`, `limits`, `transport`, `retry`: see their classes.
    - `allow_plain_http`: lets a key go over plain http to a host that is not this machine (K6).
    - `app`: the application's product name for `User-Agent`, such as `my-app/1.0`.
    """

    base_url: str | None = None
    api_key: str | CredentialSource | None = None
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

    def __repr__(self) -> str:
        shown: list[str] = []
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            if value is not None:
                shown.append(f"{name}=…" if name in _NEVER_SHOWN and value else f"{name}={scrub(repr(value))}")
        return f"{type(self).__name__}({', '.join(shown)})"
