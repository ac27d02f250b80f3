"""The OpenAI Responses wire: OpenAI itself, and every host that speaks it."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.openai_responses._adapter import WIRE, OpenAIResponsesAdapter, OpenAIResponsesOptions, codec_of

SPEC: Final = AdapterSpec(
    name="openai-responses",
    adapter=OpenAIResponsesAdapter,
    options=OpenAIResponsesOptions,
    wire=WIRE,
    codec=codec_of,
    description="limen.testing.wires.openai_responses:WIRE",
)

__all__ = ["SPEC", "WIRE", "OpenAIResponsesAdapter", "OpenAIResponsesOptions"]
