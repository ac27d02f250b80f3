"""The adapter's class: the codec of the wire, and how a route of `limen.toml` becomes one."""

from collections.abc import Mapping

from acme_limen._parse import refusal_of
from acme_limen._reader import AcmeReader
from acme_limen._serialize import WIRE, body_of
from limen.adapters import BuildContext, WireAdapter, WireOptions
from limen.config import Route
from limen.contract import (
    Effort,
    Failure,
    GenerateOptions,
    IdSeed,
    Limits,
    ModelInfo,
    Timeouts,
    WireReader,
    WireRequest,
)
from limen.transport import TransportOptions


class AcmeCodec:
    """Acme's wire, without its network."""

    wire = WIRE
    dialect = "acme"
    base_url: str | None = "https://api.acme.test"
    key_variables: tuple[str, ...] = ("ACME_API_KEY",)
    requires_key = True
    default_max_tokens: int | None = None
    efforts: tuple[Effort, ...] | None = ()
    models_path: str | None = None
    models_headers: Mapping[str, str] = {}
    min_timeouts: Timeouts | None = None

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Serialize."""
        body = body_of(options, context.replay_dropped)
        return WireRequest("POST", "/generate", {"content-type": "application/json"}, body)

    def authorize(self, key: str) -> tuple[tuple[str, str], ...]:
        """A header of Acme's own."""
        return (("x-acme-key", key),)

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> WireReader:
        """Read."""
        return AcmeReader(id_seed, limits or Limits(), content_type)

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure:
        """Judge."""
        return refusal_of(status, body)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Acme has no list of models."""
        return ()


class AcmeOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `AcmeAdapter`."""


class AcmeAdapter(WireAdapter):
    """Acme's models (https://docs.acme.test/lines, read 2026-11-30).

    Mapped: text, tool calls and results, `system`, `tools`, `temperature`, `max_tokens`, `stop`, `extra["acme-lines"]`.
    A thought goes back under the seal that came with it, and is left out of any other history.
    Refused: images, efforts, JSON formats, tool choice, strict tools, `top_p`, `seed`, `cache`.
    Ignored: `session_id`, `purpose`.
    """

    def __init__(self, options: AcmeOptions) -> None:
        super().__init__(options, AcmeCodec())


def for_route(route: Route) -> AcmeAdapter:
    """Make the adapter of a route of `limen.toml`; to whatever it raises, limen adds the route."""
    for name in ("dialect", "path", "options"):
        if getattr(route, name):
            raise ValueError(f"Acme has no use for {name}; leave it out")
    options = AcmeOptions(
        base_url=route.base_url,
        api_key=route.credential,
        models=route.models,
        default_max_tokens=route.default_max_tokens,
        headers=route.headers,
        timeouts=route.timeouts or Timeouts(),
        limits=route.limits or Limits(),
        retry=route.retry,
        transport=TransportOptions(proxy=route.proxy, no_proxy=route.no_proxy),
        allow_plain_http=route.allow_plain_http,
        app=route.app,
    )
    return AcmeAdapter(options)
