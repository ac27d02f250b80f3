"""One dialect row bound to the wire: everything that an adapter needs and that is no I/O."""

from limen.adapters._aws import AwsCodec, InvokeFrames, parse_foundation_models
from limen.adapters._codec import RowCodec
from limen.adapters.anthropic._dialects import Dialect
from limen.adapters.anthropic._parse import parse_models
from limen.adapters.anthropic._reader import InvokeReader, MessagesReader
from limen.adapters.anthropic._request import DEFAULT_MAX_TOKENS, HONOURS, build_request
from limen.adapters.kit import BuildContext
from limen.contract import Effort, FrozenDict, GenerateOptions, IdSeed, Limits, ModelInfo, WireRequest
from limen.transport.framing import SseDecoder


class MessagesCodec(RowCodec[Dialect]):
    """A codec (`adapters.Codec`) of the wire `anthropic-messages`."""

    honours = HONOURS
    default_max_tokens = DEFAULT_MAX_TOKENS

    def __init__(self, row: Dialect) -> None:
        super().__init__(row)
        self.efforts = None if row.efforts is None else tuple(Effort(level, level) for level in row.efforts)
        self.models_headers = FrozenDict({} if row.version is None else {"anthropic-version": row.version})

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return build_request(options, context, self.row)

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> MessagesReader:
        """Make the reader of one answer."""
        framing = SseDecoder(limits, marker=None)
        return MessagesReader(framing, self.errors, id_seed=id_seed, limits=limits, content_type=content_type)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the host's list of models; anything else is `INVALID_CATALOG`."""
        return parse_models(provider, body)


class InvokeCodec(AwsCodec[Dialect], MessagesCodec):
    """The same of a row whose events come in Amazon's frames."""

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> MessagesReader:
        """Make the reader of one answer."""
        framing = InvokeFrames(limits)
        return InvokeReader(framing, self.errors, id_seed=id_seed, limits=limits, content_type=content_type)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the list of foundation models; anything else is `INVALID_CATALOG`."""
        return parse_foundation_models(provider, body)
