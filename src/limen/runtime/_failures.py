"""Whatever an adapter did wrong, as one `Finish` (E2, E4, R6)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from limen.contract import (
    AbortError,
    AbortSignal,
    Failure,
    Finish,
    FinishReason,
    GrammarError,
    LlmError,
    Phase,
    codes,
    failure_fault,
    foreign_text,
    safe_cause,
    scrub,
)
from limen.runtime._interrupt import AbortWatch

T = TypeVar("T")

ENDS_THE_PROCESS: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What no call may keep for itself; beside them only a cancellation is left as it is (Q6)."""
ABORT_TEXT: Final = "the call was aborted"
LEFT_TEXT: Final = "the stream was left before its end"


def failure_of(error: BaseException, *, phase: Phase, aborted: bool = False) -> Failure:
    """Return the facts of what an adapter raised.

    A typed error keeps them; a foreign one is `UNKNOWN`, whatever it claims (E4); once the caller has aborted,
    every failure is `ABORTED` (Q6). Nothing of it holds a credential (E5).
    """
    typed = typed_failure(error)
    if aborted or AbortError in type(error).__mro__:
        return aborted_failure(phase if typed is None else typed.phase or phase)
    return Failure(foreign_text(error), codes.UNKNOWN, phase) if typed is None else scrubbed(typed)


def aborted_failure(phase: Phase | None, text: str = ABORT_TEXT) -> Failure:
    """Make the facts of an abort."""
    return Failure(text, codes.ABORTED, phase)


def typed_failure(error: BaseException) -> Failure | None:
    """Return the facts of a real `LlmError`, or `None` for one that only claims to be one (E4).

    Judged by the type's own bases and by the instance's own data: a `__class__`, a property or a field that
    disagrees with what the constructor checked is not believed.
    """
    kind = type(error)
    if LlmError not in kind.__mro__:
        return None
    if any(name in base.__dict__ for base in kind.__mro__[: kind.__mro__.index(LlmError)] for name in _OWN):
        return None
    facts: object = BaseException.__getattribute__(error, "__dict__").get("_failure")
    if type(facts) is not Failure:
        return None
    try:
        return facts if failure_fault(facts) is None else None
    except Exception:  # noqa: BLE001 - facts that cannot be compared are no facts
        return None


_OWN: Final = ("failure", "code", "_failure", "__dict__", "__getattribute__")


def violation(provider: str, error: GrammarError, *, phase: Phase) -> Failure:
    """Make the facts of a broken C-rule, naming the rule and whose adapter broke it (R6)."""
    return Failure(
        scrub(f"the adapter of the route {provider!r} broke a rule of the stream protocol, {error}"),
        codes.PROTOCOL_VIOLATION,
        phase,
    )


def scrubbed(failure: Failure) -> Failure:
    """Return the facts without any credential in their texts (E5)."""
    changed = {
        name: clean
        for name in ("message", "provider_code", "request_id")
        if (text := getattr(failure, name)) is not None and (clean := scrub(text)) != text
    }
    return msgspec.structs.replace(failure, **changed) if changed else failure


def finish(failure: Failure) -> Finish:
    """Make the terminal chunk of a failure."""
    return Finish(FinishReason("aborted" if failure.code == codes.ABORTED else "error", failure))


async def asked(question: Callable[[], Awaitable[T]], signal: AbortSignal | None = None) -> T:
    """Put a question to an adapter, and return its answer, or raise what that comes to.

    A real `LlmError` passes as it is, anything else becomes `UNKNOWN` (E4); nothing of it, nor of what is chained to
    it, holds a credential (E5). Raises `AbortError` with the caller's own reason when the signal is aborted.
    """
    with AbortWatch(signal):
        return await _converted(question)


async def _converted(question: Callable[[], Awaitable[T]]) -> T:
    try:
        return await question()
    except (AbortError, asyncio.CancelledError, *ENDS_THE_PROCESS):
        raise
    except BaseException as error:
        failure = _safe_error(error)
        if failure is error:
            raise
    # Out here, so that no foreign exception becomes its context unseen.
    raise failure


def _safe_error(error: BaseException) -> BaseException:
    facts = typed_failure(error)
    cause = safe_cause(error)
    if facts is None:
        failure = LlmError(foreign_text(error), codes.UNKNOWN, phase="resolve")
    elif cause is error and scrubbed(facts) is facts:
        return error
    else:
        failure = LlmError.of(scrubbed(facts))
    failure.__cause__ = cause
    return failure
