"""The command's tree, and its one way out."""

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from limen._version import __version__
from limen.cli import _settings
from limen.cli._options import config_option

# Each command, where it is and what it does. A command's module is imported when it is used: the libraries behind all
# of them take longer to load than most commands take to run.
COMMANDS: Final = {
    "stream": ("limen.cli._stream:stream", "Ask a model, and show the answer as it comes."),
    "chat": ("limen.cli._chat:chat", "Talk to a model in turns."),
    "batch": ("limen.cli._batch:batch", "Ask every row of a file, and go on where it was killed."),
    "routes": ("limen.cli._routes:routes", "List the configured routes."),
    "models": ("limen.cli._routes:models", "List the models that the routes know of."),
    "doctor": ("limen.cli._doctor:doctor", "Say what is missing, and what to do next."),
    "decode": ("limen.cli._offline:decode", "Read a raw answer as the adapter would."),
    "request": ("limen.cli._offline:request", "Show what would be sent; nothing is sent."),
    "classify": ("limen.cli._offline:classify", "Say what a failed answer means, as JSON."),
    "record": ("limen.cli._recorded:record", "Run a command and keep its traffic."),
    "replay": ("limen.cli._recorded:replay", "Read recorded answers again."),
    "trace": ("limen.cli._recorded:trace", "Show calls as timelines."),
    "mock": ("limen.cli._mock:mock", "Serve a mock provider until Ctrl-C."),
    "check": ("limen.cli._check:check", "Judge an adapter, rule by rule."),
    "fixture": ("limen.cli._fixture:fixture", "Play or check a fixture of the offline provider."),
    "completion": ("limen.cli._completion:completion", "Print the script by which a shell completes the command."),
}


class Commands(click.Group):
    """Group whose commands are imported when they are used; its help names them without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; `None` for a name that there is not."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found: object = getattr(import_module(module), name)
        assert isinstance(found, click.Command), f"{module}:{name} is no command"
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


@click.group(
    name="limen",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Such as: limen stream -m deepseek/deepseek-v4-flash 'What is 20 + 22?'",
)
@click.version_option(__version__, message="limen %(version)s")
@config_option
def app() -> None:
    """Talk to model providers through one contract."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code; whatever goes wrong is one line on stderr."""
    _settings.use_config(None)
    # A program may be started without them: `limen … >&-`.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the process
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as above
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end a call.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        return invoke(arguments)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the command's outermost frame: all is reported here
        from limen.cli._report import exit_code_of

        return exit_code_of(error)


def invoke(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code; raises what goes wrong."""
    returned: object = app.main(list(arguments), prog_name="limen", standalone_mode=False)
    return returned if isinstance(returned, int) else 0
