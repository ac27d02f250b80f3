"""`limen completion`: script by which a shell completes the command's names and options."""

import click
from click.shell_completion import get_completion_class

from limen.cli._options import command


@command("completion", example="limen completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(*, shell: str) -> None:
    """Print the script by which a shell completes the command; put it into the shell's start file."""
    from limen.cli._app import app  # the tree of commands, which has this one

    made = get_completion_class(shell)
    assert made is not None, f"click has no completion for {shell}"
    click.echo(made(app, {}, "limen", "_LIMEN_COMPLETE").source())
