"""Encoder of the wire `openai-responses`.

Source: https://platform.openai.com/docs/api-reference/responses-streaming and the object pages beside it, read
2026-11-30; what Codex CLI 0.171.0 and `openai` 3.57.0 need of an answer was recorded on 2026-11-30.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from limen.contract import Failure, Finish, FinishKind, TokenUsage, codes
from limen.views._encoder import (
    EncoderOptions,
    EventKind,
    OutgoingBlock,
    WholeAnswer,
    WireEncoder,
    WireError,
    WireEvent,
    compact,
    json_object,
    prompt_tokens,
    sse,
)

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
# Codes that Codex acts on where they stand in `response.failed`; the others are `invalid_prompt` where a second try
# cannot help, else `server_error`, which it tries again. `server_is_overloaded` would end its session.
_KNOWN_IN_STREAM: Final = frozenset({"rate_limit_exceeded", "insufficient_quota", "context_length_exceeded"})
_COMPLETED: Final = "completed"
_REFUSAL: Final = "refusal"


class OpenAIResponsesEncoder(WireEncoder):
    """Responses: events with names and sequence numbers, a full response in the first, the second and the last.

    - `response.created` · `response.in_progress` · items, each from `output_item.added` to `output_item.done` · the
      terminal event with every item and the counts
    - a text block is a message of one part; reasoning is a summary of one part, its signature `encrypted_content`; a
      call is a `function_call`; hidden reasoning is an item without a summary
    - a token limit is `response.incomplete`; a failure, `CONTENT_FILTER` too, is an `error` event and then
      `response.failed`, because some clients read the one and some the other

    Not carried: which stop sequence matched; the wait before the next try beside its sentence; images; phase and
    status of a failure. Counts that are unknown are 0, as the wire demands numbers, unless the options say otherwise.
    """

    wire: ClassVar[str] = "openai-responses"
    words: ClassVar[Mapping[FinishKind, str]] = {
        "stop": _COMPLETED,
        "tool-calls": _COMPLETED,
        "max-tokens": "max_output_tokens",
    }
    refusal_word: ClassVar[str] = _COMPLETED

    def __init__(self, *, model: str, id: str, options: EncoderOptions) -> None:  # noqa: A002 - V1 fixes the name
        super().__init__(model=model, id=id, options=options)
        self._number = 0
        self._unknown = 0 if options.unknown_counts == "zero" else None
        self._refused: OutgoingBlock | None = None

    # -- what a script has beside chunks

    def refusal(self, text: str) -> list[WireEvent]:
        """Add to the words of a refusal; they are a part of a message of their own."""
        events: list[WireEvent] = []
        block = self._refused
        if block is None:
            block = self._refused = OutgoingBlock("text")
            block.name = _REFUSAL
            self._place(block)
            events = [*self.begin(), *self._open_message(block)]
        self._refusal.append(text)
        block.parts.append(text)
        return [*events, self._event("response.refusal.delta", "content", block, content_index=0, delta=text)]

    def signature(self, index: int, text: str) -> list[WireEvent]:
        """Keep a signature as the sealed content of an open reasoning block, which goes out with its end."""
        self._blocks[index].signature = text
        return []

    def opaque(self, data: str) -> list[WireEvent]:
        """Return the events of a reasoning item without a summary."""
        block = OutgoingBlock("opaque")
        block.signature = data
        opening = self.begin()
        self._place(block)
        return [*opening, self._added(block), self._done(block)]

    def early_usage(self, usage: TokenUsage) -> list[WireEvent]:
        """Return a `response.in_progress` with counts."""
        return [self._lifecycle("response.in_progress", "usage", "in_progress", usage=usage)]

    # -- failures

    def error(self, failure: Failure) -> WireError:
        """Return status, type and code as OpenAI names them; a wait stands in the message, where clients look."""
        status, kind, code = _ERRORS.get(failure.code, _SERVER)
        message = failure.message
        delay = failure.provider_retry_after_ms
        if failure.code == codes.RATE_LIMIT and delay is not None and "try again in" not in message:
            message = f"{message} Please try again in {delay / 1000:g}s."
        return WireError(status, message, kind, code or failure.code.lower())

    def error_body(self, error: WireError) -> bytes:
        """Return `{"error": {message, type, param, code}}`."""
        return compact({"error": _error(error)})

    def error_event(self, error: WireError) -> bytes:
        """Return an `error` event and `response.failed`."""
        event = self._event("error", "error", error=_error(error))
        known = error.code or ""
        if known not in _KNOWN_IN_STREAM:
            known = "invalid_prompt" if error.type == "invalid_request_error" else "server_error"
        told = {"code": known, "message": error.message}
        failed = self._lifecycle("response.failed", "error", "failed", error=told, usage=self._usage)
        return event.data + failed.data

    def keep_alive(self) -> bytes:
        """Return a `response.in_progress` event: comments do not count for Codex."""
        return self._lifecycle("response.in_progress", "noise", "in_progress").data

    def _finish(self, finish: Finish) -> list[WireEvent]:
        failure = finish.reason.failure
        if failure is not None and failure.code == codes.CONTENT_FILTER:
            # Codex tries `incomplete` with `content_filter` again, and shows nothing of a refusal.
            return self.fail(failure)
        return super()._finish(finish)

    # -- the answer

    def _opening(self, *, call: bool) -> list[WireEvent]:
        return [
            self._lifecycle("response.created", "open", "in_progress"),
            self._lifecycle("response.in_progress", "open", "in_progress"),
        ]

    def _open_block(self, block: OutgoingBlock) -> list[WireEvent]:
        if block.kind == "text":
            return self._open_message(block)
        part = {"type": "summary_text", "text": ""}
        return [
            self._added(block),
            self._event("response.reasoning_summary_part.added", "noise", block, summary_index=0, part=part),
        ]

    def _open_message(self, block: OutgoingBlock) -> list[WireEvent]:
        part = _part(block.name, "")
        return [
            self._added(block),
            self._event("response.content_part.added", "noise", block, content_index=0, part=part),
        ]

    def _text(self, block: OutgoingBlock, text: str) -> list[WireEvent]:
        if block.kind == "text":
            fields = {"content_index": 0, "delta": text, "logprobs": ()}
            return [self._event("response.output_text.delta", "content", block, **fields)]
        return [self._event("response.reasoning_summary_text.delta", "content", block, summary_index=0, delta=text)]

    def _call(self, block: OutgoingBlock, arguments: str, *, first: bool) -> list[WireEvent]:
        events: list[WireEvent] = []
        if first:
            # The item begins without arguments; those that came with it are its first delta.
            block.parts = []
            events = [self._added(block)]
            block.parts = [arguments]
        if arguments:
            events.append(self._event("response.function_call_arguments.delta", "content", block, delta=arguments))
        return events

    def _close_block(self, block: OutgoingBlock) -> list[WireEvent]:
        text = block.text
        if block.kind == "tool-call":
            done = self._event("response.function_call_arguments.done", "noise", block, name=block.name, arguments=text)
            return [done, self._done(block)]
        if block.kind == "text":
            return self._close_message(block, text)
        part = {"type": "summary_text", "text": text}
        return [
            self._event("response.reasoning_summary_text.done", "noise", block, summary_index=0, text=text),
            self._event("response.reasoning_summary_part.done", "noise", block, summary_index=0, part=part),
            self._done(block),
        ]

    def _close_message(self, block: OutgoingBlock, text: str) -> list[WireEvent]:
        if block.name == _REFUSAL:
            said = self._event("response.refusal.done", "noise", block, content_index=0, refusal=text)
        else:
            said = self._event("response.output_text.done", "noise", block, content_index=0, text=text, logprobs=())
        part = _part(block.name, text)
        ended = self._event("response.content_part.done", "noise", block, content_index=0, part=part)
        return [said, ended, self._done(block)]

    def _closing(self, word: str) -> list[WireEvent]:
        refused = [] if self._refused is None else self._close_message(self._refused, self._refused.text)
        name = "response.completed" if word == _COMPLETED else "response.incomplete"
        return [*refused, WireEvent("finish", self._lifecycle(name, "finish", **self._outcome(word)).data)]

    def _document(self) -> WholeAnswer:
        return WholeAnswer(compact(self._response(**self._outcome(self._word))))

    def _outcome(self, word: str) -> dict[str, object]:
        status = _COMPLETED if word == _COMPLETED else "incomplete"
        details = None if word == _COMPLETED else {"reason": word}
        output = tuple(self._item(block) for block in self._sent)
        usage = None if self.options.usage == "none" else self._usage
        return {"status": status, "details": details, "output": output, "usage": usage}

    # -- events and objects

    def _event(
        self, type_name: str, kind: EventKind, block: OutgoingBlock | None = None, /, **fields: object
    ) -> WireEvent:
        body: dict[str, object] = {"type": type_name, "sequence_number": self._number}
        self._number += 1
        if block is not None:
            body |= {"item_id": self._id(block), "output_index": block.place}
        return WireEvent(kind, sse(compact({**body, **fields}), event=type_name))

    def _added(self, block: OutgoingBlock) -> WireEvent:
        item = self._item(block, begins=True)
        return self._event("response.output_item.added", "open", output_index=block.place, item=item)

    def _done(self, block: OutgoingBlock) -> WireEvent:
        item = self._item(block)
        return self._event("response.output_item.done", "noise", output_index=block.place, item=item)

    def _id(self, block: OutgoingBlock) -> str:
        # OpenAI checks the prefix of an id that comes back, and takes at most 64 characters.
        prefix = {"text": "msg", "tool-call": "fc"}.get(block.kind, "rs")
        return f"{prefix}_{self.id.rpartition('_')[2]}_{block.place}"

    def _item(self, block: OutgoingBlock, *, begins: bool = False) -> Mapping[str, object]:
        text = block.text
        item: dict[str, object] = {"id": self._id(block)}
        if block.kind == "tool-call":
            cut = bool(text.strip()) and json_object(text) is None
            status = "in_progress" if begins else "incomplete" if cut else _COMPLETED
            call = {"type": "function_call", "status": status, "call_id": block.id, "name": block.name}
            return {**item, **call, "arguments": text}
        if block.kind == "text":
            content = () if begins else (_part(block.name, text),)
            status = "in_progress" if begins else _COMPLETED
            return {**item, "type": "message", "status": status, "role": "assistant", "content": content}
        summary = () if begins or not text else ({"type": "summary_text", "text": text},)
        item |= {"type": "reasoning", "summary": summary}
        return {**item, "encrypted_content": block.signature} if block.signature and not begins else item

    def _lifecycle(self, name: str, kind: EventKind, status: object, **facts: object) -> WireEvent:
        return self._event(name, kind, response=self._response(status=status, **facts))

    def _response(
        self,
        *,
        status: object,
        details: object = None,
        error: object = None,
        output: object = (),
        usage: object = None,
    ) -> Mapping[str, object]:
        """Return a response; what the request said is answered as nothing was kept, because no chunk carries it."""
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.options.created,
            "status": status,
            "background": False,
            "error": error,
            "incomplete_details": details,
            "instructions": None,
            "max_output_tokens": None,
            "metadata": {},
            "model": self.model,
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": False,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": (),
            "top_p": None,
            "truncation": "disabled",
            "usage": _usage(usage, self._unknown) if isinstance(usage, TokenUsage) else None,
        }


def _part(name: str, text: str) -> Mapping[str, object]:
    if name == _REFUSAL:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": (), "logprobs": ()}


def _usage(usage: TokenUsage, unknown: int | None) -> Mapping[str, object]:
    """Add up: cached input is inside `input_tokens`, reasoning inside `output_tokens`."""
    prompt, output = prompt_tokens(usage), usage.output_tokens or 0
    inside = {
        "cached_tokens": unknown if usage.cache_read_tokens is None else usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }
    reasoning = {"reasoning_tokens": unknown if usage.reasoning_tokens is None else usage.reasoning_tokens}
    return {
        "input_tokens": prompt,
        "input_tokens_details": {name: count for name, count in inside.items() if count is not None},
        "output_tokens": output,
        "output_tokens_details": {name: count for name, count in reasoning.items() if count is not None},
        "total_tokens": prompt + output,
    }


def _error(error: WireError) -> Mapping[str, object]:
    return {"type": error.type, "code": error.code, "message": error.message, "param": error.param}


ENCODER: Final = OpenAIResponsesEncoder
