"""What Acme sends: one JSON object a line (https://docs.acme.test/lines, read 2026-11-30). Types only."""

import msgspec


class WireError(msgspec.Struct, frozen=True):
    """Why Acme failed; `code` is finer than `kind`, and often missing."""

    message: str | None = None
    kind: str | None = None
    code: str | None = None


class WireCount(msgspec.Struct, frozen=True, rename={"given": "in"}):
    """Tokens: `given` without the cache, `out` with the thoughts."""

    given: int | None = None
    out: int | None = None
    cached: int | None = None
    stored: int | None = None
    thought: int | None = None


class WireLine(msgspec.Struct, frozen=True):
    """One line. Fields that nobody documented are ignored, and so is a line that has none of these."""

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
    error: WireError | None = None
    whole: tuple["WireLine", ...] | None = None


class WireBody(msgspec.Struct, frozen=True):
    """A failed answer."""

    error: WireError | None = None


LINE = msgspec.json.Decoder(WireLine)
BODY = msgspec.json.Decoder(WireBody)
