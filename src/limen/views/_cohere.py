"""Encoder of the wire `cohere`.

Source: https://docs.cohere.com/docs/streaming and https://docs.cohere.com/reference/errors, read 2026-11-30.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from limen.contract import Failure, FinishKind, FinishReason, TokenUsage, codes
from limen.views._encoder import (
    EventKind,
    OutgoingBlock,
    WholeAnswer,
    WireEncoder,
    WireError,
    WireEvent,
    compact,
    sse,
)

_SERVER: Final = 502
_STATUSES: Final[Mapping[str, int]] = {
    codes.INVALID_REQUEST: 400,
    codes.INVALID_OPTIONS: 400,
    codes.INVALID_REPLAY_STATE: 400,
    codes.UNSUPPORTED: 400,
    codes.UNSUPPORTED_CONTENT: 400,
    codes.UNSUPPORTED_REASONING_EFFORT: 400,
    codes.CONTENT_FILTER: 400,
    codes.CONTEXT_WINDOW_EXCEEDED: 400,
    codes.MODEL_NOT_FOUND: 404,
    codes.NO_ADAPTER: 404,
    codes.QUOTA: 429,
    codes.RATE_LIMIT: 429,
    codes.OVERLOADED: 503,
    codes.TIMEOUT: 504,
    codes.ABORTED: 499,
    codes.PROTOCOL_VIOLATION: 500,
}
_TOO_LONG: Final = "too many tokens: size limit exceeded"


class CohereEncoder(WireEncoder):
    """Cohere's chat, version 2: named events from `message-start` to `message-end`, then `[DONE]`.

    - text and thinking as parts of the content, calls beside them; each counter has indexes of its own, and blocks
      that interleave stay interleaved under them
    - finish word and counts stand in `message-end`; `CONTENT_FILTER` is the word `ERROR_TOXIC`, its message the
      `error` there; any other failure is `message-end` with the word `ERROR`

    Not carried: cache writes; the answer's model, which the wire has no field for; images; phase, status and retry
    hint of a failure. All reasoning is thinking, none a tool plan: chunks do not tell them apart.
    """

    wire: ClassVar[str] = "cohere"
    words: ClassVar[Mapping[FinishKind, str]] = {
        "stop": "COMPLETE",
        "tool-calls": "TOOL_CALL",
        "max-tokens": "MAX_TOKENS",
    }
    refusal_word: ClassVar[str] = "ERROR_TOXIC"

    def early_usage(self, usage: TokenUsage) -> list[WireEvent]:
        """Return nothing: the wire has one report, in `message-end`."""
        return []

    def error(self, failure: Failure) -> WireError:
        """Return status and sentence as Cohere writes them."""
        status = _STATUSES.get(failure.code, _SERVER)
        message = failure.message
        if failure.code == codes.CONTEXT_WINDOW_EXCEEDED and _TOO_LONG not in message:
            message = f"{_TOO_LONG}: {message}"
        return WireError(status, message, failure.code.lower())

    def error_body(self, error: WireError) -> bytes:
        """Return `{"id", "message"}`."""
        return compact({"id": self.options.request_id or self.id, "message": error.message})

    def error_event(self, error: WireError) -> bytes:
        """Return `message-end` with the word `ERROR`."""
        return _event("error", "message-end", delta={"finish_reason": "ERROR", "error": error.message}).data

    def keep_alive(self) -> bytes:
        """Return an SSE comment."""
        return b": keep-alive\n\n"

    def _opening(self, *, call: bool) -> list[WireEvent]:
        message = {"role": "assistant", "content": (), "tool_plan": "", "tool_calls": (), "citations": ()}
        return [_event("open", "message-start", id=self.id, delta={"message": message})]

    def _place(self, block: OutgoingBlock) -> None:
        # The wire counts parts and calls apart.
        is_call = block.kind == "tool-call"
        block.place = sum(1 for one in self._sent if (one.kind == "tool-call") == is_call)
        self._sent.append(block)

    def _open_block(self, block: OutgoingBlock) -> list[WireEvent]:
        return [_content("open", "content-start", block, {"type": _kind(block), _kind(block): ""})]

    def _text(self, block: OutgoingBlock, text: str) -> list[WireEvent]:
        return [_content("content", "content-delta", block, {_kind(block): text})]

    def _call(self, block: OutgoingBlock, arguments: str, *, first: bool) -> list[WireEvent]:
        fragment = _called("content", "tool-call-delta", block, {"function": {"arguments": arguments}})
        if not first:
            return [fragment]
        start = _called("open", "tool-call-start", block, _whole_call(block, ""))
        return [start, fragment] if arguments else [start]

    def _close_block(self, block: OutgoingBlock) -> list[WireEvent]:
        block.ended = True
        name = "tool-call-end" if block.kind == "tool-call" else "content-end"
        return [_event("noise", name, index=block.place)]

    def _closing(self, word: str) -> list[WireEvent]:
        # A refusal may come while a block is open.
        ends = [event for block in self._sent if not block.ended for event in self._close_block(block)]
        end = _event("finish", "message-end", id=self.id, delta=self._ending(word))
        return [*ends, end, WireEvent("end", sse(b"[DONE]"))]

    def _finish_word(self, reason: FinishReason) -> str:
        if reason.kind == "stop" and self.stop_sequence is not None:
            return "STOP_SEQUENCE"
        return self.words[reason.kind]

    def _document(self) -> WholeAnswer:
        message: dict[str, object] = {"role": "assistant"}
        content = [{"type": _kind(one), _kind(one): one.text} for one in self._sent if one.kind != "tool-call"]
        calls = [_whole_call(one, one.text) for one in self._sent if one.kind == "tool-call"]
        if content:
            message["content"] = content
        if calls:
            message["tool_calls"] = calls
        return WholeAnswer(compact({"id": self.id, "message": message, **self._ending(self._word)}))

    def _ending(self, word: str) -> dict[str, object]:
        ending: dict[str, object] = {"finish_reason": word}
        if self._refusal:
            ending["error"] = "".join(self._refusal)
        if self._usage is not None:
            ending["usage"] = _usage(self._usage)
        return ending


def _event(kind: EventKind, name: str, **fields: object) -> WireEvent:
    return WireEvent(kind, sse(compact({"type": name, **fields}), event=name))


def _content(kind: EventKind, name: str, block: OutgoingBlock, content: Mapping[str, object]) -> WireEvent:
    return _event(kind, name, index=block.place, delta={"message": {"content": content}})


def _called(kind: EventKind, name: str, block: OutgoingBlock, call: Mapping[str, object]) -> WireEvent:
    return _event(kind, name, index=block.place, delta={"message": {"tool_calls": call}})


def _kind(block: OutgoingBlock) -> str:
    return "thinking" if block.kind == "reasoning" else "text"


def _whole_call(block: OutgoingBlock, arguments: str) -> Mapping[str, object]:
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}


def _usage(usage: TokenUsage) -> Mapping[str, object]:
    cached = usage.cache_read_tokens
    # Cached tokens are part of the model's input, and not of what is billed.
    whole = None if usage.input_tokens is None else usage.input_tokens + (cached or 0)
    tokens = {"input_tokens": whole, "output_tokens": usage.output_tokens, "reasoning_tokens": usage.reasoning_tokens}
    billed = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    body: dict[str, object] = {
        "billed_units": {name: count for name, count in billed.items() if count is not None},
        "tokens": {name: count for name, count in tokens.items() if count is not None},
    }
    if cached is not None:
        body["cached_tokens"] = cached
    return body


ENCODER: Final = CohereEncoder
