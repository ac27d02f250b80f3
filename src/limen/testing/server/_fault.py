"""Faults as values: a named edit of one answer, and the stage at which it is made."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from limen.testing.scripts import Answer, MockWire, RequestFacts, Send, Step, Turn


class FaultContext(NamedTuple):
    """Facts of the exchange that a fault may need.

    The wire, the turn, the request's facts, the URL of the origin that redirects point to, the key that was sent.
    """

    wire: MockWire
    turn: Turn
    facts: RequestFacts
    elsewhere: str
    credential: str = ""


Edit = Callable[[Answer, FaultContext], Answer]


class Fault(NamedTuple):
    """Named edit of an answer.

    Faults of a script are applied by stage, whatever their order in the script: first what the wire says, then
    where the connection breaks, last how the bytes are cut. So any of them go together.
    """

    name: str
    summary: str
    stage: Literal["events", "connection", "bytes"]
    edit: Edit


def with_steps(answer: Answer, steps: Sequence[Step]) -> Answer:
    """Return the answer with another body."""
    return msgspec.structs.replace(answer, steps=tuple(steps))


def middle(steps: Sequence[Step]) -> int:
    """Return the place in the middle of the content: some of it has been sent, some has not."""
    content = [place for place, step in enumerate(steps) if isinstance(step, Send) and step.kind == "content"]
    if not content:
        return len(steps) // 2
    return content[max(0, len(content) // 2 - 1)] + 1


def place_of(steps: Sequence[Step], kind: str) -> int:
    """Return the place of the first step of a kind, or the end."""
    for place, step in enumerate(steps):
        if isinstance(step, Send) and step.kind == kind:
            return place
    return len(steps)


def inserted(steps: Sequence[Step], place: int, *new: Step) -> list[Step]:
    """Return the steps with others put in at a place."""
    return [*steps[:place], *new, *steps[place:]]


def without(steps: Sequence[Step], *kinds: str) -> list[Step]:
    """Return the steps without the sends of these kinds."""
    return [step for step in steps if not (isinstance(step, Send) and step.kind in kinds)]
