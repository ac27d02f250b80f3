"""Command `limen check module:factory --wire NAME`: the conformance checks on an adapter."""

import asyncio
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

from limen.contract import LlmAdapter, foreign_text
from limen.testing.conformance._endpoint import Endpoint, Factory
from limen.testing.conformance._report import Report, page, table
from limen.testing.conformance._run import check_adapter
from limen.testing.wires import WireDescription, wire_named


class UsageError(ValueError):
    """Wrong use of the command; the text says how."""


def run_check(
    target: str,
    *,
    wire: str,
    report: str | None = None,
    basics: bool = False,
    write: Callable[[str], object] = print,
) -> int:
    """Check the adapter that `target` makes, write the table, and return the exit code: 0, or 1 for a failure.

    `target` is `module:factory`; `wire` a name such as `openai-chat`, or `module:description` for a wire of one's own.
    `report` is a file to write the same as one HTML page. Raises `UsageError` for what cannot be found (exit code 2),
    and where h11 is missing.
    """
    factory = _factory(target)
    description = _wire(wire)
    try:
        asyncio.run(_try(factory, target, description))
        found = asyncio.run(check_adapter(factory, description, basics=basics))
    except ModuleNotFoundError as missing:
        raise UsageError(str(missing)) from None
    return _written(found, report, write)


async def _try(factory: Factory, target: str, description: WireDescription) -> None:
    """Make the adapter once before it is judged: a wrong factory is one sentence, not a failure of every rule."""
    from limen.testing.server import MockProvider

    fault: str
    async with MockProvider(wires=(description,)) as mock:
        try:
            adapter = factory(Endpoint(base_url=mock.base_url(description.mock.name)))
        except Exception as error:  # noqa: BLE001 - a factory may raise anything
            fault = f"{type(error).__name__}: {foreign_text(error)}"
        else:
            await adapter.aclose()
            return
    raise UsageError(f"{target} makes no adapter for an endpoint: {fault}")


def _written(found: Report, report: str | None, write: Callable[[str], object]) -> int:
    write(table(found))
    if report is not None:
        try:
            Path(report).write_text(page(found), encoding="utf-8")
        except OSError as problem:
            raise UsageError(f"the report cannot be written: {problem}") from None
    return 0 if found.passed else 1


def _factory(target: str) -> Factory:
    made = _named(target)
    if not callable(made):
        raise UsageError(f"{target} is no function that makes an adapter for an endpoint")

    def factory(endpoint: Endpoint) -> LlmAdapter:
        adapter: object = made(endpoint)
        if not isinstance(adapter, LlmAdapter):
            raise TypeError(f"{target} returned a {type(adapter).__name__}, which is no LlmAdapter")
        return adapter

    factory.__name__ = target
    return factory


def _wire(name: str) -> WireDescription:
    if ":" not in name:
        try:
            return wire_named(name)
        except ValueError as unknown:
            raise UsageError(str(unknown)) from None
    described = _named(name)
    if not isinstance(described, WireDescription):
        raise UsageError(f"{name} is no limen.testing.conformance.WireDescription")
    return described


def _named(target: str) -> object:
    module, _, name = target.partition(":")
    if not module or not name:
        raise UsageError(f"{target!r} is not of the form module:name")
    # A module beside the caller is what people mean, as with `python -m`.
    if "" not in sys.path and "." not in sys.path:
        sys.path.insert(0, "")
    try:
        value: object = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as missing:
        raise UsageError(f"{target} cannot be found: {missing}") from None
    return value
