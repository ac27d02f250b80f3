"""Events of Cohere's chat to chunks.

Source of truth: https://docs.cohere.com/docs/streaming, read 2026-11-30. The wire has block events of its own and is
followed (C18): each part of its content with text is one block here, and so is each call. A tool plan has neither start
nor end: it is a reasoning block that ends where a part or a call begins. Parts and calls are counted apart.
"""

from typing import Final

from msgspec.structs import replace

from limen.adapters.cohere._parse import read_citations
from limen.adapters.cohere._wire import (
    REPLAY_VERSION,
    Malformed,
    WireAnswer,
    WireCall,
    WireContent,
    WireEvent,
    WireFunction,
    WireMessage,
    WireTokens,
    WireUsage,
)
from limen.adapters.kit import (
    Blocks,
    Ending,
    OpenCall,
    OpenText,
    PromptCounts,
    StateWriter,
    UsageReports,
    first_count,
    is_object,
)
from limen.adapters.kit.errors import ErrorRules, classify_event
from limen.contract import (
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    IdSeed,
    JsonObject,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
    codes,
    dumps,
    replace_surrogates,
)

WIRE: Final = "cohere"

_NO_CONTENT: Final = WireContent()
_NO_FUNCTION: Final = WireFunction()
_NO_TOKENS: Final = WireTokens()
_KINDS: Final = ("text", "thinking")


class Translator:
    """One answer in flight: `take` or `take_rare` each event in order, then `finish` or `fail` once.

    `is_finished` is set by `message-end`. Raises `Malformed` for an order that the wire does not allow.
    """

    __slots__ = (
        "_begun", "_blocks", "_calls", "_citations", "_ending", "_error", "_errors", "_facts", "_parts", "_plan",
        "_plans", "_texts", "_usage", "_whole", "is_finished",
    )  # fmt: skip

    def __init__(self, facts: CallFacts, errors: ErrorRules, *, id_seed: IdSeed = b"") -> None:
        self.is_finished = False
        self._begun = False
        self._whole = False
        self._blocks = Blocks(id_seed)
        self._facts = facts
        self._errors = errors
        self._ending = Ending()
        self._error: object = None
        self._usage = UsageReports()
        # The wire's two counters; `None` stands for a part of an unknown kind.
        self._parts: dict[int, OpenText | None] = {}
        self._calls: dict[int, OpenCall] = {}
        self._plan: OpenText | None = None
        self._plans: list[OpenText] = []
        self._texts: list[OpenText] = []
        self._citations: list[str] = []

    @property
    def has_failed(self) -> bool:
        """Tell whether `message-end` brought an error, which ends a stream at once (W1)."""
        return bool(self._error)

    def take(self, event: WireEvent, out: list[StreamChunk]) -> None:
        """Take an event that adds to a part, a call or the plan; this runs once for each token."""
        delta = event.delta
        message = None if delta is None else delta.message
        if message is None:
            return
        content = message.content
        if type(content) is WireContent and event.index is not None:
            part = self._parts.get(event.index)
            if part is not None and part.index >= 0 and not part.ended and not self._blocks.careful:
                text = content.text if part.kind == "text" else content.thinking
                if text:
                    part.parts.append(text)
                    out.append((TextDelta if part.kind == "text" else ReasoningDelta)(part.index, text))
                    return
        calls = message.tool_calls
        if type(calls) is WireCall and event.index is not None:
            call = self._calls.get(event.index)
            text = None if calls.function is None else calls.function.arguments
            if call is not None and call.parts and text and not call.ended and not self._blocks.careful:
                call.parts.append(text)
                out.append(ToolCallDelta(call.index, call.id, None, text))
                return
        self._take_delta(event, message, out)

    def take_rare(self, event: WireEvent, out: list[StreamChunk]) -> None:
        """Take any event of a known type."""
        message = (event.delta and event.delta.message) or WireMessage()
        self._begun |= event.type != "message-end"
        match event.type:
            case "message-start":
                self._facts.response_id = None if event.id is None else replace_surrogates(str(event.id))
            case "message-end":
                self._end(event)
            case "content-start":
                self._start_part(event.index, _one(message.content), out)
            case "content-end":
                self._end_part(event.index, out)
            case "tool-call-start":
                for call in _calls(message):
                    self._start_call(event.index, call, out)
            case "tool-call-end":
                self._end_call(event.index, out)
            case "citation-start":
                self._citations += read_citations(message.citations)
            case "content-delta" | "tool-call-delta" | "tool-plan-delta":
                self._blocks.careful = True
                self._take_delta(event, message, out)
            case _:
                pass  # citation-end

    def take_whole(self, answer: WireAnswer, message: WireMessage, out: list[StreamChunk]) -> None:
        """Translate an answer that came in one piece as if it had been streamed (S3)."""
        self._blocks.careful = self._whole = True
        self._facts.response_id = None if answer.id is None else replace_surrogates(str(answer.id))
        self._report(answer.finish_reason, answer.usage, answer.error)
        self._take_plan(message.tool_plan, out)
        content = message.content
        parts = [WireContent("text", text=content)] if isinstance(content, str) else content
        for index, part in enumerate([parts] if isinstance(parts, WireContent) else parts or ()):
            self._start_part(index, part, out)
            self._end_part(index, out)
        for index, call in enumerate(_calls(message)):
            # Calls end in `finish`, which knows whether a limit cut the last of them (C8).
            self._start_call(index, call, out)
        self._citations += read_citations(message.citations)

    def finish(self, out: list[StreamChunk]) -> None:
        """Decide the outcome (W5), close what is open, count, finish: the wire is complete."""
        failure = self._failure()
        if failure is not None:
            self.fail(failure, out)
            return
        cut = self._ending.meaning == "max-tokens"
        if not (cut or self._whole) and any(
            call.parts and not call.ended and not _is_complete(call) for call in self._calls.values()
        ):
            raise Malformed("a tool call whose arguments end in the middle, and no end of it")
        for text in self._texts:
            self._flushed(text, out)
        self._blocks.end_all(out, cut=cut)
        reason = self._ending.outcome(
            calls=bool(self._calls),
            answered=any(not text.is_blank for text in self._texts),
            stop_matched=(self._ending.word or "").lower() == "stop_sequence",
        )
        self._close(reason, None if reason.failure else self._state(), out)

    def fail(self, failure: Failure, out: list[StreamChunk]) -> None:
        """End in-band: blocks that are open stay open (C7), usage comes before it where it is known (C5)."""
        for block in self._blocks.opened:
            if not block.ended:
                self._blocks.flush(block, out)
        self._close(FinishReason("error", failure), None, out)

    # -- the parts of an answer

    def _take_delta(self, event: WireEvent, message: WireMessage, out: list[StreamChunk]) -> None:
        if event.type == "tool-plan-delta":
            self._take_plan(message.tool_plan, out)
        elif event.type == "content-delta":
            self._take_content(event.index or 0, _one(message.content), out)
        else:
            for call in _calls(message):
                self._take_fragment(event.index or 0, call, out)

    def _take_plan(self, text: str | None, out: list[StreamChunk]) -> None:
        if not text:
            return
        if self._plan is None:
            self._plan = OpenText("reasoning")
            self._plans.append(self._plan)
            self._texts.append(self._plan)
        self._blocks.add(self._plan, text, out)

    def _flushed(self, block: OpenText, out: list[StreamChunk]) -> OpenText:
        """Return a block in which no half of a character waits for the other (S5)."""
        self._blocks.flush(block, out)
        return block

    def _end_plan(self, out: list[StreamChunk]) -> None:
        plan, self._plan = self._plan, None
        if plan is not None:
            self._blocks.end(self._flushed(plan, out), out)

    def _start_part(self, index: int | None, content: WireContent, out: list[StreamChunk]) -> None:
        self._end_plan(out)
        index = len(self._parts) if index is None else index
        known = self._parts.get(index)
        if known is not None and not known.ended:
            raise Malformed(f"part {index} of the content twice")
        kind = content.type or ("thinking" if content.thinking else "text")
        if kind not in _KINDS:
            self._facts.notes.append(f"a part of the kind {replace_surrogates(kind)[:40]!r} is left out")
            self._parts[index] = None
            return
        part = self._parts[index] = OpenText("text" if kind == "text" else "reasoning")
        self._texts.append(part)
        self._blocks.add(part, _text_of(part, content), out)

    def _take_content(self, index: int, content: WireContent, out: list[StreamChunk]) -> None:
        if index not in self._parts:
            if not (content.text or content.thinking):
                return
            # A delta says by itself what it is of.
            self._start_part(index, WireContent("thinking" if content.thinking else "text"), out)
        part = self._parts[index]
        if part is None:
            return
        if (content.text and part.kind != "text") or (content.thinking and part.kind == "text"):
            raise Malformed(f"a delta of another kind in part {index} of the content")
        text = _text_of(part, content)
        if part.ended and text:
            raise Malformed(f"a delta for part {index} of the content, which has ended")
        self._blocks.add(part, text, out)

    def _end_part(self, index: int | None, out: list[StreamChunk]) -> None:
        part = self._parts.get(len(self._parts) - 1 if index is None else index)
        # The end of a part that never began, or ended before, has nothing to close.
        if part is None or part.ended:
            return
        if self._flushed(part, out).index >= 0:
            self._blocks.end(part, out)
        part.ended = True

    def _start_call(self, index: int | None, call: WireCall, out: list[StreamChunk]) -> None:
        self._end_plan(out)
        index = len(self._calls) if index is None else index
        if index in self._calls:
            raise Malformed(f"the tool call {index} twice")
        function = call.function or _NO_FUNCTION
        if not function.name:
            raise Malformed("a tool call without a name")
        native = "" if call.id is None else replace_surrogates(str(call.id))
        made = OpenCall(self._blocks.ids.take(native, len(self._calls)), replace_surrogates(function.name))
        self._calls[index] = made
        self._blocks.open_call(made, out)
        self._blocks.add_arguments(made, function.arguments or "", out)

    def _take_fragment(self, index: int, fragment: WireCall, out: list[StreamChunk]) -> None:
        text = (fragment.function or _NO_FUNCTION).arguments or ""
        call = self._calls.get(index)
        if call is None:
            raise Malformed(f"a fragment of the tool call {index}, which never began")
        if call.ended and text:
            raise Malformed(f"a fragment of the tool call {index}, which has ended")
        self._blocks.add_arguments(call, text, out)

    def _end_call(self, index: int | None, out: list[StreamChunk]) -> None:
        call = self._calls.get(len(self._calls) - 1 if index is None else index)
        if call is not None and not call.ended:
            self._blocks.end(call, out)

    # -- the end

    def _end(self, event: WireEvent) -> None:
        delta = event.delta
        if delta is not None:
            self._report(delta.finish_reason, delta.usage, delta.error)
        if self._ending.word is None and not self._error:
            raise Malformed("message-end without a finish reason")
        self.is_finished = True

    def _report(self, word: str | None, usage: WireUsage | None, error: object) -> None:
        if word:
            self._ending.add(word)
            self._facts.provider_reason = self._ending.word
        self._error = error or self._error
        if usage is not None:
            self._usage.add(_counts(usage, self._facts.notes), finished=True)

    def _failure(self) -> Failure | None:
        """Return the failure that finish word and error tell: the word's own, in the words of the error (W1)."""
        told = None
        if self._error:
            payload = dumps({"error": self._error})
            begun = self._begun or self._blocks.opened
            told = classify_event(payload, rules=self._errors, phase="mid-stream" if begun else "first-event")
        if not self._ending.is_failure:
            return told
        failure = self._ending.failure(None if told is None else told.message)
        if failure is None or told is None:
            return failure
        if failure.code == codes.SERVER:
            return replace(told, provider_code=told.provider_code or self._ending.word)
        return replace(failure, message=told.message, phase=told.phase)

    def _close(self, reason: FinishReason, state: JsonObject | None, out: list[StreamChunk]) -> None:
        usage = self._usage.total()
        if usage is not None:
            out.append(UsageChunk(usage))
        out.append(Finish(reason, state))

    def _state(self) -> JsonObject | None:
        """Return what a replay needs beside the blocks (R5, N4)."""
        state = StateWriter(WIRE, REPLAY_VERSION)
        for plan in self._plans:
            state.at(plan.index, {"plan": True})
        if self._citations:
            state.field("citations", self._citations)
        return state.state(len(self._blocks.opened))


def _one(content: WireContent | list[WireContent] | str | None) -> WireContent:
    if isinstance(content, str):
        return WireContent("text", text=content)
    if isinstance(content, list):
        return content[0] if content else _NO_CONTENT
    return content or _NO_CONTENT


def _calls(message: WireMessage) -> list[WireCall]:
    calls = message.tool_calls
    return [calls] if isinstance(calls, WireCall) else calls or []


def _text_of(part: OpenText, content: WireContent) -> str:
    return (content.text if part.kind == "text" else content.thinking) or ""


def _is_complete(call: OpenCall) -> bool:
    return is_object("".join(call.parts))


def _counts(usage: WireUsage, notes: list[str]) -> PromptCounts:
    """Return the model's counts, those that are billed where there are none; cached tokens are part of the input."""
    tokens, billed = usage.tokens or _NO_TOKENS, usage.billed_units or _NO_TOKENS
    return PromptCounts(
        first_count(tokens.input_tokens, billed.input_tokens, notes=notes),
        first_count(tokens.output_tokens, billed.output_tokens, notes=notes),
        None,
        first_count(usage.cached_tokens, notes=notes),
        None,
        first_count(tokens.reasoning_tokens, notes=notes),
    )
