"""Framed payloads of `gemini-generate` to typed values: chunks, parts, the list of models.

Source: https://ai.google.dev/api/generate-content, read 2026-11-30. Unknown fields are passed over, and so are parts
without any data; a part of an unknown kind is kept for the replay as it came (C14, C15).
"""

import binascii
from base64 import b64decode
from typing import Final, TypeVar

import msgspec

from limen.adapters.gemini._models import family_of
from limen.adapters.gemini._tolerance import tolerantly
from limen.adapters.gemini._wire import (
    Malformed,
    Part,
    WireCall,
    WireChunk,
    WireFirstChunk,
    WireFullPart,
    WireModel,
    WireModels,
    WireRawChunk,
)
from limen.adapters.kit import UNREADABLE, first_count, mended, readable_words, without_blanks, without_lone_halves
from limen.contract import Effort, ImageBlock, LlmError, ModelInfo, codes, loads

S = TypeVar("S")


def _chunks(kind: type[WireChunk]) -> "msgspec.json.Decoder[WireChunk]":
    return msgspec.json.Decoder(kind)


CHUNK: Final = _chunks(WireChunk)
FIRST_CHUNK: Final = _chunks(WireFirstChunk)
CHUNKS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_RAW_CHUNK: Final = msgspec.json.Decoder(WireRawChunk)
_FULL_PART: Final = msgspec.json.Decoder(WireFullPart)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_STRING: Final = msgspec.json.Decoder(str)
_MODELS: Final = msgspec.json.Decoder(WireModels)

# Members of a part that say something about its data and are none; Vertex refuses its own steps of media processing.
_MARKS: Final = frozenset(
    {"thought", "thoughtSignature", "mediaResolution", "videoMetadata", "partMetadata", "mediaProcessing"}
)
_QUOTED_BYTES: Final = 1024


def malformed(what: str, data: bytes) -> Malformed:
    """Make the failure of a part of an answer, quoting its first readable words."""
    return Malformed(f"{what}: {readable_words(data[:_QUOTED_BYTES])}")


def reread(payload: bytes, decoder: "msgspec.json.Decoder[WireChunk]", depth: int, notes: list[str]) -> WireChunk:
    """Read a chunk that the fast decoder could not: bad bytes and odd fields beside the answer cost only themselves.

    Raises `Malformed` for what is no chunk of this wire.
    """
    try:
        return tolerantly(lambda whole: loads(whole, decoder, depth=depth), payload, notes)
    except UNREADABLE as fault:
        raise malformed(f"a chunk that cannot be read ({fault})", payload) from None


def is_plain(chunk: WireChunk) -> bool:
    """Tell whether every part of candidate 0 is text, as nearly all are."""
    for candidate in chunk.candidates or ():
        if candidate is None or candidate.index or candidate.content is None:
            continue
        for part in candidate.content.parts or ():
            if part is not None and (part.text is None or part.call is not None):
                return False
    return True


def read_parts(payload: bytes) -> list[Part]:
    """Read the parts of candidate 0 with their own bytes. Raises `Malformed` for one that cannot be read."""
    chunk = _read(payload, _RAW_CHUNK, "a chunk")
    found: list[Part] = []
    for candidate in chunk.candidates or ():
        if candidate is None or candidate.index or candidate.content is None:
            continue
        for raw in candidate.content.parts or ():
            part = _part(bytes(raw))
            if part is not None:
                found.append(part)
    return found


def _part(data: bytes) -> Part | None:
    if data == b"null":
        return None
    members = _read(data, _MEMBERS, "a part")
    kinds = [name for name, value in members.items() if name not in _MARKS and bytes(value) != b"null"]
    if not kinds:
        # {} and a signature alone: Vertex marks steps of its own so, and refuses them when they are sent back.
        return None
    part = _read(data, _FULL_PART, "a part")
    signature = part.signature or ""
    if part.call is not None:
        return Part("call", signature=signature, call=part.call, arguments=_arguments(part.call, data))
    if part.text is not None:
        return Part("reasoning" if part.thought else "text", part.text, signature)
    if part.blob is not None and (part.blob.media_type or "").startswith("image/") and not part.thought:
        try:
            image = ImageBlock(part.blob.media_type, b64decode(part.blob.data or "", validate=True))
        except (binascii.Error, ValueError):
            raise malformed("an image that is no base64", data) from None
        return Part("image", signature=signature, image=image)
    return Part(kinds[0], raw=_text(data))


def _arguments(call: WireCall, part: bytes) -> str:
    """Return the arguments' own bytes, white space outside strings removed (C8); none are nothing yet.

    An empty object beside pieces, or where there is no name, says nothing: the arguments come in pieces.
    """
    text = _text(bytes(call.args))
    if text in ("", "null") or (text == "{}" and (call.goes_on or call.pieces or not call.name)):
        return ""
    if text.startswith('"'):
        # Some gateways hand over a string; it stands as it came.
        return _read(bytes(call.args), _STRING, "arguments")
    if not text.startswith("{"):
        raise malformed("a tool call whose arguments are no object", part)
    return text


def _text(data: bytes) -> str:
    return without_blanks(data).decode("utf-8", "replace")


def _read(data: bytes, decoder: "msgspec.json.Decoder[S]", what: str) -> S:
    """Read a part of a chunk whose depth was checked; bad bytes cost nothing but themselves (S5)."""
    try:
        try:
            return decoder.decode(data)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, RecursionError):
            return decoder.decode(without_lone_halves(mended(data)))
    except (msgspec.DecodeError, RecursionError) as fault:
        raise malformed(f"{what} of another shape ({fault})", data) from None


# -- the list of models


def parse_models(provider: str, body: bytes) -> tuple[ModelInfo, ...]:
    """Read `GET /models`: those that generate content, with their limits; anything else is `INVALID_CATALOG`."""
    try:
        page = loads(body, _MODELS)
    except UNREADABLE as fault:
        what = f"the model list cannot be read ({fault}): {readable_words(body[:_QUOTED_BYTES])}"
        raise LlmError(what, codes.INVALID_CATALOG) from None
    found: dict[str, ModelInfo] = {}
    for model in page.models or page.published or ():
        name = (model.name or "").removeprefix("publishers/google/").removeprefix("models/")
        if name and name not in found and (model.methods is None or "generateContent" in model.methods):
            found[name] = _model(provider, name, model)
    return tuple(found.values())


def _model(provider: str, name: str, model: WireModel) -> ModelInfo:
    efforts = () if model.thinking is False else family_of(name).efforts
    return ModelInfo(
        provider,
        name,
        model.title or name,
        description=model.description or None,
        context_window=first_count(model.window) or None,
        efforts=None if efforts is None else tuple(Effort(effort, effort) for effort in efforts),
    )
