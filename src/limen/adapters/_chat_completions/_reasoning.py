"""Reasoning and text that arrive in unusual ways: tags in the text, text sent again and again, itemised reasoning."""

from typing import Final, Literal

import msgspec

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class ThinkTags:
    """Tells `<think>…</think>` at the beginning of a text from the text after it (W9); tags may come in pieces.

    White space before the tag is dropped with it; what follows the closing tag is text, as it came.
    """

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state: Literal["begin", "reasoning", "text"] = "begin"
        self._held: str = ""

    def feed(self, text: str) -> tuple[str, str]:
        """Take a piece of text; return what of it is reasoning, and what is text."""
        if self._state == "text":
            return "", text
        text, self._held = self._held + text, ""
        if self._state == "begin":
            begun = text.lstrip()
            if _OPEN.startswith(begun):
                if begun == _OPEN:
                    self._state = "reasoning"
                else:
                    self._held = text
                return "", ""
            if not begun.startswith(_OPEN):
                self._state = "text"
                return "", text
            self._state = "reasoning"
            text = begun.removeprefix(_OPEN)
        reasoning, closed, rest = text.partition(_CLOSE)
        if closed:
            self._state = "text"
            return reasoning, rest
        kept = len(text) - _overlap(text)
        self._held = text[kept:]
        return text[:kept], ""

    def eof(self) -> tuple[str, str]:
        """Return what was held back for a tag that did not come."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "reasoning" else ("", held)


def _overlap(text: str) -> int:
    """Return how many characters at the end of the text begin a closing tag."""
    for size in range(min(len(text), len(_CLOSE) - 1), 0, -1):
        if text.endswith(_CLOSE[:size]):
            return size
    return 0


class NotCumulative(ValueError):
    """A text that should repeat all text before it and does not."""


def grown(before: str, text: str) -> str:
    """Return what a cumulative text adds to the one before (W10)."""
    if text.startswith(before):
        return text[len(before) :]
    if before.startswith(text):
        return ""
    raise NotCumulative("the text does not go on from the text before it, as this dialect's does")


class Detail(msgspec.Struct, gc=False):
    """What is read of an item of `reasoning_details`; https://openrouter.ai/docs (read 2026-11-30)."""

    kind: str | None = msgspec.field(default=None, name="type")
    text: str | None = None
    summary: str | None = None
    index: int | None = None


class _Item:
    __slots__ = ("fields", "key", "parts", "place")

    def __init__(self, key: object, place: str, fields: dict[str, object]) -> None:
        self.key = key
        self.place = place
        self.fields = fields
        self.parts: list[str] = []


class Details:
    """The items of `reasoning_details`, kept for the replay: as received, fragments of one item joined.

    An item goes on where the next one has its type and index and is text or summary; a signature comes in such a
    fragment of its own. Encrypted items are each whole.
    """

    __slots__ = ("_cumulative", "_items")

    def __init__(self, *, cumulative: bool) -> None:
        self._cumulative = cumulative
        self._items: list[_Item] = []

    def add(self, value: object, *, whole: bool) -> str:
        """Take one event's list; return the reasoning text in it. Raises `msgspec.ValidationError`.

        In a whole answer every item is whole.
        """
        texts: list[str] = []
        for fields in msgspec.convert(value, list[dict[str, object]]):
            detail = msgspec.convert(fields, Detail)
            place = "summary" if detail.kind == "reasoning.summary" else "text"
            text = (detail.summary if place == "summary" else detail.text) or ""
            texts.append(text)
            key = None if whole or detail.kind == "reasoning.encrypted" else (detail.kind, detail.index)
            last = self._items[-1] if self._items else None
            if last is None or key is None or last.key != key:
                last = _Item(key, place, fields)
                self._items.append(last)
            else:
                last.fields.update({name: value for name, value in fields.items() if value is not None})
            if self._cumulative and text:
                last.parts.clear()
            last.parts.append(text)
        return "".join(texts)

    def state(self) -> list[dict[str, object]]:
        """Return the items as they are to be sent back."""
        return [
            {**item.fields, item.place: "".join(item.parts)} if any(item.parts) else item.fields for item in self._items
        ]
