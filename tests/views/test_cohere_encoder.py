"""The encoder of `cohere`: what its round trip over the adapter does not show."""

import json

from limen.contract import STOP, BlockEnd, BlockStart, Finish, StreamChunk, TextBlock, TextDelta
from limen.views import EncoderOptions, encoder

ANSWER: list[StreamChunk] = [
    BlockStart(0, "text"),
    TextDelta(0, "hi"),
    BlockEnd(0, TextBlock("hi")),
    Finish(STOP),
]


def test_a_matched_stop_sequence_has_a_word_of_its_own() -> None:
    """An answer that a stop sequence ended says `STOP_SEQUENCE`, streamed and whole."""
    encoding = encoder("cohere", model="command-a", id="x", options=EncoderOptions(created=0))
    encoding.stop_sequence = "END"
    events = b"".join([event for chunk in ANSWER for event in encoding.feed(chunk)] + encoding.eof())

    last = next(part for part in events.split(b"\n\n") if b"message-end" in part)
    assert json.loads(last.partition(b"data: ")[2]) == {
        "type": "message-end",
        "id": "x",
        "delta": {"finish_reason": "STOP_SEQUENCE"},
    }
    assert json.loads(encoding.whole().body)["finish_reason"] == "STOP_SEQUENCE"
