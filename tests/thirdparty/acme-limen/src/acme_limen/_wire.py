"""Types of Acme's answers: one JSON object a line (https://docs.acme.test/lines, read 2026-11-30)."""

from typing import Final

import msgspec

from limen.adapters.kit import Count

WIRE: Final = "acme-lines"


class WireCount(msgspec.Struct, frozen=True, rename={"given": "in"}):
    """Tokens: `given` without the cache, `out` with the thoughts."""

    given: Count = None
    out: Count = None
    cached: Count = None
    stored: Count = None
    thought: Count = None


class WireLine(msgspec.Struct, frozen=True):
    """One line; a line that has none of these fields says nothing. `whole` holds the lines of an unstreamed answer."""

    say: str | None = None
    think: str | None = None
    seal: str | None = None
    call: int | None = None
    id: str | None = None
    name: str | None = None
    args: str | None = None
    count: WireCount | None = None
    end: str | None = None
    why: str | None = None
    bye: bool | None = None
    error: object = None
    whole: tuple["WireLine", ...] | None = None


LINE: Final = msgspec.json.Decoder(WireLine)
