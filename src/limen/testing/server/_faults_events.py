"""Faults of what the wire says: the right bytes in the wrong place, wrong bytes, or bytes that never come."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from limen.testing.scripts import ERRORS, Answer, ProviderError, Send, Step
from limen.testing.server._fault import Edit, Fault, FaultContext, inserted, middle, place_of, with_steps, without

MORE_TEXT: Final = " And more."
HUGE_BYTES: Final = 1024 * 1024


def _cut(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, answer.steps[: middle(answer.steps)])


def _no_end_marker(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, without(answer.steps, "end"))


def _no_finish(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, without(answer.steps, "finish"))


def _nothing(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, ())


def _keep_alives_only(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, [Send("noise", context.wire.keep_alive())] * 3)


def _keep_alives_between(answer: Answer, context: FaultContext) -> Answer:
    alive = Send("noise", context.wire.keep_alive())
    steps: list[Step] = [alive]
    for step in answer.steps:
        steps += (step, alive)
    return with_steps(answer, steps)


def _error_event(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, [*answer.steps[: middle(answer.steps)], context.wire.error_event(ERRORS[500])])


def _error_event_then_end(answer: Answer, context: FaultContext) -> Answer:
    steps = answer.steps
    return with_steps(
        answer, [*steps[: middle(steps)], context.wire.error_event(ERRORS[500]), *steps[place_of(steps, "end") :]]
    )


def _overloaded_event(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, [*answer.steps[: middle(answer.steps)], context.wire.error_event(ERRORS[529])])


def _error_first(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, [context.wire.error_event(ERRORS[529])])


def _twice(kind: str) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        steps: list[Step] = []
        for step in answer.steps:
            steps.append(step)
            if isinstance(step, Send) and step.kind == kind:
                steps.append(step)
        return with_steps(answer, steps)

    return edit


def _usage_twice(answer: Answer, context: FaultContext) -> Answer:
    # A wire without a usage event of its own carries usage in its finish.
    kind = "usage" if place_of(answer.steps, "usage") < len(answer.steps) else "finish"
    return _twice(kind)(answer, context)


def _content_after_finish(answer: Answer, context: FaultContext) -> Answer:
    blocks = sum(1 for step in answer.steps if isinstance(step, Send) and step.kind == "open") - 1
    after = place_of(answer.steps, "finish") + 1
    return with_steps(answer, inserted(answer.steps, after, *context.wire.more_text(MORE_TEXT, blocks)))


def _content_after_end(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, [*answer.steps, *context.wire.more_text(MORE_TEXT, 0)])


def _broken(shape: str) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        return with_steps(answer, inserted(answer.steps, middle(answer.steps), context.wire.broken(shape)))

    return edit


def _huge_event(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, inserted(answer.steps, middle(answer.steps), context.wire.padded(HUGE_BYTES)))


def _whole(answer: Answer, context: FaultContext) -> Answer:
    body = context.wire.whole(context.turn, context.facts)
    return _json(answer, body)


def _whole_cut(answer: Answer, context: FaultContext) -> Answer:
    body = context.wire.whole(context.turn, context.facts)
    return _json(answer, body[: len(body) // 2])


def _json_error(answer: Answer, context: FaultContext) -> Answer:
    return _json(answer, context.wire.error_body(ERRORS[500]))


def _json_other(answer: Answer, context: FaultContext) -> Answer:
    return _json(answer, b'{"status":"queued","position":3}')


def _html(answer: Answer, context: FaultContext) -> Answer:
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
    return with_steps(answer, [Send("content", page)]).with_header("content-type", "text/html; charset=utf-8")


def _text(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, [Send("content", b"upstream connect error")]).with_header("content-type", "text/plain")


def _json(answer: Answer, body: bytes) -> Answer:
    half = len(body) // 2
    steps = [Send("content", body[:half]), Send("content", body[half:])]
    return msgspec.structs.replace(answer, steps=tuple(steps), framing="length").with_header(
        "content-type", "application/json"
    )


def failed(answer: Answer, context: FaultContext, error: ProviderError) -> Answer:
    """Return a failed answer in the wire's own form."""
    body = context.wire.error_body(error)
    changed = msgspec.structs.replace(
        answer, status=error.status, steps=(Send("content", body),), framing="length", delay_ms=0
    )
    return changed.with_header("content-type", "application/json")


_EDITS: Final[Sequence[tuple[str, str, Edit]]] = (
    ("cut", "the body ends cleanly in the middle: no finish, no end marker", _cut),
    ("no-end-marker", "the finish comes, the end marker does not", _no_end_marker),
    ("no-finish", "the end marker comes without a finish before it", _no_finish),
    ("nothing", "a 2xx answer with an empty body", _nothing),
    ("keep-alives-only", "three keep-alives, then a clean end", _keep_alives_only),
    ("keep-alives-between", "a keep-alive before and after every event", _keep_alives_between),
    ("error-event", "an error event in the middle ends the stream", _error_event),
    ("error-event-then-end", "an error event in the middle, followed by the end marker", _error_event_then_end),
    ("overloaded-event", "an overload event in the middle ends the stream", _overloaded_event),
    ("error-first", "an overload event is all there is", _error_first),
    ("end-twice", "the end marker comes twice", _twice("end")),
    ("finish-twice", "the finish comes twice", _twice("finish")),
    ("usage-twice", "the usage report comes twice", _usage_twice),
    ("content-after-finish", "more text between the finish and the end marker", _content_after_finish),
    ("content-after-end", "more text after the end marker", _content_after_end),
    ("malformed-json", "an event in the middle is JSON cut short", _broken("malformed")),
    ("wrong-shape", "an event in the middle has a field of a type that nobody documented", _broken("wrong-shape")),
    ("unknown-event", "an event in the middle has a type that nobody documented", _broken("unknown")),
    ("huge-event", "an event of 1 MiB in the middle", _huge_event),
    ("whole", "the whole answer as one JSON body, though a stream was asked for", _whole),
    ("whole-cut", "the first half of such a body, cleanly ended", _whole_cut),
    ("json-error", "status 200 with the wire's JSON error as body", _json_error),
    ("json-other", "status 200 with JSON that is of no wire", _json_other),
    ("html", "status 200 with an HTML page", _html),
    ("plain-text", "status 200 with a line of plain text", _text),
)

EVENT_FAULTS: Final[Mapping[str, Fault]] = {name: Fault(name, text, "events", edit) for name, text, edit in _EDITS}
