"""Registry, calls, guard, replay gate, retry and fallback; knows no HTTP.

`LlmRuntime` is the entry; `ModelStream` is the stream of one call; `Retry` and `Fallback` are interceptors.
"""

from limen.runtime._fallback import Fallback, FallbackStep, StepListener, Target
from limen.runtime._registry import Registration, TopologyListener
from limen.runtime._repair import repair_history
from limen.runtime._retry import Retry, RetryWait, WaitListener, unretried
from limen.runtime._runtime import LlmRuntime, Loader, PreparedCall
from limen.runtime._stream import ModelStream

__all__ = [
    "Fallback",
    "FallbackStep",
    "LlmRuntime",
    "Loader",
    "ModelStream",
    "PreparedCall",
    "Registration",
    "Retry",
    "RetryWait",
    "StepListener",
    "Target",
    "TopologyListener",
    "WaitListener",
    "repair_history",
    "unretried",
]
