"""Acme's lines to chunks: pure, one object for one answer."""

from collections.abc import Mapping
from typing import Final

from acme_limen._request import STATE_VERSION
from acme_limen._wire import WIRE, WireCount, WireLine
from limen.adapters.kit import (
    Blocks,
    Calls,
    Ending,
    FinishMeaning,
    Fragment,
    OpenText,
    StateWriter,
    first_count,
    merged,
    with_reasoning,
)
from limen.contract import (
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    IdSeed,
    StreamChunk,
    TokenUsage,
    UsageChunk,
    codes,
    scrub,
)

WORDS: Final[Mapping[str, FinishMeaning]] = {
    "done": "stop",
    "stopword": "stop",
    "calls": "tool-calls",
    "limit": "max-tokens",
    "refused": codes.CONTENT_FILTER,
}


class Translator:
    """One answer: `take` each line in order, then `finish` or `fail` once; all append chunks to the list given."""

    def __init__(self, id_seed: IdSeed, facts: CallFacts) -> None:
        self.ending = Ending(WORDS)
        self._facts = facts
        self._blocks = Blocks(id_seed)
        self._blocks.careful = True  # `loads` lets half a surrogate pair through, and any line may hold one (S5)
        self._text, self._reasoning = OpenText("text"), OpenText("reasoning")
        self._calls = Calls(self._blocks)
        self._count: WireCount | None = None
        self._seal = self._why = ""

    def take(self, line: WireLine, out: list[StreamChunk]) -> None:
        """Take one line that tells no error; raises `ValueError` for what Acme's page does not allow."""
        self._blocks.add(self._reasoning, line.think or "", out)
        self._blocks.add(self._text, line.say or "", out)
        self._seal = line.seal or self._seal
        if line.call is not None:
            self._calls.take(Fragment(line.call, line.id or "", line.name or "", line.args or ""), out)
        self._count = merged(self._count, line.count)
        if line.end:
            self.ending.add(line.end)
            self._why = line.why or self._why

    def finish(self, out: list[StreamChunk]) -> None:
        """Decide how a complete answer ended, and on a success close its blocks (C7, C12)."""
        if self.ending.word is None:
            self.ending.add("done")  # a goodbye without a finish word is a stop
        reason = FinishReason("error", self.ending.failure(scrub(self._why)))
        if reason.failure is None:
            self._calls.open_waiting(out)
            answered = not (self._text.is_blank and self._reasoning.is_blank)
            stopped = self.ending.word == "stopword"
            reason = self.ending.outcome(calls=bool(self._calls.listed), answered=answered, stop_matched=stopped)
        if reason.failure is not None:
            self.fail(reason.failure, out)
            return
        self._blocks.end_all(out, cut=reason.kind == "max-tokens")
        state = StateWriter(WIRE, STATE_VERSION)
        if self._seal and self._reasoning.index >= 0:
            state.at(self._reasoning.index, {"seal": self._seal})
        self._tell(out)
        out.append(Finish(reason, state.state(len(self._blocks.opened))))

    def fail(self, failure: Failure, out: list[StreamChunk]) -> None:
        """End in-band: usage where it is known, then the failure; open blocks stay open (C5, C7)."""
        for block in self._blocks.opened:
            self._blocks.flush(block, out)
        self._tell(out)
        out.append(Finish(FinishReason("error", failure)))

    def _tell(self, out: list[StreamChunk]) -> None:
        self._facts.provider_reason = self.ending.word
        count = self._count
        if count is not None:
            output, reasoning = with_reasoning(first_count(count.out), first_count(count.thought))
            read, written = first_count(count.cached), first_count(count.stored)
            out.append(UsageChunk(TokenUsage(first_count(count.given), output, read, written, reasoning)))
