"""The adapters, one package each; a package loads when it is first named: `limen.adapters.deepseek.DeepSeekAdapter`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.adapters import anthropic as anthropic
    from limen.adapters import deepseek as deepseek
    from limen.adapters import openai_chat as openai_chat

__all__ = ["anthropic", "deepseek", "openai_chat"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        import importlib

        if name not in __all__:
            raise AttributeError(f"module 'limen.adapters' has no attribute {name!r}; it has {', '.join(__all__)}")
        return importlib.import_module(f"limen.adapters.{name}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
