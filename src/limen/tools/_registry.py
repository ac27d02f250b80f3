"""The tools of a program, by name; a batch enters whole or not at all (X2)."""

import threading
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Self, TypeGuard

import msgspec

from limen.contract import ToolSpec, codes
from limen.tools._errors import ToolContractError, error_text
from limen.tools._function import FunctionTool
from limen.tools._tool import Tool


class ToolRegistration:
    """A batch of registered tools: `dispose()` takes all of them out; also a context manager."""

    def __init__(self, registry: "ToolRegistry", tools: Sequence[Tool]) -> None:
        self._registry = registry
        self._tools = tuple(tools)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the batch."""
        return tuple(tool.name for tool in self._tools)

    def dispose(self) -> None:
        """Take the batch out in one step; calls that run go on. Twice is harmless."""
        self._registry._remove(self._tools)  # pyright: ignore[reportPrivateUsage] - two ends of one object, in one file
        self._tools = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()


class ToolRegistry:
    """Tools by name: `ToolRegistry(tools)`; may be used from several threads.

    Raises `ToolContractError` `INVALID_TOOL_BATCH` for what is no sequence of tools and `DUPLICATE_TOOL_NAME` for a
    name that is taken or stands twice. As an async context manager it closes what was given to it by `closing`, such
    as the sessions of MCP servers.
    """

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, Tool] = {}
        self._closing: list[Callable[[], Awaitable[None]]] = []
        self.register(tools)

    def register(self, tools: Sequence[Tool]) -> ToolRegistration:
        """Add a batch of tools, all or none; what is returned takes them out again."""
        batch = _batch(tools)
        with self._lock:
            names: set[str] = set(self._tools)
            for tool in batch:
                if tool.name in names:
                    raise ToolContractError(codes.DUPLICATE_TOOL_NAME, f"two tools have the name {tool.name!r}")
                names.add(tool.name)
            # One assignment, so that no reader in another thread sees half of a batch.
            self._tools = {**self._tools, **{tool.name: tool for tool in batch}}
        return ToolRegistration(self, batch)

    def _remove(self, tools: Sequence[Tool]) -> None:
        with self._lock:
            gone = {id(tool) for tool in tools}
            self._tools = {name: tool for name, tool in self._tools.items() if id(tool) not in gone}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order of their registration."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name; `None` if there is none."""
        return self._tools.get(name)

    def specs(self, *, strict: bool | None = None) -> tuple[ToolSpec, ...]:
        """Return the tools as `GenerateOptions.tools` takes them; `strict` asks the provider to hold the model to them.

        The adapter writes a schema the way its wire's strict mode takes it, or refuses it with the path (X9).
        """
        return tuple(msgspec.structs.replace(tool.spec, strict=strict) for tool in self._tools.values())

    def closing(self, close: Callable[[], Awaitable[None]]) -> None:
        """Call `close` when the registry is closed, before those that were given earlier."""
        self._closing.append(close)

    async def aclose(self) -> None:
        """Close what was given by `closing`, the last first, and raise the first failure afterwards. Idempotent."""
        failures: list[Exception] = []
        while self._closing:
            try:
                await self._closing.pop()()
            except Exception as failure:  # noqa: BLE001 - the others are closed too, then it is raised
                failures.append(failure)
        if failures:
            raise failures[0]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _batch(tools: object) -> tuple[Tool, ...]:
    if isinstance(tools, (str, bytes)) or not isinstance(tools, Sequence):
        raise ToolContractError(codes.INVALID_TOOL_BATCH, f"a {type(tools).__name__} is no sequence of tools")
    try:
        items: tuple[object, ...] = tuple(tools)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    except Exception as error:  # noqa: BLE001 - a foreign sequence may raise anything while it is read
        words = f"the tools cannot be read: {error_text(error)}"
        raise ToolContractError(codes.INVALID_TOOL_BATCH, words) from None
    return tuple(_checked(item, index) for index, item in enumerate(items))


def _checked(item: object, index: int) -> Tool:
    if not _is_tool(item):
        raise ToolContractError(codes.INVALID_TOOL_BATCH, f"tools[{index}] is a {type(item).__name__}, not a Tool")
    try:
        copied = _copied(item)
    except ToolContractError:
        raise
    except Exception as error:  # noqa: BLE001 - a subclass whose `__init__` made no tool, or with properties that raise
        words = f"tools[{index}] cannot be read: {error_text(error)}"
        raise ToolContractError(codes.INVALID_TOOL_BATCH, words) from None
    return item if type(item) in (Tool, FunctionTool) else copied


def _is_tool(item: object) -> TypeGuard[Tool]:
    # By the real class: `isinstance` would believe what an object says of its own `__class__`.
    return issubclass(type(item), Tool)


def _copied(tool: Tool) -> Tool:
    # A subclass can change what it says of itself later; what is kept of one is a copy.
    return Tool(
        tool.name,
        tool.description,
        tool.parameters,
        tool.execute,
        tool.validate,
        parallel=tool.parallel,
        timeout=tool.timeout,
    )
