"""The chat-completions family: one serializer, one reader, and a table of rows for who speaks it with which accent.

`WIRE` is the wire `openai-chat` without its network; `ROWS` are its dialects, `codec` binds one of them.
"""

from typing import Final

from limen.adapters._base import CodecWire
from limen.adapters._chat_completions._codec import ChatCodec
from limen.adapters._chat_completions._dialect import Dialect
from limen.adapters._chat_completions._rows import ROWS
from limen.contract import unknown_dialect

_NAME: Final = "openai-chat"

CODECS: Final = {name: ChatCodec(row) for name, row in ROWS.items()}
WIRE: Final = CodecWire(_NAME, CODECS, default_dialect="generic")


def codec(dialect: str) -> ChatCodec:
    """Return the codec of a row; an unknown name is `UNSUPPORTED`."""
    found = CODECS.get(dialect)
    if found is None:
        raise unknown_dialect(_NAME, dialect, tuple(CODECS))
    return found


__all__ = ["CODECS", "ROWS", "WIRE", "ChatCodec", "Dialect", "codec"]
