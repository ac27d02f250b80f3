"""One dialect row bound to the wire: everything that an adapter needs and that is no I/O."""

from limen.adapters._codec import RowCodec
from limen.adapters.gemini._dialects import Dialect
from limen.adapters.gemini._parse import parse_models
from limen.adapters.gemini._reader import GenerateReader
from limen.adapters.gemini._request import HONOURS, build_request
from limen.adapters.kit import BuildContext
from limen.contract import GenerateOptions, IdSeed, Limits, ModelInfo, WireRequest


class GenerateCodec(RowCodec[Dialect]):
    """A codec (`adapters.Codec`) of the wire `gemini-generate`."""

    honours = HONOURS

    def __init__(self, row: Dialect) -> None:
        super().__init__(row)
        if row.project is not None:
            self.credentials = "Google's application default credentials"

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return build_request(options, context, self.row)

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> GenerateReader:
        """Make the reader of one answer."""
        return GenerateReader(self.errors, id_seed=id_seed, limits=limits, content_type=content_type)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the host's list of models; anything else is `INVALID_CATALOG`."""
        return parse_models(provider, body)
