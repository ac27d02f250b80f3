"""Options to the body of a chat-completions request (Q1-Q9).

Every field that is set is written or refused before any I/O. `session_id` and `purpose` are hints that this wire does
not use. Messages are written in `_history`.
"""

from collections.abc import Mapping
from typing import Final

from limen.adapters.kit import (
    NO_ARGUMENTS,
    BuildContext,
    RequestWriter,
    StrictFault,
    is_json_array,
    is_json_object,
    strict_schema,
)
from limen.adapters.openai_chat._dialects import EFFORT, CacheMark, Dialect
from limen.adapters.openai_chat._history import HistoryWriter, WireMessage
from limen.contract import GenerateOptions, JsonSchema, ToolChoice, ToolSpec

HONOURS: Final = frozenset(
    {
        "system", "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p",
        "max_tokens", "stop", "seed", "reasoning_effort", "cache", "extra",
    }
)  # fmt: skip

# Parts of a request of this wire that limen does not offer: many answers, sound (C14).
_EXTRA_REFUSED: Final[Mapping[str, str]] = {
    "n": "one choice becomes the response",
    "audio": "audio output is not offered",
    "modalities": "audio output is not offered",
}


def write_request(options: GenerateOptions, row: Dialect, context: BuildContext) -> bytes:
    """Return the body's bytes; raises `LlmError` for what the dialect or the model cannot honour (Q1)."""
    writer = RequestWriter(options, context, wire=row.wire, dialect=row.name, refuses=row.refuses)
    return _Request(writer, row).write()


class _Request:
    """One body in the making."""

    def __init__(self, writer: RequestWriter, row: Dialect) -> None:
        self._writer = writer
        self._options = writer.options
        self._row = row

    def write(self) -> bytes:
        """Write every part in order."""
        writer, row, options = self._writer, self._row, self._options
        body = writer.body
        body["model"] = options.model
        messages = HistoryWriter(row, writer).write()
        body["messages"] = messages
        body["stream"] = True
        if row.stream_usage:
            body["stream_options"] = {"include_usage": True}
        tools = writer.tools(self._tool, limit=row.max_tools)
        if tools:
            body["tools"] = tools
        if row.strict == "deepseek" and len({tool.strict is True for tool in options.tools or ()}) > 1:
            writer.refuse("tools", "strict is asked for all of the tools or for none")
        self._tool_choice()
        self._response_format()
        writer.put("temperature", options.temperature)
        writer.put("top_p", options.top_p)
        writer.put("stop", writer.stops(row.max_stops))
        writer.put("seed", options.seed, field=row.seed_field)
        cap = writer.max_tokens()
        if cap is not None:
            body[row.max_tokens_field] = cap
        self._effort()
        self._cache(messages)
        writer.merge_extra(_extra_refused)
        if cap is not None:
            for name, value in row.beside_max_tokens.items():
                body.setdefault(name, value)
        return writer.encoded()

    def _tool(self, tool: ToolSpec, path: str) -> object:
        self._writer.check_name(tool.name, f"{path}.name", self._row.tool_name)
        function: dict[str, object] = {"name": tool.name}
        if tool.description is not None:
            function["description"] = tool.description
        if tool.parameters is not None:
            function["parameters"] = tool.parameters
        if tool.strict is not None:
            self._strict(function, tool.strict, "parameters", f"{path}.parameters")
        return {"type": "function", "function": function}

    def _strict(self, into: dict[str, object], strict: bool, field: str, path: str) -> None:
        """Write `strict`, and the schema in `field` the way the row's strict mode takes it (X9)."""
        rule, own_path = self._row.strict, f"{path.rpartition('.')[0]}.strict"
        if rule == "refused":
            if strict:
                self._writer.refuse(own_path, "it does not hold a model to a schema; leave strict unset")
            # Not strict is what such a server does anyway, and some refuse the unknown key.
            return
        if strict and rule != "unchecked":
            schema = into.get(field, NO_ARGUMENTS)
            assert is_json_object(schema)
            try:
                into[field] = strict_schema(schema, path, subset=rule)
            except StrictFault as fault:
                self._writer.refuse(own_path, str(fault))
        into["strict"] = strict

    def _tool_choice(self) -> None:
        writer, options = self._writer, self._options
        choice = writer.tool_choice(self._row.tool_choices)
        writer.put("parallel_tool_calls", options.parallel_tool_calls)
        if choice is None:
            return
        reasons = options.reasoning_effort not in (None, "off")
        if choice not in ("auto", "none") and reasons and not self._row.forced_choice_while_reasoning:
            writer.refuse(
                "tool_choice", 'it forces no tool while it reasons; set reasoning_effort="off" or "auto" here'
            )
        if isinstance(choice, ToolChoice):
            writer.body["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
        else:
            writer.body["tool_choice"] = choice

    def _response_format(self) -> None:
        form = self._writer.response_format(self._row.response_formats)
        if form is None:
            return
        if isinstance(form, JsonSchema):
            self._writer.check_name(form.name, "response_format.name", self._row.schema_name)
            schema: dict[str, object] = {"name": form.name, "schema": form.schema}
            if form.strict is not None:
                self._strict(schema, form.strict, "schema", "response_format.schema")
            self._writer.body["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            self._writer.body["response_format"] = {"type": "json_object" if form == "json" else "text"}

    def _effort(self) -> None:
        rules = self._row.efforts
        effort = self._writer.effort(rules.levels)
        if effort is None:
            return
        spelled = rules.off if effort == "off" else rules.level
        if spelled is None:
            reason = "this wire cannot turn reasoning off" if effort == "off" else "it has no such field"
            self._writer.refuse_effort(effort, reason)
        for name, value in spelled.items():
            self._writer.body[name] = _with_effort(value, effort)

    def _cache(self, messages: list[WireMessage]) -> None:
        hint, rules = self._writer.cache(), self._row.cache
        if hint is None:
            return
        fields = rules.long_fields if hint == "long" else rules.short_fields
        mark = rules.long_mark if hint == "long" else rules.short_mark
        if fields is None and mark is None:
            self._writer.refuse("cache", f"nothing on this wire asks for {hint} prompt caching")
        self._writer.body.update(fields or {})
        if mark is not None and not _mark_breakpoints(messages, mark):
            self._writer.refuse("cache", "neither the system text nor the last message has a text to mark")


def _extra_refused(name: str, value: object) -> str | None:
    harmless = (name == "n" and value == 1) or (name == "modalities" and is_json_array(value) and "audio" not in value)
    return None if harmless else _EXTRA_REFUSED.get(name)


def _with_effort(value: object, effort: str) -> object:
    if is_json_object(value):
        return {name: _with_effort(inner, effort) for name, inner in value.items()}
    return effort if value == EFFORT else value


def _mark_breakpoints(messages: list[WireMessage], mark: CacheMark) -> bool:
    """Mark the end of the system text and of the last message, so that the next turn reads what this one wrote."""
    systems = [message for message in messages if message["role"] == "system"]
    marked = [_marked(message, mark) for message in (*systems[-1:], *messages[-1:])]
    return any(marked)


def _marked(message: WireMessage, mark: CacheMark) -> bool:
    content = message.get("content")
    if isinstance(content, str) and content:
        message["content"] = [{"type": "text", "text": content, "cache_control": mark}]
        return True
    if isinstance(content, list):
        parts: list[WireMessage] = content  # pyright: ignore[reportUnknownVariableType] - our own, from _messages
        for part in reversed(parts):
            if part["type"] == "text":
                part["cache_control"] = mark
                return True
    return False
