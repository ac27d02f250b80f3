"""Build Anthropic Messages bodies, and read them the worst ways a network can cut them."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from limen.adapters.anthropic import WIRE
from limen.contract import Assembler as _Assembler
from limen.contract import (
    ChunkGrammar,
    Finish,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmError,
    Response,
    StreamChunk,
    assemble,
    user,
)


class Outcome(NamedTuple):
    """What a body became: chunks, the failure an adapter would raise, and facts about the call."""

    chunks: list[StreamChunk]
    code: str | None
    facts: dict[str, str | None]

    @property
    def finish(self) -> Finish:
        """The terminal chunk."""
        last = self.chunks[-1]
        assert isinstance(last, Finish)
        return last

    @property
    def response(self) -> Response:
        """The collected answer."""
        assembler = _Assembler()
        for chunk in self.chunks:
            assembler.feed(chunk)
        return assemble(assembler.arrived(), self.finish.reason)


def event(kind: str, **fields: object) -> bytes:
    """One event as the provider frames it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()


def started(message_id: str | None = "msg_1", *, usage: object = None, **fields: object) -> bytes:
    """`message_start`."""
    message = {"id": message_id, "type": "message", "role": "assistant", "model": "claude-x", "content": [], **fields}
    return event("message_start", message={**message, "usage": usage or {"input_tokens": 3, "output_tokens": 1}})


def opened(index: int | None, kind: str, **fields: object) -> bytes:
    """`content_block_start`."""
    return event("content_block_start", index=index, content_block={"type": kind, **fields})


def delta(index: int | None, kind: str, **fields: object) -> bytes:
    """`content_block_delta`."""
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def closed(index: int | None) -> bytes:
    """`content_block_stop`."""
    return event("content_block_stop", index=index)


def text(index: int, *parts: str) -> bytes:
    """A whole text block."""
    deltas = b"".join(delta(index, "text_delta", text=part) for part in parts)
    return opened(index, "text", text="") + deltas + closed(index)


def thinking(index: int, words: str, signature: str) -> bytes:
    """A whole thinking block."""
    said = delta(index, "thinking_delta", thinking=words) if words else b""
    signed = delta(index, "signature_delta", signature=signature) if signature else b""
    return opened(index, "thinking", thinking="", signature="") + said + signed + closed(index)


def call(index: int, call_id: str | None, name: str, *fragments: str) -> bytes:
    """A whole tool-use block."""
    deltas = b"".join(delta(index, "input_json_delta", partial_json=part) for part in fragments)
    return opened(index, "tool_use", id=call_id, name=name, input={}) + deltas + closed(index)


def item(index: int, kind: str, **fields: object) -> bytes:
    """A whole block that carries everything in its start."""
    return opened(index, kind, **fields) + closed(index)


def stopped(reason: str | None, *, usage: object = None, **fields: object) -> bytes:
    """`message_delta` and `message_stop`."""
    stop = {"stop_reason": reason, "stop_sequence": None, **fields}
    report = event("message_delta", delta=stop, usage={"output_tokens": 7} if usage is None else usage)
    return report + event("message_stop")


def read(
    reads: bytes | Iterable[bytes],
    *,
    dialect: str | None = None,
    id_seed: IdSeed = b"",
    limits: Limits | None = None,
    content_type: str | None = None,
) -> Outcome:
    """Read a body, in the given pieces, through the grammar."""
    reader = WIRE.reader(dialect=dialect, id_seed=id_seed, limits=limits, content_type=content_type)
    chunks: list[StreamChunk] = []
    for piece in [reads] if isinstance(reads, bytes) else reads:
        chunks += reader.feed(piece)
    chunks += reader.eof()
    grammar = ChunkGrammar()
    for chunk in chunks:
        grammar.feed(chunk)
    assert reader.done == isinstance(chunks[-1] if chunks else None, Finish)
    assert reader.done != (reader.failure is not None)
    assert (reader.feed(b"data: {}\n\n"), reader.eof()) == ([], [])
    facts = reader.call_facts
    names = ("response_id", "response_model", "provider_reason", "stop_sequence")
    return Outcome(
        chunks,
        None if reader.failure is None else reader.failure.code,
        {name: getattr(facts, name) for name in names if getattr(facts, name) is not None},
    )


def read_all_ways(body: bytes, **how: object) -> Outcome:
    """Read a body whole, byte by byte and cut in two at every byte: the chunks are the same (C16)."""
    whole = read(body, **how)  # type: ignore[arg-type]
    assert read((body[at : at + 1] for at in range(len(body))), **how) == whole  # type: ignore[arg-type]
    for cut in range(1, len(body)):
        assert read([body[:cut], body[cut:]], **how) == whole  # type: ignore[arg-type]
    return whole


def failure_of(act: Callable[[], object]) -> LlmError:
    """The failure that an action raises."""
    with pytest.raises(LlmError) as caught:
        act()
    return caught.value


def body_of(options: GenerateOptions, dialect: str | None = None) -> dict[str, object]:
    """The request's body as a provider reads it."""
    found: dict[str, object] = json.loads(WIRE.request(options, dialect=dialect).body)
    return found


def asking(*messages: object, **fields: object) -> GenerateOptions:
    """Options with these messages, or with a plain question."""
    return GenerateOptions(provider="p", model="claude-x", messages=messages or (user("hi"),), **fields)  # type: ignore[arg-type]


def recordings() -> Path | None:
    """Where recorded traffic is kept, if it is."""
    beside = Path(__file__).parents[4] / "shared" / "recordings"
    named = os.environ.get("LIMEN_RECORDINGS")
    place = Path(named) if named else beside
    return place if (place / "manifest.jsonl").is_file() else None


def rows_of(wire: str) -> list[Mapping[str, object]]:
    """The manifest's rows of one wire; none where there are no recordings."""
    place = recordings()
    if place is None:
        return []
    lines = (place / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["wire"] == wire]
