"""Content blocks of a history on their way to a wire: images, files, tool calls, refusals that name the place (Q1)."""

import re
from base64 import b64encode
from collections.abc import Collection, Mapping
from typing import Final, NoReturn

import msgspec

from limen.adapters.kit._json import is_object
from limen.adapters.kit._request import RequestWriter
from limen.contract import (
    ContentBlock,
    FileBlock,
    ImageBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    codes,
    replace_surrogates,
)

_WORDS: Final[Mapping[type, str]] = {
    TextBlock: "text",
    ReasoningBlock: "reasoning",
    ImageBlock: "an image",
    FileBlock: "a file",
    ToolCallBlock: "a tool call",
    ToolResultBlock: "a tool result",
}


def block_words(block: ContentBlock) -> str:
    """Return the name of a block's kind, for messages."""
    return _WORDS[type(block)]


def refuse_block(writer: RequestWriter, path: str, reason: str) -> NoReturn:
    """Refuse a content block with `UNSUPPORTED_CONTENT`."""
    writer.refuse(path, reason, codes.UNSUPPORTED_CONTENT)


def check_role(writer: RequestWriter, index: int, role: str) -> None:
    """Refuse a role that no message has."""
    if role not in ("system", "user", "assistant", "tool"):
        writer.invalid(f"messages[{index}].role is {role!r}; roles are system, user, assistant and tool")


class ImageRules(msgspec.Struct, frozen=True, kw_only=True):
    """The images that a host takes.

    `taken`: `yes`, `no`, or `listed` for only those models whose known facts say so. `urls`: by address too, not as
    bytes only. `types`: the media types of bytes, `None` where any goes.
    """

    taken: str = "yes"
    urls: bool = True
    types: frozenset[str] | None = None


def check_image(writer: RequestWriter, block: ImageBlock, path: str, rules: ImageRules) -> None:
    """Refuse an image that the host, or the model by its known facts, does not take."""
    model = writer.context.model
    modalities = None if model is None else model.input_modalities
    if rules.taken == "no" or (modalities is not None and "image" not in modalities):
        refuse_block(writer, path, "it takes no images")
    if rules.taken == "listed" and modalities is None:
        refuse_block(
            writer, path, "only some of its models take images: say so in the model's facts (input_modalities)"
        )
    if block.data is None:
        if not rules.urls:
            refuse_block(writer, path, "it takes images as bytes only, not by address")
        return
    found = media_type_of(block.data)
    if found is not None and found != block.media_type:
        # 400 at Anthropic: the image was specified using the image/png media type, but … image/jpeg [NQ344]
        refuse_block(writer, path, f"it is labelled {block.media_type}, and its bytes are {found}")
    if rules.types is not None and block.media_type not in rules.types:
        refuse_block(writer, path, f"{block.media_type} is none of {_listed(rules.types)}")


class FileRules(msgspec.Struct, frozen=True, kw_only=True):
    """The documents and sounds that a host takes; by default none.

    `types`: media types of bytes. `urls`: media types that it fetches by address. `ids`: files that were uploaded.
    """

    types: frozenset[str] = frozenset()
    urls: frozenset[str] = frozenset()
    ids: bool = False


NO_FILES: Final = FileRules()

# Other names of a type, by https://www.iana.org/assignments/media-types and what systems call the files (2026-11).
_OTHER_NAMES: Final = {
    "audio/mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "application/x-pdf": "application/pdf",
}


def check_file(writer: RequestWriter, block: FileBlock, path: str, rules: FileRules) -> str | None:
    """Return the usual name of a file's media type, `None` where it has none; refuse a file that the host refuses.

    Parameters of the type are left out. Bytes of another type than their label are told by `media_type_of`.
    """
    label = block.media_type and block.media_type.partition(";")[0].strip().lower()
    kind = _OTHER_NAMES.get(label or "", label)
    if rules == NO_FILES:
        refuse_block(writer, path, "it takes no documents and no audio")
    if block.file_id is not None:
        if not rules.ids:
            refuse_block(writer, path, "it takes no ids of uploaded files; give the bytes")
        return kind
    types = rules.types if block.data is not None else rules.urls
    if not types:
        refuse_block(writer, path, "it takes files as bytes only, not by address")
    found = None if block.data is None else media_type_of(block.data)
    if found is not None and found != kind:
        refuse_block(writer, path, f"it is labelled {block.media_type}, and its bytes are {found}")
    if kind is not None and kind not in types:
        how = "" if block.data is not None else ", which are what it takes by address"
        refuse_block(writer, path, f"{block.media_type} is none of {_listed(types)}{how}")
    return kind


def check_result(writer: RequestWriter, block: ToolResultBlock, path: str) -> None:
    """Refuse a tool result that holds anything but text and images."""
    for number, part in enumerate(() if isinstance(block.content, str) else block.content):
        words = _no_part(part)
        if words is not None:
            refuse_block(writer, f"{path}.content[{number}]", f"a tool result holds text and images, not {words}")


def _no_part(part: object) -> str | None:
    return None if isinstance(part, TextBlock | ImageBlock) else _WORDS.get(type(part), f"a {type(part).__name__}")


# First bytes of the types that a wire takes (https://en.wikipedia.org/wiki/List_of_file_signatures, 2026-11).
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
)


def media_type_of(data: bytes) -> str | None:
    """Return the media type that the first bytes of a file tell, `None` where they tell none."""
    if data[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12])
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), None)


def base64_of(block: ImageBlock | FileBlock) -> str:
    """Return the bytes of an image or a file in base64."""
    return b64encode(block.data or b"").decode("ascii")


def check_call(
    writer: RequestWriter, block: ToolCallBlock, path: str, pattern: "re.Pattern[str] | None" = None
) -> None:
    """Refuse a tool call of the history without a name, or with one that the wire is known to refuse (Q10)."""
    if not block.name:
        writer.invalid(
            f"{path} is a tool call without a name, which no server takes; "
            "limen.repair_history(messages) takes it out with its result"
        )
    writer.check_name(block.name, f"{path}.name", pattern)


def arguments_object(writer: RequestWriter, block: ToolCallBlock, path: str) -> msgspec.Raw:
    """Return a call's arguments for a wire that embeds them as an object, empty ones as `{}` (C8).

    Refuses anything but one JSON object with `INVALID_OPTIONS`, naming the call.
    """
    text = replace_surrogates(block.arguments)
    if not text.strip():
        return msgspec.Raw(b"{}")
    if not is_object(text):
        writer.invalid(
            f"{path}: the arguments of the call {block.id!r} of {block.name!r} are not one JSON object, which this "
            "wire needs; limen.repair_history offers a wrapped form"
        )
    return msgspec.Raw(text.encode())


def _listed(words: Collection[str]) -> str:
    return ", ".join(sorted(words))
