"""Short form of a call: `"ROUTE/MODEL"`, a prompt or messages, and options as keywords."""

import difflib
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict, TypeGuard

from limen.contract import _codes as codes
from limen.contract._abort import AbortSignal
from limen.contract._errors import LlmError
from limen.contract._limits import Timeouts
from limen.contract._messages import Message, user
from limen.contract._options import CacheHint, GenerateOptions
from limen.contract._tools import ResponseFormat, ToolChoiceOption, ToolSpec

Prompt: TypeAlias = str | Message | Sequence[Message]
"""Text of one user message, one message, or a whole history."""


class CallOptions(TypedDict, total=False):
    """Keywords of a short call: the fields of `GenerateOptions` beside `provider`, `model` and `messages`."""

    system: str | None
    tools: Sequence[ToolSpec] | None
    tool_choice: ToolChoiceOption | None
    parallel_tool_calls: bool | None
    response_format: ResponseFormat | None
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    stop: Sequence[str] | None
    seed: int | None
    reasoning_effort: str | None
    cache: CacheHint | None
    extra: Mapping[str, Mapping[str, object]] | None
    session_id: str | None
    purpose: str | None
    timeouts: Timeouts | None
    signal: AbortSignal | None


def split_target(target: str) -> tuple[str, str]:
    """Return route and model of `"ROUTE/MODEL"`, split at the first slash; raises `INVALID_OPTIONS` for other texts.

    A model's id may hold slashes of its own (`openrouter/meta-llama/llama-4`) and passes through byte for byte (Q2).
    """
    route, slash, model = target.partition("/")
    if not route or not slash or not model:
        raise LlmError(
            f"a model is written 'ROUTE/MODEL', such as 'deepseek/deepseek-v4-flash'; got {target!r}",
            codes.INVALID_OPTIONS,
            phase="resolve",
        )
    return route, model


def call_options(target: object, prompt: object, fields: Mapping[str, object]) -> GenerateOptions:
    """Return the options of a call, given in the long form (one `GenerateOptions`) or in the short one.

    Raises `TypeError` for arguments that are neither, and for a keyword that is no option, naming the nearest one.
    """
    if isinstance(target, GenerateOptions):
        if prompt is not None or fields:
            raise TypeError("a call is made of GenerateOptions alone, or of 'ROUTE/MODEL', a prompt and keywords")
        return target
    if not isinstance(target, str):
        raise TypeError(f"a call is made of GenerateOptions, or of 'ROUTE/MODEL', not of a {type(target).__name__}")
    if prompt is None:
        raise TypeError("a call of 'ROUTE/MODEL' needs a prompt: a text, a message or messages")
    for name in fields:
        if name not in CallOptions.__annotations__:
            near = difflib.get_close_matches(name, CallOptions.__annotations__, n=1)
            raise TypeError(f"{name!r} is no option of a call{f'; did you mean {near[0]!r}?' if near else ''}")
    provider, model = split_target(target)
    make: type = GenerateOptions
    made: object = make(provider, model, _messages(prompt), **fields)
    assert isinstance(made, GenerateOptions)
    return made


def _messages(prompt: object) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return (user(prompt),)
    if isinstance(prompt, Message):
        return (prompt,)
    if not _is_sequence(prompt):
        raise TypeError(f"a prompt is a text, a message or messages, not a {type(prompt).__name__}")
    found: list[Message] = []
    for index, message in enumerate(prompt):
        if isinstance(message, Mapping):
            raise TypeError(
                f"messages[{index}] is a mapping, not a Message; limen.messages_from_openai(…) converts such histories"
            )
        if not isinstance(message, Message):
            raise TypeError(f"messages[{index}] is a {type(message).__name__}, not a Message")
        found.append(message)
    return tuple(found)


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence)
