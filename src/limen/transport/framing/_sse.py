"""Server-sent events by the WHATWG rules, on bytes (S1).

Source of truth: https://html.spec.whatwg.org/multipage/server-sent-events.html, read 2026-11-30. What goes beyond it
(keep-alives in `data`, errors outside `data`, an end without its blank line) is what providers were seen to send.

Line ends are made LF as each read comes in, so everything after works on LF alone. An ordinary event, one or two
lines and a blank one, is cut out by `bytes.split`; only what is not ordinary is read line by line.
"""

from typing import Final

import msgspec

from limen.contract import Limits, LlmError, TooDeep, codes, loads

_BOM: Final = b"\xef\xbb\xbf"

# What a line may hold beside an event's data: a field's name, a colon, a space.
_LINE_OVERHEAD: Final = 64

# Lines that name an event, of one body, with the name: a wire has a dozen. The cache goes with its decoder, for nothing
# that a provider sent outlives its call (S2).
_NAMES_MAX: Final = 64
_NAMED_MAX: Final = 128  # bytes of such a line


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: its type where one was given, and its data as it came (the end marker may want trimming)."""

    event: str | None
    data: bytes


class _ErrorLine(msgspec.Struct, frozen=True):
    """A line that is no field but JSON: of interest only if it tells an error."""

    error: object = None


_ERROR_LINE: Final = msgspec.json.Decoder(_ErrorLine)
_ANY_JSON: "msgspec.json.Decoder[object]" = msgspec.json.Decoder(object)


class SseDecoder:
    """One body: `feed` each read in order, then `eof` once; both return the events that became complete.

    Keep-alives (comments, blank data, data that begins with a colon) and blocks without data give no event. A field
    named `error` with a JSON value and a bare JSON line with a non-null `error` give an event of type `error` at once.
    Past `limits.event_bytes` (S2), `failure` is set, what came before is returned, and the next call raises it.
    """

    __slots__ = (
        "_after_cr",
        "_between",
        "_data",
        "_head",
        "_limit",
        "_line",
        "_marker",
        "_name",
        "_names",
        "_out",
        "_size",
        "_starting",
        "failure",
    )

    def __init__(self, limits: Limits | None = None, *, marker: bytes | None = b"[DONE]") -> None:
        self.failure: LlmError | None = None
        self._limit = (limits or Limits()).event_bytes
        self._marker = marker
        self._between = False  # whether the next byte begins an event
        self._starting = True
        self._head = b""  # what may still become a byte order mark
        self._after_cr = False
        self._line = bytearray()  # a line that has not ended yet
        self._name: str | None = None
        self._names: dict[bytes, str] = {}
        self._data: list[bytes] = []
        self._size = 0
        self._out: list[SseEvent] = []

    def feed(self, data: bytes) -> list[SseEvent]:
        """Take one read; return the events it completed."""
        self._out = []
        if self._between and b"\r" not in data:
            self._blocks(data)
        else:
            self._feed_slowly(data)
        return self._out

    def _feed_slowly(self, data: bytes) -> None:
        if self.failure is not None:
            raise self.failure
        if self._starting:
            data = self._without_bom(data)
        if self._after_cr and data:
            # The LF of a CRLF that was cut in two: its CR has ended the line already.
            self._after_cr = False
            if data.startswith(b"\n"):
                data = data[1:]
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._take(data)
        self._between = not (
            self._starting
            or self._after_cr
            or self._line
            or self._data
            or self._name is not None
            or self.failure is not None
        )

    def eof(self) -> list[SseEvent]:
        """The body ended cleanly: an undispatched event counts if its data is the end marker or complete JSON."""
        if self.failure is not None:
            raise self.failure
        self._out = []
        self._line += self._head
        if self._line:
            self._field(bytes(self._line))
        data = b"\n".join(self._data)
        if data.strip() == self._marker or _is_json(data):
            self._dispatch()
        return self._out

    def _without_bom(self, data: bytes) -> bytes:
        head = self._head + data
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            return b""
        self._head, self._starting = b"", False
        return head.removeprefix(_BOM)

    def _take(self, data: bytes) -> None:
        if self._line:
            # The rest of a line that began in an earlier read; it is joined once, when it ends.
            self._line += data
            if b"\n" not in data:
                if len(self._line) > self._limit + _LINE_OVERHEAD:
                    self._overflow()
                return
            data = bytes(self._line)
            self._line = bytearray()
        if self._data or self._name is not None:
            data = self._rest_of_event(data)
        if data:
            self._blocks(data)

    def _rest_of_event(self, data: bytes) -> bytes:
        """Inside an event: read its lines up to the blank one; return what follows."""
        if data.startswith(b"\n"):
            self._dispatch()
            return data[1:]
        end = data.find(b"\n\n")
        if end < 0:
            self._lines(data)
            return b""
        if not self._whole_lines(data[:end]):
            return b""
        self._dispatch()
        return data[end + 2 :]

    def _blocks(self, data: bytes) -> None:
        """Read from the start of an event on."""
        last = data.rfind(b"\n\n")
        end = 0 if last < 0 else last + 2
        whole, rest = (data, b"") if end == len(data) else (data[:end], data[end:])
        if whole and not (end <= self._limit and self._ordinary(whole)):
            for block in whole[:-2].split(b"\n\n"):
                if not self._whole_lines(block):
                    return
                self._dispatch()
        if rest:
            self._between = False
            self._lines(rest)

    def _ordinary(self, data: bytes) -> bool:
        """Cut out events of one shape, `data: {…}` alone or behind an `event:` line; say whether all were that.

        The number of line ends tells that no event has a line more, so none of them is looked at twice.
        """
        ends = data.count(b"\n")
        if data.startswith(b"data: {"):
            pieces = data[6:-2].split(b"\n\ndata: ")
            # A payload that begins otherwise may be a keep-alive.
            events = [SseEvent(None, piece) for piece in pieces if piece[:1] == b"{" or piece == self._marker]
            if ends != 2 * len(events):
                return False
        else:
            blocks = data[:-2].split(b"\n\n")
            if ends != 3 * len(blocks):
                return False
            events = list[SseEvent]()
            for block in blocks:
                first, _, payload = block.partition(b"\ndata: ")
                name = self._names.get(first) or self._event_name(first)
                if name is None or payload[:1] != b"{":
                    return False
                events.append(SseEvent(name, payload))
        self._out += events
        return True

    def _event_name(self, line: bytes) -> str | None:
        """Return the name in a line `event: name`, or nothing where it is another line, or more than one."""
        if not line.startswith(b"event: ") or b"\n" in line:
            return None
        name = str(line[7:], "utf-8", "replace")
        if name and len(self._names) < _NAMES_MAX and len(line) <= _NAMED_MAX:
            self._names[line] = name
        return name or None

    def _lines(self, data: bytes) -> None:
        """Read lines of which the last has not ended."""
        whole, _, rest = data.rpartition(b"\n")
        if len(rest) < len(data) and not self._whole_lines(whole):
            return
        self._line += rest
        if len(rest) > self._limit + _LINE_OVERHEAD:
            self._overflow()

    def _whole_lines(self, data: bytes) -> bool:
        for line in data.split(b"\n"):
            if line:
                self._field(line)
            else:
                self._dispatch()
            if self.failure is not None:
                return False
        return True

    def _field(self, line: bytes) -> None:
        if len(line) > self._limit + _LINE_OVERHEAD:
            self._overflow()
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
                self._size += len(value) + 1
                if self._size > self._limit + 1:
                    self._overflow()
            case b"event":
                self._name = str(value, "utf-8", "replace") or None
            case b"error":
                if _is_json(value) and value.strip() != b"null":
                    self._out.append(SseEvent("error", value))
            case _:
                if line.lstrip()[:1] == b"{" and _tells_error(line):
                    self._out.append(SseEvent("error", line))

    def _dispatch(self) -> None:
        data, name = self._data, self._name
        if data:
            payload = data[0] if len(data) == 1 else b"\n".join(data)
            text = payload.lstrip()
            if text and not text.startswith(b":"):
                self._out.append(SseEvent(name, payload))
            self._data = []
            self._size = 0
        self._name = None

    def _overflow(self) -> None:
        self._between = False
        self._line = bytearray()
        self._data = []
        self.failure = LlmError(
            f"one event of the answer is larger than {self._limit} bytes; limits.event_bytes sets the limit",
            codes.MALFORMED_RESPONSE,
        )


def _is_json(data: bytes) -> bool:
    try:
        loads(data, _ANY_JSON)
    except (msgspec.DecodeError, TooDeep):
        return False
    return True


def _tells_error(line: bytes) -> bool:
    try:
        return loads(line, _ERROR_LINE).error is not None
    except (msgspec.DecodeError, TooDeep):
        return False
