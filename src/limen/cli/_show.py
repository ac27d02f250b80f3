"""Output of a stream: readable in a terminal, or as JSON lines."""

import re
import sys
from typing import Final, assert_never

from rich.console import Console

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
)

# What moves a terminal's cursor or changes its state is shown, not done: a model's text is foreign.
_DIM, _BOLD, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class JsonLines:
    """Each chunk as one line of JSON."""

    def show(self, chunk: StreamChunk) -> None:
        """Write one chunk."""
        sys.stdout.buffer.write(encode(chunk) + b"\n")
        sys.stdout.buffer.flush()

    def end(self) -> None:
        """Do nothing: each chunk is a whole line."""


class Readable:
    """Text as it comes, reasoning dimmed; tool calls when they are complete, usage and finish at the end."""

    def __init__(self) -> None:
        console = Console()
        plain = console.no_color or console.legacy_windows or console.color_system is None
        self._styled = console.is_terminal and not plain
        self._line_open = False
        self._last = ""
        self._usage: TokenUsage | None = None

    def show(self, chunk: StreamChunk) -> None:
        """Write what there is to see of one chunk."""
        match chunk:
            case TextDelta(text=text):
                self._write(text, "")
            case ReasoningDelta(text=text):
                self._write(text, _DIM)
            case BlockStart(block_type=block_type):
                if block_type != self._last:
                    self.end()
                self._last = block_type
            case BlockEnd(block=ToolCallBlock(id=call, name=name, arguments=arguments)):
                self._line(f"→ {name}({arguments})  [{call}]", _BOLD)
            case BlockEnd() | ToolCallDelta():
                pass
            case UsageChunk(usage=usage):
                self._usage = usage
            case Finish():
                self._finish(chunk)
            case _:
                assert_never(chunk)

    def end(self) -> None:
        """End the line that is open, if one is."""
        if self._line_open:
            self._write("\n", "")

    def _finish(self, finish: Finish) -> None:
        words = [] if self._usage is None else usage_words(self._usage)
        # A failure is told on stderr, by its code.
        if finish.reason.failure is None:
            words.append(f"finish: {finish.reason.kind}")
        if words:
            self._line(" · ".join(words), _DIM)
        self.end()

    def _line(self, text: str, style: str) -> None:
        self.end()
        self._write(text, style)
        self.end()

    def _write(self, text: str, style: str) -> None:
        # Written as it is, not laid out: a tab stays a tab, and what is piped is what the model said.
        clean = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)
        sys.stdout.write(f"{style}{clean}{_PLAIN}" if style and self._styled else clean)
        sys.stdout.flush()
        self._line_open = not text.endswith("\n")


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
