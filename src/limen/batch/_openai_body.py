"""Body of OpenAI's batch line as `GenerateOptions`, by one table that gives each field a fate; nothing is dropped.

Source of the fields: https://platform.openai.com/docs/api-reference/chat/create (read on 2026-12-01). *Mapped* fields
have a place in `GenerateOptions`; *extra* ones go on the wire `openai-chat` as they are, and a route of another wire
refuses them; *fixed* ones may only have the value that changes nothing; every other field is refused with its path.
"""

from collections.abc import Mapping
from typing import Final

from limen.batch._fields import is_array, is_object, near, wrong
from limen.contract import GenerateOptions, LlmError, ResponseFormat, decode_options, encode, split_target
from limen.views import messages_from_openai

WIRE: Final = "openai-chat"

MAPPED: Final = {
    "tools": "tools",
    "tool_choice": "toolChoice",
    "parallel_tool_calls": "parallelToolCalls",
    "response_format": "responseFormat",
    "temperature": "temperature",
    "top_p": "topP",
    "max_tokens": "maxTokens",
    "max_completion_tokens": "maxTokens",
    "stop": "stop",
    "seed": "seed",
    "reasoning_effort": "reasoningEffort",
}
"""Fields with a place in `GenerateOptions`, beside `model` and `messages`."""

EXTRA: Final = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "metadata",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "top_logprobs",
        "user",
        "verbosity",
        "web_search_options",
    }
)
"""Fields that go on the wire as they are."""

FIXED: Final[Mapping[str, object]] = {"n": 1, "stream": False, "modalities": ["text"]}
"""Fields that may only have the value that changes nothing."""

REFUSED: Final[Mapping[str, str]] = {
    "audio": "limen has no audio output",
    "functions": "write tools in place of this older form",
    "function_call": "write tool_choice in place of this older form",
    "stream_options": "a batch's answers are not streamed to anybody",
}
"""Fields that are refused, each with what to do."""


def options_of_body(body: object, model: str | None, path: str = "body") -> GenerateOptions:
    """Return the request of a body; `model` is `ROUTE/MODEL` and wins over the body's own.

    Raises `INVALID_OPTIONS` with the path of what is wrong, unknown, or has no place.
    """
    if not is_object(body):
        raise wrong(path, "an object is expected")
    fields = {name: value for name, value in body.items() if value is not None}
    messages = fields.pop("messages", None)
    if not is_array(messages):
        raise wrong(f"{path}.messages", "a list of messages is expected")
    provider, name = _target(fields.pop("model", None), model, path)
    made: dict[str, object] = {"provider": provider, "model": name, "messages": []}
    extra: dict[str, object] = {}
    for field, value in fields.items():
        here = f"{path}.{field}"
        if field in MAPPED:
            _set(made, MAPPED[field], _mapped(field, value, here), here)
        elif field in EXTRA:
            extra[field] = value
        else:
            _check_fixed(field, value, here)
    if extra:
        made["extra"] = {WIRE: extra}
    return _decoded(made, messages, path)


def _decoded(made: dict[str, object], messages: object, path: str) -> GenerateOptions:
    assert is_array(messages)
    try:
        history = messages_from_openai(messages)
    except LlmError as fault:
        words = fault.failure.message.partition("; give on_loss")[0]
        raise LlmError(f"{path}.{words}", fault.code, phase="resolve") from None
    made["messages"] = history
    try:
        return decode_options(encode(made))
    except LlmError as fault:
        raise wrong(path, fault.failure.message) from None


def _target(own: object, model: str | None, path: str) -> tuple[str, str]:
    if model is None and not (isinstance(own, str) and "/" in own):
        raise wrong(f"{path}.model", f"{own!r} names no route; write ROUTE/MODEL, or give the batch a model")
    try:
        return split_target(model if model is not None else str(own))
    except LlmError as fault:
        raise wrong(f"{path}.model", fault.failure.message) from None


def _set(made: dict[str, object], name: str, value: object, path: str) -> None:
    if made.setdefault(name, value) != value:
        raise wrong(path, "another field says otherwise; one of the two is enough")


def _check_fixed(field: str, value: object, path: str) -> None:
    if field in REFUSED:
        raise wrong(path, REFUSED[field])
    if field not in FIXED:
        known = {*MAPPED, *EXTRA, *FIXED, "model", "messages"}
        words = f"there is no such field{near(field, known)}"
        raise wrong(path, f'{words}; a provider\'s own field stands in a row\'s "options": {{"extra": …}}')
    # By type as well: `1 == True`, and `n: true` is a mistake.
    if value != FIXED[field] or type(value) is not type(FIXED[field]):
        raise wrong(path, f"a batch has {FIXED[field]!r} here alone, not {value!r}")


def _mapped(field: str, value: object, path: str) -> object:
    if field == "tools":
        if not is_array(value):
            raise wrong(path, "a list of tools is expected")
        return [_tool(tool, f"{path}[{index}]") for index, tool in enumerate(value)]
    if field == "tool_choice" and is_object(value):
        function = _only(value, "function", path)
        return {"type": "tool", "name": _rest(function, {"name": "name"}, f"{path}.function").get("name")}
    if field == "response_format":
        return _format(value, path)
    if field == "stop" and isinstance(value, str):
        return [value]
    return value


def _only(value: object, kind: str, path: str) -> object:
    """Return the one part of `{"type": kind, kind: part}`; anything else beside it is refused."""
    if not is_object(value) or value.get("type") != kind or kind not in value:
        raise wrong(path, f'{{"type": "{kind}", "{kind}": …}} is expected')
    for name in value:
        if name not in ("type", kind):
            raise wrong(f"{path}.{name}", "there is no such field")
    return value[kind]


def _rest(value: object, names: Mapping[str, str], path: str) -> dict[str, object]:
    """Return an object's fields under limen's names; a field without one is refused."""
    if not is_object(value):
        raise wrong(path, "an object is expected")
    made: dict[str, object] = {}
    for name, item in value.items():
        if name not in names:
            raise wrong(f"{path}.{name}", f"limen has no place for this field{near(name, names)}")
        if item is not None:
            made[names[name]] = item
    return made


_TOOL: Final = {name: name for name in ("name", "description", "parameters", "strict")}
_SCHEMA: Final = {name: name for name in ("name", "schema", "strict")}


def _tool(value: object, path: str) -> object:
    return _rest(_only(value, "function", path), _TOOL, f"{path}.function")


def _format(value: object, path: str) -> ResponseFormat | dict[str, object]:
    if is_object(value) and len(value) == 1 and value.get("type") == "text":
        return "text"
    if is_object(value) and len(value) == 1 and value.get("type") == "json_object":
        return "json"
    schema = _only(value, "json_schema", path)
    return {"type": "json-schema", **_rest(schema, _SCHEMA, f"{path}.json_schema")}
