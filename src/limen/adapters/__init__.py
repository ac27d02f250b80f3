"""The adapters, one package each; a package loads when it is first named: `limen.adapters.deepseek.DeepSeekAdapter`.

`WireAdapter`, `WireOptions`, `Codec` and `CodecWire` are what an adapter of another wire over HTTP is made of.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.adapters import anthropic as anthropic
    from limen.adapters import deepseek as deepseek
    from limen.adapters import openai_chat as openai_chat
    from limen.adapters._base import BuildContext, Codec, CodecWire, WireAdapter, WireOptions

__all__ = [
    "BuildContext",
    "Codec",
    "CodecWire",
    "WireAdapter",
    "WireOptions",
    "anthropic",
    "deepseek",
    "openai_chat",
]

if not TYPE_CHECKING:  # pragma: no branch - a checker alone takes the other way
    # A checker reads the imports above; a `__getattr__` that it could see would hide misspelt names from it.

    def __getattr__(name: str) -> object:
        import importlib

        if name not in __all__:
            raise AttributeError(f"module 'limen.adapters' has no attribute {name!r}; it has {', '.join(__all__)}")
        if name.islower():
            return importlib.import_module(f"limen.adapters.{name}")
        return getattr(importlib.import_module("limen.adapters._base"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
