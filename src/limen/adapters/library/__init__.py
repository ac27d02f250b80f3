"""Other libraries behind limen's boundary: `litellm`, for providers that limen has no wire for."""

from typing import Final

from limen.adapters._spec import AdapterSpec
from limen.adapters.library._adapter import LiteLlmAdapter, LiteLlmOptions

SPEC: Final = AdapterSpec(name="litellm", adapter=LiteLlmAdapter, options=LiteLlmOptions)

__all__ = ["SPEC", "LiteLlmAdapter", "LiteLlmOptions"]
