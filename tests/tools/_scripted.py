"""A model that says what a list of turns says, behind the real runtime and its guard."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import limen
from limen.contract import TOOL_CALLS, encode

Turn = str | Sequence[limen.ToolCallBlock] | limen.Failure


def call(name: str, arguments: object = None, id: str = "call_1") -> limen.ToolCallBlock:  # noqa: A002 - the field's name
    """Make a call; arguments are given as data, or as the raw string."""
    text = arguments if isinstance(arguments, str) else encode({} if arguments is None else arguments).decode()
    return limen.ToolCallBlock(id, name, text)


def chunks(turn: Turn) -> list[limen.StreamChunk]:
    """Return the chunks of one turn: a text, tool calls, or a failure after the word "partly"."""
    found: list[limen.StreamChunk] = []
    if isinstance(turn, (str, limen.Failure)):
        text = turn if isinstance(turn, str) else "partly"
        found += [limen.BlockStart(0, "text"), limen.TextDelta(0, text)]
        if isinstance(turn, limen.Failure):
            return [*found, limen.Finish(limen.FinishReason("error", turn))]
        found.append(limen.BlockEnd(0, limen.TextBlock(text)))
    else:
        for index, block in enumerate(turn):
            found.append(limen.BlockStart(index, "tool-call"))
            found.append(limen.ToolCallDelta(index, block.id, block.name, block.arguments))
            found.append(limen.BlockEnd(index, block))
    found.append(limen.UsageChunk(limen.TokenUsage(input_tokens=10, output_tokens=3)))
    found.append(limen.Finish(limen.FinishReason("stop") if isinstance(turn, str) else TOOL_CALLS))
    return found


class ScriptedAdapter(limen.LlmAdapter):
    """Answers request after request with the next turn, and keeps what it was asked.

    With `silent`, the answer after the last turn never comes; `asked` is set when that one is asked for.
    """

    def __init__(self, turns: Sequence[Turn], *, silent: bool = False) -> None:
        self.turns = list(turns)
        self.requests: list[limen.GenerateOptions] = []
        self.silent = silent
        self.asked = asyncio.Event()

    async def stream(self, options: limen.GenerateOptions) -> AsyncIterator[limen.StreamChunk]:
        """Answer."""
        self.requests.append(options)
        if not self.turns and self.silent:
            self.asked.set()
            await asyncio.Event().wait()
        for chunk in chunks(self.turns.pop(0)):
            yield chunk


def scripted(*turns: Turn, silent: bool = False) -> tuple[limen.LlmRuntime, ScriptedAdapter]:
    """Return a runtime whose route `model` says these turns."""
    adapter = ScriptedAdapter(turns, silent=silent)
    llm = limen.LlmRuntime()
    llm.register(["model"], adapter)
    return llm, adapter


def ask(**options: object) -> limen.GenerateOptions:
    """Return the options of a question."""
    fields: dict[str, object] = {"provider": "model", "model": "m", "messages": [limen.user("What is 20 + 22?")]}
    return limen.GenerateOptions(**{**fields, **options})  # type: ignore[arg-type]


def error_of(result: limen.ToolResultBlock) -> tuple[str, str]:
    """Return code and message of an error result, whose JSON holds these two and nothing else."""
    import json

    assert result.is_error
    assert isinstance(result.content, str)
    found: dict[str, dict[str, str]] = json.loads(result.content)
    assert list(found) == ["error"]
    assert list(found["error"]) == ["code", "message"]
    return found["error"]["code"], found["error"]["message"]
