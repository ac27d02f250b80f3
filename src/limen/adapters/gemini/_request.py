"""Options to a generateContent request (Q1): every field that is set is written here, or refused.

Source: https://ai.google.dev/api/generate-content, read 2026-11-30.
"""

import re
from typing import Final
from urllib.parse import quote

from limen.adapters.gemini._dialects import Dialect
from limen.adapters.gemini._history import History, WirePart, without_last_model_turn
from limen.adapters.gemini._models import Family, family_of, thinking_config
from limen.adapters.gemini._wire import WIRE
from limen.adapters.kit import BuildContext, RequestWriter, SubsetFault, gemini_schema, is_json_array, is_json_object
from limen.contract import (
    FrozenDict,
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
        "seed",
        "reasoning_effort",
        "cache",
        "extra",
    }
)
# https://ai.google.dev/api/caching#FunctionDeclaration: a letter or an underscore, then letters, digits, _ . : -
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_TOOLS_MAX: Final = 512
_HEADERS: Final = FrozenDict({"content-type": "application/json", "accept": "text/event-stream"})
_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_PATHS: Final = ("models/", "tunedModels/")


def build_request(options: GenerateOptions, context: BuildContext, row: Dialect) -> WireRequest:
    """Make the request without credentials, or raise `LlmError` for what wire, row or model cannot honour."""
    writer = RequestWriter(options, context, wire=row.wire, dialect=row.name, refuses=row.refuses)
    family = family_of(options.model)
    body = writer.body
    history = History(writer, row, family, NAME)
    for index, message in enumerate(options.messages):
        history.add(index, message)
    history.finish()
    given: list[WirePart] = [{"text": options.system}] if options.system else []
    system = [*given, *history.system]
    if system:
        body["systemInstruction"] = {"parts": system}
    turns = history.turns
    if history.continuation is not None:
        # The same request again, with the token of the answer so far: google-genai 3.6.1 goes on so.
        turns = [*without_last_model_turn(turns)]
        body["continuationToken"] = history.continuation
    if not turns:
        writer.invalid("no message says anything; this wire needs one that does")
    body["contents"] = turns
    tools = writer.tools(lambda tool, path: _tool(writer, tool, path), limit=_TOOLS_MAX)
    if tools:
        body["tools"] = [{"functionDeclarations": tools}]
    _tool_config(writer)
    config = _generation_config(writer, row, family)
    if config:
        body["generationConfig"] = config
    if row.safety:
        body["safetySettings"] = [
            {"category": category, "threshold": threshold} for category, threshold in row.safety.items()
        ]
    writer.cache()
    _check_extra(writer)
    writer.merge_extra()
    return WireRequest("POST", _path(row, options.model), _HEADERS, writer.encoded())


def _path(row: Dialect, model: str) -> str:
    name = replace_surrogates(model)
    for prefix in _PATHS:
        if name.startswith(prefix):
            # A name with its collection, as the list of models gives it, is the path by itself.
            own = f"/{prefix}{quote(name.removeprefix(prefix), safe='@:')}"
            return row.path.replace("/models/{model}", own)
    return row.path.replace("{model}", quote(name, safe="@:"))


def _tool(writer: RequestWriter, tool: ToolSpec, path: str) -> WirePart:
    writer.check_name(tool.name, f"{path}.name", NAME)
    if tool.strict is not None:
        writer.refuse(f"{path}.strict", "the wire has no strict tools; tool_choice required holds the model to schemas")
    part: WirePart = {"name": tool.name}
    if tool.description is not None:
        part["description"] = tool.description
    if tool.parameters and not _takes_nothing(tool.parameters):
        field, schema = _schema(writer, tool.parameters, f"{path}.parameters")
        part["parametersJsonSchema" if field == "json" else "parameters"] = schema
    return part


def _takes_nothing(schema: JsonObject) -> bool:
    """Tell whether a tool has no arguments: an object schema without properties is refused with 400."""
    return schema.get("type") == "object" and not schema.get("properties") and not schema.get("additionalProperties")


def _schema(writer: RequestWriter, schema: JsonObject, path: str) -> tuple[str, JsonObject]:
    try:
        return gemini_schema(schema, path)
    except SubsetFault as error:
        fault = error
    return writer.refuse(fault.path, f"the schema's word {fault.reason}")


def _tool_config(writer: RequestWriter) -> None:
    choice = writer.tool_choice()
    if writer.options.parallel_tool_calls is False:
        writer.refuse("parallel_tool_calls", "the wire has no switch for parallel calls")
    if choice is None:
        return
    calling: WirePart
    if isinstance(choice, ToolChoice):
        calling = {"mode": "ANY", "allowedFunctionNames": [choice.name]}
    else:
        calling = {"mode": _MODES[choice]}
    writer.body["toolConfig"] = {"functionCallingConfig": calling}


def _generation_config(writer: RequestWriter, row: Dialect, family: Family) -> WirePart:
    options = writer.options
    if family.ignores_sampling:
        for name, value in (("temperature", options.temperature), ("top_p", options.top_p)):
            if value is not None:
                writer.refuse(name, f"{options.model} accepts and ignores it")
    # At most five stop sequences: https://ai.google.dev/api/generate-content#GenerationConfig
    found: WirePart = {
        "temperature": writer.json(options.temperature, "temperature"),
        "topP": writer.json(options.top_p, "top_p"),
        "maxOutputTokens": writer.max_tokens(),
        "stopSequences": writer.stops(5) or None,
        "seed": writer.json(options.seed, "seed"),
        **_format(writer),
    }
    effort = writer.effort(family.efforts)
    if effort is not None:
        thinking = thinking_config(family, effort)
        if thinking is None:
            writer.refuse_effort(effort, "the model has no such effort")
        found["thinkingConfig"] = thinking
    return {name: value for name, value in found.items() if value is not None}


def _format(writer: RequestWriter) -> WirePart:
    wanted = writer.response_format(("text", "json", "json-schema"))
    if wanted is None or wanted == "text":
        return {}
    if isinstance(wanted, JsonSchema):
        if wanted.strict is False:
            writer.refuse("response_format.strict", "this wire always holds the model to the schema")
        field, schema = _schema(writer, wanted.schema, "response_format.schema")
        name = "responseJsonSchema" if field == "json" else "responseSchema"
        return {"responseMimeType": "application/json", name: schema}
    return {"responseMimeType": "application/json"}


def _check_extra(writer: RequestWriter) -> None:
    """Refuse what `extra` may ask for and no reader here understands, beside a config of the request's own too."""
    fields = (writer.options.extra or {}).get(WIRE)
    config = fields.get("generationConfig") if is_json_object(fields) else None
    if not is_json_object(config):
        return
    path = f"extra.{WIRE}.generationConfig"
    modes = config.get("responseModalities")
    if "speechConfig" in config or (is_json_array(modes) and any(str(mode).upper() == "AUDIO" for mode in modes)):
        writer.refuse(path, "answers of audio are not read")
    if config.get("candidateCount") not in (None, 1):
        writer.refuse(path, "one candidate is read")
