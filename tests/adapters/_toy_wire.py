"""A wire of a few lines, to test what every wire shares: pump, adapter base, wire without network."""

from collections.abc import Mapping

from limen.adapters import BuildContext, CodecWire
from limen.contract import (
    STOP,
    BlockEnd,
    BlockStart,
    CallFacts,
    Effort,
    Failure,
    Finish,
    FinishReason,
    GenerateOptions,
    IdSeed,
    Limits,
    LlmError,
    ModelInfo,
    ReplayDrop,
    StreamChunk,
    TextBlock,
    TextDelta,
    Timeouts,
    WireRequest,
    codes,
    dumps,
)
from limen.transport import HttpRequest
from limen.transport.framing import SseDecoder


def said(text: str) -> bytes:
    """One event with text."""
    return b'data: {"t":"%b"}\n\n' % text.encode()


DONE = b"data: [DONE]\n\n"
BUSY = b'data: {"error":"busy"}\n\n'
FINISH_WORD = b'data: {"finish"}\n\n'
BROKEN = b"data: {?}\n\n"


def chunks(*texts: str) -> list[StreamChunk]:
    """The chunks of a whole answer with these deltas."""
    deltas: list[StreamChunk] = [TextDelta(0, text) for text in texts]
    return [BlockStart(0, "text"), *deltas, BlockEnd(0, TextBlock("".join(texts))), Finish(STOP)]


class ToyReader:
    """`{"t":"…"}` is text, `[DONE]` the end; a finish word makes the end of the body the end."""

    def __init__(self, seed: IdSeed, limits: Limits | None, content_type: str | None) -> None:
        self.call_facts = CallFacts()
        self.failure: LlmError | None = None
        self.done = False
        self.may_end = False
        self.events = 0
        self.seed = seed
        self.content_type = content_type
        self._sse = SseDecoder(limits)
        self._text = ""

    def feed(self, data: bytes) -> list[StreamChunk]:
        """Take one read."""
        out: list[StreamChunk] = []
        for event in self._sse.feed(data):
            if not self.done and self.failure is None:
                self._take(event.data, out)
        if self.failure is None:
            self.failure = self._sse.failure
        return out

    def eof(self) -> list[StreamChunk]:
        """End with the body."""
        if self.may_end:
            return self._close(Finish(STOP))
        if self._text != "forgets":
            self.failure = LlmError("the answer was cut short", codes.STREAM_CLOSED)
        return []

    def _take(self, data: bytes, out: list[StreamChunk]) -> None:
        self.may_end = False
        self.events += 1
        if data == b"[DONE]":
            out += self._close(Finish(STOP))
        elif data == BUSY[6:-2]:
            self.done = True
            out.append(Finish(FinishReason("error", Failure("busy", codes.OVERLOADED))))
        elif data == FINISH_WORD[6:-2]:
            self.may_end = True
        elif data == BROKEN[6:-2]:
            self.failure = LlmError("not JSON", codes.MALFORMED_RESPONSE)
        else:
            text = data[6:-2].decode()
            if not self._text:
                out.append(BlockStart(0, "text"))
            self._text += text
            out.append(TextDelta(0, text))

    def _close(self, finish: Finish) -> list[StreamChunk]:
        self.done = True
        return [BlockEnd(0, TextBlock(self._text)), finish] if self._text else [finish]


class ToyCodec:
    """One row of the toy wire; every fact may be set."""

    wire = "toy"
    path = "/say"
    honours = frozenset({"seed", "max_tokens", "tools"})
    auth_headers = frozenset({"authorization"})
    credential_type: type = str

    def __init__(self, dialect: str = "plain", **facts: object) -> None:
        self.dialect = dialect
        self.base_url: str | None = None
        self.path = "/say"
        self.key_variables: tuple[str, ...] = ("TOY_API_KEY",)
        self.requires_key = False
        self.default_max_tokens: int | None = None
        self.efforts: tuple[Effort, ...] | None = None
        self.models_path: str | None = None
        self.models_headers: Mapping[str, str] = {"toy-version": "1"}
        self.min_timeouts: Timeouts | None = None
        self.readers: list[ToyReader] = []
        self.contexts: list[BuildContext] = []
        for name, value in facts.items():
            setattr(self, name, value)

    def build(self, options: GenerateOptions, context: BuildContext) -> WireRequest:
        """Write the model's name; refuse a seed."""
        self.contexts.append(context)
        if options.seed is not None:
            raise LlmError("this wire has no seed", codes.UNSUPPORTED, phase="resolve")
        if options.purpose == "replay":
            context.replay_dropped.append(ReplayDrop("there is none", 0))
        return WireRequest("POST", "/say", {"Content-Type": "application/json"}, dumps({"model": options.model}))

    def authorize(self, request: HttpRequest, credential: object) -> tuple[tuple[str, str], ...]:
        """Carry the key as a bearer."""
        return (("Authorization", f"Bearer {credential}"),)

    def request_id(self, headers: Mapping[str, str]) -> str | None:
        """Return the usual header's."""
        return headers.get("x-request-id")

    def reader(
        self, *, id_seed: IdSeed = b"", limits: Limits | None = None, content_type: str | None = None
    ) -> ToyReader:
        """Make the reader of one answer."""
        made = ToyReader(id_seed, limits, content_type)
        self.readers.append(made)
        return made

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure:
        """Say what a failed answer means."""
        code = codes.RATE_LIMIT if status == 429 else f"HTTP_{status}"
        return Failure(f"{status}: {body.decode()}", code, provider_code=headers.get("x-code"))

    def parse_models(self, provider: str, body: bytes) -> tuple[ModelInfo, ...]:
        """Read names, one a line."""
        if b"<" in body:
            raise LlmError("this is no list of models", codes.INVALID_CATALOG)
        return tuple(ModelInfo(provider, name, name.upper()) for name in body.decode().split())


WIRE = CodecWire("toy", {"plain": ToyCodec(), "keyed": ToyCodec("keyed", requires_key=True)}, default_dialect="plain")
