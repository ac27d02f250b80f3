"""Build chat-completions bodies, and read them the worst ways a network can cut them."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from limen.adapters.openai_chat import ROWS
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.adapters.openai_chat._reader import ChatReader
from limen.contract import (
    Assembler,
    BlockEnd,
    BlockStart,
    ChunkGrammar,
    Failure,
    Finish,
    IdSeed,
    Limits,
    Response,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    assemble,
)

DONE = b"data: [DONE]\n\n"


class Outcome(NamedTuple):
    """What a body became: chunks, the failure that an adapter would raise, and facts about the call."""

    chunks: list[StreamChunk]
    raised: Failure | None
    facts: tuple[str | None, str | None, str | None, str | None]
    """Response id, response model, the provider's finish word, the stop sequence."""

    @property
    def text(self) -> str:
        """The visible text."""
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))

    @property
    def finish(self) -> Finish:
        """The terminal chunk."""
        last = self.chunks[-1]
        assert isinstance(last, Finish), (self.raised, self.chunks)
        return last

    @property
    def kind(self) -> str:
        """How it ended: a finish kind, or the code of the failure in either place."""
        if self.raised is not None:
            return f"raised {self.raised.code}"
        failure = self.finish.reason.failure
        return self.finish.reason.kind if failure is None else failure.code

    @property
    def failure(self) -> Failure:
        """The in-band failure."""
        failure = self.finish.reason.failure
        assert failure is not None, self.finish
        return failure

    @property
    def usage(self) -> TokenUsage | None:
        """The usage, where there was one."""
        return next((chunk.usage for chunk in self.chunks if isinstance(chunk, UsageChunk)), None)

    @property
    def blocks(self) -> list[object]:
        """What the closed blocks hold, in order."""
        return [chunk.block for chunk in self.chunks if isinstance(chunk, BlockEnd)]

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """Id, name and arguments of every closed call."""
        return [(block.id, block.name, block.arguments) for block in self.blocks if isinstance(block, ToolCallBlock)]

    @property
    def response(self) -> Response:
        """The collected answer."""
        assembler = Assembler()
        for chunk in self.chunks:
            assembler.feed(chunk)
        return assemble(assembler.arrived(), self.finish.reason)


def event(**fields: object) -> bytes:
    """One event with those fields; id and model as every event has them."""
    whole = {"id": "x", "model": "m", **fields}
    return b"data: " + json.dumps(whole, ensure_ascii=False).encode() + b"\n\n"


def part(finish: str | None = None, **delta: object) -> bytes:
    """One event of choice 0: what its delta holds, and a finish word."""
    return event(choices=[{"index": 0, "delta": delta, "finish_reason": finish}])


def said(text: str) -> bytes:
    """One event of text."""
    return part(content=text)


def fragment(
    arguments: object = None, *, index: int | None = 0, name: object = None, **fields: object
) -> dict[str, object]:
    """One item of `tool_calls`; `id=…` and other fields as given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call: dict[str, object] = {**fields, "function": function}
    return call if index is None else {"index": index, **call}


def calling(*fragments: dict[str, object], finish: str | None = None) -> bytes:
    """One event of tool call fragments."""
    return part(finish, tool_calls=list(fragments))


def stream(*events: bytes) -> bytes:
    """A body of those events and the end marker."""
    return b"".join((*events, DONE))


def ended(word: str = "stop") -> bytes:
    """One event with only a finish word."""
    return part(word)


def read(
    reads: bytes | Iterable[bytes],
    dialect: str | ReadingRules = "generic",
    *,
    id_seed: IdSeed = b"seed",
    limits: Limits | None = None,
    content_type: str | None = None,
) -> Outcome:
    """Read a body in those pieces; every chunk is checked against the grammar as it comes."""
    row = ROWS["generic" if isinstance(dialect, ReadingRules) else dialect]
    rules = dialect if isinstance(dialect, ReadingRules) else row.reading
    reader = ChatReader(rules, row.errors, id_seed=id_seed, limits=limits, content_type=content_type)
    chunks: list[StreamChunk] = []
    grammar = ChunkGrammar()
    for data in [reads] if isinstance(reads, bytes) else reads:
        chunks += reader.feed(data)
    chunks += reader.eof()
    for chunk in chunks:
        grammar.feed(chunk)
    if reader.failure is None:
        grammar.eof()
    assert reader.done is (reader.failure is None)
    assert reader.feed(said("late")) + reader.eof() == []
    facts = reader.call_facts
    return Outcome(
        chunks,
        None if reader.failure is None else reader.failure.failure,
        (facts.response_id, facts.response_model, facts.provider_reason, facts.stop_sequence),
    )


def read_notes(body: bytes, dialect: str | ReadingRules = "generic") -> list[str]:
    """The sentences about what was read with a doubt."""
    rules = dialect if isinstance(dialect, ReadingRules) else ROWS[dialect].reading
    reader = ChatReader(rules, ROWS["generic"].errors)
    reader.feed(body)
    reader.eof()
    return reader.call_facts.notes


def bytewise(body: bytes) -> list[bytes]:
    """A body in reads of one byte."""
    return [body[place : place + 1] for place in range(len(body))]


def read_all_ways(
    body: bytes,
    dialect: str | ReadingRules = "generic",
    *,
    limits: Limits | None = None,
    content_type: str | None = None,
) -> Outcome:
    """Read a body whole, byte by byte, and in two reads at every cut: always the same (C16)."""
    whole = read(body, dialect, limits=limits, content_type=content_type)
    assert read(bytewise(body), dialect, limits=limits, content_type=content_type) == whole
    for cut in range(1, len(body)):
        halves = (body[:cut], body[cut:])
        assert read(halves, dialect, limits=limits, content_type=content_type) == whole, halves
    return whole


def opened(block: int, call_id: str, name: str, arguments: str = "") -> list[StreamChunk]:
    """The two chunks with which a tool call begins."""
    return [BlockStart(block, "tool-call"), ToolCallDelta(block, call_id, name, arguments)]


class Called(msgspec.Struct):
    """A tool call as the manifest expects it."""

    name: str
    arguments_sha256: str
    id_sha256: str | None = None
    arguments_valid: bool = True


class Expected(msgspec.Struct):
    """What the manifest expects of one answer, as the wire counts it."""

    text_sha256: str = ""
    tool_calls: list[Called] = msgspec.field(default_factory=list[Called])
    finish: str | None = None
    reasoning_sha256: str | None = None
    refusal_sha256: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    model: str | None = None


class Row(msgspec.Struct):
    """One row of the manifest."""

    file: str
    wire: str
    provider: str
    status: int
    expect: Expected
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.rsplit("/", 1)[-1]

    def body(self) -> bytes:
        """The recorded body."""
        root = recordings()
        assert root is not None
        return (root.parent / self.file).read_bytes()


def recordings() -> Path | None:
    """The folder of recorded traffic, where there is one."""
    named = os.environ.get("LIMEN_RECORDINGS")
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "recordings"
    return folder if (folder / "manifest.jsonl").is_file() else None


def rows_of(wire: str, *, failed: bool = False) -> list[Row]:
    """The manifest's rows of a wire: answers with status 200, or the errors."""
    folder = recordings()
    if folder is None:
        return []
    lines = (folder / "manifest.jsonl").read_bytes().splitlines()
    found = (msgspec.json.decode(line, type=Row) for line in lines if b'"wire":"%s"' % wire.encode() in line)
    return [row for row in found if row.wire == wire and (row.status >= 300) is failed]
