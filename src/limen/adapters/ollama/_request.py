"""Options to a request of Ollama's chat (Q1): every field that is set is written here, or refused.

Source of truth: https://docs.ollama.com/api/chat, `…/capabilities/thinking` and `…/capabilities/structured-outputs`,
and https://docs.ollama.com/modelfile for the parameters inside `options`; read 2026-12-01.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from limen.adapters.kit import BuildContext, RequestWriter, is_json_object
from limen.adapters.ollama._dialects import EFFORTS, Dialect
from limen.adapters.ollama._history import History, WireMessage
from limen.contract import FrozenDict, GenerateOptions, JsonSchema, ToolSpec, WireRequest

HONOURS: Final = frozenset(
    {
        "system",
        "tools",
        "tool_choice",
        "response_format",
        "temperature",
        "top_p",
        "max_tokens",
        "stop",
        "seed",
        "reasoning_effort",
        "extra",
    }
)

_HEADERS: Final = FrozenDict({"content-type": "application/json", "accept": "application/x-ndjson"})
_JSON_HEADERS: Final = FrozenDict({"content-type": "application/json", "accept": "application/json"})
# `on` is no level of the wire: it is for models whose facts list it, and stands for `true`.
_SWITCH: Final[Mapping[str, bool]] = {"off": False, "on": True}


class RouteDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of every request of a route, where the call's own fields and its `extra` do not set them."""

    keep_alive: str | float | None = None
    options: Mapping[str, object] = FrozenDict()

    @property
    def num_ctx(self) -> int | None:
        """The context window that the route asks for, `None` where it leaves that to the server."""
        value = self.options.get("num_ctx")
        return value if isinstance(value, int) and value > 0 else None


def build_request(
    options: GenerateOptions, context: BuildContext, row: Dialect, defaults: RouteDefaults
) -> WireRequest:
    """Make the request without credentials, or raise `LlmError` for what wire, row or model cannot honour."""
    writer = RequestWriter(options, context, wire=row.wire, dialect=row.name, refuses=row.refuses)
    body = writer.body
    body["model"] = options.model
    history = History(writer, row)
    if options.system is not None:
        history.messages.append({"role": "system", "content": options.system})
    for index, message in enumerate(options.messages):
        history.add(index, message)
    history.finish()
    if not history.messages:
        # The server takes a request without messages for the wish to load the model.
        writer.invalid("there is no message and no system text")
    body["messages"] = history.messages
    writer.put("tools", writer.tools(lambda tool, path: _tool(writer, tool, path)) or None)
    # Without a field for it the model chooses by itself, which is what `auto` asks for.
    writer.tool_choice(("auto",))
    _format(writer)
    effort = writer.effort(EFFORTS)
    if effort is not None:
        body["think"] = _SWITCH.get(effort, effort)
    _parameters(writer, row)
    # Unset, the wire's own default is a stream too; said all the same, because proxies differ.
    body["stream"] = True
    writer.merge_extra()
    _fill(writer, defaults)
    return WireRequest("POST", row.path, _HEADERS, writer.encoded())


def show_request(model: str) -> WireRequest:
    """Make the request for the facts of one model."""
    return WireRequest("POST", "/api/show", _JSON_HEADERS, msgspec.json.encode({"model": model}))


def _tool(writer: RequestWriter, tool: ToolSpec, path: str) -> WireMessage:
    if tool.strict is not None:
        writer.refuse(f"{path}.strict", "this wire has no strict tools")
    function: WireMessage = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    return {"type": "function", "function": function}


def _format(writer: RequestWriter) -> None:
    wanted = writer.response_format(("text", "json", "json-schema"))
    if isinstance(wanted, JsonSchema):
        if wanted.strict is False:
            writer.refuse("response_format.strict", "this wire always holds the model to the schema")
        writer.body["format"] = wanted.schema
    elif wanted == "json":
        writer.body["format"] = "json"


def _parameters(writer: RequestWriter, row: Dialect) -> None:
    """Write what this wire has inside `options`, and nothing where nothing is set (Q3)."""
    options = writer.options
    inner = RequestWriter(options, writer.context, wire=row.wire, dialect=row.name, refuses=row.refuses)
    inner.put("temperature", options.temperature)
    inner.put("top_p", options.top_p)
    inner.put("max_tokens", inner.max_tokens(), field="num_predict")
    inner.put("stop", inner.stops(None))
    inner.put("seed", options.seed)
    if inner.body:
        writer.body["options"] = inner.body


def _fill(writer: RequestWriter, defaults: RouteDefaults) -> None:
    """Add the route's defaults behind all that the call says itself."""
    body = writer.body
    if defaults.keep_alive is not None:
        body.setdefault("keep_alive", writer.json(defaults.keep_alive, "keep_alive of the route"))
    if defaults.options:
        own = body.get("options", {})
        if is_json_object(own):
            body["options"] = {**writer.json(defaults.options, "options of the route"), **own}
