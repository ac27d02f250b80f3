"""Bytes and time: HTTP, deadlines, framing. Knows no messages, and is the only place that imports the HTTP client."""

from limen.transport._http import HttpAnswer, HttpRequest, Transport
from limen.transport._options import TransportOptions, is_loopback

__all__ = [
    "HttpAnswer",
    "HttpRequest",
    "Transport",
    "TransportOptions",
    "is_loopback",
]
