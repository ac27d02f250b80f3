"""Anthropic Messages: a stream event's data, a whole answer or a model list to typed values.

Source of truth: https://platform.claude.com/docs/en/build-with-claude/streaming, read 2026-11-30, whose versioning
policy reserves new event types, block types and delta types: those are passed over here (C15). What this adapter
reads, with a type that no variant has, is `MALFORMED_RESPONSE`. `data.type` decides; the `event:` line stands in
where it is missing.
"""

import re
from typing import Final, TypeVar

import msgspec

from limen.adapters.anthropic._wire import (
    Block,
    BlockStarted,
    Event,
    ItemDelta,
    MessageStarted,
    MessageStopped,
    StreamFailed,
    WireBlock,
    WireBlockExtras,
    WireBlockStart,
    WireDelta,
    WireEvent,
    WireEventKind,
    WireItem,
    WireItemDelta,
    WireItemEvent,
    WireKind,
    WireMessage,
    WireMessageDelta,
    WireMessageStart,
    WireModel,
    WireModels,
)
from limen.contract import LlmError, ModelInfo, TooDeep, codes, foreign_text, loads

S = TypeVar("S")

_EVENT: Final = msgspec.json.Decoder(WireEvent)
_EVENT_KIND: Final = msgspec.json.Decoder(WireEventKind)
_KIND: Final = msgspec.json.Decoder(WireKind)
_MESSAGE_START: Final = msgspec.json.Decoder(WireMessageStart)
_MESSAGE_DELTA: Final = msgspec.json.Decoder(WireMessageDelta)
_MESSAGE: Final = msgspec.json.Decoder(WireMessage)
_BLOCK_START: Final = msgspec.json.Decoder(WireBlockStart)
_BLOCK: Final = msgspec.json.Decoder(WireBlock)
_EXTRAS: Final = msgspec.json.Decoder(WireBlockExtras)
_ITEM: Final = msgspec.json.Decoder(WireItem)
_ITEM_EVENT: Final = msgspec.json.Decoder(WireItemEvent)
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_MODELS: Final = msgspec.json.Decoder(WireModels)

_EVENTS: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
    }
)

# The deltas whose content is text, and the field that holds it.
_FIELDS: Final = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
_ITEM_DELTAS: Final = frozenset({"citations_delta", "compaction_delta"})

# A string, or white space outside of one; an escape, lone halves of a surrogate pair being group 1.
_STRING_OR_SPACE: Final = re.compile(rb'("(?:[^"\\]|\\.)*+")|[ \t\r\n]+', re.DOTALL)
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_MAX_WORDS: Final = 120


class Parser:
    """One answer's events, each read in order: by `ordinary`, and where that returns nothing, by `rare`.

    Raises `LlmError` `MALFORMED_RESPONSE`. Keeps only halves of surrogate pairs, which wait for the next delta of
    their block (S5).
    """

    __slots__ = ("_depth", "_halves")

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._halves: dict[int | None, tuple[str, str]] = {}

    def ordinary(self, name: str | None, payload: bytes) -> WireEvent | None:
        """Read an event that is a delta of text, thinking or arguments and nothing else, as nearly all are.

        What the fast decoder reads holds no half of a pair, and what is shorter than so many pairs of brackets is not
        nested too deep (S2).
        """
        if len(payload) > 2 * self._depth and payload.count(b"{") + payload.count(b"[") > self._depth:
            return None
        try:
            event = _EVENT.decode(payload)
        except (msgspec.DecodeError, RecursionError):
            return None
        delta = event.delta
        if (
            delta is None
            or event.type != "content_block_delta"
            or delta.type not in _FIELDS
            or event.error
            or name == "error"
            or self._halves
        ):
            return None
        return event

    def rare(self, name: str | None, payload: bytes) -> list[Event]:
        """Read an event that is not ordinary: return what it means, mostly one value; an unknown one gives nothing."""
        try:
            event = loads(payload, _EVENT, depth=self._depth)
        except (msgspec.DecodeError, TooDeep) as fault:
            return _odd(name, payload, fault)
        return self._any(name, event, payload)

    def _any(self, name: str | None, event: WireEvent, payload: bytes) -> list[Event]:
        if event.error or name == "error":
            return [StreamFailed(payload)]
        if event.type == "content_block_delta" or (event.type is None and name == "content_block_delta"):
            return self._delta(event, payload)
        return self._event(event.type or name, event, payload)

    def _event(self, kind: str | None, event: WireEvent, payload: bytes) -> list[Event]:
        match kind:
            case "content_block_stop":
                return [*self._lone_half(event.index), WireEvent(type="content_block_stop", index=event.index)]
            case "content_block_start":
                raw = _read(payload, _BLOCK_START, kind).content_block
                return [BlockStarted(event.index, read_block(raw))]
            case "message_start":
                message = _read(payload, _MESSAGE_START, kind).message or WireMessage()
                return [started(message)]
            case "message_delta":
                return [_read(payload, _MESSAGE_DELTA, kind)]
            case "message_stop":
                halves = [half for index in list(self._halves) for half in self._lone_half(index)]
                return [*halves, MessageStopped()]
            case "error":
                return [StreamFailed(payload)]
            case _:
                # `ping`, and by the wire's rule whatever comes to be.
                return []

    def _delta(self, event: WireEvent, payload: bytes) -> list[Event]:
        delta = event.delta
        kind = None if delta is None else delta.type
        if kind in _FIELDS:
            return self._joined(event, _FIELDS[kind])
        if kind in _ITEM_DELTAS:
            found = _read(payload, _ITEM_EVENT, kind).delta or WireItemDelta()
            fields = {"content": _kept(found.content), "encrypted_content": _kept(found.encrypted_content)}
            return [
                ItemDelta(
                    event.index,
                    kind,
                    citation=_kept(found.citation),
                    fields=tuple((name, text) for name, text in fields.items() if text is not None),
                )
            ]
        return [ItemDelta(event.index, kind or "")]

    def _joined(self, event: WireEvent, field: str) -> list[Event]:
        """Put a half of a surrogate pair that waited before this delta's text, and keep one that it ends in."""
        text: str = getattr(event.delta, field) or ""
        # A signature does not go on where the thinking before it ended.
        before = self._lone_half(event.index) if self._halves.get(event.index, (field, ""))[0] != field else []
        _, waiting = self._halves.pop(event.index, ("", ""))
        text = waiting + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._halves[event.index] = (field, text[-1])
            text = text[:-1]
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return [*before, _delta_event(event.index, field, text)]

    def _lone_half(self, index: int | None) -> list[Event]:
        """A half that nothing followed is U+FFFD."""
        field, waiting = self._halves.pop(index, ("", ""))
        return [_delta_event(index, field, "\ufffd")] if waiting else []


def _odd(name: str | None, payload: bytes, fault: Exception) -> list[Event]:
    """An event that cannot be read: an error, another wire's end marker, or of an unknown kind (C15, W1)."""
    if name == "error":
        return [StreamFailed(payload)]
    # Gateways add it; this wire ends with message_stop.
    if payload.strip() == b"[DONE]":
        return []
    if not isinstance(fault, msgspec.ValidationError):
        raise malformed(f"an event that cannot be read ({fault})", payload)
    kinds = _tolerant(payload, _EVENT_KIND)
    head = _tolerant(payload, _KIND) if kinds is None else kinds
    kind = (None if head is None else head.type) or name
    if kind == "error":
        return [StreamFailed(payload)]
    delta = None if kinds is None or kinds.delta is None else kinds.delta.type
    unknown = kind not in _EVENTS or (kind == "content_block_delta" and delta is not None and delta not in _FIELDS)
    if kind is None or not unknown:
        raise malformed(f"an event {kind or 'without a type'} of another shape ({fault})", payload)
    return []


def _delta_event(index: int | None, field: str, text: str) -> WireEvent:
    kind = next(kind for kind, name in _FIELDS.items() if name == field)
    delta = {
        "text": WireDelta(kind, text=text),
        "thinking": WireDelta(kind, thinking=text),
        "partial_json": WireDelta(kind, partial_json=text),
        "signature": WireDelta(kind, signature=text),
    }[field]
    return WireEvent("content_block_delta", index, delta)


def started(message: WireMessage) -> MessageStarted:
    """Read the blocks that came with a message."""
    return MessageStarted(message, tuple(read_block(raw) for raw in message.content or ()))


def read_message(body: bytes, *, depth: int) -> WireMessage:
    """Read a whole answer (S3); raises `msgspec.DecodeError` or `TooDeep` where it is none."""
    try:
        return loads(body, _MESSAGE, depth=depth)
    except msgspec.DecodeError:
        if b"\\u" not in body:
            raise
        return _MESSAGE.decode(_mended(body))


def read_block(raw: msgspec.Raw) -> Block:
    """Prove one content block; of a kind that makes no block, all of it is kept as it came (C14)."""
    data = bytes(raw)
    kind = _read(data, _KIND, "a content block").type if data else None
    if not kind:
        raise malformed("a content block without a type", data)
    if kind not in ("text", "thinking", "tool_use"):
        item = _tolerant(data, _ITEM)
        pairs = "" if item is None else item.tool_use_id or item.id or ""
        return Block("item", kind, raw=_text(data), pairs=pairs)
    block = _read(data, _BLOCK, f"a {kind} block")
    extras = _read(data, _EXTRAS, f"a {kind} block")
    if kind == "text":
        return Block("text", kind, text=block.text or "", citations=_citations(extras.citations))
    if kind == "thinking":
        return Block("thinking", kind, text=block.thinking or "", signature=block.signature or "")
    if not block.name:
        raise malformed("a tool call without a name", data)
    return Block(
        "tool_use",
        kind,
        id="" if block.id is None else str(block.id),
        name=block.name,
        arguments=_arguments(extras.input, data),
        caller=_caller(extras.caller),
    )


def parse_models(provider: str, body: bytes) -> tuple[ModelInfo, ...]:
    """Read `GET /v1/models`; a row without an id is passed over, anything else is `INVALID_CATALOG`."""
    try:
        models = _MODELS.decode(body).data or []
    except msgspec.DecodeError as fault:
        raise LlmError(f"the model list cannot be read ({fault}): {first_words(body)}", codes.INVALID_CATALOG) from None
    return tuple(_model(provider, model, model.id) for model in models if model.id)


def _model(provider: str, model: WireModel, model_id: str) -> ModelInfo:
    window = model.max_input_tokens
    known = int(window) if window is not None and window > 0 else None
    return ModelInfo(provider, model_id, model.display_name or model_id, context_window=known)


def _arguments(raw: msgspec.Raw, block: bytes) -> str:
    """The input's own bytes, white space outside strings removed (C8); none and `{}` are nothing yet."""
    text = _text(bytes(raw))
    if text in ("", "null", '""', "{}"):
        return ""
    if not text.startswith("{"):
        raise malformed("a tool call whose input is no object", block)
    return text


def _caller(raw: msgspec.Raw) -> str | None:
    kept = _kept(raw)
    # {"type":"direct"} says what is so without it: the model itself made the call.
    kind = None if kept is None else _tolerant(kept.encode(), _KIND)
    return None if kind is None or kind.type in (None, "direct") else kept


def _citations(raw: msgspec.Raw) -> tuple[str, ...]:
    data = bytes(raw)
    if data in (b"", b"null"):
        return ()
    return tuple(_text(bytes(item)) for item in _read(data, _RAWS, "citations"))


def _kept(raw: msgspec.Raw) -> str | None:
    data = bytes(raw)
    return None if data in (b"", b"null") else _text(data)


def _text(data: bytes) -> str:
    """JSON as text, white space outside strings removed: nothing else of it is touched."""
    try:
        return _STRING_OR_SPACE.sub(rb"\1", data).decode()
    except UnicodeDecodeError as fault:
        raise malformed(f"bytes that are not UTF-8 ({fault.reason})", data) from None


def _tolerant(data: bytes, decoder: "msgspec.json.Decoder[S]") -> S | None:
    try:
        return decoder.decode(data)
    except msgspec.DecodeError:
        return None


def _read(data: bytes, decoder: "msgspec.json.Decoder[S]", what: str) -> S:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as fault:
        raise malformed(f"{what} of another shape ({fault})", data) from None
    except msgspec.DecodeError:
        try:
            return decoder.decode(_mended(data))
        except msgspec.DecodeError as fault:
            raise malformed(f"{what} that cannot be read ({fault})", data) from None


def _mended(data: bytes) -> bytes:
    """Replace escaped lone halves of surrogate pairs, which the fast decoder refuses, by U+FFFD (S5)."""
    return _ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], data)


def malformed(what: str, data: bytes) -> LlmError:
    """Make the failure of an answer that is not this wire, with its first readable words."""
    return LlmError(f"the answer holds {what}: {first_words(data)}", codes.MALFORMED_RESPONSE)


def first_words(data: bytes) -> str:
    """Return how an unreadable text begins, on one line and without secrets."""
    return foreign_text(" ".join(data[: 4 * _MAX_WORDS].decode("utf-8", "replace").split()))[:_MAX_WORDS]


def tells_error(line: bytes) -> bool:
    """Whether a line is JSON that tells an error (S1)."""
    found = _tolerant(line, _EVENT)
    return found is not None and (bool(found.error) or found.type == "error")


def is_cut_short(body: bytes) -> bool:
    """Whether JSON ends inside of a string or of brackets: the rest never came (S3)."""
    rest = _STRING_OR_SPACE.sub(b"", body)
    opened = rest.count(b"{") + rest.count(b"[")
    return b'"' in rest or opened > rest.count(b"}") + rest.count(b"]")
