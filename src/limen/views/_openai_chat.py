"""Encoder of the wire `openai-chat`.

Source: https://platform.openai.com/docs/api-reference/chat/streaming and the object pages beside it, read 2026-11-30;
`reasoning_content` from https://api-docs.deepseek.com/guides/thinking_mode, read 2026-11-30.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from limen.contract import Failure, FinishKind, TokenUsage, codes
from limen.views._encoder import (
    EncoderOptions,
    EventKind,
    OutgoingBlock,
    WholeAnswer,
    WireError,
    WireEvent,
    compact,
    prompt_tokens,
    sse,
)
from limen.views._sequential import SequentialEncoder

# Status, type and code of each failure; `None` as the code is limen's own code in lower case.
_SERVER: Final = (502, "server_error", None)
_UPSTREAM_KEY: Final = (502, "server_error", "upstream_auth")
_UNSUPPORTED: Final = (400, "invalid_request_error", "unsupported_parameter")
_INVALID: Final = (400, "invalid_request_error", "invalid_value")
_ERRORS: Final[Mapping[str, tuple[int, str, str | None]]] = {
    codes.INVALID_REQUEST: _INVALID,
    codes.INVALID_OPTIONS: _INVALID,
    codes.INVALID_REPLAY_STATE: _INVALID,
    codes.UNSUPPORTED: _UNSUPPORTED,
    codes.UNSUPPORTED_CONTENT: _UNSUPPORTED,
    codes.UNSUPPORTED_REASONING_EFFORT: _UNSUPPORTED,
    codes.CONTENT_FILTER: (400, "invalid_request_error", "content_filter"),
    codes.CONTEXT_WINDOW_EXCEEDED: (400, "invalid_request_error", "context_length_exceeded"),
    codes.MODEL_NOT_FOUND: (404, "invalid_request_error", "model_not_found"),
    codes.NO_ADAPTER: (404, "invalid_request_error", "model_not_found"),
    codes.AUTH: _UPSTREAM_KEY,
    codes.MISSING_CREDENTIAL: _UPSTREAM_KEY,
    codes.INVALID_CREDENTIAL: _UPSTREAM_KEY,
    codes.QUOTA: (429, "insufficient_quota", "insufficient_quota"),
    codes.RATE_LIMIT: (429, "rate_limit_error", "rate_limit_exceeded"),
    codes.OVERLOADED: (503, "service_unavailable_error", "server_is_overloaded"),
    codes.TIMEOUT: (504, "server_error", "timeout"),
    codes.ABORTED: (499, "server_error", None),
    codes.PROTOCOL_VIOLATION: (500, "server_error", None),
}


class OpenAIChatEncoder(SequentialEncoder):
    """Chat completions: `data:` lines without event names, `[DONE]` at the end of a success.

    - role chunk · text as `content`, reasoning as `reasoning_content`, calls as `tool_calls` numbered among themselves
      · a chunk with the finish reason · usage in a chunk of its own, where it is asked for, and then `usage: null` in
      every chunk before it · `[DONE]`
    - `CONTENT_FILTER` is the finish reason `content_filter`, its message in `refusal`; any other failure is a chunk
      with a top-level `error`, and no `[DONE]`

    Several text or reasoning blocks read as one each; where they interleave, each waits for the one before it.

    Not carried: the borders of blocks and the order of their ends;
    counts that are unknown where the wire demands a number (`prompt_tokens`, `completion_tokens`: 0); which stop
    sequence matched; signatures and hidden reasoning; images; phase, status and retry hint of a failure.
    """

    wire: ClassVar[str] = "openai-chat"
    words: ClassVar[Mapping[FinishKind, str]] = {"stop": "stop", "tool-calls": "tool_calls", "max-tokens": "length"}
    refusal_word: ClassVar[str] = "content_filter"

    def __init__(self, *, model: str, id: str, options: EncoderOptions) -> None:  # noqa: A002 - V1 fixes the name
        super().__init__(model=model, id=id, options=options)
        self._calls = 0
        usage = b',"usage":null}' if options.usage == "trailing" else b"}"
        # Every content chunk begins and ends alike, so that one small object is all that is encoded for it.
        self._before = b'data: %b,"choices":[{"index":0,"delta":' % compact(self._head("chat.completion.chunk"))[:-1]
        self._after = b',"logprobs":null,"finish_reason":null}]%b\n\n' % usage

    def refusal(self, text: str) -> list[WireEvent]:
        """Add to the words of a refusal; they are streamed as `refusal`."""
        self._refusal.append(text)
        return [self._delta({"refusal": text})]

    def early_usage(self, usage: TokenUsage) -> list[WireEvent]:
        """Return a chunk that holds nothing but counts."""
        return [self._counted(usage)]

    def _counted(self, usage: TokenUsage) -> WireEvent:
        body = {**self._head("chat.completion.chunk"), "choices": (), "usage": _usage(usage)}
        return WireEvent("usage", sse(compact(body)))

    def error(self, failure: Failure) -> WireError:
        """Return status, type and code as OpenAI names them."""
        status, kind, code = _ERRORS.get(failure.code, _SERVER)
        return WireError(status, failure.message, kind, code or failure.code.lower())

    def error_body(self, error: WireError) -> bytes:
        """Return `{"error": {message, type, param, code}}`."""
        return compact(_error(error))

    def error_event(self, error: WireError) -> bytes:
        """Return a `data:` line whose JSON has a top-level `error`."""
        return sse(compact(_error(error)))

    def keep_alive(self) -> bytes:
        """Return an SSE comment."""
        return b": keep-alive\n\n"

    def _opening(self, *, call: bool) -> list[WireEvent]:
        return [self._delta({"role": "assistant", "content": None if call else "", "refusal": None}, "open")]

    def _piece(self, block: OutgoingBlock, text: str) -> WireEvent:
        if block.kind == "text":
            return self._delta({"content": text})
        return self._reasoned(text)

    def _reasoned(self, text: str) -> WireEvent:
        # DeepSeek sends the other field as null beside the one that speaks.
        return self._delta({"content": None, "reasoning_content": text})

    def _call(self, block: OutgoingBlock, arguments: str, *, first: bool) -> list[WireEvent]:
        if not first:
            fragment = {"index": block.place, "function": self._fragment_of(arguments)}
            return [self._delta({"tool_calls": (fragment,)})]
        super()._call(block, arguments, first=first)
        # Calls are numbered among themselves: a client's list has no gap (serving sheet, 3.3: IndexError on one).
        block.place, self._calls = self._calls, self._calls + 1
        function = {"name": block.name, "arguments": arguments}
        opening = {"index": block.place, "id": block.id, "type": "function", "function": function}
        return [self._delta({"tool_calls": (opening,)})]

    def _fragment_of(self, arguments: str) -> Mapping[str, object]:
        return {"arguments": arguments}

    def _closing(self, word: str) -> list[WireEvent]:
        nothing: Mapping[str, object] = {}
        choice = {"index": 0, "delta": nothing, "logprobs": None, "finish_reason": word}
        body = {**self._head("chat.completion.chunk"), "choices": (choice,)}
        usage = self._usage
        if self.options.usage == "trailing":
            body["usage"] = None
        elif self.options.usage == "finish" and usage is not None:
            body["usage"] = _usage(usage)
        events = [*self._held(), WireEvent("finish", sse(compact(body)))]
        if self.options.usage == "trailing" and usage is not None:
            events.append(self._counted(usage))
        return [*events, WireEvent("end", sse(b"[DONE]"))]

    def _document(self) -> WholeAnswer:
        choice = {"index": 0, "message": self._message(), "logprobs": None, "finish_reason": self._word}
        body: dict[str, object] = {**self._head("chat.completion"), "choices": (choice,)}
        if self._usage is not None:
            body["usage"] = _usage(self._usage)
        return WholeAnswer(compact(body))

    def _message(self) -> dict[str, object]:
        message: dict[str, object] = {
            "role": "assistant",
            "content": self._joined("text") or None,
            "refusal": "".join(self._refusal) or None,
        }
        if reasoning := self._joined("reasoning"):
            message["reasoning_content"] = reasoning
        if calls := [block for block in self._sent if block.kind == "tool-call"]:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
                for call in calls
            ]
        return message

    def _joined(self, kind: str) -> str:
        return "".join(block.text for block in self._sent if block.kind == kind)

    def _head(self, kind: str) -> dict[str, object]:
        head: dict[str, object] = {"id": self.id, "object": kind, "created": self.options.created, "model": self.model}
        if self.options.fingerprint is not None:
            head["system_fingerprint"] = self.options.fingerprint
        return head

    def _delta(self, delta: Mapping[str, object], kind: EventKind = "content") -> WireEvent:
        return WireEvent(kind, b"%b%b%b" % (self._before, compact(delta), self._after))


def _usage(usage: TokenUsage) -> Mapping[str, object]:
    """Add up: cached input is inside `prompt_tokens`, reasoning inside `completion_tokens`."""
    prompt = prompt_tokens(usage)
    output = usage.output_tokens or 0
    body: dict[str, object] = {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
    }
    details: Sequence[tuple[str, int | None]] = (
        ("cached_tokens", usage.cache_read_tokens),
        ("cache_write_tokens", usage.cache_write_tokens),
    )
    if known := {name: count for name, count in details if count is not None}:
        body["prompt_tokens_details"] = known
    if usage.reasoning_tokens is not None:
        body["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return body


def _error(error: WireError) -> Mapping[str, object]:
    return {"error": {"message": error.message, "type": error.type, "param": error.param, "code": error.code}}


ENCODER: Final = OpenAIChatEncoder
