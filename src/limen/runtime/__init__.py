"""Registry, calls, guard, replay gate, retry: what a harness lives on. Knows no HTTP (sections 3, 5, 9).

`LlmRuntime` is the entry; `ModelStream` is one call as its consumer has it; `Retry` and `Fallback` are interceptors.
"""

from limen.runtime._fallback import Fallback
from limen.runtime._history import repair_history
from limen.runtime._prepared import PreparedCall
from limen.runtime._registry import Registration
from limen.runtime._retry import Retry, RetryWait, WaitListener
from limen.runtime._runtime import LlmRuntime, Loader
from limen.runtime._stream import ModelStream
from limen.runtime._topology import TopologyListener

__all__ = [
    "Fallback",
    "LlmRuntime",
    "Loader",
    "ModelStream",
    "PreparedCall",
    "Registration",
    "Retry",
    "RetryWait",
    "TopologyListener",
    "WaitListener",
    "repair_history",
]
