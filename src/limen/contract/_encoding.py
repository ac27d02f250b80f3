"""JSON encoding of the vocabulary: `encode`, `decode` and the typed `decode_*` (section 1)."""

from collections.abc import Iterator
from functools import cache
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

from limen.contract import _codes as codes
from limen.contract._abort import AbortSignal
from limen.contract._chunks import Finish, StreamChunk
from limen.contract._errors import LlmError
from limen.contract._json import TooDeep, dumps_lossless, json_fault, loads
from limen.contract._messages import Message
from limen.contract._options import GenerateOptions
from limen.contract._response import Response
from limen.contract._tools import JsonSchema

T = TypeVar("T")


@runtime_checkable
class HasJson(Protocol):
    """A value with JSON of its own, such as an event of a view."""

    def to_json(self) -> bytes:
        """Return the value as JSON."""
        ...


def encode(value: object) -> bytes:
    """Return a value of the vocabulary as JSON; `decode` of its class gives it back equal.

    The signal and the timeouts of a call are left out. A number that is not JSON is `INVALID_OPTIONS` (Q8). An event
    of a view (V1) is encoded as the other protocol's JSON.
    """
    if isinstance(value, HasJson):
        return value.to_json()
    if isinstance(value, GenerateOptions):
        value = _without_live_parts(value)
    for path, part in _free_parts(value):
        fault = json_fault(part, path)
        if fault is not None:
            raise LlmError(fault, codes.INVALID_OPTIONS)
    try:
        return dumps_lossless(value)
    except (TypeError, RecursionError) as error:
        raise LlmError(f"{type(value).__name__} is not a value of limen: {error}", codes.INVALID_OPTIONS) from None


def _free_parts(value: object) -> Iterator[tuple[str, object]]:
    """Return the parts with free content, in which msgspec would silently write a NaN as `null` (Q8)."""
    if isinstance(value, (Message, Finish, Response)):
        yield "replay_state", value.replay_state
    if not isinstance(value, GenerateOptions):
        return
    for name in ("temperature", "top_p", "extra"):
        yield name, getattr(value, name)
    for index, tool in enumerate(value.tools or ()):
        yield f"tools[{index}].parameters", tool.parameters
    if isinstance(value.response_format, JsonSchema):
        yield "response_format.schema", value.response_format.schema
    for index, message in enumerate(value.messages):
        if message.replay_state is not None:
            yield f"messages[{index}].replay_state", message.replay_state


def _without_live_parts(options: GenerateOptions) -> GenerateOptions:
    if options.signal is None and options.timeouts is None:
        return options
    return msgspec.structs.replace(options, signal=None, timeouts=None)


def _no_signal(kind: type, value: object) -> object:
    if kind is AbortSignal:
        # A signal is never encoded, so a field of that name in foreign JSON is an unknown field.
        return AbortSignal()
    if kind is object:
        # msgspec calls the hook for fields declared `object` too; they hold any JSON.
        return value
    raise NotImplementedError(kind)


def _read(data: bytes | str, decoder: "msgspec.json.Decoder[T]", name: str) -> T:
    try:
        return loads(data, decoder)
    except (msgspec.DecodeError, TooDeep, ValueError) as fault:
        raise LlmError(f"this is not the JSON of {name}: {fault}", codes.MALFORMED_RESPONSE) from None


# A decoder is made at its first use: each costs as much as the module does to load.


@cache
def _chunks() -> "msgspec.json.Decoder[StreamChunk]":
    return msgspec.json.Decoder(StreamChunk)


@cache
def _messages() -> msgspec.json.Decoder[Message]:
    return msgspec.json.Decoder(Message)


@cache
def _options() -> msgspec.json.Decoder[GenerateOptions]:
    return msgspec.json.Decoder(GenerateOptions, dec_hook=_no_signal)


@cache
def _responses() -> msgspec.json.Decoder[Response]:
    return msgspec.json.Decoder(Response)


def decode_chunk(data: bytes | str) -> StreamChunk:
    """Read one chunk; unknown fields are ignored, an unknown tag is `MALFORMED_RESPONSE`."""
    return _read(data, _chunks(), "a chunk")


def decode_message(data: bytes | str) -> Message:
    """Read one message; anything else is `MALFORMED_RESPONSE`."""
    return _read(data, _messages(), "a message")


def decode_options(data: bytes | str) -> GenerateOptions:
    """Read a request; anything else is `MALFORMED_RESPONSE`. The result has neither signal nor timeouts."""
    return _without_live_parts(_read(data, _options(), "a request"))


def decode_response(data: bytes | str) -> Response:
    """Read a collected answer; anything else is `MALFORMED_RESPONSE`."""
    return _read(data, _responses(), "a response")


def decode(kind: type[T], data: bytes | str) -> T:
    """Read a value of one class of the vocabulary; anything else is `MALFORMED_RESPONSE`."""
    return _read(data, msgspec.json.Decoder(kind, dec_hook=_no_signal), getattr(kind, "__name__", "that type"))
