"""The options of a call that the command line gives: `-m`, `-s`, `-o name=value`, `--schema` and their like."""

import difflib
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import click
import msgspec

from limen.cli._options import route_option, with_options
from limen.cli._prompt import json_or_file
from limen.cli._report import UsageProblem
from limen.config import Config, command_model
from limen.contract import GenerateOptions, LlmError, Message, decode_options, encode

# What `-o` does not give: the model has an option of its own, the messages are the prompt, a signal is no text.
_ELSEWHERE: Final = ("provider", "model", "messages", "signal", "timeouts")
NAMES: Final = tuple(name for name in GenerateOptions.__struct_fields__ if name not in _ELSEWHERE)
# Fields whose value is text, so that `-o reasoning_effort=1` means the text.
_TEXTS: Final = ("system", "reasoning_effort", "cache", "session_id", "purpose")
_SCHEMA_NAME: Final = "answer"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a call from the command line, beside the prompt."""

    model: str | None = None
    route: str | None = None
    fields: Sequence[str] = ()
    schema: str | None = None
    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    effort: str | None = None


_OPTIONS: Final = (
    click.option(
        "--model", "-m", metavar="ROUTE/MODEL", help="The model; with --route its id alone. Unless given: $LIMEN_MODEL."
    ),
    route_option,
    click.option("--system", "-s", metavar="TEXT", help="System text."),
    click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="The longest answer, in tokens."),
    click.option("--temperature", "-t", type=float, metavar="X", help="The sampling temperature."),
    click.option("--effort", metavar="EFFORT", help="Reasoning effort, one of the model's own."),
    click.option("--schema", metavar="JSON|FILE", help="A JSON schema that the answer follows."),
    click.option(
        "--option",
        "-o",
        "fields",
        multiple=True,
        metavar="NAME=VALUE",
        help=f"Any field of the request, the value as JSON or text; may be repeated. Fields: {', '.join(NAMES)}.",
    ),
)


def call_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options of a call to a command, which takes them as one value, the keyword `asked`."""

    @functools.wraps(command)
    def with_asked(**given: object) -> object:
        own = {name: given.pop(name) for name in Asked.__struct_fields__}
        return command(asked=msgspec.convert(own, Asked), **given)

    return with_options(with_asked, _OPTIONS)


def options_of(asked: Asked, messages: Sequence[Message], *, model: str) -> GenerateOptions:
    """Return the request; an unknown name, and a value that its field does not take, is `UsageProblem`."""
    provider, name = split_model(model, asked.route)
    given: dict[str, object] = dict(_named(field) for field in asked.fields)
    beside = {
        "system": asked.system,
        "max_tokens": asked.max_tokens,
        "temperature": asked.temperature,
        "reasoning_effort": asked.effort,
        "response_format": _schema(asked.schema),
    }
    for field, value in beside.items():
        if value is None:
            continue
        if field in given:
            raise UsageProblem(f"{field} is given twice, by -o and by an option of its own")
        given[field] = value
    document: dict[str, object] = {"provider": provider, "model": name}
    document["messages"] = [msgspec.Raw(encode(message)) for message in messages]
    document |= {_camel(field): value for field, value in given.items()}
    problem: str
    try:
        return decode_options(msgspec.json.encode(document))
    except LlmError as fault:
        problem = fault.failure.message
    raise UsageProblem(problem)


def model_of(asked: Asked, config: Callable[[], Config]) -> str:
    """Return the model that is asked for: `-m`, else `LIMEN_MODEL`, else `[app] model` of the configuration."""
    named = asked.model or command_model() or config().model
    if named is None:
        raise UsageProblem(
            'there is no model: give -m ROUTE/MODEL, set LIMEN_MODEL, or write model = "ROUTE/MODEL" under [app]'
        )
    return named


def split_model(model: str, route: str | None) -> tuple[str, str]:
    """Split ROUTE/MODEL at its first slash; with a route given, all of it is the model's id (Q2)."""
    provider, slash, name = (route, "/", model) if route is not None else model.partition("/")
    if not provider or not slash or not name:
        raise UsageProblem(f"a model is written ROUTE/MODEL, such as deepseek/deepseek-v4-flash; got {model!r}")
    return provider, name


def _named(field: str) -> tuple[str, object]:
    name, equals, text = field.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}"
        raise UsageProblem(f"-o takes name=value with a field of the request; got {field!r}; {hint}")
    if name in _TEXTS:
        return name, text
    try:
        value: object = json.loads(text)
    except ValueError:
        value = text
    return name, [value] if name == "stop" and isinstance(value, str) else value


def _schema(source: str | None) -> Mapping[str, object] | None:
    if source is None:
        return None
    raw = json_or_file(source)
    problem: str
    try:
        schema = msgspec.json.decode(raw, type=dict[str, object])
    except msgspec.DecodeError as fault:
        problem = f"--schema is a JSON schema, or a file with one: {fault}"
    else:
        return {"type": "json-schema", "name": _SCHEMA_NAME, "schema": schema}
    raise UsageProblem(problem)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
