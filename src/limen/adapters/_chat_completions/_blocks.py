"""The blocks of one answer, in the order in which they open (C2, C18)."""

from typing import Literal

from limen.adapters._chat_completions._calls import Call, MalformedCall, join_halves
from limen.contract import (
    BlockEnd,
    BlockStart,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    StreamBlock,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
)


class Spoken:
    """The text or the reasoning of the answer: `index` is -1 until its first delta.

    `half` is half of a surrogate pair that waits for the other (S5), `before` the last cumulative text (W10).
    """

    __slots__ = ("before", "half", "index", "kind", "parts")

    def __init__(self, kind: Literal["text", "reasoning"]) -> None:
        self.kind: Literal["text", "reasoning"] = kind
        self.index = -1
        self.parts: list[str] = []
        self.half = ""
        self.before = ""


class Blocks:
    """What is open: one text, one reasoning, any number of calls and images; all methods append to the chunks given.

    `careful` is set once an event held half a surrogate pair (S5): until then none is looked for.
    """

    __slots__ = ("careful", "opened", "reasoning", "text")

    def __init__(self) -> None:
        self.careful = False
        self.opened: list[Spoken | Call | ImageBlock] = []
        self.reasoning = Spoken("reasoning")
        self.text = Spoken("text")

    def add(self, block: Spoken, text: str, out: list[StreamChunk]) -> None:
        """Add to the text or the reasoning; it opens at its first text (C13)."""
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

    def start(self, call: Call, out: list[StreamChunk]) -> None:
        """Open a call that has its id, with the arguments that waited. Raises `MalformedCall` without a name (W4)."""
        if not call.name:
            raise MalformedCall(f"the tool call {call.native or call.ordinal!r} never got a name")
        call.block = len(self.opened)
        self.opened.append(call)
        out += (
            BlockStart(call.block, "tool-call"),
            ToolCallDelta(call.block, call.id, call.name, "".join(call.parts)),
        )

    def show(self, image: ImageBlock, out: list[StreamChunk]) -> None:
        """Open an image, which has no deltas (C1)."""
        out.append(BlockStart(len(self.opened), "image"))
        self.opened.append(image)

    def flush(self, calls: list[Call], out: list[StreamChunk]) -> None:
        """No more will come: a half that waits for its other half is U+FFFD (S5)."""
        if not self.careful:
            return
        for block in (self.reasoning, self.text):
            if block.half:
                block.half = ""
                self.add(block, "\ufffd", out)
        for call in calls:
            if call.half:
                call.half = ""
                call.parts.append("\ufffd")
                if call.block >= 0:
                    out.append(ToolCallDelta(call.block, call.id, None, "\ufffd"))

    def end(self, out: list[StreamChunk]) -> None:
        """Close all blocks, in index order (C7)."""
        out += [BlockEnd(index, _assembled(block)) for index, block in enumerate(self.opened)]


def _assembled(block: Spoken | Call | ImageBlock) -> StreamBlock:
    if isinstance(block, ImageBlock):
        return block
    text = "".join(block.parts)
    if isinstance(block, Call):
        return ToolCallBlock(block.id, block.name, text)
    return TextBlock(text) if block.kind == "text" else ReasoningBlock(text)
