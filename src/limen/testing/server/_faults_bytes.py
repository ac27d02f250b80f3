"""Faults of the connection and of how bytes are cut."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from limen.testing.scripts import Answer, BrokenFraming, HangUp, RepeatForever, Reset, Send, Stall, Step
from limen.testing.server._fault import Edit, Fault, FaultContext, inserted, middle, place_of, with_steps


def _before_head(step: Step) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        return msgspec.structs.replace(answer, before_head=(*answer.before_head, step))

    return edit


def _first(step: Step) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        return with_steps(answer, [step, *answer.steps])

    return edit


def _midway(step: Step) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        return with_steps(answer, inserted(answer.steps, middle(answer.steps), step))

    return edit


def _last(step: Step) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        return with_steps(answer, [*answer.steps, step])

    return edit


def _after_finish(step: Step) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        return with_steps(answer, inserted(answer.steps, place_of(answer.steps, "finish") + 1, step))

    return edit


def _keep_alives(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, [RepeatForever(context.wire.keep_alive()), *answer.steps])


def _keep_alives_midway(answer: Answer, context: FaultContext) -> Answer:
    step = RepeatForever(context.wire.keep_alive())
    return with_steps(answer, inserted(answer.steps, middle(answer.steps), step))


def _to_end_of_connection(answer: Answer, context: FaultContext) -> Answer:
    return msgspec.structs.replace(answer, framing="close")


def _header(name: str, value: str) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        return answer.with_header(name, value)

    return edit


def _broken_gzip(answer: Answer, context: FaultContext) -> Answer:
    steps: list[Step] = [Send("content", b"\x1f\x8b\x08\x00this is no deflate stream")]
    return with_steps(answer, steps).with_header("content-encoding", "gzip")


def _cutting(split: Callable[[bytes], Iterator[bytes]]) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        steps: list[Step] = []
        for step in answer.steps:
            if isinstance(step, Send):
                steps += (Send(step.kind, piece) for piece in split(step.data))
            else:
                steps.append(step)
        return with_steps(answer, steps)

    return edit


def _each_byte(data: bytes) -> Iterator[bytes]:
    return (data[place : place + 1] for place in range(len(data)))


def _inside_characters(data: bytes) -> Iterator[bytes]:
    start = 0
    for place in range(1, len(data)):
        # 10xxxxxx continues a character, so a cut before it is inside one.
        if data[place] & 0xC0 == 0x80:
            yield data[start:place]
            start = place
    yield data[start:]


def _crlf(data: bytes) -> Iterator[bytes]:
    yield data.replace(b"\n", b"\r\n")


def _cr(data: bytes) -> Iterator[bytes]:
    yield data.replace(b"\n", b"\r")


def _inside_crlf(data: bytes) -> Iterator[bytes]:
    first, *rest = data.split(b"\n")
    yield first + b"\r" if rest else first
    for place, line in enumerate(rest):
        yield b"\n" + line + (b"\r" if place < len(rest) - 1 else b"")


def _bom(answer: Answer, context: FaultContext) -> Answer:
    return with_steps(answer, [Send("noise", b"\xef\xbb\xbf"), *answer.steps])


_CONNECTION: Final[Sequence[tuple[str, str, Edit]]] = (
    ("reset-before-headers", "RST before the answer's head", _before_head(Reset())),
    ("close-before-headers", "FIN before the answer's head", _before_head(HangUp())),
    ("stall-before-headers", "silence before the answer's head", _before_head(Stall())),
    ("stall-before-first-event", "the head, then silence", _first(Stall())),
    ("stall-mid-stream", "half of the content, then silence", _midway(Stall())),
    ("stall-after-finish", "everything up to the finish, then silence", _after_finish(Stall())),
    ("stall-at-end", "everything with the end marker, then silence: the body does not end", _last(Stall())),
    ("keep-alives-forever", "the head, then nothing but keep-alives", _keep_alives),
    ("keep-alives-mid-stream", "half of the content, then nothing but keep-alives", _keep_alives_midway),
    ("reset-first", "the head, then RST", _first(Reset())),
    ("reset-mid-stream", "half of the content, then RST", _midway(Reset())),
    ("reset-at-end", "everything with the end marker, then RST", _last(Reset())),
    ("hang-up-mid-stream", "half of the content, then FIN inside the body's framing", _midway(HangUp())),
    ("broken-framing", "half of the content, then a chunk size that is none", _midway(BrokenFraming())),
    ("until-close", "the body has no framing but the connection's end", _to_end_of_connection),
    (
        "wrong-content-type",
        "the stream is labelled application/octet-stream",
        _header("content-type", "application/octet-stream"),
    ),
    ("broken-gzip", "content-encoding: gzip over bytes that are none", _broken_gzip),
)
_BYTES: Final[Sequence[tuple[str, str, Edit]]] = (
    ("bom", "the body begins with a byte order mark", _bom),
    ("crlf", "lines end with CR LF", _cutting(_crlf)),
    ("crlf-split", "lines end with CR LF, cut between the two", _cutting(_inside_crlf)),
    ("cr", "lines end with CR", _cutting(_cr)),
    ("utf8-split", "cuts inside every character of more than one byte", _cutting(_inside_characters)),
    ("byte-by-byte", "every byte is written by itself", _cutting(_each_byte)),
)

BYTE_FAULTS: Final[Mapping[str, Fault]] = {
    **{name: Fault(name, text, "connection", edit) for name, text, edit in _CONNECTION},
    **{name: Fault(name, text, "bytes", edit) for name, text, edit in _BYTES},
}
