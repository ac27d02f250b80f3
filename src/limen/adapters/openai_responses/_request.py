"""Options to a Responses request (Q1): every field that is set is written here, or refused.

Source of truth: https://platform.openai.com/docs/api-reference/responses/create, read 2026-11-30. `purpose` is a hint
that this wire does not use; `session_id` is the cache key where the row has one.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

from limen.adapters.kit import BuildContext, RequestWriter, StrictFault, is_json_array, strict_schema
from limen.adapters.openai_responses._dialects import Dialect
from limen.adapters.openai_responses._history import History
from limen.contract import FrozenDict, GenerateOptions, JsonSchema, ToolChoice, ToolSpec, WireRequest

HONOURS: Final = frozenset(
    {
        "system", "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p",
        "max_tokens", "reasoning_effort", "cache", "extra",
    }
)  # fmt: skip

SEALED: Final = "reasoning.encrypted_content"

_HEADERS: Final = FrozenDict({"content-type": "application/json", "accept": "text/event-stream"})
_OFF: Final = "off"
# https://platform.openai.com/docs/guides/prompt-caching (2026-11): the key is at most 64 characters.
_KEY_LENGTH: Final = 64
_EXTRA_REFUSED: Final[Mapping[str, str]] = {
    "audio": "audio output is not offered",
    "modalities": "audio output is not offered",
}


def build_request(options: GenerateOptions, context: BuildContext, row: Dialect) -> WireRequest:
    """Make the request without credentials, or raise `LlmError` for what wire, row or model cannot honour."""
    writer = RequestWriter(options, context, wire=row.wire, dialect=row.name, refuses=row.refuses)
    body = writer.body
    body["model"] = options.model
    if options.system is not None:
        body["instructions"] = options.system
    body["input"] = History(writer, row, looks_up=_looks_up(options, row)).write()
    tools = writer.tools(lambda tool, path: _tool(writer, row, tool, path), limit=row.max_tools)
    if tools:
        body["tools"] = tools
    _tool_choice(writer, row)
    _format(writer, row)
    writer.put("temperature", options.temperature)
    writer.put("top_p", options.top_p)
    cap = writer.max_tokens()
    if cap is not None:
        body["max_output_tokens"] = cap
    _reasoning(writer, row)
    _cache(writer, row)
    body["stream"] = True
    writer.merge_extra(_extra_refused)
    # What keeps a conversation stateless is a default: `extra` may keep the state at the provider instead.
    if row.stateless:
        body.setdefault("store", False)
    if row.sealed and not _reasons_never(context):
        body.setdefault("include", [SEALED])
    return WireRequest("POST", row.path, _HEADERS, writer.encoded())


def _looks_up(options: GenerateOptions, row: Dialect) -> bool:
    """Tell whether reasoning without its sealed content would be looked for where nothing was stored."""
    extra = (options.extra or {}).get(row.wire)
    stored = isinstance(extra, Mapping) and extra.get("store") is True
    return row.looks_up and row.stateless and not stored


def _reasons_never(context: BuildContext) -> bool:
    # 400 "Encrypted content is not supported with this model." from models that do not reason.
    return context.model is not None and context.model.efforts == ()


def _tool(writer: RequestWriter, row: Dialect, tool: ToolSpec, path: str) -> object:
    writer.check_name(tool.name, f"{path}.name", row.tool_name)
    function: dict[str, object] = {"type": "function", "name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    parameters = tool.parameters
    if tool.strict is not None:
        schema = parameters if parameters is not None else FrozenDict[object]({"type": "object"})
        rewritten = _strict(writer, row, tool.strict, schema, f"{path}.parameters")
        parameters = rewritten if tool.strict else parameters
    # The wire requires the field: a tool without parameters takes an empty object.
    function["parameters"] = {"type": "object", "properties": {}} if parameters is None else parameters
    if tool.strict is not None and row.strict != "refused":
        function["strict"] = tool.strict
    return function


def _strict(
    writer: RequestWriter, row: Dialect, strict: bool, schema: Mapping[str, object], path: str
) -> Mapping[str, object]:
    """Return the schema as the row's strict mode takes it, or refuse it with the path of what it cannot say."""
    own_path = f"{path.rpartition('.')[0]}.strict"
    if strict and row.strict == "refused":
        writer.refuse(own_path, "it does not hold a model to a schema; leave strict unset")
    if not strict or row.strict != "openai":
        return schema
    try:
        return strict_schema(schema, path, subset="openai")
    except StrictFault as fault:
        writer.refuse(own_path, str(fault))


def _tool_choice(writer: RequestWriter, row: Dialect) -> None:
    choice = writer.tool_choice(row.tool_choices)
    writer.put("parallel_tool_calls", writer.options.parallel_tool_calls)
    if isinstance(choice, ToolChoice):
        writer.body["tool_choice"] = {"type": "function", "name": choice.name}
    elif choice is not None:
        writer.body["tool_choice"] = choice


def _format(writer: RequestWriter, row: Dialect) -> None:
    form = writer.response_format(row.response_formats)
    if form is None:
        return
    written: dict[str, object]
    if isinstance(form, JsonSchema):
        writer.check_name(form.name, "response_format.name", row.tool_name)
        schema: Mapping[str, object] = form.schema
        if form.strict is not None:
            schema = _strict(writer, row, form.strict, schema, "response_format.schema")
        written = {"type": "json_schema", "name": form.name, "schema": schema}
        if form.strict is not None and row.strict != "refused":
            written["strict"] = form.strict
    else:
        written = {"type": "json_object" if form == "json" else "text"}
    writer.body["text"] = {"format": written}


def _reasoning(writer: RequestWriter, row: Dialect) -> None:
    reasoning: dict[str, object] = {}
    effort = writer.effort(row.efforts)
    if effort is not None:
        reasoning["effort"] = "none" if effort == _OFF else effort
    if row.summary is not None:
        reasoning["summary"] = row.summary
    if reasoning:
        writer.body["reasoning"] = reasoning


def _cache(writer: RequestWriter, row: Dialect) -> None:
    hint = writer.cache()
    if hint is not None:
        if hint == "short" or row.cache_long is None:
            writer.refuse("cache", f"nothing on this wire asks for {hint} prompt caching")
        writer.body.update(row.cache_long)
    session = writer.options.session_id
    if row.cache_key and session:
        fits = len(session) <= _KEY_LENGTH
        digest = session if fits else hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()
        writer.body["prompt_cache_key"] = digest


def _extra_refused(name: str, value: object) -> str | None:
    if name == "modalities" and is_json_array(value) and "audio" not in value:
        return None
    return _EXTRA_REFUSED.get(name)
