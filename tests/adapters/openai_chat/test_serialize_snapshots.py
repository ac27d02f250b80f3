"""One rich request in every dialect, as it goes out: what a row changes is seen here, in whole bodies."""

import json
from pathlib import Path
from typing import Any

import pytest

from chat_requests import ADD, DIALECTS, PNG, attempt, body_of
from limen.adapters.openai_chat import ROWS
from limen.contract import (
    LlmError,
    Message,
    ModelInfo,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    system,
    tool_result,
    user,
)

PAGE = Path(__file__).with_name("requests.json")

HISTORY = (
    user([TextBlock("What is this, and what is 20 + 22?"), PNG]),
    Message("assistant", (ReasoningBlock("Hm."), TextBlock("I add."), ToolCallBlock("functions.add:0", "add", ""))),
    tool_result("functions.add:0", [TextBlock("42"), PNG], is_error=True),
    system("Be brief."),
    user("So?"),
)
OPTIONS: dict[str, Any] = {
    "system": "You add.",
    "tools": [ADD],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "response_format": "json",
    "temperature": 0.5,
    "top_p": 0.9,
    "max_tokens": 100,
    "stop": ["END"],
    "seed": 7,
    "cache": "short",
    "reasoning_effort": "high",
}
MODEL = ModelInfo("route", "m", "m", input_modalities=("text", "image"))


def snapshot(dialect: str) -> Any:
    """Return the body of the rich request, without what the dialect refuses, and the names of that."""
    fields: dict[str, Any] = {"messages": HISTORY, "model": MODEL}
    refused: list[str] = []
    for name, value in OPTIONS.items():
        found = attempt(dialect, **{**fields, name: value})
        if isinstance(found, LlmError):
            refused.append(name)
        else:
            fields[name] = value
    return {"refused": refused, "body": body_of(dialect, **fields)}


def render() -> str:
    """Return the page: dialect, what it refuses, and the body, one field a line."""
    pages: list[str] = []
    for dialect in DIALECTS:
        found = snapshot(dialect)
        lines = [f'  "refused": {json.dumps(found["refused"])}']
        for name, value in found["body"].items():
            if name == "messages":
                rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in value)
                lines.append(f'  "messages": [\n{rows}\n  ]')
            else:
                lines.append(f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
        pages.append(f'"{dialect}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(pages) + "\n}\n"


@pytest.mark.parametrize("dialect", tuple(ROWS))
def test_a_rich_request_is_what_was_reviewed(dialect: str) -> None:
    """The body is the one in requests.json, field for field and in order (Q1, Q3, Q4)."""
    reviewed = json.loads(PAGE.read_text(encoding="utf-8"))[dialect]
    found = snapshot(dialect)
    assert list({"refused": 0, **found["body"]}) == list(reviewed)
    assert {"refused": found["refused"], **found["body"]} == reviewed
