"""Blocks of one answer in flight, as this wire has them, and what of them travels in the replay state (R5, N4)."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from limen.adapters.bedrock._wire import REPLAY_VERSION, WIRE, CallStarted
from limen.adapters.kit import OpenCall, OpenText, StateWriter, is_object
from limen.contract import JsonObject, replace_surrogates


class TextSlot(OpenText):
    """A text block; citations inside of it make no block and are left out (C14)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("text")


class ReasoningSlot(OpenText):
    """A `reasoningContent` block: text, its signature, and hidden reasoning, whose pieces are joined as bytes."""

    __slots__ = ("hidden", "signature")

    def __init__(self) -> None:
        super().__init__("reasoning")
        self.signature: list[str] = []
        self.hidden = bytearray()

    @property
    def signed(self) -> str:
        """The signature, empty where the wire gave none."""
        return replace_surrogates("".join(self.signature))

    def items(self) -> list[str]:
        """Return what of it makes no block: hidden reasoning, and a signature whose text is withheld (C1)."""
        items: list[str] = []
        if self.hidden:
            items.append(_item("reasoningContent", {"redactedContent": b64encode(self.hidden).decode()}))
        if self.index < 0 and self.signed:
            items.append(_item("reasoningContent", {"reasoningText": {"text": "", "signature": self.signed}}))
        return items


class CallSlot(OpenCall):
    """A `toolUse` block of a client's tool."""

    __slots__ = ()


class ServerCallSlot:
    """A `toolUse` block of a tool that the provider runs itself."""

    __slots__ = ("call", "ended", "index", "parts")

    def __init__(self, call: CallStarted) -> None:
        self.call = call
        self.index = -1
        self.ended = False
        self.parts: list[str] = []

    def items(self) -> list[str]:
        """Return the block as the wire takes it back; none where its input is not whole."""
        text = replace_surrogates("".join(self.parts)).strip() or "{}"
        if not is_object(text):
            return []
        call = self.call
        given = {"toolUseId": call.id, "name": call.name, "input": msgspec.Raw(text.encode()), "type": call.type}
        return [_item("toolUse", given)]


class ServerResultSlot:
    """A `toolResult` block of such a tool: the members of its start, and parts of its content."""

    __slots__ = ("ended", "index", "parts", "raw")

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.index = -1
        self.ended = False
        self.parts: list[str] = []

    def items(self) -> list[str]:
        """Return the block as the wire takes it back."""
        if not self.parts:
            return [f'{{"toolResult":{self.raw}}}']
        members = _MEMBERS.decode(self.raw)
        content = [msgspec.Raw(part.encode()) for part in self.parts]
        return [_item("toolResult", {**members, "content": content})]


class ImageSlot:
    """An image, whose bytes come in deltas."""

    __slots__ = ("data", "ended", "index", "media_type")

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type
        self.index = -1
        self.ended = False
        self.data = bytearray()


Slot: TypeAlias = TextSlot | ReasoningSlot | CallSlot | ServerCallSlot | ServerResultSlot | ImageSlot

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def kept_items(slots: Sequence[Slot]) -> dict[Slot, list[str]]:
    """Return what goes back beside the blocks; a use of the provider's own tools goes with its result or not at all."""
    items = {
        slot: slot.items() for slot in slots if isinstance(slot, ReasoningSlot | ServerCallSlot | ServerResultSlot)
    }
    uses = {slot.call.id for slot in items if isinstance(slot, ServerCallSlot) and items[slot]}
    results = {result_id(slot.raw) for slot in items if isinstance(slot, ServerResultSlot)}
    whole = uses & results
    return {
        slot: texts
        for slot, texts in items.items()
        if texts
        and not (isinstance(slot, ServerCallSlot) and slot.call.id not in whole)
        and not (isinstance(slot, ServerResultSlot) and result_id(slot.raw) not in whole)
    }


def result_id(raw: str) -> str:
    """Return the id of the call that a result answers, empty where it names none."""
    try:
        return msgspec.json.decode(_MEMBERS.decode(raw).get("toolUseId", msgspec.Raw(b'""')), type=str)
    except msgspec.DecodeError:
        return ""


def replay_state(slots: Sequence[Slot], kept: dict[Slot, list[str]], *, cut: bool) -> JsonObject | None:
    """Return the state of a turn that succeeded, or `None` where its blocks say all.

    The calls of a `cut` turn leave the history (C17), so what stood behind one stands behind the block before it.
    """
    writer = StateWriter(WIRE, REPLAY_VERSION)
    behind, count = -1, 0
    for slot in slots:
        if slot.index >= 0:
            count += 1
            if not (cut and isinstance(slot, CallSlot)):
                behind = slot.index
            if isinstance(slot, ReasoningSlot):
                writer.at(slot.index, {"signature": slot.signed})
        for text in kept.get(slot, ()):
            writer.item(text, behind=behind)
    return writer.state(count)


def _item(kind: str, body: object) -> str:
    return msgspec.json.encode({kind: body}).decode()
