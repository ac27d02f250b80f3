"""Log line of a finished call: route, model, outcome, attempts, times, tokens, request id; never content or a key."""

import logging
from time import perf_counter
from typing import Final

from limen.contract import Finish, GenerateOptions, scrub
from limen.runtime._interceptors import Dispatcher, Outer
from limen.runtime._outcome import call_info

_LOGGER: Final = logging.getLogger("limen")


def log_call(
    options: GenerateOptions, dispatcher: Dispatcher, outer: Outer | None, last: Finish, *, began: float
) -> None:
    """Write one line of level INFO to the logger `limen`, where somebody listens; `began` is of `perf_counter()`."""
    if not _LOGGER.isEnabledFor(logging.INFO):
        return
    info, reason = call_info(options, dispatcher), last.reason
    facts = [
        reason.kind if reason.failure is None else f"{reason.kind} {reason.failure.code}",
        "1 attempt" if info.attempts == 1 else f"{info.attempts} attempts",
        "" if info.first_event_ms is None else f"first event {info.first_event_ms:.0f} ms",
        f"{(perf_counter() - began) * 1000:.0f} ms",
        _tokens(dispatcher, outer),
        "" if info.request_id is None else f"request {info.request_id}",
    ]
    words = ", ".join(filter(None, facts))
    _LOGGER.info("%s", scrub(f"{info.provider}/{info.model}: {words}"))


def _tokens(dispatcher: Dispatcher, outer: Outer | None) -> str:
    if outer is not None:
        usage = outer.assembler.arrived().usage
    else:
        usage = None if dispatcher.attempt is None else dispatcher.attempt.grammar.usage
    if usage is None:
        return ""
    asked = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens]
    known = [count for count in asked if count is not None]
    words = [f"{sum(known)} tokens in"] if known else []
    return ", ".join([*words, *([] if usage.output_tokens is None else [f"{usage.output_tokens} out"])])
