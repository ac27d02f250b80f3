"""Content codings that came though none was asked for: gzip and deflate are undone, any other is refused by name.

Requests ask for `identity`; some gateways compress all the same (quirk Q153: Venice, agentgateway, 2026-11).
"""

import zlib
from typing import Final

# The most that one call of `decode` makes of its input, so that a bomb holds neither memory nor the loop.
_PIECE: Final = 64 * 1024

_GZIP: Final = zlib.MAX_WBITS | 16


class Inflater:
    """Undoes gzip or deflate as it comes; `pending` is input that was taken and not decoded yet."""

    __slots__ = ("_coding", "_inner", "pending")

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._inner = zlib.decompressobj(zlib.MAX_WBITS if coding == "deflate" else _GZIP)
        self.pending = b""

    def decode(self, data: bytes) -> bytes:
        """Take input; return up to 64 KiB of output. Raises `zlib.error`."""
        data = self.pending + data
        if self._inner.eof:
            # Another member begins (RFC 1952, 2.2).
            self._inner = zlib.decompressobj(_GZIP)
        try:
            text = self._inner.decompress(data, _PIECE)
        except zlib.error:
            if self._coding != "deflate":
                raise
            # Raw deflate under that name, as some servers send it (RFC 9110, 8.4.1.2).
            self._coding = "raw deflate"
            self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
            text = self._inner.decompress(data, _PIECE)
        self.pending = self._inner.unconsumed_tail or self._inner.unused_data
        return text

    @property
    def whole(self) -> bool:
        """Whether the input ended where a coded body may end."""
        return self._inner.eof


def inflater(coding: str) -> Inflater | None:
    """Return what undoes a `Content-Encoding`, `None` for `identity`. Raises `LookupError` for an unknown one."""
    name = coding.strip().lower().removeprefix("x-")
    if name in ("", "identity"):
        return None
    if name not in ("gzip", "deflate"):
        raise LookupError(coding)
    return Inflater(name)
