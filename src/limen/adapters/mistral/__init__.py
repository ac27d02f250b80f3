"""Mistral's chat completions."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.mistral._adapter import WIRE, MistralAdapter, MistralOptions, codec_of

SPEC: Final = AdapterSpec(
    name="mistral",
    adapter=MistralAdapter,
    options=MistralOptions,
    wire=WIRE,
    codec=codec_of,
    description="limen.testing.wires.mistral:WIRE",
)

__all__ = ["SPEC", "WIRE", "MistralAdapter", "MistralOptions", "codec_of"]
