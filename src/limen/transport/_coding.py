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

    __slots__ = ("_begin", "_inner", "pending")

    def __init__(self, coding: str) -> None:
        self._inner = zlib.decompressobj(_GZIP)
        # The first two bytes of deflate are kept until they tell whether it has its frame (RFC 1950).
        self._begin: bytes | None = b"" if coding == "deflate" else None
        self.pending = b""

    def decode(self, data: bytes) -> bytes:
        """Take input; return up to 64 KiB of output. Raises `zlib.error`."""
        data = self.pending + data
        if self._begin is not None:
            data = self._begin + data
            if len(data) < 2:
                self._begin = data
                return b""
            self._begin = None
            # Some servers send raw deflate under that name (RFC 9110, 8.4.1.2).
            framed = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._inner = zlib.decompressobj(zlib.MAX_WBITS if framed else -zlib.MAX_WBITS)
        elif self._inner.eof:
            # Another member begins (RFC 1952, 2.2).
            self._inner = zlib.decompressobj(_GZIP)
        text = self._inner.decompress(data, _PIECE)
        self.pending = self._inner.unconsumed_tail or self._inner.unused_data
        return text

    @property
    def whole(self) -> bool:
        """Tell whether the input ended where a coded body may end."""
        return self._inner.eof


def inflater(coding: str) -> Inflater | None:
    """Return what undoes a `Content-Encoding`, `None` for `identity`. Raises `LookupError` for an unknown one."""
    name = coding.strip().lower().removeprefix("x-")
    if name in ("", "identity"):
        return None
    if name not in ("gzip", "deflate"):
        raise LookupError(coding)
    return Inflater(name)
