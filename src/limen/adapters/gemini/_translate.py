"""Chunks of `gemini-generate` to limen's chunks.

Source: https://ai.google.dev/api/generate-content, read 2026-11-30. Parts come whole, in any order, and mixed; the wire
has no block events, so that there is one block of text, one of reasoning, one for each call and each image (C18). What
the blocks do not say, the order of the parts and their signatures among it, goes to the replay state.
"""

from typing import Final

import msgspec

from limen.adapters.gemini._dialects import FINISH_WORDS
from limen.adapters.gemini._partial import ArgumentsWriter
from limen.adapters.gemini._replay import Run, state_of
from limen.adapters.gemini._usage import UsageTotals
from limen.adapters.gemini._wire import Malformed, Part, WireCall, WireCandidate, WireChunk, WireFeedback, WirePart
from limen.adapters.kit import Blocks, Call, Ending, OpenText
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
    UsageChunk,
    codes,
    replace_surrogates,
    scrub,
)

# Work of the provider's own, which is an answer by itself (C12); an unknown kind may hold text that nobody reads.
_WORK: Final = frozenset({"executableCode", "codeExecutionResult", "toolCall", "toolResponse"})
# Enumerations sent as numbers (recorded: "finishReason": 1); the two APIs agree on these only.
_NUMBERS: Final = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}


class Translator:
    """One answer in flight: `take` each chunk in order, then `finish` or `fail` once.

    Raises `Malformed` for what the wire does not allow.
    """

    __slots__ = ("_answers", "_call", "_calls", "_continuation", "_facts", "_feedback", "_reasoning", "_run", "_runs",
                 "_text", "_usage", "_words", "_writer", "blocks", "ending")  # fmt: skip

    def __init__(self, facts: CallFacts, *, id_seed: IdSeed = b"") -> None:
        self.blocks = Blocks(id_seed)
        self.ending = Ending(FINISH_WORDS)
        self._facts = facts
        self._text = OpenText("text")
        self._reasoning = OpenText("reasoning")
        self._calls: list[Call] = []
        self._call: Call | None = None  # a call whose arguments are streamed
        self._writer = ArgumentsWriter()
        self._runs: list[Run] = []
        self._run: Run | None = None
        self._answers = False
        self._usage = UsageTotals()
        self._words = ""
        self._continuation: str | None = None
        self._feedback: WireFeedback | None = None

    def take_ordinary(self, chunk: WireChunk, out: list[StreamChunk]) -> bool:
        """Take a chunk that goes on with the text in flight and says nothing else; return false for any other."""
        run, candidates = self._run, chunk.candidates
        if run is None or not candidates or len(candidates) != 1 or chunk.feedback is not None:
            return False
        candidate = candidates[0]
        if candidate is None or candidate.index or candidate.finish or candidate.content is None:
            return False
        parts = candidate.content.parts
        part = parts[0] if parts and len(parts) == 1 else None
        if part is None or not part.text or part.signature or part.call is not None or self.blocks.careful:
            return False
        block = self._reasoning if part.thought else self._text
        if run.block is not block:
            return False
        block.parts.append(part.text)
        out.append((ReasoningDelta if part.thought else TextDelta)(block.index, part.text))
        if chunk.usage is not None:
            self._usage.add(chunk.usage)
        return True

    def take(self, chunk: WireChunk, out: list[StreamChunk]) -> None:
        """Take a chunk whose parts are text."""
        for candidate in chunk.candidates or ():
            if candidate is None or candidate.index:
                continue
            content = candidate.content
            if content is not None and content.parts:
                for part in content.parts:
                    if part is not None:
                        self._take_text(part, out)
            if candidate.finish:
                self._end_word(candidate)
        self._beside(chunk)

    def take_parts(self, chunk: WireChunk, parts: list[Part], out: list[StreamChunk]) -> None:
        """Take a chunk with other parts than text."""
        for part in parts:
            self._take_part(part, out)
        for candidate in chunk.candidates or ():
            if candidate is not None and candidate.finish and not candidate.index:
                self._end_word(candidate)
        self._beside(chunk)

    @property
    def is_blocked(self) -> bool:
        """Tell whether the prompt was refused, after which nothing comes."""
        return self._feedback is not None

    def count(self, chunk: WireChunk) -> None:
        """Take the counts of a chunk that tells of an error."""
        if chunk.usage is not None:
            self._usage.add(chunk.usage)

    # -- parts

    def _take_text(self, part: WirePart, out: list[StreamChunk]) -> None:
        block = self._reasoning if part.thought else self._text
        self._add_text(block, part.text or "", part.signature or "", out)

    def _add_text(self, block: OpenText, text: str, signature: str, out: list[StreamChunk]) -> None:
        run = self._run
        if signature:
            self._leave(out)
            if not text:
                thought = {"thought": True} if block is self._reasoning else {}
                signed = {**thought, "text": "", "thoughtSignature": replace_surrogates(signature)}
                self._runs.append(Run(None, msgspec.json.encode(signed).decode()))
                return
            run = None
        if not text:
            return
        if run is None or run.block is not block:
            self._leave(out)
            run = Run(block)
        if self._run is not run:
            self._run = run
            self._runs.append(run)
        self.blocks.add(block, text, out)
        if signature:
            run.signature = replace_surrogates(signature)
            self._leave(out)

    def _leave(self, out: list[StreamChunk]) -> None:
        """End the run of text in flight: what follows is a part of another kind, or signed."""
        run = self._run
        if run is not None and isinstance(run.block, OpenText):
            # Text does not go on behind another part where it ended (S5).
            self.blocks.flush(run.block, out)
            run.end = len(run.block.parts)
        self._run = None

    def _take_part(self, part: Part, out: list[StreamChunk]) -> None:
        if part.call is not None:
            self._take_call(part, part.call, out)
        elif part.kind == "text":
            self._add_text(self._text, part.text, part.signature, out)
        elif part.kind == "reasoning":
            self._add_text(self._reasoning, part.text, part.signature, out)
        elif part.image is not None:
            self._leave(out)
            self.blocks.show(part.image, out)
            self._sign(Run(self.blocks.opened[-1]), part.signature)
            self._answers = True
        else:
            self._leave(out)
            self._runs.append(Run(None, part.raw))
            self._answers |= part.kind in _WORK

    def _sign(self, run: Run, signature: str) -> None:
        run.signature = replace_surrogates(signature)
        self._runs.append(run)

    def _take_call(self, part: Part, wire: WireCall, out: list[StreamChunk]) -> None:
        if not wire.name:
            self._go_on(part, wire, out)
            return
        self._close_call(out)
        self._leave(out)
        call = Call(len(self._calls))
        call.name = replace_surrogates(wire.name)
        call.native = "" if wire.id is None else replace_surrogates(str(wire.id))
        call.id = self.blocks.ids.take(call.native, call.ordinal)
        self._calls.append(call)
        streamed = bool(wire.goes_on or wire.pieces)
        # A call without pieces is whole: a limit later on has not cut it (C17).
        self.blocks.add_arguments(call, part.arguments or ("" if streamed else "{}"), out)
        self.blocks.open_call(call, out)
        self._sign(Run(call), part.signature)
        if streamed:
            self._call, self._writer = call, ArgumentsWriter()
            self._go_on(part, wire, out)

    def _go_on(self, part: Part, wire: WireCall, out: list[StreamChunk]) -> None:
        """Take a piece of a call's arguments, or its end, which is a call without a name that does not go on."""
        call = self._call
        if call is None:
            if wire.pieces or part.arguments:
                raise Malformed("arguments of a tool call that has no name")
            return
        for piece in wire.pieces or ():
            self.blocks.add_arguments(call, self._writer.add(piece), out)
        if not wire.goes_on:
            self._close_call(out)

    def _close_call(self, out: list[StreamChunk]) -> None:
        call, self._call = self._call, None
        if call is not None:
            self.blocks.add_arguments(call, self._writer.close(), out)

    # -- beside the parts

    def _end_word(self, candidate: WireCandidate) -> None:
        word = candidate.finish
        told = _NUMBERS.get(word, str(word)) if isinstance(word, int) else word or ""
        if self.ending.add(told):
            self._words = candidate.message or ""
            self._facts.provider_reason = self.ending.word
        self._continuation = candidate.continuation or self._continuation

    def _beside(self, chunk: WireChunk) -> None:
        if chunk.usage is not None:
            self._usage.add(chunk.usage)
        feedback = chunk.feedback
        if feedback is not None and (feedback.reason or feedback.message):
            self._feedback = feedback

    # -- the end

    def flush(self, out: list[StreamChunk]) -> None:
        """Let out what was held back, where the stream ends early (S4)."""
        self._leave(out)

    def finish(self, out: list[StreamChunk]) -> None:
        """Decide the outcome (W5), close what is open, count, finish: the wire is complete."""
        self._leave(out)
        failure = self._blocked() or self.ending.failure(self._filtered())
        if failure is not None:
            self.fail(failure, out)
            return
        cut = self.ending.meaning == "max-tokens"
        if not cut:
            self._close_call(out)
        self.blocks.end_all(out, cut=cut)
        reason = self.ending.outcome(
            calls=bool(self._calls),
            answered=self._answers or not self._text.is_blank or not self._reasoning.is_blank,
            stop_matched=False,
        )
        state = None
        if reason.failure is None:
            state = state_of(self._runs, self.blocks.opened, cut=cut, continuation=self._continuation)
        self._end(reason, state, out)

    def fail(self, failure: Failure, out: list[StreamChunk]) -> None:
        """End in-band: blocks that are open stay open (C7), usage comes before it where it is known (C5)."""
        self._leave(out)
        if failure.code == codes.SERVER and self._words and failure.provider_code == self.ending.word:
            failure = msgspec.structs.replace(failure, message=f"{failure.message}: {scrub(self._words)}")
        self._end(FinishReason("error", failure), None, out)

    def _end(self, reason: FinishReason, state: JsonObject | None, out: list[StreamChunk]) -> None:
        usage = self._usage.total(self._facts.notes)
        if usage is not None:
            out.append(UsageChunk(usage))
        out.append(Finish(reason, state))

    def _filtered(self) -> str | None:
        return scrub(replace_surrogates(self._words)) or None

    def _blocked(self) -> Failure | None:
        feedback = self._feedback
        if feedback is None:
            return None
        reason = scrub(replace_surrogates(feedback.reason or "promptFeedback"))
        words = scrub(replace_surrogates(feedback.message or "")) or "the provider refused the prompt by its filter"
        return Failure(f"{words} ({reason})", codes.CONTENT_FILTER, phase="mid-stream", provider_code=reason)
