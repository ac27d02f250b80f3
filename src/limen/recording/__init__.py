"""Recorded traffic: recording with redaction, replay without a network, and timelines.

`Recorder` writes the traffic of calls to a cassette; `CassetteAdapter` and `Replay` read it through the real parser;
`trace_exchange` makes a timeline of it, and `render_text` and `render_html` draw one. Wires are parameters: this
package knows none.
"""

from limen.recording._cassette import (
    SCHEMA_VERSION,
    Cassette,
    CassetteWriter,
    Exchange,
    Read,
    RecordedRequest,
    RecordedResponse,
    decode_cassette,
    encode_cassette,
    write_atomically,
)
from limen.recording._match import Difference, differences
from limen.recording._page import render_html
from limen.recording._recorder import Recorder
from limen.recording._redact import Redaction
from limen.recording._render import render_text
from limen.recording._replay import CassetteAdapter, Replay, TimedChunk
from limen.recording._trace import Gap, Timeline, Trace, TracedBlock, TracedDelta, trace_chunks, trace_exchange

__all__ = [
    "SCHEMA_VERSION",
    "Cassette",
    "CassetteAdapter",
    "CassetteWriter",
    "Difference",
    "Exchange",
    "Gap",
    "Read",
    "RecordedRequest",
    "RecordedResponse",
    "Recorder",
    "Redaction",
    "Replay",
    "TimedChunk",
    "Timeline",
    "Trace",
    "TracedBlock",
    "TracedDelta",
    "decode_cassette",
    "differences",
    "encode_cassette",
    "render_html",
    "render_text",
    "trace_chunks",
    "trace_exchange",
    "write_atomically",
]
