"""Build generateContent bodies, and read them the worst ways a network can cut them."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from limen.adapters import BuildContext
from limen.adapters.gemini import WIRE
from limen.contract import Assembler as _Assembler
from limen.contract import (
    ChunkGrammar,
    Finish,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmError,
    ReplayDrop,
    Response,
    StreamChunk,
    assemble,
    user,
)

MODEL = "gemini-2.5-flash"
MODERN = "gemini-3-flash-preview"
COUNTS = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}


class Outcome(NamedTuple):
    """What a body became: chunks, the failure an adapter would raise, facts and notes about the call."""

    chunks: list[StreamChunk]
    code: str | None
    facts: dict[str, str | None]
    notes: list[str]

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

    @property
    def failure_code(self) -> str | None:
        """The code of the failure that the answer ended with, in-band."""
        failure = self.finish.reason.failure
        return None if failure is None else failure.code


def event(**fields: object) -> bytes:
    """One event as the provider frames it."""
    return f"data: {json.dumps(fields, ensure_ascii=False)}\r\n\r\n".encode()


def chunk(*parts: object, usage: object = None, **fields: object) -> bytes:
    """One chunk of the stream with these parts."""
    body: dict[str, object] = {"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0, **fields}]}
    if usage is not None:
        body["usageMetadata"] = usage
    return event(**body, modelVersion="gemini-x", responseId="resp-1")


def text(words: str, **fields: object) -> dict[str, object]:
    """A text part."""
    return {"text": words, **fields}


def call(name: str | None = None, args: object = None, call_id: object = None, **fields: object) -> dict[str, object]:
    """A part with a call; what is `None` does not stand in it."""
    inner = {"id": call_id, "name": name, "args": args}
    mine = {key: fields.pop(key) for key in ("partialArgs", "willContinue") if key in fields}
    return {"functionCall": {key: value for key, value in inner.items() if value is not None} | mine, **fields}


def stopped(reason: object = "STOP", **fields: object) -> bytes:
    """The last chunk."""
    return chunk(text(""), finishReason=reason, usage=COUNTS, **fields)


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
    for one in chunks:
        grammar.feed(one)
    assert reader.done == isinstance(chunks[-1] if chunks else None, Finish)
    assert reader.done != (reader.failure is not None)
    assert (reader.feed(b"data: {}\n\n"), reader.eof()) == ([], [])
    facts = reader.call_facts
    names = ("response_id", "response_model", "provider_reason", "stop_sequence")
    return Outcome(
        chunks,
        None if reader.failure is None else reader.failure.code,
        {name: getattr(facts, name) for name in names if getattr(facts, name) is not None},
        list(facts.notes),
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


def contents_of(options: GenerateOptions, dialect: str | None = None) -> object:
    """The contents of the request's body."""
    return body_of(options, dialect)["contents"]


def dropped(options: GenerateOptions) -> list[ReplayDrop]:
    """What a request could not carry (R5)."""
    context = BuildContext()
    WIRE.codec(None).build(options, context)
    return context.replay_dropped


def asking(*messages: object, model: str = MODEL, **fields: object) -> GenerateOptions:
    """Options with these messages, or with a plain question."""
    return GenerateOptions(provider="p", model=model, messages=messages or (user("hi"),), **fields)  # type: ignore[arg-type]


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
