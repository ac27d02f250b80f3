"""The Anthropic Messages wire: Anthropic itself, and every host that speaks it."""

from limen.adapters.anthropic._adapter import WIRE, AnthropicAdapter, AnthropicOptions

__all__ = ["WIRE", "AnthropicAdapter", "AnthropicOptions"]
