"""The blocks of one answer: opened in order, filled by deltas, closed with what the deltas assemble to (C1-C4, C8)."""

from typing import Literal, TypeAlias

from limen.adapters.kit._ids import CallIds
from limen.contract import (
    BlockEnd,
    BlockStart,
    IdSeed,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    StreamBlock,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    replace_surrogates,
)


class OpenText:
    """Text or reasoning in flight; `index` is -1 until its first text, `parts` the text so far.

    `half` is half of a surrogate pair that waits for the other (S5).
    """

    __slots__ = ("ended", "half", "index", "kind", "parts")

    def __init__(self, kind: Literal["text", "reasoning"]) -> None:
        self.kind: Literal["text", "reasoning"] = kind
        self.index: int = -1
        self.ended: bool = False
        self.parts: list[str] = []
        self.half: str = ""

    @property
    def is_blank(self) -> bool:
        """Tell whether the text so far is white space only (C12)."""
        return not any(part.strip() for part in self.parts)


class OpenCall:
    """A tool call in flight; `index` is -1 until it opens, `parts` its arguments so far.

    `waiting` holds blank text with which the arguments began: arguments that stay blank become `{}` (C8).
    """

    __slots__ = ("ended", "half", "id", "index", "name", "parts", "waiting")

    def __init__(self, call_id: str = "", name: str = "") -> None:
        self.id: str = call_id
        self.name: str = name
        self.index: int = -1
        self.ended: bool = False
        self.parts: list[str] = []
        self.half: str = ""
        self.waiting: str = ""


class OpenImage:
    """An image, which has no deltas (C1)."""

    __slots__ = ("ended", "image", "index")

    def __init__(self, image: ImageBlock) -> None:
        self.image: ImageBlock = image
        self.index: int = -1
        self.ended: bool = False


OpenBlock: TypeAlias = OpenText | OpenCall | OpenImage


class Blocks:
    """The blocks of one answer; every method appends chunks to the list given.

    `opened` holds the blocks in index order. `careful` is set once an event held half a surrogate pair: until then
    none is looked for (S5). `ids` gives the calls' ids.
    """

    __slots__ = ("careful", "ids", "opened")

    def __init__(self, id_seed: IdSeed = b"") -> None:
        self.careful: bool = False
        self.ids: CallIds = CallIds(id_seed)
        self.opened: list[OpenBlock] = []

    def add(self, block: OpenText, text: str, out: list[StreamChunk]) -> None:
        """Add to a text or reasoning block; it opens at its first text (C13)."""
        if self.careful:
            text, block.half = join_halves(block.half, text)
        if not text:
            return
        if block.index < 0:
            block.index = len(self.opened)
            self.opened.append(block)
            out.append(BlockStart(block.index, block.kind))
        block.parts.append(text)
        delta = TextDelta if block.kind == "text" else ReasoningDelta
        out.append(delta(block.index, text))

    def open_call(self, call: OpenCall, out: list[StreamChunk]) -> None:
        """Open a call that has its id and name, with the arguments that are there already."""
        call.index = len(self.opened)
        self.opened.append(call)
        out += (BlockStart(call.index, "tool-call"), ToolCallDelta(call.index, call.id, call.name, "".join(call.parts)))

    def add_arguments(self, call: OpenCall, text: str, out: list[StreamChunk]) -> None:
        """Add to a call's arguments, as they came (C8); those of a call that is not open yet are kept."""
        if self.careful:
            text, call.half = join_halves(call.half, text)
        if not text:
            return
        if not call.parts:
            if text.isspace():
                call.waiting += text
                return
            text, call.waiting = call.waiting + text, ""
        call.parts.append(text)
        if call.index >= 0:
            out.append(ToolCallDelta(call.index, call.id, None, text))

    def show(self, image: ImageBlock, out: list[StreamChunk]) -> None:
        """Open an image."""
        block = OpenImage(image)
        block.index = len(self.opened)
        self.opened.append(block)
        out.append(BlockStart(block.index, "image"))

    def flush(self, block: OpenBlock, out: list[StreamChunk]) -> None:
        """Let a half that waits for its other half become U+FFFD, since no more will come (S5)."""
        if isinstance(block, OpenImage) or not block.half:
            return
        block.half = ""
        if isinstance(block, OpenText):
            self.add(block, "\ufffd", out)
        else:
            self.add_arguments(block, "\ufffd", out)

    def end(self, block: OpenBlock, out: list[StreamChunk], *, cut: bool = False) -> None:
        """Close a block that has opened; `cut` where a token limit may have cut it (C17).

        A complete call without arguments gets `{}` as one made delta (C8); a cut one stays as it came.
        """
        block.ended = True
        self.flush(block, out)
        if isinstance(block, OpenCall) and not block.parts:
            made = block.waiting if cut else "{}"
            if made:
                block.parts.append(made)
                out.append(ToolCallDelta(block.index, block.id, None, made))
        out.append(BlockEnd(block.index, _assembled(block)))

    def end_all(self, out: list[StreamChunk], *, cut: bool = False) -> None:
        """Close every block that is still open, in index order (C7)."""
        for block in self.opened:
            if not block.ended:
                self.end(block, out, cut=cut)


def _assembled(block: OpenBlock) -> StreamBlock:
    if isinstance(block, OpenImage):
        return block.image
    text = "".join(block.parts)
    if isinstance(block, OpenCall):
        return ToolCallBlock(block.id, block.name, text)
    return TextBlock(text) if block.kind == "text" else ReasoningBlock(text)


def join_halves(half: str, text: str) -> tuple[str, str]:
    """Join a waiting half of a surrogate pair with the next text; return the text, and the half it ends in (S5)."""
    text = half + text
    half = text[-1:]
    if "\ud800" <= half <= "\udbff":
        return replace_surrogates(text[:-1]), half
    return replace_surrogates(text), ""
