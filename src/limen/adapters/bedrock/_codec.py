"""One dialect row bound to the wire: everything that an adapter needs and that is no I/O."""

from limen.adapters._aws import AwsCodec, parse_foundation_models
from limen.adapters.bedrock._dialects import Dialect
from limen.adapters.bedrock._reader import ConverseReader
from limen.adapters.bedrock._request import HONOURS, build_request
from limen.adapters.kit import BuildContext
from limen.contract import GenerateOptions, IdSeed, Limits, ModelInfo, WireRequest


class ConverseCodec(AwsCodec[Dialect]):
    """A codec (`adapters.Codec`) of the wire `bedrock-converse`."""

    honours = HONOURS

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return build_request(options, context, self.row)

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> ConverseReader:
        """Make the reader of one answer."""
        return ConverseReader(self.errors, id_seed=id_seed, limits=limits, content_type=content_type)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the list of foundation models; anything else is `INVALID_CATALOG`."""
        return parse_foundation_models(provider, body)
