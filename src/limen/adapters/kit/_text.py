"""Text in unusual forms: reasoning inside tags, text that repeats all text before it (W9, W10)."""

from typing import Final, Literal

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class ThinkTags:
    """Splits `<think>…</think>` at the beginning of a text from the text after it (W9); tags may come in pieces.

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
