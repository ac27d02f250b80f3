"""A docstring's summary and the texts of its parameters."""

import inspect
from importlib import import_module
from typing import NamedTuple, Protocol


class Documented(NamedTuple):
    """A docstring read: its first paragraph, and a sentence for each parameter that it describes."""

    summary: str
    parameters: dict[str, str]


class _Parameter(Protocol):
    arg_name: str
    description: str | None


class _Docstring(Protocol):
    params: list[_Parameter]


class _Parse(Protocol):
    def __call__(self, text: str, /) -> _Docstring: ...


def documented(function: object) -> Documented:
    """Return what a function's docstring says; nothing for none.

    Parameters are read from Google, NumPy, Sphinx or Epydoc sections by `docstring_parser` where it is installed
    (`pip install limen[tools]`); without it there is the summary alone.
    """
    text = inspect.getdoc(function) or ""
    summary = " ".join(text.partition("\n\n")[0].split())
    try:
        parse: _Parse = import_module("docstring_parser").parse
    except ImportError:
        return Documented(summary, {})
    parameters = {found.arg_name: " ".join(found.description.split()) for found in _params(parse, text)}
    return Documented(summary, parameters)


def _params(parse: _Parse, text: str) -> list["_Described"]:
    try:
        params = parse(text).params
    except Exception:  # noqa: BLE001 - a docstring that follows no style describes no parameter
        return []
    return [_Described(param.arg_name, param.description) for param in params if param.description]


class _Described(NamedTuple):
    arg_name: str
    description: str
