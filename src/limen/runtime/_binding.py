"""Binding of a call to its adapter: model facts, defaults and efforts (R2, R3, R4), and the replay gate (R5)."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from limen.contract import (
    AdapterCall,
    Effort,
    FrozenDict,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    Message,
    ModelInfo,
    ReplayDrop,
    RetryPolicy,
    StreamChunk,
    check_request,
    codes,
)
from limen.runtime._metadata import check_model
from limen.runtime._registry import Registry, Route

_NO_DEFAULTS: Final[Mapping[str, object]] = FrozenDict()
_FOREIGN: Final = "its route and the target route are not owned by the same adapter now"
_UNSOURCED: Final = "the message does not say which route made it"
_LEFT_OUT: Final = "; the turn holds nothing else and is left out"


class Binding(NamedTuple):
    """Call bound to one adapter generation: options with the adapter's defaults, model facts, dispatch function."""

    route: Route
    options: GenerateOptions
    model: ModelInfo
    defaults: Mapping[str, object]
    dispatch: Callable[[GenerateOptions], AsyncIterator[StreamChunk]]
    spent: bool = False

    @property
    def policy(self) -> RetryPolicy:
        """Retry policy of the route at the time of binding."""
        return self.route.policy


async def bind(route: Route, options: GenerateOptions) -> Binding:
    """Check the request, ask the route's adapter for the model, and fill in the defaults that it declares.

    The call stays with this route's adapter, whatever happens to the registry meanwhile. Raises `INVALID_OPTIONS`,
    `INVALID_MODEL_INFO`, `UNSUPPORTED_REASONING_EFFORT`, or what the adapter raises.
    """
    check_request(options)
    call = await route.adapter.prepare_call(options.provider, options.model, signal=options.signal)
    _check_call(options.provider, call)
    model, known = call.model, route.owner.checked
    if known is None or known is not model or (known.provider, known.id) != (options.provider, options.model):
        # An adapter that hands out one value for a model has it validated once.
        model = route.owner.checked = check_model(options.provider, options.model, model)
    if options.reasoning_effort is not None and model.efforts is not None:
        _check_effort(options.reasoning_effort, model, model.efforts)
    defaults = _defaults(options, model)
    if not defaults:
        return Binding(route, options, model, _NO_DEFAULTS, call.stream)
    return Binding(route, msgspec.structs.replace(options, **defaults), model, FrozenDict(defaults), call.stream)


def unchanged(prepared: Binding, options: GenerateOptions) -> Binding:
    """Return the binding of a prepared call; raises `INVALID_PREPARED_CALL` if used or given other options (R3)."""
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


def _check_effort(effort: str, model: ModelInfo, efforts: Sequence[Effort]) -> None:
    if any(effort == known.id for known in efforts):
        return
    offered = ", ".join(known.id for known in efforts) or "none"
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


class Gated(NamedTuple):
    """Options to dispatch, the replay state taken out of them, and the caller's index of each message that is left."""

    options: GenerateOptions
    dropped: tuple[ReplayDrop, ...] = ()
    positions: tuple[int, ...] | None = None

    def located(self, drop: ReplayDrop) -> ReplayDrop:
        """Return an adapter's report with the index that the message has in the caller's history."""
        index = drop.message_index
        if self.positions is None or index is None or not 0 <= index < len(self.positions):
            return drop
        return msgspec.structs.replace(drop, message_index=self.positions[index])


def gate(options: GenerateOptions, adapter: LlmAdapter, registry: Registry) -> Gated:
    """Return options with only the replay state that this adapter may see; the caller's messages are not changed (R5).

    State passes where the historical route and the target route are both owned, now, by this very instance. A turn
    that consists of foreign state alone is left out, since it would be an empty turn (N1).
    """
    for message in options.messages:
        if message.replay_state is not None:
            break
    else:
        return Gated(options)
    routes = registry.routes
    target = routes.get(options.provider)
    owns_target = target is not None and target.adapter is adapter
    kept: list[Message] = []
    positions: list[int] = []
    dropped: list[ReplayDrop] = []
    for index, message in enumerate(options.messages):
        reason = None
        if message.replay_state is not None:
            reason = _UNSOURCED
            if message.source is not None:
                made_by = routes.get(message.source.provider)
                reason = None if owns_target and made_by is not None and made_by.adapter is adapter else _FOREIGN
        if reason is not None:
            if not message.content:
                dropped.append(ReplayDrop(reason + _LEFT_OUT, index))
                continue
            dropped.append(ReplayDrop(reason, index))
            message = msgspec.structs.replace(message, replay_state=None)
        kept.append(message)
        positions.append(index)
    if not dropped:
        return Gated(options)
    return Gated(msgspec.structs.replace(options, messages=tuple(kept)), tuple(dropped), tuple(positions))
