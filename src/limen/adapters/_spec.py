"""A wire without its network, and the registration of an adapter."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from limen.adapters._codec import Codec, WireOptions
from limen.adapters._endpoint import masked, user_agent
from limen.adapters.kit import BuildContext, build
from limen.contract import (
    Failure,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmAdapter,
    WireReader,
    WireRequest,
    check_request,
    unknown_dialect,
)


class AdapterSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The registration of an adapter: the one thing that its package exports for configuration and offline use.

    limen's own packages call theirs `SPEC`; another distribution names its own in the entry-point group
    `limen.adapters`.

    - `name`: the adapter's name in configuration.
    - `adapter`: makes the adapter from an instance of `options`.
    - `options`: the options' type, a msgspec struct; a route gives what it has a field for, and
      `[routes.x.options]` the rest.
    - `wire`: the wire that the adapter speaks, `None` for one that wraps a library. Several adapters may share one.
    - `codec`: returns the dialect row that options name; absent where there is no wire.
    - `dialects`: the rows that this adapter stands for; empty for an adapter that serves all rows of its wire, which
      is the wire's home.
    - `description`: `module:attribute` of the wire's description for the conformance kit and the mock provider.
    """

    name: str
    adapter: Callable[..., LlmAdapter]
    options: type[msgspec.Struct]
    wire: "CodecWire | None" = None
    codec: Callable[..., Codec] | None = None
    dialects: tuple[str, ...] = ()
    description: str | None = None


class CodecWire:
    """A wire without its network, made of its dialects' codecs (`contract.Wire`)."""

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
        """Serialize a request as the adapter would send it: history checked, every header there, secrets masked."""
        codec = self.codec(dialect)
        check_request(options)
        written = build(codec, options, BuildContext(default_max_tokens=codec.default_max_tokens))
        headers = {name.lower(): value for name, value in written.headers.items()}
        headers |= {"user-agent": user_agent(None), "accept-encoding": "identity", **masked(codec, written)}
        return replace(written, headers=headers)

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

    def codec_at(
        self,
        options: WireOptions,
        *,
        elsewhere: str | None = None,
        among: Sequence[str] | None = None,
    ) -> Codec:
        """Return the row that an adapter's options name; the one place where an unnamed dialect is decided.

        Without a name it is the first of `among` (all rows: the wire's own provider), and `elsewhere` where the
        options give an address of their own. A row outside `among` is `UNSUPPORTED`.
        """
        known = self.dialects if among is None else among
        unnamed = known[0] if options.base_url is None or elsewhere is None else elsewhere
        name = unnamed if options.dialect is None else options.dialect
        if name not in known:
            raise unknown_dialect(self.name, name, known)
        return self.codecs[name]
