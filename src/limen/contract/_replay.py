"""Replay state: data of an earlier turn that its wire needs and that the blocks do not hold (R5, N4).

A JSON object `{"v": version, "wire": name, "blocks": [one entry for each block], …}`. Only the adapter that made
it reads the entries; this file checks the frame.
"""

from collections.abc import Mapping

from limen.contract._messages import Message


def aligned(state: Mapping[str, object], count: int) -> bool:
    """Return true if the state's `blocks` has one entry for each of `count` blocks."""
    entries = state.get("blocks")
    return isinstance(entries, (list, tuple)) and len(entries) == count  # pyright: ignore[reportUnknownArgumentType]


def replay_fault(message: Message, *, wire: str, version: int) -> str | None:
    """Return the reason to treat a message's replay state as absent, or `None` if it may be read.

    Another version, wire or block count is no error: the history is sent without it, and the drop is reported (R5).
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
