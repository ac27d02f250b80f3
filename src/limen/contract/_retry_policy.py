"""Retry policy, as data; the runtime executes it (R9)."""

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import force_setattr

from limen.contract import _codes as codes
from limen.contract._codes import Code

RETRYABLE: Final = (
    codes.TRANSPORT,
    codes.TIMEOUT,
    codes.RATE_LIMIT,
    codes.OVERLOADED,
    codes.SERVER,
    codes.STREAM_CLOSED,
    codes.EMPTY_RESPONSE,
)

# The longest delay a timer can hold on every platform: 2**31 - 1 milliseconds.
MAX_DELAY_MS: Final = 2_147_483_647


class RetryPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Retry policy: `normal` retries the listed codes up to `max_retries` times, `always` every failure without end.

    Delays start at `initial_delay_ms`, double up to `max_delay_ms`, and vary by `jitter` (0.1 is ± 10 %). A delay that
    the provider asks for takes their place up to `max_provider_delay_ms`; above it `normal` gives up and `always`
    waits its own delay. Raises `ValueError` on values that no policy can have. Its JSON form is in snake case, as in
    `limen.toml`.
    """

    mode: Literal["normal", "always"] = "normal"
    max_retries: int = 5
    initial_delay_ms: float = 500
    max_delay_ms: float = 10_000
    jitter: float = 0.1
    codes: Sequence[Code] = RETRYABLE
    max_provider_delay_ms: float = 60_000

    def __post_init__(self) -> None:
        force_setattr(self, "codes", tuple(self.codes))
        if self.mode not in ("normal", "always"):
            raise ValueError(f"mode is 'normal' or 'always', got {self.mode!r}")
        if type(self.max_retries) is not int or not 0 <= self.max_retries < 2**53:
            raise ValueError(f"max_retries is a whole number from 0, got {self.max_retries!r}")
        for name, value in (
            ("initial_delay_ms", self.initial_delay_ms),
            ("max_delay_ms", self.max_delay_ms),
            ("max_provider_delay_ms", self.max_provider_delay_ms),
        ):
            if not _is_number(value) or not 0 < value <= MAX_DELAY_MS:
                raise ValueError(f"{name} is a number of milliseconds above 0 and up to {MAX_DELAY_MS}, got {value!r}")
        if self.initial_delay_ms > self.max_delay_ms:
            raise ValueError("initial_delay_ms is above max_delay_ms")
        if not _is_number(self.jitter) or not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter is a number from 0 to 1, got {self.jitter!r}")
        if self.mode == "normal":
            _check_codes(self.codes)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type] # `type()` has shown that it is a number


def _check_codes(names: Sequence[object]) -> None:
    if not names or any(not isinstance(name, str) or not name.strip() for name in names):
        raise ValueError("codes lists at least one failure code, none of them blank")
    if len(set(names)) != len(names):
        raise ValueError("codes names a code twice")
