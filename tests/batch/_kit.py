"""Parts of the tests of batches: rows, a provider that says what a function says, and a runtime for it."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

import limen
from limen.batch import RowInput, RowResult
from limen.runtime import LlmRuntime
from limen.testing.server import MockProvider, RecordedRequest, Script, Source, Text, Turn

MODEL = "m/some-model"
_RESULTS = msgspec.json.Decoder(RowResult)


def question(request: RecordedRequest) -> str:
    """The text of a request's last message."""
    content = json.loads(request.body)["messages"][-1]["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


def echo(request: RecordedRequest) -> Script:
    """An answer that repeats the question."""
    return Script([Turn([Text([f"re: {question(request)}"])])])


def row(text: str, **fields: object) -> RowInput:
    """A row in limen's form."""
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    return {"id": text, "options": {"messages": messages, **fields}}


def write_rows(path: Path, rows: Iterable[object]) -> Path:
    """Write rows, each on its line; a text stands as it is."""
    lines = (line if isinstance(line, str) else json.dumps(line) for line in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def results(path: Path) -> list[RowResult]:
    """The results of a file, in its order."""
    return [_RESULTS.decode(line) for line in path.read_bytes().splitlines()]


def shape(result: RowResult) -> tuple[int, object, str]:
    """Compared parts of a result: line, id, and the answer's text or the failure's code."""
    end = result.response.text if result.response is not None else ""
    return (result.line, result.id, result.failure.code if result.failure is not None else end)


def configuration(mock: MockProvider, **route: object) -> dict[str, object]:
    """A configuration with the route `m`."""
    base = {"adapter": "openai-chat", "dialect": "generic", "base_url": mock.base_url("openai-chat")}
    return {"routes": {"m": {**base, **route}}}


@asynccontextmanager
async def opened(
    source: Source | Callable[[RecordedRequest], Script | str] = echo, **route: object
) -> AsyncIterator[tuple[LlmRuntime, MockProvider]]:
    """A runtime with the route `m` to a provider that answers like this."""
    async with MockProvider(source) as mock, limen.open_runtime(configuration(mock, **route)) as llm:
        yield llm, mock
