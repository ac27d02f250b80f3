"""All rows of the wire `openai-chat`, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from limen.adapters._chat_completions._dialect import Dialect
from limen.adapters._chat_completions._rows_hosts import HOSTS
from limen.adapters._chat_completions._rows_vendors import VENDORS

ROWS: Final[Mapping[str, Dialect]] = MappingProxyType({row.name: row for row in (*VENDORS, *HOSTS)})
