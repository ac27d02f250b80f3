"""Tool calls from their fragments: which fragment belongs to which call, and under which id (W3, W4, C9, C10)."""

import hashlib
import re
from typing import Final

from limen.adapters._chat_completions._wire import Function, Identifier, ToolCall
from limen.contract import IdSeed, replace_surrogates

# A fragment that begins so may begin another JSON document: only then is the text before it looked at.
DOCUMENT_STARTS: Final = "{ \t\r\n"

_STRUCTURE: Final = re.compile(r'[{}\[\]"\\]')
_NO_FUNCTION: Final = Function()


class MalformedCall(ValueError):
    """A fragment that fits no call, or a call that cannot be one."""


class Call:
    """One call. `block` is -1 while it waits for its name or id; `parts` are its arguments so far.

    `native` is the wire's id, `id` the one that goes out; `half` is half of a surrogate pair that waits for the other
    (S5); `state` is what only a replay needs.
    """

    __slots__ = (
        "_depth",
        "_quoted",
        "_scanned",
        "_skip",
        "_started",
        "block",
        "half",
        "id",
        "name",
        "native",
        "ordinal",
        "parts",
        "state",
    )

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.native = self.id = self.name = self.half = ""
        self.block = -1
        self.parts: list[str] = []
        self.state: dict[str, object] = {}
        self._scanned = self._depth = 0
        self._quoted = self._skip = self._started = False

    def complete(self) -> bool:
        """Whether the text so far is one JSON object, whole; each fragment is scanned once, however often asked."""
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
    """The calls of one answer, in the order in which they began."""

    __slots__ = ("_by_id", "_seed", "_used", "by_index", "listed")

    def __init__(self, id_seed: IdSeed) -> None:
        self.listed: list[Call] = []
        self.by_index: dict[int | None, Call] = {}
        self._by_id: dict[str, Call] = {}
        self._used: set[str] = set()
        self._seed = id_seed

    def take(self, fragment: ToolCall) -> tuple[Call, str] | None:
        """Put a fragment where it belongs: return its call and the text it adds; `None` where it says nothing.

        Raises `MalformedCall` for one that fits no call.
        """
        function = fragment.function or _NO_FUNCTION
        identifier = _text(fragment.id) or _text(function.id)
        name, text = function.name or "", function.arguments or ""
        if fragment.custom is not None:
            name, text = fragment.custom.name or name, fragment.custom.input or text
        call = self._find(fragment.index, identifier, named=bool(name))
        if call is None:
            if not (identifier or name or text):
                return None
            if fragment.index is None and not (identifier or name):
                raise MalformedCall("a fragment of arguments has neither index nor id nor name, and no call is open")
            call = self._begin(fragment.index)
        elif _begins_document(text) and call.complete():
            if _is_other(call, identifier, name) or text != "".join(call.parts):
                call = self._begin(fragment.index)
            else:
                text = ""  # the whole call once more: vLLM's last chunk was seen to repeat it (Q144)
        elif _is_other(call, identifier, name):
            call = self._begin(fragment.index)
        self._identify(call, identifier)
        call.name = call.name or replace_surrogates(name)
        if text:
            text, call.half = join_halves(call.half, text)
        if text:
            call.parts.append(text)
        if fragment.custom is not None:
            call.state["type"] = "custom"
        if fragment.extra_content is not None:
            call.state["extra_content"] = fragment.extra_content
        return call, text

    def make_id(self, call: Call) -> None:
        """Give a call the id that its wire does not (C9): the same input makes the same id."""
        seed = self._seed() if callable(self._seed) else self._seed
        digest = hashlib.sha256(seed + b"\x00" + str(call.ordinal).encode()).hexdigest()
        call.id = f"limen_{digest[:16]}"
        self._used.add(call.id)

    def _find(self, index: int | None, identifier: str, *, named: bool) -> Call | None:
        if index is not None:
            return self.by_index.get(index)
        if identifier and (named or identifier in self._by_id):
            return self._by_id.get(identifier)
        return self.listed[-1] if self.listed else None

    def _begin(self, index: int | None) -> Call:
        call = Call(len(self.listed))
        self.listed.append(call)
        if index is not None:
            self.by_index[index] = call
        return call

    def _identify(self, call: Call, identifier: str) -> None:
        if not identifier or call.native:
            return
        call.native = identifier
        self._by_id[identifier] = call
        if call.id:
            return
        if identifier in self._used:
            # A repeated native id keeps its place under a made one (C10).
            self.make_id(call)
        else:
            call.id = identifier
            self._used.add(identifier)


def join_halves(half: str, text: str) -> tuple[str, str]:
    """Join what waits with what came: return the text, and the half of a surrogate pair that it ends in (S5)."""
    text = half + text
    half = text[-1:]
    if "\ud800" <= half <= "\udbff":
        return replace_surrogates(text[:-1]), half
    return replace_surrogates(text), ""


def _text(identifier: Identifier) -> str:
    """W4: an id that is a number becomes its decimal string."""
    return "" if identifier is None else replace_surrogates(str(identifier))


def _begins_document(text: str) -> bool:
    return text[:1] in DOCUMENT_STARTS and text.lstrip()[:1] == "{"


def _is_other(call: Call, identifier: str, name: str) -> bool:
    """Whether a named fragment is of another call than the one it would continue."""
    if not name:
        return False
    if identifier and call.native and identifier != call.native:
        return True
    if not call.name or name == call.name:
        return False
    if call.parts and not call.complete():
        raise MalformedCall(f"the call {call.name!r} was named {name!r} in the middle of its arguments")
    return True
