"""Bytes of Ollama's answers to typed values: lines, the calls in them, lists of models (C8, C15, S5)."""

from typing import Final, TypeVar

import msgspec

from limen.adapters.kit import (
    UNREADABLE,
    mended,
    read_lenient,
    readable_words,
    tolerant,
    without_blanks,
    without_lone_halves,
)
from limen.adapters.ollama._wire import WireCall, WireCalls, WireLine, WireModel, WireModelName, WireModels, WireShown
from limen.contract import LlmError, Modality, ModelInfo, codes, loads, replace_surrogates

T = TypeVar("T")

LINE: Final = msgspec.json.Decoder(WireLine)

_CALLS: Final = msgspec.json.Decoder(WireCalls)
_NAME: Final = msgspec.json.Decoder(WireModelName)
_STRING: Final = msgspec.json.Decoder(str)
_MODELS: Final = msgspec.json.Decoder(WireModels)
_SHOWN: Final = msgspec.json.Decoder(WireShown)

# The text that a failure quotes of a list that cannot be read.
_QUOTED_BYTES: Final = 1024


def reread(payload: bytes, depth: int) -> WireLine:
    """Read a line that the fast decoder refused, or that may be nested too deep; raises one of `UNREADABLE` (S5)."""
    return read_lenient(payload, LINE, depth=depth)


def read_model(payload: bytes) -> str | None:
    """Return the model that a line names; one that cannot be read is unknown, and costs nothing else."""
    found = tolerant(payload, _NAME)
    return None if found is None else replace_surrogates(found.model or "") or None


def read_calls(payload: bytes) -> list[WireCall]:
    """Read the calls of a line that could be read, each with the bytes of its arguments.

    Raises `msgspec.DecodeError` for calls of a shape that nobody documented.
    """
    try:
        line = _CALLS.decode(payload)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        line = _CALLS.decode(without_lone_halves(mended(payload)))
    calls = None if line.message is None else line.message.tool_calls
    return [call for call in calls or () if call is not None]


def arguments_text(call: WireCall) -> str:
    """Return a call's arguments: the bytes of its object without white space outside strings, `{}` for none (C8).

    Some gateways send a string in place of the object; it stands as it came. Raises `ValueError` for anything else.
    """
    data = b"" if call.function is None else bytes(call.function.arguments)
    text = without_blanks(data).decode("utf-8", "replace")
    if text in ("", "null", "[]"):
        return "{}"
    if text.startswith('"'):
        text = _STRING.decode(data)
        return text if text.strip() else "{}"
    if not text.startswith("{"):
        raise ValueError(f"the arguments of a tool call are no object: {readable_words(data)}")
    return text


def parse_models(provider: str, body: bytes) -> tuple[ModelInfo, ...]:
    """Read `GET /api/tags`; models that say that they answer no chats are left out, and a name that comes twice.

    Raises `INVALID_CATALOG` for anything that is no list of models.
    """
    try:
        models = loads(body, _MODELS).models or []
    except UNREADABLE as fault:
        what = f"the model list cannot be read ({fault}): {readable_words(body[:_QUOTED_BYTES])}"
        raise LlmError(what, codes.INVALID_CATALOG) from None
    found: dict[str, ModelInfo] = {}
    for model in models:
        name = model.model or model.name
        if name and name not in found and _chats(model.capabilities):
            found[name] = _listed(provider, name, model)
    return tuple(found.values())


def parse_details(model: ModelInfo, body: bytes, *, num_ctx: int | None) -> ModelInfo | None:
    """Return a model with the facts of `POST /api/show`, `None` for one that answers no chats.

    The window is `num_ctx` where the route sets it, else that of the model's Modelfile, else the trained one. Facts
    that cannot be read stay as they were.
    """
    try:
        shown = loads(body, _SHOWN)
    except UNREADABLE:
        return model
    if not _chats(shown.capabilities):
        return None
    info = shown.model_info or {}
    # The names of a model's facts begin with its architecture: `qwen3.context_length`.
    trained = _window(info.get(f"{info.get('general.architecture')}.context_length"))
    window = num_ctx or _parameter(shown.parameters) or trained or model.context_window
    changed = {} if shown.capabilities is None else _abilities(shown.capabilities)
    return msgspec.structs.replace(model, context_window=window, **changed)


def _listed(provider: str, name: str, model: WireModel) -> ModelInfo:
    window = None if model.details is None else _window(model.details.context_length)
    facts = ModelInfo(provider, name, name, context_window=window)
    return facts if model.capabilities is None else msgspec.structs.replace(facts, **_abilities(model.capabilities))


def _abilities(capabilities: list[str]) -> dict[str, object]:
    """Return the facts that a list of capabilities states: the input that is taken, and that a model does not think."""
    taken: tuple[Modality, ...] = ("text", "image") if "vision" in capabilities else ("text",)
    facts: dict[str, object] = {"input_modalities": taken}
    if "thinking" not in capabilities:
        facts["efforts"] = ()
    return facts


def _chats(capabilities: list[str] | None) -> bool:
    return capabilities is None or "completion" in capabilities


def _window(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _parameter(parameters: str | None) -> int | None:
    for line in (parameters or "").splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "num_ctx" and words[1].isdecimal() and words[1].isascii():
            return int(words[1]) or None
    return None
