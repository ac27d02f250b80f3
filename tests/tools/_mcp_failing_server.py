"""An MCP server over stdio whose tools die and never answer."""

import asyncio
import os

from mcp.server.mcpserver import MCPServer

server = MCPServer("failing", log_level="CRITICAL")


@server.tool()
def die() -> str:
    """End the server's process."""
    os._exit(3)


@server.tool()
async def wait() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return ""


if __name__ == "__main__":
    server.run()
