"""Runtime of a command that calls a model, and its end by Ctrl-C."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from limen import _compose
from limen.cli import _settings
from limen.cli._report import complain
from limen.config import Config
from limen.contract import AbortController, LlmError, codes
from limen.recording import Recorder
from limen.runtime import LlmRuntime, Retry, RetryWait

T = TypeVar("T")


@asynccontextmanager
async def opened(route: str) -> AsyncGenerator[LlmRuntime, None]:
    """Open the configured runtime for a call of one route; raises `NO_ADAPTER` where there is no such route."""
    loader = _compose.ConfigLoader(_settings.config_file(), _settings.APP)
    async with LlmRuntime(loader=loader) as llm:
        await llm.reload()
        check_route(route, [info.id for info in llm.list_providers()])
        # Whoever watches can try again; only a route that is configured to be retried is.
        if any(one.retry for one in loader.config.routes if one.name == route):
            llm.use(Retry(on_wait=_report_wait))
        asked = _settings.recording_asked()
        if asked is not None:
            llm.use(Recorder(asked.out, wires=_wires(loader.config), redact=asked.redact))
        yield llm


def _wires(config: Config) -> dict[str, tuple[str, str | None]]:
    """Return wire and dialect of each route, which the traffic itself does not tell."""
    codecs = ((route.name, _compose.codec_of(route)) for route in config.routes)
    return {name: (codec.wire, codec.dialect) for name, codec in codecs if codec is not None}


def _report_wait(wait: RetryWait) -> None:
    words = f"{wait.failure.message}; trying again in {wait.delay_ms / 1000:.1f} s (try {wait.retry + 1})"
    complain(wait.failure.code, words)


def check_route(route: str, routes: list[str]) -> None:
    """Raise `NO_ADAPTER`, in words that help, for a route that there is not."""
    if route in routes:
        return
    if routes:
        words = f"there is no route {route!r}; there are {', '.join(routes)}"
    else:
        words = (
            "there is no route: set a provider's key, such as DEEPSEEK_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY, "
            "or write a limen.toml; `limen doctor` lists every key that is looked for"
        )
    raise LlmError(words, codes.NO_ADAPTER, phase="resolve")


@contextmanager
def interrupts(controller: AbortController) -> Generator[None, None, None]:
    """Let the first Ctrl-C abort the call, so that what had arrived is kept; the second ends the command."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        controller.abort("interrupted")

    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except NotImplementedError:
        # Windows: there Ctrl-C cancels the main task, and what was shown stays shown.
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def finish(work: Coroutine[object, object, T]) -> T:
    """Run a command's coroutine to its end."""
    return asyncio.run(work)
