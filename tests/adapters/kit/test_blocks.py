"""Blocks: opening, deltas, ends, halves of characters and arguments that stay blank (C1-C4, C8, C13, S5)."""

import pytest

from limen.adapters.kit import Blocks, OpenCall, OpenText
from limen.contract import (
    BlockEnd,
    BlockStart,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
)


def test_blocks_open_in_order_and_end_with_what_their_deltas_say() -> None:
    """Indexes follow the order of opening, and each end holds the joined deltas (C1, C2, C4)."""
    blocks, out = Blocks(), list[StreamChunk]()
    reasoning, text, call = OpenText("reasoning"), OpenText("text"), OpenCall("c", "f")
    image = ImageBlock("image/png", b"x")

    blocks.add(reasoning, "Hm", out)
    blocks.add(text, "", out)
    blocks.add(text, "a", out)
    blocks.open_call(call, out)
    blocks.add_arguments(call, '{"x"', out)
    blocks.add(reasoning, "m", out)
    blocks.add_arguments(call, ":1}", out)
    blocks.show(image, out)
    blocks.end(text, out)
    blocks.end_all(out)

    assert out == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "Hm"),
        BlockStart(1, "text"),
        TextDelta(1, "a"),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "c", "f", ""),
        ToolCallDelta(2, "c", None, '{"x"'),
        ReasoningDelta(0, "m"),
        ToolCallDelta(2, "c", None, ":1}"),
        BlockStart(3, "image"),
        BlockEnd(1, TextBlock("a")),
        BlockEnd(0, ReasoningBlock("Hmm")),
        BlockEnd(2, ToolCallBlock("c", "f", '{"x":1}')),
        BlockEnd(3, image),
    ]


@pytest.mark.parametrize(
    ("pieces", "cut", "arguments"),
    [
        ([], False, "{}"),
        (["", ""], False, "{}"),
        ([" ", "\n"], False, "{}"),
        ([" ", "{}"], False, " {}"),
        ([], True, ""),
        ([" ", "\n"], True, " \n"),
        (["{"], True, "{"),
    ],
)
def test_a_complete_call_without_arguments_is_an_empty_object(pieces: list[str], cut: bool, arguments: str) -> None:
    """A complete call without argument text, or with blank text only, is `{}`; a cut one stays as it came (C8)."""
    blocks, out, call = Blocks(), list[StreamChunk](), OpenCall("c", "f")
    blocks.open_call(call, out)
    for piece in pieces:
        blocks.add_arguments(call, piece, out)
    blocks.end_all(out, cut=cut)

    deltas = "".join(chunk.arguments_delta for chunk in out if isinstance(chunk, ToolCallDelta))
    assert (deltas, out[-1]) == (arguments, BlockEnd(0, ToolCallBlock("c", "f", arguments)))


def test_arguments_wait_for_the_call_to_open() -> None:
    """Fragments that come before the call may open are its first delta (W4)."""
    blocks, out, call = Blocks(), list[StreamChunk](), OpenCall("c", "f")
    blocks.add_arguments(call, "{", out)
    blocks.add_arguments(call, "}", out)
    assert out == []
    blocks.open_call(call, out)

    assert out == [BlockStart(0, "tool-call"), ToolCallDelta(0, "c", "f", "{}")]


def test_halves_of_a_character_are_joined_across_deltas() -> None:
    """Half a surrogate pair waits for its other half in the same block; one that stays alone is U+FFFD (S5)."""
    blocks, out = Blocks(), list[StreamChunk]()
    blocks.careful = True
    text, call = OpenText("text"), OpenCall("c", "f")
    blocks.open_call(call, out)
    blocks.add(text, "a\ud83d", out)
    blocks.add_arguments(call, '"\ud83d', out)
    blocks.add(text, "\ude00\ud83d", out)
    blocks.add_arguments(call, '\ude00"\ud83d', out)
    blocks.end_all(out)

    assert out[-4:] == [
        ToolCallDelta(0, "c", None, "\ufffd"),
        BlockEnd(0, ToolCallBlock("c", "f", '"😀"\ufffd')),
        TextDelta(1, "\ufffd"),
        BlockEnd(1, TextBlock("a😀\ufffd")),
    ]


def test_blank_text() -> None:
    """Text of white space only says nothing (C12)."""
    blocks, out, text = Blocks(), list[StreamChunk](), OpenText("text")
    assert text.is_blank
    blocks.add(text, " \n", out)
    assert text.is_blank
    blocks.add(text, "a", out)
    assert not text.is_blank


def test_an_image_has_nothing_to_flush() -> None:
    """Images have no deltas and no halves (C1)."""
    blocks, out = Blocks(), list[StreamChunk]()
    blocks.show(ImageBlock(url="https://a.example/x.png"), out)
    blocks.flush(blocks.opened[0], out)

    assert out == [BlockStart(0, "image")]
