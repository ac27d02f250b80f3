"""Tools of an MCP server, through the official `mcp` package (`pip install limen[mcp]`), which is imported when needed.

Protocol: https://modelcontextprotocol.io/specification/2025-11-25/server/tools (read 2026-11).
"""

import asyncio
import base64
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from limen.contract import ImageBlock, JsonObject, TextBlock
from limen.tools._registry import ToolRegistration, ToolRegistry
from limen.tools._tool import Tool, ToolContext

if TYPE_CHECKING:
    import mcp
    import mcp.types as wire
    from mcp.client._transport import TransportStreams

# The protocol allows `.` too, and 128 characters (SEP-986); no wire of a model does.
_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_NAME_MAX: Final = 64
# Pages of one list of tools; a server that always names a next page ends there.
_PAGES_MAX: Final = 100


class McpToolError(Exception):
    """An error that the tool of a server answered with; its text is the server's, and becomes the result (X3)."""

    __module__ = "limen.tools"


async def connect_mcp(
    registry: ToolRegistry,
    server: str | Sequence[str],
    *,
    headers: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    prefix: str = "",
    timeout: float | None = None,
) -> ToolRegistration:
    """Connect to an MCP server and register its tools; closing the registry closes the connection.

    `server` is a URL (streamable HTTP, with `headers`) or a command with its arguments (stdio, with `env` beside the
    few variables that the package passes on). `prefix` stands before each name, in which characters that no wire takes
    become `_`. `timeout` is that of each tool, in seconds. The connection belongs to the running event loop. Disposing
    the registration takes the tools out; the connection stays until the registry is closed. Raises `ImportError`
    without the package, what connecting raises, and `ToolContractError` as `register` does.
    """
    connection = _Connection(_client(server, headers, env))
    client = await connection.open()
    try:
        found = await _listed(client)
        handle = registry.register([_tool(client, tool, prefix, timeout) for tool in found])
    except BaseException:
        await connection.aclose()
        raise

    async def close() -> None:
        handle.dispose()
        await connection.aclose()

    registry.closing(close)
    return handle


def _client(
    server: str | Sequence[str], headers: Mapping[str, str] | None, env: Mapping[str, str] | None
) -> "mcp.Client":
    from mcp import Client, StdioServerParameters

    if isinstance(server, str):
        if headers is None:
            return Client(server)
        return Client(_over_http(server, headers))
    command, *arguments = server
    return Client(StdioServerParameters(command=command, args=arguments, env=None if env is None else dict(env)))


@asynccontextmanager
async def _over_http(url: str, headers: Mapping[str, str]) -> "AsyncGenerator[TransportStreams, None]":
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    # The package does not close an HTTP client that it was given.
    async with (
        create_mcp_http_client(headers=dict(headers)) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


class _Connection:
    """An open client in a task of its own: the package's scopes are left by the task that entered them."""

    def __init__(self, client: "mcp.Client") -> None:
        self._client = client
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._task = asyncio.create_task(self._live(), name="limen mcp")

    async def open(self) -> "mcp.Client":
        """Return the client when it is connected; raises what connecting raised."""
        try:
            await asyncio.wait({self._opened, self._task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if not self._opened.done():
            # Connecting failed, so this raises.
            await self._task
        return self._client

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        self._leave.set()
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait({self._task})

    async def _live(self) -> None:
        async with self._client:
            self._opened.set_result(None)
            await self._leave.wait()


async def _listed(client: "mcp.Client") -> "list[wire.Tool]":
    found: list[wire.Tool] = []
    cursor: str | None = None
    for _ in range(_PAGES_MAX):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _tool(client: "mcp.Client", tool: "wire.Tool", prefix: str, timeout: float | None) -> Tool:
    async def execute(arguments: JsonObject, context: ToolContext) -> object:
        return _output(await client.call_tool(tool.name, dict(arguments)))

    name = _NOT_A_NAME.sub("_", prefix + tool.name)[:_NAME_MAX]
    text = (tool.description or "").strip() or (tool.title or "").strip() or tool.name
    return Tool(name, text, tool.input_schema, execute, timeout=timeout)


def _output(result: "wire.CallToolResult") -> object:
    """Return a call's content as blocks, or its structured content where there is no other; raise an error as such."""
    blocks = [_block(content) for content in result.content]
    if result.is_error:
        raise McpToolError(" ".join(block.text for block in blocks if isinstance(block, TextBlock)))
    return blocks or result.structured_content


def _block(content: "wire.ContentBlock") -> TextBlock | ImageBlock:
    match content.type:
        case "text":
            return TextBlock(content.text)
        case "image":
            return ImageBlock(content.mime_type, base64.b64decode(content.data))
        case "resource_link":
            return TextBlock(f"[{content.name}: {content.uri}]")
        case "resource":
            text: object = getattr(content.resource, "text", None)
            return TextBlock(text if isinstance(text, str) else f"[{content.resource.uri}: not text]")
        case _:
            # Audio, which a tool result has no block for (C14): named, so that the model knows that it was there.
            return TextBlock(f"[{content.type} {content.mime_type}: not shown]")
