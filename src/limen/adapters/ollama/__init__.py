"""Ollama's native chat: a server on this machine or another, and Ollama's cloud."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.ollama._adapter import WIRE, OllamaAdapter, OllamaOptions, codec_of

SPEC: Final = AdapterSpec(
    name="ollama",
    adapter=OllamaAdapter,
    options=OllamaOptions,
    wire=WIRE,
    codec=codec_of,
    description="limen.testing.wires.ollama_chat:WIRE",
)

__all__ = ["SPEC", "WIRE", "OllamaAdapter", "OllamaOptions"]
