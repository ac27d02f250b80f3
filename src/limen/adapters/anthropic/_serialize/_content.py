"""Single parts of a turn: images, tool results, a call's arguments, and ids that this wire takes."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Final, NoReturn, TypeAlias

import msgspec

from limen.adapters.anthropic._dialect import Row
from limen.contract import (
    ImageBlock,
    LlmError,
    ModelInfo,
    TextBlock,
    TooDeep,
    ToolCallBlock,
    ToolResultBlock,
    codes,
    loads,
    replace_surrogates,
)

WirePart: TypeAlias = dict[str, object]

# https://platform.claude.com/docs/en/build-with-claude/vision, read 2026-11-30.
_IMAGE_TYPES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
# The pattern of `tool_use.id` in the API's own refusal; 64 is what every host takes.
_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Images:
    """What images a call may hold: by the host's row, and by what is configured of the model."""

    __slots__ = ("_model", "_row")

    def __init__(self, row: Row, model: ModelInfo | None) -> None:
        self._row = row
        self._model = model

    def part(self, block: ImageBlock, where: str) -> WirePart:
        """Return an image for the wire, or refuse it with `UNSUPPORTED_CONTENT`."""
        model = self._model
        if model is not None and model.input_modalities is not None and "image" not in model.input_modalities:
            raise _refused(f"{where}: the model {model.id} takes no images by its configuration")
        if self._row.images == "none":
            raise _refused(f"{where}: the dialect {self._row.name} takes no images")
        if block.data is None:
            return {"type": "image", "source": self._link(block.url or "", where)}
        if block.media_type not in _IMAGE_TYPES:
            raise _refused(f"{where}: {block.media_type} is none of {', '.join(sorted(_IMAGE_TYPES))}")
        data = base64.b64encode(block.data).decode()
        return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": data}}

    def _link(self, url: str, where: str) -> WirePart:
        if self._row.images == "bytes":
            raise _refused(f"{where}: the dialect {self._row.name} takes images as bytes, not by URL")
        if not url.startswith(("https://", "http://")):
            raise _refused(f"{where}: an image's URL is http or https; give other images as bytes")
        return {"type": "url", "url": url}


def _refused(message: str) -> LlmError:
    return LlmError(message, codes.UNSUPPORTED_CONTENT, phase="resolve")


def text_part(text: str) -> WirePart | None:
    """Return a text for the wire, which refuses blank ones: those say nothing and are left out."""
    return None if not text or text.isspace() else {"type": "text", "text": text}


def result_parts(block: ToolResultBlock, wire_id: str, images: Images, where: str) -> list[WirePart]:
    """Return a tool's result; the images of one that is an error stand behind it, since it may hold text only."""
    result: WirePart = {"type": "tool_result", "tool_use_id": wire_id}
    behind: list[WirePart] = []
    if isinstance(block.content, str):
        result["content"] = block.content
    else:
        content = _result_content(block.content, images, where)
        if block.is_error:
            behind = [part for part in content if part["type"] == "image"]
            content = [part for part in content if part["type"] != "image"]
        # The wire takes no content and an empty string, but no empty list.
        if content:
            result["content"] = content
    if block.is_error:
        result["is_error"] = True
    return [result, *behind]


def _result_content(content: Sequence[TextBlock | ImageBlock], images: Images, where: str) -> list[WirePart]:
    parts = (
        images.part(block, f"{where}.content[{index}]") if isinstance(block, ImageBlock) else text_part(block.text)
        for index, block in enumerate(content)
    )
    return [part for part in parts if part is not None]


def call_part(block: ToolCallBlock, wire_id: str, where: str) -> WirePart:
    """Return a call with its arguments embedded as they are; empty ones are `{}` (C8)."""
    if not block.name:
        raise LlmError(
            f"{where} is a tool call without a name, which no server takes; limen.repair_history(messages) takes it out"
            " with its result",
            codes.INVALID_OPTIONS,
            phase="resolve",
        )
    text = replace_surrogates(block.arguments)
    if not text:
        text = "{}"
    elif not is_object(text):
        raise LlmError(
            f"{where}: the arguments of the call {block.id!r} of {block.name!r} are not one JSON object, which this"
            " wire needs; limen.repair_history offers a wrapped form",
            codes.INVALID_OPTIONS,
            phase="resolve",
        )
    return {"type": "tool_use", "id": wire_id, "name": block.name, "input": msgspec.Raw(text.encode())}


def is_object(text: str) -> bool:
    """Whether a text is one JSON object; its values are checked, not read."""
    if not text.lstrip(" \t\r\n").startswith("{"):
        return False
    try:
        loads(text, _OBJECT)
    except TooDeep:
        return False
    except msgspec.DecodeError:
        # Lone halves of surrogate pairs are JSON too, and too much for the fast decoder (S5).
        try:
            json.loads(text, parse_constant=_refuse_constant)
        except ValueError:
            return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class CallIds:
    """Ids as they go on the wire, call and result alike (C9).

    An id that the wire refuses, or that an earlier turn has used, is rewritten; the same history gives the same ids,
    so that a prompt cache holds.
    """

    __slots__ = ("_seen", "_turn", "_used")

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._turn: dict[str, str] = {}
        self._used: set[str] = set()

    def next_turn(self) -> None:
        """An assistant's turn begins: results that follow answer its calls."""
        self._turn = {}

    def call(self, call_id: str) -> str:
        """Return the wire's id of a call of this turn."""
        times = self._seen.get(call_id, 0)
        wire_id = call_id if _ID.fullmatch(call_id) else _rewritten(call_id, times)
        while wire_id in self._used:
            wire_id = _rewritten(call_id, times)
            times += 1
        self._seen[call_id] = times + 1
        self._used.add(wire_id)
        self._turn[call_id] = wire_id
        return wire_id

    def result(self, call_id: str) -> str:
        """Return the wire's id of the call that a result answers."""
        known = self._turn.get(call_id)
        if known is not None:
            return known
        return call_id if _ID.fullmatch(call_id) else _rewritten(call_id, 0)


def _rewritten(call_id: str, times: int) -> str:
    seed = f"{times}|{call_id}".encode("utf-8", "surrogatepass")
    return f"limen_{hashlib.sha256(seed).hexdigest()[:40]}"
