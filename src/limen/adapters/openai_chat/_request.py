"""Options to the body of a chat-completions request (Q1-Q9).

Every field that is set is written or refused before any I/O. `session_id` and `purpose` are hints that this wire does
not use. Messages are written in `_messages`, strict schemas are checked in `_schema`.
"""

from collections.abc import Mapping
from typing import Final, NoReturn, TypeAlias

from limen.adapters._chat_completions._dialect import EFFORT, WIRE, CacheMark, Dialect
from limen.adapters._chat_completions._messages import HistoryWriter, WireMessage
from limen.adapters._chat_completions._schema import is_array, is_object, strict_fault
from limen.adapters._codec import BuildContext
from limen.contract import GenerateOptions, JsonSchema, LlmError, ToolChoice, ToolSpec, codes, dumps, json_fault

Body: TypeAlias = dict[str, object]

# What a request of this wire can hold and limen does not offer: many answers, sound, the old function form (C14).
_EXTRA_REFUSED: Final[Mapping[str, str]] = {
    "n": "one choice becomes the response",
    "audio": "audio output is not offered",
    "modalities": "audio output is not offered",
}


def serialize(options: GenerateOptions, row: Dialect, context: BuildContext) -> bytes:
    """Return the body's bytes; raises `LlmError` for what the dialect or the model cannot honour (Q1)."""
    return dumps(_Writer(options, row, context).body())


class _Writer:
    """One body in the making."""

    def __init__(self, options: GenerateOptions, row: Dialect, context: BuildContext) -> None:
        self._options = options
        self._row = row
        self._context = context
        self._body: Body = {}

    def body(self) -> Body:
        options, row, body = self._options, self._row, self._body
        body["model"] = options.model
        history = HistoryWriter(row, options, model=self._context.model, dropped=self._context.replay_dropped)
        messages = history.write()
        body["messages"] = messages
        body["stream"] = True
        if row.stream_usage:
            body["stream_options"] = {"include_usage": True}
        self._tools()
        self._tool_choice()
        self._response_format()
        self._sampling()
        self._effort()
        self._cache(messages)
        self._extra()
        return body

    def _tools(self) -> None:
        tools = self._options.tools
        if not tools:
            return
        self._check_offered("tools")
        limit = self._row.max_tools
        if limit is not None and len(tools) > limit:
            self._refuse("tools", f"it takes at most {limit} tools, and there are {len(tools)}")
        names = [tool.name for tool in tools]
        for index, name in enumerate(names):
            if name in names[:index]:
                self._invalid(f"tools[{index}].name is {name!r}, which another tool has")
        self._body["tools"] = [self._tool(tool, f"tools[{index}]") for index, tool in enumerate(tools)]
        if self._row.strict == "deepseek" and len({tool.strict is True for tool in tools}) > 1:
            self._refuse("tools", "strict is asked for all of the tools or for none")

    def _tool(self, tool: ToolSpec, path: str) -> Body:
        pattern = self._row.tool_name
        if not tool.name:
            self._invalid(f"{path}.name is empty")
        if pattern is not None and pattern.fullmatch(tool.name) is None:
            self._refuse(f"{path}.name", f"{tool.name!r} does not match {pattern.pattern}")
        function: Body = {"name": tool.name}
        if tool.description is not None:
            function["description"] = tool.description
        if tool.parameters is not None:
            self._check_json(tool.parameters, f"{path}.parameters")
            function["parameters"] = tool.parameters
        if tool.strict is not None:
            self._strict(function, tool.strict, tool.parameters or {}, f"{path}.parameters")
        return {"type": "function", "function": function}

    def _strict(self, into: Body, strict: bool, schema: Mapping[str, object], path: str) -> None:
        rule, own_path = self._row.strict, f"{path.rpartition('.')[0]}.strict"
        if rule == "refused":
            if strict:
                self._refuse(own_path, "it does not hold a model to a schema; leave strict unset")
            # Not strict is what such a server does anyway, and some refuse the unknown key.
            return
        if strict and rule != "unchecked":
            fault = strict_fault(schema, path, subset=rule)
            if fault is not None:
                self._refuse(own_path, fault)
        into["strict"] = strict

    def _tool_choice(self) -> None:
        options, row = self._options, self._row
        choice, parallel = options.tool_choice, options.parallel_tool_calls
        for name, value in (("tool_choice", choice), ("parallel_tool_calls", parallel)):
            if value is not None:
                self._check_offered(name)
                if not options.tools:
                    self._refuse(name, "it says how to use tools, and the request has none")
        if parallel is not None:
            self._body["parallel_tool_calls"] = parallel
        if choice is None:
            return
        kind = "tool" if isinstance(choice, ToolChoice) else choice
        if kind not in ("auto", "none", "required", "tool"):
            self._invalid(f"tool_choice is {kind!r}; it is auto, none, required or ToolChoice(name)")
        if kind not in row.tool_choices:
            known = ", ".join(sorted(row.tool_choices - {"tool"}))
            self._refuse("tool_choice", f"of tool choices it honours {known}, not {_choice_words(choice)}")
        reasons = options.reasoning_effort not in (None, "off")
        if kind in ("required", "tool") and reasons and not row.forced_choice_while_reasoning:
            self._refuse("tool_choice", 'it forces no tool while it reasons; set reasoning_effort="off" or "auto" here')
        if isinstance(choice, ToolChoice):
            if all(tool.name != choice.name for tool in options.tools or ()):
                self._invalid(f"tool_choice names {choice.name!r}, which is not among the tools")
            self._body["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
        else:
            self._body["tool_choice"] = choice

    def _response_format(self) -> None:
        form = self._options.response_format
        if form is None:
            return
        self._check_offered("response_format")
        kind = "json-schema" if isinstance(form, JsonSchema) else form
        if kind not in ("text", "json", "json-schema"):
            self._invalid(f"response_format is {kind!r}; it is text, json or JsonSchema(name, schema)")
        if kind not in self._row.response_formats:
            known = ", ".join(sorted(self._row.response_formats))
            self._refuse("response_format", f"of answer formats it has {known}, not {kind}")
        if isinstance(form, JsonSchema):
            pattern = self._row.schema_name
            if pattern is not None and pattern.fullmatch(form.name) is None:
                self._refuse("response_format.name", f"{form.name!r} does not match {pattern.pattern}")
            self._check_json(form.schema, "response_format.schema")
            schema: Body = {"name": form.name, "schema": form.schema}
            if form.strict is not None:
                self._strict(schema, form.strict, form.schema, "response_format.schema")
            self._body["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            self._body["response_format"] = {"type": "json_object" if form == "json" else "text"}

    def _sampling(self) -> None:
        options, row, body = self._options, self._row, self._body
        for name, value in (("temperature", options.temperature), ("top_p", options.top_p)):
            if value is not None:
                self._check_offered(name)
                self._check_json(value, name)
                body[name] = value
        if options.stop:
            self._check_offered("stop")
            if row.max_stops is not None and len(options.stop) > row.max_stops:
                self._refuse("stop", f"it takes at most {row.max_stops}, and there are {len(options.stop)}")
            body["stop"] = options.stop
        if options.seed is not None:
            self._check_offered("seed")
            body[row.seed_field] = options.seed
            self._check_json(options.seed, "seed")
        cap = self._max_tokens()
        if cap is not None:
            self._check_json(cap, "max_tokens")
            body[row.max_tokens_field] = cap

    def _max_tokens(self) -> int | None:
        if self._options.max_tokens is not None:
            return self._options.max_tokens
        model = self._context.model
        if model is not None and model.default_max_tokens is not None:
            return model.default_max_tokens
        return self._context.default_max_tokens

    def _effort(self) -> None:
        effort, rules = self._options.reasoning_effort, self._row.efforts
        if effort is None:
            return
        model = self._context.model
        known = rules.levels if model is None or model.efforts is None else tuple(one.id for one in model.efforts)
        if known is not None and effort not in known:
            self._refuse_effort(effort, f"the efforts are {', '.join(known)}" if known else "it has no efforts to set")
        spelled = rules.off if effort == "off" else rules.level
        if spelled is None:
            self._refuse_effort(
                effort, "this wire cannot turn reasoning off" if effort == "off" else "it has no such field"
            )
        for name, value in spelled.items():
            self._body[name] = _with_effort(value, effort)

    def _cache(self, messages: list[WireMessage]) -> None:
        hint, rules = self._options.cache, self._row.cache
        if hint is None or hint == "none":
            # Nothing is cached by request unless it is asked for, so `none` holds already.
            return
        if hint not in ("short", "long"):
            self._invalid(f"cache is {hint!r}; it is none, short or long")
        fields = rules.long_fields if hint == "long" else rules.short_fields
        mark = rules.long_mark if hint == "long" else rules.short_mark
        if fields is None and mark is None:
            self._refuse("cache", f"nothing on this wire asks for {hint} prompt caching")
        self._body.update(fields or {})
        if mark is not None and not _mark_breakpoints(messages, mark):
            self._refuse("cache", "neither the system text nor the last message has a text to mark")

    def _extra(self) -> None:
        for wire, fields in (self._options.extra or {}).items():
            if wire != WIRE:
                self._refuse(f"extra.{wire}", f"the wire of this route is {WIRE}")
            if not is_object(fields):
                self._invalid(f"extra.{wire} is not an object of fields")
            for name, value in fields.items():
                path = f"extra.{wire}.{name}"
                if name in self._body:
                    self._invalid(f"{path} is a field that the request's own options write; set it there")
                if name in _EXTRA_REFUSED and not _is_harmless(name, value):
                    self._refuse(path, _EXTRA_REFUSED[name])
                self._check_json(value, path)
            self._body.update(fields)

    # -- refusals

    def _check_offered(self, name: str) -> None:
        reason = self._row.refuses.get(name)
        if reason is not None:
            self._refuse(name, reason)

    def _check_json(self, value: object, path: str) -> None:
        fault = json_fault(value, path)
        if fault is not None:
            self._invalid(fault)

    def _refuse(self, path: str, reason: str, code: str = codes.UNSUPPORTED) -> NoReturn:
        raise LlmError(
            f"{path} cannot be sent to {self._options.provider}/{self._options.model} "
            f"(dialect {self._row.name}): {reason}",
            code,
            phase="resolve",
        )

    def _refuse_effort(self, effort: str, reason: str) -> NoReturn:
        self._refuse(f"reasoning_effort {effort!r}", reason, codes.UNSUPPORTED_REASONING_EFFORT)

    def _invalid(self, fault: str) -> NoReturn:
        raise LlmError(
            f"{fault} (for {self._options.provider}/{self._options.model})", codes.INVALID_OPTIONS, phase="resolve"
        )


def _choice_words(choice: str | ToolChoice) -> str:
    return f"the tool {choice.name!r}" if isinstance(choice, ToolChoice) else choice


def _with_effort(value: object, effort: str) -> object:
    if is_object(value):
        return {name: _with_effort(inner, effort) for name, inner in value.items()}
    return effort if value == EFFORT else value


def _is_harmless(name: str, value: object) -> bool:
    if name == "n":
        return value == 1
    return name == "modalities" and is_array(value) and "audio" not in value


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
