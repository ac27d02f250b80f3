"""Registration of adapters by name: limen's own, and those of other distributions; each loads when first needed.

Every adapter is one `AdapterSpec`. limen's own are rows of `ADAPTERS`; another distribution names its spec in the
entry-point group `limen.adapters`. Both kinds are found by the same functions and are equals.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final, NamedTuple

from limen.config import invalid_config
from limen.contract import LlmError, codes, foreign_text

if TYPE_CHECKING:
    from limen.adapters import AdapterSpec, CodecWire

ENTRY_POINTS: Final = "limen.adapters"


class OwnAdapter(NamedTuple):
    """One of limen's adapters: the names of adapter and wire, and where its spec is.

    The names repeat the spec's, so that a name is known without loading the adapter.
    """

    name: str
    spec: str
    wire: str | None = None


ADAPTERS: Final = (
    OwnAdapter("openai-chat", "limen.adapters.openai_chat:SPEC", "openai-chat"),
    OwnAdapter("deepseek", "limen.adapters.deepseek:SPEC", "openai-chat"),
    OwnAdapter("anthropic-messages", "limen.adapters.anthropic:SPEC", "anthropic-messages"),
    OwnAdapter("gemini", "limen.adapters.gemini:SPEC", "gemini-generate"),
    OwnAdapter("ollama", "limen.adapters.ollama:SPEC", "ollama-chat"),
    OwnAdapter("litellm", "limen.adapters.library:SPEC"),
    OwnAdapter("cohere", "limen.adapters.cohere:SPEC", "cohere"),
    OwnAdapter("mistral", "limen.adapters.mistral:SPEC", "mistral"),
    OwnAdapter("openai-responses", "limen.adapters.openai_responses:SPEC", "openai-responses"),
    OwnAdapter("bedrock", "limen.adapters.bedrock:SPEC", "bedrock-converse"),
    OwnAdapter("fixture", "limen._file_adapters:FIXTURE"),
    OwnAdapter("cassette", "limen._file_adapters:CASSETTE"),
)


class Source(NamedTuple):
    """One registration of a name: who made it, and the entry point that loads the spec."""

    owner: str
    point: EntryPoint
    is_own: bool


def adapter_names() -> tuple[str, ...]:
    """Return the name of every registered adapter, limen's own first; none of them is loaded."""
    return tuple(_registered())


def spec_of(name: str) -> "AdapterSpec":
    """Return an adapter's spec.

    Raises `INVALID_CONFIG` for an unknown name, for a name that two distributions claim, and for a distribution whose
    spec cannot be loaded.
    """
    sources = _registered().get(name, ())
    if not sources:
        raise invalid_config(f"there is no adapter {name!r}; there are {', '.join(adapter_names())}")
    if len(sources) > 1:
        owners = " and ".join(source.owner for source in sources)
        raise invalid_config(f"the adapter {name!r} is registered by {owners}; uninstall all of these but one")
    return _loaded(sources[0])


def specs() -> "Iterator[AdapterSpec]":
    """Return the spec of every adapter that can be used; `faults` tells of the others."""
    for name in adapter_names():
        spec = _attempt(name)
        if not isinstance(spec, LlmError):
            yield spec


def faults() -> Mapping[str, str]:
    """Return why an adapter cannot be used, by name, for those that cannot."""
    found = {name: _attempt(name) for name in adapter_names()}
    return {name: fault.failure.message for name, fault in found.items() if isinstance(fault, LlmError)}


def wire_of(name: str) -> "CodecWire":
    """Return a wire without its network.

    Raises `UNSUPPORTED` for an unknown name, `INVALID_CONFIG` for one that two distributions give to wires of theirs,
    or whose adapter cannot be loaded.
    """
    for own in ADAPTERS:
        if own.wire == name:
            return _own_wire(own)
    owners = _wires().get(name, {})
    if len(owners) > 1:
        raise invalid_config(
            f"the wire {name!r} is registered by {' and '.join(owners)}; uninstall all of these but one"
        )
    for wire in owners.values():
        return wire
    broken = "".join(f"; the adapter {adapter} cannot be used: {fault}" for adapter, fault in faults().items())
    known = ", ".join(wire_names())
    raise LlmError(f"there is no wire {name!r}; there are {known}{broken}", codes.UNSUPPORTED, phase="resolve")


def wire_names() -> tuple[str, ...]:
    """Return the name of every wire that can be used, limen's own first."""
    return tuple(name for name, owners in _wires().items() if len(owners) == 1)


def _registered() -> Mapping[str, Sequence[Source]]:
    return _registered_on(tuple(sys.path))


@lru_cache(maxsize=1)
def _registered_on(_path: tuple[str, ...]) -> Mapping[str, Sequence[Source]]:
    # The metadata of every distribution on the path is read once for a path: it takes milliseconds.
    found = {own.name: [_own(own)] for own in ADAPTERS}
    for point in entry_points(group=ENTRY_POINTS):
        owner = "another distribution" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        found.setdefault(point.name, []).append(Source(owner, point, is_own=False))
    return found


def _loaded(source: Source) -> "AdapterSpec":
    from limen.adapters import AdapterSpec

    fault: str
    place = f"{source.point.value} of {source.owner}, which the adapter {source.point.name} names,"
    try:
        spec: object = source.point.load()
    except Exception as error:  # noqa: BLE001 - importing another distribution may raise anything
        fault = f"{place} cannot be loaded: {type(error).__name__}: {foreign_text(error)}"
    else:
        if isinstance(spec, AdapterSpec):
            return spec if source.is_own else _checked(spec, place, source.point.name)
        fault = f"{place} is no limen.adapters.AdapterSpec but a {type(spec).__name__}"
    # Raised out here, so that no exception chain holds what a foreign exception says (E5).
    raise invalid_config(fault)


def _checked(spec: "AdapterSpec", place: str, name: str) -> "AdapterSpec":
    if spec.name != name:
        raise invalid_config(f"{place} is the spec of an adapter of another name, {spec.name!r}")
    for own in ADAPTERS:
        if spec.wire is not None and own.wire == spec.wire.name and spec.wire is not _own_wire(own):
            raise invalid_config(f"{place} has a wire of its own named {own.wire!r}, which is the name of limen's")
    return spec


def _attempt(name: str) -> "AdapterSpec | LlmError":
    try:
        return spec_of(name)
    except LlmError as fault:
        return fault


def _own_wire(own: OwnAdapter) -> "CodecWire":
    wire = _loaded(_own(own)).wire
    assert wire is not None, f"{own.spec} has no wire"
    return wire


def _own(own: OwnAdapter) -> Source:
    return Source("limen", EntryPoint(own.name, own.spec, ENTRY_POINTS), is_own=True)


def _wires() -> "Mapping[str, Mapping[str, CodecWire]]":
    """Return the wires of every adapter that can be used, by name; each with the distributions that give it."""
    found: dict[str, dict[str, CodecWire]] = {}
    for name, sources in _registered().items():
        spec = _attempt(name)
        if isinstance(spec, LlmError) or spec.wire is None:
            continue
        owners = found.setdefault(spec.wire.name, {})
        if all(known is not spec.wire for known in owners.values()):
            owners[sources[0].owner] = spec.wire
    return found
