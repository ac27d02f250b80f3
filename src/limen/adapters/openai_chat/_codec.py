"""One dialect row bound to the wire: everything an adapter needs that is not I/O."""

from collections.abc import Mapping

from limen.adapters._chat_completions._catalog import parse_models
from limen.adapters._chat_completions._dialect import WIRE, Dialect
from limen.adapters._chat_completions._reader import ChatReader
from limen.adapters._chat_completions._serialize import serialize
from limen.adapters._classify import classify_answer
from limen.adapters._codec import BuildContext
from limen.contract import (
    Effort,
    Failure,
    FrozenDict,
    GenerateOptions,
    IdSeed,
    Limits,
    ModelInfo,
    Timeouts,
    WireReader,
    WireRequest,
)

_HEADERS = FrozenDict({"content-type": "application/json", "accept": "text/event-stream"})


class ChatCodec:
    """A codec (`adapters._codec.Codec`) made of one row; pure, shared by adapter, `build_request` and `iter_chunks`."""

    wire = WIRE

    def __init__(self, row: Dialect) -> None:
        self.row = row
        self.dialect = row.name
        self.base_url = row.base_url
        self.key_variables = row.key_variables
        self.requires_key = row.requires_key
        self.default_max_tokens: int | None = None
        levels = row.efforts.levels
        self.efforts = None if levels is None else tuple(Effort(level, level) for level in levels)
        self.models_path = row.models_path
        self.models_headers: Mapping[str, str] = FrozenDict({})
        self.min_timeouts: Timeouts | None = row.min_timeouts

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return WireRequest("POST", self.row.path, _HEADERS, serialize(options, self.row, context))

    def authorize(self, key: str) -> tuple[tuple[str, str], ...]:
        """Return the header that carries a key."""
        if self.row.key_header == "api-key":
            return (("api-key", key),)
        return (("authorization", f"Bearer {key}"),)

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> WireReader:
        """Make the reader of one answer."""
        return ChatReader(self.row.reading, self.row.errors, id_seed=id_seed, limits=limits, content_type=content_type)

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure:
        """Say what a failed answer means (E1, section 3)."""
        return classify_answer(status, headers, body, rules=self.row.errors)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the gateway's list of models (R10)."""
        return parse_models(provider, body, openrouter=self.row.catalog == "openrouter")
