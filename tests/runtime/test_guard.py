"""R6: the guard stands behind every adapter; the first broken rule ends the stream, and the message names it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    AbortController,
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    ImageBlock,
    LlmAdapter,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    codes,
)
from runtime._adapters import (
    ANSWER,
    CALL,
    OPEN,
    USAGE,
    Batched,
    Gate,
    Scripted,
    Step,
    asking,
    call_failure,
    chunks_of,
    failed,
    outcome_of,
    serving,
)

START, HEL = OPEN
END = BlockEnd(0, TextBlock("Hel"))
CALL_START = BlockStart(0, "tool-call")
DONE = Finish(STOP)

VIOLATIONS: list[tuple[str, tuple[StreamChunk, ...]]] = [
    ("C1", (START, END)),
    ("C1", (START, ReasoningDelta(0, "x"))),
    ("C1", ("hello",)),  # type: ignore[list-item]  # what an adapter may yield is anything
    ("C2", (BlockStart(1, "text"),)),
    ("C2", (HEL,)),
    ("C3", (START, HEL, END, HEL)),
    ("C4", (START, HEL, BlockEnd(0, TextBlock("Hello")))),
    ("C5", (START, HEL, END, USAGE, USAGE)),
    ("C5", (USAGE, START)),
    ("C6", (START, HEL, END)),
    ("C6", (*OPEN, END, DONE, HEL)),
    ("C6", (Finish(FinishReason("error")),)),
    ("C7", (START, HEL, DONE)),
    ("C10", (CALL_START, ToolCallDelta(0, "", "add", "{}"))),
    ("C11", (START, HEL, END, Finish(TOOL_CALLS))),
    ("C13", (START, TextDelta(0, ""))),
]


def batches_of(chunks: tuple[StreamChunk, ...]) -> list[LlmAdapter]:
    """The same chunks in one batch, and each in a batch of its own."""
    return [Batched(chunks), Batched(*([chunk] for chunk in chunks))]


@pytest.mark.parametrize(("rule", "chunks"), VIOLATIONS)
@pytest.mark.parametrize("way", ["one by one", "one batch", "many batches"])
async def test_a_broken_rule_ends_the_stream(rule: str, chunks: tuple[StreamChunk, ...], way: str) -> None:
    """R6: what came before the violation stands, then one finish says which rule whose adapter broke."""
    one, many = batches_of(chunks)
    adapter = {"one by one": Scripted(chunks), "one batch": one, "many batches": many}[way]
    stream = serving(adapter).stream(asking())

    *before, last = await chunks_of(stream)

    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    assert last.reason.failure.code == codes.PROTOCOL_VIOLATION
    assert last.reason.failure.message.startswith(
        f"the adapter of the route 'route' broke a rule of the stream protocol, {rule}: "
    )
    assert before == [chunk for chunk in chunks[: len(before)] if not isinstance(chunk, Finish)]


async def test_a_violator_is_closed_once() -> None:
    """R6: the adapter's stream is closed where it is cut off, and not read on."""
    adapter = Scripted((START, TextDelta(0, ""), HEL))
    batched = Batched((START, TextDelta(0, "")), (HEL,))

    await chunks_of(serving(adapter).stream(asking()))
    await chunks_of(serving(batched).stream(asking()))

    assert (adapter.closed, adapter.left) == (1, 1)
    assert batched.streams[0].closed == 1


class FailsToClose(LlmAdapter):
    """Breaks a rule, and then its clean-up."""

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        try:
            yield HEL
        finally:
            raise RuntimeError("cannot close")


async def test_a_violators_failing_clean_up_changes_nothing() -> None:
    """R6: the violation is the outcome, whatever closing brings."""
    assert (await outcome_of(serving(FailsToClose()).stream(asking()))).code == codes.PROTOCOL_VIOLATION


async def test_a_batch_that_is_no_list() -> None:
    """R6: what a batch source hands over is judged like everything else."""

    class OddStream:
        closed = 0

        def __aiter__(self) -> "OddStream":
            return self

        async def __anext__(self) -> StreamChunk:
            raise StopAsyncIteration

        async def next_batch(self) -> tuple[StreamChunk, ...]:
            return ANSWER

        async def aclose(self) -> None:
            OddStream.closed += 1

    class Odds(LlmAdapter):
        def stream(self, options: GenerateOptions) -> OddStream:
            return OddStream()

    failure = await outcome_of(serving(Odds()).stream(asking()))

    assert failure.message.endswith("C1: next_batch() returned a tuple, not a list of chunks")
    assert OddStream.closed == 1


@pytest.mark.parametrize(
    "chunks",
    [
        ANSWER,
        (DONE,),
        (*OPEN, failed(codes.SERVER)),
        (*OPEN, Finish(FinishReason("aborted", call_failure("enough", codes.ABORTED)))),
        (BlockStart(0, "image"), BlockEnd(0, ImageBlock(url="https://e.test/i.png")), DONE),
        (
            CALL_START,
            ToolCallDelta(0, "call_1", "add", '{"a"'),
            BlockEnd(0, ToolCallBlock("call_1", "add", '{"a"')),
            Finish(MAX_TOKENS),
        ),
        (
            START,
            BlockStart(1, "tool-call"),
            ToolCallDelta(1, "call_1", "add", '{"a":1}'),
            HEL,
            BlockEnd(1, CALL),
            END,
            Finish(TOOL_CALLS),
        ),
    ],
)
async def test_what_keeps_the_rules_passes(chunks: tuple[StreamChunk, ...]) -> None:
    """R6, C3: interleaved blocks, cut calls, failures with open blocks: all of it is the protocol."""
    assert await chunks_of(serving(Scripted(chunks)).stream(asking())) == list(chunks)
    assert await chunks_of(serving(Batched(chunks)).stream(asking())) == list(chunks)


async def test_an_adapter_that_raises_breaks_nothing() -> None:
    """R6, H83: an exception is a failure of the call, not a missing finish."""
    failure = await outcome_of(serving(Scripted((*OPEN, ValueError("broken")))).stream(asking()))

    assert failure == call_failure("broken", codes.UNKNOWN, "mid-stream")


async def test_an_adapter_that_lingers_after_its_finish_is_cut_off() -> None:
    """C6, S6: the finish is not kept waiting; an adapter that does not end after it is ended."""
    adapter = Scripted((*ANSWER, Gate()))
    async with asyncio.timeout(5):
        chunks = await chunks_of(serving(adapter).stream(asking()))

    assert chunks == list(ANSWER)
    assert adapter.closed == 1


async def test_a_failure_after_the_finish_is_none() -> None:
    """S4: what an adapter raises after its finish changes nothing."""
    assert await chunks_of(serving(Scripted((*ANSWER, RuntimeError("late")))).stream(asking())) == list(ANSWER)


async def test_cancelling_while_an_adapter_lingers_is_a_cancellation() -> None:
    """Q6: also in the moment after the finish a cancellation is not swallowed."""
    gate = Gate()
    reading = asyncio.create_task(chunks_of(serving(Scripted((*ANSWER, gate))).stream(asking())))
    await gate.reached.wait()

    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading


@pytest.mark.parametrize("facts", [{"status": 42}, {"provider_retry_after_ms": float("nan")}, {"request_id": ""}])
async def test_a_failure_that_none_can_be_is_a_violation(facts: dict[str, Any]) -> None:
    """C6, H59: an in-band failure with impossible facts is not believed."""
    failure = await outcome_of(serving(Scripted((failed(codes.SERVER, **facts),))).stream(asking()))

    assert failure.code == codes.PROTOCOL_VIOLATION


async def test_a_success_after_an_abort_stays_a_success() -> None:
    """Q6: once aborted, failures are `aborted`; an answer that was complete is complete."""
    controller = AbortController()

    async def abort() -> None:
        controller.abort()

    script: tuple[Step, ...] = (*ANSWER[:-1], abort, ANSWER[-1])
    chunks = await chunks_of(serving(Scripted(script)).stream(asking(signal=controller.signal)))

    assert chunks == list(ANSWER)


async def test_a_violation_after_an_abort_is_aborted() -> None:
    """Q6, R6: once aborted, any later failure of the call is `aborted`, a broken rule too."""
    controller = AbortController()

    async def abort() -> None:
        controller.abort()

    script: tuple[Step, ...] = (*OPEN, abort, TextDelta(7, "x"))
    failure = await outcome_of(serving(Scripted(script)).stream(asking(signal=controller.signal)))

    assert failure == call_failure("the call was aborted", codes.ABORTED, "mid-stream")


async def test_a_failure_after_an_abort_is_aborted() -> None:
    """Q6: an in-band failure that follows the abort is the abort's."""
    controller = AbortController()

    async def abort() -> None:
        controller.abort()

    script: tuple[Step, ...] = (*OPEN, abort, failed(codes.SERVER, phase="mid-stream"))
    failure = await outcome_of(serving(Scripted(script)).stream(asking(signal=controller.signal)))

    assert failure == call_failure("the call was aborted", codes.ABORTED, "mid-stream")
