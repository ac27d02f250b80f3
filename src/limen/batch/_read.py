"""Rows from JSON: limen's own form, or OpenAI's batch line."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from limen.batch._fields import is_object, near, refuse_unknown, shape_of, wrong
from limen.batch._openai_body import options_of_body
from limen.batch._row import Row, RowId, RowInput
from limen.contract import (
    Failure,
    GenerateOptions,
    LlmError,
    TooDeep,
    codes,
    decode_options,
    encode,
    json_fault,
    loads,
    split_target,
)

_JSON: Final = msgspec.json.Decoder(object)
_OWN: Final = frozenset({"id", "options"})
_OPENAI: Final = frozenset({"custom_id", "method", "url", "body"})
_URL: Final = "/v1/chat/completions"


def read_row(given: RowInput, line: int, model: str | None = None) -> Row:
    """Return the row of one line; what cannot be read is a row with its failure, and raises nothing (B1).

    `model` is `ROUTE/MODEL` and wins over a row's own.
    """
    if isinstance(given, Row):
        return given if given.options is None or model is None else replace(given, options=_aimed(given.options, model))
    if isinstance(given, GenerateOptions):
        return Row(line, given if model is None else _aimed(given, model))
    name: RowId | None = None
    try:
        fields = _fields(given)
        name = _name(fields)
        return Row(line, _options(fields, model), name)
    except LlmError as fault:
        return Row(line, id=name, failure=fault.failure)


def broken_row(line: int, words: str) -> Row:
    """Return the row of a line that cannot be read at all."""
    return Row(line, failure=Failure(words, codes.INVALID_OPTIONS, "resolve"))


def _aimed(options: GenerateOptions, model: str) -> GenerateOptions:
    provider, name = split_target(model)
    return replace(options, provider=provider, model=name)


def _fields(given: Mapping[str, object] | str | bytes) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        fault = json_fault(given, "row")
        if fault is not None:
            raise wrong("row", fault)
        return given
    try:
        found = loads(given, _JSON)
    except (msgspec.DecodeError, TooDeep, UnicodeDecodeError) as fault:
        raise wrong("row", f"this is not JSON: {fault}") from None
    if not is_object(found):
        raise wrong("row", 'an object is expected: {"id": …, "options": {…}}')
    return found


def _name(fields: Mapping[str, object]) -> RowId | None:
    key = "custom_id" if "custom_id" in fields else "id"
    name = fields.get(key)
    if name is None or (isinstance(name, str | int) and not isinstance(name, bool)):
        return name
    raise wrong(key, f"a text or a whole number is expected, not {name!r}")


def _options(fields: Mapping[str, object], model: str | None) -> GenerateOptions:
    known = _OPENAI if "body" in fields else _OWN
    for name in fields:
        if name not in known:
            raise wrong(name, f"there is no such field in a row{near(name, _OWN | _OPENAI)}")
    if "body" in fields:
        for name, only in (("method", "POST"), ("url", _URL)):
            if fields.get(name, only) != only:
                raise wrong(name, f"a batch asks {only} alone, not {fields[name]!r}")
        return options_of_body(fields["body"], model)
    if "options" not in fields:
        raise wrong("options", 'it is missing; a row is {"id": …, "options": {…}} or {"custom_id": …, "body": {…}}')
    return _own(fields["options"], model)


def _own(value: object, model: str | None) -> GenerateOptions:
    if not is_object(value):
        raise wrong("options", "an object is expected")
    given = dict(value)
    if model is not None:
        given["provider"], given["model"] = split_target(model)
    for name in ("provider", "model"):
        if name not in given:
            raise wrong(f"options.{name}", "it is missing; write it, or give the batch a model (-m ROUTE/MODEL)")
    # A signal and limits of time are no part of a request's JSON form.
    for name in ("signal", "timeouts"):
        if name in given:
            raise wrong(f"options.{name}", "it has no JSON form; limits of time stand in the route's configuration")
    refuse_unknown(given, shape_of(GenerateOptions), "options")
    try:
        return decode_options(encode(given))
    except LlmError as fault:
        raise wrong("options", fault.failure.message) from None
