"""Bytes and time: HTTP/1.1 connections, deadlines, framing. Knows no messages; alone imports the HTTP parser."""

from limen.transport._connection import HttpRequest
from limen.transport._http import HttpAnswer, Transport
from limen.transport._options import TransportOptions

__all__ = [
    "HttpAnswer",
    "HttpRequest",
    "Transport",
    "TransportOptions",
]
