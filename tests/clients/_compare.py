"""What two readers of the same answer must agree on, and the table of where they do not."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from limen.contract import GenerateOptions, LlmAdapter, LlmError, Message, Response, ToolSpec, tool_result, user
from limen.runtime import LlmRuntime
from limen.testing.server import SCENARIOS

QUESTION = "What is 20 + 22?"
NUMBERS = {"type": "object", "properties": {"left": {"type": "number"}, "right": {"type": "number"}}}
TOOLS = [ToolSpec("add", "Adds two numbers", NUMBERS), ToolSpec("now", "Tells the time", {"type": "object"})]
SCRIPTS = sorted(set(SCENARIOS) - {"slow", "long"})
FORMS = ("", "+byte-by-byte", "+crlf-split", "+utf8-split", "+keep-alives-between", "+usage-twice", "+end-twice")
"""Spoilings that an answer survives, beside the answer as it is."""


@dataclass
class Reading:
    """One reader's account of one answer."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    prompt: int | None = None
    output: int | None = None
    cached: int | None = None
    thought: int | None = None
    end: str = ""


class Table:
    """Collects comparisons; prints what differs, and how many agree."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.agreed = 0
        self.differing: list[str] = []

    def compare(self, what: str, theirs: object, ours: object) -> None:
        """Note one comparison; arguments that are no text are an empty object in limen, and stay no text there (C8)."""
        if isinstance(theirs, Reading):
            theirs = replace(theirs, calls=[(native, name, text or "{}") for native, name, text in theirs.calls])
        if theirs == ours:
            self.agreed += 1
        else:
            self.differing.append(f"{what}\n    theirs: {theirs}\n    limen:  {ours}")

    def report(self) -> bool:
        """Print the result; true where everything agreed."""
        for line in self.differing:
            print(f"  {line}")
        print(f"{self.title}: {self.agreed} answers agree, {len(self.differing)} differ")
        return not self.differing


def limen_response(adapter: LlmAdapter, model: str, messages: Iterable[Message]) -> Response:
    """What limen makes of an answer, failed or not."""

    async def call() -> Response:
        async with LlmRuntime() as runtime:
            runtime.register(["witness"], adapter)
            options = GenerateOptions("witness", model, list(messages), tools=TOOLS)
            try:
                return await runtime.stream(options).response()
            except LlmError as error:
                if error.partial is None:
                    raise
                return error.partial

    return asyncio.run(call())


def reading_of(response: Response) -> Reading:
    """A response as a reading; counts as the wires add them up."""
    usage = response.usage
    calls = [*response.tool_calls, *response.incomplete_tool_calls]
    failure = response.finish.failure
    reading = Reading(
        text=response.text,
        reasoning=response.reasoning,
        calls=[(call.id, call.name, call.arguments) for call in calls],
        end=response.finish.kind if failure is None else failure.code,
    )
    if failure is not None and failure.code == "CONTENT_FILTER" and not response.text:
        reading.refusal = failure.message
    if usage is not None:
        parts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        reading.prompt = sum(part for part in parts if part is not None)
        reading.output = usage.output_tokens
        reading.cached = usage.cache_read_tokens
        reading.thought = usage.reasoning_tokens
    return reading


def next_turn(response: Response) -> list[Message] | None:
    """The history of the following turn, if the answer called tools."""
    if response.message is None or not response.tool_calls:
        return None
    return [user(QUESTION), response.message, *(tool_result(call.id, "42") for call in response.tool_calls)]
