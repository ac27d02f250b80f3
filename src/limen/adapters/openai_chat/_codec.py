"""One dialect row bound to the wire: everything an adapter needs that is not I/O."""

from collections.abc import Collection
from typing import Final

from limen.adapters._codec import RowCodec
from limen.adapters.kit import BuildContext, parse_model_list
from limen.adapters.openai_chat._dialects import Dialect
from limen.adapters.openai_chat._reader import ChatReader
from limen.adapters.openai_chat._request import HONOURS, write_request
from limen.contract import (
    Effort,
    FrozenDict,
    GenerateOptions,
    IdSeed,
    Limits,
    ModelInfo,
    WireReader,
    WireRequest,
)

_HEADERS: Final = FrozenDict({"content-type": "application/json", "accept": "text/event-stream"})


class ChatCodec(RowCodec[Dialect]):
    """A codec (`adapters.Codec`) made of one row; pure, shared by adapter, `build_request` and `iter_chunks`."""

    honours: Collection[str] = HONOURS

    def __init__(self, row: Dialect) -> None:
        super().__init__(row)
        levels = row.efforts.levels
        self.efforts: tuple[Effort, ...] | None = (
            None if levels is None else tuple(Effort(level, level) for level in levels)
        )

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return WireRequest("POST", self.row.path, _HEADERS, write_request(options, self.row, context))

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> WireReader:
        """Make the reader of one answer."""
        return ChatReader(
            self.row.reading,
            self.errors,
            id_seed=id_seed,
            limits=limits,
            content_type=content_type,
            wire=self.wire,
        )

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the gateway's list of models (R10): ids, and only the facts that the list itself states."""
        return parse_model_list(provider, body, catalog=self.row.catalog)
