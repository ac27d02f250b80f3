"""`limen stream` and what every command that calls a model shares."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, TypeVar

import typer

from limen import _compose
from limen.cli import _settings, _tools
from limen.cli._report import INTERRUPTED, UsageProblem, complain, complain_failure
from limen.cli._show import JsonLines, Readable
from limen.config import Config
from limen.contract import AbortController, Failure, Finish, GenerateOptions, LlmError, codes, user
from limen.recording import Recorder
from limen.runtime import LlmRuntime, Retry, RetryWait

T = TypeVar("T")

Model = Annotated[str, typer.Option("--model", "-m", help="ROUTE/MODEL, or with --route the model alone.")]
Route = Annotated[str | None, typer.Option(help="The route, where the model's id has a slash of its own.")]


@_tools.with_tools_option
def stream(
    prompt: Annotated[str, typer.Argument(help="What to say; - reads it from stdin.")],
    *,
    model: Model,
    route: Route = None,
    system: Annotated[str | None, typer.Option(help="System text.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The longest answer, in tokens.")] = None,
    effort: Annotated[str | None, typer.Option(help="Reasoning effort, one of the model's own.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Each chunk as a line of JSON.")] = False,
) -> None:
    """Ask a model, and show the answer as it comes."""
    provider, name = split_model(model, route)
    controller = AbortController()
    options = GenerateOptions(
        provider=provider,
        model=name,
        messages=[user(prompt_text(prompt))],
        system=system,
        max_tokens=max_tokens,
        reasoning_effort=effort,
        signal=controller.signal,
    )
    view = JsonLines() if as_json else Readable()
    targets = _tools.tools_asked()
    asked = _converse(options, controller, view, targets) if targets else _stream(options, controller, view)
    raise typer.Exit(asyncio.run(asked))


async def _converse(
    options: GenerateOptions, controller: AbortController, view: JsonLines | Readable, targets: Sequence[str]
) -> int:
    from limen.cli import _converse as conversation  # only a call with tools waits for them to be loaded

    registry = conversation.registry_of(targets)
    async with opened(options.provider) as llm, registry:
        with interrupts(controller):
            as_json = isinstance(view, JsonLines)
            return await conversation.show_conversation(llm, options, registry, view, as_json=as_json)


async def _stream(options: GenerateOptions, controller: AbortController, view: JsonLines | Readable) -> int:
    failure: Failure | None = None
    async with opened(options.provider) as llm, llm.stream(options) as chunks:
        with interrupts(controller):
            async for chunk in chunks:
                view.show(chunk)
                if isinstance(chunk, Finish):
                    failure = chunk.reason.failure
    view.end()
    if failure is None:
        return 0
    if controller.signal.aborted:
        complain(codes.ABORTED, "interrupted; what had arrived is above")
        return INTERRUPTED
    return complain_failure(failure)


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


def split_model(model: str, route: str | None) -> tuple[str, str]:
    """Split ROUTE/MODEL at its first slash; with a route given, all of it is the model's id (Q2)."""
    provider, slash, name = (route, "/", model) if route is not None else model.partition("/")
    if not provider or not slash or not name:
        raise UsageProblem(f"a model is written ROUTE/MODEL, such as deepseek/deepseek-v4-flash; got {model!r}")
    return provider, name


def prompt_text(prompt: str) -> str:
    """Return the prompt, read from stdin for `-`."""
    if prompt == "-":
        try:
            prompt = stdin_bytes().decode()
        except UnicodeDecodeError as fault:
            raise UsageProblem(f"stdin is not UTF-8 text (byte {fault.start})") from None
    if not prompt.strip():
        raise UsageProblem("the prompt is empty")
    return prompt


def stdin_bytes() -> bytes:
    """Return what is piped in."""
    # None where a program is started without it: `limen … <&-`.
    given: object = sys.stdin
    if given is None:
        raise UsageProblem("there is no stdin to read")
    return sys.stdin.buffer.read()


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
