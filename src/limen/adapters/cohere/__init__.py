"""Cohere's chat API, version 2."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.cohere._adapter import WIRE, CohereAdapter, CohereOptions, codec_of

SPEC: Final = AdapterSpec(
    name="cohere",
    adapter=CohereAdapter,
    options=CohereOptions,
    wire=WIRE,
    codec=codec_of,
    description="limen.testing.wires.cohere:WIRE",
)

__all__ = ["SPEC", "WIRE", "CohereAdapter", "CohereOptions"]
