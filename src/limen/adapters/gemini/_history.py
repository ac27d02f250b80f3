"""Messages of a conversation to the wire's contents (Q4).

Sources, read 2026-11-30: https://ai.google.dev/gemini-api/docs/function-calling (results come at once after their
calls, as many as there were calls, in a content of their own) and https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn, TypeAlias, assert_never

import msgspec

from limen.adapters.gemini._dialects import Dialect
from limen.adapters.gemini._models import Family
from limen.adapters.gemini._replay import Slot, own_parts
from limen.adapters.gemini._wire import REPLAY_VERSION, WIRE, ReplayState
from limen.adapters.kit import (
    RequestWriter,
    arguments_object,
    base64_of,
    block_words,
    check_call,
    check_file,
    check_image,
    check_result,
    check_role,
    read_state,
    refuse_block,
)
from limen.contract import (
    ContentBlock,
    FileBlock,
    ImageBlock,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)

WirePart: TypeAlias = dict[str, object]

# https://ai.google.dev/gemini-api/docs/thought-signatures#faqs: what stands on the first call of a step that has no
# signature, such as one of another model: base64 of "skip_thought_signature_validator".
SKIP: Final = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


class WireTurn(msgspec.Struct, gc=False):
    """One content on the wire; neighbours of plain user messages are one content."""

    role: str
    parts: list[WirePart | msgspec.Raw]


class _Call(NamedTuple):
    """A call that awaits its result: place, name, and the id that the wire gave it."""

    place: int
    name: str
    native: str | None


class History:
    """Messages in order: `add` each, then read `system` (what stood before the first turn) and `turns`.

    `continuation` is the token of a last turn that the wire cut and goes on with. `names` is the pattern of tool names
    that the wire takes.
    """

    __slots__ = ("_calls", "_dropped", "_family", "_last", "_names", "_results", "_row", "_writer", "continuation",
                 "system", "turns")  # fmt: skip

    def __init__(self, writer: RequestWriter, row: Dialect, family: Family, names: "re.Pattern[str]") -> None:
        self._writer = writer
        self._row = row
        self._family = family
        self._names = names
        self._dropped = writer.context.replay_dropped
        self._calls: dict[str, _Call] = {}
        self._results: list[tuple[int, WirePart]] | None = None
        self._last: WireTurn | None = None  # a plain user content that may grow
        self.system: list[WirePart] = []
        self.turns: list[WireTurn] = []
        self.continuation: str | None = None

    def add(self, index: int, message: Message) -> None:
        """Add one message, or refuse what of it the wire cannot hold."""
        if message.role == "system":
            self._system(index, message)
        elif message.role == "assistant":
            self.finish()
            parts = self._assistant(index, message)
            if parts:
                self.turns.append(WireTurn("model", parts))
                self._last = None
        else:
            check_role(self._writer, index, message.role)
            self.continuation = None
            self._user(index, message)

    def finish(self) -> None:
        """Write the results that are still collected, in the order of their calls; call it at the end, too."""
        if self._results is None:
            return
        content = next(turn for turn in reversed(self.turns) if turn.role == "")
        content.role = "user"
        content.parts = [part for _, part in sorted(self._results, key=lambda result: result[0])]
        self._results = None

    def _system(self, index: int, message: Message) -> None:
        if self.turns:
            refuse_block(self._writer, f"messages[{index}]", "it takes system messages before the first turn only")
        for number, block in enumerate(message.content):
            if not isinstance(block, TextBlock):
                self._misplaced(block, "system", f"messages[{index}].content[{number}]")
            if block.text:
                self.system.append({"text": block.text})

    def _user(self, index: int, message: Message) -> None:
        parts: list[WirePart | msgspec.Raw] = []
        for number, block in enumerate(message.content):
            path = f"messages[{index}].content[{number}]"
            match block:
                case TextBlock(text=text):
                    part: WirePart = {"text": text}
                    parts += [part] if text else []
                case ImageBlock():
                    parts.append(self._image(block, path))
                case FileBlock():
                    parts.append(self._file(block, path))
                case ToolResultBlock():
                    parts += self._result(block, path)
                case ReasoningBlock() | ToolCallBlock():
                    self._misplaced(block, message.role, path)
                case _:
                    assert_never(block)
        if not parts:
            return
        if self._last is None:
            self._last = WireTurn("user", parts)
            self.turns.append(self._last)
        else:
            self._last.parts += parts

    def _image(self, block: ImageBlock, path: str) -> WirePart:
        check_image(self._writer, block, path, self._row.image_rules)
        if block.data is not None:
            return {"inlineData": {"mimeType": block.media_type, "data": base64_of(block)}}
        return self._link(block.url or "", block.media_type, path)

    def _file(self, block: FileBlock, path: str) -> WirePart:
        kind = check_file(self._writer, block, path, self._row.files)
        if block.data is not None:
            return {"inlineData": {"mimeType": kind, "data": base64_of(block)}}
        if block.url is not None:
            return self._link(block.url, kind, path)
        uri = block.file_id or ""
        if self._row.file_base is not None and uri.startswith("files/"):
            uri = f"{self._row.file_base}{uri}"
        return {"fileData": {**({} if kind is None else {"mimeType": kind}), "fileUri": uri}}

    def _link(self, url: str, kind: str | None, path: str) -> WirePart:
        if not self._row.links.match(url):
            refuse_block(self._writer, path, f"the host does not read {url[:60]!r}; give the bytes")
        return {"fileData": {**({} if kind is None else {"mimeType": kind}), "fileUri": url}}

    def _result(self, block: ToolResultBlock, path: str) -> list[WirePart]:
        """Collect a tool's result; return the images that must stand in a content after the results."""
        call = self._calls.get(block.tool_call_id)
        if call is None:
            self._writer.invalid(f"{path} answers the call {block.tool_call_id!r}, which the turn before it has not")
        images: list[WirePart] = []
        if isinstance(block.content, str):
            text = block.content
        else:
            check_result(self._writer, block, path)
            text = "".join(part.text for part in block.content if isinstance(part, TextBlock))
            for number, part in enumerate(block.content):
                if isinstance(part, ImageBlock):
                    images.append(self._image(part, f"{path}.content[{number}]"))
        response: WirePart = {"name": call.name, "response": {"error" if block.is_error else "output": text}}
        if call.native is not None:
            response["id"] = call.native
        inside = self._family.modern and all("inlineData" in image for image in images)
        if images and inside:
            # https://ai.google.dev/gemini-api/docs/function-calling#multimodal: Gemini 3 and later
            response["parts"] = images
        if self._results is None:
            self._results = []
            self.turns.append(WireTurn("", []))
            self._last = None
        self._results.append((call.place, {"functionResponse": response}))
        return [] if inside else images

    def _assistant(self, index: int, message: Message) -> list[WirePart | msgspec.Raw]:
        self._calls = {}
        state = read_state(message, index, ReplayState, wire=WIRE, version=REPLAY_VERSION, dropped=self._dropped)
        if state is not None and message.source is not None and message.source.model != self._writer.options.model:
            # Signatures belong to the model that made them.
            why = f"the turn's signatures are those of {message.source.model} and are not sent to another model"
            self._dropped.append(ReplayDrop(why, index))
            state = None
        if state is None:
            return self._plain(index, message)
        self.continuation = state.continuation
        slots = own_parts(message, state, f"messages[{index}].replay_state")
        parts: list[WirePart | msgspec.Raw] = []
        for slot in slots:
            part = self._own(slot, index, message)
            parts += [] if part is None else [part]
        return parts

    def _own(self, slot: Slot, index: int, message: Message) -> WirePart | msgspec.Raw | None:
        """Return one part of a turn of this wire as it came."""
        if slot.raw is not None:
            return slot.raw
        assert slot.block is not None
        block = message.content[slot.block]
        path = f"messages[{index}].content[{slot.block}]"
        if isinstance(block, TextBlock | ReasoningBlock):
            part: WirePart = {"text": slot.text}
            if isinstance(block, ReasoningBlock):
                part["thought"] = True
        else:
            part = self._block(block, path, message.role, slot.native)
        if slot.signature is not None:
            part["thoughtSignature"] = slot.signature
        return part

    def _plain(self, index: int, message: Message) -> list[WirePart | msgspec.Raw]:
        """Return a turn of which the wire gave nothing beside its blocks; thoughts of others are not sent."""
        parts: list[WirePart | msgspec.Raw] = []
        reasoning = first = 0
        for number, block in enumerate(message.content):
            if isinstance(block, ReasoningBlock):
                reasoning += 1
                continue
            if isinstance(block, TextBlock) and not block.text:
                continue
            part = self._block(block, f"messages[{index}].content[{number}]", message.role, None)
            if isinstance(block, ToolCallBlock) and not first:
                first = 1
                if self._family.modern:
                    part["thoughtSignature"] = SKIP
            parts.append(part)
        if reasoning:
            why = "one of another wire, or without its state, is not sent"
            self._dropped.append(ReplayDrop(f"{reasoning} reasoning blocks: {why}", index))
        return parts

    def _block(self, block: ContentBlock, path: str, role: str, native: str | None) -> WirePart:
        match block:
            case TextBlock(text=text):
                return {"text": text}
            case ToolCallBlock():
                check_call(self._writer, block, path, self._names)
                self._calls[block.id] = _Call(len(self._calls), block.name, native)
                call: WirePart = {"name": block.name, "args": arguments_object(self._writer, block, path)}
                return {"functionCall": call if native is None else {"id": native, **call}}
            case ImageBlock():
                return self._image(block, path)
            case ReasoningBlock() | FileBlock() | ToolResultBlock():
                return self._misplaced(block, role, path)
            case _:
                assert_never(block)

    def _misplaced(self, block: ContentBlock, role: str, path: str) -> NoReturn:
        refuse_block(self._writer, path, f"this wire has no place for {block_words(block)} in {role} messages")


def without_last_model_turn(turns: Sequence[WireTurn]) -> Sequence[WireTurn]:
    """Return the contents before a last turn of the model, which a continuation goes on with."""
    return turns[:-1] if turns and turns[-1].role == "model" else turns
