"""From options to what is dispatched: the route, its model's facts, defaults and efforts (R2, R3, R4)."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import NamedTuple

import msgspec

from limen.contract import (
    AdapterCall,
    FrozenDict,
    GenerateOptions,
    LlmError,
    ModelInfo,
    RetryPolicy,
    StreamChunk,
    check_request,
    codes,
)
from limen.runtime._metadata import check_model
from limen.runtime._registry import Registry, Route


class Binding(NamedTuple):
    """One call bound to one adapter generation: options with defaults, the model's facts, the way to dispatch."""

    route: Route
    options: GenerateOptions
    model: ModelInfo
    defaults: Mapping[str, object]
    dispatch: Callable[[GenerateOptions], AsyncIterator[StreamChunk]]
    spent: bool = False

    @property
    def policy(self) -> RetryPolicy:
        """The route's retry policy, as it was when the call was bound."""
        return self.route.policy


async def bind(registry: Registry, options: GenerateOptions) -> Binding:
    """Find the route, check the history, ask the adapter for the model, and fill in what it declares.

    The route that is found before the adapter is asked is the one that is dispatched to, whatever happens to the
    registry meanwhile. Raises `NO_ADAPTER`, `INVALID_OPTIONS`, `INVALID_MODEL_INFO`, `UNSUPPORTED_REASONING_EFFORT`,
    or what the adapter raises.
    """
    route = registry.find(options.provider)
    check_request(options)
    call = await route.adapter.prepare_call(options.provider, options.model, signal=options.signal)
    _check_call(options.provider, call)
    model = check_model(options.provider, options.model, call.model)
    _check_effort(options, model)
    defaults = _defaults(options, model)
    filled = msgspec.structs.replace(options, **defaults) if defaults else options
    return Binding(route, filled, model, FrozenDict(defaults), call.stream)


def unchanged(prepared: Binding, options: GenerateOptions) -> Binding:
    """Return the binding of a prepared call, or raise `INVALID_PREPARED_CALL` (R3)."""
    fault = None
    if prepared.spent:
        fault = "a prepared call is used once, and this one was; prepare another"
    elif options is not prepared.options and options != prepared.options:
        fault = "the options of a prepared call were changed before it was dispatched; prepare it with these"
    if fault is not None:
        raise LlmError(fault, codes.INVALID_PREPARED_CALL, phase="resolve")
    return prepared


def _check_call(provider: str, call: object) -> None:
    if not isinstance(call, AdapterCall):
        raise LlmError(
            f"prepare_call() of the route {provider!r} returned a {type(call).__name__}, not an AdapterCall",
            codes.INVALID_MODEL_INFO,
            phase="resolve",
        )


def _check_effort(options: GenerateOptions, model: ModelInfo) -> None:
    effort = options.reasoning_effort
    if effort is None or model.efforts is None or any(effort == known.id for known in model.efforts):
        return
    offered = ", ".join(known.id for known in model.efforts) or "none"
    raise LlmError(
        f"the model {model.id!r} of the route {model.provider!r} does not offer the reasoning effort {effort!r}; "
        f"it offers: {offered}",
        codes.UNSUPPORTED_REASONING_EFFORT,
        phase="resolve",
    )


def _defaults(options: GenerateOptions, model: ModelInfo) -> dict[str, object]:
    defaults: dict[str, object] = {}
    if options.max_tokens is None and model.default_max_tokens is not None:
        defaults["max_tokens"] = model.default_max_tokens
    if options.reasoning_effort is None and model.default_effort is not None:
        defaults["reasoning_effort"] = model.default_effort
    return defaults
