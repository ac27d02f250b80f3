"""Build lines of Ollama's chat, and read them the worst ways a network can cut them."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from limen.adapters.ollama import WIRE
from limen.contract import (
    Assembler,
    CallFacts,
    ChunkGrammar,
    Finish,
    GenerateOptions,
    Limits,
    LlmError,
    Response,
    StreamChunk,
    assemble,
    user,
)

COUNTS = {"prompt_eval_count": 5, "eval_count": 7}


class Outcome(NamedTuple):
    """What a body became: chunks, the failure that an adapter would raise, and facts about the call."""

    chunks: list[StreamChunk]
    failure: LlmError | None
    facts: CallFacts

    @property
    def code(self) -> str | None:
        """The code of the failure, raised or in-band."""
        if self.failure is not None:
            return self.failure.code
        failure = self.finish.reason.failure
        return None if failure is None else failure.code

    @property
    def finish(self) -> Finish:
        """The terminal chunk."""
        last = self.chunks[-1]
        assert isinstance(last, Finish)
        return last

    @property
    def response(self) -> Response:
        """The collected answer."""
        assembler = Assembler()
        for chunk in self.chunks:
            assembler.feed(chunk)
        return assemble(assembler.arrived(), self.finish.reason)


def line(content: object = "", *, done: bool = False, **message: object) -> bytes:
    """One line with a message."""
    whole = {"model": "qwen3", "created_at": "2026-01-01T00:00:00Z"}
    return (
        json.dumps(
            {**whole, "message": {"role": "assistant", "content": content, **message}, "done": done}, ensure_ascii=False
        ).encode()
        + b"\n"
    )


def call(name: object = "f", arguments: str = "{}", **fields: object) -> bytes:
    """One line with one tool call; the arguments are JSON as it stands on the wire."""
    function = f'{{"index":0,"name":{json.dumps(name)},"arguments":{arguments}}}'
    given = "".join(f"{json.dumps(key)}:{json.dumps(value)}," for key, value in fields.items())
    message = f'{{"role":"assistant","content":"","tool_calls":[{{{given}"function":{function}}}]}}'
    return f'{{"model":"qwen3","message":{message},"done":false}}\n'.encode()


def last(reason: object = "stop", **fields: object) -> bytes:
    """The last line."""
    body = {"model": "qwen3", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason}
    return json.dumps({**body, **COUNTS, "total_duration": 1, **fields}).encode() + b"\n"


def read(
    reads: bytes | Iterable[bytes],
    *,
    id_seed: bytes = b"",
    limits: Limits | None = None,
    content_type: str | None = None,
) -> Outcome:
    """Read a body, in the given pieces, through the grammar."""
    reader = WIRE.reader(id_seed=id_seed, limits=limits, content_type=content_type)
    chunks: list[StreamChunk] = []
    for piece in [reads] if isinstance(reads, bytes) else reads:
        chunks += reader.feed(piece)
    chunks += reader.eof()
    grammar = ChunkGrammar()
    grammar.feed_all(chunks)
    assert reader.done == isinstance(chunks[-1] if chunks else None, Finish)
    assert reader.done != (reader.failure is not None)
    assert (reader.feed(b"{}\n"), reader.eof()) == ([], [])
    return Outcome(chunks, reader.failure, reader.call_facts)


def read_all_ways(body: bytes, **how: object) -> Outcome:
    """Read a body whole, byte by byte and cut in two, at every byte of a short one: the outcome is the same (C16)."""
    whole = read(body, **how)  # type: ignore[arg-type]
    assert same(read((body[at : at + 1] for at in range(len(body))), **how), whole)  # type: ignore[arg-type]
    for cut in range(1, len(body), 1 if len(body) < 250 else 11):
        assert same(read([body[:cut], body[cut:]], **how), whole)  # type: ignore[arg-type]
    return whole


def same(one: Outcome, other: Outcome) -> bool:
    """Tell whether two outcomes are equal, failures by what they say."""
    raised = [None if found.failure is None else found.failure.failure for found in (one, other)]
    return (one.chunks, raised[0], one.facts.notes) == (other.chunks, raised[1], other.facts.notes)


def asking(*messages: object, **fields: object) -> GenerateOptions:
    """Options with these messages, or with a plain question."""
    given = {"provider": "p", "model": "qwen3", "messages": messages or (user("hi"),), **fields}
    return GenerateOptions(**given)  # type: ignore[arg-type]


def body_of(options: GenerateOptions) -> dict[str, object]:
    """The request's body as a server reads it."""
    found: dict[str, object] = json.loads(WIRE.request(options).body)
    return found
