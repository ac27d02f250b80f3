"""Wires of the kit, one file each: description, oddities, list of models, and how the mock provider serves it.

A new wire is one file here; another distribution passes its own `WireDescription` to
`MockProvider(wires=…)`, `check_adapter` and `limen check --wire module:description`, and is served as an equal.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from limen.testing.wires._description import Oddity, WireDescription

_MODULES: Final = tuple(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_"))


def _described(module: str) -> WireDescription:
    description: object = importlib.import_module(f"{__name__}.{module}").WIRE
    assert isinstance(description, WireDescription), f"{module}.WIRE is no WireDescription"
    return description


WIRES: Final[Mapping[str, WireDescription]] = MappingProxyType(
    {description.name: description for description in map(_described, _MODULES)}
)
"""The descriptions of limen's own wires, by name."""


def wire_named(name: str) -> WireDescription:
    """Return the description of a wire that limen knows; another name is a `ValueError`."""
    if name not in WIRES:
        raise ValueError(f"the kit describes the wires {', '.join(WIRES)}, not {name!r}; give it a WireDescription")
    return WIRES[name]


__all__ = ["WIRES", "Oddity", "WireDescription", "wire_named"]
