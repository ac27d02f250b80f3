"""Bytes and time: HTTP, deadlines, framing. Knows no messages, and is the only place that imports the HTTP client."""

from limen.transport._headers import request_id, retry_after_ms, should_retry
from limen.transport._http import HttpAnswer, Transport
from limen.transport._options import TransportOptions, is_loopback
from limen.transport._request import HttpRequest

__all__ = [
    "HttpAnswer",
    "HttpRequest",
    "Transport",
    "TransportOptions",
    "is_loopback",
    "request_id",
    "retry_after_ms",
    "should_retry",
]
