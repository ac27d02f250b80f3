"""Request of a call, as one immutable value."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from limen.contract._abort import AbortSignal
from limen.contract._json import freeze_object
from limen.contract._limits import Timeouts
from limen.contract._messages import Message
from limen.contract._tools import ResponseFormat, ToolChoiceOption, ToolSpec

CacheHint: TypeAlias = Literal["none", "short", "long"]


class GenerateOptions(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Request to one model of one route. Every field that is set goes on the wire or is refused before I/O (Q1).

    `provider` names the route and `model` passes through byte for byte (Q2, R2). `messages` and `tools` may be
    given as lists and are kept as tuples. `temperature`, `top_p`, `seed`, `stop`, `max_tokens` are the provider's
    own parameters; `reasoning_effort` is one of the model's efforts, never translated between models;
    `cache` asks for prompt caching; `extra` is `{wire: {field: value}}`, merged last (Q9). `session_id` and
    `purpose` are hints. `timeouts` are this call's own limits of time: a field that is not the default of `Timeouts`
    stands in place of the route's (T1). `signal` ends the call (Q6). These two are outside equality and the JSON form.
    """

    provider: str
    model: str
    messages: Sequence[Message]
    system: str | None = None
    tools: Sequence[ToolSpec] | None = None
    tool_choice: ToolChoiceOption | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: Sequence[str] | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    cache: CacheHint | None = None
    extra: Mapping[str, Mapping[str, object]] | None = None
    session_id: str | None = None
    purpose: str | None = None
    timeouts: Timeouts | None = None
    signal: AbortSignal | None = None

    def __post_init__(self) -> None:
        if type(self.messages) is not tuple:
            messages: object = self.messages
            if isinstance(messages, str | Message):
                given = type(messages).__name__
                raise TypeError(f"messages is a list of Message, not one {given}; write messages=[limen.user(…)]")
            force_setattr(self, "messages", tuple(self.messages))
        if self.tools is not None and type(self.tools) is not tuple:
            force_setattr(self, "tools", tuple(self.tools))
        if self.stop is not None:
            stop: object = self.stop
            force_setattr(self, "stop", (stop,) if isinstance(stop, str) else tuple(self.stop))
        if self.extra is not None:
            force_setattr(self, "extra", freeze_object(self.extra))

    def __eq__(self, other: object) -> bool:
        return type(other) is GenerateOptions and _compared(self) == _compared(other)

    def __hash__(self) -> int:
        return hash(_compared(self))

    def __reduce__(self) -> tuple[Callable[..., "GenerateOptions"], tuple[object, ...]]:
        # A signal belongs to this process; every other field is pickled.
        return (GenerateOptions, (*_compared(self), self.timeouts))


def _compared(options: GenerateOptions) -> tuple[object, ...]:
    return tuple(getattr(options, name) for name in _COMPARED)


_COMPARED = tuple(name for name in GenerateOptions.__struct_fields__ if name not in ("timeouts", "signal"))
