"""Lines of Ollama's chat to chunks: pure, one object for one answer (C18, W5, W7)."""

from collections.abc import Mapping
from typing import Final

from limen.adapters.kit import Blocks, Ending, FinishMeaning, OpenCall, OpenText, first_count
from limen.adapters.ollama._parse import arguments_text, read_calls
from limen.adapters.ollama._wire import WireCall, WireLine, WireMessage
from limen.contract import (
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    IdSeed,
    StreamChunk,
    TextDelta,
    TokenUsage,
    UsageChunk,
    codes,
    replace_surrogates,
    scrub,
)

# The answers to a request without messages, which limen never sends: the model was loaded, or unloaded.
_WORDS: Final[Mapping[str, FinishMeaning]] = {"load": "stop", "unload": "stop"}


class Translator:
    """One answer: `take` each line in order, then `finish` or `fail` once; all append chunks to the list given.

    Raises `ValueError` for what the wire does not allow.
    """

    __slots__ = ("_blocks", "_calls", "_ending", "_facts", "_reasoning", "_refusal", "_text", "_usage")

    def __init__(self, facts: CallFacts, *, id_seed: IdSeed = b"") -> None:
        self._facts = facts
        self._blocks = Blocks(id_seed)
        self._text, self._reasoning = OpenText("text"), OpenText("reasoning")
        self._calls = 0
        self._ending = Ending(_WORDS)
        self._refusal = ""
        self._usage: TokenUsage | None = None

    def be_careful(self) -> None:
        """From now on text may hold half a surrogate pair (S5); until then none is looked for."""
        self._blocks.careful = True

    def take(self, line: WireLine, payload: bytes, out: list[StreamChunk]) -> None:
        """Take one line that tells no error; `payload` is the JSON that it was read from."""
        message = line.message
        if message is not None:
            text = message.content
            if (
                text
                and self._text.index >= 0
                and not (message.thinking or message.tool_calls or line.done or self._blocks.careful)
            ):
                # An ordinary piece of text; this runs once for each token.
                self._text.parts.append(text)
                out.append(TextDelta(self._text.index, text))
                return
        if line.done:
            self._finish_line(line)
        if message is not None:
            self._take_message(message, payload, out)

    def finish(self, out: list[StreamChunk]) -> None:
        """Decide how a complete answer ended, and on a success close its blocks (C7, C11, C12)."""
        if self._ending.word is None:
            # Servers before 2024-06 send none, and a server whose client went away sends "".
            self._facts.notes.append("the answer ended without a done_reason, and counts as a stop")
        else:
            self._facts.provider_reason = self._ending.word
        failure = self._ending.failure(scrub(replace_surrogates(self._refusal)) or None)
        if failure is None:
            self.flush(out)
            reason = self._ending.outcome(
                calls=self._calls > 0,
                answered=not (self._text.is_blank and self._reasoning.is_blank),
                stop_matched=False,
            )
            failure = reason.failure
            if failure is None:
                self._blocks.end_all(out)
                self._end(reason, out)
                return
        self.fail(failure, out)

    def fail(self, failure: Failure, out: list[StreamChunk]) -> None:
        """End in-band: usage where it is known, then the failure; blocks that are open stay open (C5, C7)."""
        self.flush(out)
        self._end(FinishReason("error", failure), out)

    def flush(self, out: list[StreamChunk]) -> None:
        """Let half a surrogate pair whose other half will not come become U+FFFD."""
        for block in self._blocks.opened:
            self._blocks.flush(block, out)

    def _end(self, reason: FinishReason, out: list[StreamChunk]) -> None:
        if self._usage is not None:
            out.append(UsageChunk(self._usage))
        out.append(Finish(reason))

    def _take_message(self, message: WireMessage, payload: bytes, out: list[StreamChunk]) -> None:
        """Take thinking, then text, then calls: the order in which the server makes what one line holds."""
        self._blocks.add(self._reasoning, message.thinking or "", out)
        if self._ending.meaning == codes.CONTENT_FILTER:
            # What a filter says beside its finish word is the failure's message, and no text of the model's (C12).
            self._refusal = message.content or ""
        else:
            self._blocks.add(self._text, message.content or "", out)
        if message.tool_calls:
            for call in read_calls(payload):
                self._open(call, out)

    def _open(self, call: WireCall, out: list[StreamChunk]) -> None:
        """Open a call, which comes whole; each item of a line is a call of its own, whatever its index says (Q001)."""
        name = "" if call.function is None else call.function.name or ""
        if not name:
            raise ValueError("a tool call has no name")
        native = "" if call.id is None else replace_surrogates(str(call.id))
        block = OpenCall(self._blocks.ids.take(native, self._calls), replace_surrogates(name))
        block.parts.append(arguments_text(call))
        self._calls += 1
        self._blocks.open_call(block, out)

    def _finish_line(self, line: WireLine) -> None:
        """Take the finish word and the counts, which the last line alone has."""
        if line.done_reason:
            self._ending.add(line.done_reason)
        prompt = self._count("prompt_eval_count", line.prompt_eval_count)
        output = self._count("eval_count", line.eval_count)
        if prompt is not None or output is not None:
            self._usage = TokenUsage(input_tokens=prompt, output_tokens=output)

    def _count(self, name: str, value: object) -> int | None:
        notes = self._facts.notes
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return first_count(value, notes=notes)
        if value is not None:
            notes.append(f"{name} could not be read and counts as unknown")
        return None
