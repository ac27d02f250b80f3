"""How a stream looks in a terminal, and as JSON lines."""

import re
import sys
from typing import Final, assert_never

from rich.console import Console
from rich.text import Text

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
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class JsonLines:
    """Each chunk as one line of JSON."""

    def show(self, chunk: StreamChunk) -> None:
        """Write one chunk."""
        sys.stdout.buffer.write(encode(chunk) + b"\n")
        sys.stdout.buffer.flush()

    def end(self) -> None:
        """Nothing stands open between lines."""


class Readable:
    """Text as it comes, reasoning dimmed; tool calls when they are complete, usage and finish at the end."""

    def __init__(self) -> None:
        self._console = console()
        self._line_open = False
        self._last = ""
        self._usage: TokenUsage | None = None

    def show(self, chunk: StreamChunk) -> None:
        """Write what there is to see of one chunk."""
        match chunk:
            case TextDelta(text=text):
                self._write(text, "")
            case ReasoningDelta(text=text):
                self._write(text, "dim")
            case BlockStart(block_type=block_type):
                if block_type != self._last:
                    self.end()
                self._last = block_type
            case BlockEnd(block=ToolCallBlock(id=call, name=name, arguments=arguments)):
                self._line(f"→ {name}({arguments})  [{call}]", "bold")
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
            self._console.print()
            self._line_open = False

    def _finish(self, finish: Finish) -> None:
        words = [] if self._usage is None else usage_words(self._usage)
        # A failure is told on stderr, by its code.
        if finish.reason.failure is None:
            words.append(f"finish: {finish.reason.kind}")
        if words:
            self._line(" · ".join(words), "dim")
        self.end()

    def _line(self, text: str, style: str) -> None:
        self.end()
        self._write(text, style)
        self.end()

    def _write(self, text: str, style: str) -> None:
        self._console.print(Text(_CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text), style), end="", soft_wrap=True)
        self._line_open = not text.endswith("\n")


def console() -> Console:
    """Return the way to stdout: colours in a terminal only, and no character that cannot be written."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return Console(highlight=False, markup=False, emoji=False)


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
