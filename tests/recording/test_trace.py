"""A call as a timeline, and how it is drawn."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

import limen
from browsing import contrast, laid_out, luminance
from limen import Failure, TokenUsage
from limen._compose import wire_of
from limen.recording import (
    Exchange,
    Gap,
    Read,
    RecordedRequest,
    RecordedResponse,
    TimedChunk,
    Timeline,
    Trace,
    TracedBlock,
    TracedDelta,
    render_html,
    render_text,
    trace_chunks,
    trace_exchange,
)
from recording._captures import FOLDER

MESSAGES = wire_of("anthropic-messages")


def exchange(name: str, *, failure: str | None = None, pause_at: int = 4) -> Exchange:
    """The exchange of a capture: one event a read, 10 ms apart, with a pause of 2 s before one of them."""
    text = (FOLDER / "anthropic-messages" / name).read_text(encoding="utf-8")
    events = [f"{event}\n\n" for event in text.split("\n\n") if event]
    times = [100.0 + 10 * number + (2000 if number >= pause_at else 0) for number in range(len(events))]
    reads = [Read(at, event) for at, event in zip(times, events, strict=True)]
    return Exchange(
        limen="0.1.0",
        route="claude",
        model="claude-1",
        wire="anthropic-messages",
        dialect="anthropic",
        request=RecordedRequest("POST", "/v1/messages", json={}),
        response=RecordedResponse(200, 90.0, {"request-id": "req-1"}, reads),
        failure=failure,
        ended_ms=times[-1] + 5,
    )


def test_a_trace_tells_when_what_came() -> None:
    """Head, first event, blocks with their deltas, the silence, usage and finish, in milliseconds."""
    assert trace_exchange(exchange("tool-use.sse"), MESSAGES) == Trace(
        route="claude",
        model="claude-1",
        wire="anthropic-messages",
        dialect="anthropic",
        status=200,
        request_id="req-1",
        headers_ms=90.0,
        first_event_ms=100.0,
        total_ms=2205.0,
        bytes_read=len((FOLDER / "anthropic-messages" / "tool-use.sse").read_bytes()),
        reads=(100, 110, 120, 130, 2140, 2150, 2160, 2170, 2180, 2190, 2200),
        blocks=(
            TracedBlock(0, "text", 120.0, 130.0, None, "Let me add.", [TracedDelta(120.0, 11)]),
            TracedBlock(
                1,
                "tool-call",
                2140.0,
                2180.0,
                "add",
                '{"left": 20, "right": 22}',
                [TracedDelta(2140.0, 0), TracedDelta(2160.0, 11), TracedDelta(2170.0, 14)],
            ),
        ),
        gaps=(Gap(130.0, 2140.0),),
        usage=TokenUsage(12, 31, 5, 0),
        finish="tool-calls",
    )


def test_a_trace_of_a_failure_tells_its_phase() -> None:
    """An error event and a broken connection leave their block open; what a call would raise is the failure."""
    overloaded = trace_exchange(exchange("overloaded.sse"), MESSAGES)
    assert overloaded.failure == Failure(
        "Overloaded", "OVERLOADED", "mid-stream", provider_code="overloaded_error", request_id="req-1"
    )
    assert [block.end_ms for block in overloaded.blocks] == [None]

    cut = exchange("overloaded.sse", failure="TRANSPORT")
    response = cut.response
    assert response is not None
    cut = Exchange(
        **{name: getattr(cut, name) for name in cut.__struct_fields__ if name != "response"},
        response=RecordedResponse(200, 90.0, {}, response.reads[:3]),
    )
    broken = trace_exchange(cut, MESSAGES)
    assert broken.failure is not None
    assert (broken.failure.code, broken.failure.phase, broken.finish) == ("TRANSPORT", "mid-stream", None)
    assert [block.text for block in broken.blocks] == ["Beginning"]


def test_a_trace_of_no_answer_is_a_failure_without_blocks() -> None:
    """A call that reached nobody has a total, a failure, and one silence."""
    nobody = Exchange(
        limen="0.1.0",
        route="r",
        model="m",
        request=RecordedRequest("POST", "/x"),
        failure="TIMEOUT",
        ended_ms=10_000.0,
    )
    trace = trace_exchange(nobody, MESSAGES)
    assert (trace.status, trace.headers_ms, trace.blocks, trace.gaps) == (None, None, (), (Gap(0.0, 10_000.0),))
    assert trace.failure is not None
    assert trace.failure.code == "TIMEOUT"
    assert any("TIMEOUT" in line for line in render_text(trace))


def test_a_live_call_is_traced_by_its_chunks() -> None:
    """A consumer's own times make the same kind of timeline."""
    timed = [
        TimedChunk(50.0, limen.BlockStart(0, "reasoning")),
        TimedChunk(50.0, limen.ReasoningDelta(0, "hm")),
        TimedChunk(60.0, limen.BlockEnd(0, limen.ReasoningBlock("hm"))),
        TimedChunk(900.0, limen.BlockStart(1, "image")),
        TimedChunk(910.0, limen.BlockEnd(1, limen.ImageBlock("image/png", b"x"))),
        TimedChunk(915.0, limen.UsageChunk(TokenUsage(1, 2))),
        TimedChunk(920.0, limen.Finish(limen.FinishReason("stop"))),
    ]
    trace = trace_chunks(timed, route="r", model="m", total_ms=925.0)
    assert trace == Trace(
        route="r",
        model="m",
        first_event_ms=50.0,
        total_ms=925.0,
        blocks=(
            TracedBlock(0, "reasoning", 50.0, 60.0, None, "hm", [TracedDelta(50.0, 2)]),
            TracedBlock(1, "image", 900.0, 910.0),
        ),
        gaps=(Gap(60.0, 900.0),),
        usage=TokenUsage(1, 2),
        finish="stop",
    )
    assert limen.decode(Trace, limen.encode(trace)) == trace


def test_a_timeline_takes_what_comes() -> None:
    """Streams that interceptors have changed do not break it: an end without a start is no block."""
    line = Timeline()
    line.add(1.0, limen.BlockEnd(3, limen.TextBlock("x")))
    line.add(2.0, limen.TextDelta(0, "x"))
    assert line.blocks == (TracedBlock(0, "text", 2.0, None, None, "x", [TracedDelta(2.0, 1)]),)
    assert line.first_ms == 1.0


def test_a_trace_in_the_terminal() -> None:
    """A head, one bar a block, the silences."""
    assert render_text(trace_exchange(exchange("tool-use.sse"), MESSAGES), width=20) == [
        "claude: claude-1",
        "  wire: anthropic-messages / anthropic",
        "  status: 200",
        "  request id: req-1",
        "  head after: 90 ms",
        "  first event after: 100 ms",
        "  total: 2.21 s",
        "  body: 1436 bytes in 11 reads",
        "  usage: 12 input, 31 output, 5 cache read, 0 cache write",
        "  finish: tool-calls",
        "  0 text                   │ █                  │ 0 ms, 1 delta, 11 characters",
        "  1 tool-call add          │                   █│ 30 ms, 3 deltas, 25 characters",
        "  silence of 2.01 s at 130 ms",
    ]


class Page(HTMLParser):
    """The tags of a page, with what would reach for something elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        # A link to a place of the page itself reaches for nothing.
        self.attributes.update(name for name, value in attrs if not (name == "href" and (value or "").startswith("#")))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_needs_nothing_from_elsewhere() -> None:
    """No script, no link, no source, no address: style and data stand in the page, and its tags are balanced."""
    traces = [trace_exchange(exchange(name), MESSAGES) for name in ("tool-use.sse", "overloaded.sse")]
    text = render_html(traces, title="two calls")
    page = Page(text)
    assert page.open == []
    assert {"script", "link", "img", "iframe", "object", "base"} & set(page.tags) == set()
    assert {name for name in page.attributes if name in ("src", "href", "srcset") or name.startswith("on")} == set()
    assert re.findall(r"https?://|url\(|@import", text) == []
    assert page.tags.count("section") == 2
    assert "Overloaded" in text


def test_a_bar_ends_with_its_last_delta() -> None:
    """A wire that ends every block with the answer does not draw them all to its end (a chat's reasoning)."""
    thought = TracedBlock(0, "reasoning", 100.0, 2000.0, None, "hm", [TracedDelta(100.0, 1), TracedDelta(600.0, 1)])
    trace = Trace(route="a", model="b", total_ms=2000.0, blocks=[thought])

    assert (
        render_text(trace, width=20)[-1]
        == "  0 reasoning              │ █────█             │ 500 ms, 2 deltas, 2 characters"
    )
    assert 'class="bar" style="left:5.000%;width:25.000%"' in render_html(trace)


def test_a_page_lists_calls_and_what_was_asked() -> None:
    """Calls are listed with their outcome as links; axis, legend, request, silences and each delta are text."""
    asked = exchange("tool-use.sse")
    asked = msgspec.structs.replace(asked, request=RecordedRequest("POST", "/v1/messages", json={"model": "claude-1"}))
    text = render_html([trace_exchange(asked, MESSAGES), Trace(route="a", model="b", total_ms=1.0)])

    assert '<li><a href="#call-1">claude: claude-1</a> 2.21 s, tool-calls</li>' in text
    assert '<li><a href="#call-2">a: b</a> 1 ms, no finish</li>' in text
    assert "<small>1.65 s</small>" in text
    assert '<i class="key reasoning"></i>reasoning' in text
    assert "&quot;model&quot;: &quot;claude-1&quot;" in text
    assert "<p>Silence of 2.01 s at 130 ms.</p>" in text
    assert "<li>2.16 s: 11 characters</li>" in text
    assert "<span>11 reads</span>" in text


def test_many_deltas_are_bounded() -> None:
    """The list of deltas holds two hundred, and says how many more there are."""
    many = TracedBlock(0, "text", 0.0, 9.0, None, "x", [TracedDelta(1.0, 1)] * 205)

    assert "<p>and 5 more</p>" in render_html(Trace(route="a", model="b", total_ms=9.0, blocks=[many]))


def test_what_is_cut_or_missing_is_told() -> None:
    """A long text says how much more there is; without reads there is no lane for them, without text no frame."""
    long = TracedBlock(0, "text", 0.0, 1.0, None, "x" * 2005, [TracedDelta(1.0, 1)])
    text = render_html(Trace(route="a", model="b", total_ms=1.0, blocks=[long, TracedBlock(1, "image", 0.0, 1.0)]))

    assert "x… (5 characters more)</pre>" in text
    assert "1 character</li>" in text
    assert ("arrivals</span>" in text, text.count("<pre")) == (False, 1)


def test_what_reorders_text_is_shown_and_not_obeyed() -> None:
    """Controls and bidirectional marks of a provider are escapes, on the page and in the terminal (J8)."""
    trace = Trace(
        route="r\u202e",
        model="m",
        total_ms=1.0,
        request="a\x1b",
        blocks=[TracedBlock(0, "tool-call", 0.0, 1.0, "rm\u2066", "x\u202ey")],
        failure=Failure("no\u202e", "SERVER"),
    )

    for text in (render_html(trace), "\n".join(render_text(trace))):
        assert not re.search(r"[\x1b\u202e\u2066]", text)
        assert "\\u202e" in text


def test_a_page_says_how_long_its_lanes_are() -> None:
    """The lanes run from 0 to the end of the call, and a count that is zero is the provider's zero."""
    usage = TokenUsage(input_tokens=3, output_tokens=0, cache_read_tokens=None)
    text = render_html(Trace(route="a", model="b", total_ms=5760.0, usage=usage))
    assert "<small>0 ms</small>" in text
    assert "<small>5.76 s</small>" in text
    assert "<dt>usage</dt><dd>3 input, 0 output</dd>" in text


def test_a_page_escapes_what_it_shows() -> None:
    """Text, names and messages of a provider are data, never markup."""
    evil = "</pre><script>alert(1)</script>\"'&"
    trace = Trace(
        route=evil,
        model=evil,
        total_ms=0.0,
        blocks=[TracedBlock(0, "tool-call", 0.0, None, evil, evil * 200, [TracedDelta(0.0, 1)])],
        failure=Failure(evil, "SERVER"),
    )
    text = render_html(trace, title=evil)
    assert "<script" not in text
    assert html.escape(evil) in text
    assert Page(text).open == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 800, 1200])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_draws_the_blocks_of_the_recording(tmp_path: Path, width: int, dark: bool) -> None:
    """At each width, light and dark: bars as wide as their part of the call, no overflow, contrast enough."""
    traces = [trace_exchange(exchange(name), MESSAGES) for name in ("tool-use.sse", "thinking-and-text.sse")]
    measure = (
        "{over:document.documentElement.scrollWidth-document.documentElement.clientWidth,wide:innerWidth,"
        "page:getComputedStyle(document.body).backgroundColor,ink:getComputedStyle(document.body).color,"
        "soft:getComputedStyle(document.querySelector('dt')).color,"
        "blocks:[...document.querySelectorAll('.block')].map(b=>({type:b.dataset.type,"
        "deltas:b.querySelectorAll('.delta').length,"
        "cut:[...b.querySelectorAll('span')].some(s=>s.scrollWidth>s.clientWidth+1),text:b.querySelector('pre').textContent,"
        "left:b.querySelector('.bar').offsetLeft,width:b.querySelector('.bar').offsetWidth,"
        "lane:b.querySelector('.lane').offsetWidth,color:getComputedStyle(b.querySelector('.bar')).backgroundColor,"
        "behind:getComputedStyle(b.querySelector('.lane')).backgroundColor})),"
        "gap:getComputedStyle(document.querySelector('.gap')).backgroundColor}"
    )
    facts = laid_out(render_html(traces), measure, tmp_path, width=width, dark=dark)
    drawn = msgspec.convert(facts["blocks"], list[dict[str, Any]])

    assert (facts["wide"], facts["over"]) == (width, 0)
    assert contrast(facts["ink"], facts["page"]) >= 4.5 <= contrast(facts["soft"], facts["page"])
    assert (luminance(facts["page"]) < 0.1) is dark

    blocks = [(block, trace.total_ms) for trace in traces for block in trace.blocks]
    assert [(one["type"], one["deltas"], one["text"]) for one in drawn] == [
        (block.block_type, len(block.deltas), block.text) for block, _ in blocks
    ]
    for one, (block, total) in zip(drawn, blocks, strict=True):
        assert one["lane"] > 200
        assert not one["cut"]
        assert abs(one["left"] / one["lane"] - block.start_ms / total) < 0.01
        assert one["width"] >= 2
        assert contrast(one["color"], one["behind"]) >= 3 <= contrast(facts["gap"], one["behind"])
    assert len({one["color"] for one in drawn}) == 3
