"""The wire `gemini-generate` (generateContent): the Gemini Developer API and Vertex AI."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.gemini._adapter import WIRE, GeminiAdapter, GeminiOptions, codec_of
from limen.adapters.gemini._google import GoogleCredentials

SPEC: Final = AdapterSpec(
    name="gemini",
    adapter=GeminiAdapter,
    options=GeminiOptions,
    wire=WIRE,
    codec=codec_of,
    description="limen.testing.wires.gemini_generate:WIRE",
)

__all__ = ["SPEC", "WIRE", "GeminiAdapter", "GeminiOptions", "GoogleCredentials"]
