"""Streamed arguments of a call (`partialArgs`) to JSON text, piece by piece.

Source: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling, read 2026-11-30, and a
recording of gemini-3.1-pro-preview. The pieces come in the order of the document:
{"jsonPath":"$.a.b","stringValue":"Bos","willContinue":true}, {"jsonPath":"$.a.b","stringValue":"ton"},
{"jsonPath":"$.list[0]","numberValue":1}.
"""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from limen.adapters.gemini._wire import Malformed, WirePartialArg
from limen.contract import dumps

Step: TypeAlias = str | int

_STEP: Final = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_ESCAPED: Final = re.compile(r"\\(.)")
_DEPTH: Final = 128


class ArgumentsWriter:
    """Writer of one call's arguments: `add` each piece, then `close` once; both return JSON text to append.

    Raises `Malformed` for pieces that are not in the order of one document.
    """

    __slots__ = ("_counts", "_path", "_string")

    def __init__(self) -> None:
        # The path that is written, and how many members each of its containers has: the root's come first.
        self._path: list[Step] = []
        self._counts: list[int] = []
        self._string = False

    def add(self, piece: WirePartialArg) -> str:
        """Return the text that a piece adds."""
        path = steps_of(piece.path or "")
        out: list[str] = []
        if self._string:
            if path == self._path and _is_string(piece):
                return self._text(piece)
            out.append('"')
            self._string = False
        self._move(path, out)
        if piece.string is not None:
            self._string = True
            out += ('"', self._text(piece))
        else:
            out.append(_literal(piece))
        return "".join(out)

    def close(self) -> str:
        """Return what ends the document; nothing where no piece came."""
        text = '"' if self._string else ""
        self._string = False
        for step in reversed(self._path):
            text += "}" if isinstance(step, str) else "]"
        self._path, self._counts = [], []
        return text

    def _text(self, piece: WirePartialArg) -> str:
        text = dumps(piece.string or "").decode()[1:-1]
        if not piece.goes_on:
            self._string = False
            text += '"'
        return text

    def _move(self, path: list[Step], out: list[str]) -> None:
        """Close what the path leaves, and open what it enters."""
        common = 0
        while common < min(len(path), len(self._path)) and path[common] == self._path[common]:
            common += 1
        if common == len(path) or (common and common == len(self._path)):
            raise Malformed(f"partial arguments that write {_shown(path)} twice")
        out += ("}" if isinstance(step, str) else "]" for step in reversed(self._path[common + 1 :]))
        del self._counts[common + 1 :]
        for depth in range(common, len(path)):
            self._enter(path, depth, out)
        self._path = path

    def _enter(self, path: list[Step], depth: int, out: list[str]) -> None:
        step = path[depth]
        if depth < len(self._counts):
            if type(step) is not type(self._path[depth]):
                raise Malformed(f"partial arguments that make {_shown(path)} an object and an array")
            out.append(",")
        else:
            self._counts.append(0)
            out.append("{" if isinstance(step, str) else "[")
        if isinstance(step, str):
            out.append(f"{dumps(step).decode()}:")
        elif step != self._counts[depth]:
            raise Malformed(f"partial arguments that leave out items before {_shown(path)}")
        self._counts[depth] += 1


def steps_of(path: str) -> list[Step]:
    """Return the steps of a JSON path: names, and indexes of arrays. Raises `Malformed` for another form."""
    steps: list[Step] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None or len(steps) >= _DEPTH:
            break
        at = found.end()
        if found[2] is not None:
            steps.append(int(found[2]))
        else:
            steps.append(found[1] or _ESCAPED.sub(r"\1", found[3] or found[4] or ""))
    if not path.startswith("$") or at < len(path) or not steps or isinstance(steps[0], int):
        raise Malformed(f"partial arguments at {path[:80]!r}, which is no path into an object")
    return steps


def _is_string(piece: WirePartialArg) -> bool:
    """Tell whether a piece goes on with a string; one without any value only ends it."""
    return bytes(piece.number) in (b"", b"null") and piece.boolean is None and piece.null is msgspec.UNSET


def _literal(piece: WirePartialArg) -> str:
    number = bytes(piece.number)
    if number not in (b"", b"null"):
        return number.decode()
    if piece.boolean is not None:
        return "true" if piece.boolean else "false"
    if piece.null is not msgspec.UNSET:
        return "null"
    raise Malformed(f"a partial argument at {(piece.path or '')[:80]!r} without a value")


def _shown(path: Sequence[Step]) -> str:
    return "$" + "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in path)[:80]
