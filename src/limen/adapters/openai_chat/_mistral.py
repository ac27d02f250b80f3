"""Mistral's own parts of chat completions: references inside the text, documents, the order of turns.

Source of truth: https://docs.mistral.ai/api (2026-11) and the types of Mistral's Python SDK 3.7.0.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from limen.adapters.kit import base64_of, invalid_state
from limen.contract import FileBlock

WireMessage: TypeAlias = dict[str, object]
Reference: TypeAlias = tuple[int, tuple[str | int, ...]]
"""A reference of the answer's text: the number of characters before it, and the ids of what it refers to."""

BRIDGE: Final = "OK"
"""The assistant's text between a tool result and a user's turn, where the server wants one there."""


class References:
    """References of one answer's text, by the pieces of text before each of them."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[tuple[int, list[str | int]]] = []

    def add(self, pieces: int, ids: object) -> None:
        """Take one reference that stands behind so many pieces of the text; ids of no known type refer to nothing."""
        try:
            self._found.append((pieces, msgspec.convert(ids, list[str | int])))
        except msgspec.ValidationError:
            return

    def entry(self, pieces: Sequence[str]) -> dict[str, object]:
        """Return the state of the text block that is made of these pieces; empty where nothing refers."""
        if not self._found:
            return {}
        ends = [0]
        for piece in pieces:
            ends.append(ends[-1] + len(piece))
        return {"references": [[ends[min(count, len(pieces))], ids] for count, ids in self._found]}


def with_references(text: str, references: Sequence[Reference], where: str) -> list[WireMessage]:
    """Return a text as parts with its references back in place; one outside the text is `INVALID_REPLAY_STATE`."""
    parts: list[WireMessage] = []
    begin = 0
    for end, ids in references:
        if not begin <= end <= len(text):
            raise invalid_state(f"{where} has a reference outside its text")
        if end > begin:
            parts.append({"type": "text", "text": text[begin:end]})
        parts.append({"type": "reference", "reference_ids": ids})
        begin = end
    if begin < len(text):
        parts.append({"type": "text", "text": text[begin:]})
    return parts


def thinking_part(text: str, signature: str) -> WireMessage:
    """Return the reasoning of an earlier turn, which stands before its text in one part."""
    part: WireMessage = {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}
    return {**part, "signature": signature} if signature else part


def document(block: FileBlock, kind: str | None) -> WireMessage:
    """Return a document's part: an uploaded file's id, or an address, which may hold the bytes."""
    if block.file_id is not None:
        return {"type": "file", "file_id": block.file_id}
    url = block.url if block.data is None else f"data:{kind};base64,{base64_of(block)}"
    named = {} if block.name is None else {"document_name": block.name}
    return {"type": "document_url", "document_url": url, **named}


def in_order(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Return the messages in an order that the server takes; none of those given is changed.

    - 400 Unexpected role 'user' after role 'tool': a user's turn behind a tool result has `BRIDGE` between them.
    - 400 Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant: an answer that
      is to be continued says so.
    """
    out: list[WireMessage] = []
    for message in messages:
        if message["role"] == "user" and out and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": BRIDGE})
        out.append(message)
    last: Mapping[str, object] = out[-1]
    if last["role"] == "assistant" and "tool_calls" not in last:
        out[-1] = {**last, "prefix": True}
    return out
