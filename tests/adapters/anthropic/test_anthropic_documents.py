"""Documents in user messages of the Messages wire, and what takes none."""

import pytest

from adapters.anthropic._messages_wire import asking, body_of, failure_of
from limen.contract import FileBlock, Message, TextBlock, ToolCallBlock, assistant, codes, tool_result, user

PDF = FileBlock("application/pdf", b"%PDF-1.7", "report.pdf")
LINK = FileBlock(url="https://e.example/a.pdf")


def part_of(block: FileBlock, dialect: str = "anthropic", **fields: object) -> dict[str, object]:
    """How a file stands on the wire."""
    turns = body_of(asking(user([TextBlock("q"), block]), **fields), dialect)["messages"]
    found: dict[str, object] = turns[0]["content"][1]  # type: ignore[index]
    return found


def refused(block: FileBlock, dialect: str = "anthropic") -> str:
    """Why a file is refused."""
    fault = failure_of(lambda: part_of(block, dialect))
    assert fault.code == codes.UNSUPPORTED_CONTENT
    start, _, reason = fault.failure.message.partition(": ")
    assert start == f"messages[0].content[1] cannot be sent to p/claude-x (dialect {dialect})"
    return reason


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (
            PDF,
            {
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="},
                "title": "report.pdf",
            },
        ),
        (
            FileBlock("text/plain; charset=utf-8", b"\xef\xbb\xbfgr\xc3\xbc\xc3\x9f"),
            {"source": {"type": "text", "media_type": "text/plain", "data": "gr\u00fc\u00df"}},
        ),
        (LINK, {"source": {"type": "url", "url": "https://e.example/a.pdf"}}),
        (FileBlock(file_id="file_1", name="a"), {"source": {"type": "file", "file_id": "file_1"}, "title": "a"}),
    ],
)
@pytest.mark.parametrize("dialect", ["anthropic", "azure"])
def test_documents(block: FileBlock, part: dict[str, object], dialect: str) -> None:
    """A PDF is base64, a text is text, an address and an id are sources; the name is the title."""
    assert part_of(block, dialect) == {"type": "document", **part}


def test_a_document_may_carry_the_cache_mark() -> None:
    """The breakpoint behind the last turn stands on a document as on a text."""
    assert part_of(PDF, cache="short")["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (FileBlock("audio/wav", b"RIFF1234WAVE"), "audio/wav is none of application/pdf, text/plain"),
        (FileBlock("text/plain", b"%PDF-1.7"), "it is labelled text/plain, and its bytes are application/pdf"),
        (
            FileBlock("application/pdf", b"\x89PNG\r\n\x1a\n"),
            "it is labelled application/pdf, and its bytes are image/png",
        ),
        (FileBlock("text/plain", b"\xff"), "a text is UTF-8 on this wire, and this one is not (invalid start byte)"),
        (FileBlock(url="file:///a.pdf"), "a document's URL is http or https; give other documents as bytes"),
        (
            FileBlock("text/plain", url="https://e.example/a"),
            "text/plain is none of application/pdf, which are what it takes by address",
        ),
    ],
)
def test_files_that_the_wire_does_not_take(block: FileBlock, reason: str) -> None:
    """What the pages do not list, and bytes of another type than their label, are told before any I/O."""
    assert refused(block) == reason


def test_files_that_rows_do_not_take() -> None:
    """Vertex takes bytes only; other rows take none."""
    assert part_of(PDF, "vertex")["type"] == "document"
    assert refused(LINK, "vertex") == "it takes files as bytes only, not by address"
    assert refused(FileBlock(file_id="f"), "vertex") == "it takes no ids of uploaded files; give the bytes"
    assert refused(PDF, "ollama") == "it takes no documents and no audio"


@pytest.mark.parametrize(
    "messages",
    [
        (user("q"), assistant([PDF])),
        (user("q"), Message("system", (PDF,))),
        (user("q"), assistant([ToolCallBlock("t", "f", "{}")]), tool_result("t", [TextBlock("r"), PDF])),  # type: ignore[list-item]
    ],
)
def test_places_without_files(messages: tuple[Message, ...]) -> None:
    """Assistant and system messages and tool results hold no files."""
    fault = failure_of(lambda: body_of(asking(*messages)))

    assert fault.code == codes.UNSUPPORTED_CONTENT
    assert "a file" in fault.failure.message
