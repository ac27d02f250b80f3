"""Build chat-completions requests for tests, one body for one set of options in one dialect; read what came back."""

import json
from collections.abc import Iterable
from typing import Any

from limen.adapters import BuildContext
from limen.adapters.openai_chat import ROWS, WIRE
from limen.contract import (
    Assembler,
    Finish,
    GenerateOptions,
    ImageBlock,
    LlmError,
    Message,
    ModelInfo,
    Response,
    StreamChunk,
    TextBlock,
    ToolCallBlock,
    ToolSpec,
    assemble,
    tool_result,
    user,
)

DIALECTS = tuple(ROWS)
PNG = ImageBlock("image/png", b"\x89PNG")
SCHEMA = {
    "type": "object",
    "properties": {"l": {"type": "integer"}},
    "required": ["l"],
    "additionalProperties": False,
}
ADD = ToolSpec("add", "Adds.", SCHEMA)


def body_of(dialect: str = "generic", *, model: ModelInfo | None = None, **fields: Any) -> Any:
    """Return the body of a request as JSON values; `messages` is one user message unless given."""
    fields.setdefault("messages", [user("hi")])
    options = GenerateOptions(provider="route", model="m", **fields)
    return json.loads(WIRE.codec(dialect).build(options, BuildContext(model)).body)


def attempt(dialect: str = "generic", *, model: ModelInfo | None = None, **fields: Any) -> Any:
    """Return the body of a request, or its refusal."""
    try:
        return body_of(dialect, model=model, **fields)
    except LlmError as error:
        return error


def refusal(dialect: str = "generic", *, model: ModelInfo | None = None, **fields: Any) -> LlmError:
    """Return the refusal of a request; one that is served fails the test."""
    found = attempt(dialect, model=model, **fields)
    assert isinstance(found, LlmError), f"served: {found}"
    assert found.failure.phase == "resolve"
    return found


def messages_of(dialect: str, *messages: Message, **fields: Any) -> Any:
    """Return the wire messages of a history."""
    return body_of(dialect, messages=messages, **fields)["messages"]


def tool_turn(call_id: str = "call_1", result: Any = "42", *, is_error: bool = False) -> tuple[Message, ...]:
    """Return a question, a call with its text, and the call's result."""
    return (
        user("q"),
        Message("assistant", (TextBlock("t"), ToolCallBlock(call_id, "add", '{"l": 1}'))),
        tool_result(call_id, result, is_error=is_error),
    )


def response_of(chunks: Iterable[StreamChunk]) -> Response:
    """Return what the chunks of a whole stream assemble to."""
    assembler, last = Assembler(), None
    for last in chunks:
        assembler.feed(last)
    assert isinstance(last, Finish)
    return assemble(assembler.arrived(), last.reason)
