"""Framing: bytes to framed payloads, pure `feed()`/`eof()`; no clock, no I/O."""

from limen.transport.framing._eventstream import EventStreamDecoder, EventStreamFrame, HeaderValue
from limen.transport.framing._ndjson import NdjsonDecoder
from limen.transport.framing._sse import SseDecoder, SseEvent

__all__ = ["EventStreamDecoder", "EventStreamFrame", "HeaderValue", "NdjsonDecoder", "SseDecoder", "SseEvent"]
