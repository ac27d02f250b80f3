"""Documents and sounds in user messages of the chat-completions wire, and what takes none."""

import pytest

from chat_requests import DIALECTS, body_of, refusal
from limen.adapters.kit import NO_FILES
from limen.adapters.openai_chat import ROWS
from limen.contract import FileBlock, Message, TextBlock, ToolCallBlock, assistant, codes, tool_result, user

PDF = FileBlock("application/pdf", b"%PDF-1.7", "report.pdf")
LINK = FileBlock(url="https://e.example/a.pdf")
DATA = "data:application/pdf;base64,JVBERi0xLjc="
WAV = FileBlock("audio/x-wav", b"RIFF1234WAVE", "a.wav")


TAKERS = ("openai", "azure", "azure-entra", "openrouter")


def part_of(block: FileBlock, dialect: str = "openai") -> object:
    """How a file stands on the wire, behind a text."""
    return body_of(dialect, messages=[user([TextBlock("q"), block])])["messages"][0]["content"][1]


@pytest.mark.parametrize(
    ("dialect", "block", "part"),
    [
        ("openai", PDF, {"type": "file", "file": {"filename": "report.pdf", "file_data": DATA}}),
        (
            "openai",
            FileBlock("application/x-pdf", b"%PDF-1.7"),
            {"type": "file", "file": {"filename": "document.pdf", "file_data": DATA}},
        ),
        ("openai", FileBlock(file_id="file-1"), {"type": "file", "file": {"file_id": "file-1"}}),
        ("openai", FileBlock(file_id="f", name="a"), {"type": "file", "file": {"file_id": "f", "filename": "a"}}),
        ("openai", WAV, {"type": "input_audio", "input_audio": {"data": "UklGRjEyMzRXQVZF", "format": "wav"}}),
        (
            "azure",
            FileBlock("audio/mp3", b"ID3x"),
            {"type": "input_audio", "input_audio": {"data": "SUQzeA==", "format": "mp3"}},
        ),
        ("openrouter", PDF, {"type": "file", "file": {"filename": "report.pdf", "file_data": DATA}}),
        ("openrouter", LINK, {"type": "file", "file": {"filename": "document.pdf", "file_data": LINK.url}}),
    ],
)
def test_files(dialect: str, block: FileBlock, part: object) -> None:
    """A PDF is a `file` part with its data, address or id; a sound is `input_audio`."""
    assert part_of(block, dialect) == part


def test_a_file_alone() -> None:
    """A message of nothing but a file is a list of one part."""
    assert body_of("openai", messages=[user([PDF])])["messages"][0]["content"] == [part_of(PDF)]


@pytest.mark.parametrize(
    ("dialect", "block", "reason"),
    [
        ("openai", FileBlock("text/plain", b"a"), "text/plain is none of application/pdf, audio/mpeg, audio/wav"),
        ("openai", LINK, "it takes files as bytes only, not by address"),
        ("openrouter", FileBlock(file_id="f"), "it takes no ids of uploaded files; give the bytes"),
        ("openai", FileBlock("audio/wav", b"\xff\xfb\x90"), "it is labelled audio/wav, and its bytes are audio/mpeg"),
        ("azure", PDF, "application/pdf is none of audio/mpeg, audio/wav"),
        (
            "openrouter",
            FileBlock("audio/wav", url="https://e.example/a.wav"),
            "audio/wav is none of application/pdf, which are what it takes by address",
        ),
    ],
)
def test_files_that_a_row_does_not_take(dialect: str, block: FileBlock, reason: str) -> None:
    """They are refused before any I/O, with the row's name and the reason."""
    found = refusal(dialect, messages=[user([TextBlock("q"), block])])

    assert found.code == codes.UNSUPPORTED_CONTENT
    assert found.failure.message == f"messages[0].content[1] cannot be sent to route/m (dialect {dialect}): {reason}"


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in TAKERS])
def test_rows_that_take_no_file(dialect: str) -> None:
    """A row that says nothing of files takes none, in any form."""
    assert ROWS[dialect].files == NO_FILES
    for block in (PDF, LINK, FileBlock(file_id="f"), WAV):
        found = refusal(dialect, messages=[user([block])])
        assert (found.code, found.failure.message.partition(": ")[2]) == (
            codes.UNSUPPORTED_CONTENT,
            "it takes no documents and no audio",
        )


@pytest.mark.parametrize(
    "messages",
    [
        (user("q"), assistant([PDF])),
        (Message("system", (PDF,)), user("q")),
        (user("q"), assistant([ToolCallBlock("t", "f", "{}")]), Message("tool", (PDF,))),
        (user("q"), assistant([ToolCallBlock("t", "f", "{}")]), tool_result("t", [TextBlock("r"), PDF])),  # type: ignore[list-item]
    ],
)
def test_places_without_files(messages: tuple[Message, ...]) -> None:
    """Assistant, system and tool messages and tool results hold no files."""
    assert refusal("openai", messages=messages).code == codes.UNSUPPORTED_CONTENT
