"""HTTP over aiohttp."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from limen.contract import AbortSignal, Limits, Timeouts
from limen.transport._options import TransportOptions


class HttpRequest(NamedTuple):
    """One request, complete with its credentials; the repr shows none of them."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {len(self.headers)} headers, {len(self.body)} bytes)"


class HttpAnswer:
    """An answer whose head has arrived; its body is read by `read`.

    Dropping it without `close` or `release` shuts the socket down and gives a `ResourceWarning` (R11).
    """

    status: int
    headers: Mapping[str, str]
    silence: float | None

    async def read(self) -> bytes:
        """Return the bytes that arrived, at least one; `b""` is the clean end of the body.

        Every byte that arrived is handed over before the failure is raised as `LlmError` (S4).
        """
        raise NotImplementedError

    def event_arrived(self) -> None:
        """Say that a model event was among the bytes: the idle limit begins anew (T1)."""
        raise NotImplementedError

    async def error_body(self) -> bytes:
        """Read what there is of an error's body, up to the limit, and close; never raises for a broken body."""
        raise NotImplementedError

    async def release(self) -> None:
        """Give the connection back if the body ends within 50 ms, else close it; does not wait for that (S6)."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connection at once. Idempotent."""
        raise NotImplementedError


class Transport:
    """Connections of one adapter; they belong to the process and the running loop (T2)."""

    def __init__(self, options: TransportOptions | None, timeouts: Timeouts, limits: Limits) -> None:
        raise NotImplementedError

    async def open(self, request: HttpRequest, *, signal: AbortSignal | None) -> HttpAnswer:
        """Send a request and wait for the answer's head; raises `LlmError` with its phase."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close every connection of the running loop. Idempotent."""
        raise NotImplementedError
