"""Mock provider as a process, for `limen mock`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from limen.testing.server._choice import Source
from limen.testing.server._provider import Listen, MockProvider
from limen.testing.wires import WireDescription

_LISTEN: Final[Mapping[str, Listen]] = {
    "http": "http",
    "refuse": "refuse",
    "tls": "tls",
    "plain-on-tls": "plain-on-tls",
}


async def serve(
    script: Source | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    faults: Sequence[str] = (),
    listen: str = "http",
    wires: Sequence[WireDescription] = (),
    ready: Callable[[MockProvider], None] | None = None,
) -> None:
    """Serve until cancelled; `ready` is called once with the running provider, whose `url` is then known.

    `wires` are served beside limen's own.

    Raises `ValueError` for an unknown scenario, fault or way to listen, `OSError` where the port cannot be had, and
    `NoCertificate`.
    """
    if listen not in _LISTEN:
        raise ValueError(f"the mock provider cannot listen as {listen!r}; it can as {', '.join(_LISTEN)}")
    served = MockProvider(script, wires=wires, host=host, port=port, faults=faults, listen=_LISTEN[listen])
    async with served as mock:
        if ready is not None:
            ready(mock)
        await asyncio.get_running_loop().create_future()
