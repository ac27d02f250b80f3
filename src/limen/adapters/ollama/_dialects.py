"""Dialects of Ollama's native chat: the server on this machine or another, and Ollama's cloud.

Sources, read 2026-12-01: https://docs.ollama.com/api/authentication, https://docs.ollama.com/cloud,
https://docs.ollama.com/capabilities/thinking.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from limen.adapters import _vendors as vendors
from limen.adapters._codec import Row
from limen.adapters.ollama._wire import WIRE

# 400 invalid think value: 'xhigh' (must be "high", "medium", "low", "max", true, or false) [S]. Levels differ on
# gpt-oss alone; other models that think take each of them for true.
EFFORTS: Final = ("off", "low", "medium", "high", "max")


class Dialect(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One dialect; every default is the server's own."""

    wire: ClassVar[str] = WIRE

    path: str = "/api/chat"
    models_path: str | None = "/api/tags"
    requires_key: bool = False
    image_urls: bool = False


_ROWS: Final = (
    Dialect(name="ollama", vendor=vendors.OLLAMA),
    Dialect(name="ollama-cloud", vendor=vendors.OLLAMA_CLOUD, requires_key=True),
)

ROWS: Final[Mapping[str, Dialect]] = MappingProxyType({row.name: row for row in _ROWS})
