"""Encoder of the wire `gemini-generate`.

Source: https://ai.google.dev/api/generate-content and https://google.aip.dev/193 (errors), read 2026-11-30.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

import msgspec

from limen.contract import Failure, FinishKind, TokenUsage, codes
from limen.views._encoder import (
    EventKind,
    OutgoingBlock,
    WholeAnswer,
    WireError,
    WireEvent,
    compact,
    json_object,
    prompt_tokens,
    sse,
)
from limen.views._sequential import SequentialEncoder

_INVALID: Final = (400, "INVALID_ARGUMENT")
_ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    codes.INVALID_REQUEST: _INVALID,
    codes.INVALID_OPTIONS: _INVALID,
    codes.INVALID_REPLAY_STATE: _INVALID,
    codes.UNSUPPORTED: _INVALID,
    codes.UNSUPPORTED_CONTENT: _INVALID,
    codes.UNSUPPORTED_REASONING_EFFORT: _INVALID,
    codes.CONTENT_FILTER: _INVALID,
    codes.CONTEXT_WINDOW_EXCEEDED: _INVALID,
    codes.MODEL_NOT_FOUND: (404, "NOT_FOUND"),
    codes.NO_ADAPTER: (404, "NOT_FOUND"),
    codes.QUOTA: (429, "RESOURCE_EXHAUSTED"),
    codes.RATE_LIMIT: (429, "RESOURCE_EXHAUSTED"),
    codes.OVERLOADED: (503, "UNAVAILABLE"),
    codes.TIMEOUT: (504, "DEADLINE_EXCEEDED"),
    codes.ABORTED: (499, "CANCELLED"),
    codes.PROTOCOL_VIOLATION: (500, "INTERNAL"),
}
_SERVER: Final = (502, "UNAVAILABLE")
_OVERFLOW: Final = "exceeds the maximum number of tokens allowed"
_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"


class GeminiGenerateEncoder(SequentialEncoder):
    """Chunks of `streamGenerateContent?alt=sse`: text and thoughts as they come, a call in one part when it is whole.

    - the last chunk has the finish reason and `usageMetadata`; there is no end marker
    - a signature stands on an empty part behind the thoughts
    - `CONTENT_FILTER` is the finish reason `SAFETY`, its message in `finishMessage`; any other failure is a chunk with
      `error`

    Several text or reasoning blocks read as one each; where they interleave, each waits for the one before it.

    Not carried: the borders of blocks and the order of their ends; which stop sequence matched; the fragments of a
    call's arguments; cache writes, which are counted into the prompt; images; phase and retry hint of a failure. The
    wire has no place for arguments that are not one JSON object: cut by `max-tokens`, the call is left out; otherwise
    the answer is the failure `MALFORMED_RESPONSE`.
    """

    wire: ClassVar[str] = "gemini-generate"
    words: ClassVar[Mapping[FinishKind, str]] = {"stop": "STOP", "tool-calls": "STOP", "max-tokens": "MAX_TOKENS"}
    refusal_word: ClassVar[str] = "SAFETY"

    def signature(self, index: int, text: str) -> list[WireEvent]:
        """Return a chunk with the signature on an empty part."""
        block = self._blocks[index]
        block.signature += text
        return [self._chunk("content", _signed(block, text))]

    def early_usage(self, usage: TokenUsage) -> list[WireEvent]:
        """Return a chunk with counts and no candidates."""
        return [WireEvent("usage", sse(compact({"usageMetadata": _counts(usage), **self._facts()})))]

    def error(self, failure: Failure) -> WireError:
        """Return status and status word as Google names them."""
        status, kind = _ERRORS.get(failure.code, _SERVER)
        message = failure.message
        if failure.code == codes.CONTEXT_WINDOW_EXCEEDED and _OVERFLOW not in message:
            # Clients know an overflow by Google's sentence.
            message = f"The input token count {_OVERFLOW}: {message}"
        if failure.code == codes.OVERLOADED and "overload" not in message.lower():
            # The status alone says only that the service is not there.
            message = f"The model is overloaded. {message}"
        if kind == "NOT_FOUND" and not message.startswith("models/"):
            # Only these words tell a client that it is the model that does not exist, and not the path.
            message = f"models/{self.model} is not found for API version v1beta: {message}"
        return WireError(status, message, kind)

    def error_body(self, error: WireError) -> bytes:
        """Return `{"error": {code, message, status}}`, with the reason in `details` where there is one."""
        return compact({"error": _error(error)})

    def error_event(self, error: WireError) -> bytes:
        """Return a chunk with `error`."""
        return sse(compact({"error": _error(error)}))

    def keep_alive(self) -> bytes:
        """Return a chunk that says nothing: google-genai 3.6.1 fails on an SSE comment."""
        return b"data: {}\n\n"

    def _opening(self, *, call: bool) -> list[WireEvent]:
        return []

    def _piece(self, block: OutgoingBlock, text: str) -> WireEvent:
        return self._chunk("content", _text(block, text))

    def _whole_call(self, block: OutgoingBlock) -> list[WireEvent]:
        part = _whole_call(block)
        return [] if part is None else [self._chunk("content", part)]

    def _closing(self, word: str) -> list[WireEvent]:
        held = self._held()
        broken = self._broken()
        if broken is not None:
            self._error = self.error(broken)
            return [*held, WireEvent("error", self.error_event(self._error))]
        body = {"candidates": [self._ending(word)], **self._usage_fields(), **self._facts()}
        return [*held, WireEvent("finish", sse(compact(body)))]

    def _document(self) -> WholeAnswer:
        parts: list[Mapping[str, object]] = []
        for block in self._sent:
            if block.kind == "tool-call":
                call = _whole_call(block)
                parts += [] if call is None else [call]
                continue
            parts.append(_text(block, block.text))
            if block.signature:
                parts.append(_signed(block, block.signature))
        candidate = {"content": {"parts": parts, "role": "model"}, **self._ending(self._word)}
        return WholeAnswer(compact({"candidates": [candidate], **self._usage_fields(), **self._facts()}))

    def _broken(self) -> Failure | None:
        """Return the failure of a call whose arguments are no object, unless a token limit cut it."""
        if self._word == "MAX_TOKENS":
            return None
        for block in self._sent:
            if block.kind == "tool-call" and _whole_call(block) is None:
                return Failure(f"the arguments of the call {block.id!r} are no JSON object", codes.MALFORMED_RESPONSE)
        return None

    def _chunk(self, kind: EventKind, part: Mapping[str, object]) -> WireEvent:
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
        return WireEvent(kind, sse(compact({"candidates": [candidate], **self._facts()})))

    def _ending(self, word: str) -> dict[str, object]:
        ending: dict[str, object] = {"finishReason": word, "index": 0}
        if self._refusal:
            ending["finishMessage"] = "".join(self._refusal)
        return ending

    def _usage_fields(self) -> dict[str, object]:
        usage = self._usage
        return {} if usage is None or self.options.usage == "none" else {"usageMetadata": _counts(usage)}

    def _facts(self) -> dict[str, object]:
        return {"modelVersion": self.model, "responseId": self.id}


def _text(block: OutgoingBlock, text: str) -> dict[str, object]:
    return {"text": text} if block.kind == "text" else {"text": text, "thought": True}


def _signed(block: OutgoingBlock, signature: str) -> dict[str, object]:
    return {**_text(block, ""), "thoughtSignature": signature}


def _whole_call(block: OutgoingBlock) -> dict[str, object] | None:
    arguments: msgspec.Raw | None = json_object(block.text)
    return None if arguments is None else {"functionCall": {"id": block.id, "name": block.name, "args": arguments}}


def _counts(usage: TokenUsage) -> dict[str, object]:
    output, reasoning, prompt = usage.output_tokens or 0, usage.reasoning_tokens, prompt_tokens(usage)
    counts: dict[str, object] = {"promptTokenCount": prompt, "candidatesTokenCount": output - (reasoning or 0)}
    if usage.cache_read_tokens is not None:
        counts["cachedContentTokenCount"] = usage.cache_read_tokens
    if reasoning is not None:
        counts["thoughtsTokenCount"] = reasoning
    return {**counts, "totalTokenCount": prompt + output}


def _error(error: WireError) -> dict[str, object]:
    body: dict[str, object] = {"code": error.status, "message": error.message, "status": error.type}
    if error.code is not None:
        body["details"] = [{"@type": _INFO, "reason": error.code, "domain": "googleapis.com"}]
    return body


ENCODER: Final = GeminiGenerateEncoder
