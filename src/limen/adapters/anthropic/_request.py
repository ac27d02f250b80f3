"""Options to a request (Q1): every field that is set is written here, or refused.

Source of truth: https://platform.claude.com/docs/en/api/messages, read 2026-11-30.
"""

from collections.abc import Mapping
from typing import Final, TypeGuard, TypeVar
from urllib.parse import quote

import msgspec

from limen.adapters._codec import BuildContext
from limen.adapters.anthropic._dialect import WITHOUT_SAMPLING, Row
from limen.adapters.anthropic._serialize._content import WirePart
from limen.adapters.anthropic._serialize._history import History, Part, WireTurn
from limen.adapters.anthropic._wire import WIRE
from limen.contract import (
    GenerateOptions,
    JsonSchema,
    LlmError,
    ToolChoice,
    ToolSpec,
    WireRequest,
    codes,
    json_fault,
    replace_surrogates,
)

T = TypeVar("T")

_OFF: Final = "off"
# https://platform.claude.com/docs/en/build-with-claude/prompt-caching: not on thinking; what is not ours stays as is.
_CACHEABLE: Final = frozenset({"text", "image", "tool_use", "tool_result"})
_COMBINATORS: Final = ("oneOf", "anyOf", "allOf")


def build_request(options: GenerateOptions, context: BuildContext, row: Row) -> WireRequest:
    """Make the request without credentials, or raise `LlmError` for what wire, row or model cannot honour."""
    _refuse(options, row)
    body: dict[str, object] = {}
    in_path = "{model}" in row.path
    if not in_path:
        body["model"] = options.model
    if row.body_version is not None:
        body["anthropic_version"] = row.body_version
    body["max_tokens"] = _max_tokens(options, context, row)
    history = History(row, context.model, context.replay_dropped)
    for index, message in enumerate(options.messages):
        history.add(index, message)
    history.finish()
    system = [*_system(options), *history.system]
    if system:
        body["system"] = system
    body["messages"] = history.turns
    tools = [_tool(tool, number, row) for number, tool in enumerate(options.tools or ())]
    if tools:
        body["tools"] = tools
    choice = _tool_choice(options)
    if choice is not None:
        body["tool_choice"] = choice
    body.update(_sampling(options))
    body.update(_thinking_and_format(options, context, row))
    if options.cache in ("short", "long"):
        spoken = [part for turn in history.turns for part in turn.content]
        _mark(options, row, [system, tools if row.cache_tools else [], spoken])
    body["stream"] = True
    _merge_extra(body, options)
    # A model id in a path is one segment of it; `@` and `:` are part of Vertex's names.
    path = row.path.replace("{model}", quote(options.model, safe="@:"))
    return WireRequest("POST", path, _headers(options, row), _encoded(body))


def _headers(options: GenerateOptions, row: Row) -> Mapping[str, str]:
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    if row.version is not None:
        headers["anthropic-version"] = row.version
    if row.betas:
        # Commas without a space: the header is compared as it stands.
        headers["anthropic-beta"] = ",".join(row.betas)
    if row.session_header is not None and options.session_id:
        headers[row.session_header] = quote(options.session_id, safe="")
    return headers


def _refuse(options: GenerateOptions, row: Row) -> None:
    asked = {
        "temperature": options.temperature is not None,
        "top_p": options.top_p is not None,
        "stop": bool(options.stop),
        "tool_choice": options.tool_choice is not None,
        "parallel_tool_calls": options.parallel_tool_calls is not None,
        "cache": options.cache in ("short", "long"),
        "response_format": options.response_format not in (None, "text"),
        "strict": any(tool.strict is not None for tool in options.tools or ()),
    }
    for name, why in row.refused.items():
        if asked[name]:
            raise _unsupported(name, f"the dialect {row.name} cannot honour it: {why}")
    if options.seed is not None:
        raise _unsupported("seed", "this wire has no seed")
    if options.cache not in (None, "none", "short", "long"):
        raise _invalid(f"cache is {options.cache!r}; it is none, short or long")
    if row.version in WITHOUT_SAMPLING or row.body_version in WITHOUT_SAMPLING:
        for name in ("temperature", "top_p"):
            if asked[name]:
                raise _unsupported(name, f"version {row.version or row.body_version} of the API has removed it")
    for wire in options.extra or {}:
        if wire != WIRE:
            raise _unsupported(f"extra[{wire!r}]", f"this request goes over the wire {WIRE}")


def _unsupported(field: str, why: str) -> LlmError:
    return LlmError(f"{field}: {why}", codes.UNSUPPORTED, phase="resolve")


def _invalid(what: str) -> LlmError:
    return LlmError(what, codes.INVALID_OPTIONS, phase="resolve")


def _json(value: T, where: str) -> T:
    fault = json_fault(value, where)
    if fault is not None:
        raise _invalid(fault)
    return value


def _max_tokens(options: GenerateOptions, context: BuildContext, row: Row) -> int:
    known = None if context.model is None else context.model.default_max_tokens
    for count in (options.max_tokens, context.default_max_tokens, known):
        if count is not None:
            return count
    return row.default_max_tokens


def _system(options: GenerateOptions) -> list[WirePart]:
    text = options.system
    return [{"type": "text", "text": text}] if text and not text.isspace() else []


def _tool(tool: ToolSpec, number: int, row: Row) -> WirePart:
    where = f"tools[{number}] ({tool.name})"
    schema = _json(tool.parameters, where) or {"type": "object"}
    if not row.root_combinators:
        for word in _COMBINATORS:
            if word in schema:
                # 400 input_schema does not support oneOf, allOf, or anyOf at the top level (Q178)
                raise _unsupported(where, f"the wire takes no {word} at the root of a schema; put it into a property")
    part: WirePart = {"name": tool.name}
    if tool.description is not None:
        part["description"] = tool.description
    part["input_schema"] = schema
    if tool.strict is not None:
        part["strict"] = tool.strict
    return part


def _tool_choice(options: GenerateOptions) -> WirePart | None:
    choice = options.tool_choice
    parallel = options.parallel_tool_calls
    if choice is None and parallel is None:
        return None
    if choice == "none":
        if parallel is not None:
            raise _unsupported("parallel_tool_calls", "tool_choice none has no place for it on this wire")
        return {"type": "none"}
    part: WirePart
    if isinstance(choice, ToolChoice):
        if options.tools and all(tool.name != choice.name for tool in options.tools):
            raise _invalid(f"tool_choice names {choice.name!r}, which is not among the tools")
        part = {"type": "tool", "name": choice.name}
    elif choice not in (None, "auto", "required"):
        raise _invalid(f"tool_choice is {choice!r}; it is auto, none, required or ToolChoice(name)")
    else:
        part = {"type": "any" if choice == "required" else "auto"}
    if parallel is not None:
        part["disable_parallel_tool_use"] = not parallel
    return part


def _sampling(options: GenerateOptions) -> dict[str, object]:
    fields = {
        "temperature": _json(options.temperature, "temperature"),
        "top_p": _json(options.top_p, "top_p"),
        "stop_sequences": options.stop or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _thinking_and_format(options: GenerateOptions, context: BuildContext, row: Row) -> dict[str, object]:
    config: dict[str, object] = {}
    body: dict[str, object] = {}
    effort = options.reasoning_effort
    if effort is not None:
        _check_effort(effort, context, row)
        if effort == _OFF:
            body["thinking"] = {"type": "disabled"}
        else:
            config["effort"] = effort
            if row.effort_style == "adaptive":
                display = {} if row.display is None else {"display": row.display}
                body["thinking"] = {"type": "adaptive", **display}
    wanted = options.response_format
    if wanted == "json":
        raise _unsupported("response_format", "this wire has no JSON mode without a schema; give a JsonSchema")
    kind = "json-schema" if isinstance(wanted, JsonSchema) else wanted
    if kind not in (None, "text", "json-schema"):
        raise _invalid(f"response_format is {kind!r}; it is text, json or JsonSchema(name, schema)")
    if isinstance(wanted, JsonSchema):
        if wanted.strict is False:
            raise _unsupported("response_format.strict", "this wire always holds the model to the schema")
        config["format"] = {"type": "json_schema", "schema": _json(wanted.schema, "response_format.schema")}
    return {**body, "output_config": config} if config else body


def _check_effort(effort: str, context: BuildContext, row: Row) -> None:
    known = row.efforts if context.model is None or context.model.efforts is None else context.model.efforts
    if known is not None and effort not in {one.id for one in known}:
        listed = ", ".join(one.id for one in known) or "none"
        raise LlmError(
            f"reasoning_effort: {effort!r} is not among the known efforts ({listed}) of this model on {row.name}",
            codes.UNSUPPORTED_REASONING_EFFORT,
            phase="resolve",
        )


def _mark(options: GenerateOptions, row: Row, places: list[list[WirePart] | list[Part]]) -> None:
    """Set a breakpoint behind system, tools and the history: three of the four that the wire allows (Q215)."""
    if options.cache == "long" and not row.cache_long:
        raise _unsupported("cache", f"the dialect {row.name} caches for five minutes only; ask for short")
    mark = {"type": "ephemeral"} if options.cache == "short" else {"type": "ephemeral", "ttl": "1h"}
    marked = 0
    for parts in places:
        for part in reversed(parts):
            if isinstance(part, dict) and part.get("type", "text") in _CACHEABLE:
                part["cache_control"] = mark
                marked += 1
                break
    if not marked:
        raise _unsupported("cache", "the request holds nothing that this wire can mark")


def _merge_extra(body: dict[str, object], options: GenerateOptions) -> None:
    fields = (options.extra or {}).get(WIRE, {})
    if not _is_object(fields):
        raise _invalid(f"extra[{WIRE!r}] is not an object of fields")
    for name, value in fields.items():
        if name in body:
            raise _invalid(f"extra[{WIRE!r}][{name!r}]: the request sets this field itself")
        body[name] = _json(value, f"extra[{WIRE!r}][{name!r}]")


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _encoded(body: dict[str, object]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        # A lone surrogate somewhere; they become U+FFFD (Q8).
        return msgspec.json.encode(_mended(body))


def _mended(value: object) -> object:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, Mapping):
        return {replace_surrogates(str(key)): _mended(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, WireTurn):
        return {"role": value.role, "content": _mended(value.content)}
    if isinstance(value, (list, tuple)):
        return [_mended(item) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value
