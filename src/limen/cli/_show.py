"""Output of an answer: its text on stdout, what is said about it on stderr; or every chunk as a line of JSON."""

import os
import sys
from typing import Protocol, TextIO, assert_never

import click

from limen.contract import (
    BlockEnd,
    BlockStart,
    Finish,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    encode,
    visible,
)


class View(Protocol):
    """Writer of an answer's chunks."""

    def show(self, chunk: StreamChunk, /) -> None:
        """Write one chunk."""
        ...

    def end(self) -> None:
        """End what is open."""
        ...


class JsonLines:
    """Each chunk as one line of JSON on stdout."""

    def show(self, chunk: StreamChunk) -> None:
        """Write one chunk."""
        write_bytes(encode(chunk) + b"\n")

    def end(self) -> None:
        """Do nothing: each chunk is a whole line."""


class Readable:
    """Text as it comes on stdout; reasoning, complete tool calls, counts and the finish on stderr.

    What a pipe or a file gets is the answer's text, byte for byte, and a line's end where it has none. On a terminal
    control characters are shown in place of being obeyed, and each kind of output begins a line of its own. `quiet`
    leaves out all that is not the answer.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._out, self._notes = _Output(sys.stdout), _Output(sys.stderr)
        self._usage: TokenUsage | None = None

    def show(self, chunk: StreamChunk) -> None:
        """Write what there is to see of one chunk."""
        match chunk:
            case TextDelta(text=text):
                self._beside(self._notes)
                self._out.write(text)
            case ReasoningDelta(text=text):
                self._note(text)
            case BlockEnd(block=ToolCallBlock(id=call, name=name, arguments=arguments)):
                self.line(f"→ {name}({arguments})  [{call}]")
            case BlockStart() | BlockEnd() | ToolCallDelta():
                pass
            case UsageChunk(usage=usage):
                self._usage = usage
            case Finish():
                self._finish(chunk)
            case _:
                assert_never(chunk)

    def end(self) -> None:
        """End the lines that are open."""
        self._out.end()
        self._notes.end()

    def line(self, text: str) -> None:
        """Write a line about the answer."""
        self._note("")
        self._notes.end()
        self._note(text)
        if not self._quiet:
            self._notes.end()

    def _finish(self, finish: Finish) -> None:
        words = [] if self._usage is None else usage_words(self._usage)
        # A failure is told by its code, in a line of its own.
        if finish.reason.failure is None:
            words.append(f"finish: {finish.reason.kind}")
        self._out.end()
        if words:
            self.line(" · ".join(words))

    def _note(self, text: str) -> None:
        if not self._quiet:
            self._beside(self._out)
            self._notes.write(text, dim=True)

    def _beside(self, other: "_Output") -> None:
        """End the other output's line where both are the same terminal."""
        if self._out.is_terminal and self._notes.is_terminal:
            other.end()


class _Output:
    """One of the command's two outputs, and whether its line is open."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()
        self._styled = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._line_open = False

    def write(self, text: str, *, dim: bool = False) -> None:
        """Write a piece of text at once."""
        if not text:
            return
        if self.is_terminal:
            shown = harmless(text)
            click.echo(click.style(shown, dim=True) if dim and self._styled else shown, file=self._stream, nl=False)
        else:
            self._stream.flush()
            self._stream.buffer.write(text.encode("utf-8", "replace"))
            self._stream.flush()
        self._line_open = not text.endswith("\n")

    def end(self) -> None:
        """End the line that is open, if one is."""
        if self._line_open:
            self.write("\n")


def harmless(text: str) -> str:
    """Return a text for a terminal: CR is left out before LF, other controls and bidirectional marks are shown."""
    return visible(text.replace("\r\n", "\n"))


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout, at once."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def usage_words(usage: TokenUsage) -> list[str]:
    """Say the counts that are known."""
    named = (
        ("input", usage.input_tokens),
        ("cache read", usage.cache_read_tokens),
        ("cache write", usage.cache_write_tokens),
        ("output", usage.output_tokens),
        ("reasoning", usage.reasoning_tokens),
    )
    return [f"{name}: {count}" for name, count in named if count is not None]


def columns(rows: list[tuple[str, ...]]) -> None:
    """Print rows as aligned columns; unlike a drawn table it is never cut to a width."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def json_lines(rows: list[dict[str, object]]) -> None:
    """Print each row as a line of JSON."""
    for row in rows:
        write_bytes(encode(row) + b"\n")
