"""One content block of the wire, from its start to its end: what of it becomes a block, and what is kept.

A slot opens its block at its first content (C13): a block that never has any makes none.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from limen.adapters.anthropic._wire import Block, ItemDelta, ReplayEntry, WireDelta
from limen.contract import (
    BlockEnd,
    BlockStart,
    LlmError,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    codes,
)

_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Slot:
    """A block in flight; `index` is its place among the blocks that opened, -1 while it has not."""

    __slots__ = ("_open", "_parts", "ended", "index", "type")

    def __init__(self, block: Block, open_index: Callable[[], int]) -> None:
        self.type = block.type
        self.index = -1
        self.ended = False
        self._parts: list[str] = []
        self._open = open_index

    def start(self) -> list[StreamChunk]:
        """What the block's start delivers."""
        return []

    def take(self, delta: WireDelta) -> list[StreamChunk]:
        """Take a delta that carries content; one that this kind of block cannot hold is malformed."""
        raise LlmError(f"the answer holds a {delta.type} in a {self.type} block", codes.MALFORMED_RESPONSE)

    def take_item(self, delta: ItemDelta) -> None:
        """Take a delta that makes no chunk; one of an unknown kind says nothing to a known block (C15)."""

    def end(self, *, cut: bool = False) -> list[StreamChunk]:
        """The block is over; `cut` where the wire never said so and the answer hit a token limit (C17)."""
        return []

    def entry(self) -> ReplayEntry:
        """What the wire needs of an opened block beside the block."""
        return ReplayEntry()

    def item(self) -> str | None:
        """What is kept of a slot that opened no block."""
        return None


class TextSlot(Slot):
    """`text`, with its citations."""

    __slots__ = ("_citations", "_first")

    def __init__(self, block: Block, open_index: Callable[[], int]) -> None:
        super().__init__(block, open_index)
        self._first = block.text
        self._citations = list(block.citations)

    def start(self) -> list[StreamChunk]:
        """Text that the start holds already is its first delta."""
        return self._say(self._first)

    def take(self, delta: WireDelta) -> list[StreamChunk]:
        """Text, in the way that costs least: this runs once for each token."""
        if delta.type != "text_delta":
            return super().take(delta)
        text = delta.text
        if self.index >= 0 and text:
            self._parts.append(text)
            return [TextDelta(self.index, text)]
        return self._say(text)

    def _say(self, text: str | None) -> list[StreamChunk]:
        if not text:
            return []
        self.index = self._open()
        self._parts.append(text)
        return [BlockStart(self.index, "text"), TextDelta(self.index, text)]

    def take_item(self, delta: ItemDelta) -> None:
        """A citation is kept for replay (C14)."""
        if delta.citation is not None:
            self._citations.append(delta.citation)

    def end(self, *, cut: bool = False) -> list[StreamChunk]:
        """Close the block, if there is one."""
        return [] if self.index < 0 else [BlockEnd(self.index, TextBlock("".join(self._parts)))]

    def entry(self) -> ReplayEntry:
        """The citations."""
        return ReplayEntry(citations=tuple(self._citations) or None)

    def blank(self) -> bool:
        """Whether the text so far says nothing (C12)."""
        return not any(part.strip() for part in self._parts)


class ThinkingSlot(Slot):
    """`thinking`, with its signature."""

    __slots__ = ("_first", "_signature", "_signed")

    def __init__(self, block: Block, open_index: Callable[[], int]) -> None:
        super().__init__(block, open_index)
        self._first = block.text
        self._signature = block.signature
        self._signed: list[str] = []

    def start(self) -> list[StreamChunk]:
        """Thinking that the start holds already is its first delta."""
        return self._think(self._first)

    def take(self, delta: WireDelta) -> list[StreamChunk]:
        """Thinking, or a piece of its signature; pieces replace what the start held."""
        if delta.type == "thinking_delta":
            return self._think(delta.thinking)
        if delta.type != "signature_delta":
            return super().take(delta)
        if delta.signature:
            self._signed.append(delta.signature)
        return []

    def _think(self, text: str | None) -> list[StreamChunk]:
        if not text:
            return []
        self._parts.append(text)
        if self.index >= 0:
            return [ReasoningDelta(self.index, text)]
        self.index = self._open()
        return [BlockStart(self.index, "reasoning"), ReasoningDelta(self.index, text)]

    def end(self, *, cut: bool = False) -> list[StreamChunk]:
        """Close the block, if there is one."""
        return [] if self.index < 0 else [BlockEnd(self.index, ReasoningBlock("".join(self._parts)))]

    def entry(self) -> ReplayEntry:
        """The signature, empty where the wire gave none: it says that this was thinking of this wire."""
        return ReplayEntry(signature=self._sign())

    def item(self) -> str | None:
        """Thinking whose text is withheld is its signature alone (C1); it is sent back just so."""
        signature = self._sign()
        if not signature:
            return None
        return msgspec.json.encode({"type": "thinking", "thinking": "", "signature": signature}).decode()

    def blank(self) -> bool:
        """Whether the thinking so far says nothing (C12)."""
        return not any(part.strip() for part in self._parts)

    def _sign(self) -> str:
        return "".join(self._signed) or self._signature


class CallSlot(Slot):
    """`tool_use`: a call that the client executes."""

    __slots__ = ("_caller", "_given", "_id", "_name")

    def __init__(self, block: Block, open_index: Callable[[], int], call_id: str) -> None:
        super().__init__(block, open_index)
        self._id = call_id
        self._name = block.name
        self._given = block.arguments
        self._caller = block.caller

    def start(self) -> list[StreamChunk]:
        """Name and id are known from the start; an input that is there already waits for deltas that replace it."""
        self.index = self._open()
        return [BlockStart(self.index, "tool-call"), ToolCallDelta(self.index, self._id, self._name)]

    def take(self, delta: WireDelta) -> list[StreamChunk]:
        """A fragment of the arguments, as it is (C8)."""
        if delta.type != "input_json_delta":
            return super().take(delta)
        text = delta.partial_json
        if not text:
            return []
        self._parts.append(text)
        return [ToolCallDelta(self.index, self._id, None, text)]

    def end(self, *, cut: bool = False) -> list[StreamChunk]:
        """Close the call; without any fragment its input is what the start held, or `{}` (C8)."""
        chunks: list[StreamChunk] = []
        rest = "" if self._parts else self._given or ("" if cut else "{}")
        if rest:
            self._parts.append(rest)
            chunks.append(ToolCallDelta(self.index, self._id, None, rest))
        chunks.append(BlockEnd(self.index, ToolCallBlock(self._id, self._name, "".join(self._parts))))
        return chunks

    def cut_short(self) -> bool:
        """Whether the wire began arguments and neither ended them nor the call."""
        if self.ended or not self._parts:
            return False
        try:
            _OBJECT.decode("".join(self._parts))
        except msgspec.DecodeError:
            return True
        return False

    def entry(self) -> ReplayEntry:
        """Who made the call, where that was not the model itself."""
        return ReplayEntry(caller=self._caller)


class ItemSlot(Slot):
    """What makes no block: redacted thinking, the provider's own tools and their results, kinds unknown here."""

    __slots__ = ("_block", "_fields", "broken")

    def __init__(self, block: Block, open_index: Callable[[], int]) -> None:
        super().__init__(block, open_index)
        self._block = block
        self._fields: dict[str, str] = {}
        self.broken = False

    @property
    def pairs(self) -> str:
        """The id that a use and its result share."""
        return self._block.pairs

    def take(self, delta: WireDelta) -> list[StreamChunk]:
        """A tool's input in fragments; other content cannot be put back where it came from."""
        if delta.type == "input_json_delta":
            self._parts.append(delta.partial_json or "")
        else:
            self.broken = True
        return []

    def take_item(self, delta: ItemDelta) -> None:
        """`compaction_delta` brings fields of the block; what is unknown leaves it incomplete."""
        if delta.fields:
            self._fields.update(delta.fields)
        else:
            self.broken = True

    def item(self) -> str | None:
        """The block as it came, with what its deltas brought."""
        text = "".join(self._parts)
        fields = {**self._fields, "input": text} if text.strip() else self._fields
        if not fields:
            return self._block.raw
        try:
            whole = _OBJECT.decode(self._block.raw)
            if text.strip():
                _OBJECT.decode(text)
        except msgspec.DecodeError:
            # Fine-grained streaming may cut an input short; the wire takes objects only.
            return None
        return msgspec.json.encode(
            {**whole, **{name: msgspec.Raw(value.encode()) for name, value in fields.items()}}
        ).decode()
