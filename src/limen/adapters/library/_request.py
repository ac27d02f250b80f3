"""Options to the arguments of `litellm.acompletion` (Q1-Q3, Q8-Q10).

Every field that is set becomes an argument or is refused before any I/O. The library knows which fields a provider
takes, and would refuse or drop the others: they are refused here. `session_id` and `purpose` are not used.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from limen.adapters.kit import BuildContext, RequestWriter
from limen.adapters.library._history import write_messages
from limen.adapters.library._wire import NAME
from limen.contract import GenerateOptions, JsonSchema, ToolChoice, ToolSpec

HONOURS: Final = frozenset(
    {
        "system", "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p",
        "max_tokens", "stop", "seed", "reasoning_effort", "extra",
    }
)  # fmt: skip

# Arguments that say where a call goes, how it is repeated or what comes back: the route's and limen's to decide.
RESERVED: Final = frozenset(
    {
        "model", "messages", "api_key", "api_base", "base_url", "custom_llm_provider", "extra_headers", "headers",
        "timeout", "stream", "stream_options", "stream_timeout", "num_retries", "max_retries", "fallbacks",
        "context_window_fallback_dict", "drop_params", "additional_drop_params", "mock_response", "mock_tool_calls",
        "client", "n", "modalities", "audio", "caching", "cache",
    }
)  # fmt: skip

MAPPED: Final = frozenset(
    {
        "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p", "max_tokens", "stop",
        "seed", "reasoning_effort",
    }
)  # fmt: skip
"""Arguments that the library writes in each provider's own way."""

_DECODER: Final = msgspec.json.Decoder(dict[str, object])


def write_arguments(
    options: GenerateOptions, context: BuildContext, supported: Collection[str] | None
) -> dict[str, object]:
    """Return the arguments of one call; `supported` are the provider's own fields, `None` where nobody knows them.

    Raises `LlmError` for what the adapter or the provider cannot honour.
    """
    writer = RequestWriter(options, context, wire=NAME, dialect=NAME, refuses=_refusals(supported))
    writer.check_honoured(HONOURS)
    writer.body["messages"] = write_messages(writer)
    tools = writer.tools(_tool)
    writer.put("tools", tuple(tools))
    choice = writer.tool_choice()
    if isinstance(choice, ToolChoice):
        writer.body["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    else:
        writer.put("tool_choice", choice)
    for name in ("parallel_tool_calls", "temperature", "top_p", "seed"):
        writer.put(name, getattr(options, name))
    writer.put("stop", writer.stops(None))
    _response_format(writer)
    cap = writer.max_tokens()
    if cap is not None:
        writer.put("max_tokens", cap)
    effort = writer.effort(None)
    if effort is not None:
        if supported is not None and "reasoning_effort" not in supported:
            writer.refuse_effort(effort, "litellm knows no efforts of this model")
        writer.body["reasoning_effort"] = effort
    writer.merge_extra(_reserved)
    # Plain JSON values, as a user of the library would write them; lone surrogates are U+FFFD (Q8).
    return _DECODER.decode(writer.encoded())


def _refusals(supported: Collection[str] | None) -> Mapping[str, str]:
    if supported is None:
        return {}
    fields = HONOURS - {"system", "extra", "reasoning_effort"}
    return dict.fromkeys(fields - frozenset(supported), "litellm does not send this field to this provider and model")


def _tool(tool: ToolSpec, _path: str) -> Mapping[str, object]:
    function: dict[str, object] = {"name": tool.name}
    optional = {"description": tool.description, "parameters": tool.parameters, "strict": tool.strict}
    function.update((name, value) for name, value in optional.items() if value is not None)
    return {"type": "function", "function": function}


def _response_format(writer: RequestWriter) -> None:
    form = writer.response_format(("text", "json", "json-schema"))
    if isinstance(form, JsonSchema):
        schema: dict[str, object] = {"name": form.name, "schema": form.schema}
        if form.strict is not None:
            schema["strict"] = form.strict
        writer.body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form == "json":
        writer.body["response_format"] = {"type": "json_object"}


def _reserved(name: str, _value: object) -> str | None:
    return "it is the route's or limen's own to say" if name in RESERVED else None
