"""Lists of models in OpenAI's shape, which hosts of several wires answer with: ids, windows, efforts (R10)."""

from typing import Final

import msgspec

from limen.contract import Effort, LlmError, Modality, ModelInfo, TooDeep, codes, loads, scrub


class _Architecture(msgspec.Struct):
    input_modalities: tuple[str, ...] | None = None


class _Reasoning(msgspec.Struct):
    supported_efforts: tuple[str, ...] | None = None
    default_effort: str | None = None


class _Meta(msgspec.Struct):
    """llama.cpp's facts of the model that it serves: `n_ctx` is the context in use (2026-11)."""

    n_ctx: int | None = None


class _Capabilities(msgspec.Struct):
    """Mistral's facts of a model: whether it takes images (https://docs.mistral.ai/api, 2026-11)."""

    vision: bool | None = None


class _Entry(msgspec.Struct):
    """One model; windows by the names that OpenRouter, Groq, Mistral, vLLM, Moonshot and llama.cpp use."""

    id: str | None = None
    name: str | None = None
    display_name: str | None = None
    description: str | None = None
    context_length: int | None = None
    context_window: int | None = None
    max_context_length: int | None = None
    max_model_len: int | None = None
    architecture: _Architecture | None = None
    reasoning: _Reasoning | None = None
    meta: object = None
    capabilities: object = None


class _Listing(msgspec.Struct):
    data: tuple[_Entry, ...]


_DECODER: Final[msgspec.json.Decoder[_Listing | tuple[_Entry, ...]]] = msgspec.json.Decoder(
    _Listing | tuple[_Entry, ...]
)


def parse_model_list(provider: str, body: bytes, *, catalog: str) -> tuple[ModelInfo, ...]:
    """Read `{"data": [{"id", …}]}`, or the bare list that Together sends; entries without an id are left out.

    Raises `INVALID_CATALOG` for anything else. A second entry of one id is left out too: aliases are entries of
    their own. `catalog` is the row's: `openrouter` and `mistral` tell efforts and modalities in ways of their own.
    """
    try:
        listing = loads(body, _DECODER)
    except (msgspec.DecodeError, TooDeep) as fault:
        raise LlmError(
            f"the model list of {provider} is not a list of models: {scrub(str(fault))}", codes.INVALID_CATALOG
        ) from None
    entries = listing.data if isinstance(listing, _Listing) else listing
    found: dict[str, ModelInfo] = {}
    for entry in entries:
        if entry.id and entry.id not in found:
            found[entry.id] = _model(provider, entry.id, entry, catalog)
    return tuple(found.values())


def _model(provider: str, model_id: str, entry: _Entry, catalog: str) -> ModelInfo:
    windows = (
        entry.context_length,
        entry.context_window,
        entry.max_context_length,
        entry.max_model_len,
        _served(entry),
    )
    efforts, default = _efforts(entry.reasoning) if catalog == "openrouter" else (None, None)
    return ModelInfo(
        provider,
        model_id,
        entry.name or entry.display_name or model_id,
        description=entry.description or None,
        input_modalities=_sees(entry) if catalog == "mistral" else _modalities(entry.architecture),
        context_window=next((window for window in windows if window is not None and window > 0), None),
        efforts=efforts,
        default_effort=default,
    )


def _served(entry: _Entry) -> int | None:
    """Return llama.cpp's window; other hosts have a `meta` of their own kind, which says nothing here."""
    try:
        return msgspec.convert(entry.meta, _Meta).n_ctx
    except msgspec.ValidationError:
        return None


def _sees(entry: _Entry) -> tuple[Modality, ...] | None:
    try:
        vision = msgspec.convert(entry.capabilities, _Capabilities).vision
    except msgspec.ValidationError:
        return None
    return None if vision is None else ("text", "image") if vision else ("text",)


def _modalities(architecture: _Architecture | None) -> tuple[Modality, ...] | None:
    if architecture is None or architecture.input_modalities is None:
        return None
    named = architecture.input_modalities
    known: tuple[Modality, ...] = ("text", "image")
    return tuple(modality for modality in known if modality in named)


def _efforts(reasoning: _Reasoning | None) -> tuple[tuple[Effort, ...] | None, str | None]:
    # Absent: no reasoning model. `supported_efforts: null`: every level is taken, so the row's list stands. "none" is
    # this vocabulary's "off" (SDK 1.3.84).
    if reasoning is None:
        return (), None
    if reasoning.supported_efforts is None:
        return None, None
    ids = tuple("off" if effort == "none" else effort for effort in reasoning.supported_efforts)
    default = "off" if reasoning.default_effort == "none" else reasoning.default_effort
    return tuple(Effort(effort, effort) for effort in ids), default if default in ids else None
