"""Stream chunks, which every adapter yields and every consumer reads.

The union is closed: consumers `match` on it and end in `assert_never`. Which chunk may follow which is decided
in `_grammar.py`.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec.structs import force_setattr

from limen.contract._blocks import BlockType, StreamBlock
from limen.contract._finish import FinishReason
from limen.contract._json import freeze_object
from limen.contract._usage import TokenUsage


class BlockStart(msgspec.Struct, frozen=True, tag="block-start", rename="camel", gc=False):
    """Opening of a content block; indexes are 0, 1, 2 … in the order in which blocks open (C2)."""

    index: int
    block_type: BlockType


class TextDelta(msgspec.Struct, frozen=True, tag="text-delta", rename="camel", gc=False):
    """Visible text, never empty (C13)."""

    index: int
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning-delta", rename="camel", gc=False):
    """Thinking, never empty (C13)."""

    index: int
    text: str


class ToolCallDelta(msgspec.Struct, frozen=True, tag="tool-call-delta", rename="camel", omit_defaults=True, gc=False):
    """Fragment of a call's raw argument string (C8); each carries the id, the first one the name too."""

    index: int
    id: str
    name: str | None = None
    arguments_delta: str = msgspec.field(default_factory=str)


class BlockEnd(msgspec.Struct, frozen=True, tag="block-end", rename="camel"):
    """End of a block, with its assembled value (C4); the wire will deliver nothing more of it (C7)."""

    index: int
    block: StreamBlock


class UsageChunk(msgspec.Struct, frozen=True, tag="usage", rename="camel"):
    """Token accounting for the call; at most one, after every block's end (C5)."""

    usage: TokenUsage


class Finish(msgspec.Struct, frozen=True, tag="finish", rename="camel", omit_defaults=True):
    """The one terminal chunk (C6). `replay_state` may accompany a success (R5)."""

    reason: FinishReason
    replay_state: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        if self.replay_state is not None:
            force_setattr(self, "replay_state", freeze_object(self.replay_state))


StreamChunk: TypeAlias = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | Finish
