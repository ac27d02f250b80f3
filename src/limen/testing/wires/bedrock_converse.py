"""The wire `bedrock-converse` for the kit: the mock provider's side.

Source of the request's fields: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html,
read 2026-11-30.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from limen.contract import TokenUsage, UsageChunk
from limen.testing.scripts import (
    Kind,
    ProviderError,
    ReceivedRequest,
    RequestFacts,
    RequestKind,
    Send,
    Turn,
    compact,
    request_facts,
)
from limen.testing.wires._description import WireDescription
from limen.testing.wires._turns import content_sends, sends_of, usage_of
from limen.views import WireEncoder, encoder

_NAME: Final = "bedrock-converse"
_STREAMED: Final = "/converse-stream"
_WHOLE: Final = "/converse"
_WORDS: Final[Mapping[str, str]] = {
    "stop": "end_turn",
    "stop-sequence": "stop_sequence",
    "tool-calls": "tool_use",
    "max-tokens": "max_tokens",
    "refusal": "content_filtered",
    "content_filter": "content_filtered",
}


class BedrockConverseMock:
    """Converse and ConverseStream as the mock provider serves them; signatures are not checked."""

    name = _NAME
    base_path = ""
    path = _STREAMED
    stream_type = "application/vnd.amazon.eventstream"

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell `POST /model/{id}/converse-stream`, `…/converse`, and `GET /foundation-models`."""
        if request.method == "POST" and request.path.endswith((_STREAMED, _WHOLE)):
            return "call"
        return "models" if request.method == "GET" and request.path.endswith("/foundation-models") else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read the model and whether it streams from the path, the history's length from the body."""
        head, _, last = request.path.rpartition("/")
        facts = request_facts(request.json)
        return facts._replace(model=unquote(head.rpartition("/model/")[2]), stream=last == _STREAMED[1:])

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return `messageStart`, the blocks, `messageStop`, `metadata`."""
        encoding = _encoder(turn, facts)
        sends = sends_of(encoding.begin()) + content_sends(encoding, turn, hides_reasoning=True)
        if turn.usage is not None and turn.usage_at == "repeated":
            # An early report, which the later one replaces; some recordings have it before `messageStop`.
            sends += sends_of(encoding.early_usage(TokenUsage(input_tokens=turn.usage.input, output_tokens=1)))
        return [*sends, *_ending(encoding, turn)]

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return an answer of `Converse`."""
        encoding = _encoder(turn, facts)
        content_sends(encoding, turn, hides_reasoning=True)
        _ending(encoding, turn)
        return encoding.whole().body

    def models(self, names: Sequence[str]) -> bytes:
        """Return `{"modelSummaries": […]}`."""
        text = ("TEXT",)
        rows = [
            {"modelId": name, "modelName": name, "inputModalities": text, "outputModalities": text} for name in names
        ]
        return compact({"modelSummaries": rows}).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"message", "__type"}`."""
        return _plain().error_body(error)

    def error_event(self, error: ProviderError) -> Send:
        """Return an exception of the stream."""
        return Send("error", _plain().error_event(error))

    def keep_alive(self) -> bytes:
        """Return an event of a name that clients pass over."""
        return _plain().keep_alive()

    def broken(self, shape: str) -> Send:
        """Return a frame with JSON cut short, a delta that is no object, or an event nobody documented."""
        return {
            "malformed": Send("noise", _frame("contentBlockDelta", b'{"contentBlockIndex":0,"del')),
            "wrong-shape": _send("noise", "contentBlockDelta", contentBlockIndex=0, delta="text"),
            "unknown": _send("noise", "weatherReport", forecast="nobody documented this"),
        }[shape]

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return a whole text block of that index."""
        return (
            _send("content", "contentBlockDelta", contentBlockIndex=index, delta={"text": text}),
            _send("noise", "contentBlockStop", contentBlockIndex=index),
        )

    def padded(self, size: int) -> Send:
        """Return an event of another name with a long unknown field."""
        return _send("noise", "keepAlive", p="x" * size)


def _plain() -> WireEncoder:
    return encoder(_NAME, model="mock", id="mock")


def _encoder(turn: Turn, facts: RequestFacts) -> WireEncoder:
    encoding = encoder(_NAME, model=turn.model or facts.model, id="mock")
    encoding.stop_sequence = turn.stop_sequence
    return encoding


def _ending(encoding: WireEncoder, turn: Turn) -> list[Send]:
    if turn.usage is not None:
        encoding.events(UsageChunk(usage_of(turn.usage)))
    return sends_of(encoding.close(_WORDS.get(turn.finish_kind, turn.finish_kind)))


def _frame(name: str, payload: bytes) -> bytes:
    values = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes((len(key),)) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for key, value in values.items()
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _send(kind: Kind, name: str, **fields: object) -> Send:
    return Send(kind, _frame(name, compact(fields).encode()))


WIRE: Final = WireDescription(
    mock=BedrockConverseMock(),
    sse=False,
    takes_arguments="object",
    block_events=True,
    stop_sequences=True,
    refusal_words=False,
    counts=("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
)
