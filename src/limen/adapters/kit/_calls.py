"""Tool calls from fragments: which fragment belongs to which call, and under which id (W3, W4, C9, C10)."""

import re
from typing import Final, NamedTuple

from limen.adapters.kit._blocks import Blocks, OpenCall
from limen.contract import StreamChunk, replace_surrogates

# A fragment that begins so may begin another JSON document: only then is the text before it looked at.
DOCUMENT_STARTS: Final = "{ \t\r\n"

_STRUCTURE: Final = re.compile(r'[{}\[\]"\\]')


class MalformedCall(ValueError):
    """A fragment that fits no call, or a call that cannot be one."""


class Fragment(NamedTuple):
    """One fragment of a call: the wire's index and id where it has them, a name, a piece of the arguments."""

    place: int | None
    id: str
    name: str
    text: str


class Call(OpenCall):
    """One call; `native` is the wire's id, `places` its indexes there, `state` facts that only a replay needs."""

    __slots__ = ("_depth", "_quoted", "_scanned", "_skip", "_started", "native", "ordinal", "places", "state")

    def __init__(self, ordinal: int) -> None:
        super().__init__()
        self.ordinal: int = ordinal
        self.native: str = ""
        self.places: set[int] = set()
        self.state: dict[str, object] = {}
        self._scanned = self._depth = 0
        self._quoted = self._skip = self._started = False

    def complete(self) -> bool:
        """Tell whether the arguments so far are one whole JSON object; a fragment is scanned only once."""
        while self._scanned < len(self.parts):
            self._scan(self.parts[self._scanned])
            self._scanned += 1
        return self._started and self._depth == 0 and not self._quoted

    def _scan(self, text: str) -> None:
        # The place of a character that a backslash has taken, which may be the first of the next fragment.
        taken = 0 if self._skip else -1
        self._skip = False
        for match in _STRUCTURE.finditer(text):
            place, sign = match.start(), match.group()
            if place == taken:
                continue
            if sign == '"':
                self._quoted = not self._quoted
            elif self._quoted:
                if sign == "\\":
                    taken = place + 1
                    self._skip = taken == len(text)
            elif sign in "{[":
                self._depth += 1
                self._started = True
            elif sign in "}]":
                self._depth -= 1


class Calls:
    """The calls of one answer, in the order in which they began; they open in the answer's blocks."""

    __slots__ = ("_blocks", "_by_id", "by_index", "listed")

    def __init__(self, blocks: Blocks) -> None:
        self.listed: list[Call] = []
        self.by_index: dict[int | None, Call] = {}
        self._by_id: dict[str, Call] = {}
        self._blocks = blocks

    def take(self, fragment: Fragment, out: list[StreamChunk]) -> Call | None:
        """Add a fragment to the call it belongs to; return the call, or `None` where the fragment says nothing.

        The call opens once it has its name, and its id or arguments (W4). Raises `MalformedCall` for a fragment that
        fits no call.
        """
        found = self._place(fragment)
        if found is None:
            return None
        call, text = found
        self._blocks.add_arguments(call, text, out)
        if call.index < 0 and call.name and (call.id or call.parts or call.waiting):
            self._open(call, out)
        return call

    def open_waiting(self, out: list[StreamChunk]) -> None:
        """Open, at the end, the calls that waited for their id (W4); one without a name is `MalformedCall`."""
        for call in self.listed:
            if call.index < 0:
                self._open(call, out)

    def _open(self, call: Call, out: list[StreamChunk]) -> None:
        if not call.name:
            raise MalformedCall(f"the tool call {call.native or call.ordinal!r} never got a name")
        if not call.id:
            call.id = self._blocks.ids.make(call.ordinal)
        self._blocks.open_call(call, out)

    def _place(self, fragment: Fragment) -> tuple[Call, str] | None:
        """Find or begin the call of a fragment; return it and the arguments to add."""
        index, identifier, name, text = fragment
        call = self._find(index, identifier, named=bool(name))
        if call is None:
            if not (identifier or name or text):
                return None
            if index is None and not (identifier or name):
                raise MalformedCall("a fragment of arguments has neither index nor id nor name, and no call is open")
            call = self._begin(index)
        elif _begins_document(text) and call.complete():
            if _is_other(call, identifier, name) or text != "".join(call.parts):
                call = self._begin(index)
            else:
                text = ""  # the whole call once more: vLLM's last chunk was seen to repeat it (Q144)
        elif _is_other(call, identifier, name):
            call = self._begin(index)
        self._identify(call, identifier)
        call.name = call.name or replace_surrogates(name)
        return call, text

    def _find(self, index: int | None, identifier: str, *, named: bool) -> Call | None:
        known = self._by_id.get(identifier) if identifier else None
        if known is not None and (not named or index is None or index in known.places):
            # An id that was seen names its call whatever the index says [NQ326]; with a name at an index of its own it
            # is a second call under a repeated id (C10).
            return known
        if index is not None:
            found = self.by_index.get(index)
            if found is not None or identifier or named or not self.listed:
                return found
            # An index without id and name, at which no call began, continues one [NQ325].
            without = [call for call in self.listed if not call.parts]
            return without[0] if len(without) == 1 else self.listed[-1]
        if identifier and named:
            return None
        return self.listed[-1] if self.listed else None

    def _begin(self, index: int | None) -> Call:
        call = Call(len(self.listed))
        self.listed.append(call)
        if index is not None:
            self.by_index[index] = call
            call.places.add(index)
        return call

    def _identify(self, call: Call, identifier: str) -> None:
        if not identifier or call.native:
            return
        call.native = identifier
        self._by_id[identifier] = call
        if not call.id:
            call.id = self._blocks.ids.take(identifier, call.ordinal)


def _begins_document(text: str) -> bool:
    return text[:1] in DOCUMENT_STARTS and text.lstrip()[:1] == "{"


def _is_other(call: Call, identifier: str, name: str) -> bool:
    """Tell whether a named fragment is of another call than the one it would continue."""
    if not name:
        return False
    if identifier and call.native and identifier != call.native:
        return True
    if not call.name or name == call.name:
        return False
    if call.parts and not call.complete():
        raise MalformedCall(f"the call {call.name!r} was named {name!r} in the middle of its arguments")
    return True
