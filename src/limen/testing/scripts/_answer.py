"""One HTTP answer as a list of steps, so that a fault is an edit of a list."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from limen.views import EventKind, WireError

Kind: TypeAlias = EventKind
ProviderError: TypeAlias = WireError


class Send(msgspec.Struct, frozen=True):
    """Write these bytes of the body at once; `kind` is their part in the answer."""

    kind: Kind
    data: bytes


class Stall(msgspec.Struct, frozen=True):
    """Stay silent until the test releases the request or the client goes away."""


class RepeatForever(msgspec.Struct, frozen=True):
    """Write these bytes again and again, `every_ms` milliseconds apart.

    It ends when the test releases the request or the client goes away.
    """

    data: bytes
    every_ms: float = 10


class Reset(msgspec.Struct, frozen=True):
    """Reset the connection: SO_LINGER 0, so that the client sees RST and no orderly end."""


class HangUp(msgspec.Struct, frozen=True):
    """Close the connection in the middle of the HTTP message: FIN, with the body's framing unfinished."""


class BrokenFraming(msgspec.Struct, frozen=True):
    """Write an invalid chunk size, then close."""


Step: TypeAlias = Send | Stall | RepeatForever | Reset | HangUp | BrokenFraming


class Answer(msgspec.Struct, frozen=True):
    """Status, headers and body of one answer, and what happens before its head is sent.

    `framing` is how the body's end is told: chunks, a length (of all `Send` steps), or the connection's end.
    """

    status: int
    headers: Sequence[tuple[str, str]]
    steps: Sequence[Step]
    framing: Literal["chunked", "length", "close"] = "chunked"
    before_head: Sequence[Step] = ()
    delay_ms: float = 0

    def body(self) -> bytes:
        """All bytes of the body that will be sent."""
        return b"".join(step.data for step in self.steps if isinstance(step, Send))

    def with_header(self, name: str, value: str) -> "Answer":
        """Return the answer with one header set, in place of one of that name."""
        kept = [(key, text) for key, text in self.headers if key != name]
        return msgspec.structs.replace(self, headers=(*kept, (name, value)))

    def without_header(self, name: str) -> "Answer":
        """Return the answer without the header of that name."""
        return msgspec.structs.replace(self, headers=tuple(pair for pair in self.headers if pair[0] != name))


class RequestFacts(NamedTuple):
    """Facts of a request that choose and shape its answer: model, streamed or not, length of the history, counts."""

    model: str
    stream: bool
    assistant_messages: int
    include_usage: bool


ERRORS: Mapping[int, ProviderError] = {
    error.status: error
    for error in (
        ProviderError(400, "messages: wrong shape", "invalid_request_error"),
        ProviderError(401, "Incorrect API key provided", "authentication_error", "invalid_api_key"),
        ProviderError(402, "Insufficient Balance", "billing_error", "insufficient_balance"),
        ProviderError(403, "Your key may not use this", "permission_error"),
        ProviderError(404, "There is nothing here", "not_found_error"),
        ProviderError(408, "The request took too long", "timeout_error"),
        ProviderError(409, "The resource is busy", "conflict_error"),
        ProviderError(413, "The request body is too large", "request_too_large"),
        ProviderError(418, "I am a teapot", "teapot_error"),
        ProviderError(422, "temperature: out of range", "invalid_request_error"),
        ProviderError(429, "Too many requests, slow down", "rate_limit_error", "rate_limit_exceeded"),
        ProviderError(500, "The server had an error", "api_error"),
        ProviderError(503, "Service temporarily unavailable", "api_error"),
        ProviderError(504, "The upstream took too long", "timeout_error"),
        ProviderError(529, "Overloaded", "overloaded_error"),
    )
}
