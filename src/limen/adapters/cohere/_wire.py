"""Cohere's chat, version 2, as it stands on the wire. Types only.

Source of truth: https://docs.cohere.com/reference/chat-stream and the types of Cohere's Python SDK 7.3.1 (both read
2026-11-30). Every field may be null or absent, which is one thing (W2); unknown fields are ignored (C15).
"""

from typing import Final

import msgspec

from limen.adapters.kit import Count

REPLAY_VERSION: Final = 1


class WireContent(msgspec.Struct, gc=False):
    """A part of the content, or what a `content-delta` adds to one: visible text or thinking."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None


class WireFunction(msgspec.Struct, gc=False):
    """The function of a call: its name, and its arguments or a fragment of them."""

    name: str | None = None
    arguments: str | None = None


class WireCall(msgspec.Struct, gc=False):
    """A tool call, or what a `tool-call-delta` adds to one."""

    id: str | int | None = None
    function: WireFunction | None = None


class WireMessage(msgspec.Struct, gc=False):
    """The message of an event, where content, call and citation are one object each; of a whole answer, lists."""

    content: WireContent | list[WireContent] | str | None = None
    tool_plan: str | None = None
    tool_calls: WireCall | list[WireCall] | None = None
    citations: msgspec.Raw = msgspec.Raw()


class WireTokens(msgspec.Struct, gc=False):
    """Token counts: those of the model, or those that are billed."""

    input_tokens: Count = None
    output_tokens: Count = None
    reasoning_tokens: Count = None


class WireUsage(msgspec.Struct, gc=False):
    """The usage report; `cached_tokens` are part of the model's input."""

    tokens: WireTokens | None = None
    billed_units: WireTokens | None = None
    cached_tokens: Count = None


class WireDelta(msgspec.Struct, gc=False):
    """Addition of one event; finish word, usage and error come with `message-end`."""

    message: WireMessage | None = None
    finish_reason: str | None = None
    usage: WireUsage | None = None
    error: object = None


class WireEvent(msgspec.Struct, gc=False):
    """One event of a stream. An error has `message`, or `error`, and no type."""

    type: str | None = None
    index: int | None = None
    delta: WireDelta | None = None
    id: str | int | None = None
    message: object = None
    error: object = None


class WireKind(msgspec.Struct, gc=False):
    """The type of an event whose other fields could not be read."""

    type: str | None = None


class WireAnswer(msgspec.Struct, gc=False):
    """A whole answer; an error body has its sentence in place of the message."""

    id: str | int | None = None
    message: WireMessage | str | None = None
    finish_reason: str | None = None
    usage: WireUsage | None = None
    error: object = None


class WireModel(msgspec.Struct):
    """One model of https://docs.cohere.com/reference/list-models (read 2026-11-30)."""

    name: str | None = None
    context_length: Count = None
    endpoints: list[str] | None = None
    features: list[str] | None = None


class WireModels(msgspec.Struct):
    """A page of the list of models."""

    models: list[WireModel]


class ReplayEntry(msgspec.Struct):
    """State of one block: `plan` marks reasoning that came as `tool_plan`."""

    plan: bool = False


class ReplayState(msgspec.Struct):
    """Replay state of one assistant turn: what its blocks do not say, and its citations as they came."""

    blocks: tuple[ReplayEntry | None, ...]
    citations: tuple[str, ...] = ()


class Malformed(ValueError):
    """A part of an answer that this wire does not allow."""
