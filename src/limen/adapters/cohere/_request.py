"""Options to the body of a request (Q1): every field that is set is written here, or refused.

Source of truth: https://docs.cohere.com/reference/chat, read 2026-11-30.
"""

from typing import Final

from limen.adapters.cohere._dialects import EFFORTS, MAX_STOPS, Dialect
from limen.adapters.cohere._history import HistoryWriter, WirePart
from limen.adapters.kit import BuildContext, RequestWriter
from limen.contract import GenerateOptions, JsonSchema, ToolSpec

HONOURS: Final = frozenset(
    {
        "system", "tools", "tool_choice", "response_format", "temperature", "top_p", "max_tokens", "stop", "seed",
        "reasoning_effort", "extra",
    }
)  # fmt: skip


def write_request(options: GenerateOptions, row: Dialect, context: BuildContext) -> bytes:
    """Return the body's bytes; raises `LlmError` for what the wire or the model cannot honour."""
    writer = RequestWriter(options, context, wire=row.wire, dialect=row.name, refuses=row.refuses)
    body = writer.body
    body["model"] = options.model
    body["messages"] = HistoryWriter(row, writer).write()
    body["stream"] = True
    _tools(writer)
    _response_format(writer)
    writer.put("temperature", options.temperature)
    writer.put("top_p", options.top_p, field="p")
    cap = writer.max_tokens()
    if cap is not None:
        body["max_tokens"] = cap
    writer.put("stop", writer.stops(MAX_STOPS), field="stop_sequences")
    writer.put("seed", options.seed)
    _thinking(writer)
    writer.merge_extra()
    return writer.encoded()


def _tools(writer: RequestWriter) -> None:
    tools = writer.tools(_tool)
    if tools:
        writer.body["tools"] = tools
    # One switch for all: https://docs.cohere.com/docs/structured-outputs#structured-outputs-tools
    strict = {tool.strict for tool in writer.options.tools or ()}
    if True in strict:
        if len(strict) > 1:
            writer.refuse("tools", "strict is asked for all of the tools or for none")
        writer.body["strict_tools"] = True
    elif False in strict:
        writer.body["strict_tools"] = False
    choice = writer.tool_choice(("auto", "none", "required"))
    if choice in ("none", "required"):
        writer.body["tool_choice"] = str(choice).upper()


def _tool(tool: ToolSpec, _path: str) -> WirePart:
    function: dict[str, object] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    # The field is required.
    function["parameters"] = {"type": "object"} if tool.parameters is None else tool.parameters
    return {"type": "function", "function": function}


def _response_format(writer: RequestWriter) -> None:
    form = writer.response_format(("text", "json", "json-schema"))
    if form is None:
        return
    if form == "text":
        writer.body["response_format"] = {"type": "text"}
        return
    if writer.options.tools:
        writer.refuse("response_format", "this wire has no answer format beside tools")
    if isinstance(form, JsonSchema):
        if form.strict is False:
            writer.refuse("response_format.strict", "this wire always holds the model to the schema")
        writer.body["response_format"] = {"type": "json_object", "json_schema": form.schema}
    else:
        writer.body["response_format"] = {"type": "json_object"}


def _thinking(writer: RequestWriter) -> None:
    effort = writer.effort(EFFORTS)
    if effort is None:
        return
    if effort not in EFFORTS:
        writer.refuse_effort(effort, f"this wire has no levels, only {' and '.join(EFFORTS)}")
    writer.body["thinking"] = {"type": "disabled" if effort == "off" else "enabled"}
