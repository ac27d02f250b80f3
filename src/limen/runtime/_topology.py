"""Who is told when routes come and go (R8)."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Final, TypeAlias

from limen.contract import foreign_text
from limen.runtime._failures import ENDS_THE_PROCESS
from limen.runtime._log import debug

TopologyListener: TypeAlias = Callable[..., object]
"""Called after each commit: with the names of the routes that now stand, or, if it takes nothing, with nothing."""


class Topology:
    """The listeners; one that fails is contained and logged, whether it fails at once or later (R8)."""

    def __init__(self) -> None:
        self._listeners: tuple[tuple[TopologyListener, bool], ...] = ()

    def add(self, listener: TopologyListener) -> Callable[[], None]:
        """Add a listener; what is returned takes it back, and may be called twice."""
        entry = (listener, _takes_names(listener))
        self._listeners = (*self._listeners, entry)

        def remove() -> None:
            self._listeners = tuple(kept for kept in self._listeners if kept is not entry)

        return remove

    def tell(self, names: tuple[str, ...]) -> None:
        """Tell every listener, in the order in which they were added."""
        for listener, takes_names in self._listeners:
            try:
                result = listener(names) if takes_names else listener()
                if inspect.iscoroutine(result):
                    _run(result)
            except ENDS_THE_PROCESS:
                raise
            except BaseException as failure:  # noqa: BLE001 - contained by R8: a listener has no veto
                debug("a topology listener failed: %s", foreign_text(failure))


def _takes_names(listener: TopologyListener) -> bool:
    try:
        inspect.signature(listener).bind(())
    except TypeError:
        return False
    except ValueError:
        # A builtin without a signature: it is given what there is to say.
        return True
    return True


def _run(coroutine: Coroutine[object, object, object]) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        coroutine.close()
        raise
    task = loop.create_task(_contained(coroutine))
    _running.add(task)
    task.add_done_callback(_running.discard)


async def _contained(coroutine: Coroutine[object, object, object]) -> None:
    try:
        await coroutine
    except (asyncio.CancelledError, *ENDS_THE_PROCESS):
        raise
    except BaseException as failure:  # noqa: BLE001 - contained by R8
        debug("a topology listener failed later: %s", foreign_text(failure))


# A loop holds its tasks weakly; one that nobody awaits is held here until it is done.
_running: Final[set[asyncio.Task[None]]] = set()
