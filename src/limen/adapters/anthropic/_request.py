"""Options to a Messages request (Q1): every field that is set is written here, or refused.

Source of truth: https://platform.claude.com/docs/en/api/messages, read 2026-11-30.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from limen.adapters.anthropic._dialects import Dialect
from limen.adapters.anthropic._history import History, Part, WirePart, text_part
from limen.adapters.kit import NO_ARGUMENTS, BuildContext, RequestWriter, StrictFault, strict_schema
from limen.contract import (
    GenerateOptions,
    JsonObject,
    JsonSchema,
    ToolChoice,
    ToolSpec,
    WireRequest,
    replace_surrogates,
)

HONOURS: Final = frozenset(
    {
        "system",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "temperature",
        "top_p",
        "max_tokens",
        "stop",
        "reasoning_effort",
        "cache",
        "extra",
    }
)
# The wire requires a cap; this one goes out where nobody set any, and is reported (R4).
DEFAULT_MAX_TOKENS: Final = 8192
# 400 tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$' [R]
NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")

_OFF: Final = "off"
# https://platform.claude.com/docs/en/build-with-claude/prompt-caching: not on thinking; what is not ours stays as is.
_CACHEABLE: Final = frozenset({"text", "image", "document", "tool_use", "tool_result"})
_COMBINATORS: Final = ("oneOf", "anyOf", "allOf")


def build_request(options: GenerateOptions, context: BuildContext, row: Dialect) -> WireRequest:
    """Make the request without credentials, or raise `LlmError` for what wire, row or model cannot honour."""
    writer = RequestWriter(options, context, wire=row.wire, dialect=row.name, refuses=row.refuses)
    body = writer.body
    if "{model}" not in row.path:
        body["model"] = options.model
    if row.body_version is not None:
        body["anthropic_version"] = row.body_version
    cap = writer.max_tokens()
    body["max_tokens"] = DEFAULT_MAX_TOKENS if cap is None else cap
    history = History(writer, row, NAME)
    for index, message in enumerate(options.messages):
        history.add(index, message)
    history.finish()
    system = [*filter(None, [text_part(options.system or "")]), *history.system]
    if system:
        body["system"] = system
    body["messages"] = history.turns
    tools = writer.tools(lambda tool, path: _tool(writer, row, tool, path))
    if tools:
        body["tools"] = tools
    writer.put("tool_choice", _tool_choice(writer, row))
    writer.put("temperature", options.temperature)
    writer.put("top_p", options.top_p)
    writer.put("stop", writer.stops(None), field="stop_sequences")
    _thinking_and_format(writer, row)
    _mark(
        writer,
        row,
        [system, tools if row.cache_tools else [], [part for turn in history.turns for part in turn.content]],
    )
    if row.frames:
        # The path says that it streams, and the service does not pass headers on.
        writer.put("betas", list(row.betas) or None, field="anthropic_beta")
    else:
        body["stream"] = True
    writer.merge_extra()
    # A model id in a path is one segment of it; `@` and `:` are part of Vertex's names, and not of what Amazon signs.
    path = row.path.replace("{model}", quote(replace_surrogates(options.model), safe="" if row.frames else "@:"))
    return WireRequest("POST", path, _headers(options, row), writer.encoded())


def _headers(options: GenerateOptions, row: Dialect) -> Mapping[str, str]:
    accept = "application/vnd.amazon.eventstream" if row.frames else "text/event-stream"
    headers = {"content-type": "application/json", "accept": accept}
    if row.version is not None:
        headers["anthropic-version"] = row.version
    if row.betas and not row.frames:
        # Commas without a space: the header is compared as it stands.
        headers["anthropic-beta"] = ",".join(row.betas)
    if row.session_header is not None and options.session_id:
        headers[row.session_header] = quote(replace_surrogates(options.session_id), safe="")
    return headers


def _tool(writer: RequestWriter, row: Dialect, tool: ToolSpec, path: str) -> WirePart:
    writer.check_name(tool.name, f"{path}.name", NAME)
    schema = tool.parameters or {"type": "object"}
    if not row.root_combinators:
        for word in _COMBINATORS:
            if word in schema:
                # 400 input_schema does not support oneOf, allOf, or anyOf at the top level (Q178)
                reason = f"the wire takes no {word} at the root of a schema; put it into a property"
                writer.refuse(f"{path} ({tool.name})", reason)
    part: WirePart = {"name": tool.name}
    if tool.description is not None:
        part["description"] = tool.description
    part["input_schema"] = schema
    if tool.strict is not None:
        if "strict" in row.refuses:
            writer.refuse(f"{path}.strict", row.refuses["strict"])
        if tool.strict:
            given = NO_ARGUMENTS if tool.parameters is None else tool.parameters
            part["input_schema"] = _held(writer, row, given, f"{path}.parameters")
        part["strict"] = tool.strict
    return part


def _held(writer: RequestWriter, row: Dialect, schema: JsonObject, path: str) -> JsonObject:
    """Return a schema that the model is held to, the way the row's strict mode takes it (X9)."""
    if row.strict == "unchecked":
        return schema
    try:
        return strict_schema(schema, path, subset=row.strict)
    except StrictFault as fault:
        writer.refuse(f"{path.rpartition('.')[0]}.strict", str(fault))


def _tool_choice(writer: RequestWriter, row: Dialect) -> WirePart | None:
    choice = writer.tool_choice(row.tool_choices)
    parallel = writer.options.parallel_tool_calls
    if choice is None and parallel is None:
        return None
    if choice == "none":
        if parallel is not None:
            writer.refuse("parallel_tool_calls", "tool_choice none has no place for it on this wire")
        return {"type": "none"}
    part: WirePart
    if isinstance(choice, ToolChoice):
        part = {"type": "tool", "name": choice.name}
    else:
        part = {"type": "any" if choice == "required" else "auto"}
    if parallel is not None:
        part["disable_parallel_tool_use"] = not parallel
    return part


def _thinking_and_format(writer: RequestWriter, row: Dialect) -> None:
    config: dict[str, object] = {}
    effort = writer.effort(row.efforts)
    if effort == _OFF:
        writer.body["thinking"] = {"type": "disabled"}
    elif effort is not None:
        config["effort"] = effort
        if row.effort_style == "adaptive":
            display = {} if row.display is None else {"display": row.display}
            writer.body["thinking"] = {"type": "adaptive", **display}
    wanted = writer.response_format(("text", "json-schema"))
    if isinstance(wanted, JsonSchema):
        if wanted.strict is False:
            writer.refuse("response_format.strict", "this wire always holds the model to the schema")
        schema = _held(writer, row, wanted.schema, "response_format.schema")
        config["format"] = {"type": "json_schema", "schema": schema}
    if config:
        writer.body["output_config"] = config


def _mark(writer: RequestWriter, row: Dialect, places: list[list[WirePart] | list[Part]]) -> None:
    """Set a breakpoint behind system, tools and the history: three of the four that the wire allows (Q215)."""
    hint = writer.cache()
    if hint is None:
        return
    if hint == "long" and not row.cache_long:
        writer.refuse("cache", "it caches for five minutes only; ask for short")
    mark = {"type": "ephemeral"} if hint == "short" else {"type": "ephemeral", "ttl": "1h"}
    marked = False
    for parts in places:
        for part in reversed(parts):
            if isinstance(part, dict) and part.get("type", "text") in _CACHEABLE:
                part["cache_control"] = mark
                marked = True
                break
    if not marked:
        writer.refuse("cache", "the request holds nothing that this wire can mark")
