"""Framed payloads of Anthropic Messages to typed values: stream events, a whole answer, the list of models.

Source of truth: https://platform.claude.com/docs/en/build-with-claude/streaming, read 2026-11-30, whose versioning
policy reserves new event types, block types and delta types: those are passed over here (C15). What this adapter
reads, with a type that no variant has, is `MALFORMED_RESPONSE`. `data.type` decides; the `event:` line stands in
where it is missing.
"""

from typing import Final, TypeVar

import msgspec

from limen.adapters.anthropic._tolerance import tolerantly
from limen.adapters.anthropic._wire import (
    Block,
    BlockStarted,
    Event,
    ItemDelta,
    Malformed,
    MessageStarted,
    MessageStopped,
    StreamFailed,
    WireBlock,
    WireBlockStart,
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
from limen.adapters.kit import (
    UNREADABLE,
    first_document,
    readable_words,
    tolerant,
    without_blanks,
    without_lone_halves,
)
from limen.contract import LlmError, ModelInfo, codes, loads

S = TypeVar("S")

_EVENT: Final = msgspec.json.Decoder(WireEvent)
_EVENT_KIND: Final = msgspec.json.Decoder(WireEventKind)
_KIND: Final = msgspec.json.Decoder(WireKind)
_MESSAGE_START: Final = msgspec.json.Decoder(WireMessageStart)
_MESSAGE_DELTA: Final = msgspec.json.Decoder(WireMessageDelta)
_MESSAGE: Final = msgspec.json.Decoder(WireMessage)
_BLOCK_START: Final = msgspec.json.Decoder(WireBlockStart)
_BLOCK: Final = msgspec.json.Decoder(WireBlock)
_ITEM: Final = msgspec.json.Decoder(WireItem)
_ITEM_EVENT: Final = msgspec.json.Decoder(WireItemEvent)
_STRING: Final = msgspec.json.Decoder(str)
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_MODELS: Final = msgspec.json.Decoder(WireModels)

_EVENTS: Final = frozenset(
    {"message_start", "message_delta", "message_stop", "error"}
    | {f"content_block_{part}" for part in ("start", "delta", "stop")}
)
# Deltas whose content is text; and those that are kept for replay.
_TEXT_DELTAS: Final = frozenset({"text_delta", "input_json_delta", "thinking_delta", "signature_delta"})
_ITEM_DELTAS: Final = frozenset({"citations_delta", "compaction_delta"})

# A fault is quoted by its first words; what follows them is not looked at.
_QUOTED_BYTES: Final = 1024


def malformed(what: str, data: bytes) -> Malformed:
    """Make the failure of a part of an answer, quoting its first readable words."""
    return Malformed(f"{what}: {readable_words(data[:_QUOTED_BYTES])}")


def ordinary(name: str | None, payload: bytes, depth: int) -> WireEvent | None:
    """Read an event that is a delta of text, thinking or arguments and nothing else, as nearly all are.

    Returns `None` for every other event, which `rare` reads. What the fast decoder reads holds no half of a surrogate
    pair (S5), and what is shorter than so many pairs of brackets is not nested too deep (S2).
    """
    if len(payload) > 2 * depth and payload.count(b"{") + payload.count(b"[") > depth:
        return None
    try:
        event = _EVENT.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return None
    delta = event.delta
    if (
        delta is None
        or event.type != "content_block_delta"
        or delta.type not in _TEXT_DELTAS
        or event.error
        or name == "error"
    ):
        return None
    return event


def rare(name: str | None, payload: bytes, depth: int, notes: list[str]) -> Event | StreamFailed | None:
    """Read an event that is not ordinary; one of an unknown kind is `None` (C15). Raises `Malformed`.

    Bad bytes and odd fields beside the answer cost nothing but themselves (S5); such fields leave sentences in `notes`.
    """
    return tolerantly(lambda whole: _event(name, whole, depth), payload, notes)


def _event(name: str | None, payload: bytes, depth: int) -> Event | StreamFailed | None:
    try:
        event = loads(payload, _EVENT, depth=depth)
    except UNREADABLE as fault:
        return _unread(name, payload, fault)
    kind = event.type or name
    if event.error or name == "error":
        return StreamFailed(payload)
    if kind == "content_block_delta":
        return _delta(event, payload)
    match kind:
        case "content_block_stop":
            return WireEvent(kind, event.index)
        case "content_block_start":
            return BlockStarted(event.index, read_block(_read(payload, _BLOCK_START, kind).content_block))
        case "message_start":
            return _started(_read(payload, _MESSAGE_START, kind).message or WireMessage())
        case "message_delta":
            return _read(payload, _MESSAGE_DELTA, kind)
        case "message_stop":
            return MessageStopped()
        case "error":
            return StreamFailed(payload)
        case _:
            # `ping`, and by the wire's rule whatever comes to be.
            return None


def _delta(event: WireEvent, payload: bytes) -> Event:
    kind = None if event.delta is None else event.delta.type
    if kind in _TEXT_DELTAS:
        return event
    if kind not in _ITEM_DELTAS:
        return ItemDelta(event.index, kind or "")
    found = _read(payload, _ITEM_EVENT, kind).delta or WireItemDelta()
    fields = {"content": _kept(found.content), "encrypted_content": _kept(found.encrypted_content)}
    known = tuple((name, text) for name, text in fields.items() if text is not None)
    return ItemDelta(event.index, kind, citation=_kept(found.citation), fields=known)


def _unread(name: str | None, payload: bytes, fault: Exception) -> StreamFailed | None:
    """Judge an event that cannot be read: an error, another wire's end marker, or of an unknown kind (C15, W1)."""
    if name == "error":
        return StreamFailed(payload)
    # Gateways add it; this wire ends with message_stop.
    if payload.strip() == b"[DONE]":
        return None
    if not isinstance(fault, msgspec.ValidationError):
        raise malformed(f"an unreadable event ({fault})", payload)
    kinds = tolerant(payload, _EVENT_KIND)
    head = tolerant(payload, _KIND) if kinds is None else kinds
    kind = (None if head is None else head.type) or name
    if kind == "error":
        return StreamFailed(payload)
    delta = None if kinds is None or kinds.delta is None else kinds.delta.type
    unknown = kind not in _EVENTS or (kind == "content_block_delta" and delta is not None and delta not in _TEXT_DELTAS)
    if kind is None or not unknown:
        raise malformed(f"an event {kind or 'without a type'} of another shape ({fault})", payload)
    return None


def _started(message: WireMessage) -> MessageStarted:
    """Read the blocks that came with a message."""
    return MessageStarted(message, tuple(read_block(raw) for raw in message.content or ()))


def read_answer(body: bytes, *, depth: int, notes: list[str]) -> MessageStarted:
    """Read a whole answer and its blocks (S3), tolerantly as `rare` does.

    Raises `msgspec.DecodeError` or `TooDeep` where the body is none, `Malformed` for a block that cannot be read.
    """
    return tolerantly(lambda whole: _answer(whole, depth), body, notes)


def _answer(body: bytes, depth: int) -> MessageStarted:
    try:
        message = loads(body, _MESSAGE, depth=depth)
    except msgspec.DecodeError:
        if b"\\u" not in body:
            raise
        message = loads(without_lone_halves(body), _MESSAGE, depth=depth)
    failed = bool(message.error) or message.type == "error"
    return MessageStarted(message, ()) if failed else _started(message)


def leading_error(body: bytes) -> bytes | None:
    """Return the JSON document that a body begins with if it tells an error, whatever follows it (S1)."""
    document = first_document(body)[0]
    found = tolerant(document, _EVENT)
    return document if found is not None and (found.error or found.type == "error") else None


def read_block(raw: msgspec.Raw) -> Block:
    """Read one content block; of a kind that makes no block, all of it is kept as it came (C14)."""
    data = bytes(raw)
    kind = _read(data, _KIND, "a content block").type if data else None
    if not kind:
        raise malformed("a content block without a type", data)
    if kind not in ("text", "thinking", "tool_use"):
        item = tolerant(data, _ITEM)
        return Block("item", kind, raw=_text(data), pairs="" if item is None else item.tool_use_id or item.id or "")
    block = _read(data, _BLOCK, f"a {kind} block")
    if kind == "text":
        return Block("text", kind, text=block.text or "", citations=_citations(block.citations))
    if kind == "thinking":
        return Block("thinking", kind, text=block.thinking or "", signature=block.signature or "")
    if not block.name:
        raise malformed("a tool call without a name", data)
    return Block(
        "tool_use",
        kind,
        id="" if block.id is None else str(block.id),
        name=block.name,
        arguments=_arguments(block.input, data),
        caller=_caller(block.caller),
    )


def parse_models(provider: str, body: bytes) -> tuple[ModelInfo, ...]:
    """Read `GET /v1/models`; a row without an id is passed over, anything else is `INVALID_CATALOG`."""
    try:
        models = loads(body, _MODELS).data or []
    except UNREADABLE as fault:
        what = f"the model list cannot be read ({fault}): {readable_words(body[:_QUOTED_BYTES])}"
        raise LlmError(what, codes.INVALID_CATALOG) from None
    return tuple(_model(provider, model, model.id) for model in models if model.id)


def _model(provider: str, model: WireModel, model_id: str) -> ModelInfo:
    window = model.max_input_tokens
    known = int(window) if window is not None and window > 0 else None
    return ModelInfo(provider, model_id, model.display_name or model_id, context_window=known)


def _arguments(raw: msgspec.Raw, block: bytes) -> str:
    """Return the input's own bytes, white space outside strings removed (C8); none and an empty one are nothing yet.

    Some gateways send a string in place of the object; it stands as it came.
    """
    text = _text(bytes(raw))
    if text in ("", "null", "{}", "[]"):
        return ""
    if text.startswith('"'):
        told = _read(bytes(raw), _STRING, "an input")
        return told if told.strip() else ""
    if not text.startswith("{"):
        raise malformed("a tool call whose input is no object", block)
    return text


def _caller(raw: msgspec.Raw) -> str | None:
    kept = _kept(raw)
    # {"type":"direct"} says what is so without it: the model itself made the call.
    kind = None if kept is None else tolerant(kept.encode(), _KIND)
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
    try:
        return without_blanks(data).decode()
    except UnicodeDecodeError as fault:
        raise malformed(f"bytes that are not UTF-8 ({fault.reason})", data) from None


def _read(data: bytes, decoder: "msgspec.json.Decoder[S]", what: str) -> S:
    """Read a part of an event whose depth was checked; lone halves of surrogate pairs become U+FFFD (S5)."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as fault:
        raise malformed(f"{what} of another shape ({fault})", data) from None
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return decoder.decode(without_lone_halves(data))
    except (msgspec.DecodeError, RecursionError) as fault:
        raise malformed(f"{what} that cannot be read ({fault})", data) from None
