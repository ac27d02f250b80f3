"""The part that every wire's encoder shares: state of an answer, one terminal event, errors.

An encoder is the server's side of a wire: it turns limen's chunks into the bytes that a client of that wire reads. It
is pure (no clock, no randomness, no I/O): what varies from answer to answer is given to it.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final, Literal, NamedTuple, TypeAlias

import msgspec

from limen.contract import (
    BlockEnd,
    BlockStart,
    BlockType,
    Failure,
    Finish,
    FinishKind,
    FinishReason,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
    codes,
)

EventKind: TypeAlias = Literal["open", "content", "finish", "usage", "end", "error", "noise"]


class WireEvent(NamedTuple):
    """One event of a wire, complete with its line ends; `kind` is its part in the answer."""

    kind: EventKind
    data: bytes


class WireError(NamedTuple):
    """A failure in a wire's own terms: HTTP status, message for people, error type, code and offending parameter."""

    status: int
    message: str
    type: str
    code: str | None = None
    param: str | None = None


class WholeAnswer(NamedTuple):
    """The body of an answer that is not streamed; with `error` it is the wire's error body, to send with its status."""

    body: bytes
    error: WireError | None = None


class EncoderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of one answer that no chunk carries. Each wire reads those that it has a place for.

    `created`: seconds since 1970. `usage`: counts in an event of their own at the end (`trailing`, the default), in
    the finish event (`finish`), or nowhere (`none`), for wires where the client chooses. `start_usage`: input counts
    that are known before the answer begins. `fingerprint`: the id of the serving configuration. `request_id`: the
    answer's id in error bodies. `unknown_counts`: whether a count that nobody knows is zero, on wires whose clients
    want a number.
    """

    created: int = 0
    usage: Literal["trailing", "finish", "none"] = "trailing"
    start_usage: TokenUsage | None = None
    fingerprint: str | None = None
    request_id: str | None = None
    unknown_counts: Literal["zero", "absent"] = "zero"


class OutgoingBlock:
    """A content block on its way out: its kind, its place on the wire, and its text so far."""

    __slots__ = ("ended", "id", "kind", "name", "parts", "place", "signature")

    def __init__(self, kind: BlockType | Literal["opaque"]) -> None:
        self.kind = kind
        self.place = -1
        self.parts: list[str] = []
        self.id = ""
        self.name = ""
        self.signature = ""
        self.ended = False

    @property
    def text(self) -> str:
        """All text of the block so far: visible text, reasoning, raw arguments or opaque data."""
        return "".join(self.parts)


class WireEncoder(ABC):
    """Encoder of one answer: `feed` each chunk and then `eof` for the stream, or `whole` for one body.

    Chunks are taken as proved (C1-C7): the encoder does not check them. Exactly one terminal event goes out; what is
    fed after it is ignored. An answer that holds an image block ends as the failure `UNSUPPORTED_CONTENT`, on every
    wire so far. Replay state is not written: who may read it is decided elsewhere (R5), and `signature` and `opaque`
    put what is decided into the places that the wire has.
    """

    wire: ClassVar[str]
    content_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    words: ClassVar[Mapping[FinishKind, str]]
    """The wire's finish words for a success."""
    refusal_word: ClassVar[str]

    def __init__(self, *, model: str, id: str, options: EncoderOptions) -> None:  # noqa: A002 - V1 fixes the name
        self.model = model
        self.id = id
        self.options = options
        self.stop_sequence: str | None = None
        """The stop sequence that matched, where it is known before the finish is fed."""
        self._begun = False
        self._ended = False
        self._blocks: dict[int, OutgoingBlock] = {}
        self._sent: list[OutgoingBlock] = []
        self._refusal: list[str] = []
        self._usage: TokenUsage | None = None
        self._word = ""
        self._error: WireError | None = None

    def feed(self, chunk: StreamChunk) -> list[bytes]:
        """Return the wire's bytes for one chunk; often none, sometimes several events."""
        return [event.data for event in self.events(chunk)]

    def eof(self) -> list[bytes]:
        """Return one error event, `STREAM_CLOSED`, where no finish was fed (V2); else nothing."""
        return [event.data for event in self._cut()]

    def events(self, chunk: StreamChunk) -> list[WireEvent]:
        """Return the same as `feed`, each event with its kind."""
        if self._ended:
            return []
        if isinstance(chunk, (TextDelta, ReasoningDelta)):
            block = self._blocks[chunk.index]
            block.parts.append(chunk.text)
            return self._text(block, chunk.text)
        if isinstance(chunk, ToolCallDelta):
            return self._fragment(self._blocks[chunk.index], chunk)
        if isinstance(chunk, BlockStart):
            return self._start(chunk)
        if isinstance(chunk, BlockEnd):
            return self._end(chunk)
        if isinstance(chunk, UsageChunk):
            self._usage = chunk.usage
            return []
        return self._finish(chunk)

    def begin(self, *, call: bool = False) -> list[WireEvent]:
        """Return the events that open an answer, once; `call` says that a tool call comes first.

        `events` does it by itself with the first block.
        """
        if self._begun:
            return []
        self._begun = True
        return self._opening(call=call)

    def refusal(self, text: str) -> list[WireEvent]:
        """Add to the words of a refusal, and return the events that carry them where the wire streams them."""
        self._refusal.append(text)
        return []

    def signature(self, index: int, text: str) -> list[WireEvent]:
        """Return the events that sign an open reasoning block; none where the wire has no place for a signature."""
        return []

    def opaque(self, data: str) -> list[WireEvent]:
        """Return the events of a block of hidden reasoning; none where the wire has no such block."""
        return []

    def close(self, word: str) -> list[WireEvent]:
        """Return the events that end an answer with one of the wire's finish words, as it stands."""
        if self._ended:
            return []
        self._ended = True
        self._word = word
        return [*self.begin(), *self._closing(word)]

    def fail(self, failure: Failure) -> list[WireEvent]:
        """Return the one error event that ends a failed answer."""
        if self._ended:
            return []
        self._ended = True
        self._error = self.error(failure)
        return [WireEvent("error", self.error_event(self._error))]

    def whole(self) -> WholeAnswer:
        """Return the answer to all chunks that were fed as one body; it agrees with the stream (G2)."""
        self._cut()
        if self._error is None:
            return self._document()
        return WholeAnswer(self.error_body(self._error), self._error)

    @abstractmethod
    def early_usage(self, usage: TokenUsage) -> list[WireEvent]:
        """Return a report of counts so far; each later one replaces it."""

    @abstractmethod
    def error(self, failure: Failure) -> WireError:
        """Return a failure in this wire's terms; a key that the upstream refused is never the client's 401 (G3)."""

    @abstractmethod
    def error_body(self, error: WireError) -> bytes:
        """Return the body of a failed answer."""

    @abstractmethod
    def error_event(self, error: WireError) -> bytes:
        """Return an error inside a stream."""

    @abstractmethod
    def keep_alive(self) -> bytes:
        """Return bytes that break a silence without a meaning of their own, at any point between events (G4)."""

    @abstractmethod
    def _opening(self, *, call: bool) -> list[WireEvent]: ...

    @abstractmethod
    def _open_block(self, block: OutgoingBlock) -> list[WireEvent]: ...

    @abstractmethod
    def _text(self, block: OutgoingBlock, text: str) -> list[WireEvent]: ...

    @abstractmethod
    def _call(self, block: OutgoingBlock, arguments: str, *, first: bool) -> list[WireEvent]: ...

    @abstractmethod
    def _close_block(self, block: OutgoingBlock) -> list[WireEvent]: ...

    @abstractmethod
    def _closing(self, word: str) -> list[WireEvent]: ...

    @abstractmethod
    def _document(self) -> WholeAnswer: ...

    def _failed(self, message: str, code: str) -> WholeAnswer:
        error = self.error(Failure(message, code))
        return WholeAnswer(self.error_body(error), error)

    def _cut(self) -> list[WireEvent]:
        return self.fail(Failure("the stream ended without a finish", codes.STREAM_CLOSED))

    def _place(self, block: OutgoingBlock) -> None:
        """Give a block the next place on the wire: places have no gaps, whatever blocks stay unsent."""
        block.place = len(self._sent)
        self._sent.append(block)

    def _start(self, chunk: BlockStart) -> list[WireEvent]:
        block = self._blocks[chunk.index] = OutgoingBlock(chunk.block_type)
        if chunk.block_type == "image":
            return []
        opening = self.begin(call=chunk.block_type == "tool-call")
        if chunk.block_type == "tool-call":
            # A call goes out with its id and name, which come with its first delta.
            return opening
        self._place(block)
        return [*opening, *self._open_block(block)]

    def _fragment(self, block: OutgoingBlock, chunk: ToolCallDelta) -> list[WireEvent]:
        first = block.place < 0
        if first:
            self._place(block)
            block.id, block.name = chunk.id, chunk.name or ""
        block.parts.append(chunk.arguments_delta)
        return self._call(block, chunk.arguments_delta, first=first)

    def _end(self, chunk: BlockEnd) -> list[WireEvent]:
        block = self._blocks[chunk.index]
        block.ended = True
        # One string in place of many: the fragments are not needed any more.
        block.parts = [block.text]
        return [] if block.kind == "image" else self._close_block(block)

    def _finish(self, finish: Finish) -> list[WireEvent]:
        failure = finish.reason.failure
        if failure is None and any(block.kind == "image" for block in self._blocks.values()):
            what = f"the answer holds an image, and {self.wire} has no place for one"
            failure = Failure(what, codes.UNSUPPORTED_CONTENT)
        if failure is None:
            return self.close(self._finish_word(finish.reason))
        if failure.code == codes.CONTENT_FILTER:
            return [*self.begin(), *self.refusal(failure.message), *self.close(self.refusal_word)]
        return self.fail(failure)

    def _finish_word(self, reason: FinishReason) -> str:
        return self.words[reason.kind]


def sse(data: bytes, *, event: str | None = None) -> bytes:
    """Return one server-sent event."""
    name = b"" if event is None else b"event: %b\n" % event.encode()
    return b"%bdata: %b\n\n" % (name, data)


def compact(value: object) -> bytes:
    """Return JSON without spaces; half a surrogate pair, which UTF-8 cannot hold, is written as its escape."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain: object = msgspec.to_builtins(value, enc_hook=_unwrapped)
        return json.dumps(plain, separators=(",", ":")).encode()


def _unwrapped(value: msgspec.Raw) -> object:
    return msgspec.json.decode(value)


_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def json_object(text: str) -> msgspec.Raw | None:
    """Return the text as JSON to embed, digits and all (C8), if it is one object; blank text is the empty object."""
    if not text.strip():
        return msgspec.Raw(b"{}")
    try:
        _OBJECT.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return msgspec.Raw(text.encode())


def prompt_tokens(usage: TokenUsage) -> int:
    """Return all input tokens: uncached, read from the cache and written to it."""
    return (usage.input_tokens or 0) + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
