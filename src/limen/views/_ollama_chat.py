"""Encoder of the wire `ollama-chat`.

Source: https://docs.ollama.com/api/chat and the server's `api/types.go` (https://github.com/ollama/ollama, 2026-08-21),
read 2026-12-01.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import ClassVar, Final

import msgspec

from limen.contract import Failure, Finish, FinishKind, TokenUsage, codes
from limen.views._encoder import (
    EncoderOptions,
    EventKind,
    OutgoingBlock,
    WholeAnswer,
    WireError,
    WireEvent,
    compact,
    json_object,
    prompt_tokens,
)
from limen.views._sequential import SequentialEncoder

_LIMIT: Final = "length"
_SERVER: Final = 500
_ERRORS: Final[Mapping[str, int]] = {
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
    codes.AUTH: 502,
    codes.MISSING_CREDENTIAL: 502,
    codes.INVALID_CREDENTIAL: 502,
    codes.QUOTA: 429,
    codes.RATE_LIMIT: 429,
    codes.OVERLOADED: 503,
    codes.TIMEOUT: 504,
    codes.ABORTED: 499,
}


class OllamaChatEncoder(SequentialEncoder):
    """Ollama's chat: one JSON object a line, the last one with `"done": true`, the finish word and the counts.

    - text as `content`, reasoning as `thinking`, each fragment on a line of its own; a tool call whole, on one line,
      when its block and those of the calls before it have ended
    - `CONTENT_FILTER` is the `done_reason` `content_filter`, its message the last line's `content`; any other failure
      is a line `{"error": message}`

    Several text or reasoning blocks read as one each; where they interleave, each waits for the one before it.
    Arguments are an object on this wire: a call that `max-tokens` cut is left out, and any other that is not one JSON
    object makes the answer the failure `MALFORMED_RESPONSE`.

    Not carried: the borders of blocks and the order of their ends; the fragments of arguments; cached and reasoning
    tokens apart; which stop sequence matched; signatures and hidden reasoning; images; code, phase and retry hint of a
    failure; the answer's id. Durations are not written, because no chunk has them.
    """

    wire: ClassVar[str] = "ollama-chat"
    content_type: ClassVar[str] = "application/x-ndjson"
    words: ClassVar[Mapping[FinishKind, str]] = {"stop": "stop", "tool-calls": "stop", "max-tokens": _LIMIT}
    refusal_word: ClassVar[str] = "content_filter"

    def __init__(self, *, model: str, id: str, options: EncoderOptions) -> None:  # noqa: A002 - V1 fixes the name
        super().__init__(model=model, id=id, options=options)
        self._calls = 0
        head = _escaped(compact(self._head()))[:-1]
        self._before = b'%b,"message":{"role":"assistant","content":' % head
        self._after = b'},"done":false}\n'

    def early_usage(self, usage: TokenUsage) -> list[WireEvent]:
        """Return nothing: counts stand in the last line alone."""
        return []

    def error(self, failure: Failure) -> WireError:
        """Return the status; the wire has neither types nor codes."""
        return WireError(_ERRORS.get(failure.code, _SERVER), failure.message, "")

    def error_body(self, error: WireError) -> bytes:
        """Return `{"error": message}`."""
        return compact({"error": error.message})

    def error_event(self, error: WireError) -> bytes:
        """Return a line with the same object."""
        return _one_line({"error": error.message})

    def keep_alive(self) -> bytes:
        """Return a space before the next line, which is white space of its JSON; clients take no blank lines."""
        return b" "

    def _opening(self, *, call: bool) -> list[WireEvent]:
        return []

    def _piece(self, block: OutgoingBlock, text: str) -> WireEvent:
        if block.kind == "text":
            return self._line(compact(text))
        return self._line(b'"","thinking":%b' % compact(text))

    def _whole_call(self, block: OutgoingBlock) -> list[WireEvent]:
        written = self._written(block)
        return [] if written is None else [self._line(b'"","tool_calls":%b' % compact([written]))]

    def _written(self, block: OutgoingBlock) -> Mapping[str, object] | None:
        arguments = json_object(block.text)
        if arguments is None:
            return None
        # A line end is white space in valid JSON, and here the end of the line.
        plain = msgspec.Raw(bytes(arguments).replace(b"\n", b" ").replace(b"\r", b" "))
        function = {"index": self._calls, "name": block.name, "arguments": plain}
        self._calls += 1
        return {"id": block.id, "function": function} if block.id else {"function": function}

    def _finish(self, finish: Finish) -> list[WireEvent]:
        if finish.reason.failure is None and finish.reason.kind != "max-tokens":
            for block in self._sent:
                if block.kind == "tool-call" and json_object(block.text) is None:
                    what = f"the arguments of the call {block.id!r} are no JSON object"
                    return self.fail(Failure(what, codes.MALFORMED_RESPONSE))
        return super()._finish(finish)

    def _closing(self, word: str) -> list[WireEvent]:
        message = {"role": "assistant", "content": "".join(self._refusal)}
        body = {**self._head(), "message": message, "done": True, "done_reason": word, **self._counts()}
        return [*self._held(), WireEvent("finish", _one_line(body))]

    def _document(self) -> WholeAnswer:
        self._calls = 0
        message: dict[str, object] = {"role": "assistant", "content": self._joined("text") or "".join(self._refusal)}
        if reasoning := self._joined("reasoning"):
            message["thinking"] = reasoning
        calls = [self._written(block) for block in self._sent if block.kind == "tool-call"]
        if whole := [call for call in calls if call is not None]:
            message["tool_calls"] = whole
        body = {**self._head(), "message": message, "done": True, "done_reason": self._word, **self._counts()}
        return WholeAnswer(_escaped(compact(body)))

    def _joined(self, kind: str) -> str:
        return "".join(block.text for block in self._sent if block.kind == kind)

    def _counts(self) -> dict[str, object]:
        usage = self._usage
        if usage is None:
            return {}
        counts: dict[str, object] = {}
        if usage.input_tokens is not None:
            counts["prompt_eval_count"] = prompt_tokens(usage)
        if usage.output_tokens is not None:
            counts["eval_count"] = usage.output_tokens
        return counts

    def _head(self) -> dict[str, object]:
        made = datetime.fromtimestamp(self.options.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"model": self.model, "created_at": made}

    def _line(self, content: bytes, kind: EventKind = "content") -> WireEvent:
        return WireEvent(kind, b"%b%b%b" % (self._before, _escaped(content), self._after))


def _one_line(value: object) -> bytes:
    return _escaped(compact(value)) + b"\n"


def _escaped(data: bytes) -> bytes:
    """Escape what is a line end to some clients and none in JSON: httpx, under the official one, splits there."""
    if b"\xc2\x85" in data or b"\xe2\x80" in data:
        data = data.replace(b"\xc2\x85", b"\\u0085")
        data = data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return data


ENCODER: Final = OllamaChatEncoder
