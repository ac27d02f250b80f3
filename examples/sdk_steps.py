"""Steps of an SDK's client behind limen's boundary, for the two adapters beside this file.

Each step may be aborted, and what it raises becomes a failure by the exception's class, its status and its body.

The official `openai` and `anthropic` clients have the same exceptions; `sdk` is the module of either.
"""

import asyncio
from collections.abc import Awaitable
from types import ModuleType

from limen.adapters.kit.errors import classify_answer, classify_event
from limen.contract import AbortSignal, Failure, LlmError, encode


class ToldInBand(Exception):
    """A failure that the provider told of inside its stream: the stream ends with it (E1)."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


async def step(sdk: ModuleType, signal: AbortSignal | None, work: Awaitable[object], phase: str) -> object:
    """Await one step; an abort cancels it, and with it the SDK's request (Q6)."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    remove = signal.on_abort(lambda: loop.call_soon_threadsafe(task.cancel)) if signal else lambda: None
    try:
        return await task
    except asyncio.CancelledError:
        if signal is None or not signal.aborted:
            task.cancel()
            raise
        failure, told = Failure("the call was aborted", "ABORTED", phase=phase), False
    except LlmError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises
        failure, told = judged(sdk, error, phase)
    finally:
        remove()
    if signal is not None and signal.aborted:
        failure, told = Failure("the call was aborted", "ABORTED", phase=phase), False
    raise ToldInBand(failure) if told else LlmError.of(failure)


def judged(sdk: ModuleType, error: Exception, phase: str) -> tuple[Failure, bool]:
    """Return the failure that an exception means, and whether the provider's own stream told of it."""
    chain = [one for one in (error, error.__cause__, error.__context__) if one is not None]
    # By name and package: the clients' HTTP library is httpx or httpx2, as their version has it.
    names = {base.__name__ for one in chain for base in type(one).__mro__ if base.__module__.startswith("httpx")}

    def failed(code: str) -> tuple[Failure, bool]:
        return Failure(str(error) or type(error).__name__, code, phase=phase), False

    if isinstance(error, sdk.APITimeoutError) or "TimeoutException" in names:
        return failed("TIMEOUT")
    if "RemoteProtocolError" in names:
        return failed("TRANSPORT" if phase == "headers" else "STREAM_CLOSED")
    if isinstance(error, sdk.APIConnectionError) or "TransportError" in names:
        return failed("TRANSPORT")
    if phase == "headers" and isinstance(error, sdk.APIStatusError):
        answer = error.response
        return classify_answer(answer.status_code, dict(answer.headers), answer.content), False
    if isinstance(error, sdk.APIError):
        return classify_event(str(error).encode() if error.body is None else encode(error.body)), True
    # A bug of the SDK's, which bytes of another shape run into; else nobody knows, and nobody's word is taken for it.
    shape = (ValueError, LookupError, TypeError, AttributeError)
    return failed("MALFORMED_RESPONSE" if isinstance(error, shape) else "UNKNOWN")
