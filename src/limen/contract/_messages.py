"""Messages of a conversation, and functions that make them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from limen.contract._blocks import ContentBlock, ImageBlock, TextBlock, ToolResultBlock
from limen.contract._json import freeze_object

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class ModelSource(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Route and model that produced an assistant message."""

    provider: str
    model: str


class Message(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Message of one role. `content` is a tuple of blocks; a string given for it becomes one text block.

    `source` names the route and model of an assistant's message, and `replay_state` holds the data that its wire
    needs in later requests (R5, N4); `Response.message` has both, and they are passed back unchanged.
    """

    role: Role
    content: Sequence[ContentBlock]
    id: str | None = None
    source: ModelSource | None = None
    replay_state: Mapping[str, object] | None = None

    if TYPE_CHECKING:
        # Text may be given where blocks are kept, which the field's own type cannot say.
        def __init__(
            self,
            role: Role,
            content: str | Sequence[ContentBlock],
            id: str | None = None,  # noqa: A002 - the field's name
            source: ModelSource | None = None,
            replay_state: Mapping[str, object] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        content: object = self.content
        if isinstance(content, str):
            force_setattr(self, "content", (TextBlock(content),))
        elif not isinstance(content, tuple):
            force_setattr(self, "content", tuple(self.content))
        if self.replay_state is not None:
            force_setattr(self, "replay_state", freeze_object(self.replay_state))


def _blocks(content: str | Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
    return (TextBlock(content),) if isinstance(content, str) else tuple(content)


def user(content: str | Sequence[ContentBlock]) -> Message:
    """Make a user message of text or of blocks."""
    return Message("user", _blocks(content))


def assistant(content: str | Sequence[ContentBlock], *, source: ModelSource | None = None) -> Message:
    """Make an assistant message of text or of blocks; a model's own message is `Response.message`."""
    return Message("assistant", _blocks(content), source=source)


def system(content: str | Sequence[ContentBlock]) -> Message:
    """Make a system message inside the history; the usual place is `GenerateOptions.system`."""
    return Message("system", _blocks(content))


def tool_result(
    tool_call_id: str, content: str | Sequence[TextBlock | ImageBlock], *, is_error: bool = False
) -> Message:
    """Make the message that answers one tool call."""
    return Message("tool", (ToolResultBlock(tool_call_id, content, is_error),))
