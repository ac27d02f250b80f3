"""Chat completions of OpenAI and of everything compatible with them."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.openai_chat._adapter import WIRE, OpenAIChatAdapter, OpenAIChatOptions, codec_of
from limen.adapters.openai_chat._codec import ChatCodec
from limen.adapters.openai_chat._dialects import ROWS, Dialect

SPEC: Final = AdapterSpec(
    name="openai-chat",
    adapter=OpenAIChatAdapter,
    options=OpenAIChatOptions,
    wire=WIRE,
    codec=codec_of,
    description="limen.testing.wires.openai_chat:WIRE",
)

__all__ = ["ROWS", "SPEC", "WIRE", "ChatCodec", "Dialect", "OpenAIChatAdapter", "OpenAIChatOptions", "codec_of"]
