"""Replay state: what a wire needs of an earlier turn and the blocks do not say (R5, N4).

A JSON object `{"v": version, "wire": name, "blocks": [one entry for each block], …}`. Only the adapter that made
it reads it; this file knows its frame, not its meaning.
"""

from collections.abc import Mapping

from limen.contract._messages import Message


def aligned(state: Mapping[str, object], count: int) -> bool:
    """Whether the state's `blocks` has one entry for each of `count` blocks."""
    entries = state.get("blocks")
    return isinstance(entries, (list, tuple)) and len(entries) == count  # pyright: ignore[reportUnknownArgumentType]


def replay_fault(message: Message, *, wire: str, version: int) -> str | None:
    """Say why a message's replay state is to be treated as absent, or return `None` where it may be read.

    Another version, wire or block count is no error: the history is served plain and the drop is reported (R5).
    """
    state = message.replay_state
    if state is None:
        return "there is none"
    if state.get("wire") != wire:
        return f"it was made for the wire {state.get('wire')!r}, not {wire!r}"
    found = state.get("v")
    if type(found) is not int or found != version:
        return f"it has version {found!r}, and {version} is what this adapter reads"
    if not aligned(state, len(message.content)):
        return f"it does not have one entry for each of the message's {len(message.content)} blocks"
    return None
