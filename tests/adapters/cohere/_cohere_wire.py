"""Events of Cohere's wire for the tests, and answers read whole, byte by byte and at every cut."""

import json

import msgspec

import limen
from limen.contract import BlockEnd, Finish, LlmError, StreamBlock, StreamChunk, TokenUsage, UsageChunk


class Outcome(msgspec.Struct):
    """What an answer came to: its chunks, and the failure where reading raised."""

    chunks: list[StreamChunk]
    raised: LlmError | None = None

    @property
    def blocks(self) -> list[StreamBlock]:
        """The blocks that ended, by index."""
        return [one.block for one in sorted((c for c in self.chunks if isinstance(c, BlockEnd)), key=lambda c: c.index)]

    @property
    def finish(self) -> Finish:
        """The terminal chunk."""
        assert self.raised is None, self.raised
        last = self.chunks[-1]
        assert isinstance(last, Finish)
        return last

    @property
    def usage(self) -> TokenUsage | None:
        """The counts."""
        return next((chunk.usage for chunk in self.chunks if isinstance(chunk, UsageChunk)), None)

    @property
    def code(self) -> str:
        """The code of the failure, in-band or raised; the kind of a success."""
        if self.raised is not None:
            return f"raised {self.raised.code}"
        failure = self.finish.reason.failure
        return self.finish.reason.kind if failure is None else failure.code


def event(kind: str, **fields: object) -> bytes:
    """One event as Cohere writes it."""
    body = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {body}\n\n".encode()


def message(kind: str, index: int | None = None, **fields: object) -> bytes:
    """An event with fields of its message."""
    place = {} if index is None else {"index": index}
    return event(kind, **place, delta={"message": fields})


def started() -> bytes:
    """`message-start`."""
    return event("message-start", id="answer-1", delta={"message": {"role": "assistant", "content": []}})


def part(index: int, kind: str, *texts: str) -> bytes:
    """A whole part of the content."""
    start = message("content-start", index, content={"type": kind, kind: ""})
    deltas = b"".join(message("content-delta", index, content={kind: text}) for text in texts)
    return start + deltas + event("content-end", index=index)


def call_started(index: int | None, name: object = "add", call_id: object = "add_1", arguments: object = "") -> bytes:
    """`tool-call-start`."""
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return message("tool-call-start", index, tool_calls=call)


def fragment(index: int, text: object) -> bytes:
    """`tool-call-delta`."""
    return message("tool-call-delta", index, tool_calls={"function": {"arguments": text}})


def ended(word: str | None = "COMPLETE", **fields: object) -> bytes:
    """`message-end`."""
    return event("message-end", delta={"finish_reason": word, **fields})


DONE = b"data: [DONE]\n\n"


def read_once(reads: list[bytes], content_type: str | None = None) -> Outcome:
    """Read a body in these pieces."""
    chunks: list[StreamChunk] = []
    try:
        chunks.extend(limen.iter_chunks("cohere", reads, id_seed=b"seed"))
    except LlmError as error:
        return Outcome(_partial(reads), error)
    return Outcome(chunks)


def _partial(reads: list[bytes]) -> list[StreamChunk]:
    chunks: list[StreamChunk] = []
    try:
        for chunk in limen.iter_chunks("cohere", reads, id_seed=b"seed"):
            chunks.append(chunk)
    except LlmError:
        pass
    return chunks


def read(*pieces: bytes) -> Outcome:
    """Read an answer whole, byte by byte and at every cut; all agree (C16)."""
    body = b"".join(pieces)
    whole = read_once([body])
    for reads in ([body[i : i + 1] for i in range(len(body))], *([body[:i], body[i:]] for i in range(1, len(body), 7))):
        other = read_once(reads)
        assert other.chunks == whole.chunks
        assert str(other.raised) == str(whole.raised)
    return whole
