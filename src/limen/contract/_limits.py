"""Limits of time (T1) and of size (S2), as data."""

import math

import msgspec


class Timeouts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Limits of time, in seconds; the consumer's own time is never counted (T1).

    `connect` covers DNS, proxy and TLS; `first_event` runs from the sent request to the first model event;
    `idle_bytes` from one read to the next; `idle_event` from one model event to the next, whatever
    keep-alives come between; `total` covers the whole call and is off by default. Raises `ValueError` unless positive
    and finite.
    """

    connect: float = 10.0
    first_event: float = 600.0
    idle_bytes: float = 120.0
    idle_event: float = 600.0
    total: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            if value is None and name == "total":
                continue
            if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type, operator] # a number
                raise ValueError(f"timeouts.{name} is a positive, finite number of seconds, got {value!r}")


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Limits of size: one event and one whole answer, an error's body, and JSON nesting (S2).

    Past them a call ends with `MALFORMED_RESPONSE`. Raises `ValueError` unless positive.
    """

    event_bytes: int = 64 * 1024 * 1024
    error_bytes: int = 64 * 1024
    depth: int = 128

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            if type(value) is not int or value <= 0:
                raise ValueError(f"limits.{name} is a positive whole number, got {value!r}")
