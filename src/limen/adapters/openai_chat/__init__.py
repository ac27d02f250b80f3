"""Chat completions of OpenAI and of everything compatible with them."""

from limen.adapters._chat_completions import WIRE
from limen.adapters.openai_chat._adapter import OpenAIChatAdapter, OpenAIChatOptions

__all__ = ["WIRE", "OpenAIChatAdapter", "OpenAIChatOptions"]
