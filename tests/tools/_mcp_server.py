"""An MCP server for tests: run as a program it speaks stdio; `server` is the same for HTTP."""

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ResourceLink,
    TextResourceContents,
)

server = MCPServer("test", log_level="CRITICAL")


@server.tool()
def add(left: int, right: int) -> int:
    """Add two integers."""
    return left + right


@server.tool(name="files.read", title="Read")
def read() -> list[ContentBlock]:
    return [
        ResourceLink(type="resource_link", name="notes", uri="file:///notes"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///a", text="inside")),
        EmbeddedResource(type="resource", resource=BlobResourceContents(uri="file:///b", blob="YQ==")),
        AudioContent(type="audio", data="YQ==", mime_type="audio/wav"),
    ]


@server.tool()
def paint() -> Image:
    """Paint."""
    return Image(data=b"png", format="png")


@server.tool()
def structure() -> CallToolResult:
    """Answer with structured content alone."""
    return CallToolResult(content=[], structured_content={"b": 1, "a": 2})


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("disk on fire")


if __name__ == "__main__":
    server.run()
