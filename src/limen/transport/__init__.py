"""Bytes and time: HTTP/1.1 connections, deadlines, framing. Knows no messages; alone imports the HTTP parser."""

from limen.transport._http import HttpAnswer, Transport
from limen.transport._options import TransportOptions
from limen.transport._request import HttpRequest

__all__ = [
    "HttpAnswer",
    "HttpRequest",
    "Transport",
    "TransportOptions",
]
