"""The adapter of any wire over HTTP, and a wire without its network."""

from collections.abc import Mapping, Sequence

from limen.adapters._codec import BuildContext, Codec, WireOptions
from limen.adapters._pump import WireStream
from limen.contract import (
    AbortSignal,
    Failure,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmAdapter,
    ModelInfo,
    WireReader,
    WireRequest,
    unknown_dialect,
)

__all__ = ["BuildContext", "Codec", "CodecWire", "WireAdapter", "WireOptions"]


class WireAdapter(LlmAdapter):
    """An adapter made of a codec: credentials, request, transport and pump are the same for every wire."""

    def __init__(self, options: WireOptions, codec: Codec) -> None:
        raise NotImplementedError

    def stream(self, options: GenerateOptions) -> WireStream:
        """Return the stream of one call; what is wrong with the request is raised by its first step."""
        raise NotImplementedError

    async def list_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the provider's own list where it has one, else the configured models."""
        raise NotImplementedError

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """Return what is configured for one exact model, with the dialect row's defaults; no I/O."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the adapter's connections. Idempotent."""
        raise NotImplementedError


class CodecWire:
    """A wire without its network, made of its dialect rows (`contract.Wire`)."""

    def __init__(self, name: str, codecs: Mapping[str, Codec], *, default_dialect: str) -> None:
        self.name = name
        self.codecs = codecs
        self.default_dialect = default_dialect

    @property
    def dialects(self) -> Sequence[str]:
        """The names of the dialect rows."""
        return tuple(self.codecs)

    def reader(
        self,
        *,
        dialect: str | None = None,
        id_seed: IdSeed = b"",
        limits: Limits | None = None,
        content_type: str | None = None,
    ) -> WireReader:
        """Make the reader of one answer."""
        return self.codec(dialect).reader(id_seed=id_seed, limits=limits, content_type=content_type)

    def request(self, options: GenerateOptions, *, dialect: str | None = None) -> WireRequest:
        """Serialize a request as the adapter would send it, secrets masked."""
        raise NotImplementedError

    def classify(self, status: int, headers: Mapping[str, str], body: bytes, *, dialect: str | None = None) -> Failure:
        """Say what a failed answer means; header names in any case."""
        lowered = {name.lower(): value for name, value in headers.items()}
        return self.codec(dialect).classify(status, lowered, body)

    def codec(self, dialect: str | None) -> Codec:
        """Return a row by name, the default row for `None`; an unknown one is `UNSUPPORTED`."""
        name = self.default_dialect if dialect is None else dialect
        if name not in self.codecs:
            raise unknown_dialect(self.name, name, self.dialects)
        return self.codecs[name]
