"""Options that several commands have, and how a command is made."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import click

from limen.cli import _settings

F = TypeVar("F", bound=Callable[..., object])


def _use_config(_context: click.Context, _option: click.Parameter, file: str | None) -> None:
    if file is not None:
        _settings.use_config(file)


def config_option(command: F) -> F:
    """Add `--config`, which stands before or behind a command's name."""
    return click.option(
        "--config",
        "-c",
        metavar="FILE",
        callback=_use_config,
        expose_value=False,
        is_eager=True,
        help="The configuration. Unless given: $LIMEN_CONFIG, ./limen.toml, the user's own file, or the environment.",
    )(command)


def command(name: str, *, example: str, passes_on: bool = False) -> Callable[[Callable[..., object]], click.Command]:
    """Make a command of a function: with `-h`, with `--config`, and with an example at the end of its help.

    `passes_on`: arguments that it does not know are taken too, for the command that it runs.
    """

    def made(function: Callable[..., object]) -> click.Command:
        context: dict[str, object] = {"help_option_names": ["-h", "--help"]}
        if passes_on:
            context |= {"allow_extra_args": True, "ignore_unknown_options": True}
        epilog = f"\b\nSuch as:\n  {example}"
        return click.command(name, context_settings=context, epilog=epilog)(config_option(function))

    return made


def with_options(
    function: Callable[..., object], options: Sequence[Callable[[Callable[..., object]], Callable[..., object]]]
) -> Callable[..., object]:
    """Add options to a command in the order of its help."""
    for option in reversed(options):
        function = option(function)
    return function


tools_option: Final = click.option(
    "--tools", multiple=True, metavar="MODULE:NAME", help="A tool, a function, or a list of them."
)
quiet_option: Final = click.option("--quiet", "-q", is_flag=True, help="Nothing on stderr but failures.")
json_option: Final = click.option("--json", "as_json", is_flag=True, help="The same as lines of JSON.")
wire_option: Final = click.option("--wire", required=True, metavar="WIRE", help="The wire, such as openai-chat.")
dialect_option: Final = click.option(
    "--dialect", metavar="ROW", help="The wire's dialect; its own default unless given."
)
route_option: Final = click.option(
    "--route", metavar="ROUTE", help="The route, where the model's id has a slash of its own."
)
