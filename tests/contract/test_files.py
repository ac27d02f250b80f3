"""Files in a request: one of three forms, immutable, and the same after a round trip through JSON (section 1)."""

import json

import pytest

import limen
from limen.contract import (
    FileBlock,
    GenerateOptions,
    Message,
    check_history,
    decode_message,
    decode_options,
    encode,
    user,
)

FILES = [
    (
        FileBlock("application/pdf", b"%PDF", "a.pdf"),
        {"type": "file", "mediaType": "application/pdf", "data": "JVBERg==", "name": "a.pdf"},
    ),
    (FileBlock(url="https://e.example/a.pdf"), {"type": "file", "url": "https://e.example/a.pdf"}),
    (FileBlock(file_id="file-1"), {"type": "file", "fileId": "file-1"}),
]


@pytest.mark.parametrize(("block", "form"), FILES)
def test_json_form(block: FileBlock, form: object) -> None:
    """The tag is `file`, bytes are base64, and reading gives an equal value."""
    message = user([block])
    options = GenerateOptions("p", "m", [message])

    assert json.loads(encode(message))["content"] == [form]
    assert decode_message(encode(message)) == message
    assert decode_options(encode(options)) == options
    check_history([message])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"media_type": "application/pdf"},
        {"data": b"x"},
        {"data": b"x", "media_type": ""},
        {"url": "https://e.example", "file_id": "f"},
        {"media_type": "a/b", "data": b"x", "url": "https://e.example"},
        {"media_type": "a/b", "data": b"x", "url": "https://e.example", "file_id": "f"},
    ],
)
def test_a_file_has_one_form(fields: dict[str, object]) -> None:
    """None of the three, two of them, or bytes without a media type are a ValueError."""
    with pytest.raises(ValueError, match="a file "):
        FileBlock(**fields)  # type: ignore[arg-type]


def test_a_file_is_immutable_and_hashable() -> None:
    """Bytes that may change are copied; fields cannot be set; equal files have one hash."""
    given = bytearray(b"%PDF")
    block = FileBlock("application/pdf", given)  # type: ignore[arg-type]
    given[0] = 0

    assert block.data == b"%PDF"
    assert hash(block) == hash(FileBlock("application/pdf", memoryview(b"%PDF")))  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        block.name = "x"  # type: ignore[misc]
    assert limen.FileBlock is FileBlock


def test_no_chunk_holds_a_file() -> None:
    """A file stands in requests only: a block's end with one cannot be read."""
    with pytest.raises(limen.LlmError):
        limen.contract.decode_chunk(b'{"type":"block-end","index":0,"block":{"type":"file","fileId":"f"}}')
    assert isinstance(user([FileBlock(file_id="f")]), Message)
