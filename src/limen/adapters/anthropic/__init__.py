"""The Anthropic Messages wire: Anthropic itself, and every host that speaks it."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.anthropic._adapter import WIRE, AnthropicAdapter, AnthropicOptions, codec_of

SPEC: Final = AdapterSpec(
    name="anthropic-messages",
    adapter=AnthropicAdapter,
    options=AnthropicOptions,
    wire=WIRE,
    codec=codec_of,
    description="limen.testing.wires.anthropic_messages:WIRE",
)

__all__ = ["SPEC", "WIRE", "AnthropicAdapter", "AnthropicOptions"]
