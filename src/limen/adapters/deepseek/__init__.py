"""DeepSeek's chat completions."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.deepseek._adapter import DIALECTS, DeepSeekAdapter, DeepSeekOptions, codec_of
from limen.adapters.openai_chat import WIRE

SPEC: Final = AdapterSpec(
    name="deepseek",
    adapter=DeepSeekAdapter,
    options=DeepSeekOptions,
    wire=WIRE,
    codec=codec_of,
    dialects=DIALECTS,
    description="limen.testing.wires.openai_chat:WIRE",
)

__all__ = ["SPEC", "WIRE", "DeepSeekAdapter", "DeepSeekOptions", "codec_of"]
