"""The mock provider as a process: what `limen mock` runs."""

import asyncio
from collections.abc import Callable, Sequence

from limen.testing.server._choice import Source
from limen.testing.server._provider import MockProvider


async def serve(
    script: Source | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    faults: Sequence[str] = (),
    ready: Callable[[MockProvider], None] | None = None,
) -> None:
    """Serve until cancelled; `ready` is called once with the running provider, whose `url` is then known.

    Raises `ValueError` for an unknown scenario or fault, and `OSError` where the port cannot be had.
    """
    async with MockProvider(script, host=host, port=port, faults=faults) as mock:
        if ready is not None:
            ready(mock)
        await asyncio.get_running_loop().create_future()
