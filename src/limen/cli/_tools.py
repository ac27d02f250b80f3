"""The option `--tools` of `limen stream`: names of tools that the model may call."""

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Final, ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")

_TOOLS_OPTION: Final = Annotated[
    list[str] | None,
    typer.Option("--tools", metavar="MODULE:NAME", help="A tool, a function, or a list of them; may be repeated."),
]
_ASKED: ContextVar[Sequence[str]] = ContextVar("limen_cli_tools", default=())


def with_tools_option(command: Callable[P, R]) -> Callable[P, R]:
    """Give a command the option `--tools`, read by `tools_asked`.

    Added to the signature, which is what typer reads: a function of the project has at most seven parameters.
    """
    option = inspect.Parameter("tools", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_TOOLS_OPTION)
    signature = inspect.signature(command)

    @wraps(command)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        targets = kwargs.pop("tools", None)
        token = _ASKED.set([str(target) for target in targets] if isinstance(targets, list) else [])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        try:
            return command(*args, **kwargs)
        finally:
            _ASKED.reset(token)

    vars(asked)["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), option])
    asked.__annotations__ = {**command.__annotations__, "tools": _TOOLS_OPTION}
    return asked


def tools_asked() -> Sequence[str]:
    """Return what `--tools` names in the command that runs, `module:name` each."""
    return _ASKED.get()
