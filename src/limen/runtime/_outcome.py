"""Build the `CallInfo`, and the `Response` or `LlmError`, of a call (E2, R11)."""

from limen.contract import (
    Arrived,
    CallFacts,
    CallInfo,
    Failure,
    Finish,
    GenerateOptions,
    LlmError,
    ModelSource,
    RateLimits,
    Response,
    assemble,
    safe_cause,
    scrub,
)
from limen.runtime._attempt import Attempt
from limen.runtime._interceptors import Dispatcher, Outer


def call_info(options: GenerateOptions, dispatcher: Dispatcher) -> CallInfo:
    """Return the facts of the call so far; of several attempts, those of the last, which is the one that is shown."""
    attempt = dispatcher.attempt
    if attempt is None:
        return CallInfo(options.provider, options.model, attempts=0)
    facts = attempt.facts or CallFacts()
    response_model, response_id, request_id, provider_reason, stop_sequence = _words(
        facts.response_model, facts.response_id, facts.request_id, facts.provider_reason, facts.stop_sequence
    )
    return CallInfo(
        attempt.options.provider,
        attempt.options.model,
        response_model=response_model,
        response_id=response_id,
        request_id=request_id,
        provider_reason=provider_reason,
        stop_sequence=stop_sequence,
        attempts=dispatcher.attempts,
        first_event_ms=attempt.first_event_ms if facts.first_event_ms is None else facts.first_event_ms,
        rate_limits=facts.rate_limits if type(facts.rate_limits) is RateLimits else None,
        notes=[note for note in _words(*facts.notes) if note is not None],
    )


def _words(*given: object) -> list[str | None]:
    """Return the texts among these, without any credential that a provider may have repeated (E5)."""
    words = [word if type(word) is str else None for word in given]
    together = "\n".join(filter(None, words))
    # One scan of all of them together: a provider that repeats a key is rare.
    return words if scrub(together) == together else [word and scrub(word) for word in words]


def collect(options: GenerateOptions, dispatcher: Dispatcher, outer: Outer | None, last: Finish) -> Response | LlmError:
    """Return the whole answer of a call that ended with this finish, or the error of one that failed."""
    attempt = dispatcher.attempt
    info = call_info(options, dispatcher)
    if outer is not None:
        arrived = outer.assembler.arrived()
    else:
        arrived = Arrived({}, {}, None, None) if attempt is None else attempt.arrived()
    response = assemble(
        arrived,
        last.reason,
        source=ModelSource(info.provider, info.model),
        info=info,
        replay_dropped=() if attempt is None else attempt.replay_dropped(),
    )
    failure = last.reason.failure
    if failure is None:
        return response
    error = LlmError.of(failure, partial=response)
    error.__cause__ = None if attempt is None else _cause(attempt, failure)
    return error


def _cause(attempt: Attempt, failure: Failure) -> BaseException | None:
    if attempt.failure is not failure or attempt.cause is None:
        return None
    # The new error repeats an LlmError; only the cause of that one adds anything.
    typed = LlmError in type(attempt.cause).__mro__
    cause = attempt.cause.__cause__ if typed else attempt.cause
    return None if cause is None else safe_cause(cause)
