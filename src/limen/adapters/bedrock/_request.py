"""Options to a request of Converse (Q1): every field that is set is written here, or refused.

Source of truth, read 2026-11-30:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from limen.adapters.bedrock._dialects import Dialect, Family, bare_id, family_of
from limen.adapters.bedrock._history import History, Part, WirePart, text_parts
from limen.adapters.kit import NAME, BuildContext, RequestWriter, is_json_object
from limen.contract import (
    GenerateOptions,
    JsonSchema,
    ToolChoice,
    ToolSpec,
    WireRequest,
    dumps,
    replace_surrogates,
)

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
        "reasoning_effort",
        "cache",
        "extra",
    }
)
_STOPS_MAX: Final = 2500
_OFF: Final = "off"
_HEADERS: Final[Mapping[str, str]] = {
    "content-type": "application/json",
    "accept": "application/vnd.amazon.eventstream",
}


def build_request(options: GenerateOptions, context: BuildContext, row: Dialect) -> WireRequest:
    """Make the request without credentials, or raise `LlmError` for what wire, row or model cannot honour."""
    writer = RequestWriter(options, context, wire=row.wire, dialect=row.name, refuses=row.refuses)
    family = family_of(options.model)
    native: dict[str, object] = {}
    history = History(writer, row, family)
    for index, message in enumerate(options.messages):
        history.add(index, message)
    history.finish()
    system = [*text_parts(options.system or ""), *history.system]
    tools: list[Part] = [*writer.tools(lambda tool, path: _tool(writer, tool, path))]
    if history.has_calls and not tools:
        # 400: The toolConfig field must be defined when using toolUse and toolResult content blocks. [R]
        writer.refuse("messages", "a history with tool calls needs the tools on this wire; give them too")
    choice = _tool_choice(writer, family, native)
    _mark(writer, family, [system, tools if family.cache_tools else [], history.turns[-1].content])
    if system:
        writer.body["system"] = system
    writer.body["messages"] = history.turns
    if tools:
        writer.body["toolConfig"] = {"tools": tools, **({} if choice is None else {"toolChoice": choice})}
    _inference(writer, family)
    _format(writer)
    _effort(writer, family, native)
    if native:
        writer.body["additionalModelRequestFields"] = native
    writer.merge_extra()
    # One segment of the path, whatever the id holds: an ARN's slashes and colons too.
    path = row.path.replace("{model}", quote(replace_surrogates(options.model), safe=""))
    return WireRequest("POST", path, _HEADERS, writer.encoded())


def _tool(writer: RequestWriter, tool: ToolSpec, path: str) -> WirePart:
    writer.check_name(tool.name, f"{path}.name", NAME)
    spec: WirePart = {"name": tool.name}
    # The wire refuses an empty description and takes none.
    if tool.description:
        spec["description"] = tool.description
    spec["inputSchema"] = {"json": tool.parameters or {"type": "object"}}
    if tool.strict is not None:
        spec["strict"] = tool.strict
    return {"toolSpec": spec}


def _tool_choice(writer: RequestWriter, family: Family, native: dict[str, object]) -> WirePart | None:
    choice = writer.tool_choice()
    nothing: Mapping[str, object] = {}
    if choice is None:
        return None
    if choice == "none":
        if not family.none:
            writer.refuse("tool_choice", "the wire has no word for none, and this model no field of its own for it")
        native["tool_choice"] = {"type": "none"}
        return None
    if isinstance(choice, ToolChoice):
        return {"tool": {"name": choice.name}}
    return {"any": nothing} if choice == "required" else {"auto": nothing}


def _inference(writer: RequestWriter, family: Family) -> None:
    options = writer.options
    config: dict[str, object] = {}
    cap = writer.max_tokens()
    if cap is not None:
        config["maxTokens"] = cap
    stops = writer.stops(_STOPS_MAX)
    for name, field, value in (
        ("temperature", "temperature", options.temperature),
        ("top_p", "topP", options.top_p),
        ("stop", "stopSequences", stops or None),
    ):
        if value is not None:
            writer.check_offered(name)
            config[field] = writer.json(value, name)
    if config:
        writer.body["inferenceConfig"] = config
    if stops and family.stop_path:
        # Where Claude says which of them matched.
        writer.body["additionalModelResponseFieldPaths"] = ["/stop_sequence"]


def _format(writer: RequestWriter) -> None:
    wanted = writer.response_format(("text", "json-schema"))
    if not isinstance(wanted, JsonSchema):
        return
    if wanted.strict is False:
        writer.refuse("response_format.strict", "this wire always holds the model to the schema")
    # The schema goes as a text of JSON.
    schema = {"schema": dumps(wanted.schema).decode(), "name": wanted.name}
    writer.body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}


def _effort(writer: RequestWriter, family: Family, native: dict[str, object]) -> None:
    """Write an effort in the words of the model's family, which Converse passes on as they are."""
    effort = writer.effort(family.efforts)
    if effort is None:
        return
    word = "none" if effort == _OFF else effort
    match family.effort:
        case "claude" if effort == _OFF:
            native["thinking"] = {"type": "disabled"}
        case "claude":
            # GovCloud refuses `display`; elsewhere newer models withhold their thinking without it.
            gov = writer.options.model.startswith("us-gov.") or ":aws-us-gov:" in writer.options.model
            native["thinking"] = {"type": "adaptive", **({} if gov else {"display": "summarized"})}
            native["output_config"] = {"effort": effort}
        case "flat":
            native["reasoning_effort"] = word
        case "nested":
            native["reasoning"] = {"effort": word}
        case "qwen":
            native["reasoning_config"] = word
        case _:
            name = bare_id(writer.options.model)
            reason = f"no field for it is known of {name}; put the model's own into extra"
            writer.refuse_effort(effort, f"{reason}['bedrock-converse']['additionalModelRequestFields']")


def _mark(writer: RequestWriter, family: Family, places: list[list[Part]]) -> None:
    """Set a cache point behind system, tools and the history: three of the four that the wire allows."""
    hint = writer.cache()
    if hint is None:
        return
    if not family.cache:
        writer.refuse("cache", "this model is not known to take cache points")
    if hint == "long" and not family.cache_long:
        writer.refuse("cache", "this model caches for five minutes only; ask for short")
    point: WirePart = {"cachePoint": {"type": "default", **({"ttl": "1h"} if hint == "long" else {})}}
    for parts in places:
        for place in range(len(parts), 0, -1):
            if _cacheable(parts[place - 1]):
                parts.insert(place, point)
                break


def _cacheable(part: Part) -> bool:
    """Tell whether a cache point may stand behind a part: not behind reasoning, or a document that is no PDF [R]."""
    if not isinstance(part, dict):
        return False
    document = part.get("document")
    return "reasoningContent" not in part and (not is_json_object(document) or document["format"] == "pdf")
