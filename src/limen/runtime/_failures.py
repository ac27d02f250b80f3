"""Exceptions and broken rules of adapters as failures (E2, E4, R6), and the lines of the logger `limen`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from limen.contract import (
    AbortError,
    AbortSignal,
    Failure,
    Finish,
    FinishReason,
    GenerateOptions,
    GrammarError,
    LlmError,
    Phase,
    codes,
    failure_fault,
    foreign_text,
    replace_surrogates,
    safe_cause,
    scrub,
)
from limen.runtime._cancellation import AbortWatch

T = TypeVar("T")

ENDS_THE_PROCESS: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that end more than a call and are never converted; a cancellation is the only other one (Q6)."""
ABORT_TEXT: Final = "the call was aborted"
LEFT_TEXT: Final = "the stream was left before its end"

_LOGGER: Final = logging.getLogger("limen")


def debug(message: str, *facts: object) -> None:
    """Log one line at DEBUG, without bodies, scrubbed before any handler sees it (E5)."""
    if _LOGGER.isEnabledFor(logging.DEBUG):
        _LOGGER.debug("%s", scrub(message % facts))


def warn(message: str, *facts: object) -> None:
    """Log one line at WARNING, without bodies, scrubbed before any handler sees it (E5)."""
    _LOGGER.warning("%s", scrub(message % facts))


def failure_of(error: BaseException, *, phase: Phase, aborted: bool = False) -> Failure:
    """Return the failure of what an adapter raised, without any credential in it (E5).

    An `LlmError` keeps its facts, and gets `phase` where it has none (E6); a foreign exception is `UNKNOWN`, whatever
    it claims (E4); once the caller has aborted, every failure is `ABORTED` (Q6).
    """
    typed = typed_failure(error)
    if aborted or AbortError in type(error).__mro__:
        return aborted_failure(phase if typed is None else typed.phase or phase)
    return Failure(foreign_text(error), codes.UNKNOWN, phase) if typed is None else with_phase(scrubbed(typed), phase)


def with_phase(failure: Failure, phase: Phase) -> Failure:
    """Return the failure, with this phase where it has none (E6)."""
    return failure if failure.phase is not None else msgspec.structs.replace(failure, phase=phase)


def of_call(failure: Failure, options: GenerateOptions) -> Failure:
    """Return the failure with the route and the model of its call, whatever an adapter put there (E3)."""
    provider, model = (_valid_text(name) for name in (options.provider, options.model))
    if (failure.provider, failure.model) == (provider, model):
        return failure
    return scrubbed(msgspec.structs.replace(failure, provider=provider, model=model))


def _valid_text(name: object) -> str | None:
    # A caller's mistake, such as a model that is no text, has a failure of its own and may not break this one.
    return replace_surrogates(name) if isinstance(name, str) and name else None


def aborted_failure(phase: Phase | None, text: str = ABORT_TEXT) -> Failure:
    """Return the failure of a call that was aborted, or whose stream was left."""
    return Failure(text, codes.ABORTED, phase)


def typed_failure(error: BaseException) -> Failure | None:
    """Return the failure of a real `LlmError`, or `None` for an exception that only claims to be one (E4).

    The type's bases and the instance's own data decide: a `__class__`, a property or a field that disagrees with
    what the constructor checked is not believed.
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
    except Exception:  # noqa: BLE001 - a failure that cannot be compared is none
        return None


_OWN: Final = ("failure", "code", "_failure", "__dict__", "__getattribute__")


def violation(provider: str, error: GrammarError, *, phase: Phase) -> Failure:
    """Return the failure of a broken rule of the stream protocol, naming the rule and the route (R6)."""
    return Failure(
        scrub(f"the adapter of the route {provider!r} broke a rule of the stream protocol, {error}"),
        codes.PROTOCOL_VIOLATION,
        phase,
    )


def scrubbed(failure: Failure) -> Failure:
    """Return the failure without any credential in its texts (E5)."""
    changed = {
        name: clean
        for name in ("message", "provider_code", "request_id", "provider", "model")
        if (text := getattr(failure, name)) is not None and (clean := scrub(text)) != text
    }
    return msgspec.structs.replace(failure, **changed) if changed else failure


def finish(failure: Failure) -> Finish:
    """Return the terminal chunk of a failure."""
    return Finish(FinishReason("aborted" if failure.code == codes.ABORTED else "error", failure))


async def asked(question: Callable[[], Awaitable[T]], signal: AbortSignal | None = None) -> T:
    """Await an adapter's answer to a question beside a stream, such as its list of models, and return it.

    Raises a real `LlmError` as it is, anything else as `UNKNOWN` (E4), without any credential in it or in what is
    chained to it (E5); `AbortError` with the caller's own reason when the signal is aborted.
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
    # Raised outside of the `except`, so that the foreign exception does not become its context unscrubbed (E5).
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
