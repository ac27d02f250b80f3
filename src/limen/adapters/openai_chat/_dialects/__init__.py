"""The dialect rows of the wire `openai-chat`, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from limen.adapters.openai_chat._dialects._hosts import HOSTS
from limen.adapters.openai_chat._dialects._row import (
    EFFORT,
    PLAIN,
    CacheMark,
    CacheRules,
    Dialect,
    EffortRules,
    ReadingRules,
)
from limen.adapters.openai_chat._dialects._vendors import VENDORS

ROWS: Final[Mapping[str, Dialect]] = MappingProxyType({row.name: row for row in (*VENDORS, *HOSTS)})

__all__ = ["EFFORT", "PLAIN", "ROWS", "CacheMark", "CacheRules", "Dialect", "EffortRules", "ReadingRules"]
