"""How a call begins: its chain, and what will collect its answer (R7)."""

from collections.abc import Sequence
from typing import Final

from limen.contract import GenerateOptions, Interceptor
from limen.runtime._chain import Dispatcher, Outer, chain
from limen.runtime._fallback import Fallback
from limen.runtime._retry import Retry
from limen.runtime._source import Source

# They pass on what an attempt's guard has kept, so nothing needs to be assembled a second time.
_TRANSPARENT: Final = frozenset({Retry, Fallback})


def begin(
    options: GenerateOptions, interceptors: Sequence[Interceptor], dispatcher: Dispatcher
) -> tuple[Source, Outer | None]:
    """Return what the call is read from, and the same once more where its chunks are assembled there."""
    iterator = chain(interceptors, dispatcher)(options)
    if isinstance(iterator, Source) and _TRANSPARENT.issuperset(map(type, interceptors)):
        return iterator, None
    outer = Outer(iterator, options.signal)
    return outer, outer
