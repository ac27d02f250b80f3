"""Tools: arguments validated before any effect, failures as bounded results, and the loop between model and tools.

- `Tool`, `@tool`, `ToolContext`, `Valid`, `Invalid`: a tool, made by hand or from a function (X1);
- `ToolRegistry`: tools by name (X2); `run_tool_calls`: executes the calls of a turn (X3-X7);
- `converse`: model and tools in turns, as `ChunkEvent`, `ResultEvent` and `Ended` (X8);
- `connect_mcp`: the tools of an MCP server;
- `ToolContractError`, `NonRecoverableToolError`: what is raised; everything else is a result.
"""

from limen.tools._conversation import Allow, BeforeCall, ChunkEvent, Deny, Ended, Event, Replace, ResultEvent, Verdict
from limen.tools._converse import converse
from limen.tools._errors import NonRecoverableToolError, ToolContractError
from limen.tools._function import FunctionTool, tool
from limen.tools._mcp import McpToolError, connect_mcp
from limen.tools._registry import ToolRegistration, ToolRegistry
from limen.tools._run import run_tool_calls
from limen.tools._tool import Invalid, Tool, ToolContext, Valid

__all__ = [
    "Allow",
    "BeforeCall",
    "ChunkEvent",
    "Deny",
    "Ended",
    "Event",
    "FunctionTool",
    "Invalid",
    "McpToolError",
    "NonRecoverableToolError",
    "Replace",
    "ResultEvent",
    "Tool",
    "ToolContext",
    "ToolContractError",
    "ToolRegistration",
    "ToolRegistry",
    "Valid",
    "Verdict",
    "connect_mcp",
    "converse",
    "run_tool_calls",
    "tool",
]
