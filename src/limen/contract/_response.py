"""Collected answer of a call, as one value."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TypeVar

import msgspec
from msgspec.structs import force_setattr

from limen.contract._blocks import ToolCallBlock
from limen.contract._finish import FinishReason
from limen.contract._json import freeze_object
from limen.contract._messages import Message
from limen.contract._usage import TokenUsage

T = TypeVar("T")


class RateLimit(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """One limit as an answer's headers tell it; absent is unknown, and `reset_ms` counts from the answer on."""

    limit: int | None = None
    remaining: int | None = None
    reset_ms: int | None = None


class RateLimits(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """The limits of requests and of tokens, as far as an answer's headers say."""

    requests: RateLimit | None = None
    tokens: RateLimit | None = None


class CallInfo(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Facts about a call beside its content; absent is unknown.

    `provider` and `model` are the requested ones, of the route that answered; `response_model` and `response_id` are
    the provider's, `request_id` its header's; `provider_reason` is the finish word verbatim; `stop_sequence` the one
    that matched; `attempts` the number of requests; `first_event_ms` the time from the request to the first model
    event, in milliseconds; `rate_limits` the limits that the answer's headers tell; `notes` short sentences about what
    was read with a doubt (C15).
    """

    provider: str
    model: str
    response_model: str | None = None
    response_id: str | None = None
    request_id: str | None = None
    provider_reason: str | None = None
    stop_sequence: str | None = None
    attempts: int = 1
    first_event_ms: float | None = None
    rate_limits: RateLimits | None = None
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        if type(self.notes) is not tuple:
            force_setattr(self, "notes", tuple(self.notes))


class ReplayDrop(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Replay state that was not used: index of the request's message (absent: the answer), and the reason (R5)."""

    reason: str
    message_index: int | None = None


class Response(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Collected answer, whole or partial.

    `message` is appended to the history: it holds no call of a turn that was cut short or failed (C17), and is `None`
    if nothing of the turn can stand in a history. `tool_calls` may be executed; calls of a turn that did not finish
    as `tool-calls` are `incomplete_tool_calls`.
    """

    message: Message | None
    finish: FinishReason
    usage: TokenUsage | None = None
    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[ToolCallBlock] = ()
    incomplete_tool_calls: Sequence[ToolCallBlock] = ()
    replay_state: Mapping[str, object] | None = None
    replay_dropped: Sequence[ReplayDrop] = ()
    info: CallInfo | None = None

    def __post_init__(self) -> None:
        for name in ("tool_calls", "incomplete_tool_calls", "replay_dropped"):
            force_setattr(self, name, tuple(getattr(self, name)))
        if self.replay_state is not None:
            force_setattr(self, "replay_state", freeze_object(self.replay_state))

    def parse(self, kind: type[T]) -> T:
        """Return the answer's text, which is one JSON document, as a value of a type (X9).

        For msgspec structs, dataclasses, `TypedDict` and pydantic models; `JsonSchema.of(kind)` asks for such an
        answer. Text that does not validate is `LlmError` `INVALID_OUTPUT`: its message has the path, its `.partial`
        is this response. Nothing is repaired.
        """
        # By name: the errors hold a `Response`, so their module cannot be imported from here without a cycle.
        read: Callable[[Response, type[T]], T] = import_module("limen.contract._answers").parse_answer
        return read(self, kind)
