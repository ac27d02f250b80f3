"""Build bodies of Converse, and read them the worst ways a network can cut them."""

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from limen.adapters import CodecWire
from limen.adapters.bedrock import WIRE
from limen.contract import (
    Assembler,
    ChunkGrammar,
    Finish,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmError,
    Message,
    Response,
    StreamChunk,
    ToolSpec,
    WireRequest,
    assemble,
    user,
)

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"left": {"type": "integer"}}})


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message of the event stream, written without the code under test."""
    block = b"".join(
        bytes((len(name),)) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(block) + len(payload), len(block))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + block + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


def raw(name: str, payload: bytes) -> bytes:
    """One event with these bytes for its payload."""
    return frame({":event-type": name, ":content-type": "application/json", ":message-type": "event"}, payload)


def event(name: str, **fields: object) -> bytes:
    """One event, with padding as the service adds it."""
    return raw(name, json.dumps({"p": "abcdef", **fields}).encode())


def exception(kind: str, message: str) -> bytes:
    """An exception inside the stream."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())


def started() -> bytes:
    return event("messageStart", role="assistant")


def delta(index: int | None, **fields: object) -> bytes:
    return event("contentBlockDelta", contentBlockIndex=index, delta=fields)


def closed(index: int | None) -> bytes:
    return event("contentBlockStop", contentBlockIndex=index)


def text(index: int, *parts: str) -> bytes:
    return b"".join(delta(index, text=part) for part in parts) + closed(index)


def thinking(index: int, words: str, signature: str = "") -> bytes:
    said = delta(index, reasoningContent={"text": words}) if words else b""
    signed = delta(index, reasoningContent={"signature": signature}) if signature else b""
    return said + signed + closed(index)


def hidden(index: int, *pieces: bytes) -> bytes:
    deltas = (delta(index, reasoningContent={"redactedContent": b64encode(piece).decode()}) for piece in pieces)
    return b"".join(deltas) + closed(index)


def opened(index: int | None, call_id: object, name: str | None, **fields: object) -> bytes:
    start = {"toolUse": {"toolUseId": call_id, "name": name, **fields}}
    return event("contentBlockStart", contentBlockIndex=index, start=start)


def call(index: int, call_id: object, name: str | None, *fragments: str, **fields: object) -> bytes:
    deltas = b"".join(delta(index, toolUse={"input": part}) for part in fragments)
    return opened(index, call_id, name, **fields) + deltas + closed(index)


def ended(word: str | None, **usage: object) -> bytes:
    """`messageStop` and `metadata`."""
    counts = usage or {"inputTokens": 3, "outputTokens": 7, "totalTokens": 10}
    return event("messageStop", stopReason=word) + event("metadata", usage=counts, metrics={"latencyMs": 5})


class Outcome(NamedTuple):
    """What a body became: chunks, the failure an adapter would raise, notes."""

    chunks: list[StreamChunk]
    code: str | None
    message: str
    notes: list[str]

    @property
    def finish(self) -> Finish:
        last = self.chunks[-1]
        assert isinstance(last, Finish)
        return last

    @property
    def response(self) -> Response:
        assembler = Assembler()
        for chunk in self.chunks:
            assembler.feed(chunk)
        return assemble(assembler.arrived(), self.finish.reason)


def read(
    reads: bytes | Iterable[bytes],
    *,
    wire: CodecWire = WIRE,
    dialect: str | None = None,
    id_seed: IdSeed = b"",
    limits: Limits | None = None,
    content_type: str | None = None,
) -> Outcome:
    """Read a body, in the given pieces, through the grammar."""
    reader = wire.reader(dialect=dialect, id_seed=id_seed, limits=limits, content_type=content_type)
    chunks: list[StreamChunk] = []
    for piece in [reads] if isinstance(reads, bytes) else reads:
        chunks += reader.feed(piece)
    chunks += reader.eof()
    assert (reader.feed(b"x"), reader.eof()) == ([], [])
    grammar = ChunkGrammar()
    grammar.feed_all(chunks)
    failure = reader.failure
    if failure is None:
        grammar.eof()
        return Outcome(chunks, None, "", reader.call_facts.notes)
    return Outcome(chunks, failure.code, failure.failure.message, reader.call_facts.notes)


def read_all_ways(body: bytes, **options: object) -> Outcome:
    """Read a body whole, byte by byte and cut in two at every seventh place: all alike (C16)."""
    whole = read(body)
    assert read(body[place : place + 1] for place in range(len(body))) == whole
    for place in range(0, len(body), 7):
        assert read((body[:place], body[place:])) == whole
    return whole


def asking(*messages: Message, model: str = CLAUDE, **fields: object) -> GenerateOptions:
    return GenerateOptions("bedrock", model, messages or (user("hi"),), **fields)  # type: ignore[arg-type]


def request(*messages: Message, model: str = CLAUDE, **fields: object) -> WireRequest:
    return WIRE.request(asking(*messages, model=model, **fields))


def body(*messages: Message, model: str = CLAUDE, **fields: object) -> dict[str, object]:
    found: dict[str, object] = json.loads(request(*messages, model=model, **fields).body)
    return found


def refusal(*messages: Message, model: str = CLAUDE, **fields: object) -> tuple[str, str]:
    """The code and the message of a refusal."""
    try:
        request(*messages, model=model, **fields)
    except LlmError as error:
        return error.code, error.failure.message
    raise AssertionError("the request was not refused")
