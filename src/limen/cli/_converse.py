"""`limen stream --tools module:name`: model and tools in turns, the answer on stdout, calls and results on stderr."""

import importlib
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple

from limen.cli._report import FAILED, INTERRUPTED, UsageProblem, complain, complain_end
from limen.cli._show import JsonLines, Readable, View, harmless, usage_words, write_bytes
from limen.contract import (
    BlockEnd,
    BlockStart,
    Finish,
    GenerateOptions,
    Message,
    StreamChunk,
    TextBlock,
    ToolCallBlock,
    ToolCallDelta,
    ToolResultBlock,
    UsageChunk,
    codes,
    encode,
    foreign_text,
    scrub,
)
from limen.runtime import LlmRuntime
from limen.tools import (
    ChunkEvent,
    Ended,
    NonRecoverableToolError,
    ResultEvent,
    Tool,
    ToolContractError,
    ToolRegistry,
    converse,
    tool,
)

# Characters of a call or result that are shown; what is longer goes to the model whole.
_SHOWN_MAX: Final = 500
_BLANKS: Final = re.compile(r"\s+")


class Shown(NamedTuple):
    """Outcome of a conversation that was shown: the command's exit code, and the whole history."""

    code: int
    messages: Sequence[Message]


def registry_of(targets: Sequence[str]) -> ToolRegistry:
    """Return the tools that `module:name` names: a tool, a function, a registry, or a list of tools and functions.

    Raises `UsageProblem` for what is not found or cannot be a tool.
    """
    registry = ToolRegistry()
    for target in targets:
        try:
            registry.register([_tool(found) for found in _each(_named(target))])
        except ToolContractError as wrong:
            raise UsageProblem(f"--tools {target}: {wrong.message}") from None
    return registry


async def show_conversation(llm: LlmRuntime, options: GenerateOptions, registry: ToolRegistry, view: View) -> Shown:
    """Run `converse` and show it: the answer through the view, calls and results on stderr."""
    output = _Output(view)
    ended: Ended | None = None
    messages: Sequence[Message] = options.messages
    try:
        async with aclosing(converse(llm, options, registry)) as events:
            async for event in events:
                messages = event.messages
                if isinstance(event, ChunkEvent):
                    output.chunk(event.chunk)
                elif isinstance(event, ResultEvent):
                    output.result(event.result)
                else:
                    ended = event
    except NonRecoverableToolError as stop:
        view.end()
        complain(codes.TOOL_EXECUTION_FAILED, f"a tool stopped the run: {foreign_text(stop)}")
        return Shown(FAILED, messages)
    view.end()
    assert ended is not None, "a conversation always ends"
    return Shown(output.ended(ended), messages)


class _Output:
    """Chunks through the view; calls, results and the end on stderr, or as lines of JSON with the chunks."""

    def __init__(self, view: View) -> None:
        self._view = view

    def chunk(self, chunk: StreamChunk) -> None:
        """Show a chunk; of a call that is one line when it is complete."""
        if isinstance(self._view, JsonLines):
            self._view.show(chunk)
            return
        match chunk:
            case BlockEnd(block=ToolCallBlock(name=name, arguments=arguments)):
                self._line(f"→ {name}({arguments})")
            case UsageChunk() | Finish() | ToolCallDelta() | BlockStart(block_type="tool-call"):
                # Counts and reasons of single turns would be taken for the answer's.
                pass
            case _:
                self._view.show(chunk)

    def result(self, result: ToolResultBlock) -> None:
        """Show a tool's result."""
        if isinstance(self._view, JsonLines):
            write_bytes(encode(result) + b"\n")
            return
        content = result.content
        parts = (content,) if isinstance(content, str) else tuple(map(_words_of, content))
        self._line(f"{'✗' if result.is_error else '←'} {' '.join(parts)}")

    def ended(self, ended: Ended) -> int:
        """Say how the conversation ended, and return the exit code."""
        finish = None if ended.response is None else ended.response.finish
        words = [] if ended.usage is None else usage_words(ended.usage)
        if ended.why == "answer" and finish is not None:
            words.append(f"finish: {finish.kind}")
        if words:
            self._line(" · ".join(words))
        if ended.why == "aborted":
            complain(codes.ABORTED, "interrupted; what had arrived is above")
            return INTERRUPTED
        if ended.why == "max-turns":
            complain(codes.UNKNOWN, "the model still calls tools after 16 turns; what it said is above")
            return FAILED
        return 0 if finish is None else complain_end(finish, aborted=False)

    def _line(self, text: str) -> None:
        if isinstance(self._view, Readable):
            line = _BLANKS.sub(" ", harmless(scrub(text)))
            self._view.line(line if len(line) <= _SHOWN_MAX else f"{line[:_SHOWN_MAX]}…")


def _words_of(block: object) -> str:
    return block.text if isinstance(block, TextBlock) else "[image]"


def _each(found: object) -> Sequence[object]:
    if isinstance(found, ToolRegistry):
        return [found.get(name) for name in found.names]
    return found if isinstance(found, (list, tuple)) else (found,)  # pyright: ignore[reportUnknownVariableType]


def _tool(found: object) -> Tool:
    if isinstance(found, Tool):
        return found
    function: Callable[..., object] | None = found if callable(found) else None
    if function is None:
        raise ToolContractError(codes.INVALID_TOOL_DEFINITION, f"a {type(found).__name__} is neither tool nor function")
    return tool(function)


def _named(target: str) -> object:
    module, _, name = target.partition(":")
    if not module or not name:
        raise UsageProblem(f"--tools is given as module:name, such as my_tools:add; got {target!r}")
    # A module beside the caller is what people mean, as with `python -m`.
    if "" not in sys.path and "." not in sys.path:
        sys.path.insert(0, "")
    try:
        value: object = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except Exception as problem:  # noqa: BLE001 - a module's own code may raise anything while it is imported
        raise UsageProblem(f"--tools {target}: {type(problem).__name__}: {foreign_text(problem)}") from None
    return value
