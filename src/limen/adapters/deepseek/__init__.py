"""DeepSeek's chat completions."""

from limen.adapters._chat_completions import WIRE
from limen.adapters.deepseek._adapter import DeepSeekAdapter, DeepSeekOptions

__all__ = ["WIRE", "DeepSeekAdapter", "DeepSeekOptions"]
