"""One dialect row bound to the wire: everything that an adapter needs and that is no I/O."""

from limen.adapters._codec import RowCodec
from limen.adapters.kit import BuildContext, parse_model_list
from limen.adapters.openai_responses._dialects import Dialect
from limen.adapters.openai_responses._reader import ResponsesReader
from limen.adapters.openai_responses._request import HONOURS, build_request
from limen.contract import Effort, GenerateOptions, IdSeed, Limits, ModelInfo, WireRequest


class ResponsesCodec(RowCodec[Dialect]):
    """A codec (`adapters.Codec`) of the wire `openai-responses`."""

    honours = HONOURS

    def __init__(self, row: Dialect) -> None:
        super().__init__(row)
        self.efforts = None if row.efforts is None else tuple(Effort(level, level) for level in row.efforts)

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return build_request(options, context, self.row)

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> ResponsesReader:
        """Make the reader of one answer."""
        return ResponsesReader(self.errors, id_seed=id_seed, limits=limits, content_type=content_type)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the host's list of models (R10); anything else is `INVALID_CATALOG`."""
        return parse_model_list(provider, body, catalog=self.row.name)
