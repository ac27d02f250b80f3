"""Stable error codes, each with its meaning (E3).

Codes are the thing to route on; messages are for people. `HTTP_<n>` is the one open family: any status
>= 300 that no other rule names.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

Phase: TypeAlias = Literal["resolve", "connect", "headers", "first-event", "mid-stream"]
PHASES: Final = frozenset({"resolve", "connect", "headers", "first-event", "mid-stream"})

AUTH: Final = "AUTH"
QUOTA: Final = "QUOTA"
RATE_LIMIT: Final = "RATE_LIMIT"
CONTEXT_WINDOW_EXCEEDED: Final = "CONTEXT_WINDOW_EXCEEDED"
INVALID_REQUEST: Final = "INVALID_REQUEST"
MODEL_NOT_FOUND: Final = "MODEL_NOT_FOUND"
CONTENT_FILTER: Final = "CONTENT_FILTER"
OVERLOADED: Final = "OVERLOADED"
SERVER: Final = "SERVER"
TRANSPORT: Final = "TRANSPORT"
TIMEOUT: Final = "TIMEOUT"
ABORTED: Final = "ABORTED"
STREAM_CLOSED: Final = "STREAM_CLOSED"
MALFORMED_RESPONSE: Final = "MALFORMED_RESPONSE"
UNKNOWN_FINISH: Final = "UNKNOWN_FINISH"
EMPTY_RESPONSE: Final = "EMPTY_RESPONSE"
UNSUPPORTED: Final = "UNSUPPORTED"
UNSUPPORTED_CONTENT: Final = "UNSUPPORTED_CONTENT"
UNSUPPORTED_REASONING_EFFORT: Final = "UNSUPPORTED_REASONING_EFFORT"
MISSING_CREDENTIAL: Final = "MISSING_CREDENTIAL"
INVALID_CREDENTIAL: Final = "INVALID_CREDENTIAL"
INVALID_OPTIONS: Final = "INVALID_OPTIONS"
INVALID_REPLAY_STATE: Final = "INVALID_REPLAY_STATE"
NO_ADAPTER: Final = "NO_ADAPTER"
DUPLICATE_ADAPTER: Final = "DUPLICATE_ADAPTER"
INVALID_ADAPTER: Final = "INVALID_ADAPTER"
REGISTRATION_DISPOSED: Final = "REGISTRATION_DISPOSED"
INVALID_PREPARED_CALL: Final = "INVALID_PREPARED_CALL"
INVALID_CATALOG: Final = "INVALID_CATALOG"
INVALID_MODEL_INFO: Final = "INVALID_MODEL_INFO"
INVALID_CONFIG: Final = "INVALID_CONFIG"
PROTOCOL_VIOLATION: Final = "PROTOCOL_VIOLATION"
INVALID_OUTPUT: Final = "INVALID_OUTPUT"
INVALID_TOOL_DEFINITION: Final = "INVALID_TOOL_DEFINITION"
INVALID_TOOL_BATCH: Final = "INVALID_TOOL_BATCH"
DUPLICATE_TOOL_NAME: Final = "DUPLICATE_TOOL_NAME"
INVALID_TOOL_CALL: Final = "INVALID_TOOL_CALL"
TOOL_NOT_FOUND: Final = "TOOL_NOT_FOUND"
TOOL_ARGUMENTS_INVALID: Final = "TOOL_ARGUMENTS_INVALID"
TOOL_VALIDATION_FAILED: Final = "TOOL_VALIDATION_FAILED"
TOOL_CALL_DENIED: Final = "TOOL_CALL_DENIED"
TOOL_EXECUTION_FAILED: Final = "TOOL_EXECUTION_FAILED"
TOOL_TIMED_OUT: Final = "TOOL_TIMED_OUT"
TOOL_OUTPUT_SERIALIZATION_FAILED: Final = "TOOL_OUTPUT_SERIALIZATION_FAILED"
UNKNOWN: Final = "UNKNOWN"

ErrorCode: TypeAlias = Literal[
    "AUTH",
    "QUOTA",
    "RATE_LIMIT",
    "CONTEXT_WINDOW_EXCEEDED",
    "INVALID_REQUEST",
    "MODEL_NOT_FOUND",
    "CONTENT_FILTER",
    "OVERLOADED",
    "SERVER",
    "TRANSPORT",
    "TIMEOUT",
    "ABORTED",
    "STREAM_CLOSED",
    "MALFORMED_RESPONSE",
    "UNKNOWN_FINISH",
    "EMPTY_RESPONSE",
    "UNSUPPORTED",
    "UNSUPPORTED_CONTENT",
    "UNSUPPORTED_REASONING_EFFORT",
    "MISSING_CREDENTIAL",
    "INVALID_CREDENTIAL",
    "INVALID_OPTIONS",
    "INVALID_REPLAY_STATE",
    "NO_ADAPTER",
    "DUPLICATE_ADAPTER",
    "INVALID_ADAPTER",
    "REGISTRATION_DISPOSED",
    "INVALID_PREPARED_CALL",
    "INVALID_CATALOG",
    "INVALID_MODEL_INFO",
    "INVALID_CONFIG",
    "PROTOCOL_VIOLATION",
    "INVALID_OUTPUT",
    "INVALID_TOOL_DEFINITION",
    "INVALID_TOOL_BATCH",
    "DUPLICATE_TOOL_NAME",
    "INVALID_TOOL_CALL",
    "TOOL_NOT_FOUND",
    "TOOL_ARGUMENTS_INVALID",
    "TOOL_VALIDATION_FAILED",
    "TOOL_CALL_DENIED",
    "TOOL_EXECUTION_FAILED",
    "TOOL_TIMED_OUT",
    "TOOL_OUTPUT_SERIALIZATION_FAILED",
    "UNKNOWN",
]
"""Every code that limen itself uses, beside the open family `HTTP_<n>`; a checker completes these words."""

if TYPE_CHECKING:
    Code: TypeAlias = ErrorCode | str
else:
    # msgspec takes one kind of string in a union; a code is checked when its failure is made.
    Code = str
"""Code of a failure: an `ErrorCode`, `HTTP_<n>`, or a word of a foreign adapter (E4)."""

CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        AUTH: "401, 403, or the provider's own code says that the key is refused",
        QUOTA: "balance, credit, spend or a per-day quota is exhausted, whatever the status",
        RATE_LIMIT: "any other 429: wait and try again",
        CONTEXT_WINDOW_EXCEEDED: "the request does not fit the model's context",
        INVALID_REQUEST: "any other 400, 413, 422, 409 or 424",
        MODEL_NOT_FOUND: "the body or the provider's code says that the model is unknown",
        CONTENT_FILTER: "the provider refused or filtered; a refusal's text is the message",
        OVERLOADED: "529, 503 with such a body, or an overload event",
        SERVER: "any other 5xx, in-stream errors that nothing classifies better, finish words of failure",
        TRANSPORT: "DNS, refused, TLS, proxy, reset, closed before an answer, invalid transfer encoding",
        TIMEOUT: "a limit of T1 passed (the phase says which); 408, 504, 524",
        ABORTED: "the caller's signal, or the stream was left early",
        STREAM_CLOSED: "the peer ended the body before the wire was complete",
        MALFORMED_RESPONSE: "bytes, JSON, shape or order that the wire does not allow, or over a limit",
        UNKNOWN_FINISH: "a finish word that nobody documented; provider_code is the word",
        EMPTY_RESPONSE: "a stop without any content (C12)",
        UNSUPPORTED: "an option that this wire, dialect or model cannot honour; before any I/O",
        UNSUPPORTED_CONTENT: "a content block that this wire, dialect or model cannot take; before any I/O",
        UNSUPPORTED_REASONING_EFFORT: "an effort outside the known list; before any I/O",
        MISSING_CREDENTIAL: "a route needs a key and none was found; the message names every place (K4)",
        INVALID_CREDENTIAL: "a key that no header can carry; the message names its reference only (K3)",
        INVALID_OPTIONS: "a request that is wrong by itself",
        INVALID_REPLAY_STATE: "replay state of this version that does not validate",
        NO_ADAPTER: "no adapter is registered for the route",
        DUPLICATE_ADAPTER: "a route name is taken, or named twice in one registration",
        INVALID_ADAPTER: "a route name is empty, a registration has no route, or its metadata is malformed",
        REGISTRATION_DISPOSED: "replace() on a registration that was disposed",
        INVALID_PREPARED_CALL: "a prepared call used twice, or with options that changed",
        INVALID_CATALOG: "an adapter's model list is malformed",
        INVALID_MODEL_INFO: "an adapter's answer for one model is malformed",
        INVALID_CONFIG: "configuration that does not validate; the message names file, line or key path",
        PROTOCOL_VIOLATION: "an adapter broke a C-rule; the message names it",
        INVALID_OUTPUT: "an answer that does not validate against its type; the message has the path (X9)",
        INVALID_TOOL_DEFINITION: "a tool whose name, description, schema or functions are not usable (X1)",
        INVALID_TOOL_BATCH: "what was to be registered is no sequence of tools (X2)",
        DUPLICATE_TOOL_NAME: "a tool name is taken, or named twice in one batch (X2)",
        INVALID_TOOL_CALL: "what was to be executed is no complete tool call (X3)",
        TOOL_NOT_FOUND: "a call names a tool that was not offered; a result for the model (X3)",
        TOOL_ARGUMENTS_INVALID: "arguments that are no JSON object or do not validate; a result for the model (X3)",
        TOOL_VALIDATION_FAILED: "a validator raised or did not decide; a result for the model (X3)",
        TOOL_CALL_DENIED: "the hook before a call denied it; a result for the model (X8)",
        TOOL_EXECUTION_FAILED: "a tool raised; a result for the model (X3)",
        TOOL_TIMED_OUT: "a tool ran past its own timeout; a result for the model (X3)",
        TOOL_OUTPUT_SERIALIZATION_FAILED: "a tool's output is not data; a result for the model (X5)",
        UNKNOWN: "a foreign exception: nothing is known, so nothing is claimed (E4)",
    }
)


def http_code(status: int) -> str:
    """Return the code of the open family for a status that no other rule names: `HTTP_418`."""
    return f"HTTP_{status}"
