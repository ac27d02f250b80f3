"""Typed events of one answer to chunks (C18, W1-W10).

Pure: no I/O, no clock. What cannot be read raises `ValueError` or one of `UNREADABLE`; the reader makes that
`MALFORMED_RESPONSE`.
"""

from typing import Final

from limen.adapters._vendors import CHAT
from limen.adapters.kit import (
    DOCUMENT_STARTS,
    Blocks,
    Calls,
    Ending,
    Fragment,
    OpenBlock,
    OpenText,
    StateWriter,
    ThinkTags,
    UsageReports,
    grown,
)
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.adapters.openai_chat._mistral import References
from limen.adapters.openai_chat._parse import StateItems, TurnState, counts_of, read_image, read_messages
from limen.adapters.openai_chat._wire import (
    CALL_STATE,
    REPLAY_VERSION,
    Choice,
    Delta,
    Event,
    Function,
    Identifier,
    Part,
    ToolCall,
)
from limen.contract import (
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    IdSeed,
    JsonObject,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
    codes,
    replace_surrogates,
    scrub,
)

_CONTENT: Final = Delta.__struct_fields__
_NO_FUNCTION: Final = Function()


class Translator:
    """One answer: `take` each event in order, then `finish` or `fail` once; all append chunks to the list given."""

    def __init__(self, rules: ReadingRules, *, id_seed: IdSeed, facts: CallFacts, depth: int, wire: str = CHAT) -> None:
        self._wire = wire
        self.ending = Ending(rules.finish_words)
        self._rules = rules
        self._stop_fields = rules.stop_fields
        self._facts = facts
        self._depth = depth
        self._blocks = Blocks(id_seed)
        self._text = OpenText("text")
        self._reasoning = OpenText("reasoning")
        self._text_before = self._reasoning_before = ""  # the last cumulative texts (W10)
        self._plain = not (rules.think_tags or rules.cumulative_text)
        self._ordinary = self._plain  # a text delta is just that, once the block is open
        self._tags = ThinkTags() if rules.think_tags else None
        self._details = StateItems(cumulative=rules.cumulative_text)
        self._state = TurnState()
        self._signature = ""
        self._references = References()
        self._top_word: str | None = None
        self._calls = Calls(self._blocks)
        self._usage = UsageReports(
            increments=rules.usage_increments,
            omits_zeros=rules.usage_omits_zeros,
            cache_beside=rules.cache_beside_prompt,
            total_has_reasoning=rules.usage_total_has_reasoning,
        )
        self._refusal: list[str] = []
        self._field = ""
        self._shown = False
        self._deltas = False
        self._whole = False
        self._message: bytes | None = None

    @property
    def has_word(self) -> bool:
        """Tell whether a finish reason has come, in a choice or beside them."""
        return self.ending.word is not None or self._top_word is not None

    def be_careful(self) -> None:
        """From now on text may hold half a surrogate pair (S5); until then none is looked for."""
        self._blocks.careful = True
        self._ordinary = False

    def take(self, event: Event, payload: bytes, out: list[StreamChunk]) -> None:
        """Take one event that tells no failure; `payload` is the JSON that it was read from."""
        for choice in event.choices or ():
            # Only choice 0 becomes the response (W8).
            if choice is None or choice.index:
                continue
            delta = choice.delta
            if delta is not None:
                text = delta.content
                if (
                    text
                    and self._ordinary
                    and self._text.index >= 0
                    and type(text) is str
                    and not (delta.tool_calls or delta.reasoning_content or delta.reasoning or delta.reasoning_text)
                    and not (delta.reasoning_details or delta.refusal or delta.function_call or delta.images)
                    and not (delta.thinking_blocks or delta.extra_content or delta.provider_specific_fields)
                    and not delta.reasoning_opaque
                ):
                    self._text.parts.append(text)
                    out.append(TextDelta(self._text.index, text))
                else:
                    self._take_delta(delta, out)
            if choice.message is not None:
                self._message = payload
            if choice.finish_reason:
                self.ending.add(choice.finish_reason)
            if choice.usage is not None:
                self._usage.add(counts_of(choice.usage, self._facts.notes), finished=self.ending.word is not None)
            if self._stop_fields:
                self._take_stop(choice)
        if event.finish_reason:
            self._top_word = event.finish_reason
        if event.usage is not None or event.x_groq is not None:
            self.count(event)

    def take_whole(self, event: Event, payload: bytes, out: list[StreamChunk]) -> None:
        """Take a whole answer: its message counts, where Perplexity sends an empty delta beside it too."""
        for choice in event.choices or ():
            if choice is not None and choice.message is not None:
                choice.delta = None
        self.take(event, payload, out)

    def count(self, event: Event) -> None:
        """Take the usage of an event, and nothing else of it."""
        usage = event.usage
        if usage is None and event.x_groq is not None:
            usage = event.x_groq.usage
        if usage is not None:
            self._usage.add(counts_of(usage, self._facts.notes), finished=self.ending.word is not None)

    def finish(self, out: list[StreamChunk]) -> None:
        """Decide how a complete answer ended, and on a success close its blocks (C7, C12, W5)."""
        if self.ending.word is None and self._top_word is not None:
            # A finish reason beside the choices, where no choice ever had one.
            self.ending.add(self._top_word)
        self._take_message(out)
        self.flush(out)
        failure = self._failure() or self._outcome(out)
        if isinstance(failure, Failure):
            self.fail(failure, out)
            return
        self._blocks.end_all(out, cut=failure.kind == "max-tokens")
        self._add_usage(out)
        out.append(Finish(failure, self._replay_state()))

    def fail(self, failure: Failure, out: list[StreamChunk]) -> None:
        """End in-band: usage where it is known, then the failure; what is open stays open (C5, C7)."""
        self.flush(out)
        self._add_usage(out)
        out.append(Finish(FinishReason("error", failure)))

    def flush(self, out: list[StreamChunk]) -> None:
        """Let go of text that waits for the rest of a tag or of a character, since no more will come."""
        self._facts.provider_reason = self.ending.word
        if self._tags is not None:
            reasoning, text = self._tags.eof()
            self._blocks.add(self._reasoning, reasoning, out)
            self._blocks.add(self._text, text, out)
        if self._blocks.careful:
            waiting: list[OpenBlock] = [self._reasoning, self._text, *self._calls.listed]
            for block in waiting:
                self._blocks.flush(block, out)

    def _take_delta(self, delta: Delta, out: list[StreamChunk]) -> None:
        # A delta without anything in it is as good as none (W2): it may stand beside a message that says all.
        self._deltas = self._deltas or any(map(delta.__getattribute__, _CONTENT))
        # Reasoning first where one delta has both: it was thought before it was said.
        if delta.reasoning_content or delta.reasoning or delta.reasoning_text or delta.reasoning_details:
            self._take_reasoning(delta, out)
        content = delta.content
        if content:
            if not isinstance(content, str):
                self._take_parts(content, out)
            elif self._plain:
                self._blocks.add(self._text, content, out)
            else:
                self._take_odd_text(content, out)
        if delta.tool_calls:
            self._take_fragments(delta.tool_calls, out)
        elif delta.function_call is not None:
            self._take_fragment(ToolCall(function=delta.function_call), out)
        if delta.refusal:
            self._refusal.append(delta.refusal)
        if delta.thinking_blocks or delta.reasoning_opaque or delta.extra_content or delta.provider_specific_fields:
            self._state.keep(delta, whole=self._whole)
        for image in delta.images or ():
            if image is not None and image.image_url is not None and image.image_url.url:
                self._shown = True
                self._blocks.show(read_image(image.image_url.url), out)

    def _take_reasoning(self, delta: Delta, out: list[StreamChunk]) -> None:
        """Each delta's reasoning comes from one source: the first of the row's that has any (W9)."""
        found = ""
        for name in self._rules.reasoning_fields:
            value: object = getattr(delta, name)
            if value is None:
                continue
            if name == "reasoning_details":
                value = self._details.add(value, whole=self._whole)
            if not isinstance(value, str):
                raise ValueError(f"{name} is neither text nor null")
            if value and not found:
                found, self._field = value, self._field or name
        if self._rules.cumulative_text and found:
            found, self._reasoning_before = grown(self._reasoning_before, found), found
        self._blocks.add(self._reasoning, found, out)

    def _take_parts(self, parts: list[Part], out: list[StreamChunk]) -> None:
        """Content as an array (Mistral): `text`, `thinking`, `refusal`; references and the like make no block (C14)."""
        for part in parts:
            if part.refusal:
                self._refusal.append(part.refusal)
            if isinstance(part.thinking, list):
                part.thinking = "".join(inner.text or "" for inner in part.thinking)
            if part.thinking:
                self._field = self._field or "content"
                self._blocks.add(self._reasoning, part.thinking, out)
            if isinstance(part.signature, str):
                self._signature = part.signature
            if part.reference_ids and self._rules.references:
                self._references.add(len(self._text.parts), part.reference_ids)
            for piece in part.summary or ():
                self._field = self._field or "summary"
                self._signature = piece.signature or self._signature
                self._blocks.add(self._reasoning, piece.text or "", out)
            self._blocks.add(self._text, part.text or "", out)

    def _take_odd_text(self, text: str, out: list[StreamChunk]) -> None:
        if self._rules.cumulative_text:
            text, self._text_before = grown(self._text_before, text), text
        if self._tags is not None:
            reasoning, text = self._tags.feed(text)
            if reasoning:
                self._field = self._field or "think"
            self._blocks.add(self._reasoning, reasoning, out)
        self._blocks.add(self._text, text, out)

    def _take_fragments(self, fragments: list[ToolCall | None], out: list[StreamChunk]) -> None:
        for fragment in fragments:
            if fragment is None:
                continue
            # An ordinary fragment has an index and arguments, and nothing that could make it another call's.
            call = self._calls.by_index.get(fragment.index)
            function = fragment.function
            if (
                call is not None
                and call.index >= 0
                and function is not None
                and (text := function.arguments)
                and text[0] not in DOCUMENT_STARTS
                and not (fragment.id or function.name or function.id or fragment.extra_content or self._blocks.careful)
                and not (call.waiting or fragment.provider_specific_fields)
            ):
                call.parts.append(text)
                out.append(ToolCallDelta(call.index, call.id, None, text))
            else:
                self._take_fragment(fragment, out)

    def _take_fragment(self, fragment: ToolCall, out: list[StreamChunk]) -> None:
        function, custom = fragment.function or _NO_FUNCTION, fragment.custom
        name, text = function.name or "", function.arguments or ""
        if custom is not None:
            name, text = custom.name or name, custom.input or text
        identifier = _id_text(fragment.id) or _id_text(function.id)
        call = self._calls.take(Fragment(fragment.index, identifier, name, text), out)
        if call is None:
            return
        if custom is not None:
            call.state["type"] = "custom"
        for key in CALL_STATE:
            value: object = getattr(fragment, key)
            if value is not None:
                call.state[key] = value

    def _take_stop(self, choice: Choice) -> None:
        for name in self._stop_fields:
            value: object = getattr(choice, name)
            if isinstance(value, str) and value:
                self._facts.stop_sequence = value

    def _take_message(self, out: list[StreamChunk]) -> None:
        """Read the message of a whole answer, or of a stream that brought no delta at all (W8)."""
        if self._message is None or self._deltas:
            return
        self._whole = True
        for message in read_messages(self._message, self._depth):
            # Every item of a whole list is a call of its own.
            for place, call in enumerate(message.tool_calls or ()):
                if call is not None:
                    call.index = place
            self._take_delta(message, out)

    def _failure(self) -> Failure | None:
        """Return the failure that the provider tells of: an error over a refusal over a filter."""
        refusal = "".join(self._refusal)
        text = scrub(replace_surrogates(refusal)) if refusal.strip() else None
        failure = self.ending.failure(filtered=text)
        if failure is None and text is not None:
            return Failure(text, codes.CONTENT_FILTER, phase="mid-stream")
        return failure

    def _outcome(self, out: list[StreamChunk]) -> FinishReason | Failure:
        """Open the calls that waited for no more than their id (W4), and decide how the answer ended."""
        self._calls.open_waiting(out)
        reason = self.ending.outcome(
            calls=bool(self._calls.listed),
            answered=self._shown or not (self._text.is_blank and self._reasoning.is_blank),
            stop_matched=self._facts.stop_sequence is not None,
        )
        return reason.failure or reason

    def _add_usage(self, out: list[StreamChunk]) -> None:
        usage = self._usage.total()
        if usage is not None:
            out.append(UsageChunk(usage))

    def _replay_state(self) -> JsonObject | None:
        """Return the state that a replay needs beside the blocks: the field of reasoning, and more (R5, N4)."""
        state = StateWriter(self._wire, REPLAY_VERSION)
        if self._reasoning.index >= 0:
            signature = {"signature": self._signature} if self._signature else {}
            state.at(self._reasoning.index, {"field": self._field, **signature})
        if self._text.index >= 0:
            state.at(self._text.index, self._references.entry(self._text.parts))
        for call in self._calls.listed:
            state.at(call.index, call.state)
        # The details of a call that was cut short go with it (C17): their id is the call's.
        cut = [call.native for call in self._calls.listed] if self.ending.meaning == "max-tokens" else []
        details = [item for item in self._details.state() if item.get("id") not in cut]
        if details:
            state.field("reasoning_details", details)
        turn = self._state.fields()
        if turn:
            state.field("turn", turn)
        return state.state(len(self._blocks.opened))


def _id_text(identifier: Identifier) -> str:
    """Return an id as text; a number becomes its decimal string (W4)."""
    return "" if identifier is None else replace_surrogates(str(identifier))
