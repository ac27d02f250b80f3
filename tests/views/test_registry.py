"""`limen.views`: the registry of encoders, and what they share."""

import subprocess
import sys

import pytest

import limen
from limen.contract import (
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Finish,
    LlmError,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from limen.views import ENCODERS, encoder


def test_every_wire_has_an_encoder() -> None:
    """Each entry of the registry makes an encoder of that wire, new for every answer."""
    for wire in ENCODERS:
        one, other = (encoder(wire, model="m", id="1") for _ in range(2))
        assert (one.wire, one is other) == (wire, False)


def test_every_wire_is_one_that_limen_reads() -> None:
    """There is no encoder for a wire that limen does not know."""
    assert set(ENCODERS) <= set(limen.wires())


def test_an_unknown_wire() -> None:
    """A wire without an encoder is UNSUPPORTED, with the names of those that have one."""
    with pytest.raises(LlmError, match="openai-chat, anthropic-messages") as caught:
        encoder("telegraph", model="m", id="1")

    assert caught.value.code == "UNSUPPORTED"


@pytest.mark.parametrize("wire", sorted(ENCODERS))
def test_the_same_chunks_give_the_same_bytes(wire: str) -> None:
    """An encoder is pure: nothing but its arguments and the chunks is in its bytes (V1)."""
    chunks: list[StreamChunk] = [BlockStart(0, "text"), TextDelta(0, "Grüße"), Finish(STOP)]
    answers = []
    for _ in range(2):
        one = encoder(wire, model="m", id="1")
        answers.append([one.feed(chunk) for chunk in chunks])

    assert answers[0] == answers[1]
    assert "Grüße".encode() in b"".join(answers[0][1])


@pytest.mark.parametrize("wire", sorted(ENCODERS))
def test_endings_are_taken_once(wire: str) -> None:
    """Whatever ends an answer a second time adds nothing (V2)."""
    one = encoder(wire, model="m", id="1")
    ended = one.close("stop")

    assert (len(ended) > 0, one.close("stop"), one.begin(), one.eof()) == (True, [], [], [])


@pytest.mark.parametrize("wire", sorted(ENCODERS))
def test_an_early_report_of_counts(wire: str) -> None:
    """Counts that are told along the way are replaced by the last ones (W7)."""
    one = encoder(wire, model="m", id="1")
    events = one.feed(BlockStart(0, "text")) + one.feed(TextDelta(0, "a"))
    events += [event.data for event in one.early_usage(TokenUsage(input_tokens=3, output_tokens=1))]
    events += one.feed(BlockEnd(0, TextBlock("a")))
    events += one.feed(UsageChunk(TokenUsage(input_tokens=3, output_tokens=7))) + one.feed(Finish(STOP))
    (usage,) = [chunk.usage for chunk in limen.iter_chunks(wire, events) if isinstance(chunk, UsageChunk)]

    assert (usage.input_tokens, usage.output_tokens) == (3, 7)


@pytest.mark.parametrize("wire", sorted(ENCODERS))
def test_half_a_surrogate_pair_is_escaped(wire: str) -> None:
    """Half a pair, which UTF-8 cannot hold, is written as its escape; proved chunks have none."""
    one = encoder(wire, model="m", id="1")
    one.feed(BlockStart(0, "text"))

    assert b'"\\ud83d"' in b"".join(one.feed(TextDelta(0, "\ud83d")))
    one.feed(BlockStart(1, "tool-call"))
    one.feed(ToolCallDelta(1, "call_1", "f", '{"x":[1]}'))
    one.feed(Finish(TOOL_CALLS))
    whole = one.whole().body
    assert (b'"\\ud83d"' in whole, b'"x' in whole.replace(b"\\", b"")) == (True, True)


def test_the_views_stay_light() -> None:
    """`limen.views` loads the vocabulary and nothing else of limen, no event loop and no HTTP library."""
    program = (
        "import sys, limen.views; limen.views.encoder('openai-chat', model='m', id='1'); "
        "print(sorted(name for name in sys.modules if name in ('asyncio', 'httptools', 'h11') or "
        "name.startswith('limen.') and name.split('.')[1] not in ('contract', 'views', '_version')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"
