"""Build OpenAI Responses bodies, and read them the worst ways a network can cut them."""

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest

from limen.adapters.openai_responses import WIRE
from limen.contract import (
    Assembler,
    ChunkGrammar,
    Failure,
    Finish,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmError,
    Message,
    Response,
    StreamChunk,
    ToolCallBlock,
    assemble,
    tool_result,
    user,
)


class Outcome(NamedTuple):
    """What a body became: chunks, the failure an adapter would raise, and facts about the call."""

    chunks: list[StreamChunk]
    code: str | None
    facts: dict[str, str | None]
    notes: tuple[str, ...]

    @property
    def finish(self) -> Finish:
        """The terminal chunk."""
        last = self.chunks[-1]
        assert isinstance(last, Finish)
        return last

    @property
    def failure(self) -> Failure:
        """The failure in the terminal chunk."""
        failure = self.finish.reason.failure
        assert failure is not None
        return failure

    @property
    def response(self) -> Response:
        """The collected answer."""
        assembler = Assembler()
        for chunk in self.chunks:
            assembler.feed(chunk)
        return assemble(assembler.arrived(), self.finish.reason)

    @property
    def message(self) -> Message:
        """The answer as a message, with its replay state."""
        message = self.response.message
        assert message is not None
        return message


def event(kind: str, **fields: object) -> bytes:
    """One event as the provider frames it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()


def created(**fields: object) -> bytes:
    """`response.created`."""
    return event("response.created", response={"id": "resp_1", "model": "gpt-x", "status": "in_progress", **fields})


def added(index: int | None, **item: object) -> bytes:
    """`response.output_item.added`."""
    return event("response.output_item.added", output_index=index, item=item)


def done(index: int | None, **item: object) -> bytes:
    """`response.output_item.done`."""
    return event("response.output_item.done", output_index=index, item=item)


def delta(index: int | None, kind: str, text: str, **fields: object) -> bytes:
    """A delta of `output_text`, `refusal`, `reasoning_text`, `reasoning_summary_text`, `function_call_arguments` …"""
    place = {"content_index": 0} if kind in ("output_text", "refusal", "reasoning_text") else {}
    if kind == "reasoning_summary_text":
        place = {"summary_index": 0}
    return event(f"response.{kind}.delta", **{"output_index": index, **place, **fields}, delta=text)


def message_item(text: str, **fields: object) -> dict[str, object]:
    """A message of one text part, as the end of an item has it."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    return {**item, **fields}


def call_item(arguments: str, **fields: object) -> dict[str, object]:
    """A function call, as the end of an item has it."""
    item = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_a", "name": "add"}
    return {**item, "arguments": arguments, **fields}


def reasoning_item(*summary: str, **fields: object) -> dict[str, object]:
    """A reasoning item with sealed content, as its end has it."""
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": "rs_1", "type": "reasoning", "summary": parts, "encrypted_content": "c2VhbGVk", **fields}


def text(index: int, *parts: str, item_id: str = "msg_1") -> bytes:
    """A whole message of one text."""
    deltas = b"".join(delta(index, "output_text", part, item_id=item_id) for part in parts)
    begun = added(index, id=item_id, type="message", status="in_progress", role="assistant", content=[])
    return begun + deltas + done(index, **message_item("".join(parts), id=item_id))


def call(index: int, *fragments: str, **fields: object) -> bytes:
    """A whole function call."""
    deltas = b"".join(delta(index, "function_call_arguments", part) for part in fragments)
    return added(index, **call_item("", **fields)) + deltas + done(index, **call_item("".join(fragments), **fields))


def ended(kind: str = "completed", **response: object) -> bytes:
    """A terminal event; its `output` is empty unless it is given."""
    usage = {"input_tokens": 3, "output_tokens": 7, "total_tokens": 10}
    body = {"id": "resp_1", "model": "gpt-x", "status": kind, "output": [], "usage": usage, **response}
    return event(f"response.{kind}", response=body)


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
    names = ("response_id", "response_model", "provider_reason")
    return Outcome(
        chunks,
        None if reader.failure is None else reader.failure.code,
        {name: getattr(facts, name) for name in names if getattr(facts, name) is not None},
        tuple(facts.notes),
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


def asking(*messages: object, **fields: object) -> GenerateOptions:
    """Options with these messages, or with a plain question."""
    return GenerateOptions(provider="p", model="gpt-x", messages=messages or (user("hi"),), **fields)  # type: ignore[arg-type]


def body_of(options: GenerateOptions, dialect: str | None = None) -> dict[str, object]:
    """The request's body as a provider reads it."""
    found: dict[str, object] = json.loads(WIRE.request(options, dialect=dialect).body)
    return found


def sent_back(message: Message, dialect: str | None = None) -> object:
    """The items that a turn becomes in the next request."""
    calls = [block for block in message.content if isinstance(block, ToolCallBlock)]
    history = [user("q"), message, *(tool_result(one.id, "done") for one in calls), user("and?")]
    items = body_of(asking(*history), dialect)["input"]
    assert isinstance(items, list)
    found: list[object] = items[1 : len(items) - len(calls) - 1]
    return found
