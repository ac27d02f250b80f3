"""Checks as values, and the table of all of them."""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from limen.testing.conformance._bench import Bench

Run = Callable[[Bench], Awaitable[None]]


class Check(NamedTuple):
    """One promise: its rule in the contract, a name that stays, and a sentence that is true where it is kept.

    `run` raises `Broken` or `NotApplicable`. `basic` checks are what a new adapter must pass first.
    """

    rule: str
    name: str
    promise: str
    basic: bool
    run: Run


CHECKS: Final[dict[str, Check]] = {}


def check(rule: str, name: str, promise: str, *, basic: bool = False) -> Callable[[Run], Run]:
    """Put a function into the table of checks."""

    def register(run: Run) -> Run:
        if name in CHECKS:
            raise ValueError(f"two checks are named {name!r}")
        CHECKS[name] = Check(rule, name, promise, basic, run)
        return run

    return register
