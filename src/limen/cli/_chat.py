"""`limen chat`: a conversation, line by line, which can be kept in a file and gone on with."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from pathlib import Path

import click
from msgspec.structs import replace

from limen.cli._call_options import Asked, call_options, model_of, options_of
from limen.cli._calls import interrupts, opened
from limen.cli._options import command, quiet_option, tools_option
from limen.cli._prompt import is_interactive
from limen.cli._report import complain_end
from limen.cli._routes import loaded
from limen.cli._saved import read_history, write_history
from limen.cli._show import Readable
from limen.contract import AbortController, Finish, GenerateOptions, LlmError, Message, user
from limen.runtime import LlmRuntime
from limen.tools import ToolRegistry

_PROMPT = "> "


@command("chat", example="limen chat -m deepseek/deepseek-v4-flash --save talk.jsonl")
@call_options
@tools_option
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the conversation, and go on with it.",
)
@quiet_option
def chat(*, asked: Asked, tools: Sequence[str], save: Path | None, quiet: bool) -> int:
    """Talk to a model in turns; Ctrl-D ends it, and Ctrl-C ends an answer that comes.

    What is typed goes to the model at the line's end. With --save each turn is kept as a line of JSON, and the next
    conversation with that file goes on from there.
    """
    history = [] if save is None else read_history(save)
    # The history is the conversation's; a request needs one message at least.
    template = options_of(asked, [*history, user("…")], model=model_of(asked, loaded))
    if history and not quiet:
        print(f"going on from {save}: {len(history)} messages", file=sys.stderr)
    with asyncio.Runner() as runner:
        conversation = _Conversation(template, history, save, quiet=quiet)
        runner.run(conversation.open(tools))
        try:
            while (line := _line()) is not None:
                if line.strip():
                    runner.run(conversation.turn(line))
        finally:
            runner.run(conversation.close())
    return 0


def _line() -> str | None:
    """Read a line, with the terminal's editing and history; `None` at the end. Ctrl-C begins a new line."""
    while True:
        try:
            if not is_interactive():
                return sys.stdin.readline() or None
            if not sys.stdout.isatty():
                print(_PROMPT, end="", file=sys.stderr, flush=True)
                return sys.stdin.readline() or None
            with suppress(ImportError):  # it is not there on Windows, whose terminal edits lines itself
                import_module("readline")  # `input` edits lines by it
            return input(_PROMPT)
        except EOFError:
            print(file=sys.stderr)
            return None
        except KeyboardInterrupt:
            print(file=sys.stderr)


class _Conversation:
    """A conversation with one model: its history, and the runtime that it is held over."""

    def __init__(self, template: GenerateOptions, history: list[Message], save: Path | None, *, quiet: bool) -> None:
        self._template = template
        self._history = history
        self._save = save
        self._quiet = quiet
        self._stack = AsyncExitStack()
        self._registry: ToolRegistry | None = None
        self._llm: LlmRuntime

    async def open(self, tools: Sequence[str]) -> None:
        """Open the runtime, and the tools."""
        if tools:
            from limen.cli._converse import registry_of  # only a conversation with tools waits for them to be loaded

            self._registry = await self._stack.enter_async_context(registry_of(tools))
        self._llm = await self._stack.enter_async_context(opened(self._template.provider))

    async def close(self) -> None:
        """Close them."""
        await self._stack.aclose()

    async def turn(self, line: str) -> None:
        """Say a line and show the answer; a turn that fails leaves the history as it was before."""
        controller = AbortController()
        options = replace(
            self._template, messages=(*self._history, user(line.rstrip("\r\n"))), signal=controller.signal
        )
        view = Readable(quiet=self._quiet)
        with interrupts(controller):
            self._history = list(await self._answered(options, controller, view))
        if self._save is not None:
            write_history(self._save, self._history)

    async def _answered(
        self, options: GenerateOptions, controller: AbortController, view: Readable
    ) -> Sequence[Message]:
        if self._registry is not None:
            from limen.cli._converse import show_conversation

            return (await show_conversation(self._llm, options, self._registry, view)).messages
        async with self._llm.stream(options) as chunks:
            async for chunk in chunks:
                view.show(chunk)
                if isinstance(chunk, Finish):
                    view.end()
                    complain_end(chunk.reason, aborted=controller.signal.aborted)
            try:
                answer = (await chunks.response()).message
            except LlmError as error:
                answer = None if error.partial is None else error.partial.message
        # What had arrived of an answer is kept, so that the conversation can go on from it (N3).
        return self._history if answer is None else (*options.messages, answer)
