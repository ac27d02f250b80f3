"""Turns of a script as calls of a wire's encoder: chunks, and what a script has beside chunks."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeAlias, assert_never

from limen.contract import (
    BlockEnd,
    BlockStart,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
)
from limen.testing.scripts import Part, Raw, Reasoning, Refusal, Send, Text, ToolCall, Turn, Usage, pieces
from limen.views import WireEncoder, WireEvent


class _Signature(NamedTuple):
    block: int
    text: str


class _Opaque(NamedTuple):
    data: str


class _RefusalPiece(NamedTuple):
    text: str


_Item: TypeAlias = StreamChunk | Raw | _Signature | _Opaque | _RefusalPiece


def content_sends(encoder: WireEncoder, turn: Turn, *, hides_reasoning: bool) -> list[Send]:
    """Return the parts of a turn as sends: one part after the other, or mixed where the turn says so.

    `hides_reasoning`: the wire has a block for reasoning that is redacted; elsewhere its text is sent.
    """
    sends: list[Send] = []
    for item in _items(turn, hides_reasoning=hides_reasoning):
        if isinstance(item, Raw):
            sends.append(Send("noise", item.data.encode()))
        else:
            sends += sends_of(_events(encoder, item))
    return sends


def sends_of(events: Sequence[WireEvent]) -> list[Send]:
    """Return an encoder's events as steps of an answer."""
    return [Send(event.kind, event.data) for event in events]


def usage_of(usage: Usage) -> TokenUsage:
    """Return a script's counts as limen's."""
    return TokenUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        reasoning_tokens=usage.reasoning,
    )


def _events(encoder: WireEncoder, item: StreamChunk | _Signature | _Opaque | _RefusalPiece) -> list[WireEvent]:
    if isinstance(item, _Signature):
        return encoder.signature(item.block, item.text)
    if isinstance(item, _Opaque):
        return encoder.opaque(item.data)
    if isinstance(item, _RefusalPiece):
        return encoder.refusal(item.text)
    return encoder.events(item)


def _items(turn: Turn, *, hides_reasoning: bool) -> Iterator[_Item]:
    parts: list[list[_Item]] = []
    blocks = 0
    for part in turn.parts:
        parts.append(list(_part(part, blocks, hides_reasoning=hides_reasoning)))
        blocks += any(isinstance(item, BlockStart) for item in parts[-1])
    for row in zip_longest(*parts) if turn.interleave else parts:
        yield from (item for item in row if item is not None)


def _part(part: Part, index: int, *, hides_reasoning: bool) -> Iterator[_Item]:
    match part:
        case Text():
            yield BlockStart(index, "text")
            yield from (TextDelta(index, piece) for piece in pieces(part.text))
            yield BlockEnd(index, TextBlock("".join(pieces(part.text))))
        case Reasoning(redacted=str(data)) if hides_reasoning:
            yield _Opaque(data)
        case Reasoning():
            yield BlockStart(index, "reasoning")
            yield from (ReasoningDelta(index, piece) for piece in pieces(part.text))
            yield _Signature(index, part.signature)
            yield BlockEnd(index, ReasoningBlock("".join(pieces(part.text))))
        case ToolCall():
            yield BlockStart(index, "tool-call")
            yield ToolCallDelta(index, part.id, part.name, "")
            yield from (ToolCallDelta(index, part.id, None, piece) for piece in pieces(part.arguments))
            yield BlockEnd(index, ToolCallBlock(part.id, part.name, "".join(pieces(part.arguments))))
        case Refusal():
            yield from (_RefusalPiece(piece) for piece in pieces(part.text))
        case Raw():
            yield part
        case _:
            assert_never(part)
