"""The tools of an MCP server, over stdio and over HTTP on loopback, as tools of a registry."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

import limen
from limen.contract import ToolResultBlock
from limen.tools import Tool, ToolContractError, ToolRegistry, _mcp, connect_mcp, run_tool_calls
from tools._mcp_server import server
from tools._scripted import call, error_of

COMMAND = [sys.executable, str(Path(__file__).with_name("_mcp_server.py"))]
Asgi = Callable[
    [MutableMapping[str, Any], Callable[..., Awaitable[Any]], Callable[..., Awaitable[Any]]], Awaitable[None]
]


@asynccontextmanager
async def over_http(seen: list[dict[bytes, bytes]]) -> AsyncIterator[str]:
    """Serve the test server on loopback; keeps the headers of each request."""
    inner: Asgi = server.streamable_http_app()

    async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(dict(scope["headers"]))
        await inner(scope, receive, send)

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        running = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        task = asyncio.create_task(running.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            running.should_exit = True
            await task


async def results(registry: ToolRegistry, *calls: limen.ToolCallBlock) -> Sequence[ToolResultBlock]:
    """Run calls one after the other."""
    return await run_tool_calls(calls, registry, concurrency=1)


async def test_tools_of_a_command() -> None:
    """A server that is a command: its tools are registered under usable names, validated here, and closed."""
    async with ToolRegistry() as registry:
        handle = await connect_mcp(registry, COMMAND, prefix="x_", timeout=30, env=dict(os.environ))
        names = ("x_add", "x_files_read", "x_paint", "x_structure", "x_fail")
        assert (handle.names, registry.names) == (names, names)
        tools = [found for name in names if (found := registry.get(name)) is not None]
        assert [tool.description for tool in tools][:2] == ["Add two integers.", "Read"]
        assert {tool.timeout for tool in tools} == {30.0}
        added, refused, read, painted, structured, failed = await results(
            registry,
            call("x_add", {"left": 20, "right": 22}),
            call("x_add", {"left": "x", "right": 22}),
            call("x_files_read"),
            call("x_paint"),
            call("x_structure"),
            call("x_fail"),
        )
        handle.dispose()
        assert registry.names == ()

    assert added.content == (limen.TextBlock("42"),)
    assert error_of(refused) == ("TOOL_ARGUMENTS_INVALID", "$.left: expected integer, got string")
    assert read.content == (
        limen.TextBlock("[notes: file:///notes]"),
        limen.TextBlock("inside"),
        limen.TextBlock("[file:///b: not text]"),
        limen.TextBlock("[audio audio/wav: not shown]"),
    )
    assert painted.content == (limen.ImageBlock("image/png", b"png"),)
    assert structured.content == '{"a":2,"b":1}'
    code, message = error_of(failed)
    assert (code, message.endswith("disk on fire")) == ("TOOL_EXECUTION_FAILED", True)


@pytest.mark.parametrize("headers", [None, {"x-team": "blue"}])
async def test_tools_over_http(headers: dict[str, str] | None) -> None:
    """A server at a URL: its tools are called over HTTP, with the headers that are given."""
    seen: list[dict[bytes, bytes]] = []
    async with over_http(seen) as url, ToolRegistry() as registry:
        await connect_mcp(registry, url, headers=headers)
        (result,) = await results(registry, call("add", {"left": 20, "right": 22}))

    assert result.content == (limen.TextBlock("42"),)
    assert {found.get(b"x-team") for found in seen} == {None if headers is None else b"blue"}


async def test_a_server_that_waits_or_dies() -> None:
    """X6, X3: an abort ends a call that the server never answers; a server that died is a failed execution."""
    command = [sys.executable, str(Path(__file__).with_name("_mcp_failing_server.py"))]
    async with ToolRegistry() as registry:
        await connect_mcp(registry, command, env=dict(os.environ))
        controller = limen.AbortController()
        waiting = asyncio.create_task(run_tool_calls([call("wait")], registry, signal=controller.signal))
        while not [task for task in asyncio.all_tasks() if task.get_name() == "limen tool wait"]:
            await asyncio.get_running_loop().run_in_executor(None, bool)
        controller.abort()
        with pytest.raises(limen.AbortError):
            await waiting
        died = await results(registry, call("die"), call("die", id="call_2"))

    assert [error_of(result) for result in died] == [("TOOL_EXECUTION_FAILED", "MCPError: Connection closed")] * 2
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("limen")] == []


async def test_two_servers_need_a_prefix() -> None:
    """A batch whose names are taken refuses the server whole, and its connection is closed."""

    async def execute(arguments: object, context: object) -> None: ...

    registry = ToolRegistry([Tool("add", "Add.", {}, execute)])
    with pytest.raises(ToolContractError) as caught:
        await connect_mcp(registry, COMMAND)

    assert (caught.value.code, registry.names) == ("DUPLICATE_TOOL_NAME", ("add",))
    await registry.aclose()


async def test_a_command_that_is_not_there() -> None:
    """What connecting raises is raised, and nothing is registered."""
    registry = ToolRegistry()
    with pytest.raises(FileNotFoundError):
        await connect_mcp(registry, ["/nonexistent/server"])

    assert registry.names == ()


async def test_cancelled_while_connecting() -> None:
    """Cancelling the caller ends a connection to a server that never answers."""
    began = asyncio.Event()
    connecting = asyncio.create_task(connect(began))
    await began.wait()
    while not [task for task in asyncio.all_tasks() if task.get_name() == "limen mcp"]:
        await asyncio.get_running_loop().run_in_executor(None, bool)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting

    assert [task for task in asyncio.all_tasks() if task.get_name() == "limen mcp"] == []


async def connect(began: asyncio.Event) -> None:
    """Connect to a program that reads and says nothing."""
    began.set()
    await connect_mcp(ToolRegistry(), [sys.executable, "-c", "import sys; sys.stdin.read()"])


class Pages:
    """A client whose list of tools has pages, of which the last names a next one, or does not."""

    def __init__(self, count: int | None) -> None:
        self.count = count
        self.asked: list[str | None] = []

    async def list_tools(self, *, cursor: str | None) -> SimpleNamespace:
        """Return one page."""
        self.asked.append(cursor)
        more = self.count is None or len(self.asked) < self.count
        return SimpleNamespace(tools=[len(self.asked)], next_cursor=f"page{len(self.asked)}" if more else None)


async def test_a_list_of_tools_has_pages() -> None:
    """All pages of a list are read, each by the cursor of the one before; an endless list ends after a hundred."""
    some, endless = Pages(3), Pages(None)

    assert await _mcp._listed(some) == [1, 2, 3]  # type: ignore[arg-type, comparison-overlap]
    assert some.asked == [None, "page1", "page2"]
    assert len(await _mcp._listed(endless)) == 100  # type: ignore[arg-type]


async def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package `mcp`, connecting is an `ImportError` that names it."""
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ImportError, match="mcp"):
        await connect_mcp(ToolRegistry(), COMMAND)
