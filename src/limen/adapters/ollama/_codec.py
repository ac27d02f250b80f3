"""One dialect row bound to the wire, with a route's defaults: everything that an adapter needs and that is no I/O."""

from limen.adapters._codec import RowCodec
from limen.adapters.kit import BuildContext
from limen.adapters.ollama._dialects import EFFORTS, Dialect
from limen.adapters.ollama._parse import parse_details, parse_models
from limen.adapters.ollama._reader import OllamaReader
from limen.adapters.ollama._request import HONOURS, RouteDefaults, build_request, show_request
from limen.contract import Effort, GenerateOptions, IdSeed, Limits, ModelInfo, WireRequest


class OllamaCodec(RowCodec[Dialect]):
    """A codec (`adapters.Codec`) of the wire `ollama-chat`, whose models are asked for their facts one by one."""

    honours = HONOURS
    efforts = tuple(Effort(level, level) for level in EFFORTS)

    def __init__(self, row: Dialect, defaults: RouteDefaults | None = None) -> None:
        super().__init__(row)
        self.defaults = RouteDefaults() if defaults is None else defaults

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return build_request(options, context, self.row, self.defaults)

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> OllamaReader:
        """Make the reader of one answer."""
        return OllamaReader(self.errors, id_seed=id_seed, limits=limits, content_type=content_type)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the server's list of models; anything else is `INVALID_CATALOG`."""
        return parse_models(provider, body)

    def details_request(self, model: ModelInfo) -> WireRequest:
        """Make the request for the facts of one listed model."""
        return show_request(model.id)

    def parse_details(self, model: ModelInfo, body: bytes) -> ModelInfo | None:
        """Return a listed model with its own facts, `None` for one that answers no chats."""
        return parse_details(model, body, num_ctx=self.defaults.num_ctx)
