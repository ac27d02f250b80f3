"""Outcome of one call: every chunk, and the exception after the last one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final, Literal, NamedTuple

from limen.contract import (
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    LlmError,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    UsageChunk,
    encode,
)
from limen.testing.server import RecordedRequest

STEP_TIMEOUT_S: Final = 5.0
"""Seconds without any progress (a chunk, an event of the mock provider) after which a call is given up."""
CALL_TIMEOUT_S: Final = 60.0
"""Seconds after which a call is given up though chunks keep coming."""


class Broken(Exception):
    """A promise is not kept; `outcome` is the call that shows it."""

    def __init__(self, message: str, outcome: "Outcome | None" = None) -> None:
        super().__init__(message)
        self.outcome = outcome


class NotApplicable(Exception):
    """A check does not apply to this adapter or wire; the text says why."""


def require(holds: object, message: str) -> None:
    """Raise `Broken` unless it holds; for promises that no single call shows."""
    if not holds:
        raise Broken(message)


class Outcome(NamedTuple):
    """Chunks of one call, then perhaps an exception; and the requests that it made."""

    what: str
    chunks: tuple[StreamChunk, ...]
    error: BaseException | None
    requests: tuple[RecordedRequest, ...]

    @property
    def finish(self) -> Finish | None:
        """The last chunk, if it is a finish."""
        last = self.chunks[-1] if self.chunks else None
        return last if isinstance(last, Finish) else None

    @property
    def way(self) -> Literal["success", "in-band", "raised", "foreign", "unfinished"]:
        """Kind of the ending; the first three are those of E1."""
        if self.error is not None:
            return "raised" if isinstance(self.error, LlmError) else "foreign"
        if self.finish is None:
            return "unfinished"
        return "success" if self.finish.reason.failure is None else "in-band"

    @property
    def failure(self) -> Failure | None:
        """The failure's facts, raised or in-band."""
        if isinstance(self.error, LlmError):
            return self.error.failure
        return None if self.finish is None else self.finish.reason.failure

    @property
    def kind(self) -> str | None:
        """The finish's kind."""
        return None if self.finish is None else self.finish.reason.kind

    @property
    def text(self) -> str:
        """All visible text that arrived."""
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))

    @property
    def reasoning(self) -> str:
        """All reasoning that arrived."""
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, ReasoningDelta))

    @property
    def blocks(self) -> list[str]:
        """The kinds of the blocks that opened, in order."""
        return [chunk.block_type for chunk in self.chunks if isinstance(chunk, BlockStart)]

    @property
    def ended(self) -> list[int]:
        """The indexes of the blocks that ended, in order."""
        return [chunk.index for chunk in self.chunks if isinstance(chunk, BlockEnd)]

    @property
    def calls(self) -> list[ToolCallBlock]:
        """The tool calls that were closed, in the order of their indexes."""
        ends = {chunk.index: chunk.block for chunk in self.chunks if isinstance(chunk, BlockEnd)}
        return [block for _, block in sorted(ends.items()) if isinstance(block, ToolCallBlock)]

    @property
    def usage(self) -> TokenUsage | None:
        """The usage that was reported."""
        return next((chunk.usage for chunk in self.chunks if isinstance(chunk, UsageChunk)), None)

    @property
    def request(self) -> RecordedRequest:
        """The one request that was made; anything else is `Broken`."""
        self.expect(len(self.requests) == 1, f"the call made {len(self.requests)} requests, expected 1")
        return self.requests[0]

    def expect(self, holds: object, message: str) -> None:
        """Raise `Broken` with this call as the proof, unless it holds."""
        if not holds:
            raise Broken(f"{self.what}: {message}", self)

    def expect_success(self, kind: str) -> None:
        """Expect a finish of this kind."""
        self.expect(self.way == "success" and self.kind == kind, f"ended {self.ending()}, expected a finish {kind!r}")

    def expect_failure(self, code: str, *, way: str | None = None, phases: Sequence[str] = ()) -> Failure:
        """Expect a failure with this code, in this way (E1) and phase (E6)."""
        failure = self.failure
        if failure is None or failure.code != code:
            raise Broken(f"{self.what}: ended {self.ending()}, expected {code}", self)
        if way is not None:
            self.expect(self.way == way, f"{code} came {self.way}, expected {way} (E1)")
        if phases:
            self.expect(
                failure.phase in phases, f"{code} has phase {failure.phase!r}, expected {' or '.join(phases)} (E6)"
            )
        return failure

    def ending(self) -> str:
        """Outcome of the call, in words."""
        if self.error is not None and not isinstance(self.error, LlmError):
            return f"with a foreign {type(self.error).__name__}: {self.error}"
        if self.failure is not None:
            return f"{self.way} with {self.failure.code} ({self.failure.message})"
        return "without a finish" if self.finish is None else f"with a finish {self.finish.reason.kind!r}"

    def lines(self) -> list[str]:
        """The exact stream, a chunk a line as JSON, and what was raised."""
        lines = [_shown(chunk) for chunk in self.chunks]
        if isinstance(self.error, LlmError):
            lines.append(f"raised LlmError {encode(self.error.failure).decode()}")
        elif self.error is not None:
            lines.append(f"raised {type(self.error).__name__}: {self.error}")
        return lines


def _shown(chunk: object) -> str:
    try:
        return encode(chunk).decode()
    except Exception:  # noqa: BLE001 - an adapter under test may yield anything; its repr is then what can be shown
        return repr(chunk)


async def collect(what: str, stream: AsyncIterator[StreamChunk], *, pause: int = 0) -> Outcome:
    """Read a stream to its end and keep everything; `pause` turns of the loop are spent between chunks."""
    chunks: list[StreamChunk] = []
    error: BaseException | None = None
    loop = asyncio.get_running_loop()
    last = loop.time() + CALL_TIMEOUT_S
    # Each chunk begins the limit anew: on a busy machine eight calls at once took over 5 s, and none of them hung.
    limit = asyncio.timeout(STEP_TIMEOUT_S)
    try:
        async with limit:
            async for chunk in stream:
                chunks.append(chunk)
                if not limit.expired():
                    limit.reschedule(min(last, loop.time() + STEP_TIMEOUT_S))
                for _ in range(pause):
                    await asyncio.sleep(0)
    except TimeoutError as raised:
        if limit.expired():
            outcome = Outcome(what, tuple(chunks), None, ())
            longest = f"no chunk for {STEP_TIMEOUT_S:g} s, or {CALL_TIMEOUT_S:g} s in all"
            raise Broken(f"{what}: the call did not end ({longest})", outcome) from None
        error = raised
    except Exception as raised:  # noqa: BLE001 - whatever the adapter raised is what is checked
        error = raised
    # Not after a cancellation: that must close the connection by itself (Q6).
    await close(stream)
    return Outcome(what, tuple(chunks), error, ())


async def close(stream: AsyncIterator[StreamChunk]) -> None:
    """Leave a stream early, as its consumer would."""
    closing = getattr(stream, "aclose", None)
    if closing is not None:
        async with asyncio.timeout(STEP_TIMEOUT_S):
            await closing()
