"""The Anthropic Messages adapter: reader, codec, class and options; the rest of the package is pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from limen.adapters._base import BuildContext, CodecWire, WireAdapter, WireOptions
from limen.adapters._classify import ErrorRules, classify_answer, classify_event
from limen.adapters.anthropic._dialect import ROWS, Row
from limen.adapters.anthropic._parse import (
    Parser,
    first_words,
    is_cut_short,
    parse_models,
    read_message,
    started,
    tells_error,
)
from limen.adapters.anthropic._serialize import build_request
from limen.adapters.anthropic._translate import Translator
from limen.adapters.anthropic._wire import WIRE as WIRE_NAME
from limen.contract import (
    CallFacts,
    Effort,
    Failure,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmError,
    ModelInfo,
    Phase,
    StreamChunk,
    Timeouts,
    TooDeep,
    WireRequest,
    codes,
)
from limen.transport.framing import SseDecoder, SseEvent

_BOM: Final = b"\xef\xbb\xbf"
_HEAD: Final = 1024
# How a line of an event stream begins; a page or a sentence does not.
_FIELD: Final = re.compile(rb"\s*(?:data|event|id|retry)?\s*:")


def _classify(rules: ErrorRules, payload: bytes, phase: Phase) -> Failure:
    return classify_event(payload, rules=rules, phase=phase)


class MessagesReader:
    """Bytes of one answer to chunks (`contract.WireReader`): an event stream, or one whole message (S3)."""

    def __init__(
        self, row: Row, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> None:
        self.call_facts = CallFacts()
        self.failure: LlmError | None = None
        self.done = False
        self.may_end = False
        self.events = 0
        self._limits = limits or Limits()
        self._content_type = content_type
        self._classify: Callable[[bytes, Phase], Failure] = partial(_classify, row.errors)
        self._translator = Translator(self.call_facts, classify=self._classify, id_seed=id_seed)
        self._parser = Parser(self._limits.depth)
        self._framing: SseDecoder | None = None
        self._body: bytearray | None = None
        self._head = b""

    def feed(self, data: bytes) -> list[StreamChunk]:
        """Take one read; return the chunks it completed."""
        if self.done or self.failure is not None:
            return []
        if self._framing is not None:
            if self.events == 0:
                self._head += data[: _HEAD - len(self._head)]
            return self._framed(self._framing, self._framing.feed(data))
        if self._body is None:
            # The first byte that says anything tells a stream from a whole answer.
            self._head += data
            first = self._head.removeprefix(_BOM).lstrip()[:1]
            if not first or _BOM.startswith(self._head):
                # Blank lines before the first event tell nothing, so the last of them are as good as all.
                self._head = self._head[-_HEAD:]
                return []
            if first not in (b"{", b"["):
                self._framing = SseDecoder(self._limits, marker=None)
                return self._framed(self._framing, self._framing.feed(self._head))
            self._body = bytearray(self._head.removeprefix(_BOM))
        else:
            self._body += data
        if len(self._body) > self._limits.event_bytes:
            limit = self._limits.event_bytes
            self._fail(f"the answer is larger than {limit} bytes; limits.event_bytes sets the limit")
        return []

    def eof(self) -> list[StreamChunk]:
        """The body ended cleanly: return the last chunks, or set `failure`."""
        if self.done or self.failure is not None:
            return []
        if self._body is not None:
            return self._whole(bytes(self._body))
        chunks = [] if self._framing is None else self._framed(self._framing, self._framing.eof())
        self._check_complete()
        return chunks

    def _check_complete(self) -> None:
        if self.done or self.failure is not None:
            return
        if self.events == 0 and self._head.strip() and not _FIELD.match(self._head.removeprefix(_BOM)):
            media = self._content_type or "no content type"
            self._fail(f"the answer is no event stream ({media}): {first_words(self._head)}")
        else:
            self._fail("the answer ended before message_stop", code=codes.STREAM_CLOSED)

    def _framed(self, framing: SseDecoder, frames: Sequence[SseEvent]) -> list[StreamChunk]:
        chunks = self._take(frames)
        if framing.failure is not None and not self.done and self.failure is None:
            self._fail_with(framing.failure)
        return chunks

    def _take(self, frames: Sequence[SseEvent]) -> list[StreamChunk]:
        chunks: list[StreamChunk] = []
        ordinary, parse = self._parser.ordinary, self._parser.rare
        translate, translator = self._translator.feed, self._translator
        try:
            for frame in frames:
                delta = ordinary(frame.event, frame.data)
                if delta is not None:
                    self.events += 1
                    chunks += translate(delta)
                    continue
                for event in parse(frame.event, frame.data):
                    self.events += 1
                    chunks += translate(event)
                if translator.done:
                    self.done = True
                    break
        except LlmError as error:
            self._fail_with(error)
        return chunks

    def _whole(self, body: bytes) -> list[StreamChunk]:
        try:
            message = read_message(body, depth=self._limits.depth)
        except (msgspec.DecodeError, TooDeep) as fault:
            line = body.partition(b"\n")[0]
            if tells_error(line):
                self._fail_with(LlmError.of(self._classify(line, "first-event")))
            elif is_cut_short(body):
                self._fail("the answer ended before its JSON was complete", code=codes.STREAM_CLOSED)
            else:
                media = self._content_type or "no content type"
                self._fail(f"the answer is no message ({media}; {fault}): {first_words(body)}")
            return []
        if message.error or message.type == "error":
            self._fail_with(LlmError.of(self._classify(body, "first-event")))
            return []
        if message.content is None and message.type != "message":
            self._fail(f"the answer is no message: {first_words(body)}")
            return []
        self.events += 1
        try:
            chunks = self._translator.whole(started(message))
        except LlmError as error:
            self._fail_with(error)
            return []
        self.done = True
        return chunks

    def _fail(self, message: str, *, code: str = codes.MALFORMED_RESPONSE) -> None:
        self._fail_with(LlmError(message, code))

    def _fail_with(self, error: LlmError) -> None:
        phase: Phase = "mid-stream" if self.events else "first-event"
        self.failure = LlmError.of(msgspec.structs.replace(error.failure, phase=phase))


class MessagesCodec:
    """One dialect row of the wire (`adapters.Codec`); pure."""

    def __init__(self, row: Row) -> None:
        self.row: Final = row

    @property
    def wire(self) -> str:
        """`anthropic-messages`."""
        return WIRE_NAME

    @property
    def dialect(self) -> str:
        """The row's name."""
        return self.row.name

    @property
    def base_url(self) -> str | None:
        """Where the host serves; `None` where every user has an address of their own."""
        return self.row.base_url

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Environment variables that people keep this host's key in."""
        return self.row.key_variables

    @property
    def requires_key(self) -> bool:
        """Whether the host refuses every call without a key (K4)."""
        return self.row.requires_key

    @property
    def default_max_tokens(self) -> int | None:
        """The wire requires a cap; this one goes out where nobody set any, and is reported (R4)."""
        return self.row.default_max_tokens

    @property
    def efforts(self) -> tuple[Effort, ...] | None:
        """The efforts of the row; they differ by model, so most rows know none (R4)."""
        return self.row.efforts

    @property
    def models_path(self) -> str | None:
        """Where the host lists its models."""
        return self.row.models_path

    @property
    def models_headers(self) -> Mapping[str, str]:
        """What the list of models wants beside the key."""
        return {} if self.row.version is None else {"anthropic-version": self.row.version}

    @property
    def min_timeouts(self) -> Timeouts | None:
        """No host of this wire asks for more time than the defaults."""
        return None

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Make the request without credentials, or refuse it before any I/O (Q1)."""
        return build_request(options, context, self.row)

    def authorize(self, key: str) -> tuple[tuple[str, str], ...]:
        """Return the header that carries a key."""
        if self.row.auth == "bearer":
            return (("authorization", f"Bearer {key}"),)
        return (("x-api-key", key),)

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> MessagesReader:
        """Make the reader of one answer."""
        return MessagesReader(self.row, id_seed=id_seed, limits=limits, content_type=content_type)

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure:
        """Say what a failed answer means; never raises."""
        return classify_answer(status, headers, body, rules=self.row.errors)

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read the host's list of models; anything else is `INVALID_CATALOG`."""
        return parse_models(provider, body)


WIRE: Final = CodecWire(
    WIRE_NAME, {name: MessagesCodec(row) for name, row in ROWS.items()}, default_dialect="anthropic"
)


class AnthropicOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `AnthropicAdapter`; those of every adapter, and two of this wire.

    - `version`: the API version, in place of the dialect row's (`anthropic-version`, or Vertex's `anthropic_version`).
    - `betas`: names for the header `anthropic-beta`; fields of a beta go into `GenerateOptions.extra`.
    """

    version: str | None = None
    betas: Sequence[str] = ()


class AnthropicAdapter(WireAdapter):
    """Claude, and every host that speaks Anthropic Messages (`dialect`).

    - text, thinking and tool-use blocks become blocks, each its own, in the wire's order;
    - signatures, withheld and redacted thinking, citations, the provider's own tools with their results, compaction
      and blocks unknown here travel in the replay state and are sent back byte for byte, in place;
    - thinking without the signature of this wire (another provider's, an interrupted turn's) is not sent, and reported;
    - `end_turn`, `stop_sequence`, `pause_turn` are a stop, after calls one for calls; a refusal is `CONTENT_FILTER`;
      `model_context_window_exceeded` is a token limit; an `error` event ends the stream in-band;
    - `reasoning_effort` is `output_config.effort` with adaptive thinking, `off` is thinking disabled; `cache` marks
      system, tools and the last turn; a `JsonSchema` is `output_config.format`; `stop` is `stop_sequences`;
    - refused: `seed`, JSON without a schema, images that the host does not take, what the dialect row lists;
    - `session_id` goes out where the host reads one (OpenRouter); `purpose` is not used.
    """

    def __init__(self, options: AnthropicOptions | None = None) -> None:
        options = options or AnthropicOptions()
        super().__init__(options, codec_of(options))


def codec_of(options: AnthropicOptions) -> MessagesCodec:
    """Return the dialect row that the options name, with what they change of it; an unknown one is `UNSUPPORTED`."""
    WIRE.codec(options.dialect)
    row = ROWS[options.dialect or WIRE.default_dialect]
    if options.version is not None:
        field = "version" if row.body_version is None else "body_version"
        row = msgspec.structs.replace(row, **{field: options.version})
    if options.betas:
        row = msgspec.structs.replace(row, betas=tuple(options.betas))
    return MessagesCodec(row)
