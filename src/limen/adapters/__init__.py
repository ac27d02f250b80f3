"""The adapters, one package each; a package loads when it is first named: `limen.adapters.deepseek.DeepSeekAdapter`.

An adapter of another wire over HTTP is made of `Row` and `RowCodec` (a dialect as data, and what follows from it),
`CodecWire`, `WireAdapter` with its `WireOptions`, and one `AdapterSpec`; `limen.adapters.kit` has the parts of its
serializer and its reader.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.adapters import anthropic as anthropic
    from limen.adapters import bedrock as bedrock
    from limen.adapters import deepseek as deepseek
    from limen.adapters import gemini as gemini
    from limen.adapters import kit as kit
    from limen.adapters import library as library
    from limen.adapters import openai_chat as openai_chat
    from limen.adapters._codec import Codec, Row, RowCodec, WireOptions
    from limen.adapters._http_adapter import WireAdapter
    from limen.adapters._spec import AdapterSpec, CodecWire
    from limen.adapters._vendors import Vendor
    from limen.adapters.kit import BuildContext

# Names of this package, by the module that holds them.
_HOMES = {
    "AdapterSpec": "_spec",
    "BuildContext": "kit",
    "Codec": "_codec",
    "CodecWire": "_spec",
    "Row": "_codec",
    "RowCodec": "_codec",
    "Vendor": "_vendors",
    "WireAdapter": "_http_adapter",
    "WireOptions": "_codec",
}

__all__ = [
    "AdapterSpec",
    "BuildContext",
    "Codec",
    "CodecWire",
    "Row",
    "RowCodec",
    "Vendor",
    "WireAdapter",
    "WireOptions",
    "anthropic",
    "bedrock",
    "deepseek",
    "gemini",
    "kit",
    "library",
    "openai_chat",
]

if not TYPE_CHECKING:  # pragma: no branch - a checker alone takes the other way
    # A checker reads the imports above; a `__getattr__` that it could see would hide misspelt names from it.

    def __getattr__(name: str) -> object:
        import importlib

        if name in _HOMES:
            return getattr(importlib.import_module(f"limen.adapters.{_HOMES[name]}"), name)
        if name in _packages():
            return importlib.import_module(f"limen.adapters.{name}")
        known = ", ".join(__dir__())
        raise AttributeError(f"module 'limen.adapters' has no attribute {name!r}; it has {known}")

    def __dir__() -> list[str]:
        return sorted({*__all__, *_packages()})

    def _packages() -> list[str]:
        import pkgutil

        return [found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")]
