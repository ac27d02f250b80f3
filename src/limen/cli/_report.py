"""Failures of the command: one line on stderr with code and remedy, an exit code, never a traceback (E5)."""

import os
import re
import sys
import traceback
from collections.abc import Mapping
from typing import Final

import click

from limen.contract import Failure, FinishReason, LlmError, codes, foreign_text, scrub

FAILED: Final = 1
WRONG_USAGE: Final = 2
INTERRUPTED: Final = 130

# Wrong before anything was asked of a provider: usage or configuration.
_USAGE_CODES: Final = frozenset(
    {
        codes.INVALID_CONFIG,
        codes.INVALID_OPTIONS,
        codes.INVALID_CREDENTIAL,
        codes.MISSING_CREDENTIAL,
        codes.NO_ADAPTER,
        codes.UNSUPPORTED,
        codes.UNSUPPORTED_CONTENT,
        codes.UNSUPPORTED_REASONING_EFFORT,
    }
)
_REMEDIES: Final[Mapping[str, str]] = {
    codes.AUTH: "check the key and what it may do; `limen doctor` says where the route takes it from",
    codes.QUOTA: "the account has nothing left to spend; add credit or raise its limit at the provider",
    codes.RATE_LIMIT: "wait, then try again",
    codes.CONTEXT_WINDOW_EXCEEDED: "send less, or use a model with a larger context",
    codes.MODEL_NOT_FOUND: "`limen models` lists what the provider offers",
    codes.OVERLOADED: "the provider is busy; try again later",
    codes.TRANSPORT: "check the address, the network and the proxy; `limen doctor --online` tries each route",
    codes.TIMEOUT: "try again, or raise the route's timeouts",
    codes.STREAM_CLOSED: "the answer was cut off; try again",
    codes.MALFORMED_RESPONSE: "check that base_url is this provider's API and that dialect and wire fit it",
    codes.PROTOCOL_VIOLATION: "this is a bug of the adapter; please report it",
}
_LONGEST: Final = 1000


class UsageProblem(Exception):
    """The command was called wrongly; the message says what to do."""


def complain(code: str, message: str) -> None:
    """Write the one line: code and sentence, scrubbed, without control characters."""
    sys.stdout.flush()
    line = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", scrub(f"{code}: {message}")).strip()
    if len(line) > _LONGEST:
        line = f"{line[:_LONGEST]}…"
    print(f"limen: {line}", file=sys.stderr, flush=True)


def complain_failure(failure: Failure) -> int:
    """Write the line for a failure of a call, and return the exit code that goes with it."""
    facts = [
        f"HTTP {failure.status}" if failure.status else "",
        failure.provider_code or "",
        f"retry after {failure.provider_retry_after_ms / 1000:g} s" if failure.provider_retry_after_ms else "",
        f"request {failure.request_id}" if failure.request_id else "",
    ]
    told = ", ".join(fact for fact in facts if fact)
    remedy = _REMEDIES.get(failure.code, "")
    complain(failure.code, f"{failure.message}{f' ({told})' if told else ''}{f'; {remedy}' if remedy else ''}")
    return WRONG_USAGE if failure.code in _USAGE_CODES else FAILED


def complain_end(reason: FinishReason, *, aborted: bool) -> int:
    """Write what about an answer's end is no success, and return the exit code.

    An answer that was cut at its limit of tokens is one, and is told all the same.
    """
    failure = reason.failure
    if failure is not None and aborted:
        complain(codes.ABORTED, "interrupted; what had arrived is above")
        return INTERRUPTED
    if failure is not None:
        return complain_failure(failure)
    if reason.kind == "max-tokens":
        sys.stdout.flush()
        print("limen: the answer was cut at its limit of tokens; --max-tokens sets it", file=sys.stderr, flush=True)
    return 0


def exit_code_of(error: BaseException) -> int:
    """Report whatever ended a command, and return its exit code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        complain(codes.ABORTED, "interrupted")
        return INTERRUPTED
    if isinstance(error, LlmError):
        return complain_failure(error.failure)
    if isinstance(error, UsageProblem):
        complain(codes.INVALID_OPTIONS, str(error))
        return WRONG_USAGE
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print(error.format_message(), file=sys.stderr)
        return WRONG_USAGE
    if isinstance(error, click.ClickException):
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "limen"
        complain(codes.INVALID_OPTIONS, f"{error.format_message().rstrip('.')}; `{where} --help` lists what there is")
        return WRONG_USAGE
    if isinstance(error, OSError):
        # Python's last flush must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # A reader that has gone (`limen … | head`) needs to be told nothing.
        if not isinstance(error, BrokenPipeError):
            complain(codes.UNKNOWN, f"what the command says cannot be written: {error.strerror or foreign_text(error)}")
        return FAILED
    complain(
        codes.UNKNOWN, f"{type(error).__name__}: {foreign_text(error)} ({_place(error)}); this is a bug: report it"
    )
    return FAILED


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "no place is known"
