"""Arguments of a tool call that is not complete: the JSON object that has arrived so far."""

import re
from typing import Final

from limen.views._encoder import json_object

# A string up to its closing quote, or up to the end or an escape that is not complete; a sign of structure; a number
# or word. White space is skipped by the search.
_TOKEN: Final = re.compile(
    r'"[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*)*(?P<closed>"?)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL
)
_CLOSERS: Final = {"{": "}", "[": "]"}


def arguments_so_far(text: str) -> str:
    """Return the longest JSON object that a beginning of one holds, in time linear in the text.

    Whole members and items stand; a string value stands as far as it has come; a number or word that the text ends in
    may go on, and is left out, as is a key without its value. A text that begins no object is `{}`.
    """
    whole = json_object(text)
    if whole is not None:
        return bytes(whole).decode()
    beginning = _Beginning()
    beginning.read(text)
    for closed in (beginning.with_open_string, beginning.closed):
        if closed is not None and json_object(closed) is not None:
            return closed
    return "{}"


class _Beginning:
    """A beginning of a JSON document; `closed` is it with its brackets closed after the last whole value.

    `with_open_string` is the same with the string that the text ends in, where that string is a value.
    """

    def __init__(self) -> None:
        self.closed: str | None = None
        self.with_open_string: str | None = None

    def read(self, text: str) -> None:
        """Read the text once. Every change of the brackets is a place to cut, so one list of them serves the last."""
        brackets: list[str] = []
        cut = 0
        is_value = False
        for match in _TOKEN.finditer(text):
            token, end = match.group(), match.end()
            if token in _CLOSERS:
                brackets.append(_CLOSERS[token])
                cut, is_value = end, token == "["
            elif token in "]}":
                if not brackets or brackets.pop() != token:
                    return
                cut, is_value = end, False
            elif token in ",:":
                is_value = token == ":" or brackets[-1:] == ["]"]
            elif is_value and token[0] == '"' and not match["closed"]:
                self.with_open_string = f'{text[:end]}"{_closing(brackets)}'
                break
            elif is_value and (token[0] == '"' or end < len(text)):
                cut, is_value = end, False
        if cut:
            self.closed = f"{text[:cut]}{_closing(brackets)}"


def _closing(brackets: list[str]) -> str:
    return "".join(reversed(brackets))
