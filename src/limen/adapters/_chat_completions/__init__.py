"""The chat-completions family: one serializer, one reader, and a table of rows for who speaks it with which accent.

`WIRE` is the wire `openai-chat` without its network; `ROWS` are its dialects, and `WIRE.codec(name)` binds one of them.
"""

from typing import Final

from limen.adapters._base import CodecWire
from limen.adapters._chat_completions._codec import ChatCodec
from limen.adapters._chat_completions._dialect import Dialect
from limen.adapters._chat_completions._rows import ROWS

WIRE: Final = CodecWire(ChatCodec.wire, {name: ChatCodec(row) for name, row in ROWS.items()}, default_dialect="generic")

__all__ = ["ROWS", "WIRE", "ChatCodec", "Dialect"]
