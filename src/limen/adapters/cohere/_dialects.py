"""The dialect of Cohere's chat: one row, Cohere's own host.

Sources, read 2026-11-30: https://docs.cohere.com/reference/chat and https://docs.cohere.com/docs/image-inputs; traffic
of 2025-03 … 2026-08.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from limen.adapters import _vendors as vendors
from limen.adapters._codec import Row

EFFORTS: Final = ("off", "enabled")
"""The two states of `thinking`: the wire has no levels, only a budget in tokens, which `extra` may set."""

MAX_STOPS: Final = 5


class Dialect(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the wire; what every wire has stands in `Row`."""

    wire: ClassVar[str] = vendors.COHERE_CHAT
    image_types: ClassVar[frozenset[str] | None] = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

    path: str = "/v2/chat"
    models_path: str | None = "/v1/models?endpoint=chat&page_size=1000"


COHERE: Final = Dialect(name="cohere", vendor=vendors.COHERE)

ROWS: Final[Mapping[str, Dialect]] = MappingProxyType({COHERE.name: COHERE})
