"""`limen stream`: one question, and its answer as it comes."""

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec

import click
from msgspec.structs import replace

from limen.cli._call_options import Asked, call_options, model_of, options_of
from limen.cli._calls import interrupts, opened
from limen.cli._options import command, json_option, quiet_option, tools_option
from limen.cli._prompt import prompt_message
from limen.cli._report import UsageProblem, complain_end
from limen.cli._routes import loaded
from limen.cli._show import JsonLines, Readable, View
from limen.contract import AbortController, Finish, GenerateOptions, Response


@command("stream", example="git diff | limen stream -m deepseek/deepseek-v4-flash 'Write a commit message.'")
@click.argument("prompt", required=False)
@call_options
@click.option("--attach", "-a", multiple=True, metavar="FILE|URL", help="An image, document or text; may be repeated.")
@tools_option
@click.option("--as", "protocol", metavar="NAME", help="The answer as events of pi, of ui (web chat), or of a wire.")
@quiet_option
@json_option
def stream(
    *,
    prompt: str | None,
    asked: Asked,
    attach: Sequence[str],
    tools: Sequence[str],
    protocol: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Ask a model, and show the answer as it comes.

    The answer is all of stdout; reasoning, tool calls, counts and failures are on stderr. What is piped in goes before
    the prompt.
    """
    controller = AbortController()
    model = model_of(asked, loaded)
    options = options_of(asked, [prompt_message(prompt, attach)], model=model)
    options = replace(options, signal=controller.signal)
    view = _view(options, protocol=protocol, quiet=quiet, as_json=as_json)
    if not tools:
        return asyncio.run(show(options, controller, view))
    if protocol is not None:
        raise UsageProblem("--as shows one answer as events; a conversation with --tools has several")
    return asyncio.run(_converse(options, controller, view, tools))


def _view(options: GenerateOptions, *, protocol: str | None, quiet: bool, as_json: bool) -> View:
    if protocol is None:
        return JsonLines() if as_json else Readable(quiet=quiet)
    if as_json:
        raise UsageProblem("--json and --as each say how the answer is written; give one of them")
    from limen.cli._as import event_writer

    return event_writer(protocol, options)


async def show(options: GenerateOptions, controller: AbortController, view: View) -> int:
    """Make one call, show its chunks, and return the exit code."""
    finish: Finish | None = None
    async with opened(options.provider) as llm, llm.stream(options) as chunks:
        with interrupts(controller):
            async for chunk in chunks:
                view.show(chunk)
                if isinstance(chunk, Finish):
                    finish = chunk
        assert finish is not None, "a stream always has a finish"
        view.end()
        if isinstance(view, Readable) and finish.reason.failure is None:
            _show_price(await chunks.response(), view)
    return complain_end(finish.reason, aborted=controller.signal.aborted)


def _show_price(response: Response, view: Readable) -> None:
    """Say what the answer cost, where the table of prices is installed and knows the model."""
    if find_spec("genai_prices") is None:
        return
    from limen.pricing import described  # the table takes a while to load, and the answer is there by now

    words = described(response)
    if words is not None:
        view.line(f"cost: {words}")


async def _converse(options: GenerateOptions, controller: AbortController, view: View, targets: Sequence[str]) -> int:
    from limen.cli._converse import registry_of, show_conversation  # only a call with tools waits for them to be loaded

    registry = registry_of(targets)
    async with opened(options.provider) as llm, registry:
        with interrupts(controller):
            return (await show_conversation(llm, options, registry, view)).code
