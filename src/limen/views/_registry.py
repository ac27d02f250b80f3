"""Registry of the encoders: a wire's name and the module that encodes it, loaded when it is first asked for."""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from limen.contract import LlmError, codes
from limen.views._encoder import EncoderOptions, WireEncoder

ENCODERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "openai-chat": "limen.views._openai_chat",
        "anthropic-messages": "limen.views._anthropic_messages",
        "gemini-generate": "limen.views._gemini_generate",
        "ollama-chat": "limen.views._ollama_chat",
        "cohere": "limen.views._cohere",
        "mistral": "limen.views._mistral",
        "openai-responses": "limen.views._openai_responses",
        "bedrock-converse": "limen.views._bedrock_converse",
    }
)
"""The module of each wire's encoder, which it names `ENCODER`; a new wire is one entry and one file."""


def encoder(
    wire: str,
    *,
    model: str,
    id: str,  # noqa: A002 - V1 fixes the name
    options: EncoderOptions | None = None,
) -> WireEncoder:
    """Return a new encoder for one answer on a wire (V1).

    `model` is echoed byte for byte: clients compare it with what they asked for. `id` is new for every answer:
    clients merge answers with one id. An unknown wire is `LlmError` with `UNSUPPORTED`.
    """
    module = ENCODERS.get(wire)
    if module is None:
        raise LlmError(
            f"there is no encoder for the wire {wire!r}; there is for {', '.join(ENCODERS)}", codes.UNSUPPORTED
        )
    kind: object = importlib.import_module(module).ENCODER
    assert isinstance(kind, type) and issubclass(kind, WireEncoder), f"{module}.ENCODER is no WireEncoder"  # noqa: PT018
    return kind(model=model, id=id, options=options or EncoderOptions())
