"""Validation of what adapters return about their routes and models (R1, R10)."""

from collections.abc import Sequence
from typing import Final, NoReturn

from limen.contract import Effort, LlmError, ModelInfo, ProviderInfo, codes

_MAX_COUNT: Final = 2**53 - 1
_MODALITIES: Final = ("text", "image")


def check_provider(provider: str, info: object) -> ProviderInfo:
    """Return an adapter's `ProviderInfo` of a route, validated, or raise `INVALID_ADAPTER`."""
    fault = None
    if type(info) is not ProviderInfo:
        fault = f"provider_info() returned a {type(info).__name__}, not a ProviderInfo"
    elif info.id != provider:
        fault = f"its provider_info() has the id {info.id!r}"
    elif not _is_text(info.name):
        fault = "its provider_info() has no name"
    if fault is None and type(info) is ProviderInfo:
        return info
    raise LlmError(f"the adapter of the route {provider!r} is not usable: {fault}", codes.INVALID_ADAPTER)


def check_model(provider: str, model: str, info: object) -> ModelInfo:
    """Return an adapter's `ModelInfo` of one exact model, validated, or raise `INVALID_MODEL_INFO` (R10)."""
    where = f"the adapter of the route {provider!r} describes the model {model!r} wrongly"
    if type(info) is not ModelInfo:
        _refuse(codes.INVALID_MODEL_INFO, where, f"it returned a {type(info).__name__}, not a ModelInfo")
    fault = _fault(provider, info) or (None if info.id == model else f"the id is {info.id!r}")
    if fault is not None:
        _refuse(codes.INVALID_MODEL_INFO, where, fault)
    return info


def check_catalog(provider: str, models: object) -> list[ModelInfo]:
    """Return an adapter's list of models, validated and copied, or raise `INVALID_CATALOG`."""
    where = f"the model list of the route {provider!r} is malformed"
    checked: list[ModelInfo] = []
    seen: set[str] = set()
    rows = _rows(models)
    if rows is None:
        _refuse(codes.INVALID_CATALOG, where, f"it is a {type(models).__name__}, not a list")
    for index, info in enumerate(rows):
        if type(info) is not ModelInfo:
            _refuse(codes.INVALID_CATALOG, where, f"entry {index} is a {type(info).__name__}, not a ModelInfo")
        fault = _fault(provider, info)
        if fault is not None:
            _refuse(codes.INVALID_CATALOG, where, f"of entry {index}, {fault}")
        if info.id in seen:
            _refuse(codes.INVALID_CATALOG, where, f"the id {info.id!r} is listed twice")
        seen.add(info.id)
        checked.append(info)
    return checked


def _rows(models: object) -> Sequence[object] | None:
    return models if isinstance(models, (list, tuple)) else None  # pyright: ignore[reportUnknownVariableType] - each entry is checked


def _refuse(code: str, where: str, fault: str) -> NoReturn:
    raise LlmError(f"{where}: {fault}", code, phase="resolve")


def _fault(provider: str, info: ModelInfo) -> str | None:
    if info.provider != provider:
        return f"the provider is {info.provider!r}"
    texts: tuple[tuple[str, object], ...] = (("id", info.id), ("name", info.name))
    for name, text in texts:
        if type(text) is not str or not text.strip():
            return f"the {name} is {text!r}"
    if info.description is not None and type(info.description) is not str:
        return f"the description is {info.description!r}"
    counts: tuple[tuple[str, object], ...] = (
        ("context_window", info.context_window),
        ("default_max_tokens", info.default_max_tokens),
    )
    for name, count in counts:
        if count is not None and (type(count) is not int or not 0 < count <= _MAX_COUNT):
            return f"{name} is {count!r}, not a whole number of tokens above 0"
    fault = None if info.input_modalities is None else _modality_fault(info.input_modalities)
    if fault is None and not (info.efforts is None and info.default_effort is None):
        return _effort_fault(info)
    return fault


def _modality_fault(modalities: Sequence[object]) -> str | None:
    if not modalities or any(modality not in _MODALITIES for modality in modalities):
        return f"input_modalities are {modalities!r}, not one or more of {_MODALITIES}"
    return "input_modalities names one twice" if len(set(modalities)) != len(modalities) else None


def _effort_fault(info: ModelInfo) -> str | None:
    default: object = info.default_effort
    if default is not None and not _is_text(default):
        return f"default_effort is {default!r}"
    if info.efforts is None:
        return None
    efforts: Sequence[object] = info.efforts
    ids: list[str] = []
    for effort in efforts:
        if type(effort) is not Effort:
            return f"an effort is a {type(effort).__name__}, not an Effort"
        if not _is_text(effort.id) or not _is_text(effort.name):
            return f"the effort {effort.id!r} has no id or no name"
        if effort.description is not None and type(effort.description) is not str:
            return f"the effort {effort.id!r} has the description {effort.description!r}"
        ids.append(effort.id)
    if len(set(ids)) != len(ids):
        return "efforts names one twice"
    return f"default_effort is {default!r}, which is none of its efforts" if default not in (None, *ids) else None


def _is_text(value: object) -> bool:
    return type(value) is str and bool(value.strip())
