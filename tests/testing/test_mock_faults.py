"""Every fault, seen from the socket: what is on the wire, and how the connection ends."""

import asyncio
import json
import zlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from limen.testing.server import FAULTS, MockProvider, Script, Text, Turn
from limen.testing.server import Raw as RawPart
from testing._raw_client import CHAT, MESSAGES, PATHS, Raw, ask, chat_body

FAST = 5.0


async def spoiled(wire: str, fault: str, scenario: str = "text") -> Raw:
    """The answer with a fault, a silence being ended as soon as it begins."""
    async with MockProvider() as mock:
        url = mock.base_url(wire, f"{scenario}+{fault}" if fault else scenario) + PATHS[wire]
        answer = asyncio.create_task(ask("POST", url, chat_body()))
        request = await mock.request()
        if "stall" in fault or (fault.startswith("keep-alives-") and fault.endswith(("forever", "mid-stream"))):
            await request.stalled.wait(FAST)
            request.release()
        return await answer


def letter(event: str) -> str:
    """One event as one letter."""
    if event.startswith(":") or '"ping"' in event:
        return "k"
    if "[DONE]" in event or "message_stop" in event:
        return "E"
    data = event.partition("data: ")[2]
    try:
        payload = json.loads(data)
    except ValueError:
        return "?"
    if "error" in payload:
        return "!"
    if wire_kind := payload.get("type"):
        return {
            "message_start": "s",
            "content_block_start": "b",
            "content_block_delta": "c" if isinstance(payload.get("delta"), dict) else "?",
            "content_block_stop": "e",
            "message_delta": "f" if wire_kind == "message_delta" and payload["delta"]["stop_reason"] else "u",
        }.get(wire_kind, "?")
    if not isinstance(payload.get("choices"), list):
        return "?"
    if not payload["choices"]:
        return "u" if payload.get("usage") else "x"
    (choice,) = payload["choices"]
    if choice["finish_reason"]:
        return "f"
    return "s" if "role" in choice["delta"] else "c"


def letters(raw: Raw) -> str:
    body = raw.body.decode().removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter(event) for event in body.split("\n\n") if event.strip())


EVENTS = {
    "": ("scccccfuE", "sbkcccccefE"),
    "cut": ("scc", "sbkcc"),
    "no-end-marker": ("scccccfu", "sbkcccccef"),
    "no-finish": ("scccccuE", "sbkccccceE"),
    "nothing": ("", ""),
    "keep-alives-only": ("kkk", "kkk"),
    "keep-alives-between": ("kskckckckckckfkukEk", "kskbkkkckckckckckekfkEk"),
    "error-event": ("scc!", "sbkcc!"),
    "error-event-then-end": ("scc!E", "sbkcc!E"),
    "overloaded-event": ("scc!", "sbkcc!"),
    "error-first": ("!", "!"),
    "end-twice": ("scccccfuEE", "sbkcccccefEE"),
    "finish-twice": ("scccccffuE", "sbkccccceffE"),
    "usage-twice": ("scccccfuuE", "sbkccccceffE"),
    "content-after-finish": ("scccccfcuE", "sbkcccccefbceE"),
    "content-after-end": ("scccccfuEc", "sbkcccccefEbce"),
    "malformed-json": ("scc?cccfuE", "sbkcc?cccefE"),
    "wrong-shape": ("scc?cccfuE", "sbkcc?cccefE"),
    "unknown-event": ("scc?cccfuE", "sbkcc?cccefE"),
    "huge-event": ("sccxcccfuE", "sbkcckcccefE"),
    "stall-before-headers": ("scccccfuE", "sbkcccccefE"),
    "stall-before-first-event": ("scccccfuE", "sbkcccccefE"),
    "stall-mid-stream": ("scccccfuE", "sbkcccccefE"),
    "stall-after-finish": ("scccccfuE", "sbkcccccefE"),
    "stall-at-end": ("scccccfuE", "sbkcccccefE"),
    "reset-first": ("", ""),
    "reset-mid-stream": ("scc", "sbkcc"),
    "reset-at-end": ("scccccfuE", "sbkcccccefE"),
    "hang-up-mid-stream": ("scc", "sbkcc"),
    "broken-framing": ("scc", "sbkcc"),
    "until-close": ("scccccfuE", "sbkcccccefE"),
    "wrong-content-type": ("scccccfuE", "sbkcccccefE"),
    "bom": ("scccccfuE", "sbkcccccefE"),
    "crlf": ("scccccfuE", "sbkcccccefE"),
    "crlf-split": ("scccccfuE", "sbkcccccefE"),
    "cr": ("scccccfuE", "sbkcccccefE"),
    "utf8-split": ("scccccfuE", "sbkcccccefE"),
    "byte-by-byte": ("scccccfuE", "sbkcccccefE"),
}
RESETS = {"reset-before-headers", "reset-first", "reset-mid-stream", "reset-at-end"}


@pytest.mark.parametrize("fault", sorted(EVENTS))
@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
async def test_events_on_the_wire(wire: str, fault: str) -> None:
    """Each fault of a stream puts exactly these events on the wire, and resets where it says so."""
    raw = await spoiled(wire, fault)
    expected = EVENTS[fault][wire == MESSAGES]

    assert (raw.status, letters(raw), raw.ended) == (200, expected, "reset" if fault in RESETS else "eof")


STATUS = {name: int(name[:3]) for name in FAULTS if name[:3].isdigit()}
STATUS |= {"quota": 429, "context-window": 400, "model-not-found": 404, "redirect": 307}


@pytest.mark.parametrize("fault", sorted(STATUS))
@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
async def test_statuses(wire: str, fault: str) -> None:
    """Each failed answer has its status, a request id and, where it is the wire's own, a JSON error."""
    raw = await spoiled(wire, fault)

    assert (raw.status, raw.headers["x-request-id"], raw.ended) == (STATUS[fault], "req-mock-1", "eof")
    if raw.headers["content-type"] == "application/json" and fault != "500-empty":
        assert json.loads(raw.body)["error"]["message"]


HINTS = {
    "429": {"retry-after": "2"},
    "429-fraction": {"retry-after": "1.5"},
    "429-ms": {"retry-after-ms": "1500", "retry-after": "9"},
    "429-list": {"retry-after": "2, 60"},
    "429-zero": {"retry-after": "0"},
    "429-no-hint": {},
    "429-no-retry": {"x-should-retry": "false"},
}


@pytest.mark.parametrize("fault", sorted(HINTS))
async def test_retry_hints(fault: str) -> None:
    """Each form of a retry hint is in the headers."""
    headers = (await spoiled(CHAT, fault)).headers
    names = ("retry-after", "retry-after-ms", "x-should-retry")

    assert {name: headers[name] for name in names if name in headers} == HINTS[fault]


async def test_retry_after_as_a_date() -> None:
    """The HTTP date lies half a minute ahead."""
    raw = await spoiled(CHAT, "429-date")
    ahead = parsedate_to_datetime(raw.headers["retry-after"]) - datetime.now(UTC)

    assert 25 < ahead.total_seconds() <= 30


WHOLE_BODIES = ["whole", "whole-cut", "json-error", "json-other", "html", "plain-text", "broken-gzip"]


@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
async def test_answers_that_are_no_stream(wire: str) -> None:
    """Status 200 with a whole answer, an error, other JSON, a page, a line of text, or no gzip."""
    whole, cut, error, other, page, line, gzip = [await spoiled(wire, fault) for fault in WHOLE_BODIES]

    assert {raw.status for raw in (whole, cut, error, other, page, line, gzip)} == {200}
    assert b"Hello from the mock provider." in whole.body
    assert (whole.body.startswith(cut.body), len(cut.body)) == (True, len(whole.body) // 2)
    assert json.loads(error.body)["error"]["message"] == "The server had an error"
    assert json.loads(other.body) == {"status": "queued", "position": 3}
    assert (page.headers["content-type"], page.body[:15]) == ("text/html; charset=utf-8", b"<!DOCTYPE html>")
    assert (line.headers["content-type"], line.body) == ("text/plain", b"upstream connect error")
    assert gzip.headers["content-encoding"] == "gzip"
    with pytest.raises(zlib.error):
        zlib.decompress(gzip.body, 31)


@pytest.mark.parametrize("fault", ["reset-before-headers", "close-before-headers"])
async def test_no_answer_at_all(fault: str) -> None:
    """The connection ends before the first byte, by RST or by FIN."""
    raw = await spoiled(CHAT, fault)

    assert (raw.received, raw.ended) == (b"", "reset" if fault.startswith("reset") else "eof")


@pytest.mark.parametrize("fault", ["keep-alives-forever", "keep-alives-mid-stream"])
@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
async def test_keep_alives_without_an_end(wire: str, fault: str) -> None:
    """Keep-alives go on until the request is released, and then the answer does."""
    seen = letters(await spoiled(wire, fault))

    assert seen.replace("k", "") == EVENTS[""][wire == MESSAGES].replace("k", "")
    assert seen.lstrip("sbc")[0] == "k"


async def test_bytes_are_cut_where_the_fault_says() -> None:
    """Reads fall inside characters, inside CR LF, and on every byte."""
    utf8 = await spoiled(CHAT, "utf8-split", "unicode")
    crlf = await spoiled(CHAT, "crlf-split")
    single = await spoiled(CHAT, "byte-by-byte")

    assert any(chunk[:1] and chunk[0] & 0xC0 == 0x80 for chunk in chunks(utf8))
    assert all(chunk.endswith(b"\r") or chunk.startswith(b"\n") for chunk in chunks(crlf))
    assert {len(chunk) for chunk in chunks(single)} == {1}


def chunks(raw: Raw) -> list[bytes]:
    """The HTTP chunks of the body."""
    found: list[bytes] = []
    rest = raw.received.partition(b"\r\n\r\n")[2]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        found.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return found[:-1]


async def test_faults_go_together() -> None:
    """Faults of different stages compose, in whatever order they are named."""
    one = await spoiled(CHAT, "crlf+unknown-event+bom+no-end-marker")
    other = await spoiled(CHAT, "no-end-marker+bom+unknown-event+crlf")

    assert letters(one) == letters(other) == "scc?cccfu"
    assert (one.body, one.body[:4]) == (other.body, b"\xef\xbb\xbfd")


async def test_a_fault_in_a_body_that_is_no_stream() -> None:
    """A request for no stream can be spoiled in the middle too."""
    async with MockProvider("text+hang-up-mid-stream") as mock:
        raw = await ask("POST", mock.base_url(CHAT) + PATHS[CHAT], chat_body(stream=False))

    assert len(raw.body) < int(raw.headers["content-length"])


async def test_a_fault_where_there_is_no_content() -> None:
    """An answer without content is spoiled in the middle of what there is."""
    raw = await spoiled(CHAT, "cut", "empty")

    assert letters(raw) == "sf"


@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
async def test_raw_events(wire: str) -> None:
    """A raw part goes on the wire exactly as written."""
    async with MockProvider(Script([Turn([Text("a"), RawPart(": one\n\n"), Text("b")], interleave=True)])) as mock:
        raw = await ask("POST", mock.base_url(wire) + PATHS[wire], chat_body())

    assert b": one\n\n" in raw.body


def test_every_fault_says_what_it_does() -> None:
    """Each fault has a summary, and every one is seen by a test of this file."""
    seen = {*EVENTS, *STATUS, *HINTS, *WHOLE_BODIES, "429-date", "reset-before-headers", "close-before-headers"}
    seen |= {"keep-alives-forever", "keep-alives-mid-stream"}

    assert set(FAULTS) == seen - {""}
    assert all(fault.summary and fault.name == name for name, fault in FAULTS.items())
