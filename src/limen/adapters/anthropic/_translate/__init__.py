"""Anthropic Messages: wire events to chunks; pure, no I/O, no clock."""

from limen.adapters.anthropic._translate._translator import Translator

__all__ = ["Translator"]
