"""Typed answers: the text of a response as a value of a type (X9)."""

from typing import Final, TypeVar

import msgspec

from limen.contract import _codes as codes
from limen.contract._errors import LlmError, foreign_text
from limen.contract._json import TooDeep, loads
from limen.contract._redact import scrub
from limen.contract._response import Response
from limen.contract._schemas import SchemaFault, TypeSchema

T = TypeVar("T")

_JSON: Final = msgspec.json.Decoder(object)
_MESSAGE_MAX: Final = 1_024
"""Code points of a message: a validator may quote the whole answer."""


def parse_answer(response: Response, kind: type[T]) -> T:
    """Return a response's text as a value of the type; `INVALID_OUTPUT`, or `INVALID_OPTIONS` for an unusable type."""
    try:
        schema = TypeSchema(kind)
    except SchemaFault as fault:
        raise LlmError(str(fault), codes.INVALID_OPTIONS) from None
    try:
        return schema.read(loads(response.text, _JSON))
    except (msgspec.DecodeError, TooDeep) as fault:
        words = f"$: the answer is not JSON: {fault}"
    except SchemaFault as fault:
        words = str(fault)
    except Exception as fault:  # noqa: BLE001 - a type's own code may raise anything
        words = f"$: {foreign_text(fault)}"
    if response.finish.kind != "stop":
        words = f"{words} (the answer finished as {response.finish.kind})"
    failure = LlmError(scrub(words)[:_MESSAGE_MAX], codes.INVALID_OUTPUT, phase="mid-stream")
    failure.partial = response
    raise failure
