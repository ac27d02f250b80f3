"""One dialect row bound to the wire: everything that an adapter needs and that is no I/O."""

from typing import Final

from limen.adapters._codec import RowCodec
from limen.adapters.cohere._dialects import EFFORTS, Dialect
from limen.adapters.cohere._parse import parse_models
from limen.adapters.cohere._reader import CohereReader
from limen.adapters.cohere._request import HONOURS, write_request
from limen.adapters.kit import BuildContext
from limen.contract import Effort, FrozenDict, GenerateOptions, IdSeed, Limits, ModelInfo, WireRequest

_HEADERS: Final = FrozenDict({"content-type": "application/json", "accept": "text/event-stream"})


class CohereCodec(RowCodec[Dialect]):
    """A codec (`adapters.Codec`) of the wire `cohere`."""

    honours = HONOURS
    efforts = tuple(Effort(level, level) for level in EFFORTS)

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return WireRequest("POST", self.row.path, _HEADERS, write_request(options, self.row, context))

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> CohereReader:
        """Make the reader of one answer."""
        return CohereReader(self.errors, id_seed=id_seed, limits=limits, content_type=content_type)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read Cohere's list of models; anything else is `INVALID_CATALOG`."""
        return parse_models(provider, body)
