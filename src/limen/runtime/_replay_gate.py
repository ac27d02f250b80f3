"""Replay state goes back only to the adapter instance that made it (R5)."""

from typing import Final, NamedTuple

import msgspec

from limen.contract import GenerateOptions, LlmAdapter, Message, ReplayDrop
from limen.runtime._registry import Registry

_FOREIGN: Final = "its route and the target route are not owned by the same adapter now"
_UNSOURCED: Final = "the message does not say which route made it"
_LEFT_OUT: Final = "; the turn holds nothing else and is left out"


class Gated(NamedTuple):
    """What may be dispatched, what was taken out, and where the kept messages stood in the caller's history."""

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
    """Return options whose replay state this adapter may see; the caller's messages stay as they are (R5).

    State passes where the historical route and the target route both belong, now, to this very instance. A turn
    that consists of foreign state alone is left out, since it would be an empty turn (N1).
    """
    if all(message.replay_state is None for message in options.messages):
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
